"""The store's graph, or a part of it, as a networkx multigraph."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from cgx.model import schema
from cgx.store.errors import QueryError

if TYPE_CHECKING:
    import networkx as nx

Read = Callable[[str, dict[str, Any]], list[tuple[Any, ...]]]

SHARED = frozenset({"Repository", "Symbol", "External", "Reason"})
"""Labels of identities: they belong to no commit, and come along at the ends of edges."""

_HELD = (
    "MATCH (:Commit {id: $commit})-[:HAS]->(f:File) RETURN f.id AS id",
    "MATCH (:Commit {id: $commit})-[:HAS]->(:File)-[:DEFINES]->(x) RETURN x.id AS id",
    "MATCH (:Commit {id: $commit})-[:OFFERS]->(e:EntryPoint) RETURN e.id AS id",
    "MATCH (j:Job)-[:OF]->(:Commit {id: $commit}) RETURN j.id AS id",
    "MATCH (j:Job)-[:OF]->(:Commit {id: $commit}) MATCH (j)-[:HAS_ENTRY]->(e) RETURN e.id AS id",
)


def project(read: Read, edge_kinds: Iterable[str] | None, commit: str | None) -> nx.MultiDiGraph:
    """Nodes by id with ``label`` and properties, edges with ``kind`` and properties. See ``Store.graph``.

    Raises QueryError for an edge kind that the schema does not have.
    """
    import networkx as nx

    kinds = list(schema.EDGE_KINDS) if edge_kinds is None else list(dict.fromkeys(edge_kinds))
    for kind in kinds:
        if kind not in schema.EDGE_KINDS:
            raise QueryError(f"no edge kind {kind!r}; `cgx schema` lists them")
    held = None if commit is None else _held(read, commit)
    graph = nx.MultiDiGraph()
    if edge_kinds is None:
        _add_nodes(graph, read, held, None)
    for kind in kinds:
        _add_edges(graph, read, kind, held)
    if edge_kinds is not None:
        _add_nodes(graph, read, held, set(graph.nodes))
    elif held is not None:
        _add_nodes(graph, read, None, {node for node, data in graph.nodes(data=True) if not data})
    return graph


def _held(read: Read, commit: str) -> set[str]:
    held = {commit}
    for statement in _HELD:
        held.update(row[0] for row in read(statement, {"commit": commit}))
    return held


def _add_nodes(graph: nx.MultiDiGraph, read: Read, held: set[str] | None, only: set[str] | None) -> None:
    for label in schema.labels():
        for id_, properties in read(f"MATCH (n:{label}) RETURN n.id AS id, properties(n) AS p", {}):
            wanted = id_ in only if only is not None else held is None or id_ in held
            if wanted:
                known = schema.NODE_KINDS[label]
                data = {
                    row.name: properties[row.name] for row in known.properties if properties.get(row.name) is not None
                }
                graph.add_node(id_, label=label, **data)


def _add_edges(graph: nx.MultiDiGraph, read: Read, kind: str, held: set[str] | None) -> None:
    row = schema.EDGE_KINDS[kind]
    names = [each.name for each in row.properties]
    columns = "".join(f", e.{name} AS {name}" for name in names)
    for source in row.sources:
        for target in row.targets:
            statement = f"MATCH (a:{source})-[e:{kind}]->(b:{target}) RETURN a.id AS s, b.id AS t, e.key AS k{columns}"
            for s, t, key, *values in read(statement, {}):
                if held is not None and not _inside(s, source, t, target, held):
                    continue
                data = {name: value for name, value in zip(names, values) if value is not None}
                graph.add_edge(s, t, key=f"{kind}:{key}" if key else kind, kind=kind, **data)


def _inside(source: str, source_label: str, target: str, target_label: str, held: set[str]) -> bool:
    """Every end that belongs to a commit belongs to this one, and one of them does."""
    ends = [(source, source_label in SHARED), (target, target_label in SHARED)]
    own = [id_ for id_, shared in ends if not shared]
    return bool(own) and all(id_ in held for id_ in own)
