"""Rules of ops that make a tensor, and of conversions of dtype and device."""

from __future__ import annotations

import math
from typing import Any

from cgx.indexer.interpreter.values import Sequence, TensorValue, Unknown, Value
from cgx.indexer.ops.constants import MAX_ELEMENTS, fill, flat, is_static, mapped, nest
from cgx.indexer.ops.dims import Dim
from cgx.indexer.ops.dtypes import COMPLEX_OF, kind, promote, rounded
from cgx.indexer.ops.rows import Call, Rule
from cgx.indexer.ops.shapes import MaybeSize, Shape, Undetermined, broadcast
from cgx.indexer.ops.tensors import (
    device_argument,
    device_of,
    dtype_argument,
    like,
    need_shape,
    scalar_value,
    size,
    sizes,
    tensor,
)

LITERAL = "cgx.literal"  # in the attrs of a device tensor: the few numbers it was made of, until something is written to it
MAX_FLAGS = 64


def _made(call: Call, shape: Shape, dtype: str | None, const: Any = None, device: str | None = None) -> TensorValue:
    """A tensor with the dtype and device that the call names, else those given."""
    asked = dtype_argument(call)
    name = dtype if asked is False else (None if asked is None else str(asked))
    where = device_argument(call, call.defaults.device if device is None else device)
    if const is not None and name != dtype and is_static(shape):
        const = mapped(lambda value: value, [(const, shape)], shape, name)  # type: ignore[list-item, arg-type]
    result = tensor(shape, name, where, const if where == "cpu" else None)
    result.pinned = True if call.get("pin_memory") is True else result.pinned
    result.requires_grad = call.get("requires_grad") is True
    return result


def filled(value: float | None) -> Rule:
    """zeros, ones, empty(*size)."""

    def rule(call: Call) -> Value:
        shape = sizes(call.get("size"))
        const = fill(value, shape) if value is not None and is_static(shape) and len(shape) < 3 else None  # type: ignore[arg-type]
        return _made(call, shape, call.defaults.dtype, const if const != () else None)

    return rule


def full(call: Call) -> Value:
    """full(size, fill_value)."""
    shape, value = sizes(call.get("size")), scalar_value(call.get("fill_value"))
    names = {bool: "bool", int: "int64", float: call.defaults.dtype, complex: COMPLEX_OF.get(call.defaults.dtype)}
    dtype = names.get(type(value), "int64" if isinstance(value, Dim) else None)
    known = isinstance(value, int | float) and is_static(shape) and len(shape) < 3
    return _made(call, shape, dtype, fill(value, shape) if known and 0 not in shape else None)  # type: ignore[arg-type]


def filled_like(value: float | None) -> Rule:
    """zeros_like, ones_like, empty_like, full_like, rand_like: shape, dtype and device of the input."""

    def rule(call: Call) -> Value:
        base = call.tensor()
        number = scalar_value(call.get("fill_value")) if call.given("fill_value") else value
        const = None
        if isinstance(number, int | float) and is_static(base.shape) and base.shape is not None and 0 not in base.shape:
            const = fill(rounded(number, base.dtype), base.shape) if len(base.shape) < 3 else None
        device = base.device if not call.given("device") else None
        result = _made(call, base.shape, base.dtype, const if base.device == "cpu" else None, device or "")
        result.device = device_argument(call, base.device)
        return result

    return rule


def random(dtype: str = "") -> Rule:
    """rand, randn(*size): nothing is known of the elements."""

    def rule(call: Call) -> Value:
        return _made(call, sizes(call.get("size")), dtype or call.defaults.dtype)

    return rule


def randint(call: Call) -> Value:
    """randint(low=0, high, size)."""
    values = [call.get("low"), call.get("high"), call.get("size")]
    lists = [item for item in values if isinstance(item, list | tuple)]
    if not lists:
        raise Undetermined("size")
    return _made(call, sizes(lists[0]), "int64")


def randperm(call: Call) -> Value:
    return _made(call, (size(call.get("n")),), "int64")


def normal(call: Call) -> Value:
    """normal(mean, std, size)."""
    members = [item for item in (call.get("mean"), call.get("std")) if isinstance(item, TensorValue)]
    if members:
        return tensor(broadcast(*(item.shape for item in members)), members[0].dtype, device_of(members))
    return _made(call, sizes(call.get("size")), call.defaults.dtype)


def multinomial(call: Call) -> Value:
    """multinomial(input, num_samples)."""
    base = call.tensor()
    return tensor((*need_shape(base)[:-1], size(call.get("num_samples"))), "int64", base.device)


