"""Rules of ops that cut a tensor into parts."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from collections.abc import Sequence as Items
from functools import wraps
from typing import Any

from cgx.indexer.interpreter.values import Sequence, TensorValue, Unknown, Value
from cgx.indexer.ops.dims import Dim, exact_divide
from cgx.indexer.ops.rows import Call
from cgx.indexer.ops.shapes import MaybeSize, Undetermined, axis
from cgx.indexer.ops.tensors import need_list, need_shape, size, view_of


def pieces(base: TensorValue, place: int, extents: Items[MaybeSize]) -> tuple[Value, ...]:
    """Parts of a tensor along one dimension, with their elements where those are known."""
    shape = need_shape(base)
    parts, start = [], 0
    known = isinstance(base.const, tuple) and place == 0 and all(isinstance(extent, int) for extent in extents)
    for extent in extents:
        const = None
        if known and isinstance(extent, int):
            const = base.const[start : start + extent] or None
            start += extent
        parts.append(view_of(base, (*shape[:place], extent, *shape[place + 1 :]), const))
    return tuple(parts)


def parts(rule: Callable[[Call], Value]) -> Callable[[Call], Value]:
    """Where it is not known how the tensor is cut: parts of unknown extents, in unknown number."""

    @wraps(rule)
    def read(call: Call) -> Value:
        try:
            return rule(call)
        except Undetermined:
            base = call.tensor()
            return Sequence(view_of(base, base.shape and (None,) * len(base.shape)), Unknown("len", "data"), qname="tuple")

    return read


@parts
def chunk(call: Call) -> Value:
    """chunk(input, chunks, dim=0)."""
    base, count = call.tensor(), call.known("chunks")
    dim = call.known("dim", 0)
    if not isinstance(count, int):
        raise Undetermined("chunks")
    if base.shape is None:
        return tuple(view_of(base, None) for _ in range(count))
    place = axis(dim, len(base.shape))
    extent = base.shape[place]
    if isinstance(extent, int):
        step = -(-extent // count) or 1
        return pieces(base, place, [min(step, extent - start) for start in range(0, extent, step)] or [0] * count)
    part = None if extent is None else exact_divide(extent, count)
    if part is None and extent is not None and count == 2:  # a rounded half, and what is left
        return pieces(base, place, [(extent + 1) // 2, extent - (extent + 1) // 2])
    return pieces(base, place, [part] * count)


@parts
def split(call: Call) -> Value:
    """split(input, split_size_or_sections, dim=0)."""
    base, wanted = call.tensor(), call.known("split_size_or_sections")
    dim = call.known("dim", 0)
    if isinstance(wanted, list | tuple):
        if base.shape is None:
            return tuple(view_of(base, None) for _ in wanted)
        return pieces(base, axis(dim, len(base.shape)), [size(item) for item in wanted])
    step = size(wanted)
    if base.shape is None or step is None:
        return Sequence(view_of(base, None), Unknown("len", "data"), qname="tuple")
    return split_by(base, axis(dim, len(base.shape)), step)


def split_by(base: TensorValue, place: int, step: int | Dim) -> Value:
    """Parts of ``step`` elements, the last one smaller."""
    shape = need_shape(base)
    extent = shape[place]
    if isinstance(extent, int) and isinstance(step, int) and step > 0:
        return pieces(base, place, [min(step, extent - start) for start in range(0, extent, step)] or [0])
    count = None if extent is None else exact_divide(extent, step)
    if isinstance(count, int):
        return pieces(base, place, [step] * count)
    part = step if count is not None else None
    element = view_of(base, (*shape[:place], part, *shape[place + 1 :]))
    length: Value = count if count is not None else Unknown("len", "data")
    if count is None and extent is not None:
        length = -((-extent) // step)
    return Sequence(element, length, qname="tuple")


def unbind(call: Call) -> Value:
    """unbind(input, dim=0)."""
    base = call.tensor()
    dim = call.known("dim", 0)
    if base.shape is None:
        return Sequence(view_of(base, None), Unknown("len", "data"), qname="tuple")
    place = axis(dim, len(base.shape))
    rest = (*base.shape[:place], *base.shape[place + 1 :])
    extent = base.shape[place]
    if isinstance(extent, int):
        consts: Items[Any] = base.const if base.const is not None and place == 0 else [None] * extent
        return tuple(view_of(base, rest, const) for const in consts)
    return Sequence(view_of(base, rest), extent if extent is not None else Unknown("len", "data"), qname="tuple")


@parts
def tensor_split(call: Call) -> Value:
    """tensor_split(input, indices_or_sections, dim=0) and hsplit, vsplit, dsplit."""
    base = call.tensor()
    wanted = call.known("indices_or_sections", call.get("sections"))
    shape = need_shape(base)
    fixed = {"hsplit": 1 if len(shape) > 1 else 0, "vsplit": 0, "dsplit": 2}.get(call.row.name.rpartition(".")[2])
    place = axis(call.known("dim", 0) if fixed is None else fixed, len(shape))
    extent = shape[place]
    if isinstance(wanted, int):
        if isinstance(extent, int):
            return pieces(base, place, [extent // wanted + (1 if part < extent % wanted else 0) for part in range(wanted)])
        return pieces(base, place, [None if extent is None else exact_divide(extent, wanted)] * wanted)
    cuts: list[MaybeSize] = [0, *(size(item) for item in need_list(wanted)), extent]
    spans = [b - a if isinstance(a, int) and isinstance(b, int) else None for a, b in itertools.pairwise(cuts)]
    return pieces(base, place, spans)
