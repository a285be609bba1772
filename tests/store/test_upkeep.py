"""Copies between stores, files, and cleaning up."""

from __future__ import annotations

import json
import os
import re

import networkx as nx
import pytest
import sample

from cgx.errors import UserError
from cgx.model.facts import Edge, GraphDelta, Node
from cgx.store import Store, copying, graph_files, open_store, upkeep


@pytest.fixture
def folder(tmp_path) -> str:
    with open_store(str(tmp_path / "graph"), "r") as store:
        store.write(sample.full_delta())
        store.checkpoint()
    return str(tmp_path / "graph")


def content(store: Store) -> list[str]:
    return list(graph_files.jsonl(copying.parts(store)))


def test_a_copy_holds_the_same(filled: Store, tmp_path):
    with open_store(str(tmp_path / "copy"), "r") as target:
        nodes, edges = copying.copy(filled, target)
        assert content(target) == content(filled)
        assert (nodes, edges) == (filled.graph().number_of_nodes(), filled.graph().number_of_edges())
        copying.copy(filled, target)  # again: nothing is doubled
        assert content(target) == content(filled)


@pytest.mark.neo4j
def test_from_a_folder_to_a_server_and_back(folder: str, neo4j_url, tmp_path, capsys):
    from wiped import neo4j_store

    neo4j_store(neo4j_url).close()
    assert upkeep.run_copy(folder, neo4j_url) == 0
    assert upkeep.run_copy(neo4j_url, str(tmp_path / "back")) == 0
    with open_store(folder, "r", read_only=True) as one, open_store(str(tmp_path / "back"), "r", read_only=True) as two:
        assert content(one) == content(two)


def test_a_store_is_not_copied_into_itself(folder: str):
    with pytest.raises(UserError, match="into itself"):
        upkeep.run_copy(folder, folder)


def test_sweeping_keeps_what_is_held_and_takes_what_is_not(filled: Store):
    before = content(filled)
    assert filled.sweep() == {}
    assert content(filled) == before
    loose = GraphDelta(
        [
            Node("Commit", "c" * 40, {"name": "c", "repository": "toy", "complete": False}),
            Node("File", "half.py@h", {"name": "half.py", "path": "half.py", "blob": "h", "repository": "toy"}),
            Node(
                "Symbol", "toy:nobody", {"name": "nobody", "qname": "nobody", "kind": "function", "repository": "toy"}
            ),
        ],
        [Edge("HAS", "c" * 40, "half.py@h"), Edge("HAS", "c" * 40, "model.py@m1")],
    )
    filled.write(loose)
    gone = filled.sweep()
    assert gone["Commit"] >= 2
    assert content(filled) == before


def test_gc_says_what_it_deleted(folder: str, capsys):
    assert upkeep.run_gc(store=folder, source=".", json=False) == 0
    assert capsys.readouterr().out == "nothing to delete\n"
    with open_store(folder, "r") as store:
        store.write(
            GraphDelta(
                [Node("Symbol", "toy:nobody", {"name": "n", "qname": "n", "kind": "function", "repository": "toy"})]
            )
        )
        store.checkpoint()
    assert upkeep.run_gc(store=folder, source=".", json=True) == 0
    assert json.loads(capsys.readouterr().out) == {"identities": 1}


def test_graphml_is_read_by_networkx(folder: str, tmp_path):
    with open_store(folder, "r") as store:
        store.write(GraphDelta([Node("Reason", "odd", {"name": 'a<b>&"\x00\x1b', "doc": "ü"})]))
        store.checkpoint()
        whole = store.graph()
    file = tmp_path / "g.graphml"
    assert upkeep.run_export(store=folder, source=".", format="graphml", output=file) == 0
    read = nx.read_graphml(file, force_multigraph=True)
    assert (read.number_of_nodes(), read.number_of_edges()) == (whole.number_of_nodes(), whole.number_of_edges())
    assert read.nodes["job-new/m2"]["multiplicity"] == 12
    assert json.loads(read.nodes["model.py@m1:build"]["parameters"]) == ["name"]
    assert read.nodes["odd"]["name"].startswith('a<b>&"')


def test_a_file_is_whole_or_not_there(folder: str, tmp_path):
    with pytest.raises(UserError, match="cannot be written"):
        upkeep.run_export(store=folder, source=".", format="jsonl", output=tmp_path / "no" / "such" / "f")
    with pytest.raises(UserError, match="no format 'xml'"):
        upkeep.run_export(store=folder, source=".", format="xml", output=None)
    assert upkeep.run_export(store=folder, source=".", format="jsonl", output=tmp_path / "f.jsonl") == 0
    assert [name for name in os.listdir(tmp_path) if name.startswith(".")] == []


@pytest.mark.neo4j
def test_the_cypher_script_rebuilds_the_graph(folder: str, neo4j_url):
    from wiped import neo4j_store

    with open_store(folder, "r", read_only=True) as store, neo4j_store(neo4j_url) as server:
        script = list(graph_files.cypher(copying.parts(store)))
        assert all(line.endswith(";") for line in script)
        for line in script:
            if not line.startswith("CREATE CONSTRAINT") and not line.startswith("CREATE INDEX"):
                server.execute(line.rstrip(";"), {})
        assert content(server) == content(store)


def test_cypher_literals_cannot_break_out():
    part = GraphDelta([Node("Reason", "x'}) DETACH DELETE n //", {"name": 'a"b\\c\nd', "doc": "'"})])
    line = list(graph_files.cypher([part]))[-1]
    assert "\n" not in line and re.fullmatch(
        r'CREATE \(:Reason \{id: "(?:[^"\\]|\\.)*", name: "(?:[^"\\]|\\.)*", doc: "(?:[^"\\]|\\.)*"\}\);', line
    )
