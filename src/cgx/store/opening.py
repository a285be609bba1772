"""Which store a URL means. The only place that knows the implementations."""

from __future__ import annotations

from cgx.store.base import Store

NEO4J_SCHEMES = ("neo4j://", "neo4j+s://", "neo4j+ssc://", "bolt://", "bolt+s://", "bolt+ssc://")


def open_store(url: str | None, repository_key: str, read_only: bool = False) -> Store:
    """Open the store that ``--store`` names.

    ``url``: None (the embedded store of this repository in the user's cache folder), a folder (an embedded store there), or
    a Neo4j URL (credentials from NEO4J_USERNAME, NEO4J_PASSWORD, NEO4J_DATABASE). ``read_only`` neither locks nor creates.
    Raises UserError where it cannot be opened.
    """
    if url is not None and url.startswith(NEO4J_SCHEMES):
        from cgx.store.neo4j_store import Neo4jStore

        return Neo4jStore.open(url, read_only=read_only)
    from cgx.store.embedded import EmbeddedStore

    return EmbeddedStore.open(url, repository_key, read_only=read_only)
