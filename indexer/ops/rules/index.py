"""Rules of indexing, gathering and scattering."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

from cgx.indexer.interpreter.values import TensorValue, Unknown, Value
from cgx.indexer.ops.constants import flat, is_static, nest, shape_of, spread
from cgx.indexer.ops.dims import Size, less, maximum, minimum
from cgx.indexer.ops.dtypes import rounded
from cgx.indexer.ops.rows import Call
from cgx.indexer.ops.shapes import MaybeSize, Shape, Undetermined, broadcast
from cgx.indexer.ops.tensors import known_elements, like, scalar_value, size, view_of

MAX_WRITTEN = 512  # elements of a tensor that are kept when some are written: loops write one at a time


def getitem(call: Call) -> Value:
    """input[key]."""
    base, key = call.tensor(), call.get("key")
    items = _items(key)
    if base.shape is None:
        return like(base, None)
    shape, copied = indexed(base.shape, items)
    if copied:
        return like(base, shape)
    return view_of(base, shape, _known_part(base, items))


def _items(key: Value) -> list[Value]:
    """The parts of a key, lists as index tensors."""
    parts = list(key) if isinstance(key, tuple) else [key]
    return [_as_index(part) for part in parts]


def _as_index(part: Value) -> Value:
    if isinstance(part, range):
        part = list(part)
    if not isinstance(part, list):
        return part
    try:
        shape = shape_of(part)
    except ValueError:
        raise Undetermined("index") from None
    if any(isinstance(item, Unknown | TensorValue) for item in part):
        return TensorValue(shape=(len(part),), dtype="int64", device="cpu")
    flags = bool(part) and isinstance(part[0], bool)
    return TensorValue(shape=shape, dtype="bool" if flags else "int64", device="cpu", const=_frozen(part))


def _frozen(part: Any) -> Any:
    return tuple(_frozen(item) for item in part) if isinstance(part, list | tuple) else part


def indexed(shape: tuple[MaybeSize, ...], items: list[Value]) -> tuple[Shape, bool]:
    """The shape of ``tensor[items]``, and whether it is a copy (advanced indexing) and no view."""
    used = sum(_width(item) for item in items)
    spare = len(shape) - used
    if spare < 0:
        raise Undetermined("too many indices")
    if not any(item is Ellipsis for item in items):
        items = [*items, Ellipsis]
    result: list[MaybeSize] = []
    advanced: list[Shape] = []
    places: list[int] = []  # where in the result each advanced index stands
    place = 0
    for item in items:
        if item is Ellipsis:
            result.extend(shape[place : place + spare])
            place += spare
        elif item is None:
            result.append(1)
        elif isinstance(item, slice):
            result.append(slice_size(shape[place], item))
            place += 1
        elif _is_index_tensor(item):
            places.append(len(result))
            advanced.append(_index_shape(item, shape, place))
            place += _width(item)
        else:
            if isinstance(item, bool):
                raise Undetermined("bool index")
            place += 1  # one element
    if not advanced:
        return tuple(result), False
    joined = broadcast(*advanced)
    if joined is None:
        return None, True
    together = len(set(places)) == 1
    start = places[0] if together else 0
    return (*result[:start], *joined, *result[start:]), True


def _is_index_tensor(item: Value) -> bool:
    if isinstance(item, TensorValue):
        return item.shape != () or item.dtype == "bool"
    if isinstance(item, Unknown):
        if item.hint not in ("int",):
            raise Undetermined("index")
        return False
    return False


def _width(item: Value) -> int:
    """How many dimensions an item uses up."""
    if item is None or item is Ellipsis:
        return 0
    if isinstance(item, TensorValue) and item.dtype in ("bool", "uint8"):
        if item.shape is None:
            raise Undetermined("mask")
        return len(item.shape)
    if isinstance(item, TensorValue) and item.dtype is None and (item.shape is None or len(item.shape) != 1):
        raise Undetermined("index dtype")
    return 1


def _index_shape(item: TensorValue, shape: tuple[MaybeSize, ...], place: int) -> Shape:
    if item.dtype not in ("bool", "uint8"):
        return item.shape
    if item.const is not None and item.shape is not None and len(item.shape) == 1:
        return (sum(bool(flag) for flag in item.const),)
    return (None,)


def slice_size(extent: MaybeSize, part: slice) -> MaybeSize:
    """How many elements a slice takes of a dimension."""
    step = size(1 if part.step is None else part.step)
    if isinstance(step, int) and step < 0 and part.start is None and part.stop is None:
        return extent if step == -1 or extent is None else -((-extent) // -step)  # an array of NumPy, backwards
    if not isinstance(step, int) or step < 1:
        return None
    if part.start is None and part.stop is None:
        return extent if step == 1 or extent is None else -((-extent) // step)
    if extent is None:
        return None
    start = _bound(extent, part.start, 0)
    stop = _bound(extent, part.stop, extent)
    if start is None or stop is None:
        return None
    span = stop - start
    if less(span, 0) is not False and less(-1, span) is not True:
        span = maximum(0, span)
    return span if step == 1 else -((-span) // step)


def _bound(extent: Size, value: Value, default: Size) -> MaybeSize:
    """A slice bound as a distance from the front, within the dimension."""
    if value is None:
        return default
    end = size(value)
    if end is None:
        return None
    if less(end, 0) is True:
        return maximum(0, extent + end)
    if less(-1, end) is True:
        return minimum(end, extent)
    return None


def _known_part(base: TensorValue, items: list[Value]) -> Any:
    """Known elements through integers, slices, ``None`` and ``...``; None where they are not known."""
    if base.const is None or base.shape is None:
        return None
    parts: list[Any] = []
    used = sum(_width(item) for item in items)
    for item in [*items, *([] if any(item is Ellipsis for item in items) else [Ellipsis])]:
        if item is Ellipsis:
            parts.extend([slice(None)] * (len(base.shape) - used))
        elif isinstance(item, slice):
            bounds = [scalar_value(end) for end in (item.start, item.stop, item.step)]
            if not all(end is None or isinstance(end, int) for end in bounds):
                return None
            parts.append(slice(*bounds))
        elif item is None:
            parts.append(None)
        else:
            number = scalar_value(item)
            if not isinstance(number, int) or isinstance(number, bool):
                return None
            parts.append(number)
    try:
        return _take(base.const, parts)
    except (IndexError, TypeError):
        return None


def _take(const: Any, parts: list[Any]) -> Any:
    if not parts:
        return const
    first, rest = parts[0], parts[1:]
    if first is None:
        return (_take(const, rest),)
    if isinstance(first, slice):
        return tuple(_take(item, rest) for item in const[first])
    return _take(const[first], rest)


def index_sync(call: Call) -> str | None:
    """A mask must be counted; an index or slice bound that is a tensor is fetched."""
    for item in _items(call.get("key")):
        if isinstance(item, TensorValue) and item.device != "cpu":
            if item.dtype in ("bool", "uint8"):
                return "dynamic shape"
            if item.shape == ():
                return "item"
        if isinstance(item, slice):
            ends = (item.start, item.stop, item.step)
            if any(isinstance(end, TensorValue) and end.device != "cpu" for end in ends):
                return "item"
    return None


def setitem_sync(call: Call) -> str | None:
    """As for reading, but a mask with a plain number is filled without counting."""
    kind = index_sync(call)
    value = call.get("value")
    number = isinstance(value, int | float | complex) or (isinstance(value, TensorValue) and value.shape == ())
    return None if kind == "dynamic shape" and number else kind


def setitem(call: Call) -> Value:
    """input[key] = value: the same tensor, its elements known where those of both and the key are."""
    base = call.tensor()
    return view_of(base, base.shape, _written(base, _items(call.get("key")), call.get("value")))


def _written(base: TensorValue, items: list[Value], value: Value) -> Any:
    if base.const is None or base.shape is None or not is_static(base.shape) or (count := prod(base.shape)) > MAX_WRITTEN:
        return None
    places = _known_part(replace(base, const=nest(range(count), base.shape)), items)
    try:
        given = [(_frozen(value), shape_of(value))] if isinstance(value, list) else known_elements([value])
        if places is None or given is None:
            return None
        numbers = flat(base.const)
        for place, number in zip(flat(places), spread(*given[0], shape_of(places))):
            numbers[int(place)] = rounded(number, base.dtype)
        return nest(numbers, base.shape)
    except (ArithmeticError, ValueError, TypeError, IndexError):
        return None


