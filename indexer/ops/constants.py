"""Elements of small host tensors that are known: nested tuples of numbers, and maps over them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from math import prod
from typing import Any

from cgx.indexer.ops.dtypes import rounded

MAX_ELEMENTS = 4096  # more elements than this are not kept

Number = int | float | bool


def is_static(shape: Any) -> bool:
    """The shape is known in full and small enough to keep the elements of."""
    if shape is None or not all(isinstance(size, int) for size in shape):
        return False
    return bool(prod(shape) <= MAX_ELEMENTS)


def flat(const: Any) -> list[Number]:
    """The elements in order."""
    if not isinstance(const, tuple):
        return [const]
    found: list[Number] = []
    for item in const:
        found.extend(flat(item))
    return found


def nest(items: Sequence[Number], shape: Sequence[int]) -> Any:
    """The elements in order as nested tuples of the shape."""
    if not shape:
        return items[0]
    if len(shape) == 1:
        return tuple(items)
    step = prod(shape[1:])
    return tuple(nest(items[place * step : (place + 1) * step], shape[1:]) for place in range(shape[0]))


def shape_of(const: Any) -> tuple[int, ...]:
    """The shape of nested tuples or lists; ValueError where they are ragged."""
    if not isinstance(const, tuple | list):
        return ()
    if not const:
        return (0,)
    inner = {shape_of(item) for item in const}
    if len(inner) != 1:
        raise ValueError("ragged")
    return (len(const), *inner.pop())


def fill(value: Number, shape: Sequence[int]) -> Any:
    return nest([value] * prod(shape), shape)


def spread(const: Any, source: Sequence[int], target: Sequence[int]) -> Iterator[Number]:
    """The elements of ``const`` (of shape ``source``) broadcast to ``target``, in order."""
    items = flat(const)
    padded = [1] * (len(target) - len(source)) + list(source)
    strides, step = [0] * len(padded), 1
    for place in range(len(padded) - 1, -1, -1):
        strides[place] = 0 if padded[place] == 1 else step
        step *= padded[place]
    index = [0] * len(target)
    for _ in range(prod(target)):
        yield items[sum(position * stride for position, stride in zip(index, strides))]
        for place in range(len(target) - 1, -1, -1):
            index[place] += 1
            if index[place] < target[place]:
                break
            index[place] = 0


def mapped(function: Callable[..., Any], operands: Sequence[tuple[Any, Sequence[int]]], shape: Sequence[int], dtype: str | None) -> Any:
    """``function`` over broadcast operands (const, shape); None where it fails on an element."""
    try:
        columns = [spread(const, source, shape) for const, source in operands]
        items = [rounded(function(*values), dtype) for values in islice(zip(*columns), MAX_ELEMENTS)]
    except (ArithmeticError, ValueError, TypeError):
        return None
    return nest(items, shape)
