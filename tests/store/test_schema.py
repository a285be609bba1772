"""The schema table itself, and the check that every write passes."""

import pytest

from cgx.model import schema
from cgx.model.facts import Edge, GraphDelta, Node


def test_rows_are_consistent():
    assert len(schema.NODE_KINDS) == len(schema.NODES)
    assert len(schema.EDGE_KINDS) == len(schema.EDGES)
    for kind in schema.NODES:
        names = [row.name for row in kind.properties]
        assert len(names) == len(set(names)), kind.label
        assert not schema.RESERVED & set(names), kind.label
        assert set(kind.indexes) <= set(names), kind.label
        assert "name" in names, f"{kind.label} has nothing to show as caption"
    for edge in schema.EDGES:
        assert set(edge.sources) | set(edge.targets) <= set(schema.NODE_KINDS), edge.name
        assert not schema.RESERVED & {row.name for row in edge.properties}, edge.name


def test_json_properties_are_named_so():
    rows = [p for n in schema.NODES for p in n.properties] + [p for e in schema.EDGES for p in e.properties]
    assert all((row.kind == "json") == row.name.endswith("_json") for row in rows)


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (Node("Klass", "k"), "no node kind 'Klass'"),
        (Node("Reason", "data", {"name": "data", "colour": "red"}), "no property 'colour'"),
        (Node("Reason", "data", {"doc": "x"}), "no name"),
        (Node("Reason", "data", {"name": 1}), "name is int"),
        (Node("Reason", "data", {"name": None}), "name is NoneType"),
        (Node("Reason", "", {"name": "data"}), "without an id"),
    ],
)
def test_a_bad_node_is_refused(node, message):
    with pytest.raises(schema.SchemaError, match=message):
        schema.check(GraphDelta([node]))


def test_a_bad_edge_is_refused():
    with pytest.raises(schema.SchemaError, match="no edge kind 'LIKES'"):
        schema.check(GraphDelta([], [Edge("LIKES", "a", "b")]))
    with pytest.raises(schema.SchemaError, match="no line"):
        schema.check(GraphDelta([], [Edge("CALLS", "a", "b", {"basis": "exact", "author": "x"})]))


def test_true_is_no_int():
    assert not schema.fits("int", True)
    assert schema.fits("bool", True)
    assert not schema.fits("list[int]", [1, True])
    assert schema.fits("float", 1)
