"""One value as a person reads it on one line."""

from __future__ import annotations

import json
from typing import Any

from cgx.store.values import EdgeValue, NodeValue, PathValue

ELLIPSIS = "…"
_ON_EDGES = ("text", "status", "section", "line")  # what tells an edge best, in this order
_MANY = 8  # entries of a list that are shown


def cell(value: Any) -> str:
    """Plain text, one line. Nodes show label, name and anchor; edges their kind and what tells them; paths both in turn."""
    if value is None:
        return ""
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, NodeValue):
        return node(value)
    if isinstance(value, EdgeValue):
        return f"-{edge(value)}->"
    if isinstance(value, PathValue):
        return path(value)
    if isinstance(value, list | tuple):
        shown = ", ".join(cell(item) for item in value[:_MANY])
        return f"[{shown}{f', {ELLIPSIS} {len(value)} in all' if len(value) > _MANY else ''}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {cell(item)}" for key, item in value.items()) + "}"
    return one_line(str(value))


def node(value: NodeValue) -> str:
    name = next(
        (str(value.properties[key]) for key in ("qname", "module_path", "path", "name") if value.properties.get(key)),
        value.id,
    )
    anchor = value.properties.get("anchor")
    return one_line(f"(:{value.label} {name}{f' {anchor}' if anchor else ''})")


def edge(value: EdgeValue) -> str:
    told = [str(value.properties[key]) for key in _ON_EDGES if value.properties.get(key) is not None]
    return one_line(f"[:{' '.join([value.kind, *told])}]")


def path(value: PathValue) -> str:
    parts = [node(value.nodes[0])] if value.nodes else []
    for at, each in enumerate(value.edges):
        back = each.source is not None and each.source != value.nodes[at].id
        parts.append(f"<-{edge(each)}-" if back else f"-{edge(each)}->")
        parts.append(node(value.nodes[at + 1]))
    return "".join(parts)


def one_line(text: str) -> str:
    """Control characters are shown as they are written in source, so that no text from a repository steers the terminal."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in text)


def cut(text: str, width: int) -> str:
    """The text in at most ``width`` columns; the end is cut and marked."""
    if display_width(text) <= width:
        return text
    kept, used = [], 0
    for char in text:
        used += display_width(char)
        if used > width - 1:
            break
        kept.append(char)
    return "".join(kept) + ELLIPSIS


def display_width(text: str) -> int:
    """Columns that a terminal gives the text."""
    if text.isascii():
        return len(text)
    from prompt_toolkit.utils import get_cwidth

    return int(get_cwidth(text))
