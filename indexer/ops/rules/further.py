"""Rules of rarer ops."""

from __future__ import annotations

import math

from cgx.indexer.interpreter.values import Opaque, TensorValue, Unknown, Value
from cgx.indexer.ops.dims import maximum, minimum
from cgx.indexer.ops.results import NamedResult
from cgx.indexer.ops.rows import Call, Rule, Step
from cgx.indexer.ops.rules.linalg import _smaller
from cgx.indexer.ops.rules.spectral import transform_many
from cgx.indexer.ops.shapes import Undetermined
from cgx.indexer.ops.tensors import like, need_list, need_shape, size, sizes, tensor, view_of

__all__ = ["transform_many"]


def same_as(call: Call, name: str) -> Value:
    """Shape and dtype of one argument."""
    base = call.tensor(name)
    return like(base, base.shape)


def filled_in(call: Call) -> Value:
    """torch.nn.init: the tensor that was given."""
    value = call.get("tensor")
    return view_of(value, value.shape) if isinstance(value, TensorValue) else value


def gain(call: Call) -> Value:
    """calculate_gain(nonlinearity)."""
    name, slope = call.known("nonlinearity"), call.known("param")
    if name == "tanh":
        return 5.0 / 3
    if name == "relu":
        return math.sqrt(2.0)
    if name == "selu":
        return 3.0 / 4
    if name == "leaky_relu":
        return math.sqrt(2.0 / (1 + (0.01 if slope is None else slope) ** 2))
    return 1


def recurrent(call: Call) -> Value:
    """torch.lstm and its kind on padded input: shapes of output and states from the states given."""
    base, states = call.tensor(), call.get("hx")
    first = states[0] if isinstance(states, list | tuple) else states
    if not isinstance(first, TensorValue) or first.shape is None or base.shape is None:
        raise Undetermined("hx")
    ways = 2 if call.known("bidirectional", False) else 1
    width = first.shape[-1]
    output = like(base, (*base.shape[:-1], None if width is None else ways * width))
    if isinstance(states, list | tuple):
        return (output, *(like(item, item.shape) for item in states))
    return output, like(first, first.shape)


def native_attention(call: Call) -> Value:
    """_native_multi_head_attention on batch-first input: (output, weights)."""
    query = call.tensor("query")
    if call.known("need_weights", True) is False:
        return like(query, query.shape), None
    shape = need_shape(query)
    weights = (shape[0], shape[1], shape[1])
    if not call.known("average_attn_weights", True):
        weights = (shape[0], call.get("num_head"), shape[1], shape[1])  # type: ignore[assignment]
    return like(query, query.shape), like(query, weights)


def aligned(call: Call) -> Value:
    return Unknown("mask is left aligned", "data", hint="bool")


def padded(call: Call) -> Value:
    base = call.tensor()
    wanted = call.get("output_size")
    return like(base, sizes(wanted) if isinstance(wanted, list | tuple) else base.shape)


def nested(call: Call) -> Value:
    members = call.get("tensor_list")
    first = members[0] if isinstance(members, list | tuple) and members else None
    if not isinstance(first, TensorValue) or first.shape is None:
        raise Undetermined("tensor_list")
    return like(first, (len(members), *(None for _ in first.shape)))


def retyped(call: Call, dtype: str) -> Value:
    base = call.tensor()
    return like(base, base.shape, dtype)


def sized(call: Call) -> Value:
    return like(call.tensor(), sizes(call.get("size")))


def unshaped(call: Call) -> Value:
    base = call.tensor()
    return like(base, None if base.shape is None else (None,) * len(base.shape))


def unravelled(call: Call) -> Value:
    base, shape = call.tensor("indices"), call.get("shape")
    return tuple(like(base, base.shape) for _ in need_list(shape))


def norm_except(call: Call) -> Value:
    """norm_except_dim(v, pow, dim): all sizes but one become 1."""
    base, dim = call.tensor("v"), call.known("dim", 0)
    shape = need_shape(base)
    if dim == -1:
        return like(base, ())
    return like(base, tuple(extent if place == dim % len(shape) else 1 for place, extent in enumerate(shape)))


def native_layer_norm(call: Call) -> Value:
    base = call.tensor()
    shape, count = need_shape(base), len(sizes(call.get("normalized_shape")))
    rest = (*shape[: len(shape) - count], *(1 for _ in range(count)))
    return like(base, shape), like(base, rest), like(base, rest)


def conv_tbc(call: Call) -> Value:
    base, weight = call.tensor(), call.tensor("weight")
    shape, kernel = need_shape(base), need_shape(weight)
    span, pad = kernel[0], size(call.get("pad", 0))
    length = None if shape[0] is None or span is None or pad is None else shape[0] + 2 * pad - span + 1
    return like(base, (length, shape[1], kernel[2]))


def nonzero_static(call: Call) -> Value:
    base = call.tensor()
    return tensor((size(call.get("size")), len(need_shape(base))), "int64", base.device)


