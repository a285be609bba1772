"""Conditions: what is assumed inside an undecided branch, and guards that mean a period or a set of ranks."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

from cgx.indexer.interpreter.blocks import ONCE, negated, noted_period
from cgx.indexer.interpreter.joins import ANOTHER
from cgx.indexer.interpreter.trace import BranchNode
from cgx.indexer.interpreter.values import MISSING, Alternatives, ByRank, Instance, TensorValue, Unknown, Value
from cgx.indexer.ops.dims import Dim

if TYPE_CHECKING:
    from cgx.indexer.interpreter.scopes import Frame
    from cgx.model.anchors import Anchor

AGAIN = f"not (not ({ANOTHER}))"


class Guards:
    """The part of the interpreter that keeps assumptions. Mixed into Interp."""

    def __init__(self) -> None:
        self.assumptions: dict[str, bool] = {}
        self.assumed_ids: dict[int, tuple[Unknown, bool]] = {}  # the value is held, or its id would be taken again
        self.period_conditions: dict[str, tuple[str, Any]] = {}  # condition -> its counter and period
        self.round_conditions: dict[str, tuple[Anchor | None, Anchor | None]] = {}  # condition -> first and later of its branches

    def assumed_truth(self, value: Unknown) -> bool | None:
        found = self.assumed_ids.get(id(value))
        return found[1] if found is not None else self.assumptions.get(value.name) if value.name else None

    @contextmanager
    def assuming(self, values: list[Value], holds: bool) -> Iterator[None]:
        """Inside, the undecided values are taken to be true (or false)."""
        texts, ids = dict(self.assumptions), dict(self.assumed_ids)
        for value in values:
            self._assume(value, holds)
        try:
            yield
        finally:
            self.assumptions, self.assumed_ids = texts, ids

    def _assume(self, value: Value, holds: bool) -> None:
        if isinstance(value, Unknown):
            self.assumed_ids[id(value)] = (value, holds)
            if value.name and value.reason != "loop-carried":
                self.assumptions[value.name] = holds
        elif isinstance(value, Alternatives):
            for text, option in value.options:
                truth = self.truth(option)  # type: ignore[attr-defined]
                if truth is not None:
                    self.assumptions[text] = truth is holds

    def period_behind(self: Any, test: Value) -> tuple[str, Any] | None:
        """The period of a condition that alternatives differ by: a function that returns True once a period."""
        for text, _ in test.options if isinstance(test, Alternatives) else ():
            found = self.period_conditions.get(text) or self.period_conditions.get(negated(text))
            if found is not None:
                return found
        return None

    def round_of(self, condition: str) -> tuple[Anchor | None, Anchor | None]:
        """``first`` and ``later`` of a branch under the condition of an alternative."""
        if condition in self.round_conditions:
            return self.round_conditions[condition]
        first, later = self.round_conditions.get(negated(condition), (None, None))
        return later, first

    def assume_rest(self: Any, test: Value, holds: bool, frame: Frame) -> None:
        """After a branch that left (raised or returned), the other side of its condition holds."""
        if isinstance(test, Unknown):
            self.assumed_ids.setdefault(id(test), (test, holds))

    def narrow(self: Any, test: ast.expr, holds: bool, frame: Frame) -> None:
        """What a condition tells of a name in its branch: ``x is None``, ``isinstance(x, C)``, ``x``, ``not x``."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            self.narrow(test.operand, not holds, frame)
            return
        if isinstance(test, ast.BoolOp):
            if isinstance(test.op, ast.And) is holds:
                for part in test.values:
                    self.narrow(part, holds, frame)
            return
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.comparators[0], ast.Constant):
            op, constant = test.ops[0], test.comparators[0].value
            if constant is None and isinstance(op, ast.Is | ast.IsNot):
                self._narrow_none(test.left, isinstance(op, ast.Is) is holds, frame)
            elif isinstance(op, ast.Eq) and holds and isinstance(test.left, ast.Name):
                value = frame.scope.get(test.left.id)
                if isinstance(value, Unknown) and value.reason != "loop-carried" and isinstance(constant, str | int | bool):
                    self._rebind(test.left, constant, frame)
                elif isinstance(value, Alternatives):
                    self._filter(test.left, value, lambda option: option == constant, frame)
            return
        if isinstance(test, ast.Name | ast.Attribute) and not holds:
            value = self._peek(test, frame)
            if isinstance(value, Alternatives):
                self._filter(test, value, lambda option: self.truth(option) is not True, frame)
        elif isinstance(test, ast.Name | ast.Attribute) and holds:
            value = self._peek(test, frame)
            if isinstance(value, Alternatives):
                self._filter(test, value, lambda option: self.truth(option) is not False, frame)

    def assume_parts(self: Any, test: ast.expr, holds: bool, frame: Frame) -> None:
        """In a branch under ``a and not b``, ``a`` holds and ``b`` does not."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            self.assume_parts(test.operand, not holds, frame)
        elif isinstance(test, ast.BoolOp):
            for part in test.values if isinstance(test.op, ast.And) is holds else ():
                self.assume_parts(part, holds, frame)
        elif isinstance(value := self._peek(test, frame), Unknown):
            self._assume(value, holds)

    def _peek(self: Any, node: ast.expr, frame: Frame) -> Value:
        if isinstance(node, ast.Name):
            return frame.scope.get(node.id)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner = frame.scope.get(node.value.id)
            if isinstance(owner, Instance):
                return owner.attrs.get(node.attr, MISSING)
        return MISSING

    def _narrow_none(self: Any, node: ast.expr, is_none: bool, frame: Frame) -> None:
        value = self._peek(node, frame)
        if isinstance(value, Alternatives):
            self._filter(node, value, lambda option: (option is None) is is_none, frame)
        elif isinstance(value, Unknown) and is_none:
            self._rebind(node, None, frame)

    def _filter(self: Any, node: ast.expr, value: Alternatives, keep: Any, frame: Frame) -> None:
        left = [(text, option) for text, option in value.options if keep(option)]
        if left and len(left) < len(value.options):
            self._rebind(node, left[0][1] if len(left) == 1 else Alternatives(tuple(left), value.anchor), frame)

    def _rebind(self: Any, node: ast.expr, value: Value, frame: Frame) -> None:
        if isinstance(node, ast.Name):
            scope = frame.scope.find(node.id)
            if scope is not None:
                self.trail.set_item(scope.vars, node.id, value)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner = frame.scope.get(node.value.id)
            if isinstance(owner, Instance):
                self.trail.set_item(owner.attrs, node.attr, value)

    # ------------------------------------------------------------------ guards

    def guard(self: Any, test: ast.expr, value: Value, frame: Frame) -> BranchNode | None:
        """A decided condition that is kept in the trace: a period, or one that other ranks decide otherwise."""
        period = self.period(test, frame) if self.loops else None
        ranks = None
        if isinstance(value, ByRank):
            truth = self.truth(value)
            ranks = tuple(rank for rank, one in enumerate(value.values) if self.truth(one) is truth)
        if period is None and ranks is None:
            return None
        return BranchNode(frame.anchor(test), frame.code.text(test), decided=True, period=period, ranks=ranks)

    def ranks_within(self: Any, test: ast.expr, frame: Frame) -> tuple[int, ...] | None:
        """Ranks for which the parts of an undecided ``a and b`` that depend on the rank hold; None where no part does."""
        if not isinstance(test, ast.BoolOp) or not isinstance(test.op, ast.And):
            return None
        found: set[int] | None = None
        for part in test.values:
            value = self.attempt(lambda part=part: self.eval(part, frame)) if _asks_only(part) else None
            if isinstance(value, ByRank):
                held = {rank for rank, one in enumerate(value.values) if self.truth(one)}
                found = held if found is None else found & held
        return tuple(sorted(found)) if found else None

    def period(self: Any, test: ast.expr, frame: Frame) -> tuple[str, Any] | None:
        """(counter, every) of ``counter % every == rest`` inside a condition."""
        for node in _remainders(test):
            if not isinstance(node.left, ast.Constant) and not _sized(node.left) and self._counts(test, node, frame):
                every = self.attempt(lambda node=node: self.eval(node.right, frame))
                counter = self.attempt(lambda node=node: self.eval(node.left, frame))
                if isinstance(every, TensorValue | str) or isinstance(counter, str | TensorValue):
                    continue
                return frame.code.text(node.left), every
        for one in _bool_ops(test):  # a part that goes by a name
            for part in one.values:
                noted = noted_period(frame.scope.get(part.id)) if isinstance(part, ast.Name) else None
                if noted is not None and self._counts(test, part, frame):
                    return noted
        return None

    def _counts(self: Any, test: ast.expr, node: ast.expr, frame: Frame) -> bool:
        """The part decides: it stands in no ``and`` beside something that surely does not hold, in no ``or`` beside what does."""
        for one in _bool_ops(test):
            if any(part is node or node in ast.walk(part) for part in one.values):
                others = (part for part in one.values if node not in ast.walk(part) and _asks_only(part))
                settled = isinstance(one.op, ast.Or)
                if settled:  # what a first round alone finds true is no such thing
                    others = (part for part in others if isinstance(part, ast.Compare) and isinstance(part.ops[0], ast.Is | ast.IsNot))
                if any(self.attempt(lambda part=part: self.truth(self.eval(part, frame))) is settled for part in others):
                    return False
        return True

    def once(self: Any, test: ast.expr, frame: Frame) -> str | None:
        """The loop (its anchor) in one round of which an undecided condition holds: ``step == last``, also under a name."""
        if isinstance(test, ast.BoolOp):
            if not _asks_only(test):
                return None
            found = []
            for part in test.values:
                truth = self.attempt(lambda part=part: self.truth(self.eval(part, frame)))
                if truth is None or isinstance(truth, Unknown):
                    found.append(self.once(part, frame))
                elif truth is isinstance(test.op, ast.Or):
                    return None
            known = [one for one in found if one is not None]
            enough = bool(known) and (isinstance(test.op, ast.And) or len(set(found)) == 1)
            return known[0] if enough else None
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq) and _asks_only(test):
            sides = [self.attempt(lambda side=side: self.eval(side, frame)) for side in (test.left, test.comparators[0])]
            carried = [one for one in sides if isinstance(one, Unknown) and one.reason == "loop-carried" and one.hint == "int"]
            other = next((one for one in sides if one is not next(iter(carried), None)), None)
            steady = isinstance(other, int | Dim) or (isinstance(other, Unknown) and other.reason != "loop-carried")
            return str(carried[0].anchor) if len(carried) == 1 and steady and not _remainders(test) else None
        value = self._peek(test, frame)
        return value.guard[1:] if isinstance(value, Unknown) and value.guard.startswith(ONCE) else None


def first_rounds(interp: Any, test: Value, text: str) -> dict[bool, Anchor]:
    """The side of an undecided condition that is taken in the first iteration of a loop alone -> that loop.

    A slot that was None or a constant before the loop and is something else after each iteration: ``if self.x is None: self.x = ...``.
    """
    found: dict[bool, Anchor] = {}
    if isinstance(test, Alternatives) and test.anchor is not None and len(test.options) == 2:
        truths = {condition.replace(AGAIN, ANOTHER): interp.truth(option) for condition, option in test.options}
        holds = truths.get(ANOTHER)
        if holds is not None and truths.get(f"not ({ANOTHER})") is (not holds):
            found[holds] = test.anchor
    interp.round_conditions[text] = (found.get(True), found.get(False))
    return found


def once_a_node(rule: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """What a rule finds in the syntax of a node is found once; the node keeps it."""
    key = f"cgx_{rule.__name__}"

    @wraps(rule)
    def kept(node: ast.expr) -> Any:
        found = getattr(node, key, MISSING)
        if found is MISSING:
            found = rule(node)
            setattr(node, key, found)
        return found

    return kept


RANK_CALLS = ("get_rank", "get_local_rank", "is_main_process")


@once_a_node
def _asks_only(node: ast.expr) -> bool:
    """To evaluate it again leaves nothing in the trace: names, comparisons, and calls that ask for the rank."""
    for one in ast.walk(node):
        if isinstance(one, ast.Call):
            name = one.func.attr if isinstance(one.func, ast.Attribute) else one.func.id if isinstance(one.func, ast.Name) else ""
            if name not in RANK_CALLS:
                return False
        elif isinstance(one, ast.NamedExpr | ast.Await | ast.comprehension):
            return False
    return True


@once_a_node
def _bool_ops(test: ast.expr) -> tuple[ast.BoolOp, ...]:
    return tuple(node for node in ast.walk(test) if isinstance(node, ast.BoolOp))


@once_a_node
def _sized(node: ast.expr) -> bool:
    """The size of a tensor: it counts no rounds."""
    return any(isinstance(one, ast.Attribute) and one.attr in ("size", "shape", "numel", "ndim") for one in ast.walk(node))


@once_a_node
def _remainders(test: ast.expr) -> tuple[ast.BinOp, ...]:
    """The ``%`` in a condition."""
    return tuple(node for node in ast.walk(test) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod))
