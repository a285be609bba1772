"""Rules of sorting, counting and scanning in order."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from cgx.indexer.interpreter.values import TensorValue, Unknown, Value
from cgx.indexer.ops.constants import flat
from cgx.indexer.ops.dtypes import kind
from cgx.indexer.ops.results import NamedResult
from cgx.indexer.ops.rows import Call
from cgx.indexer.ops.rules.reduce import along, joined
from cgx.indexer.ops.shapes import Shape, axis, reduced
from cgx.indexer.ops.tensors import float_dtype, int_list, like, need_shape, size, tensor


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


def trapezoid(call: Call) -> Value:
    base = call.tensor("y")
    return like(base, reduced(base.shape, call.known("dim", -1), False), float_dtype(base.dtype, call.defaults.dtype))


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
