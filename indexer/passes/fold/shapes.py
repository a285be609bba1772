"""Shapes as a record states them, and the symbols that stand in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from cgx.indexer.interpreter.values import ByRank, TensorValue
from cgx.model.anchors import Anchor

Size = int | str | None


@dataclass(slots=True)
class Symbols:
    """Symbolic dims by name, in the order they are first written. ``known`` is what the interpreter says of each."""

    known: dict[str, Any] = field(default_factory=dict)
    found: dict[str, dict[str, Any]] = field(default_factory=dict)

    def size(self, dim: Any, anchor: Anchor | None) -> Size:
        """An int, the name of a symbol, or None where the size is not known."""
        if isinstance(dim, ByRank):
            dim = dim.values[0] if len({str(value) for value in dim.values}) == 1 else None
        if dim is None or type(dim) is int:
            return dim
        if type(dim).__name__ != "Dim":
            return None
        name = str(dim)
        if name not in self.found:
            self.found[name] = self._row(name, anchor)
        return name

    def _row(self, name: str, anchor: Anchor | None) -> dict[str, Any]:
        row = self.known.get(name) or {}
        value, expr, place = row.get("value"), row.get("expr", name), row.get("anchor", anchor)
        return {
            **({} if value is None else {"value": value}),
            "expr": expr,
            **({} if place is None else {"code_anchor": str(place)}),
        }


def named_tensors(values: Sequence[Any]) -> list[tuple[str, TensorValue]]:
    """(name, tensor) of a boundary; values that are no tensors are left out."""
    found = []
    for value in values:
        name, tensor = value if isinstance(value, tuple) and len(value) == 2 else ("", value)
        if isinstance(tensor, TensorValue):
            found.append((str(name or tensor.name or ""), tensor))
    return found


def boundary_rows(several: Sequence[Sequence[Any]], anchor: Anchor | None, symbols: Symbols) -> list[dict[str, Any]]:
    """One row a tensor. ``several`` are the same boundary of all units of a fold: sizes that differ become None."""
    lists = alike([named_tensors(values) for values in several])
    rows = []
    for column in zip(*lists):
        name, first = column[0]
        row: dict[str, Any] = {"name": name} if name else {}
        row["dims"] = blend([tensor.shape for _, tensor in column], anchor, symbols)
        if first.dtype is not None and all(tensor.dtype == first.dtype for _, tensor in column):
            row["dtype"] = first.dtype
        rows.append(row)
    return rows


def alike(lists: list[list[tuple[str, TensorValue]]]) -> list[list[tuple[str, TensorValue]]]:
    """The lists of all units with the same tensors in each: arguments that some get None for are left out."""
    names = [[name for name, _ in tensors] for tensors in lists]
    if all(one == names[0] for one in names):
        return lists
    if not all(all(one) for one in names):
        return [tensors for tensors in lists if len(tensors) == len(lists[0])]
    keyed = [{(name, one[:place].count(name)): pair for place, (name, pair) in enumerate(zip(one, tensors))} for one, tensors in zip(names, lists)]
    shared = [key for key in keyed[0] if all(key in one for one in keyed)]
    return [[one[key] for key in shared] for one in keyed]


def blend(shapes: Sequence[tuple[Any, ...] | None], anchor: Anchor | None, symbols: Symbols) -> list[Size] | None:
    """The sizes that all shapes have in common, None for the others; None where the ranks differ or are not known."""
    first = shapes[0]
    if first is None or any(shape is None or len(shape) != len(first) for shape in shapes):
        return None
    sizes = []
    for column in zip(*(shape for shape in shapes if shape is not None)):
        same = all(type(dim) is type(column[0]) and dim == column[0] for dim in column)
        sizes.append(symbols.size(column[0], anchor) if same else None)
    return sizes
