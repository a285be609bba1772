"""The part of the data path that lies inside a data set: reading, decoding, transforms."""

from __future__ import annotations

import ast
from typing import Any

from cgx.indexer.interpreter.trace import CallNode, Event, Node, ScopeNode
from cgx.indexer.interpreter.values import (
    MISSING,
    Alternatives,
    DictValue,
    FunctionValue,
    Instance,
    ListValue,
    Opaque,
    Value,
)
from cgx.model.anchors import Anchor

NESTED = ("dataset", "datasets")


def function_anchor(function: Value) -> Anchor | None:
    """Where a user's method stands."""
    func = callable_of(function)
    return Anchor(func.path, func.symbol, func.node.lineno) if func is not None else None


def first_statement(function: Value) -> Anchor | None:
    """Where the work of a user's function begins: its first statement that does something."""
    found = callable_of(function)
    if found is None:
        return None
    for node in found.node.body if isinstance(found.node.body, list) else []:
        if not isinstance(node, ast.Delete | ast.Pass) and not (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        ):
            return Anchor(found.path, found.symbol, node.lineno)
    return Anchor(found.path, found.symbol, found.node.lineno)


def callable_of(function: Value) -> FunctionValue | None:
    """The function behind a method, a partial, or an object with ``__call__``."""
    if isinstance(function, Instance):
        function = function.cls.lookup("__call__")
    while function is not None and not isinstance(function, FunctionValue):
        function = getattr(function, "func", None)
    return function


def events_inside(scope: ScopeNode) -> list[dict[str, Any]]:
    """Hops that were seen while one element was evaluated: files opened, maps of memory, streams read."""
    rows: list[dict[str, Any]] = []
    for node in scope.walk():
        if isinstance(node, Event) and node.kind == "data" and node.data.get("hop"):
            row = {"hop": node.data["hop"], "by": node.data.get("by", ""), "anchor": node.anchor}
            if row not in rows:
                rows.append(row)
    for call in calls_in(scope):
        row = {"hop": "transform", "by": call.symbol, "anchor": call.anchor}
        if call.prepares and row not in rows:
            rows.append(row)
    return rows


def calls_in(scope: ScopeNode) -> list[CallNode]:
    """Calls that the functions of the data set make themselves, not those further down."""
    found: list[CallNode] = []

    def visit(node: Node, depth: int) -> None:
        for child in node.children:
            if isinstance(child, CallNode):
                if depth:
                    found.append(child)
                visit(child, depth + 1) if depth < 2 else None
            else:
                visit(child, depth)

    visit(scope, 0)
    return found


def dataset_hops(dataset: Value, fallback: Anchor | None) -> list[dict[str, Any]]:
    """Rows ``{hop, by, anchor}`` from storage on, without the loader's part."""
    if isinstance(dataset, Opaque):
        inside = next((dataset.attrs[name] for name in NESTED if dataset.attrs.get(name) is not None), None)
        if inside is not None and not dataset.attrs.get("cgx.hops"):
            first = inside.items[0] if isinstance(inside, ListValue) and inside.items else inside
            return dataset_hops(first, fallback)
        rows = [dict(row) for row in dataset.attrs.get("cgx.hops", ({"hop": "read", "by": dataset.qname},))]
        for row in rows:
            row.setdefault("anchor", dataset.anchor or fallback)
        chosen = dataset.attrs.get("transform")
        if isinstance(chosen, Opaque):
            rows.append({"hop": "transform", "by": chosen.qname, "anchor": chosen.anchor or dataset.anchor or fallback})
        elif isinstance(chosen, Instance):
            rows.append({"hop": "transform", "by": chosen.cls.qname, "anchor": chosen.constructed_at or dataset.anchor or fallback})
        elif chosen is not None:
            rows.append(
                {
                    "hop": "transform",
                    "by": getattr(chosen, "qname", "transform"),
                    "anchor": function_anchor(chosen) or dataset.anchor or fallback,
                }
            )
        return rows
    if isinstance(dataset, Instance):
        method = dataset.cls.lookup("__getitem__")
        method = method if method is not MISSING else dataset.cls.lookup("__iter__")
        name = getattr(getattr(method, "func", method), "name", "__getitem__")
        return [
            {
                "hop": "read",
                "by": f"{dataset.cls.qname}.{name}",
                "anchor": function_anchor(method) or dataset.constructed_at or fallback,
            }
        ]
    if isinstance(dataset, Alternatives):
        first = next((one for _, one in dataset.options if isinstance(one, Opaque | Instance)), None)
        if first is not None:
            return dataset_hops(first, fallback)
    plain = isinstance(dataset, list | tuple | ListValue | DictValue)
    return [{"hop": "read", "by": type(dataset).__name__.lower() if plain else "data set", "anchor": fallback}]
