"""The driver's results as rows: nodes, relationships and paths become our values."""

from __future__ import annotations

from typing import Any

from neo4j.graph import Node, Path, Relationship

from cgx.model import schema
from cgx.store.values import EdgeValue, NodeValue, PathValue


def value(item: Any) -> Any:
    """One cell."""
    if isinstance(item, Node):
        return _node(item)
    if isinstance(item, Path):
        return _path(item)
    if isinstance(item, Relationship):
        return EdgeValue(item.type, dict(item.items()))
    if isinstance(item, dict):
        return {key: value(each) for key, each in item.items()}
    if isinstance(item, list | tuple):
        return [value(each) for each in item]
    if isinstance(item, str | int | float | bool) or item is None:
        return item
    return str(item)  # temporal and spatial values: not in our graph, but a statement can make them


def _node(item: Node) -> NodeValue:
    labels = sorted(item.labels, key=lambda label: (label not in schema.NODE_KINDS, label))
    properties = dict(item.items())
    return NodeValue(labels[0] if labels else "", str(properties.get("id", item.element_id)), properties)


def _path(item: Path) -> PathValue:
    nodes = [_node(each) for each in item.nodes]
    ids = {each.element_id: node.id for each, node in zip(item.nodes, nodes)}
    edges = []
    for each in item.relationships:
        ends = [ids.get(end.element_id) if end is not None else None for end in each.nodes]
        edges.append(EdgeValue(each.type, dict(each.items()), ends[0], ends[1]))
    return PathValue(tuple(nodes), tuple(edges))
