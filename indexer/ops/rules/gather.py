"""Rules of gathering, scattering and looking up."""

from __future__ import annotations

from cgx.indexer.interpreter.values import TensorValue, Unknown, Value
from cgx.indexer.ops.rows import Call
from cgx.indexer.ops.shapes import MaybeSize, axis, broadcast, numel
from cgx.indexer.ops.tensors import like, need_shape, size, sizes, tensor


def gather(call: Call) -> Value:
    """gather(input, dim, index), take_along_dim: the index's shape."""
    base, index = call.tensor(), call.tensor("index" if call.given("index") else "indices")
    return like(base, index.shape)


def take(call: Call) -> Value:
    base = call.tensor()
    return like(base, call.tensor("index").shape)


def index_select(call: Call) -> Value:
    """index_select(input, dim, index)."""
    base, index = call.tensor(), call.tensor("index")
    shape = list(need_shape(base))
    if shape:
        shape[axis(call.known("dim"), len(shape))] = numel(index.shape)
    return like(base, tuple(shape))


def unchanged(call: Call) -> Value:
    """scatter, index_add, masked_fill_ ...: the shape and dtype of the input."""
    base = call.tensor()
    return like(base, base.shape)


def masked_fill(call: Call) -> Value:
    """masked_fill(input, mask, value): the broadcast of input and mask."""
    base, mask = call.tensor(), call.tensor("mask")
    return like(base, base.shape if call.row.inplace else broadcast(base.shape, mask.shape))


def masked_select(call: Call) -> Value:
    return like(call.tensor(), (None,))


def nonzero(call: Call) -> Value:
    """nonzero(input, as_tuple=False): as many rows as elements are set."""
    base = call.tensor()
    rank = None if base.shape is None else len(base.shape)
    if call.known("as_tuple", False):
        if rank is None:
            return Unknown("nonzero", "data")
        return tuple(tensor((None,), "int64", base.device) for _ in range(max(rank, 1)))
    return tensor((None, rank), "int64", base.device)


def argwhere(call: Call) -> Value:
    base = call.tensor()
    return tensor((None, None if base.shape is None else len(base.shape)), "int64", base.device)


def one_hot(call: Call) -> Value:
    """one_hot(input, num_classes=-1): the number of classes hangs on the data unless given."""
    base = call.tensor()
    count = size(call.get("num_classes", -1))
    shape = None if base.shape is None else (*base.shape, None if count == -1 else count)
    return tensor(shape, "int64", base.device)


def one_hot_sync(call: Call) -> str | None:
    return "dynamic shape" if call.get("num_classes", -1) == -1 else None


def embedding(call: Call) -> Value:
    """embedding(input, weight): a row of the weight for each index."""
    index, weight = call.tensor(), call.tensor("weight")
    width = None if weight.shape is None else weight.shape[-1]
    shape = None if index.shape is None else (*index.shape, width)
    return tensor(shape, weight.dtype, weight.device or index.device)


def embedding_bag(call: Call) -> Value:
    """embedding_bag(input, weight, offsets): one row a bag."""
    index, weight, offsets = call.tensor(), call.tensor("weight"), call.get("offsets")
    width = need_shape(weight)[-1]
    shape = need_shape(index)
    if len(shape) == 2:
        return like(weight, (shape[0], width))
    bags = need_shape(offsets)[0] if isinstance(offsets, TensorValue) else None
    if call.known("include_last_offset", False) and bags is not None:
        bags = bags - 1
    return like(weight, (bags, width))


def searchsorted(call: Call) -> Value:
    """searchsorted(sorted, values), bucketize(values, boundaries)."""
    values = call.get("input")
    dtype = "int32" if call.known("out_int32", False) else "int64"
    if not isinstance(values, TensorValue):
        boundaries = call.get("boundaries", call.get("sorted_sequence"))
        return tensor((), dtype, boundaries.device if isinstance(boundaries, TensorValue) else None)
    return tensor(values.shape, dtype, values.device)


def isin(call: Call) -> Value:
    elements = call.get("elements")
    if isinstance(elements, TensorValue):
        return tensor(elements.shape, "bool", elements.device)
    others = call.get("test_elements")
    return tensor((), "bool", others.device if isinstance(others, TensorValue) else None)


def triangle_indices(call: Call) -> Value:
    """tril_indices, triu_indices(row, col, offset)."""
    rows, columns, offset = (size(call.get(name, 0)) for name in ("row", "col", "offset"))
    count: MaybeSize = None
    if isinstance(rows, int) and isinstance(columns, int) and isinstance(offset, int):
        lower = "tril" in call.row.name
        count = sum(
            max(0, min(columns, line + offset + 1)) if lower else max(0, columns - max(0, line + offset)) for line in range(rows)
        )
    elif rows is not None and rows == columns and offset in (0, 1, -1):
        whole = rows * (rows + 1) // 2
        smaller = (offset == 1) != ("tril" in call.row.name)
        count = whole if offset == 0 else (rows * (rows - 1) // 2 if smaller else None)
    return tensor((2, count), "int64", call.defaults.device)


def resized(call: Call) -> Value:
    """resize_(*sizes)."""
    return like(call.tensor(), sizes(call.get("size")))
