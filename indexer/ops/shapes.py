"""Arithmetic on shapes. A shape is a tuple of sizes (int, Dim, or None for not known), or None for an unknown rank."""

from __future__ import annotations

from collections.abc import Sequence

from cgx.indexer.ops.dims import Size, exact_divide, maximum, product

MaybeSize = Size | None
Shape = tuple[MaybeSize, ...] | None


class Undetermined(Exception):
    """A rule cannot tell its result: an argument is not known, or the program would raise."""


def numel(shape: Shape) -> MaybeSize:
    """The number of elements, None where not known."""
    if shape is None or (None in shape and 0 not in shape):
        return None
    return 0 if 0 in shape else product(size for size in shape if size is not None)


def axis(dim: object, rank: int) -> int:
    """A dimension counted from the front. Raises Undetermined where it is no int or out of range."""
    if not isinstance(dim, int) or isinstance(dim, bool):
        raise Undetermined("dim")
    limit = max(rank, 1)
    if not -limit <= dim < limit:
        raise Undetermined(f"dim {dim} of rank {rank}")
    return dim + limit if dim < 0 else dim


def axes(dims: object, rank: int) -> tuple[int, ...]:
    """Dimensions counted from the front; None or an empty list means all."""
    if dims is None or (isinstance(dims, Sequence) and not dims):
        return tuple(range(rank))
    if isinstance(dims, Sequence):
        return tuple(axis(dim, rank) for dim in dims)
    return (axis(dims, rank),) if rank else ()


def broadcast(*shapes: Shape) -> Shape:
    """The broadcast shape. A size that is surely wrong in the program is not known here."""
    if any(shape is None for shape in shapes):
        return None
    known = [shape for shape in shapes if shape is not None]
    rank = max((len(shape) for shape in known), default=0)
    result: list[MaybeSize] = []
    for place in range(rank):
        size: MaybeSize = 1
        for shape in known:
            offset = place - (rank - len(shape))
            if offset >= 0:
                size = join_sizes(size, shape[offset])
        result.append(size)
    return tuple(result)


def join_sizes(left: MaybeSize, right: MaybeSize) -> MaybeSize:
    """The broadcast of two sizes. Sizes that differ can only be right where one of them is 1, so the larger is the result."""
    if left == right or right == 1:
        return left
    if left == 1:
        return right
    if left is None or right is None:  # whatever it is, beside a constant above 1 it must give that constant
        known = right if left is None else left
        return known if isinstance(known, int) and known > 1 else None
    if isinstance(left, int) and isinstance(right, int):
        return None
    if isinstance(left, int) or isinstance(right, int):
        return left if isinstance(left, int) else right
    return maximum(left, right)


def reduced(shape: Shape, dims: object, keepdim: object) -> Shape:
    """The shape after reducing ``dims`` (all for None)."""
    if keepdim not in (True, False):
        raise Undetermined("keepdim")
    if shape is None:
        return () if (dims is None or dims == ()) and not keepdim else None
    gone = set(axes(dims, len(shape)))
    if keepdim:
        return tuple(1 if place in gone else size for place, size in enumerate(shape))
    return tuple(size for place, size in enumerate(shape) if place not in gone)


def viewed(shape: Shape, sizes: Sequence[MaybeSize]) -> tuple[MaybeSize, ...]:
    """The sizes of a view or reshape, with -1 worked out where it can be."""
    if -1 not in sizes:
        return tuple(sizes)
    place = list(sizes).index(-1)
    others = [size for index, size in enumerate(sizes) if index != place]
    return (*sizes[:place], _rest(shape, others), *sizes[place + 1 :])


def _rest(shape: Shape, others: list[MaybeSize]) -> MaybeSize:
    """What is left for -1: the number of elements over the other sizes, cancelling equal unknown-free parts."""
    if shape is None:
        return None
    left, right = list(shape), list(others)
    for size in list(right):
        if size is not None and size in left:
            left.remove(size)
            right.remove(size)
    if None in left or None in right:
        return None
    above, below = numel(tuple(left)), numel(tuple(right))
    if above is None or below is None or below == 0:
        return None
    return exact_divide(above, below) if exact_divide(above, below) is not None else above // below


def merged(shape: tuple[MaybeSize, ...]) -> MaybeSize:
    """The size of several dimensions flattened into one."""
    return numel(shape)


def window(size: MaybeSize, kernel: MaybeSize, stride: MaybeSize, padding: MaybeSize, dilation: MaybeSize, ceil: bool = False) -> MaybeSize:
    """The output size of a convolution or pooling along one dimension."""
    if size is None or kernel is None or stride is None or padding is None or dilation is None:
        return None
    span = size + 2 * padding - dilation * (kernel - 1) - 1
    if not ceil:
        return span // stride + 1
    result = (span + stride - 1) // stride + 1
    last = (result - 1) * stride
    if isinstance(last, int) and isinstance(size, int) and isinstance(padding, int):
        return result - 1 if last >= size + padding else result
    return None if stride != 1 else result
