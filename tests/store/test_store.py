"""What every store must do, on both engines."""

from __future__ import annotations

import pytest
import sample

from cgx.model.facts import Edge, GraphDelta, Node
from cgx.model.schema import SchemaError
from cgx.store import Store
from cgx.store.errors import QueryError
from cgx.store.values import EdgeValue, NodeValue, PathValue


def count(store: Store, label: str) -> int:
    return store.run(f"MATCH (n:{label}) RETURN count(n) AS n").rows[0][0]


def reason(name: str, doc: str = "d") -> Node:
    return Node("Reason", name, {"name": name, "doc": doc})


def test_what_is_written_is_read_back(filled: Store):
    rows = filled.run(
        "MATCH (f:Function {qname: $q}) RETURN f.anchor AS anchor, f.parameters AS parameters ORDER BY anchor",
        {"q": "model.build"},
    )
    assert rows.columns == ["anchor", "parameters"]
    assert rows.rows == [("model.py:build:90", ["name"])]
    assert not rows.truncated
    assert filled.has("Symbol", "toy:model.GPT")
    assert not filled.has("Class", "toy:model.GPT")
    assert filled.ids("Commit") == {sample.OLD, sample.NEW}
    assert filled.missing("Reason", ["reason:data", "nope"]) == {"nope"}


def test_writing_twice_changes_nothing(filled: Store):
    before = filled.run("MATCH (n) RETURN count(n) AS n").rows, filled.run("MATCH ()-[e]->() RETURN count(e) AS n").rows
    filled.write(sample.full_delta())
    assert (
        filled.run("MATCH (n) RETURN count(n) AS n").rows,
        filled.run("MATCH ()-[e]->() RETURN count(e) AS n").rows,
    ) == before


def test_parallel_edges_are_kept_by_key(store: Store):
    delta = sample.static_delta()
    caller, target = "train.py@t1:main", "toy:train.step"
    site = {"line": 31, "basis": "exact", "author": "x"}
    delta.edges.append(Edge("CALLS", caller, target, site, key="31:4"))
    store.write(delta)
    store.write(GraphDelta([], [Edge("CALLS", caller, target, {**site, "line": 33}, key="33:4")]))
    store.write(
        GraphDelta([], [Edge("CALLS", caller, target, {**site, "line": 34}, key="33:4")])
    )  # the same edge, changed
    rows = store.run(
        "MATCH (f:Function {id: $id})-[e:CALLS]->(s:Symbol {id: $s}) RETURN e.line AS line ORDER BY line",
        {"id": caller, "s": target},
    )
    assert [row[0] for row in rows.rows] == [30, 31, 34]


def test_nodes_take_new_properties(store: Store):
    store.write(GraphDelta([reason("data", "old")]))
    store.write(GraphDelta([reason("data", "new")]))
    assert store.run("MATCH (n:Reason) RETURN n.id AS id, n.doc AS doc").rows == [("data", "new")]


@pytest.mark.parametrize(
    ("delta", "message"),
    [
        (GraphDelta([reason("a")], [Edge("BECAUSE", "ghost", "a")]), "its source 'ghost' is no UnresolvedEntry"),
        (GraphDelta([reason("a")], [Edge("BECAUSE", "a", "a")]), "'a' is a Reason, not a UnresolvedEntry"),
        (GraphDelta([reason("a"), Node("Repository", "a", {"name": "a"})]), "both a Reason and a Repository"),
        (GraphDelta([Node("Reason", "a", {"name": 3})]), "name is int"),
    ],
)
def test_a_bad_delta_writes_nothing(store: Store, delta: GraphDelta, message: str):
    delta.nodes.insert(0, reason("good"))
    with pytest.raises(SchemaError, match=message):
        store.write(delta)
    assert count(store, "Reason") == 0


