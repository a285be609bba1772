"""Rounds of a ``while`` loop that a counter ends: ``n += k`` once a round, and a test of ``n`` that leaves the loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from cgx.indexer.interpreter.scopes import Frame
from cgx.indexer.interpreter.values import BoundMethod, ByRank, FunctionValue, Value

if TYPE_CHECKING:
    from cgx.indexer.interpreter.interp import Interp

NESTED = (ast.For, ast.AsyncFor, ast.While, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
FLIPPED = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE, ast.Eq: ast.Eq}


def planned(interp: Interp, node: ast.While, frame: Frame) -> tuple[int, ast.If | None] | None:
    """How many rounds the loop runs, asked before it does, and the ``if`` with the break that ends it.

    The counter may grow under an ``if`` (``if micro == 0: step += 1``): :func:`holds` asks whether that is taken each round.
    """
    if not (isinstance(node.test, ast.Constant) and node.test.value):
        test, place = _inlined(interp, node.test, frame)
        rounds = _until(interp, node, test, place, frame, leaves=False, position=0)
        return (rounds, None) if rounds is not None else None
    for position, statement in enumerate(node.body):
        if isinstance(statement, ast.If) and isinstance(statement.body[-1], ast.Break) and not statement.orelse:
            test = _named(statement.test, node.body[:position])
            rounds = _until(interp, node, test, frame, frame, leaves=True, position=position)
            if rounds is not None:
                return rounds, statement
    return None


def _truth(interp: Interp, test: ast.expr, frame: Frame) -> bool | None:
    return interp.truth(interp.eval(test, frame))


def holds(interp: Interp, node: ast.While, frame: Frame, ending: ast.If | None) -> bool:
    """Asked behind the loop: no other break may leave it, and a condition round the counter's growth holds in any round."""
    for test in gates(node):
        if interp.attempt(partial(_truth, interp, test, frame)) is not True:
            return False
    for owner in _leaving(node.body):
        if owner is ending:
            continue
        if not isinstance(owner, ast.If) or any(isinstance(one, ast.Call) for one in ast.walk(owner.test)):
            return False
        if interp.truth(interp.attempt(partial(interp.eval, owner.test, frame))) is not False:
            return False
    return True


def gates(node: ast.While) -> Iterator[ast.expr]:
    """Conditions under which the counter of the loop's test grows."""
    compared = node.test if isinstance(node.test, ast.Compare) else None
    names = {ast.unparse(one) for one in (compared.left, *compared.comparators)} if compared is not None else set()
    for statement in node.body:
        if isinstance(statement, ast.If) and any(isinstance(one, ast.AugAssign) and ast.unparse(one.target) in names for one in statement.body):
            yield statement.test


def _named(test: ast.expr, before: list[ast.stmt]) -> ast.expr:
    """``last`` of a round in which it was set to a comparison is that comparison."""
    if not isinstance(test, ast.Name):
        return test
    for statement in reversed(before):
        if isinstance(statement, ast.Assign) and any(isinstance(one, ast.Name) and one.id == test.id for one in statement.targets):
            return statement.value
    return test


def _inlined(interp: Interp, test: ast.expr, frame: Frame) -> tuple[ast.expr, Frame | None]:
    """``self.more()`` that returns one expression is that expression."""
    if not isinstance(test, ast.Call) or test.args or test.keywords:
        return test, frame
    found = interp.attempt(lambda: interp.eval(test.func, frame))
    function = found.func if isinstance(found, BoundMethod) else found
    if isinstance(function, FunctionValue) and isinstance(function.node, ast.FunctionDef):
        body = [one for one in function.node.body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]
        first = function.node.args.args[:1]
        same = isinstance(test.func, ast.Attribute) and isinstance(test.func.value, ast.Name) and first and first[0].arg == test.func.value.id
        if len(body) == 1 and isinstance(body[0], ast.Return) and body[0].value is not None and same:
            return body[0].value, frame
    return test, frame


def _until(
    interp: Interp, node: ast.While, test: ast.expr, place: Frame | None, frame: Frame, leaves: bool, position: int
) -> int | None:
    if place is None or not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    kind: Any = type(test.ops[0])
    for counter, bound, operator in ((test.left, test.comparators[0], kind), (test.comparators[0], test.left, FLIPPED.get(kind))):
        step = _step(node.body, counter)
        if step is None or operator not in (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq):
            continue
        index, by = step
        start, limit = _number(interp, counter, place), _number(interp, bound, place)
        if operator is ast.Eq:
            if not leaves or start is None or limit is None or by <= 0 or (limit - start) % by or start > limit:
                continue
            operator = ast.GtE  # it is met, not passed over
        if start is None or limit is None or by <= 0 or (operator in (ast.Gt, ast.GtE)) != leaves:
            continue
        # The loop goes on while the counter is below ``limit``.
        limit += 1 if operator in (ast.LtE, ast.Gt) else 0
        first = start + (by if leaves and index < position else 0)
        passes = max(0, -(-(limit - first) // by))  # tests that the loop survives
        return passes + 1 if leaves else passes
    return None


def _step(body: list[ast.stmt], counter: ast.expr) -> tuple[int, int] | None:
    """Where ``counter`` grows and by how much, if it changes nowhere else."""
    if not isinstance(counter, ast.Name | ast.Attribute):
        return None
    name = ast.unparse(counter)
    found: tuple[int, int] | None = None
    for position, statement in enumerate(body):
        for one in ast.walk(statement):
            if isinstance(one, ast.Name | ast.Attribute) and isinstance(one.ctx, ast.Store) and ast.unparse(one) == name:
                grows = next((inner for inner in statement.body if one in ast.walk(inner)), None) if isinstance(statement, ast.If) else statement
                if found is not None or not isinstance(grows, ast.AugAssign) or not isinstance(grows.op, ast.Add):
                    return None
                if not isinstance(grows.value, ast.Constant) or type(grows.value.value) is not int:
                    return None
                found = position, grows.value.value
    return found


def _number(interp: Interp, node: ast.expr, frame: Frame) -> int | None:
    value: Value = interp.attempt(lambda: interp.eval(node, frame))
    if isinstance(value, ByRank):
        value = value.values[0] if all(one == value.values[0] for one in value.values) else None
    return value if type(value) is int else None


def _leaving(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that hold a ``break`` or ``return`` of this loop directly."""
    for statement in body:
        if isinstance(statement, ast.Break | ast.Return):
            yield statement
        if isinstance(statement, NESTED):
            continue
        for field in ("body", "orelse", "finalbody"):
            inner = getattr(statement, field, None) or []
            if any(isinstance(one, ast.Break | ast.Return) for one in inner):
                yield statement
            yield from _leaving([one for one in inner if not isinstance(one, ast.Break | ast.Return)])
