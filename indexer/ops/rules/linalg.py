"""Rules of matrix products and linear algebra."""

from __future__ import annotations

from cgx.indexer.interpreter.values import TensorValue, Value
from cgx.indexer.ops.dims import minimum
from cgx.indexer.ops.dtypes import COMPLEX_OF, REAL_OF, kind
from cgx.indexer.ops.results import NamedResult
from cgx.indexer.ops.rows import Call
from cgx.indexer.ops.shapes import MaybeSize, Shape, broadcast
from cgx.indexer.ops.tensors import like, need_shape, tensor


def pdist(call: Call) -> Value:
    base = call.tensor()
    count = need_shape(base)[0]
    return like(base, (None if count is None else count * (count - 1) // 2,))


def square_same(call: Call) -> Value:
    """inverse, cholesky, matrix_exp, ...: the shape of the input."""
    base = call.tensor()
    return like(base, base.shape)


def swapped(call: Call) -> Value:
    """pinv: the last two sizes change places."""
    base = call.tensor()
    shape = need_shape(base)
    return like(base, (*shape[:-2], shape[-1], shape[-2]))


def determinant(call: Call) -> Value:
    base = call.tensor()
    return like(base, need_shape(base)[:-2])


def slogdet(call: Call) -> Value:
    base = call.tensor()
    shape = need_shape(base)[:-2]
    return NamedResult(("sign", "logabsdet"), (like(base, shape), like(base, shape, REAL_OF.get(base.dtype or "", base.dtype))))


def solve(call: Call) -> Value:
    """linalg.solve(A, B)."""
    left, right = call.tensor("A"), call.tensor("B")
    return like(right, right.shape if left.shape is None or len(left.shape) == 2 else _solve_shape(left, right))


def _solve_shape(left: TensorValue, right: TensorValue) -> Shape:
    first, second = need_shape(left), need_shape(right)
    if len(second) == len(first) - 1:
        return broadcast(first[:-1], second)
    batch = broadcast(first[:-2], second[:-2])
    return None if batch is None else (*batch, *second[-2:])


def _smaller(shape: tuple[MaybeSize, ...]) -> MaybeSize:
    rows, columns = shape[-2:]
    return None if rows is None or columns is None else minimum(rows, columns)


def svd(call: Call) -> Value:
    """linalg.svd(A, full_matrices=True): U, S, Vh."""
    base = call.tensor("A")
    shape = need_shape(base)
    rows, columns = shape[-2:]
    least, batch = _smaller(shape), shape[:-2]
    full = call.known("full_matrices", True)
    real = REAL_OF.get(base.dtype or "", base.dtype)
    left = like(base, (*batch, rows, rows if full else least))
    right = like(base, (*batch, columns if full else least, columns))
    return NamedResult(("U", "S", "Vh"), (left, like(base, (*batch, least), real), right))


def old_svd(call: Call) -> Value:
    """torch.svd(input, some=True): U, S, V."""
    base = call.tensor()
    shape = need_shape(base)
    rows, columns = shape[-2:]
    least, batch = _smaller(shape), shape[:-2]
    some = call.known("some", True)
    left = like(base, (*batch, rows, least if some else rows))
    right = like(base, (*batch, columns, least if some else columns))
    return NamedResult(("U", "S", "V"), (left, like(base, (*batch, least)), right))


def singular_values(call: Call) -> Value:
    base = call.tensor()
    shape = need_shape(base)
    return like(base, (*shape[:-2], _smaller(shape)), REAL_OF.get(base.dtype or "", base.dtype))


def qr(call: Call) -> Value:
    base = call.tensor()
    shape = need_shape(base)
    rows, columns, batch = shape[-2], shape[-1], shape[:-2]
    least = rows if call.known("mode", "reduced") == "complete" else _smaller(shape)
    return NamedResult(("Q", "R"), (like(base, (*batch, rows, least)), like(base, (*batch, least, columns))))


def eigh(call: Call) -> Value:
    base = call.tensor()
    shape = need_shape(base)
    real = REAL_OF.get(base.dtype or "", base.dtype)
    return NamedResult(("eigenvalues", "eigenvectors"), (like(base, shape[:-1], real), like(base, shape)))


def eig(call: Call) -> Value:
    base = call.tensor()
    shape = need_shape(base)
    name = base.dtype if kind(base.dtype) == "complex" else COMPLEX_OF.get(base.dtype or "")
    return NamedResult(("eigenvalues", "eigenvectors"), (like(base, shape[:-1], name), like(base, shape, name)))


def eigenvalues(call: Call) -> Value:
    base = call.tensor()
    real = call.row.name.endswith("eigvalsh")
    name = REAL_OF.get(base.dtype or "", base.dtype) if real else COMPLEX_OF.get(base.dtype or "", base.dtype)
    return like(base, need_shape(base)[:-1], name)


def trace(call: Call) -> Value:
    base = call.tensor()
    return like(base, (), "int64" if kind(base.dtype) in ("int", "bool") else base.dtype)


def vander(call: Call) -> Value:
    base = call.tensor("x")
    shape = need_shape(base)
    return like(base, (*shape, call.known("N", None) or shape[-1]))


def rank(call: Call) -> Value:
    """matrix_rank: one number a matrix."""
    base = call.tensor()
    return tensor(need_shape(base)[:-2], "int64", base.device)


