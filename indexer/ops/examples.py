"""The little language of the tables' examples: ``f32[B,3], dim=1 -> f32[B]``.

A tensor is a dtype with its sizes in brackets (a name is a symbol, ``?`` a size that is not known); a bare name a symbolic
size, ``torch.X`` a dtype; everything else is Python. ``?`` as a result: not known.
"""

from __future__ import annotations

import ast
from typing import Any

from cgx.indexer.interpreter.values import DType, TensorValue, Unknown, Value
from cgx.indexer.ops.dims import Dim

SHORT = {
    "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "b8": "bool", "u8": "uint8", "i8": "int8", "i16": "int16",
    "i32": "int32", "i64": "int64", "c64": "complex64", "c128": "complex128", "float32": "float32", "float64": "float64", "float16": "float16",
    "bfloat16": "bfloat16", "int64": "int64", "int32": "int32", "int16": "int16", "int8": "int8", "uint8": "uint8", "bool": "bool",
    "complex64": "complex64", "complex128": "complex128",
}  # fmt: skip

NOT_KNOWN = Unknown("?", "data")


def read_example(text: str, device: str | None = "cpu") -> tuple[list[Value], dict[str, Value], Value]:
    """Positional and named arguments, and the result, of an example."""
    left, _, right = text.replace("[]", "[()]").rpartition(" -> ")
    call = ast.parse(f"f({left.replace('?', '_unknown')})", mode="eval").body
    assert isinstance(call, ast.Call)
    args = [_value(node, device) for node in call.args]
    kwargs = {word.arg or "": _value(word.value, device) for word in call.keywords}
    result = _value(ast.parse(right.replace("?", "_unknown").strip(), mode="eval").body, device)
    return args, kwargs, result


def _value(node: ast.expr, device: str | None) -> Any:
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in SHORT:
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return TensorValue(shape=tuple(_size(part) for part in parts), dtype=SHORT[node.value.id], device=device)
    if isinstance(node, ast.Tuple):
        return tuple(_value(item, device) for item in node.elts)
    if isinstance(node, ast.List):
        return [_value(item, device) for item in node.elts]
    if isinstance(node, ast.Name):
        return NOT_KNOWN if node.id == "_unknown" else Dim.symbol(node.id)
    if isinstance(node, ast.Attribute):
        return DType(node.attr)
    if isinstance(node, ast.Call):
        return slice(*(_value(item, device) for item in node.args))
    if isinstance(node, ast.BinOp):
        return _size(node)
    return ast.literal_eval(node)


def _size(node: ast.expr) -> Any:
    if isinstance(node, ast.Name):
        return None if node.id == "_unknown" else Dim.symbol(node.id)
    if isinstance(node, ast.BinOp):
        left, right = _size(node.left), _size(node.right)
        if isinstance(node.op, ast.Mult):
            return left * right
        if isinstance(node.op, ast.Add):
            return left + right
        return left - right if isinstance(node.op, ast.Sub) else left // right
    return ast.literal_eval(node)


def comparable(value: Any) -> Any:
    """A result in a form that compares by value: tensors by shape, dtype and device."""
    if isinstance(value, TensorValue):
        return ("tensor", value.shape, value.dtype, value.device)
    if isinstance(value, Unknown):
        return "?"
    if isinstance(value, tuple | list):
        return tuple(comparable(item) for item in value)
    return value
