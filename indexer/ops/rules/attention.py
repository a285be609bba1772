"""Rules of attention, normalisation layers' functionals, dropout and losses."""

from __future__ import annotations

from cgx.indexer.interpreter.values import TensorValue, Unknown, Value
from cgx.indexer.ops.results import NamedResult
from cgx.indexer.ops.rows import Call
from cgx.indexer.ops.shapes import MaybeSize, Shape, Undetermined, broadcast
from cgx.indexer.ops.tensors import device_of, dtype_argument, like, need_shape, result_dtype, tensor


def attention(call: Call) -> Value:
    """scaled_dot_product_attention(query, key, value): the query's places, the value's width."""
    query, value = call.tensor("query"), call.tensor("value")
    if query.shape is None or value.shape is None:
        return like(query, None if query.shape is None else (*query.shape[:-1], None))
    shape: Shape = (*query.shape[:-1], value.shape[-1])
    if call.get("enable_gqa") is not True and len(value.shape) == len(query.shape):
        batch = broadcast(query.shape[:-2], value.shape[:-2])
        shape = None if batch is None else (*batch, query.shape[-2], value.shape[-1])
    return like(query, shape)


def flex_attention(call: Call) -> Value:
    """flex_attention(query, key, value, ..., return_lse=False, return_aux=None): with either, a pair."""
    out = attention(call)
    if call.get("return_aux") is not None:
        query = call.tensor("query")
        rows = like(query, None if query.shape is None else query.shape[:-1], "float32")
        return out, NamedResult(("lse", "max_scores"), (rows, rows))
    if call.known("return_lse", False):
        query = call.tensor("query")
        return out, like(query, None if query.shape is None else query.shape[:-1], "float32")
    return out


def multi_head(call: Call) -> Value:
    """multi_head_attention_forward: (output, weights or None)."""
    query, key = call.tensor("query"), call.tensor("key")
    out = like(query, query.shape)
    if call.known("need_weights", True) is False:
        return out, None
    shape = need_shape(query)
    source = need_shape(key)
    heads: tuple[MaybeSize, ...] = () if call.known("average_attn_weights", True) else (call.known("num_heads"),)
    if len(shape) == 2:
        return out, like(query, (*heads, shape[0], source[0]))
    return out, like(query, (shape[1], *heads, shape[0], source[0]))


def normalised(call: Call) -> Value:
    """layer_norm, batch_norm, group_norm, rms_norm, dropout...: shape and dtype of the input."""
    base = call.tensor()
    return like(base, base.shape)


def softmax(call: Call) -> Value:
    """softmax(input, dim, dtype=None)."""
    base = call.tensor()
    asked = dtype_argument(call)
    if asked is not False:
        return like(base, base.shape, None if asked is None else str(asked))
    return like(base, base.shape)


def pointwise_loss(call: Call) -> Value:
    """mse_loss, l1_loss, ...: a number, or the broadcast with reduction="none"."""
    first, second = call.tensor(), call.get("target")
    members = [first, *([second] if isinstance(second, TensorValue) else [])]
    shape: Shape = () if _reduces(call) else broadcast(*(item.shape for item in members))
    return tensor(shape, result_dtype(members, call.defaults.dtype), device_of(members))


def _reduces(call: Call) -> bool:
    reduction = call.known("reduction", "mean")
    if call.get("reduce") is False:
        return False
    if reduction not in ("mean", "sum", "none", "batchmean"):
        raise Undetermined("reduction")
    return bool(reduction != "none")


def class_loss(call: Call) -> Value:
    """cross_entropy, nll_loss: a number, or the input without its class dimension."""
    base = call.tensor()
    if _reduces(call):
        return like(base, ())
    shape = need_shape(base)
    return like(base, shape[1:] if len(shape) == 1 else (shape[0], *shape[2:]))


def binary_loss(call: Call) -> Value:
    base = call.tensor()
    return like(base, () if _reduces(call) else base.shape)


def row_loss(call: Call) -> Value:
    """Losses that give one number a row: the input without its last dimension."""
    base = call.tensor()
    return like(base, () if _reduces(call) else need_shape(base)[:-1])


def pair_loss(call: Call) -> Value:
    """margin_ranking, cosine_embedding, triplet: two or three tensors of one shape."""
    members = list(call.tensors())
    base = members[0]
    if _reduces(call):
        return like(base, ())
    name = call.row.name.rpartition(".")[2]
    shape = broadcast(*(item.shape for item in members[:2]))
    if name in ("cosine_embedding_loss", "triplet_margin_loss", "triplet_margin_with_distance_loss"):
        shape = None if shape is None else shape[:-1]
    return like(base, shape)


def ctc_loss(call: Call) -> Value:
    base = call.tensor("log_probs")
    if _reduces(call):
        return like(base, ())
    return like(base, (need_shape(base)[1],))


def rnn(call: Call) -> Value:
    """_VF.lstm and its kind: shapes hang on the weights; the layer's row tells them."""
    return Unknown(call.row.name, "unmodelled")


def cell(call: Call) -> Value:
    """rnn_tanh_cell, gru_cell: the hidden state's shape; lstm_cell: two of them."""
    state = call.get("hx")
    if isinstance(state, list | tuple) and len(state) == 2 and all(isinstance(item, TensorValue) for item in state):
        return tuple(like(item, item.shape) for item in state)
    if isinstance(state, TensorValue):
        return like(state, state.shape)
    raise Undetermined("hx")
