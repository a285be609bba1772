"""NumPy arrays as values: dtypes, shapes by torch's rules, attributes."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.values import (
    MISSING,
    DType,
    External,
    ListValue,
    Native,
    TensorValue,
    Unknown,
    Value,
)
from cgx.indexer.ops import registry
from cgx.indexer.ops.dtypes import rounded
from cgx.indexer.ops.rows import Defaults

HOST = Defaults("float64", "cpu")


TYPES = {
    "float": "float64", "int": "int64", "bool": "bool", "float_": "float64", "bool_": "bool", "int_": "int64", "double": "float64",
    "single": "float32", "half": "float16", "intp": "int64", "uint": "uint64", "longlong": "int64", "byte": "int8", "ubyte": "uint8",
}  # fmt: skip


DTYPES = [
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "complex64",
    "complex128",
]


CODES = {
    "f2": "float16", "f4": "float32", "f8": "float64", "i1": "int8", "i2": "int16", "i4": "int32", "i8": "int64", "u1": "uint8",
    "u2": "uint16", "u4": "uint32", "u8": "uint64", "e": "float16", "f": "float32", "d": "float64", "b": "int8", "h": "int16",
    "i": "int32", "l": "int64", "B": "uint8", "H": "uint16", "L": "uint64",
}  # fmt: skip


WIDTHS = {
    "float16": 2, "float32": 4, "float64": 8, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8,
    "bool": 1, "complex64": 8, "complex128": 16,
}  # fmt: skip


def dtype_of(value: Value, default: str | None = None) -> str | None:
    """torch's short name of a NumPy dtype argument."""
    if isinstance(value, DType):
        return value.name
    if isinstance(value, External):
        name = value.tail
        return TYPES.get(name, name if name in DTYPES else None)
    if isinstance(value, str):
        clean = value.lstrip("<>=|")
        return CODES.get(clean, TYPES.get(clean, clean if clean in DTYPES else None))
    return default if value is None else None


def exported(value: Value) -> Any:
    """Lists as Python lists, known scalars as numbers, as the op tables take them."""
    if (
        isinstance(value, TensorValue)
        and value.library == "numpy"
        and value.shape == ()
        and isinstance(value.const, int | float)
    ):
        return value.const
    if isinstance(value, ListValue) and not value.open:
        return [exported(item) for item in value.items]
    if isinstance(value, tuple):
        return tuple(exported(item) for item in value)
    return value  # a list that may hold more has no length


def quiet(name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A torch op's rule on host arrays; no entry is made. None where the rule has no answer."""
    row = registry.find(name)
    if row is None:
        return None
    try:
        return row.call(args, kwargs, HOST)
    except Exception:
        return None


def as_array(value: Value) -> Value:
    """A list or number as an array where its elements are plain."""
    if isinstance(value, TensorValue):
        return value
    if isinstance(value, ListValue | tuple | int | float | bool | range):
        data = list(value) if isinstance(value, range) else value
        found = exported(data)
        return host(quiet("torch.tensor", [found], {})) if not isinstance(found, ListValue) else None
    return None


def host(result: Any) -> Value:
    """The result of a rule as a NumPy value: an array, or a number where it has no dimension and is known."""
    if isinstance(result, TensorValue):
        if result.shape == () and isinstance(result.const, int | float | bool):
            return result.const
        result.library, result.device, result.parameter = "numpy", "cpu", False
        return result
    if isinstance(result, list | tuple):
        items = [host(item) for item in result]
        return ListValue(items) if isinstance(result, list) else tuple(items)
    return result


def scalar_dtype(value: Value) -> str:
    return "bool" if isinstance(value, bool) else "int64" if isinstance(value, int) else "float64"


def scalar_member(owner: Value, name: str) -> Value:
    """A member of a NumPy scalar; MISSING for others. ``np.sqrt(4.0).item()``."""
    if name == "astype":
        return Native("numpy.generic.astype", lambda interp, site, args, kwargs: rounded(owner, dtype_of(args[0] if args else kwargs.get("dtype"))))
    if name in ("item", "tolist", "copy", "squeeze", "mean", "sum", "max", "min"):
        return Native(f"numpy.generic.{name}", lambda interp, site, args, kwargs: owner)
    if name in ("shape", "ndim", "size"):
        return {"shape": (), "ndim": 0, "size": 1}[name]
    return DType(scalar_dtype(owner)) if name == "dtype" else MISSING


def array_attribute(owner: TensorValue, name: str, site: Any) -> Value:
    """An attribute of a NumPy array that differs from a tensor's; MISSING for others."""
    if name == "T" and owner.shape is not None:
        return host(quiet("torch.permute", [owner, tuple(range(len(owner.shape)))[::-1]], {}))
    if name not in ("size", "nbytes"):
        return MISSING
    if owner.shape is None or any(size is None for size in owner.shape):
        return Unknown(site.text, "data", site.anchor, "int")
    count: Any = 1
    for size in owner.shape:
        count = count * size
    width = WIDTHS.get(owner.dtype or "")
    return (
        count if name == "size" else Unknown(site.text, "data", site.anchor, "int") if width is None else count * width
    )
