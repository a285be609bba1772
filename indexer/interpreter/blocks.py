"""Blocks of statements, and what holds for the rest of one after a branch in it has left."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from cgx.indexer.interpreter.trace import BranchNode
from cgx.indexer.interpreter.values import Unknown, Value

if TYPE_CHECKING:
    from cgx.indexer.interpreter.interp import Interp
    from cgx.indexer.interpreter.scopes import Frame

PERIOD = "%"  # first character of a guard that is a period: "%every%counter", "%-every%counter" where it holds in all rounds but those
ONCE = "="  # first character of a guard that holds in one round of a loop: "=anchor of the loop"


def run_block(interp: Interp, body: list[ast.stmt], frame: Frame) -> str | None:
    """Statements in order. After ``if c: continue`` (or ``return``) the others run only where ``c`` does not hold."""
    for index, statement in enumerate(body):
        frame.otherwise = body[index + 1] if isinstance(statement, ast.If) and isinstance(body[-1], ast.Raise) and index == len(body) - 2 else None
        signal = interp.exec(statement, frame)
        if signal is not None:
            frame.rest = None
            return signal
        rest, frame.rest = frame.rest, None
        if rest is not None and index + 1 < len(body):
            with interp.inside(rest):
                return run_block(interp, body[index + 1 :], frame)
    return None


def negated(text: str) -> str:
    """``not (c)`` for ``c``, and back."""
    if text.startswith("not (") and text.endswith(")"):
        return text[5:-1]
    return text[4:] if text.startswith("not ") and " and " not in text and " or " not in text else f"not ({text})"


def holds_in_period(test: ast.expr) -> bool:
    """Whether the condition is true once a period, not all the time but then: ``i % n == 0`` against ``i % n != 0``."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return not holds_in_period(test.operand)
    return not (isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.NotEq))


def note_period(interp: Any, node: ast.expr, value: Value, frame: Frame) -> Value:
    """An undecided ``counter % every == rest`` keeps its period, and ``counter == last`` its loop, for the branch that asks it
    later under another name."""
    if isinstance(value, Unknown) and not value.guard.startswith(PERIOD) and interp.loops and not interp.forward_depth:
        found = interp.period(node, frame)
        if found is not None and isinstance(found[1], int) and not isinstance(found[1], bool):
            value.guard = f"{PERIOD}{'' if holds_in_period(node) else '-'}{found[1]}{PERIOD}{found[0]}"
        elif not value.guard and (loop := interp.once(node, frame)) is not None:
            value.guard = f"{ONCE}{loop}"
    return value


def noted_period(value: Value) -> tuple[str, int] | None:
    """(counter, every) of a value that :func:`note_period` saw."""
    if not isinstance(value, Unknown) or not value.guard.startswith(PERIOD):
        return None
    _, every, counter = value.guard.split(PERIOD, 2)
    return counter, abs(int(every))


def turned(guard: str) -> str:
    """The guard of ``not value``."""
    if not guard.startswith(PERIOD):
        return guard
    return f"{PERIOD}{guard[2:]}" if guard[1] == "-" else f"{PERIOD}-{guard[1:]}"


def periodic_side(interp: Any, node: ast.expr, test: Value, frame: Frame) -> bool:
    """Whether the condition's period is told by its true side: as it is written, or as the value was that it asks."""
    if isinstance(test, Unknown) and noted_period(test) is not None and interp.period(node, frame) is None:
        return not test.guard.startswith(f"{PERIOD}-")
    return holds_in_period(node)


def rest_of(interp: Any, node: ast.If, test: Value, leaves_true: bool, frame: Frame) -> BranchNode | None:
    """The branch that the statements after ``node`` are in, where one side of it left the block. None in a constructor."""
    if interp.constructing_stack:
        return None
    text = frame.code.text(node.test)
    period = interp.period(node.test, frame) or noted_period(test) or interp.period_behind(test)
    fits = periodic_side(interp, node.test, test, frame) is not leaves_true
    return BranchNode(frame.anchor(node.test), negated(text) if leaves_true else text, period=period if fits else None)
