"""Rules of ops that give another shape over the same elements: views, permutations, splits, repeats."""

from __future__ import annotations

import itertools
from collections.abc import Sequence as Items
from typing import Any

from cgx.indexer.interpreter.values import DType, Sequence, TensorValue, Unknown, Value
from cgx.indexer.ops.constants import flat, is_static, nest, spread
from cgx.indexer.ops.dims import Dim, exact_divide, less
from cgx.indexer.ops.dtypes import BYTES, COMPLEX_OF, REAL_OF, short_name
from cgx.indexer.ops.rows import Call
from cgx.indexer.ops.shapes import MaybeSize, Shape, Undetermined, axis, merged, numel, viewed
from cgx.indexer.ops.tensors import int_list, like, need_list, need_shape, size, sizes, tensor, view_of


def _arranged(base: TensorValue, shape: Shape) -> TensorValue:
    """A view of ``base`` with its elements in the same order."""
    const = None
    if base.const is not None and is_static(shape) and shape is not None and numel(shape) == numel(base.shape):
        const = nest(flat(base.const), shape)  # type: ignore[arg-type]
    return view_of(base, shape, const)


def view(call: Call) -> Value:
    """view(*size), reshape(*shape), view(dtype)."""
    base = call.tensor()
    wanted = call.get("size", call.get("shape"))
    if isinstance(wanted, tuple) and len(wanted) == 1 and isinstance(wanted[0], DType):
        return view_dtype(base, wanted[0])
    return _arranged(base, viewed(base.shape, sizes(wanted)))


