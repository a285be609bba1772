"""The part of the data path that lies inside a data set: reading, decoding, transforms."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.values import MISSING, FunctionValue, Instance, ListValue, Opaque, Value
from cgx.model.anchors import Anchor

NESTED = ("dataset", "datasets")


def function_anchor(function: Value) -> Anchor | None:
    """Where a user's method stands."""
    func = getattr(function, "func", function)
    return Anchor(func.path, func.symbol, func.node.lineno) if isinstance(func, FunctionValue) else None


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
        elif chosen is not None:
            rows.append({"hop": "transform", "by": getattr(chosen, "qname", "transform"), "anchor": function_anchor(chosen) or dataset.anchor or fallback})
        return rows
    if isinstance(dataset, Instance):
        method = dataset.cls.lookup("__getitem__")
        method = method if method is not MISSING else dataset.cls.lookup("__iter__")
        name = getattr(getattr(method, "func", method), "name", "__getitem__")
        return [{"hop": "read", "by": f"{dataset.cls.qname}.{name}", "anchor": function_anchor(method) or dataset.constructed_at or fallback}]
    return [{"hop": "read", "by": type(dataset).__name__.lower() if dataset is not None else "data set", "anchor": fallback}]