def test_a_job_is_replaced_as_a_whole(filled: Store):
    before = count(filled, "ModuleEntry")
    smaller = sample.job(sample.JOB, sample.NEW, 4, schedule=False)
    filled.replace(sample.JOB, smaller)
    assert count(filled, "ModuleEntry") == before
    assert count(filled, "Sync") == 0
    paths = filled.run(
        "MATCH (:Job {id: $job})-[:HAS_ENTRY]->(m:ModuleEntry) RETURN m.module_path AS p ORDER BY p",
        {"job": sample.JOB},
    ).rows
    assert ("h.[0-3]",) in paths
    assert ("h.[0-11]",) not in paths


def test_a_commit_goes_with_what_only_it_holds(filled: Store):
    assert filled.delete_scope(sample.OLD) > 0
    assert filled.ids("Commit") == {sample.NEW}
    files = filled.run("MATCH (f:File) RETURN f.id AS id ORDER BY id").rows
    assert files == [("extra.py@e1",), ("model.py@m1",), ("train.py@t2",)]
    assert filled.ids("Job") == {sample.JOB}
    assert not filled.has("Symbol", "toy:old.legacy")
    assert filled.has("Symbol", "toy:train.step")
    assert filled.delete_scope(sample.OLD) == 0
    assert filled.delete_scope(sample.NEW) > 0
    assert filled.run("MATCH (n) RETURN labels(n)[0] AS label, n.id AS id").rows == [("Repository", "toy")]


def test_one_commit_is_one_pattern(filled: Store):
    text = "MATCH (:Commit {id: $commit})-[:HAS]->(:File)-[:DEFINES]->(f:Function {name: 'step'}) RETURN f.anchor AS a ORDER BY a"
    assert filled.run(text, {"commit": sample.OLD}).rows == [("train.py:step:70",)]
    assert filled.run(text, {"commit": sample.NEW}).rows == [("train.py:step:73",)]


def test_versions_are_shared_between_commits(filled: Store):
    rows = filled.run(
        "MATCH (c:Commit)-[:HAS]->(f:File {path: 'model.py'}) RETURN count(DISTINCT f) AS files, count(c) AS commits"
    ).rows
    assert rows == [(1, 2)]


def test_nodes_edges_and_paths_come_as_values(filled: Store):
    text = "MATCH p = (a:Class {id: $id})-[e:INHERITS]->(b:External) RETURN a, e, p, [a] AS many, {n: b} AS box"
    node, edge, path, many, box = filled.run(text, {"id": "model.py@m1:GPT"}).rows[0]
    assert isinstance(node, NodeValue) and node.label == "Class" and node.id == "model.py@m1:GPT"
    assert node.properties["qname"] == "model.GPT"
    assert set(node.properties) == {"id", "name", "symbol", "qname", "path", "line", "end_line", "anchor"}
    assert isinstance(edge, EdgeValue) and edge.kind == "INHERITS" and edge.properties["text"] == "nn.Module"
    assert isinstance(path, PathValue)
    assert [n.id for n in path.nodes] == ["model.py@m1:GPT", "torch.nn.Module"]
    assert (path.edges[0].source, path.edges[0].target) == ("model.py@m1:GPT", "torch.nn.Module")
    assert many == [node]
    assert box["n"].id == "torch.nn.Module"


