"""A query's result as a picture: Mermaid or DOT, from the nodes, relationships and paths in its rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from cgx.ask.cells import edge as edge_text
from cgx.errors import UserError
from cgx.store.base import Rows
from cgx.store.values import EdgeValue, NodeValue, PathValue


def mermaid(rows: Rows, width: int | None) -> Iterator[str]:
    """A Mermaid flowchart. Raises UserError where the rows hold neither nodes nor paths."""
    nodes, edges = drawn(rows)
    numbers = {id_: f"n{at}" for at, id_ in enumerate(nodes)}
    yield "flowchart LR"
    for id_, node in nodes.items():
        yield f'  {numbers[id_]}["{_mermaid(_caption(node))}"]'
    for source, text, target in edges:
        yield f'  {numbers[source]} -->|"{_mermaid(text)}"| {numbers[target]}'


def dot(rows: Rows, width: int | None) -> Iterator[str]:
    """A Graphviz digraph. Raises UserError where the rows hold neither nodes nor paths."""
    nodes, edges = drawn(rows)
    yield "digraph cgx {"
    yield '  rankdir=LR; node [shape=box, fontname="sans-serif"]; edge [fontname="sans-serif", fontsize=10];'
    for id_, node in nodes.items():
        yield f"  {json.dumps(id_, ensure_ascii=False)} [label={json.dumps(_caption(node), ensure_ascii=False)}];"
    for source, text, target in edges:
        ends = f"{json.dumps(source, ensure_ascii=False)} -> {json.dumps(target, ensure_ascii=False)}"
        yield f"  {ends} [label={json.dumps(text, ensure_ascii=False)}];"
    yield "}"


def drawn(rows: Rows) -> tuple[dict[str, NodeValue], list[tuple[str, str, str]]]:
    """Nodes by id, and (source, text, target) of the edges between them, each once, in order of appearance."""
    nodes: dict[str, NodeValue] = {}
    edges: dict[tuple[str, str, str], None] = {}
    for value in _values(row for row in rows.rows):
        if isinstance(value, NodeValue):
            nodes.setdefault(value.id, value)
        elif isinstance(value, EdgeValue) and value.source is not None and value.target is not None:
            edges.setdefault((value.source, edge_text(value)[2:-1], value.target))
    if not nodes:
        raise UserError("nothing to draw: return nodes or paths (MATCH p = (a)-[:CALLS]->(b) RETURN p)")
    return nodes, [each for each in edges if each[0] in nodes and each[2] in nodes]


def _values(item: Any) -> Iterator[Any]:
    if isinstance(item, PathValue):
        yield from item.nodes
        yield from item.edges
    elif isinstance(item, NodeValue | EdgeValue):
        yield item
    elif isinstance(item, dict):
        yield from _values(item.values())
    elif isinstance(item, Iterable) and not isinstance(item, str):
        for each in item:
            yield from _values(each)


def _caption(node: NodeValue) -> str:
    keys = ("qname", "module_path", "path", "name")
    name = next((str(node.properties[key]) for key in keys if node.properties.get(key)), node.id)
    return f"{node.label}\n{name}"


def _mermaid(text: str) -> str:
    """Mermaid reads HTML entities; quotes, brackets and the like would end the label."""
    safe = "".join(char if char.isalnum() or char in " ._-/,:*()=" else f"#{ord(char)};" for char in text)
    return safe.replace("#10;", "<br/>")
