"""The graph schema: one row for each node and edge kind.

From these rows come the check of every write, Neo4j's constraints and indexes, ``cgx schema``, the shell's completion and
the documentation. Kinds are described in :mod:`cgx.model.schema_static` and :mod:`cgx.model.schema_job`.

Rules that hold for all kinds: ``id`` is the identity and unique over *all* labels of a store; a property that is not known
is absent, never null; nested values are JSON texts in properties named ``..._json``; no property is named ``title`` or
``type``; parallel edges of one kind are told apart by ``Edge.key``, which must be the same for the same input.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from cgx.errors import Fault
from cgx.model.facts import Edge, GraphDelta, Node
from cgx.model.schema_job import EVENTS, JOB_EDGES, JOB_NODES, TREE
from cgx.model.schema_rows import EdgeKind, Kind, NodeKind, Property
from cgx.model.schema_static import STATIC_EDGES, STATIC_NODES

__all__ = [
    "EDGES",
    "EDGE_KINDS",
    "EVENTS",
    "NODES",
    "NODE_KINDS",
    "RESERVED",
    "SCHEMA_VERSION",
    "TREE",
    "EdgeKind",
    "NodeKind",
    "SchemaError",
    "check",
    "check_edge",
    "check_node",
    "fits",
    "labels",
    "property_names",
]

SCHEMA_VERSION = 3

NODES: tuple[NodeKind, ...] = STATIC_NODES + JOB_NODES
EDGES: tuple[EdgeKind, ...] = STATIC_EDGES + JOB_EDGES

NODE_KINDS: Mapping[str, NodeKind] = {row.label: row for row in NODES}
EDGE_KINDS: Mapping[str, EdgeKind] = {row.name: row for row in EDGES}

RESERVED = frozenset({"id", "key", "title", "type"})
"""Names no row may list: the identity, the edge key, and what an engine uses for itself."""

_TYPES: Mapping[Kind, tuple[type, ...]] = {
    "str": (str,),
    "json": (str,),
    "int": (int,),
    "float": (float, int),
    "bool": (bool,),
}
_ITEMS: Mapping[Kind, type] = {"list[str]": str, "list[int]": int, "list[float]": float}


class SchemaError(Fault):
    """A pass yielded what the schema does not know: our bug, found before anything is stored."""


def fits(kind: Kind, value: Any) -> bool:
    """Whether a property value is of its kind. Never true for None: absent is absent."""
    item = _ITEMS.get(kind)
    if item is not None:
        return isinstance(value, list) and all(type(each) is item for each in value)
    if isinstance(value, bool):
        return kind == "bool"
    return isinstance(value, _TYPES[kind])


def _sound(row: NodeKind | EdgeKind, properties: Mapping[str, Any]) -> bool:
    """The common case, checked fast: every property listed and exactly of its plain type, none missing."""
    types, required = _PLAIN[id(row)]
    for name, value in properties.items():
        if type(value) is not types.get(name):
            return False
    return all(name in properties for name in required)


_KINDS: tuple[NodeKind | EdgeKind, ...] = (*NODES, *EDGES)
_PLAIN: Mapping[int, tuple[dict[str, type], tuple[str, ...]]] = {
    id(kind): (
        {row.name: _TYPES[row.kind][0] for row in kind.properties if row.kind in _TYPES},
        tuple(row.name for row in kind.properties if row.required),
    )
    for kind in _KINDS
}


def _check_properties(what: str, rows: Iterable[Property], properties: Mapping[str, Any]) -> None:
    rows = tuple(rows)
    known = {row.name: row for row in rows}
    for name, value in properties.items():
        row = known.get(name)
        if row is None:
            raise SchemaError(f"{what}: no property {name!r} in the schema")
        if not fits(row.kind, value):
            raise SchemaError(f"{what}: {name} is {type(value).__name__} {str(value)[:60]!r}, not {row.kind}")
    for row in rows:
        if row.required and row.name not in properties:
            raise SchemaError(f"{what}: no {row.name}")


def check_node(node: Node) -> None:
    """Raise SchemaError unless the node is one that the schema describes."""
    kind = NODE_KINDS.get(node.label)
    if kind is None:
        raise SchemaError(f"no node kind {node.label!r} in the schema")
    if not node.id:
        raise SchemaError(f"a {node.label} without an id")
    if not _sound(kind, node.properties):
        _check_properties(f"{node.label} {node.id}", kind.properties, node.properties)


def check_edge(edge: Edge) -> None:
    """Raise SchemaError unless the edge is of a known kind with known properties. Endpoints are checked by the store."""
    kind = EDGE_KINDS.get(edge.kind)
    if kind is None:
        raise SchemaError(f"no edge kind {edge.kind!r} in the schema")
    if not _sound(kind, edge.properties):
        _check_properties(f"{edge.kind} {edge.source} -> {edge.target}", kind.properties, edge.properties)


def check(delta: GraphDelta) -> None:
    """Check every node and edge of a delta."""
    for node in delta.nodes:
        check_node(node)
    for edge in delta.edges:
        check_edge(edge)


def labels() -> list[str]:
    """All node labels, in the order of the schema."""
    return [row.label for row in NODES]


def property_names() -> list[str]:
    """Every property name of the schema, sorted."""
    rows: list[Property] = [p for node in NODES for p in node.properties] + [
        p for edge in EDGES for p in edge.properties
    ]
    return sorted({"id", *(row.name for row in rows)})