def view_dtype(base: TensorValue, dtype: Value) -> TensorValue:
    """view(dtype): the last dimension scales with the element's size."""
    name = short_name(dtype)
    shape = base.shape
    if shape and name in BYTES and base.dtype in BYTES and BYTES[name] != BYTES[base.dtype]:
        last = shape[-1]
        old, new = BYTES[base.dtype], BYTES[name]
        shape = (*shape[:-1], None if last is None else last * old // new)
    elif base.dtype not in BYTES or name not in BYTES:
        shape = None if shape is None else (*shape[:-1], None)[: len(shape)]
    result = view_of(base, shape)
    result.dtype = name
    return result


def same_shape_as(call: Call) -> Value:
    """view_as, reshape_as, expand_as."""
    return view_of(call.tensor(), call.tensor("other").shape)


def keep(call: Call) -> Value:
    """contiguous, detach, clone...: the same elements."""
    base = call.tensor()
    return view_of(base, base.shape, base.const)


def copied(call: Call) -> Value:
    """clone: the same elements in new memory."""
    base = call.tensor()
    return like(base, base.shape, const=base.const)


def transpose(call: Call) -> Value:
    """transpose(input, dim0, dim1)."""
    base = call.tensor()
    shape = list(need_shape(base))
    first, second = axis(call.known("dim0"), len(shape)), axis(call.known("dim1"), len(shape))
    if shape:
        shape[first], shape[second] = shape[second], shape[first]
    return view_of(base, tuple(shape))


def turned(call: Call) -> Value:
    """t(): the two dimensions of a matrix swapped."""
    base = call.tensor()
    return view_of(base, tuple(reversed(need_shape(base))))


def adjoint(call: Call) -> Value:
    base = call.tensor()
    shape = need_shape(base)
    if len(shape) < 2:
        raise Undetermined("adjoint")
    return view_of(base, (*shape[:-2], shape[-1], shape[-2]))


def permute(call: Call) -> Value:
    """permute(*dims)."""
    base = call.tensor()
    shape = need_shape(base)
    dims = int_list(call.get("dims"))
    if not isinstance(dims, tuple) or len(dims) != len(shape):
        raise Undetermined("dims")
    return view_of(base, tuple(shape[axis(dim, len(shape))] for dim in dims))


def movedim(call: Call) -> Value:
    """movedim(input, source, destination)."""
    base = call.tensor()
    shape = need_shape(base)
    source, target = int_list(call.get("source")), int_list(call.get("destination"))
    sources = [axis(dim, len(shape)) for dim in (source if isinstance(source, tuple) else (source,))]
    targets = [axis(dim, len(shape)) for dim in (target if isinstance(target, tuple) else (target,))]
    order = [place for place in range(len(shape)) if place not in sources]
    for place, origin in sorted(zip(targets, sources)):
        order.insert(place, origin)
    return view_of(base, tuple(shape[place] for place in order))


def flatten(call: Call) -> Value:
    """flatten(input, start_dim=0, end_dim=-1)."""
    base = call.tensor()
    start, end = call.known("start_dim", 0), call.known("end_dim", -1)
    if base.shape is None and (start, end) == (0, -1):
        return view_of(base, (None,))
    shape = need_shape(base)
    if not shape:
        return _arranged(base, (1,))
    first, last = axis(start, len(shape)), axis(end, len(shape))
    return _arranged(base, (*shape[:first], merged(shape[first : last + 1]), *shape[last + 1 :]))


def unflatten(call: Call) -> Value:
    """unflatten(input, dim, sizes)."""
    base = call.tensor()
    shape = need_shape(base)
    place = axis(call.known("dim"), len(shape))
    parts = viewed((shape[place],), sizes(call.get("sizes")))
    return _arranged(base, (*shape[:place], *parts, *shape[place + 1 :]))


def squeeze(call: Call) -> Value:
    """squeeze(input, dim=None)."""
    base = call.tensor()
    shape = need_shape(base)
    dims = int_list(call.get("dim"))
    if dims is None:
        if any(_maybe_one(extent) for extent in shape):
            raise Undetermined("a size that may be 1")
        return _arranged(base, tuple(extent for extent in shape if extent != 1))
    places = {axis(dim, len(shape)) for dim in (dims if isinstance(dims, tuple) else (dims,))}
    if any(shape[place] is None for place in places if shape):
        raise Undetermined("a size that may be 1")
    return _arranged(base, tuple(extent for place, extent in enumerate(shape) if place not in places or extent != 1))


def _maybe_one(extent: MaybeSize) -> bool:
    """Not known to be 1 or not to be: only a size without a value is taken as open."""
    return extent is None


def unsqueeze(call: Call) -> Value:
    """unsqueeze(input, dim)."""
    base = call.tensor()
    shape = need_shape(base)
    place = axis(call.known("dim"), len(shape) + 1)
    return _arranged(base, (*shape[:place], 1, *shape[place:]))


def expand(call: Call) -> Value:
    """expand(*size), broadcast_to: -1 keeps a size."""
    base = call.tensor()
    wanted = sizes(call.get("size"))
    if base.shape is None:
        return view_of(base, tuple(None if extent == -1 else extent for extent in wanted))
    lead = len(wanted) - len(base.shape)
    if lead < 0:
        raise Undetermined("expand")
    shape = tuple(base.shape[place - lead] if extent == -1 and place >= lead else extent for place, extent in enumerate(wanted))
    const = None
    if base.const is not None and is_static(shape):
        const = nest(list(spread(base.const, base.shape, shape)), shape)  # type: ignore[arg-type]
    return view_of(base, shape, const)


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
    return like(base, tuple(None if a is None or b is None else a * b for a, b in zip(shape, times)))


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


def narrow(call: Call) -> Value:
    """narrow(input, dim, start, length)."""
    base = call.tensor()
    shape = list(need_shape(base))
    place, length = axis(call.known("dim"), len(shape)), size(call.get("length"))
    shape[place] = length
    start, const = size(call.get("start")), None
    if isinstance(base.const, tuple) and place == 0 and isinstance(start, int) and isinstance(length, int) and start >= 0:
        const = base.const[start : start + length] or None
    return view_of(base, tuple(shape), const)


def select(call: Call) -> Value:
    """select(input, dim, index)."""
    base = call.tensor()
    shape = need_shape(base)
    place = axis(call.known("dim"), len(shape))
    return view_of(base, (*shape[:place], *shape[place + 1 :]))


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
    if rows == columns:
        return rows
    smaller = less(rows, columns)
    return None if smaller is None else (rows if smaller else columns)


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
        return _arranged(base, (1, *shape, 1) if len(shape) == 1 else (*shape, 1))
    return _arranged(base, (1,) * max(0, rank - len(shape)) + shape)


def size_sum(extents: Items[MaybeSize]) -> MaybeSize:
    """The sum of sizes, None where one is not known."""
    total: int | Dim = 0
    for extent in extents:
        if extent is None:
            return None
        total = total + extent
    return total
