"""Rules of ops that give another shape over the same elements: views, permutations, splits, repeats."""

from __future__ import annotations

from collections.abc import Sequence as Items

from cgx.indexer.interpreter.values import DType, TensorValue, Value
from cgx.indexer.ops.constants import flat, is_static, nest, spread
from cgx.indexer.ops.dims import Dim
from cgx.indexer.ops.dtypes import BYTES, short_name
from cgx.indexer.ops.rows import Call
from cgx.indexer.ops.shapes import MaybeSize, Shape, Undetermined, axis, merged, numel, viewed
from cgx.indexer.ops.tensors import int_list, like, need_shape, size, sizes, view_of


def arranged(base: TensorValue, shape: Shape) -> TensorValue:
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
    return arranged(base, viewed(base.shape, sizes(wanted)))


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
    shape = need_shape(base)
    first, second = axis(call.known("dim0"), len(shape)), axis(call.known("dim1"), len(shape))
    order = list(range(len(shape)))
    if shape:
        order[first], order[second] = order[second], order[first]
    return permuted(base, order)


def permuted(base: TensorValue, order: Items[int]) -> TensorValue:
    """A view with its dimensions in that order; known elements go with it."""
    shape = need_shape(base)
    turned = tuple(shape[place] for place in order)
    if base.const is None or not is_static(shape) or 0 in shape:
        return view_of(base, turned)
    steps = [1] * len(shape)
    for place in range(len(shape) - 1, 0, -1):
        steps[place - 1] = steps[place] * shape[place]  # type: ignore[operator, assignment]
    items, picked = flat(base.const), [0]
    for place in order:
        picked = [start + index * steps[place] for start in picked for index in range(shape[place])]  # type: ignore[arg-type]
    return view_of(base, turned, nest([items[place] for place in picked], turned))  # type: ignore[arg-type]


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
    return permuted(base, [axis(dim, len(shape)) for dim in dims])


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
        return arranged(base, (1,))
    first, last = axis(start, len(shape)), axis(end, len(shape))
    return arranged(base, (*shape[:first], merged(shape[first : last + 1]), *shape[last + 1 :]))


def unflatten(call: Call) -> Value:
    """unflatten(input, dim, sizes)."""
    base = call.tensor()
    shape = need_shape(base)
    place = axis(call.known("dim"), len(shape))
    parts = viewed((shape[place],), sizes(call.get("sizes")))
    return arranged(base, (*shape[:place], *parts, *shape[place + 1 :]))


def squeeze(call: Call) -> Value:
    """squeeze(input, dim=None)."""
    base = call.tensor()
    shape = need_shape(base)
    dims = int_list(call.get("dim"))
    if dims is None:
        if any(_maybe_one(extent) for extent in shape):
            raise Undetermined("a size that may be 1")
        return arranged(base, tuple(extent for extent in shape if extent != 1))
    places = {axis(dim, len(shape)) for dim in (dims if isinstance(dims, tuple) else (dims,))}
    if any(shape[place] is None for place in places if shape):
        raise Undetermined("a size that may be 1")
    return arranged(base, tuple(extent for place, extent in enumerate(shape) if place not in places or extent != 1))


def _maybe_one(extent: MaybeSize) -> bool:
    """Not known to be 1 or not to be: only a size without a value is taken as open."""
    return extent is None


def unsqueeze(call: Call) -> Value:
    """unsqueeze(input, dim)."""
    base = call.tensor()
    shape = need_shape(base)
    place = axis(call.known("dim"), len(shape) + 1)
    return arranged(base, (*shape[:place], 1, *shape[place:]))


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


def size_sum(extents: Items[MaybeSize]) -> MaybeSize:
    """The sum of sizes, None where one is not known."""
    total: int | Dim = 0
    for extent in extents:
        if extent is None:
            return None
        total = total + extent
    return total
