"""kglite's results as rows: its dicts for nodes, relationships and paths become our values."""

from __future__ import annotations

from typing import Any

from cgx.model import schema
from cgx.store.base import Rows
from cgx.store.values import EdgeValue, NodeValue, PathValue

_NODE = frozenset({"id", "labels", "properties"})
_EDGE = frozenset({"id", "start", "end", "type", "properties"})
_PATH = frozenset({"nodes", "relationships"})
_VIRTUAL = frozenset({"title", "type"})  # kglite shows name and label under these too


def convert(view: Any, limit: int | None) -> Rows:
    """At most ``limit`` rows of a result, with a sign where there were more."""
    if isinstance(view, str):  # `RETURN ... FORMAT CSV` gives text
        return Rows(["csv"], [(line,) for line in view.splitlines()])
    columns = list(view.columns)
    rows: list[tuple[Any, ...]] = []
    truncated = False
    for row in view:
        if limit is not None and len(rows) >= limit:
            truncated = True
            break
        rows.append(tuple(value(row[name]) for name in columns))
    return Rows(columns, rows, truncated, warnings=[str(line) for line in view.warnings or ()])


def value(item: Any) -> Any:
    """One cell."""
    if isinstance(item, dict):
        keys = item.keys()
        if keys == _NODE:
            return _node(item)
        if keys == _EDGE:
            return _edge(item, {})
        if keys == _PATH:
            return _path(item)
        return {key: value(each) for key, each in item.items() if not _virtual(key, item)}
    if isinstance(item, list | tuple):
        return [value(each) for each in item]
    return item


def _virtual(key: str, item: dict[str, Any]) -> bool:
    """Whether a key of ``properties(n)`` or ``properties(e)`` is the engine's own and not a property."""
    kind = item.get("type")
    if kind in schema.EDGE_KINDS:
        return key == "type"
    return key in _VIRTUAL and kind in schema.NODE_KINDS and "id" in item


def _node(item: dict[str, Any]) -> NodeValue:
    properties = {name: each for name, each in item["properties"].items() if name not in _VIRTUAL and each is not None}
    return NodeValue(item["labels"][0] if item["labels"] else "", str(properties.get("id", item["id"])), properties)


def _edge(item: dict[str, Any], ids: dict[Any, str]) -> EdgeValue:
    properties = {name: each for name, each in item["properties"].items() if name not in _VIRTUAL and each is not None}
    return EdgeValue(item["type"], properties, ids.get(item["start"]), ids.get(item["end"]))


def _path(item: dict[str, Any]) -> PathValue:
    nodes = [_node(each) for each in item["nodes"]]
    ids = {each["id"]: node.id for each, node in zip(item["nodes"], nodes)}
    return PathValue(tuple(nodes), tuple(_edge(each, ids) for each in item["relationships"]))
