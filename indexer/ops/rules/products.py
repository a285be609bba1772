"""Rules of matrix products."""

from __future__ import annotations

from cgx.indexer.interpreter.values import TensorValue, Value
from cgx.indexer.ops.dtypes import short_name
from cgx.indexer.ops.rows import Call
from cgx.indexer.ops.rules.join import _agreed
from cgx.indexer.ops.shapes import MaybeSize, Shape, Undetermined, axis, broadcast, join_sizes, reduced
from cgx.indexer.ops.tensors import device_of, like, need_list, need_shape, result_dtype, tensor


def matmul_shape(left: Shape, right: Shape) -> Shape:
    """The shape of a matrix product with batches and vectors."""
    if left is None or right is None:
        return None
    if not left or not right:
        raise Undetermined("matmul of a number")
    rows: tuple[MaybeSize, ...] = left[-2:-1] if len(left) > 1 else ()
    columns: tuple[MaybeSize, ...] = right[-1:] if len(right) > 1 else ()
    batch = broadcast(left[:-2], right[:-2])
    return None if batch is None else (*batch, *rows, *columns)


def _product(call: Call, members: list[TensorValue], shape: Shape) -> TensorValue:
    return tensor(shape, result_dtype(members, call.defaults.dtype), device_of(members))


def matmul(call: Call) -> Value:
    """matmul, mm, bmm, mv, dot."""
    left, right = call.tensor(), call.tensor("other")
    return _product(call, [left, right], matmul_shape(left.shape, right.shape))


def linear(call: Call) -> Value:
    """linear(input, weight, bias): the last dimension becomes the weight's first."""
    base, weight = call.tensor(), call.tensor("weight")
    if base.shape is None or weight.shape is None:
        return tensor(None, base.dtype, base.device)
    tail = weight.shape[:-1]
    return tensor((*base.shape[:-1], *tail), base.dtype, base.device or weight.device)


def bilinear(call: Call) -> Value:
    first, weight = call.tensor("input1"), call.tensor("weight")
    return like(first, (*need_shape(first)[:-1], need_shape(weight)[0]))


def addmm(call: Call) -> Value:
    """addmm(input, mat1, mat2), baddbmm, addbmm, addmv."""
    base, first, second = call.tensor(), call.tensor("mat1"), call.tensor("mat2")
    shape = matmul_shape(first.shape, second.shape)
    if "addbmm" in call.row.name and "baddbmm" not in call.row.name and shape is not None:
        shape = shape[1:]
    return _product(call, [base, first, second], shape)


def outer(call: Call) -> Value:
    left, right = call.tensor(), call.tensor("vec2")
    shape = (*need_shape(left), *need_shape(right))
    return _product(call, [left, right], shape)


def inner(call: Call) -> Value:
    left, right = call.tensor(), call.tensor("other")
    first, second = need_shape(left), need_shape(right)
    shape = broadcast(first, second) if not first or not second else (*first[:-1], *second[:-1])
    return _product(call, [left, right], shape)


def kron(call: Call) -> Value:
    left, right = call.tensor(), call.tensor("other")
    first, second = need_shape(left), need_shape(right)
    rank = max(len(first), len(second))
    first, second = (1,) * (rank - len(first)) + first, (1,) * (rank - len(second)) + second
    shape = tuple(None if a is None or b is None else a * b for a, b in zip(first, second))
    return _product(call, [left, right], shape)


def cross(call: Call) -> Value:
    left, right = call.tensor(), call.tensor("other")
    return _product(call, [left, right], broadcast(left.shape, right.shape))


def tensordot(call: Call) -> Value:
    """tensordot(a, b, dims=2)."""
    left, right = call.tensor("a"), call.tensor("b")
    first, second = need_shape(left), need_shape(right)
    dims = call.known("dims", 2)
    if isinstance(dims, int):
        gone_left, gone_right = set(range(len(first) - dims, len(first))), set(range(dims))
    else:
        sides = [side if isinstance(side, list | tuple) else [side] for side in need_list(dims)]
        gone_left = {axis(dim, len(first)) for dim in sides[0]}
        gone_right = {axis(dim, len(second)) for dim in sides[1]}
    kept = [extent for place, extent in enumerate(first) if place not in gone_left]
    kept += [extent for place, extent in enumerate(second) if place not in gone_right]
    return _product(call, [left, right], tuple(kept))


def einsum(call: Call) -> Value:
    """einsum(equation, *operands)."""
    equation = call.known("equation")
    operands = call.get("operands")
    if not isinstance(equation, str):
        raise Undetermined("equation")
    members = [item if isinstance(item, TensorValue) else TensorValue() for item in need_list(operands)]
    return _product(call, members, einsum_shape(equation, [item.shape for item in members]))


