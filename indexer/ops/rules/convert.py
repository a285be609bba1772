"""Rules of conversions of dtype and device, and to Python."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.values import Alternatives, ByRank, Device, DType, Sequence, TensorValue, Unknown, Value
from cgx.indexer.ops.constants import flat, mapped
from cgx.indexer.ops.dtypes import kind, short_name
from cgx.indexer.ops.rows import Call, Rule
from cgx.indexer.ops.shapes import MaybeSize, Undetermined
from cgx.indexer.ops.tensors import (
    device_name,
    need_shape,
    tensor,
    view_of,
)


def to(call: Call) -> Value:
    """Tensor.to(device | dtype | other, ...) in any order."""
    base = call.tensor()
    dtype, device = base.dtype, base.device
    for value in (call.get("target"), call.get("second"), call.get("dtype"), call.get("device"), call.get("other"), *call.rest):
        if value is None or isinstance(value, bool):
            continue
        if isinstance(value, TensorValue):
            dtype, device = value.dtype, value.device
        elif isinstance(value, DType) or value in (int, float, bool):
            dtype = short_name(value)
        elif isinstance(value, Device | str | int | ByRank | Alternatives) or (isinstance(value, Unknown) and value.hint == "int"):
            device = device_name(value)
        else:  # either of the two
            dtype = base.dtype if _means_device(value) else None
            device = base.device if _means_dtype(value) else None
    return converted(base, dtype, device)


def _means_device(value: Value) -> bool:
    return isinstance(value, Unknown) and value.hint == "device"


def _means_dtype(value: Value) -> bool:
    return isinstance(value, Unknown) and value.hint == "dtype"


def converted(base: TensorValue, dtype: str | None, device: str | None) -> TensorValue:
    """The tensor in another dtype or on another device; the same memory where neither changes."""
    if dtype == base.dtype and device == base.device:
        return view_of(base, base.shape, base.const)
    const = base.const
    if const is not None and dtype != base.dtype and base.shape is not None:
        const = mapped(lambda value: value, [(const, base.shape)], base.shape, dtype)
    result = tensor(base.shape, dtype, device, const if device == "cpu" else None)
    result.name, result.requires_grad = base.name, base.requires_grad
    if device == base.device == "cpu":
        result.pinned = False
    return result


def cast(dtype: str) -> Rule:
    """Tensor.float(), half(), long(), ..."""

    def rule(call: Call) -> Value:
        base = call.tensor()
        return converted(base, dtype, base.device)

    return rule


def to_type(call: Call) -> Value:
    """Tensor.type(dtype): without an argument the class name."""
    base, wanted = call.tensor(), call.get("dtype")
    if wanted is None:
        return Unknown("type", "unmodelled", hint="str")
    name = short_name(wanted)
    device = "cuda" if isinstance(wanted, str) and ".cuda." in wanted else base.device
    return converted(base, name, device)


def type_as(call: Call) -> Value:
    base, other = call.tensor(), call.tensor("other")
    return converted(base, other.dtype, other.device)


def moved(device: str) -> Rule:
    """Tensor.cuda(), Tensor.cpu()."""

    def rule(call: Call) -> Value:
        base = call.tensor()
        return converted(base, base.dtype, device)

    return rule


def pin(call: Call) -> Value:
    base = call.tensor()
    result = view_of(base, base.shape, base.const)
    result.pinned = True
    return result


def to_numpy(call: Call) -> Value:
    base = call.tensor()
    result = view_of(base, base.shape, base.const)
    result.library, result.device = "numpy", "cpu"
    return result


def item(call: Call) -> Value:
    """The one element as a Python number."""
    base = call.tensor()
    if base.const is not None and len(flat(base.const)) == 1:
        return flat(base.const)[0]
    hints = {"bool": "bool", "int": "int", "float": "float"}
    return Unknown(base.name or "item", "data", base.anchor, hint=hints.get(kind(base.dtype) or "", "number"))


def tolist(call: Call) -> Value:
    """Nested lists of Python numbers: lists of Unknown where the shape is known and the elements are not."""
    base = call.tensor()
    if base.const is not None:
        return _listed(base.const)
    hints = {"bool": "bool", "int": "int", "float": "float"}
    leaf = Unknown(base.name or "tolist", "data", base.anchor, hint=hints.get(kind(base.dtype) or "", ""))
    if base.shape is None:
        return Unknown(base.name or "tolist", "data", base.anchor)
    return _blank_list(base.shape, leaf)


def _listed(const: Any) -> Any:
    return [_listed(part) for part in const] if isinstance(const, tuple) else const


def _blank_list(shape: tuple[MaybeSize, ...], leaf: Unknown) -> Value:
    if not shape:
        return leaf
    count, inner = shape[0], _blank_list(shape[1:], leaf)
    if isinstance(count, int) and count <= 64:
        return [_blank_list(shape[1:], leaf) for _ in range(count)]
    return Sequence(inner, count if count is not None else Unknown("len", "data"), qname="list")


def to_python(kind_name: str) -> Rule:
    """bool(), int(), float(), len(), index of a tensor."""
    converter = {"bool": bool, "int": int, "float": float, "complex": complex}[kind_name]

    def rule(call: Call) -> Value:
        base = call.tensor()
        if base.const is not None and len(flat(base.const)) == 1:
            return converter(flat(base.const)[0])
        return Unknown(base.name or kind_name, "data", base.anchor, hint=kind_name)

    return rule


def length(call: Call) -> Value:
    base = call.tensor()
    shape = need_shape(base)
    if not shape:
        raise Undetermined("len of a number")
    return shape[0] if shape[0] is not None else Unknown("len", "data", hint="int")
