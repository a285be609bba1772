"""Rules of reductions, scans, sorting and counting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from cgx.indexer.interpreter.values import TensorValue, Unknown, Value
from cgx.indexer.ops.constants import flat
from cgx.indexer.ops.dtypes import REAL_OF, kind, rounded
from cgx.indexer.ops.results import NamedResult
from cgx.indexer.ops.rows import Call, Rule
from cgx.indexer.ops.rules.pointwise import elementwise
from cgx.indexer.ops.shapes import Shape, axis, reduced
from cgx.indexer.ops.tensors import dtype_argument, float_dtype, int_list, like, need_shape, size, tensor

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
        other = dim if isinstance(dim, TensorValue) and dim.shape != () else call.get("other")
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


def scan_pair(call: Call) -> Value:
    """cummax, cummin."""
    base = call.tensor()
    return NamedResult(("values", "indices"), (like(base, base.shape), like(base, base.shape, "int64")))


def sort(call: Call) -> Value:
    """sort(input, dim=-1, descending=False): (values, indices)."""
    base = call.tensor()
    const = order = None
    descending = call.get("descending", False)
    if base.const is not None and base.shape is not None and len(base.shape) == 1 and descending in (True, False):
        items = flat(base.const)
        places = sorted(range(len(items)), key=items.__getitem__, reverse=bool(descending))
        const, order = tuple(items[place] for place in places), tuple(places)
    return NamedResult(("values", "indices"), (like(base, base.shape, const=const), like(base, base.shape, "int64", order)))


def argsort(call: Call) -> Value:
    return sort(call)[1]


def topk(call: Call) -> Value:
    """topk(input, k, dim=-1): the dimension becomes k."""
    base = call.tensor()
    shape = list(need_shape(base))
    if shape:
        shape[axis(call.known("dim", -1), len(shape))] = size(call.get("k"))
    return NamedResult(("values", "indices"), (like(base, tuple(shape)), like(base, tuple(shape), "int64")))


def kth(call: Call) -> Value:
    """kthvalue, mode, median over a dim, nanmedian: (values, indices)."""
    base = call.tensor()
    shape = reduced(base.shape, int_list(call.get("dim", -1)), call.known("keepdim", False))
    return NamedResult(("values", "indices"), (like(base, shape), like(base, shape, "int64")))


def quantile(call: Call) -> Value:
    """quantile(input, q, dim, keepdim): q's dimensions come first."""
    base, q = call.tensor(), call.get("q")
    shape = reduced(base.shape, int_list(call.get("dim")), call.known("keepdim", False))
    if isinstance(q, TensorValue):
        shape = None if q.shape is None or shape is None else (*q.shape, *shape)
    elif isinstance(q, Unknown):
        shape = None
    return like(base, shape)


def norm(call: Call) -> Value:
    """norm(input, p, dim, keepdim) and the linalg norms."""
    return reduce_over(call, call.tensor(), int_list(call.get("dim")), "real")


def matrix_norm(call: Call) -> Value:
    dim = call.get("dim", (-2, -1))
    return reduce_over(call, call.tensor(), int_list(dim), "real")


def count_nonzero(call: Call) -> Value:
    base = call.tensor()
    return tensor(reduced(base.shape, int_list(call.get("dim")), False), "int64", base.device)


def histogram(call: Call) -> Value:
    """histc(input, bins)."""
    base = call.tensor()
    return like(base, (size(call.get("bins", 100)),))


def histogram_pair(call: Call) -> Value:
    """torch.histogram: counts and edges."""
    base, bins = call.tensor(), call.get("bins")
    if isinstance(bins, TensorValue):
        edges = need_shape(bins)[0]
        count = None if edges is None else edges - 1
    else:
        count = size(bins)
        edges = None if count is None else count + 1
    return NamedResult(("hist", "bin_edges"), (like(base, (count,)), like(base, (edges,))))