def einsum_shape(equation: str, shapes: list[Shape]) -> Shape:
    """The shape that an einsum equation gives; single letters, "..." for batches."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    inputs = left.split(",")
    if len(inputs) != len(shapes):
        raise Undetermined("operands")
    extents: dict[str, MaybeSize] = {}
    spare: list[Shape] = []
    for text, shape in zip(inputs, shapes):
        if shape is None:
            if "..." in text:
                return None
            for letter in text:
                extents.setdefault(letter, None)
            continue
        _read_operand(text, shape, extents, spare)
    if not arrow:
        letters = "".join(inputs).replace(".", "")
        right = "..." * bool(spare) + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    batch = broadcast(*spare) if spare else ()
    if batch is None:
        return None
    result: list[MaybeSize] = []
    for part in right.replace("...", "."):
        if part == ".":
            result.extend(batch)
        else:
            result.append(extents.get(part))
    return tuple(result)


def _read_operand(text: str, shape: tuple[MaybeSize, ...], extents: dict[str, MaybeSize], spare: list[Shape]) -> None:
    before, dots, after = text.partition("...")
    count = len(shape) - len(before) - len(after)
    if count < 0 or (count and not dots):
        raise Undetermined("equation does not fit")
    if dots:
        spare.append(shape[len(before) : len(before) + count])
    named = [*zip(before, shape), *(zip(after, shape[len(shape) - len(after) :]) if after else ())]
    for letter, extent in named:
        held = extents.get(letter)
        extents[letter] = extent if held is None else join_sizes(held, extent) if extent is not None else held


def distance(call: Call) -> Value:
    """cdist(x1, x2)."""
    left, right = call.tensor("x1"), call.tensor("x2")
    first, second = need_shape(left), need_shape(right)
    batch = broadcast(first[:-2], second[:-2])
    return _product(call, [left, right], None if batch is None else (*batch, first[-2], second[-2]))


def similarity(call: Call) -> Value:
    """cosine_similarity(x1, x2, dim=1)."""
    left, right = call.tensor("x1"), call.tensor("x2")
    shape = broadcast(left.shape, right.shape)
    return _product(call, [left, right], reduced(shape, call.known("dim", 1), False))


def pairwise_distance(call: Call) -> Value:
    left, right = call.tensor("x1"), call.tensor("x2")
    shape = broadcast(left.shape, right.shape)
    return _product(call, [left, right], reduced(shape, -1, call.known("keepdim", False)))


def multi_dot(call: Call) -> Value:
    members = [item for item in need_list(call.get("tensors")) if isinstance(item, TensorValue)]
    shape = members[0].shape
    for item in members[1:]:
        shape = matmul_shape(shape, item.shape)
    return _product(call, members, shape)


def vecdot(call: Call) -> Value:
    left, right = call.tensor("x"), call.tensor("y")
    return _product(call, [left, right], reduced(broadcast(left.shape, right.shape), call.known("dim", -1), False))


def scaled_mm(call: Call) -> Value:
    """_scaled_mm(mat1, mat2, ...): the product in ``out_dtype``."""
    left, right = call.tensor("input"), call.tensor("other")
    return tensor(matmul_shape(left.shape, right.shape), short_name(call.get("out_dtype")) or left.dtype, left.device)


def grouped_mm(call: Call) -> Value:
    """_grouped_mm(input, other, offs): groups of rows against a stack of matrices, or of columns."""
    left, right = call.tensor(), call.tensor("other")
    first, second = need_shape(left), need_shape(right)
    if len(first) == 2 and len(second) == 3:
        return like(left, (first[0], second[2]))
    if len(first) == 2 and len(second) == 2:
        offsets = call.get("offs")
        groups = need_shape(offsets)[0] if isinstance(offsets, TensorValue) else None
        return like(left, (groups, first[0], second[1]))
    return like(left, (_agreed([first[0], second[0]]), first[1], second[-1]) if len(second) == 3 else (first[1], second[1]))


def with_dtype(call: Call, dtype: str) -> Value:
    """A product in a dtype of its own."""
    result = matmul(call)
    result.dtype = dtype
    return result


def scaled(call: Call) -> Value:
    """scaled_mm(mat_a, mat_b, ..., output_dtype)."""
    left, right = call.tensor("mat_a"), call.tensor("mat_b")
    return tensor(matmul_shape(left.shape, right.shape), short_name(call.get("output_dtype")), left.device)
