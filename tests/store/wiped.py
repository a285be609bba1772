"""A Neo4j that tests share, emptied."""

from __future__ import annotations

import sample

from cgx.store import Store, open_store


def neo4j_store(url: str) -> Store:
    store = open_store(url, sample.REPO)
    with store._driver.session(database=store._database) as session:
        session.run("MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 5000 ROWS").consume()
    return store