def bincount(call: Call) -> Value:
    """The length hangs on the data, unless elements are known."""
    base, weights = call.tensor(), call.get("weights")
    dtype = "int64" if weights is None else (weights.dtype if isinstance(weights, TensorValue) else None)
    low = size(call.get("minlength", 0))
    if base.const is not None and weights is None and isinstance(low, int):
        items = flat(base.const)
        counts = [0] * max(low, int(max(items, default=-1)) + 1)
        for item in items:
            counts[int(item)] += 1
        return tensor((len(counts),), dtype, base.device, tuple(counts))
    return tensor((None,), dtype, base.device)


def unique(call: Call) -> Value:
    """unique, unique_consecutive: lengths hang on the data."""
    base, dim = call.tensor(), call.get("dim")
    if base.const is not None and dim is None and not call.known("return_inverse", False):
        return _known_unique(call, base)
    shape: Shape = (None,)
    inverse: Shape = base.shape
    if dim is not None:
        whole = need_shape(base)
        place = axis(dim, len(whole))
        shape = tuple(None if index == place else extent for index, extent in enumerate(whole))
        inverse = (whole[place],)
    items = [like(base, shape)]
    if call.known("return_inverse", False):
        items.append(like(base, inverse, "int64"))
    if call.known("return_counts", False):
        items.append(like(base, (None,), "int64"))
    return items[0] if len(items) == 1 else tuple(items)


def _known_unique(call: Call, base: TensorValue) -> Value:
    """The distinct elements (of runs, for unique_consecutive), and how often each stands."""
    items = flat(base.const)
    runs: list[list[Any]] = []
    for item in items if "consecutive" in call.row.name else sorted(items):
        if runs and runs[-1][0] == item:
            runs[-1][1] += 1
        else:
            runs.append([item, 1])
    values = tensor((len(runs),), base.dtype, base.device, tuple(item for item, _ in runs) or None)
    if not call.known("return_counts", False):
        return values
    return values, tensor((len(runs),), "int64", base.device, tuple(count for _, count in runs) or None)


def diff(call: Call) -> Value:
    """diff(input, n=1, dim=-1, prepend, append)."""
    base, count = call.tensor(), call.known("n", 1)
    shape = list(need_shape(base))
    place = axis(call.known("dim", -1), len(shape))
    extent = shape[place]
    for name in ("prepend", "append"):
        extra = call.get(name)
        if isinstance(extra, TensorValue):
            more = need_shape(extra)
            added = more[place] if len(more) == len(shape) else 1
            extent = None if extent is None or added is None else extent + added
    shape[place] = None if extent is None else extent - count
    result = like(base, tuple(shape), "bool" if base.dtype == "bool" else base.dtype)
    operands = [value for value in (call.get("prepend"), base, call.get("append")) if isinstance(value, TensorValue)]
    if count == 1 and kind(base.dtype) == "int" and all(value.const is not None for value in operands):
        rows = operands[0].const
        for value in operands[1:]:
            rows = joined(rows, value.const, place)
        result.const = along(rows, place, lambda items: [after - before for before, after in pairwise(items)])
    return result


def joined(one: Any, other: Any, place: int) -> Any:
    """Known elements of two tensors, one after the other along dimension ``place``."""
    return tuple(joined(a, b, place - 1) for a, b in zip(one, other)) if place else (*one, *other)


def trapezoid(call: Call) -> Value:
    base = call.tensor("y")
    return like(base, reduced(base.shape, call.known("dim", -1), False), float_dtype(base.dtype, call.defaults.dtype))


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


def cov(call: Call) -> Value:
    base = call.tensor()
    shape = need_shape(base)
    return like(base, () if len(shape) < 2 else (shape[0], shape[0]))




def diff_of_y(call: Call) -> Value:
    """cumulative_trapezoid: one element less along the dimension."""
    base = call.tensor("y")
    shape = list(need_shape(base))
    place = axis(call.known("dim", -1), len(shape))
    extent = shape[place]
    shape[place] = None if extent is None else extent - 1
    return like(base, tuple(shape))


def gradient(call: Call) -> Value:
    """gradient(input, dim=None): one tensor a dimension."""
    base = call.tensor()
    dims = int_list(call.get("dim"))
    count = len(need_shape(base)) if dims is None else (len(dims) if isinstance(dims, tuple) else 1)
    return tuple(like(base, base.shape) for _ in range(count))
