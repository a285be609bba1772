"""What only a server can get wrong: addresses, credentials, constraints, interrupts."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest
import sample

from cgx.model import schema
from cgx.store import open_store
from cgx.store.errors import StoreError
from cgx.store.neo4j_connection import Target

SECRET = "hunter2-hunter2"


def test_credentials_stay_out_of_what_is_shown():
    target = Target.of(f"bolt://ann:{SECRET}@db.example:7687/team", {})
    assert (target.url, target.database, target.auth) == ("bolt://db.example:7687", "team", ("ann", SECRET))
    assert SECRET not in repr(target) and SECRET not in target.shown
    target = Target.of("neo4j://localhost", {"NEO4J_USERNAME": "bob", "NEO4J_PASSWORD": SECRET, "NEO4J_DATABASE": "d"})
    assert (target.auth, target.database) == (("bob", SECRET), "d")
    assert SECRET not in repr(target)
    assert Target.of("neo4j://localhost", {}).auth is None
    with pytest.raises(StoreError, match="no host"):
        Target.of("neo4j://", {})


def test_no_server_is_one_line_without_a_secret(monkeypatch):
    monkeypatch.setenv("NEO4J_PASSWORD", SECRET)
    with pytest.raises(StoreError) as caught:
        open_store("bolt://127.0.0.1:1", "r")
    assert "no Neo4j answers at bolt://127.0.0.1:1" in str(caught.value)
    assert SECRET not in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.neo4j
def test_constraints_and_indexes_are_there(neo4j_url):
    with open_store(neo4j_url, "r") as store:
        names = {row[0] for row in store.read("SHOW CONSTRAINTS YIELD name RETURN name", {})}
        assert {f"cgx_{kind.label.lower()}_id" for kind in schema.NODES} <= names
        states = store.read("SHOW INDEXES YIELD name, state WHERE name STARTS WITH 'cgx_' RETURN state", {})
        assert {row[0] for row in states} == {"ONLINE"}
        assert len(states) == len(schema.NODES) + sum(len(kind.indexes) for kind in schema.NODES)


@pytest.mark.neo4j
def test_reading_makes_nothing(neo4j_url):
    with open_store(neo4j_url, "r", read_only=True) as store, pytest.raises(StoreError, match="for reading only"):
        store.write(sample.full_delta())


@pytest.mark.neo4j
def test_ctrl_c_stops_a_statement_on_the_server(neo4j_url):
    with open_store(neo4j_url, "r") as store:
        store.write(sample.full_delta())
        threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        start = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            store.run(
                "MATCH (a), (b), (c), (d), (e) WHERE a.id + b.id + c.id + d.id + e.id = '' RETURN count(*) AS n",
                timeout=60,
            )
        assert time.monotonic() - start < 15
        assert store.run("RETURN 1 AS one").rows == [(1,)]


@pytest.mark.neo4j
def test_explain_gives_the_servers_plan(neo4j_url):
    with open_store(neo4j_url, "r") as store:
        assert any(
            "NodeUniqueIndexSeek" in line or "NodeIndexSeek" in line
            for line in store.explain("MATCH (c:Commit {id: $c}) RETURN c.id AS id", {"c": ""})
        )
