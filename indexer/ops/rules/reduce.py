"""Rules of reductions, scans, sorting and counting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cgx.indexer.interpreter.values import TensorValue, Unknown, Value
from cgx.indexer.ops.constants import flat
from cgx.indexer.ops.dtypes import REAL_OF, kind, rounded
from cgx.indexer.ops.results import NamedResult
from cgx.indexer.ops.rows import Call, Rule
from cgx.indexer.ops.rules.pointwise import elementwise
from cgx.indexer.ops.shapes import Shape, axis, reduced
from cgx.indexer.ops.tensors import dtype_argument, float_dtype, int_list, like, tensor

Fold = Callable[[Sequence[Any]], Any]


def reduction(result: str = "same", fold: Fold | None = None) -> Rule:
    """reduce(input, dim=None, keepdim=False, dtype=None). ``result`` as in _reduced_dtype."""

    def rule(call: Call) -> Value:
        return reduce_over(call, call.tensor(), int_list(call.get("dim")), result, fold)

    return rule


def reduce_over(call: Call, base: TensorValue, dim: Any, result: str, fold: Fold | None = None) -> TensorValue:
    """The reduction of ``base`` over ``dim`` (None: all)."""
    shape = reduced(base.shape, dim, call.known("keepdim", False))
    dtype = _reduced_dtype(call, base.dtype, result)
    const = None
    if fold is not None and base.const is not None and shape == ():
        try:
            const = rounded(fold(flat(base.const)), dtype)
        except (ArithmeticError, ValueError, TypeError):
            const = None
    return tensor(shape, dtype, base.device, const)


def _reduced_dtype(call: Call, name: str | None, result: str) -> str | None:
    """"same", "sum" (integers add up in int64), "float" (integers not allowed), "real", or a dtype."""
    asked = dtype_argument(call)
    if asked is not False:
        return None if asked is None else str(asked)
    if result == "sum":
        return "int64" if kind(name) in ("int", "bool") else name
    if result == "float":
        return float_dtype(name, call.defaults.dtype)
    if result == "real":
        return REAL_OF.get(name or "", name)
    return name if result == "same" else result


def extreme(fields: str = "values indices", function: Callable[[Any, Any], Any] | None = None, fold: Fold | None = None) -> Rule:
    """max, min, median, mode...: one tensor over all, (values, indices) over a dim, elementwise of two tensors."""
    names = fields.split()

    def rule(call: Call) -> Value:
        base, dim = call.tensor(), call.get("dim")
        other = dim if isinstance(dim, TensorValue) else call.get("other")
        if isinstance(other, TensorValue):
            return elementwise(call, [base, other], "same", function)
        if dim is None:
            return reduce_over(call, base, None, "same", fold)
        shape = reduced(base.shape, int_list(dim), call.known("keepdim", False))
        return NamedResult(names, (like(base, shape), like(base, shape, "int64")))

    return rule


def pair(call: Call) -> Value:
    """aminmax, std_mean, var_mean: two tensors of one reduction."""
    base = call.tensor()
    fields = ("min", "max") if call.row.name.endswith("aminmax") else ("std" if "std" in call.row.name else "var", "mean")
    shape = reduced(base.shape, int_list(call.get("dim")), call.known("keepdim", False))
    items = (like(base, shape), like(base, shape))
    return NamedResult(fields, items) if fields[0] == "min" else items


def variance(call: Call) -> Value:
    """std, var: the old form takes ``unbiased`` where the new one takes ``dim``."""
    dim = call.get("dim")
    return reduce_over(call, call.tensor(), None if isinstance(dim, bool) else int_list(dim), "real")


def argument(call: Call) -> Value:
    """argmax, argmin."""
    base = call.tensor()
    dim = int_list(call.get("dim"))
    shape: Shape = reduced(base.shape, dim, call.known("keepdim", False))
    const = None
    if base.const is not None and shape == () and base.shape is not None and len(base.shape) == 1:
        items = flat(base.const)
        const = items.index(max(items) if "max" in call.row.name else min(items))
    return tensor(shape, "int64", base.device, const)


def scan(result: str = "same", step: Callable[[Any, Any], Any] | None = None) -> Rule:
    """cumsum, cumprod, ...: the input's shape."""

    def rule(call: Call) -> Value:
        base = call.tensor()
        dtype = _reduced_dtype(call, base.dtype, result)
        const = None
        dim = call.known("dim", 0)
        if step is not None and base.const is not None and base.shape and isinstance(dim, int):
            const = along(base.const, axis(dim, len(base.shape)), lambda items: _accumulate(items, step, dtype))
        return tensor(base.shape, dtype, base.device, const)

    return rule


def along(const: Any, place: int, change: Callable[[Sequence[Any]], Sequence[Any]]) -> Any:
    """Known elements with every row along dimension ``place`` replaced by ``change(row)``."""
    if place:
        return tuple(along(part, place - 1, change) for part in const)
    if not const or not isinstance(const[0], tuple):
        return tuple(change(const))
    columns = [along(tuple(part[index] for part in const), 0, change) for index in range(len(const[0]))]
    return tuple(zip(*columns))


def _accumulate(items: Sequence[Any], step: Callable[[Any, Any], Any], dtype: str | None) -> Any:
    found: list[Any] = []
    for item in items:
        found.append(rounded(step(found[-1], item) if found else item, dtype))
    return tuple(found)


def norm(call: Call) -> Value:
    """norm(input, p, dim, keepdim) and the linalg norms."""
    return reduce_over(call, call.tensor(), int_list(call.get("dim")), "real")


def matrix_norm(call: Call) -> Value:
    dim = call.get("dim", (-2, -1))
    return reduce_over(call, call.tensor(), int_list(dim), "real")


def count_nonzero(call: Call) -> Value:
    base = call.tensor()
    return tensor(reduced(base.shape, int_list(call.get("dim")), False), "int64", base.device)


def joined(one: Any, other: Any, place: int) -> Any:
    """Known elements of two tensors, one after the other along dimension ``place``."""
    return tuple(joined(a, b, place - 1) for a, b in zip(one, other)) if place else (*one, *other)


def truth(fold: Fold) -> Rule:
    """all, any."""

    def rule(call: Call) -> Value:
        base = call.tensor()
        shape = reduced(base.shape, int_list(call.get("dim")), call.known("keepdim", False))
        const = bool(fold(flat(base.const))) if base.const is not None and shape == () else None
        return tensor(shape, "uint8" if base.dtype == "uint8" else "bool", base.device, const)

    return rule


def whole_truth(call: Call) -> Value:
    """equal, allclose: a Python bool that waits for the device."""
    first, second = call.tensor(), call.tensor("other")
    if first.const is not None and second.const is not None and call.row.name.endswith("equal"):
        return first.const == second.const and first.shape == second.shape
    if call.row.name.endswith(".equal") and _differ(first.shape, second.shape):
        return False
    return Unknown(call.row.name, "data", hint="bool")


def _differ(left: Shape, right: Shape) -> bool:
    if left is None or right is None:
        return False
    if len(left) != len(right):
        return True
    return any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in zip(left, right))


