"""Rules of elementwise ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cgx.indexer.interpreter.values import TensorValue, Unknown, Value
from cgx.indexer.ops.constants import is_static, mapped
from cgx.indexer.ops.dtypes import REAL_OF
from cgx.indexer.ops.rows import Call, Rule
from cgx.indexer.ops.shapes import Shape, broadcast
from cgx.indexer.ops.tensors import device_of, dtype_argument, float_dtype, known_elements, result_dtype, tensor

Elementwise = Callable[..., Any]


def pointwise(
    names: str = "input",
    result: str = "same",
    function: Elementwise | None = None,
) -> Rule:
    """The rule of an elementwise op on the arguments ``names``.

    ``result``: "same" (promotion), "float" (integers become floating), "bool", "real" (of complex), or a dtype.
    ``function`` works on single elements, for tensors whose elements are known.
    """
    words = names.split()

    def rule(call: Call) -> Value:
        operands = [call.get(name) for name in words]
        return elementwise(call, [value for value in operands if value is not None], result, function)

    return rule


def elementwise(call: Call, operands: list[Value], result: str = "same", function: Elementwise | None = None) -> TensorValue:
    """The tensor that an elementwise op on these operands gives."""
    operands = [TensorValue() if isinstance(value, Unknown) and value.hint not in ("int", "float", "bool") else value for value in operands]
    tensors = [value for value in operands if isinstance(value, TensorValue)]
    shape = broadcast(*(value.shape for value in tensors))
    dtype = _result_dtype(call, operands, result)
    const = None
    if function is not None and is_static(shape) and shape is not None:
        known = known_elements(operands)
        if known is not None:
            const = mapped(function, known, shape, dtype)  # type: ignore[arg-type]
    out = tensor(shape, dtype, device_of(tensors), const)
    if any(value.library == "numpy" for value in tensors) and all(value.library == "numpy" for value in tensors):
        out.library = "numpy"
    return out


def _result_dtype(call: Call, operands: list[Value], result: str) -> str | None:
    if result not in ("same", "float", "real"):
        return result
    asked = dtype_argument(call)
    if asked is not False:
        return None if asked is None else str(asked)
    joined = result_dtype(operands, call.defaults.dtype)
    if result == "float":
        return float_dtype(joined, call.defaults.dtype)
    if result == "real" and joined is not None:
        return REAL_OF.get(joined, joined)
    return joined


def same(call: Call) -> Value:
    """A tensor of the input's shape and dtype, elements not kept."""
    base = call.tensor()
    return tensor(base.shape, base.dtype, base.device)


def where(call: Call) -> Value:
    """torch.where: the broadcast of its three operands; with the condition alone, one index tensor a dimension."""
    condition = call.tensor("condition")
    if not call.given("input") and not call.given("other"):
        if condition.shape is None:
            return Unknown("torch.where", "data")
        return tuple(tensor((None,), "int64", condition.device) for _ in condition.shape)
    operands = [call.get("input"), call.get("other")]
    out = elementwise(call, operands)
    tensors = [value for value in (condition, *operands) if isinstance(value, TensorValue)]
    shape: Shape = broadcast(*(value.shape for value in tensors))
    if any(isinstance(value, Unknown) for value in operands):
        shape = None
    known = known_elements([condition, *operands]) if is_static(shape) else None
    const = mapped(lambda c, a, b: a if c else b, known, shape, out.dtype) if known and shape is not None else None  # type: ignore[arg-type]
    return tensor(shape, out.dtype, device_of(tensors), const)


def where_sync(call: Call) -> str | None:
    """Only the form with the condition alone must count its elements."""
    return None if call.given("input") or call.given("other") else "dynamic shape"


def clamp(call: Call) -> Value:
    """clamp(input, min, max): the bounds may be numbers or tensors."""
    low, high = call.get("min"), call.get("max")

    def bounded(value: Any, *ends: Any) -> Any:
        given = iter(ends)
        if low is not None:
            value = max(value, next(given))
        return min(value, next(given)) if high is not None else value

    return elementwise(call, [value for value in (call.tensor(), low, high) if value is not None], "same", bounded)


def divide(call: Call) -> Value:
    """div(input, other, rounding_mode): true division gives floating results."""
    mode = call.known("rounding_mode")
    operands = [call.get("input"), call.get("other")]
    if mode is None:
        return elementwise(call, operands, "float", lambda a, b: a / b)
    return elementwise(call, operands, "same", (lambda a, b: a // b) if mode == "floor" else (lambda a, b: int(a / b)))


def add(call: Call) -> Value:
    alpha = call.get("alpha", 1)
    plain = alpha == 1
    return elementwise(call, [call.get("input"), call.get("other")], "same", (lambda a, b: a + b) if plain else None)


def subtract(call: Call) -> Value:
    plain = call.get("alpha", 1) == 1
    return elementwise(call, [call.get("input"), call.get("other")], "same", (lambda a, b: a - b) if plain else None)


def floating_complex(call: Call) -> Value:
    """torch.complex(real, imag), torch.polar(abs, angle)."""
    out = elementwise(call, [call.get("real", call.get("abs")), call.get("imag", call.get("angle"))])
    out.dtype = {"float64": "complex128", "float32": "complex64", "float16": "complex32"}.get(out.dtype or "")
    return out


def glu(call: Call) -> Value:
    """glu halves one dimension."""
    base, dim = call.tensor(), call.known("dim", -1)
    if base.shape is None:
        return tensor(None, base.dtype, base.device)
    shape = list(base.shape)
    size = shape[dim]
    shape[dim] = None if size is None else size // 2
    return tensor(tuple(shape), base.dtype, base.device)


def frexp(call: Call) -> Value:
    base = call.tensor()
    return tensor(base.shape, base.dtype, base.device), tensor(base.shape, "int32", base.device)


def binary_same_dtype(call: Call) -> Value:
    """lerp, addcmul and their kind: broadcast of all tensors, dtype of the first."""
    base = call.tensor()
    shape = broadcast(*(value.shape for value in call.tensors()))
    return tensor(shape, base.dtype, device_of(call.tensors()))