def with_info(call: Call) -> Value:
    base = call.tensor()
    names = ("L", "info") if "cholesky" in call.row.name else ("inverse", "info")
    return NamedResult(names, (like(base, base.shape), like(base, need_shape(base)[:-2], "int32")))


def with_pivots(call: Call) -> Value:
    base = call.tensor()
    shape = need_shape(base)
    return NamedResult(("LU", "pivots"), (like(base, shape), like(base, (*shape[:-2], _smaller(shape)), "int32")))


def lu(call: Call) -> Value:
    base = call.tensor("A")
    shape = need_shape(base)
    rows, columns, least = shape[-2], shape[-1], _smaller(shape)
    batch = shape[:-2]
    parts = ((*batch, rows, rows), (*batch, rows, least), (*batch, least, columns))
    return NamedResult(("P", "L", "U"), tuple(like(base, part) for part in parts))


def least_squares(call: Call) -> Value:
    left, right = call.tensor("A"), call.tensor("B")
    first, second = need_shape(left), need_shape(right)
    solution = like(left, (*first[:-2], first[-1], *second[len(first) - 1 :]))
    unknown = TensorValue(dtype=left.dtype, device=left.device)
    return NamedResult(("solution", "residuals", "rank", "singular_values"), (solution, unknown, TensorValue(dtype="int64"), unknown))


def triangular(call: Call) -> Value:
    right, left = call.tensor("B"), call.tensor("A")
    return NamedResult(("solution", "cloned_coefficient"), (like(right, right.shape), like(left, left.shape)))


def low_rank(call: Call) -> Value:
    """svd_lowrank, pca_lowrank: U, S, V of rank q."""
    base = call.tensor("A")
    shape = need_shape(base)
    rank = size(call.get("q"))
    rows, columns, batch = shape[-2], shape[-1], shape[:-2]
    return like(base, (*batch, rows, rank)), like(base, (*batch, rank)), like(base, (*batch, columns, rank))


def symbolic(name: str) -> Rule:
    """sym_max, sym_min, ...: on plain numbers and sizes."""

    def rule(call: Call) -> Value:
        first, second = call.known("a"), call.known("b")
        if name == "sym_max":
            return maximum(first, second)
        if name == "sym_min":
            return minimum(first, second)
        if name == "sym_not":
            return not first
        return first if name == "sym_int" else float(first)

    return rule


def packed(call: Call) -> Value:
    """A packed sequence: an object whose sizes hang on the lengths."""
    base = call.get("input", call.get("sequences"))
    first = base[0] if isinstance(base, list | tuple) and base else base
    attrs: dict[str, Value] = {"batch_first": call.get("batch_first", False)}
    if isinstance(first, TensorValue):
        width = None if first.shape is None else first.shape[-1]
        attrs["data"] = like(first, (None, width))
        attrs["padded"] = first
    return Opaque("torch.nn.utils.rnn.PackedSequence", attrs)


def unpacked(call: Call) -> Value:
    """(padded, lengths)."""
    sequence = call.get("sequence")
    data = sequence.attrs.get("data") if isinstance(sequence, Opaque) else None
    width = data.shape[-1] if isinstance(data, TensorValue) and data.shape else None
    device = data.device if isinstance(data, TensorValue) else None
    result = tensor((None, None, width), data.dtype if isinstance(data, TensorValue) else None, device)
    return result, tensor((None,), "int64", "cpu")


def foreach(call: Call) -> Value:
    """_foreach_X: a tensor for each of the list's; the form that ends in "_" changes them and gives nothing."""
    if call.row.name.endswith("_"):
        return None
    members = need_list(call.get("tensors"))
    norms = call.row.name.endswith(("norm", "max", "powsum"))
    return [like(item, () if norms else item.shape) if isinstance(item, TensorValue) else TensorValue() for item in members]


def shape_tensor(call: Call) -> Value:
    """_shape_as_tensor(input): the sizes as a host tensor."""
    shape = need_shape(call.tensor())
    known = all(isinstance(extent, int) for extent in shape)
    return tensor((len(shape),), "int64", "cpu", tuple(shape) if known and shape else None)


def scanned(call: Call) -> Value:
    """associative_scan(combine, xs, dim): like xs."""
    given = call.get("xs")
    if isinstance(given, TensorValue):
        return like(given, given.shape)
    return tuple(like(item, item.shape) if isinstance(item, TensorValue) else TensorValue() for item in need_list(given))


def checked(call: Call) -> list[Step]:
    """_check_tensor_all(cond): one flag over all elements, which the host fetches."""
    given = [call.get("cond"), *need_list(call.get("rest"))]
    condition = next(item for item in given if isinstance(item, TensorValue))
    flag = like(condition, (), "bool")
    return [Step("torch._is_all_true", (condition,), (flag,)), Step("torch.Tensor.item", (flag,), ())]