@pytest.mark.parametrize(
    "text",
    [
        "CREATE (n:Reason {id: 'x'}) RETURN n",
        "MATCH (n) SET n.name = 'x'",
        "MATCH (n) DETACH DELETE n",
        "MERGE (n:Reason {id: 'data'}) RETURN n.id AS id",
        "MATCH (n:Reason) REMOVE n.doc",
        "CREATE INDEX sneaky FOR (n:Reason) ON (n.doc)",
        "PROFILE CREATE (n:Reason {id: 'x'}) RETURN n",
        "MATCH (n:Reason) WITH n LIMIT 1 CALL { WITH n SET n.doc = 'x' } RETURN 1 AS one",
        "LOAD CSV FROM 'file:///etc/hosts' AS line RETURN line",
        "PROFILE\nLOAD CSV FROM 'file:///etc/hosts' AS line RETURN line",
        "PROFILE\tLOAD CSV FROM 'file:///etc/hosts' AS line RETURN line",
        "// of a file\nPROFILE LOAD CSV FROM 'file:///etc/hosts' AS line RETURN line",
        "RETURN 1 AS line UNION ALL LOAD CSV FROM 'file:///etc/hosts' AS line RETURN line",
        "RETURN \"it's\" AS line UNION ALL\nload // x\n csv FROM 'file:///etc/hosts' AS line RETURN line",
        "CALL { LOAD CSV FROM 'file:///etc/hosts' AS line RETURN line } RETURN line",
    ],
)
def test_user_statements_are_read_only(filled: Store, text: str):
    before = filled.run("MATCH (n) RETURN count(n) AS n").rows
    with pytest.raises(QueryError):
        filled.run(text)
    assert filled.run("MATCH (n) RETURN count(n) AS n").rows == before
    assert filled.run("MATCH (n:Reason {doc: 'x'}) RETURN n").rows == []


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (n:Reason) WHERE n.name = 'CREATE' RETURN n.id AS id",
        "RETURN 'DELETE; SET x' AS s",
        "RETURN 1 AS created",
        "RETURN 'LOAD CSV' AS s",
        "RETURN 1 AS `load csv` // load csv",
    ],
)
def test_words_alone_are_not_refused(filled: Store, text: str):
    filled.run(text)


def test_the_row_limit_says_that_it_cut(filled: Store):
    text = "MATCH (f:Function) RETURN f.id AS id ORDER BY id"
    cut = filled.run(text, limit=3)
    assert len(cut.rows) == 3 and cut.truncated
    whole = filled.run(text)
    assert whole.rows[:3] == cut.rows and not whole.truncated
    assert not filled.run(text, limit=len(whole.rows)).truncated


def test_a_timeout_says_so(filled: Store):
    text = "MATCH (a), (b), (c), (d) WHERE a.id + b.id + c.id + d.id = 'x' RETURN count(*) AS n"
    with pytest.raises(QueryError, match=r"stopped after 0\.5 s"):
        filled.run(text, timeout=0.5)
    assert filled.run("RETURN 1 AS one").rows == [(1,)]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("MATCH (n RETURN n", "(?i)syntax|invalid|unexpected"),
        ("RETURN $nothing AS x", "nothing"),
        ("RETURN nope(1) AS x", "nope"),
    ],
)
def test_a_wrong_statement_says_what_is_wrong(filled: Store, text: str, says: str):
    with pytest.raises(QueryError, match=says):
        filled.run(text)


def test_the_networkx_view(filled: Store):
    graph = filled.graph()
    assert graph.number_of_nodes() == filled.run("MATCH (n) RETURN count(n) AS n").rows[0][0]
    assert graph.number_of_edges() == filled.run("MATCH ()-[e]->() RETURN count(e) AS n").rows[0][0]
    assert graph.nodes["toy:model.GPT"] == {
        "label": "Symbol",
        "name": "GPT",
        "qname": "model.GPT",
        "kind": "class",
        "repository": "toy",
    }


def test_a_projection_keeps_one_commit_and_the_kinds_asked_for(filled: Store):
    graph = filled.graph(["CALLS", "DEFINED_BY"], commit=sample.OLD)
    assert {data["kind"] for _, _, data in graph.edges(data=True)} == {"CALLS", "DEFINED_BY"}
    assert "train.py@t1:step" in graph and "train.py@t2:step" not in graph
    assert "torch.distributed.all_reduce" not in graph  # only the new commit calls it
    assert graph.nodes["train.py@t1:step"]["label"] == "Function"
    whole = filled.graph(commit=sample.OLD)
    assert "old.py@o1:legacy" in whole and "extra.py@e1" not in whole
    assert all("label" in data for _, data in whole.nodes(data=True))
    with pytest.raises(QueryError, match="no edge kind 'LIKES'"):
        filled.graph(["LIKES"])
