"""Nodes, relationships and paths as query results give them, the same from every store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class NodeValue:
    """A node. ``properties`` holds ``id`` too."""

    label: str
    id: str
    properties: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def as_json(self) -> dict[str, Any]:
        return {"label": self.label, **dict(sorted(self.properties.items()))}


@dataclass(frozen=True, slots=True)
class EdgeValue:
    """A relationship. ``source`` and ``target`` are node ids where the store tells them (always within a path)."""

    kind: str
    properties: Mapping[str, Any] = field(default_factory=dict, compare=False)
    source: str | None = None
    target: str | None = None

    def as_json(self) -> dict[str, Any]:
        ends = {"source": self.source, "target": self.target} if self.source is not None else {}
        return {"kind": self.kind, **ends, **dict(sorted(self.properties.items()))}


@dataclass(frozen=True, slots=True)
class PathValue:
    """A path: nodes, and between each two a relationship."""

    nodes: tuple[NodeValue, ...]
    edges: tuple[EdgeValue, ...]

    def as_json(self) -> dict[str, Any]:
        return {"nodes": [n.as_json() for n in self.nodes], "edges": [e.as_json() for e in self.edges]}


def plain(value: Any) -> Any:
    """The value with nodes, relationships and paths turned into what ``json`` can write."""
    if isinstance(value, NodeValue | EdgeValue | PathValue):
        return value.as_json()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value