def arange(call: Call) -> Value:
    """arange(end), arange(start, end, step)."""
    given = [item for item in (call.get("start"), call.get("end"), call.get("step")) if item is not None]
    start, end, step = call.get("start"), call.get("end"), call.get("step")
    if end is None:
        start, end = 0, start
    start, step = (0 if start is None else start), (1 if step is None else step)
    numbers = (scalar_value(start), scalar_value(end), scalar_value(step))
    floating = any(isinstance(item, float) for item in numbers)
    dtype = call.defaults.dtype if floating else "int64"
    if any(isinstance(item, TensorValue) and kind(item.dtype) == "float" for item in given):
        dtype = call.defaults.dtype
    if any(isinstance(item, Unknown) and item.hint != "int" for item in given) and not floating:
        dtype = None  # type: ignore[assignment]
    count, const = _progression(*numbers, dtype)
    return _made(call, (count,), dtype, const)


def _progression(start: Value, end: Value, step: Value, dtype: str | None) -> tuple[MaybeSize, Any]:
    if all(isinstance(item, int | float) for item in (start, end, step)):
        if step == 0:
            raise Undetermined("step")
        count = max(0, math.ceil((end - start) / step))
        if 0 < count <= MAX_ELEMENTS:
            return count, tuple(rounded(start + place * step, dtype) for place in range(count))
        return count, None
    if all(isinstance(item, int | Dim) for item in (start, end, step)):
        span = end - start
        return (span if step == 1 else -((-span) // step)), None
    return None, None


def linspace(call: Call) -> Value:
    """linspace(start, end, steps)."""
    start, end, count = (scalar_value(call.get(name)) for name in ("start", "end", "steps"))
    const = None
    if isinstance(count, int) and 0 < count <= MAX_ELEMENTS and isinstance(start, int | float) and isinstance(end, int | float):
        asked = dtype_argument(call)
        const = _even(float(start), float(end), count, call.defaults.dtype if asked is False else (asked or None))  # type: ignore[arg-type]
    return _made(call, (size(count),), call.defaults.dtype, const)


def _even(start: float, end: float, count: int, dtype: str | None) -> tuple[Any, ...]:
    """Even steps, from both ends inward as torch counts them."""
    start, end = rounded(start, dtype), rounded(end, dtype)
    step = rounded((end - start) / (count - 1), dtype) if count > 1 else 0.0
    half = count // 2
    items = []
    for place in range(count):
        value = start + step * place if place < half else end - step * (count - 1 - place)
        items.append(rounded(value, dtype))
    return tuple(items) if count > 1 else (rounded(start, dtype),)


def logspace(call: Call) -> Value:
    return _made(call, (size(call.get("steps")),), call.defaults.dtype)


def eye(call: Call) -> Value:
    """eye(n, m=None)."""
    rows = size(call.get("n"))
    columns = size(call.get("m")) if call.given("m") else rows
    const = None
    if is_static((rows, columns)):
        const = tuple(tuple(float(a == b) for b in range(columns)) for a in range(rows))  # type: ignore[arg-type]
    return _made(call, (rows, columns), call.defaults.dtype, const)


def window_function(call: Call) -> Value:
    return _made(call, (size(call.get("window_length")),), call.defaults.dtype)


def from_data(call: Call) -> Value:
    """torch.tensor(data), as_tensor, asarray: shape and dtype of the data."""
    data = call.get("data")
    if isinstance(data, TensorValue):
        shared = not call.row.name.endswith(".tensor")
        result = _made(call, data.shape, data.dtype, data.const, data.device or "")
        result.device = device_argument(call, data.device if data.library == "torch" else "cpu")
        result.pinned = data.pinned if shared and result.device == "cpu" else result.pinned
        return result
    shape, dtype, items = read_data(data, call.defaults.dtype)
    const = nest(items, shape) if items is not None and is_static(shape) and shape is not None and 0 not in shape else None  # type: ignore[arg-type]
    if const is not None:
        const = mapped(lambda value: value, [(const, shape)], shape, dtype)  # type: ignore[list-item, arg-type]
    result = _made(call, shape, dtype, const)
    if const is not None and result.const is None and len(flat(const)) <= MAX_FLAGS:
        result.attrs[LITERAL] = const
    return result


def read_data(data: Value, default: str) -> tuple[Shape, str | None, list[Any] | None]:
    """Shape, dtype and elements of nested lists of numbers (elements None where one is not known)."""
    if isinstance(data, Sequence):
        inner, dtype, _ = read_data(data.element, default)
        return (None if inner is None else (size(data.length), *inner)), dtype, None
    if isinstance(data, range):
        data = list(data)
    if isinstance(data, list | tuple):
        return _read_list(list(data), default)
    if isinstance(data, TensorValue):
        return data.shape, data.dtype, flat(data.const) if data.const is not None else None
    if isinstance(data, bool | int | float | complex):
        names = {bool: "bool", int: "int64", float: default, complex: COMPLEX_OF.get(default)}
        return (), names[type(data)], [data]
    if isinstance(data, Dim):
        return (), "int64", None
    if isinstance(data, Unknown) and data.hint in ("int", "float", "bool"):
        return (), {"int": "int64", "float": default, "bool": "bool"}[data.hint], None
    return None, None, None


def _read_list(data: list[Any], default: str) -> tuple[Shape, str | None, list[Any] | None]:
    if not data:
        return (0,), default, []
    parts = [read_data(item, default) for item in data]
    shapes = [shape for shape, _, _ in parts]
    shape = None if None in shapes or len(set(shapes)) != 1 else (len(data), *shapes[0])  # type: ignore[misc]
    dtype = parts[0][1]
    for _, name, _ in parts[1:]:
        dtype = promote(dtype, name)
    items: list[Any] | None = []
    for _, _, elements in parts:
        items = None if items is None or elements is None else items + elements
    return shape, dtype, items


def from_numpy(call: Call) -> Value:
    base = call.tensor()
    result = tensor(base.shape, base.dtype, "cpu", base.const)
    return result


def new_of(value: float | None) -> Rule:
    """Tensor.new_zeros, new_ones, new_empty, new_full(size)."""

    def rule(call: Call) -> Value:
        base = call.tensor()
        number = scalar_value(call.get("fill_value")) if call.given("fill_value") else value
        shape = sizes(call.get("size"))
        known = isinstance(number, int | float) and is_static(shape) and len(shape) < 3 and 0 not in shape
        const = fill(number, shape) if known and base.device == "cpu" else None  # type: ignore[arg-type]
        result = _made(call, shape, base.dtype, const, base.device or "")
        result.device = device_argument(call, base.device)
        return result

    return rule


def new_tensor(call: Call) -> Value:
    base = call.tensor("self")
    shape, _, _ = read_data(call.get("data"), call.defaults.dtype)
    result = _made(call, shape, base.dtype, None, base.device or "")
    result.device = device_argument(call, base.device)
    return result


def legacy_new(call: Call) -> Value:
    """Tensor.new(*sizes or data)."""
    base, data = call.tensor(), call.get("size")
    if isinstance(data, tuple) and all(isinstance(item, int | Dim) for item in data):
        return like(base, data or (0,))
    shape, _, _ = read_data(list(data) if isinstance(data, tuple) else data, call.defaults.dtype)
    return like(base, shape)


def legacy_tensor(dtype: str) -> Rule:
    """torch.Tensor(...), torch.FloatTensor(...): sizes, or data."""

    def rule(call: Call) -> Value:
        given = [call.get("data"), *call.rest]
        name = dtype or call.defaults.dtype
        device = "cuda" if ".cuda." in call.row.name else "cpu" if dtype else call.defaults.legacy
        first = given[0]
        if first is None:
            return tensor((0,), name, device)
        sizes = [None if isinstance(item, Unknown) else item for item in given]
        counted = isinstance(first, int | Dim) or (isinstance(first, Unknown) and first.hint == "int")
        if len(given) > 1 or counted:
            return tensor(tuple(sizes), name, device)
        if isinstance(first, Unknown) or (isinstance(first, tuple) and all(isinstance(item, int | Dim) for item in first)):
            return tensor(None, name, device)  # a tuple may be data, a torch.Size is none
        shape, _, items = read_data(first, name)
        known = items is not None and is_static(shape) and shape is not None and 0 not in shape
        const = nest([rounded(item, name) for item in items or []], shape) if known else None  # type: ignore[arg-type]
        return tensor(shape, name, device, const)

    return rule


def scalar_tensor(call: Call) -> Value:
    value = scalar_value(call.get("s"))
    known = value if isinstance(value, int | float) else None
    return _made(call, (), call.defaults.dtype, known)


# ------------------------------------------------------------------ conversions


# ------------------------------------------------------------------ to Python


def closed_range(call: Call) -> Value:
    """torch.range(start, end, step): the end is in it."""
    start, end, step = (scalar_value(call.get(name)) for name in ("start", "end", "step"))
    if not all(isinstance(value, int | float) for value in (start, end, step)) or step == 0:
        raise Undetermined("range")
    return _made(call, (math.floor((end - start) / step) + 1,), call.defaults.dtype)


def of_unknown_length(call: Call) -> Value:
    """A flat tensor whose length hangs on a buffer."""
    return _made(call, (None,), call.defaults.dtype)
