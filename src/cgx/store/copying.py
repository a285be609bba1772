"""Everything a store holds, in parts: for copies into another store and for files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cgx.model import schema
from cgx.model.facts import Edge, GraphDelta, Node
from cgx.store.base import Store
from cgx.store.plan import chunks

PART = 50_000  # nodes or edges held at once


def parts(store: Store) -> Iterator[GraphDelta]:
    """The whole graph as deltas: all nodes before all edges, in an order that depends on the content alone."""
    for kind in schema.NODES:
        names = [row.name for row in kind.properties]
        columns = "".join(f", n.{name} AS {name}" for name in names)
        rows = store.read(f"MATCH (n:{kind.label}) RETURN n.id AS id{columns} ORDER BY id", {})
        for some in chunks(rows, PART):
            yield GraphDelta([Node(kind.label, row[0], _present(names, row[1:])) for row in some])
    for edge in schema.EDGES:
        names = [row.name for row in edge.properties]
        columns = "".join(f", e.{name} AS {name}" for name in names)
        for source in edge.sources:
            for target in edge.targets:
                pattern = f"MATCH (a:{source})-[e:{edge.name}]->(b:{target})"
                rows = store.read(f"{pattern} RETURN a.id AS s, b.id AS t, e.key AS k{columns} ORDER BY s, t, k", {})
                for some in chunks(rows, PART):
                    edges = [Edge(edge.name, s, t, _present(names, tuple(rest)), k or "") for s, t, k, *rest in some]
                    yield GraphDelta([], edges)


def copy(origin: Store, target: Store) -> tuple[int, int]:
    """Write what ``origin`` holds into ``target``, beside what is there. Returns (nodes, edges)."""
    nodes = edges = 0
    for part in parts(origin):
        target.write(part)
        nodes += len(part.nodes)
        edges += len(part.edges)
    target.checkpoint()
    return nodes, edges


def _present(names: list[str], values: tuple[Any, ...]) -> dict[str, Any]:
    return {name: value for name, value in zip(names, values) if value is not None}
