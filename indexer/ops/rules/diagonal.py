"""Rules of repeats, diagonals, windows and complex views."""

from __future__ import annotations

from collections.abc import Sequence as Items
from typing import Any

from cgx.indexer.interpreter.values import TensorValue, Value
from cgx.indexer.ops.constants import flat, is_static, nest
from cgx.indexer.ops.dims import maximum, minimum
from cgx.indexer.ops.dtypes import COMPLEX_OF, REAL_OF
from cgx.indexer.ops.rows import Call
from cgx.indexer.ops.rules.view import arranged
from cgx.indexer.ops.shapes import MaybeSize, Undetermined, axis, numel
from cgx.indexer.ops.tensors import int_list, like, need_shape, size, sizes, tensor, view_of


def repeat(call: Call) -> Value:
    """repeat(*repeats), tile(dims): sizes multiplied, missing ones count as 1."""
    base = call.tensor()
    times: list[MaybeSize] = list(sizes(call.get("repeats", call.get("dims"))))
    shape: list[MaybeSize] = list(need_shape(base))
    if len(times) < len(shape):
        if call.row.name.endswith("repeat"):
            raise Undetermined("repeat")
        times = [*(1 for _ in range(len(shape) - len(times))), *times]
    shape = [*(1 for _ in range(len(times) - len(shape))), *shape]
    result = tuple(None if a is None or b is None else a * b for a, b in zip(shape, times))
    const = None
    if base.const is not None and is_static(result) and all(isinstance(count, int) for count in times):
        const = _tiled(nest(flat(base.const), shape), times)  # type: ignore[arg-type]
    return like(base, result, const=const)


def _tiled(const: Any, times: Items[Any]) -> Any:
    """Known elements, each dimension repeated."""
    if not times:
        return const
    return tuple(_tiled(part, times[1:]) for part in const) * times[0]


def repeat_interleave(call: Call) -> Value:
    """repeat_interleave(input, repeats, dim=None, output_size=None); with repeats alone, its sum hangs on the data."""
    base, repeats = call.tensor(), call.get("repeats")
    if repeats is None:
        return tensor((None,), "int64", base.device)
    shape = need_shape(base) if call.get("dim") is not None else (numel(base.shape),)
    place = axis(call.known("dim", 0) or 0, len(shape))
    times = size(repeats)
    if (isinstance(repeats, TensorValue) and times is None) or isinstance(repeats, list | tuple):
        extent = size(call.get("output_size"))
        if isinstance(repeats, TensorValue) and repeats.const is not None and repeats.shape and repeats.shape[0] == shape[place]:
            extent = int(sum(flat(repeats.const)))
    else:
        whole = shape[place]
        extent = None if times is None or whole is None else whole * times
    return like(base, (*shape[:place], extent, *shape[place + 1 :]))


def repeat_interleave_sync(call: Call) -> str | None:
    repeats = call.get("repeats")
    lengths = call.tensor() if repeats is None else repeats
    return "dynamic shape" if isinstance(lengths, TensorValue) and not call.given("output_size") else None


def flip(call: Call) -> Value:
    """flip, roll: the same shape."""
    base = call.tensor()
    const = None
    if base.const is not None and base.shape is not None and len(base.shape) == 1 and "flip" in call.row.name:
        const = tuple(reversed(base.const))
    return like(base, base.shape, const=const)


def rot90(call: Call) -> Value:
    base = call.tensor()
    shape = list(need_shape(base))
    dims = int_list(call.get("dims", (0, 1)))
    if call.known("k", 1) % 2 and isinstance(dims, tuple):
        first, second = (axis(dim, len(shape)) for dim in dims)
        shape[first], shape[second] = shape[second], shape[first]
    return like(base, tuple(shape))


def unfold_dim(call: Call) -> Value:
    """Tensor.unfold(dimension, size, step): windows go to a new last dimension."""
    base = call.tensor()
    shape = list(need_shape(base))
    place = axis(call.known("dimension"), len(shape))
    extent, span, step = shape[place], size(call.get("size")), size(call.get("step"))
    shape[place] = None if extent is None or span is None or step is None else (extent - span) // step + 1
    return view_of(base, (*shape, span))


def as_strided(call: Call) -> Value:
    return view_of(call.tensor(), sizes(call.get("size")))


def diagonal(call: Call) -> Value:
    """diagonal(input, offset=0, dim1=0, dim2=1)."""
    base = call.tensor()
    shape = need_shape(base)
    first, second = axis(call.known("dim1", 0), len(shape)), axis(call.known("dim2", 1), len(shape))
    rest = tuple(extent for place, extent in enumerate(shape) if place not in (first, second))
    return view_of(base, (*rest, _diagonal_size(shape[first], shape[second], call.known("offset", 0))))


def _diagonal_size(rows: MaybeSize, columns: MaybeSize, offset: int) -> MaybeSize:
    if rows is None or columns is None:
        return None
    rows, columns = (rows, columns - offset) if offset >= 0 else (rows + offset, columns)
    return maximum(0, minimum(rows, columns))


def diag(call: Call) -> Value:
    """diag(input, diagonal=0): a matrix from a vector, or the other way round."""
    base, offset = call.tensor(), call.known("diagonal", 0)
    shape = need_shape(base)
    if len(shape) == 1:
        side = None if shape[0] is None else shape[0] + abs(offset)
        return like(base, (side, side))
    return like(base, (_diagonal_size(shape[0], shape[1], offset),))


def diag_embed(call: Call) -> Value:
    base = call.tensor()
    shape = need_shape(base)
    side = None if shape[-1] is None else shape[-1] + abs(call.known("offset", 0))
    rest = list(shape[:-1])
    first, second = (axis(call.known(name, default), len(shape) + 1) for name, default in (("dim1", -2), ("dim2", -1)))
    for place in sorted((first, second)):
        rest.insert(place, side)
    return like(base, tuple(rest))


def as_real(call: Call) -> Value:
    """view_as_real: a last dimension of 2."""
    base = call.tensor()
    result = view_of(base, None if base.shape is None else (*base.shape, 2))
    result.dtype = REAL_OF.get(base.dtype or "")
    return result


def as_complex(call: Call) -> Value:
    """view_as_complex: the last dimension of 2 goes."""
    base = call.tensor()
    result = view_of(base, None if base.shape is None else base.shape[:-1])
    result.dtype = COMPLEX_OF.get(base.dtype or "")
    return result


def real_part(call: Call) -> Value:
    base = call.tensor()
    result = view_of(base, base.shape)
    result.dtype = REAL_OF.get(base.dtype or "", base.dtype)
    return result


def at_least(call: Call) -> Value:
    """atleast_1d, atleast_2d, atleast_3d."""
    base = call.tensor()
    shape = need_shape(base)
    rank = int(call.row.name.rstrip("d")[-1])
    if rank == 3 and len(shape) in (1, 2):
        return arranged(base, (1, *shape, 1) if len(shape) == 1 else (*shape, 1))
    return arranged(base, (1,) * max(0, rank - len(shape)) + shape)
