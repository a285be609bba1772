"""``cgx queries`` and ``cgx schema``."""

from __future__ import annotations

import json as json_module
from collections.abc import Iterator
from typing import Any

from cgx import queries
from cgx.model import schema
from cgx.model.schema_rows import EdgeKind, NodeKind, Property
from cgx.queries import Query


def run_queries(name: str | None, *, json: bool) -> int:
    """Print the shipped queries by group, or one with its header and text. Raises UserError for an unknown name."""
    chosen = [queries.get(name)] if name else list(queries.catalog().values())
    if json:
        described = [query_json(query) for query in chosen]
        print(json_module.dumps(described[0] if name else described, ensure_ascii=False, indent=2))
        return 0
    for line in query_lines(chosen[0]) if name else catalog_lines(chosen):
        print(line)
    return 0


def run_schema(*, json: bool) -> int:
    """Print the node and edge kinds with their properties."""
    if json:
        print(json_module.dumps(schema_json(), ensure_ascii=False, indent=2))
        return 0
    for line in schema_lines():
        print(line)
    return 0


def query_json(query: Query) -> dict[str, Any]:
    return {
        "name": query.name,
        "title": query.title,
        "group": query.group,
        "params": [{"name": p.name, "type": p.kind, "default": p.default, "doc": p.doc} for p in query.params],
        "returns": [{"name": name, "type": kind} for name, kind in query.returns],
        "note": query.note,
        "text": query.text,
    }


def catalog_lines(chosen: list[Query]) -> Iterator[str]:
    """Names and titles by group."""
    width = max(len(query.name) for query in chosen)
    for group in queries.GROUPS:
        inside = [query for query in chosen if query.group == group]
        if inside:
            yield f"{group}"
            yield from (f"  {query.name.ljust(width)}  {query.title}" for query in inside)
            yield ""
    yield "cgx query NAME [--param k=v]... runs one; cgx queries NAME shows it"


def query_lines(query: Query) -> Iterator[str]:
    """One query as a person reads it: title, parameters, columns, statement."""
    yield f"{query.name}: {query.title} ({query.group})"
    for param in query.params:
        default = "needed" if param.default is None else f"default {param.default!r}"
        yield f"  --param {param.name}=...  {param.doc} ({param.kind}, {default})"
    yield f"  returns {', '.join(f'{name} {kind}' for name, kind in query.returns)}"
    if query.note:
        yield f"  note: {query.note}"
    yield ""
    yield query.text


def schema_json() -> dict[str, Any]:
    return {
        "version": schema.SCHEMA_VERSION,
        "nodes": [
            {
                "label": n.label,
                "group": n.group,
                "doc": n.doc,
                "identity": n.identity,
                "indexes": list(n.indexes),
                "properties": _rows(n.properties),
            }
            for n in schema.NODES
        ],
        "edges": [
            {
                "kind": e.name,
                "sources": list(e.sources),
                "targets": list(e.targets),
                "doc": e.doc,
                "properties": _rows(e.properties),
            }
            for e in schema.EDGES
        ],
    }


def schema_lines(only: str | None = None) -> Iterator[str]:
    """The whole schema, or one kind in full."""
    for node in schema.NODES:
        if only in (None, node.label):
            yield from node_lines(node)
    for edge in schema.EDGES:
        if only in (None, edge.name):
            yield from edge_lines(edge)


def node_lines(node: NodeKind) -> Iterator[str]:
    yield f"(:{node.label})  {node.doc}"
    yield f"    id: {node.identity}"
    yield from _property_lines(node.properties, node.indexes)


def edge_lines(edge: EdgeKind) -> Iterator[str]:
    yield f"(:{'|'.join(edge.sources)})-[:{edge.name}]->(:{'|'.join(edge.targets)})  {edge.doc}"
    yield from _property_lines(edge.properties, ())


def _property_lines(rows: tuple[Property, ...], indexes: tuple[str, ...]) -> Iterator[str]:
    for row in rows:
        marks = [mark for mark, holds in (("always there", row.required), ("indexed", row.name in indexes)) if holds]
        told = f" ({', '.join(marks)})" if marks else ""
        yield f"    {row.name}: {row.kind}{told}  {row.doc}"
    yield ""


def _rows(rows: tuple[Property, ...]) -> list[dict[str, Any]]:
    return [{"name": row.name, "type": row.kind, "required": row.required, "doc": row.doc} for row in rows]
