"""``if rank == 0: train(..., writer)`` and ``else: train(..., None)``: one call on all ranks, with arguments that differ by rank."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from cgx.indexer.interpreter import operators
from cgx.indexer.interpreter.scopes import Frame, Site
from cgx.indexer.interpreter.values import ByRank, FunctionValue, ListValue, Value

if TYPE_CHECKING:
    from cgx.indexer.interpreter.interp import Interp


def twins(node: ast.If) -> tuple[ast.Call, ast.Call] | None:
    """The calls of both sides, where each side is one statement that calls the same name with as many arguments."""
    if len(node.body) != 1 or len(node.orelse) != 1:
        return None
    one, other = node.body[0], node.orelse[0]
    if not isinstance(one, ast.Expr) or not isinstance(other, ast.Expr):
        return None
    first, second = one.value, other.value
    if not isinstance(first, ast.Call) or not isinstance(second, ast.Call) or ast.dump(first.func) != ast.dump(second.func):
        return None
    names = [keyword.arg for keyword in first.keywords]
    same_form = len(first.args) == len(second.args) and names == [keyword.arg for keyword in second.keywords]
    plain = not any(isinstance(arg, ast.Starred) for arg in (*first.args, *second.args)) and None not in names
    return (first, second) if same_form and plain else None


def run(interp: Interp, node: ast.If, test: ByRank, frame: Frame) -> bool:
    """Run both sides as one call; False where they are no twins, and nothing was done."""
    found = twins(node)
    truths = [interp.truth(one) for one in test.values]
    if found is None or None in truths:
        return False
    first, second = found
    function = interp.eval(first.func, frame)
    if not isinstance(function, FunctionValue):
        return False

    def joined(one: ast.expr, other: ast.expr) -> Value:
        if ast.dump(one) == ast.dump(other):
            return interp.eval(one, frame)
        if isinstance(one, ast.List | ast.Tuple) and type(one) is type(other) and len(one.elts) == len(other.elts):
            parts = [joined(a, b) for a, b in zip(one.elts, other.elts)]
            return tuple(parts) if isinstance(one, ast.Tuple) else ListValue(parts)
        yes, no = interp.eval(one, frame), interp.eval(other, frame)
        return operators.by_rank([_on(yes if truth else no, rank) for rank, truth in enumerate(truths)])

    args = [joined(a, b) for a, b in zip(first.args, second.args)]
    kwargs = {a.arg: joined(a.value, b.value) for a, b in zip(first.keywords, second.keywords) if a.arg is not None}
    interp.call(function, args, kwargs, Site(first, frame))
    return True


def _on(value: Value, rank: int) -> Value:
    return value.values[rank] if isinstance(value, ByRank) else value
