"""torch's dtypes by their short names: kinds, sizes, promotion."""

from __future__ import annotations

import struct

from cgx.indexer.interpreter.values import DType, Value

KIND: dict[str, str] = {
    "bool": "bool",
    "uint8": "int", "int8": "int", "int16": "int", "int32": "int", "int64": "int",
    "uint16": "int", "uint32": "int", "uint64": "int",
    "float16": "float", "bfloat16": "float", "float32": "float", "float64": "float",
    "float8_e4m3fn": "float", "float8_e5m2": "float", "float8_e4m3fnuz": "float", "float8_e5m2fnuz": "float",
    "float8_e8m0fnu": "float",
    "complex32": "complex", "complex64": "complex", "complex128": "complex",
}  # fmt: skip

BYTES: dict[str, int] = {
    "bool": 1, "uint8": 1, "int8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8,
    "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8, "complex32": 4, "complex64": 8, "complex128": 16,
    "float8_e4m3fn": 1, "float8_e5m2": 1, "float8_e4m3fnuz": 1, "float8_e5m2fnuz": 1, "float8_e8m0fnu": 1,
}  # fmt: skip

ALIASES: dict[str, str] = {
    "half": "float16", "float": "float32", "double": "float64", "short": "int16", "int": "int32", "long": "int64",
    "cfloat": "complex64", "cdouble": "complex128", "chalf": "complex32",
}  # fmt: skip

LEGACY_CLASSES: dict[str, str] = {
    "torch.FloatTensor": "float32", "torch.DoubleTensor": "float64", "torch.HalfTensor": "float16",
    "torch.BFloat16Tensor": "bfloat16", "torch.LongTensor": "int64", "torch.IntTensor": "int32",
    "torch.ShortTensor": "int16", "torch.CharTensor": "int8", "torch.ByteTensor": "uint8", "torch.BoolTensor": "bool",
}  # fmt: skip

COMPLEX_OF = {"float16": "complex32", "float32": "complex64", "float64": "complex128"}
REAL_OF = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}

_RANK = {"bool": 0, "int": 1, "float": 2, "complex": 3}
_SIGNED = ("int8", "int16", "int32", "int64")
_FLOATS = ("float16", "bfloat16", "float32", "float64")


def kind(name: str | None) -> str | None:
    """bool, int, float or complex; None where the dtype is not known."""
    return KIND.get(name) if name else None


def short_name(value: Value) -> str | None:
    """The short name of a dtype value, a Python type's name or a text such as "torch.float16"; else None."""
    if isinstance(value, DType):
        return ALIASES.get(value.name, value.name)
    if value in (int, float, bool):
        return {int: "int64", float: "float32", bool: "bool"}[value]
    if isinstance(value, str):
        tail = value.removeprefix("torch.")
        tail = ALIASES.get(tail, tail)
        return tail if tail in KIND else LEGACY_CLASSES.get(value.replace("torch.cuda.", "torch."))
    return None


def promote(left: str | None, right: str | None) -> str | None:
    """torch.promote_types; None where one is not known."""
    if left is None or right is None:
        return None
    if left == right:
        return left
    first, second = KIND.get(left), KIND.get(right)
    if first is None or second is None:
        return None
    if first != second:
        low, high = (left, right) if _RANK[first] < _RANK[second] else (right, left)
        return _join_complex(low, high) if KIND[high] == "complex" and KIND[low] == "float" else high
    if first == "int":
        return _promote_ints(left, right)
    if first == "float":
        return _promote_floats(left, right)
    return left if BYTES[left] > BYTES[right] else right


def _join_complex(real: str, wide: str) -> str:
    if real == "float64":
        return "complex128"
    return "complex64" if wide == "complex32" and real in ("float32", "bfloat16") else wide


def _promote_floats(left: str, right: str) -> str | None:
    if left not in _FLOATS or right not in _FLOATS:
        return None
    if {left, right} == {"float16", "bfloat16"}:
        return "float32"
    return left if BYTES[left] > BYTES[right] else right


def _promote_ints(left: str, right: str) -> str | None:
    if "uint8" in (left, right):
        other = right if left == "uint8" else left
        return "int16" if other == "int8" else other
    if left in _SIGNED and right in _SIGNED:
        return left if BYTES[left] > BYTES[right] else right
    return None


def scalar_kind(value: Value) -> str | None:
    """The kind of a Python number; symbolic sizes count as int."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, float):
        return "float"
    if isinstance(value, complex):
        return "complex"
    return "int" if isinstance(value, int) or hasattr(value, "terms") else None


def result_type(arrays: list[str | None], zero_dims: list[str | None], scalars: list[str | None], default: str) -> str | None:
    """The dtype of an elementwise result.

    ``arrays``: dtypes of tensors with dimensions, ``zero_dims`` of tensors without, ``scalars`` kinds of Python numbers
    (None where not known). A lower class of operand takes part only where its kind is above that of the classes before it.
    """
    result: str | None = None
    started = False
    for group in (arrays, zero_dims):
        if not group:
            continue
        if None in group:
            return None
        joined = group[0]
        for name in group[1:]:
            joined = promote(joined, name)
        if joined is None:
            return None
        if not started:
            result, started = joined, True
        elif _RANK[KIND[joined]] > _RANK[KIND[result or "bool"]]:
            result = joined
    for number in scalars:
        if number is None:
            if result is None or KIND.get(result) in ("int", "bool"):
                return None
            continue
        if not started or _RANK[number] > _RANK[KIND.get(result or "", "bool")]:
            result, started = _scalar_type(number, result, default), True
    return result


def _scalar_type(number: str, current: str | None, default: str) -> str:
    if number == "complex":
        return COMPLEX_OF.get(current if kind(current) == "float" and current else default, "complex64")
    return {"bool": "bool", "int": "int64", "float": default}[number]


def rounded(value: int | float | bool, name: str | None) -> int | float | bool:
    """A number as the dtype holds it (float32 rounds, integers truncate)."""
    group = kind(name)
    if group == "bool":
        return bool(value)
    if group == "int":
        return int(value)
    if group != "float" or isinstance(value, complex):
        return value
    if name == "float32":
        try:
            return float(struct.unpack("f", struct.pack("f", value))[0])
        except OverflowError:
            return float("inf") if value > 0 else float("-inf")
    if name == "float16":
        try:
            return float(struct.unpack("e", struct.pack("e", value))[0])
        except OverflowError:
            return float("inf") if value > 0 else float("-inf")
    if name == "bfloat16":
        return _to_bfloat16(float(value))
    return float(value)


def _to_bfloat16(value: float) -> float:
    if value != value or value in (float("inf"), float("-inf")):
        return value
    bits = struct.unpack("I", struct.pack("f", value))[0]
    bits += 0x7FFF + ((bits >> 16) & 1)
    return float(struct.unpack("f", struct.pack("I", bits & 0xFFFF0000))[0])
