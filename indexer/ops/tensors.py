"""Making result tensors, and reading sizes, dtypes and devices from arguments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from cgx.indexer.interpreter.values import Alternatives, ByRank, Device, TensorValue, Unknown, Value
from cgx.indexer.ops.constants import flat, is_static
from cgx.indexer.ops.dims import Dim
from cgx.indexer.ops.dtypes import kind, result_type, scalar_kind, short_name
from cgx.indexer.ops.rows import Call
from cgx.indexer.ops.shapes import MaybeSize, Shape, Undetermined


def tensor(shape: Shape, dtype: str | None, device: str | None, const: Any = None) -> TensorValue:
    """A fresh tensor in pageable memory where it is on the host."""
    shape = None if shape is None else tuple(shape)
    return TensorValue(shape=shape, dtype=dtype, device=device, pinned=False if device == "cpu" else None, const=const)


def like(base: TensorValue, shape: Shape, dtype: str | None = "", const: Any = None) -> TensorValue:
    """A fresh tensor on the device of ``base`` (and of its dtype unless one is named)."""
    return tensor(shape, base.dtype if dtype == "" else dtype, base.device, const)


def view_of(base: TensorValue, shape: Shape, const: Any = None) -> TensorValue:
    """Another tensor over the memory of ``base``."""
    result = like(base, shape, const=const)
    result.pinned, result.library, result.requires_grad = base.pinned, base.library, base.requires_grad
    return result


def device_of(tensors: Iterable[TensorValue]) -> str | None:
    """The device of a result. A host tensor without dimensions may stand beside device tensors."""
    found: str | None = None
    scalar: str | None = None
    for item in tensors:
        if item.device is None:
            return None
        if item.shape == () and item.device == "cpu":
            scalar = "cpu"
        elif found is None:
            found = item.device
        elif found != item.device:
            return None
    return found or scalar


def scalar_value(value: Value) -> Value:
    """A Python number from a number or a one-element tensor with known elements; Unknown where not known."""
    if isinstance(value, TensorValue):
        if value.const is not None and (items := flat(value.const)) and len(items) == 1:
            return items[0]
        return Unknown(value.name, "data")
    return value


def size(value: Value) -> MaybeSize:
    """A size from an argument; None where it is not known."""
    value = scalar_value(value)
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int | Dim):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return None


def sizes(value: Value) -> tuple[MaybeSize, ...]:
    """Sizes from a list argument or a single one. Undetermined where the list itself is not known."""
    if isinstance(value, list | tuple):
        return tuple(size(item) for item in value)
    if isinstance(value, Unknown) or value is None:
        raise Undetermined("sizes")
    if isinstance(value, TensorValue):
        if value.shape is not None and len(value.shape) == 1 and isinstance(value.const, tuple):
            return tuple(size(item) for item in value.const)
        if value.shape != ():
            raise Undetermined("sizes")
    return (size(value),)


def spatial(value: Value, count: int) -> tuple[MaybeSize, ...]:
    """``count`` sizes from one number or a list of them (a list of one counts for all)."""
    if isinstance(value, list | tuple):
        items = tuple(size(item) for item in value)
        if len(items) == 1:
            return items * count
        if len(items) < count:
            raise Undetermined("sizes")
        return items[-count:] if len(items) > count else items
    return (size(value),) * count


def need_shape(value: TensorValue) -> tuple[MaybeSize, ...]:
    """The shape; Undetermined where the rank is not known."""
    if value.shape is None:
        raise Undetermined("shape")
    return value.shape


def need_list(value: Value) -> list[Value]:
    """A list argument's items; Undetermined where it is no list."""
    if isinstance(value, list | tuple):
        return list(value)
    raise Undetermined("list")


def int_list(value: Value) -> tuple[int, ...] | int | None:
    """Dimensions as given: an int, several, or None. Undetermined where one is not known."""
    value = scalar_value(value)
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, list | tuple):
        items = [scalar_value(item) for item in value]
        if all(isinstance(item, int) for item in items):
            return tuple(items)
    raise Undetermined("dim")


def dtype_argument(call: Call, name: str = "dtype") -> str | bool | None:
    """The dtype argument's short name, None where it is given but not known, False where it is not given."""
    value = call.get(name)
    if value is None:
        return False
    return short_name(value)


def device_argument(call: Call, fallback: str | None) -> str | None:
    """The device that ``device=`` names, else ``fallback``."""
    value = call.get("device")
    return fallback if value is None else device_name(value)


def device_name(value: Value) -> str | None:
    """The kind of device that a value names; None where not known. An index stands for a cuda device."""
    if isinstance(value, Device):
        return value.type
    if isinstance(value, str):
        return value.partition(":")[0] or None
    if isinstance(value, int) and not isinstance(value, bool):
        return "cuda"
    if isinstance(value, ByRank | Alternatives):
        kinds = {device_name(item) for item in (value.values if isinstance(value, ByRank) else [one for _, one in value.options])}
        return kinds.pop() if len(kinds) == 1 else None
    if isinstance(value, Unknown) and value.hint == "int":
        return "cuda"  # an index, whichever
    return None


def result_dtype(values: Sequence[Value], default: str) -> str | None:
    """The dtype of an elementwise op on tensors and numbers; None where one operand is not known."""
    arrays: list[str | None] = []
    zero_dims: list[str | None] = []
    scalars: list[str | None] = []
    for value in values:
        if isinstance(value, TensorValue):
            if value.shape is None and len({v.dtype for v in values if isinstance(v, TensorValue)}) > 1:
                return None  # with the rank not known it is open which operand decides
            (zero_dims if value.shape == () else arrays).append(value.dtype)
        elif isinstance(value, Unknown):
            scalars.append({"int": "int", "float": "float", "bool": "bool"}.get(value.hint))
        else:
            scalars.append(scalar_kind(value))
    return result_type(arrays, zero_dims, scalars, default)


def float_dtype(name: str | None, default: str) -> str | None:
    """The dtype of a result that is always floating: integers become the default dtype."""
    group = kind(name)
    return default if group in ("int", "bool") else name


def known_elements(values: Sequence[Value]) -> list[tuple[Any, tuple[int, ...]]] | None:
    """(const, shape) of every operand where all elements are known on the host, else None."""
    found: list[tuple[Any, tuple[int, ...]]] = []
    for value in values:
        if isinstance(value, TensorValue):
            if value.const is None or value.shape is None or not is_static(value.shape):
                return None
            found.append((value.const, value.shape))
        elif isinstance(value, int | float):
            found.append((value, ()))
        else:
            return None
    return found
