"""Rules of library ops."""

from __future__ import annotations

from cgx.indexer.interpreter.values import TensorValue, Unknown, Value
from cgx.indexer.ops.rows import Call, Rule
from cgx.indexer.ops.shapes import Undetermined
from cgx.indexer.ops.tensors import like, need_shape, size, tensor


def shaped_as(name: str, count: int = 1) -> Rule:
    """The shape and dtype of the argument ``name``; ``count`` such tensors."""

    def rule(call: Call) -> Value:
        base = call.tensor(name)
        results = tuple(like(base, base.shape) for _ in range(count))
        return results[0] if count == 1 else results

    return rule


def attention(query: str = "q", value: str = "v") -> Rule:
    """The query's places, the value's width."""

    def rule(call: Call) -> Value:
        first, last = call.tensor(query), call.tensor(value)
        shape = first.shape
        if shape is not None:
            shape = (*shape[:-1], last.shape[-1] if last.shape else None)
        out = like(first, shape)
        if call.get("return_attn_probs") is True:
            return out, like(first, None, "float32"), TensorValue()
        return out

    return rule


def packed_attention(name: str, place: int) -> Rule:
    """Query, key and value in one tensor: the dimension that tells them apart goes."""

    def rule(call: Call) -> Value:
        base = call.tensor(name)
        shape = need_shape(base)
        at = place % len(shape)
        return like(base, (*shape[:at], *shape[at + 1 :]))

    return rule


def swiglu(call: Call) -> Value:
    """swiglu(x, y=None): with one argument the last dimension is halved."""
    base = call.tensor("x")
    if call.given("y") or base.shape is None:
        return like(base, base.shape)
    last = base.shape[-1]
    return like(base, (*base.shape[:-1], None if last is None else last // 2))


def selective_scan(call: Call) -> Value:
    """selective_scan_fn(u, ...): like u; with the last state, that too."""
    base = call.tensor("u")
    out = like(base, base.shape)
    if call.known("return_last_state", False) is not True:
        return out
    inner, state = need_shape(base), need_shape(call.tensor("A"))
    return out, like(base, (inner[0], inner[1], state[-1]))


def mamba_inner(call: Call) -> Value:
    """mamba_inner_fn(xz, ..., out_proj_weight): (batch, length, width)."""
    base, weight = call.tensor("xz"), call.tensor("out_proj_weight")
    batch, _, length = need_shape(base)
    return like(base, (batch, length, need_shape(weight)[0]))


def unpadded(call: Call) -> Value:
    """unpad_input(hidden_states, mask): rows of real tokens, whose number hangs on the data."""
    base = call.tensor("hidden_states")
    shape = need_shape(base)
    rows = like(base, (None, *shape[2:]))
    count = None if shape[0] is None else shape[0] + 1
    longest = Unknown("max_seqlen_in_batch", "data", hint="int")
    return rows, tensor((None,), "int64", base.device), tensor((count,), "int32", base.device), longest, tensor((shape[0],), "int32", base.device)


def repadded(call: Call) -> Value:
    """pad_input(hidden_states, indices, batch, seqlen)."""
    base = call.tensor("hidden_states")
    return like(base, (size(call.get("batch")), size(call.get("seqlen")), *need_shape(base)[1:]))


def ceiling(call: Call) -> Value:
    """triton.cdiv(x, y)."""
    first, second = call.known("x"), call.known("y")
    return -((-first) // second)


def power_of_two(call: Call) -> Value:
    """triton.next_power_of_2(n)."""
    number = call.known("n")
    if not isinstance(number, int):
        raise Undetermined("n")
    return 1 << max(0, number - 1).bit_length()


def matmul(call: Call) -> Value:
    """A product with a quantised weight: the last dimension becomes the weight's."""
    base, weight = call.tensor("A"), call.tensor("B")
    last = weight.shape[-1] if weight.shape is not None and len(weight.shape) == 2 else None
    return like(base, None if base.shape is None else (*base.shape[:-1], last))


def unknown_result(call: Call) -> Value:
    return TensorValue()


def row_loss(call: Call) -> Value:
    """Fused cross entropy: one number a row."""
    base = call.tensor("logits")
    losses = like(base, need_shape(base)[:-1], "float32")
    return losses, losses
