"""What a pass yields: nodes, edges and things not known. The pipeline stores them; a pass never edits another's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

Scalar = str | int | float | bool | None
Value = Scalar | list[str] | list[int] | list[float]
Basis = Literal["exact", "several", "modelled", "likely", "unknown"]


@dataclass(frozen=True, slots=True)
class Node:
    """A graph node. ``id`` is its identity in the store and the same for the same input."""

    label: str
    id: str
    properties: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Edge:
    """A relationship between two node ids. ``key`` tells parallel edges of one kind apart."""

    kind: str
    source: str
    target: str
    properties: Mapping[str, Value] = field(default_factory=dict)
    key: str = ""


@dataclass(slots=True)
class GraphDelta:
    """Nodes and edges to add, and scopes (commit ids, job ids) whose earlier content they replace."""

    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)

    def extend(self, nodes: Iterable[Node] = (), edges: Iterable[Edge] = ()) -> None:
        self.nodes.extend(nodes)
        self.edges.extend(edges)
