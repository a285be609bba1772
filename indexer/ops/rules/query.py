"""Rules of queries: what can be asked of a tensor without launching work."""

from __future__ import annotations

from cgx.indexer.interpreter.values import DType, TensorValue, Unknown, Value
from cgx.indexer.ops.dtypes import BYTES, KIND, kind, promote, short_name
from cgx.indexer.ops.rows import Call, Rule
from cgx.indexer.ops.shapes import MaybeSize, axis, numel
from cgx.indexer.ops.tensors import need_shape, result_dtype


def size_value(extent: MaybeSize, base: TensorValue, place: int) -> Value:
    """A size as a Python value; Unknown with its name where it is not known."""
    if extent is not None:
        return extent
    return Unknown(f"{base.name or 'tensor'}.shape[{place}]", "data", base.anchor, hint="int")


def shape_value(base: TensorValue) -> Value:
    """tensor.shape as a tuple; Unknown where not even the rank is known."""
    if base.shape is None:
        return Unknown(f"{base.name or 'tensor'}.shape", "data", base.anchor)
    return tuple(size_value(extent, base, place) for place, extent in enumerate(base.shape))


def size(call: Call) -> Value:
    """Tensor.size(dim=None)."""
    base, dim = call.tensor(), call.get("dim")
    if dim is None:
        return shape_value(base)
    if base.shape is None:
        return Unknown(f"{base.name or 'tensor'}.size({dim})", "data", base.anchor, hint="int")
    place = axis(dim, len(base.shape))
    return size_value(base.shape[place], base, place)


def rank(call: Call) -> Value:
    return len(need_shape(call.tensor()))


def count(call: Call) -> Value:
    base = call.tensor()
    total = numel(base.shape)
    return total if total is not None else Unknown("numel", "data", base.anchor, hint="int")


def element_size(call: Call) -> Value:
    base = call.tensor()
    return BYTES.get(base.dtype or "", Unknown("element_size", "data", hint="int"))


def of_kind(name: str) -> Rule:
    """is_floating_point, is_complex."""

    def rule(call: Call) -> Value:
        group = kind(call.tensor().dtype)
        return Unknown(call.row.name, "data", hint="bool") if group is None else group == name

    return rule


def constant(value: Value) -> Rule:
    """A question whose answer is the same for every tensor that is modelled."""

    def rule(call: Call) -> Value:
        return value

    return rule


def unknown(hint: str = "") -> Rule:
    def rule(call: Call) -> Value:
        return Unknown(call.row.name, "unmodelled", hint=hint)

    return rule


def is_tensor(call: Call) -> Value:
    value = call.get("obj")
    return Unknown("is_tensor", "data", hint="bool") if isinstance(value, Unknown) else isinstance(value, TensorValue)


def is_pinned(call: Call) -> Value:
    pinned = call.tensor().pinned
    return pinned if pinned is not None else Unknown("is_pinned", "data", hint="bool")


def device_index(call: Call) -> Value:
    base = call.tensor()
    return -1 if base.device == "cpu" else Unknown("get_device", "environment", hint="int")


def strides(call: Call) -> Value:
    """Strides as if contiguous are not known to be right: only a dimension's place is."""
    return Unknown("stride", "unmodelled")


def promoted(call: Call) -> Value:
    """promote_types(a, b), result_type(tensor, tensor)."""
    first, second = call.get("type1"), call.get("type2")
    if isinstance(first, DType) and isinstance(second, DType):
        name = promote(short_name(first), short_name(second))
    else:
        name = result_dtype([first, second], call.defaults.dtype)
    return DType(name) if name in KIND else Unknown(call.row.name, "data")


def can_cast(call: Call) -> Value:
    ranks = {"bool": 0, "int": 1, "float": 2, "complex": 3}
    groups = [kind(short_name(call.get(name))) for name in ("from_", "to")]
    if None in groups:
        return Unknown("can_cast", "data", hint="bool")
    return ranks[groups[0] or ""] <= ranks[groups[1] or ""]
