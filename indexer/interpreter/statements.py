"""Execution of statements: one function a node kind, listed in EXECUTE.

A statement ends normally (``None``) or with one of BREAK, CONTINUE, RETURN; an abstract Python exception is a Raised.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from types import NoneType
from typing import TYPE_CHECKING, Any

from cgx.indexer.interpreter import open_dicts, operators, stand_ins, twin_calls
from cgx.indexer.interpreter.blocks import noted_period, periodic_side, rest_of, run_block
from cgx.indexer.interpreter.classes import make_class
from cgx.indexer.interpreter.expressions import eval_test
from cgx.indexer.interpreter.guards import first_rounds
from cgx.indexer.interpreter.joins import join, join_shapes, same
from cgx.indexer.interpreter.loops import exec_for, exec_while
from cgx.indexer.interpreter.recovery import ABSENT
from cgx.indexer.interpreter.scopes import Frame, Site
from cgx.indexer.interpreter.signals import BREAK, CONTINUE, RETURN, Raised
from cgx.indexer.interpreter.trace import BranchNode, CallNode, LoopNode, ModuleCall, Node
from cgx.indexer.interpreter.trail import Change
from cgx.indexer.interpreter.values import (
    MAYBE,
    MISSING,
    Alternatives,
    ByRank,
    ClassValue,
    External,
    Instance,
    TensorValue,
    Unknown,
    Value,
)
from cgx.indexer.interpreter.withs import exec_with
from cgx.model.anchors import Anchor

if TYPE_CHECKING:
    from cgx.indexer.interpreter.interp import Interp

Signal = str | None
DEFAULTS = ("default_dtype", "default_device", "legacy_device")  # what factories take where nothing is named: known, or not


def block(interp: Interp, body: list[ast.stmt], frame: Frame) -> Signal:
    return run_block(interp, body, frame)


def expr(interp: Interp, node: ast.Expr, frame: Frame) -> Signal:
    if not isinstance(node.value, ast.Constant):
        interp.eval(node.value, frame)
    return None


def assign(interp: Interp, node: ast.Assign, frame: Frame) -> Signal:
    value = interp.eval(node.value, frame)
    outer, frame.statement = frame.statement, node
    for target in node.targets:
        interp.assign(target, value, frame)
    frame.statement = outer
    return None


def annassign(interp: Interp, node: ast.AnnAssign, frame: Frame) -> Signal:
    if frame.scope.kind == "class" and isinstance(node.target, ast.Name):
        fields = frame.scope.vars.setdefault("__cgx_fields__", {})
        fields[node.target.id] = node.annotation
    if node.value is not None:
        interp.assign(node.target, interp.eval(node.value, frame), frame)
    return None


def augassign(interp: Interp, node: ast.AugAssign, frame: Frame) -> Signal:
    target = node.target
    load: ast.expr
    if isinstance(target, ast.Name):
        load = ast.copy_location(ast.Name(target.id, ast.Load()), target)
        old = interp.eval(load, frame)
        value = operators.binary(interp, type(node.op), old, interp.eval(node.value, frame), Site(node, frame), True)
        interp.assign(target, value, frame)
    elif isinstance(target, ast.Attribute):
        owner = interp.eval(target.value, frame)
        old = interp.getattr(owner, target.attr, Site(target, frame))
        value = operators.binary(interp, type(node.op), old, interp.eval(node.value, frame), Site(node, frame), True)
        interp.setattr(owner, target.attr, value, Site(target, frame))
    elif isinstance(target, ast.Subscript):
        owner = interp.eval(target.value, frame)
        key = interp.eval(target.slice, frame)
        old = interp.getitem(owner, key, Site(target, frame))
        value = operators.binary(interp, type(node.op), old, interp.eval(node.value, frame), Site(node, frame), True)
        interp.setitem(owner, key, value, Site(target, frame))
    return None


def return_(interp: Interp, node: ast.Return, frame: Frame) -> Signal:
    frame.result = interp.eval(node.value, frame) if node.value is not None else None
    return RETURN


def if_(interp: Interp, node: ast.If, frame: Frame) -> Signal:
    test = eval_test(interp, node.test, frame)
    site = Site(node.test, frame)
    truth = interp.truth_at(test, site)
    if truth is not None and isinstance(test, ByRank) and not interp.in_model and twin_calls.run(interp, node, test, frame):
        return None
    guard = interp.guard(node.test, test, frame) if truth is not None else None
    if truth is not None:
        body = node.body if truth else node.orelse
        if guard is None:
            return block(interp, body, frame)
        condition = guard.text
        guard.text = condition if truth else f"not ({condition})"
        with interp.inside(guard):
            signal = block(interp, body, frame)
        if isinstance(test, ByRank) and not interp.in_model:
            other_ranks(interp, node, (test, bool(truth)), (guard, condition), signal, frame)
        return signal
    return undecided(interp, node, test, frame)


def other_ranks(interp: Interp, node: ast.If, decided: tuple[ByRank, bool], taken: tuple[BranchNode, str], own: Signal, frame: Frame) -> None:
    """The side that other ranks take, for what it does; the state goes on as the first rank leaves it."""
    (test, truth), (guard, condition) = decided, taken
    body = node.orelse if truth else node.body
    ranks = tuple(rank for rank in range(len(test.values)) if rank not in (guard.ranks or ()))
    if not body or not ranks:
        return
    text = f"not ({condition})" if truth else condition
    kept = frame.result
    interp.trail.begin()
    try:
        with interp.inside(BranchNode(guard.anchor, text, decided=True, ranks=ranks)), interp.catching():
            signal: str | None = block(interp, body, frame)
    except Raised:
        signal = "raise"
    except BaseException:
        interp.trail.commit()
        raise
    interp.trail.rollback()
    frame.result, frame.rest = kept, None
    if signal is not None and own is None:  # they leave: what follows is for the others alone
        frame.rest = BranchNode(guard.anchor, guard.text, decided=True, ranks=guard.ranks)


def leave_once(interp: Interp, side: BranchNode, condition: str) -> None:
    """What ends the loop holds in one round of it: in this branch, and in those of the same condition before it."""
    loop = next((one for one in reversed(interp.stack) if isinstance(one, LoopNode)), None)
    if loop is None:
        return
    waiting: list[Node] = [side, *loop.children]
    while waiting:
        node = waiting.pop()
        if isinstance(node, LoopNode | ModuleCall):
            continue
        if isinstance(node, BranchNode) and (node is side or node.text == condition or node.text.startswith(f"{condition} and ")):
            node.once = str(loop.anchor)
        elif not isinstance(node, CallNode):
            waiting.extend(node.children)


def asserts_otherwise(node: ast.If) -> bool:
    """``if not ok(x): print(x); assert ok(x)``: the branch ends the job."""
    last = node.body[-1]
    return isinstance(last, ast.Assert) and isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not) and ast.dump(last.test) == ast.dump(node.test.operand)


def undecided(interp: Interp, node: ast.If, test: Value, frame: Frame) -> Signal:
    """Both branches from the same state; what they leave behind is joined."""
    text = frame.code.text(node.test)
    anchor = frame.anchor(node.test)
    interp.note_unknown(test, tested=True)
    period = interp.period(node.test, frame) or noted_period(test) or interp.period_behind(test)
    in_period = periodic_side(interp, node.test, test, frame)
    if period is not None and in_period:
        interp.period_conditions[text] = period
    rounds = first_rounds(interp, test, text)
    once = interp.once(node.test, frame) if interp.loops and not interp.forward_depth else None
    outcomes: list[tuple[str, Value, dict[Any, Change], Raised | None]] = []
    sides: list[BranchNode] = []
    # ``if c: return x`` and then ``raise``: as if that stood in an ``else``, so that the job, which runs, has ``c``.
    rest = [frame.otherwise] if frame.otherwise is not None and not node.orelse and isinstance(node.body[-1], ast.Return) else node.orelse
    for body, holds in ((node.body, True), (rest, False)):
        ranks = interp.ranks_within(node.test, frame) if holds else None
        branch = BranchNode(anchor, text if holds else f"not ({text})", period=period if holds is in_period else None, ranks=ranks)
        branch.first, branch.later, branch.test = rounds.get(holds), rounds.get(not holds), test
        sides.append(branch)
        branch.once = (holds and once) or ""
        interp.trail.begin()
        error: Raised | None = None
        signal: Signal = None
        # What comes round in a period is surely taken: an exception in it says that something was not modelled, as outside.
        with interp.assuming([test], holds), interp.inside(branch), interp.catching() if branch.period is None else nullcontext():
            try:
                interp.narrow(node.test, holds, frame)
                interp.assume_parts(node.test, holds, frame)
                signal = block(interp, body, frame)
            except Raised as raised:
                error = raised
            except BaseException:
                interp.trail.commit()
                raise
        outcomes.append(("raise" if error else signal or "", frame.result, interp.trail.rollback(), error))
    (one, one_result, one_changes, one_error), (two, two_result, two_changes, _two_error) = outcomes
    if any(signal != "raise" and (signal or changes) for signal, _, changes, _ in outcomes):
        interp.trace.conditions[text] = test  # something after it depends on it
    if one == "raise" and two == "raise":
        assert one_error is not None
        raise one_error
    if one == "raise" or two == "raise":
        sides[0 if one == "raise" else 1].aborts = True
        kept, result, changes = (two, two_result, two_changes) if one == "raise" else (one, one_result, one_changes)
        interp.trail.apply(changes)
        frame.result = result
        interp.assume_rest(test, two == "raise", frame)
        return kept or None
    if frame.wanted is not MISSING:
        ends = [way for way in outcomes if way[0] == RETURN and interp.truth(way[1]) is frame.wanted]
        if len(ends) == 1:
            interp.trail.apply(ends[0][2])
            frame.result = ends[0][1]
            return RETURN
    sides[0].aborts |= asserts_otherwise(node)
    if one == two:
        merge(interp, one_changes, two_changes, text, frame)
        if one == RETURN:
            frame.result = join(one_result, two_result, text, anchor)
        return one or None
    # one of them leaves: note that it may, go on with the state of the other
    leaving = {RETURN: 3, BREAK: 2, CONTINUE: 1, "": 0}
    leaves, stays = (outcomes[0], outcomes[1]) if leaving[one] > leaving[two] else (outcomes[1], outcomes[0])
    condition = text if leaves is outcomes[0] else f"not ({text})"
    if leaves[0] == RETURN:
        frame.returns.append((condition, leaves[1]))
        frame.early_exit = True
    elif leaves[0] == BREAK:
        frame.early_exit = True
        leave_once(interp, sides[0 if leaves is outcomes[0] else 1], condition)
    if leaves[0] == CONTINUE or leaves[0] == BREAK:
        merge(interp, one_changes, two_changes, text, frame)
        interp.narrow(node.test, leaves is outcomes[1], frame)  # what the rest of the round may count on
    else:
        interp.trail.apply(stays[2])
        interp.assume_rest(test, leaves is outcomes[1], frame)
    frame.result = stays[1]
    if leaves[0] in (RETURN, CONTINUE):
        frame.rest = rest_of(interp, node, test, leaves is outcomes[0], frame)
        if frame.rest is not None:
            stays_true = leaves is outcomes[1]
            frame.rest.first, frame.rest.later, frame.rest.test = rounds.get(stays_true), rounds.get(not stays_true), test
    return stays[0] or None


def merge(interp: Interp, one: dict[Any, Change], two: dict[Any, Change], text: str, frame: Frame) -> None:
    """Give every slot that a branch wrote the join of what both left there."""
    both = {**one, **two}
    keys = {change.key for change in both.values() if change.kind == "item" and isinstance(change.after, Anchor)}  # of tables: a key has its place
    for slot, change in both.items():
        first = one[slot].after if slot in one else change.before
        second = two[slot].after if slot in two else change.before
        if change.kind == "list":
            if len(first[0]) == len(second[0]):
                items = [join(a, b, text) for a, b in zip(first[0], second[0])]
                interp.trail.write(change, (items, first[1] or second[1]))
            else:
                longer = max(first[0], second[0], key=len)
                interp.trail.write(change, (longer, True if interp.in_model else MAYBE))
            continue
        if change.kind == "raw":
            interp.trail.write(change, max(first, second, key=len))
            continue
        if change.kind == "attr" and change.key == "shape":
            interp.trail.write(change, join_shapes(first, second))
            continue
        if isinstance(change.key, str) and change.kind == "attr" and change.key == "open":
            interp.trail.write(change, bool(first) or bool(second))
            continue
        if change.kind == "attr" and (isinstance(change.obj, TensorValue) or change.key == "cls"):
            # What a tensor is, or whose class an object is, has no alternatives: not known, or as it was.
            unsure = change.before if change.key == "cls" else None
            interp.trail.write(change, first if same(first, second) else unsure)
            continue
        name = change.key if isinstance(change.key, str) else ""
        if change.obj is interp.flags and name in DEFAULTS:
            interp.trail.write(change, first if same(first, second) else None)
            continue
        added = second if first is MISSING else first if second is MISSING else None
        if change.kind == "item" and change.before is MISSING and change.key in keys and isinstance(added, TensorValue) and not interp.in_model:
            interp.trail.write(change, open_dicts.added(added))
            continue
        if change.kind == "item" and (first is MISSING or second is MISSING) and isinstance(change.before, str | int | float | tuple | NoneType):
            # One branch took it out: whoever asks may find a default of its own in its place.
            gone = Unknown(name, "undecided-branch", guard=text)
            first, second = gone if first is MISSING else first, gone if second is MISSING else second
        interp.trail.write(change, join(first, second, text, None, name))


def delete(interp: Interp, node: ast.Delete, frame: Frame) -> Signal:
    for target in node.targets:
        interp.delete(target, frame)
    return None


def raise_(interp: Interp, node: ast.Raise, frame: Frame) -> Signal:
    if node.exc is None:
        raise frame.handled[-1] if frame.handled else Raised(External("RuntimeError"), Site(node, frame).anchor)
    value = interp.eval(node.exc, frame)
    if isinstance(value, ClassValue | External):
        value = interp.call(value, [], {}, Site(node, frame))
    raise Raised(value, Site(node, frame).anchor, frame.code.text(node.exc))


def try_(interp: Interp, node: ast.Try, frame: Frame) -> Signal:
    guards = any(_catches_import(handler) and not isinstance(handler.body[-1], ast.Raise) for handler in node.handlers)
    signal: Signal = None
    interp.guarded += guards
    raised = True
    try:
        try:
            with interp.catching(lambda error: _swallows(_handler(interp, node, error, frame))):
                signal = block(interp, node.body, frame)
            raised = False
        except Raised as error:
            interp.guarded -= guards
            guards = False
            handled, signal = _handle(interp, node, error, frame)
            if not handled:
                raise
        else:
            interp.guarded -= guards
            guards = False
            if signal is None and node.orelse:
                signal = block(interp, node.orelse, frame)
    finally:
        interp.guarded -= guards
        if node.finalbody:
            result = frame.result
            final = block(interp, node.finalbody, frame)
            if final is not None:
                signal = final
            else:
                frame.result = result
    del raised
    return signal


def _catches_import(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    names = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    tails = {ast.unparse(name).rpartition(".")[2] for name in names}
    return bool(tails & {"ImportError", "ModuleNotFoundError", "Exception", "BaseException", "PackageNotFoundError"})


def _handler(interp: Interp, node: ast.Try, error: Raised, frame: Frame) -> ast.ExceptHandler | None:
    for handler in node.handlers:
        if handler.type is None or matches(interp, error.value, interp.attempt(partial(interp.eval, handler.type, frame))):
            return handler
    return None


def _swallows(handler: ast.ExceptHandler | None) -> bool:
    """The job goes on behind the handler: it neither raises again nor ends the process."""
    if handler is None:
        return False
    last = handler.body[-1]
    ends = isinstance(last, ast.Expr) and isinstance(last.value, ast.Call) and ast.unparse(last.value.func) in ("sys.exit", "exit", "quit", "os._exit")
    return not ends and not (isinstance(last, ast.Raise) and (last.exc is None or handler.name is not None))


def _handle(interp: Interp, node: ast.Try, error: Raised, frame: Frame) -> tuple[bool, Signal]:
    handler = _handler(interp, node, error, frame)
    if handler is None:
        return False, None
    if handler.name:
        interp.bind(handler.name, error.value, frame, handler)
    if interp.said_absent(error) and (named := ABSENT.match(error.message or "")):
        stand_ins.note(interp.stand_ins, named[1], handler.body)
    frame.handled.append(error)
    try:
        return True, block(interp, handler.body, frame)
    finally:
        frame.handled.pop()


def matches(interp: Interp, value: Value, kind: Value) -> bool:
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return any(_is_kind(interp, value, one) for one in kinds)


def _is_kind(interp: Interp, value: Value, kind: Value) -> bool:
    """Whether an exception is caught by ``except kind``. What is not known is taken to be caught."""
    if isinstance(kind, tuple):
        return any(_is_kind(interp, value, one) for one in kind)
    if isinstance(kind, Unknown):
        return True
    wanted = kind.qname if isinstance(kind, External | ClassValue) else ""
    if isinstance(value, Instance):
        names = [base.qname for base in value.cls.mro if isinstance(base, External | ClassValue)]
    else:
        names = [getattr(value, "qname", "")]
    if wanted in names:
        return True
    caught = getattr(builtins, wanted.removeprefix("builtins."), None)
    raised = [getattr(builtins, name, None) for name in names]
    if isinstance(caught, type):
        return any(isinstance(one, type) and issubclass(one, caught) for one in raised) or (
            wanted in ("Exception", "BaseException") and not any(raised)
        )
    return wanted.rpartition(".")[2] == "PackageNotFoundError" and "ModuleNotFoundError" in names


def assert_(interp: Interp, node: ast.Assert, frame: Frame) -> Signal:
    test = eval_test(interp, node.test, frame)
    site = Site(node.test, frame)
    truth = interp.truth_at(test, site)
    if truth is False and not isinstance(test, ByRank | Alternatives) and not gradients(node.test):
        error = Raised(External("AssertionError"), site.anchor, site.text)
        if frame.handled or interp.forward_depth:
            raise error
        if not interp.catchable(error):
            stand_ins.check(interp, error, node, frame)
        interp.note_raise(error, "assert")  # the launched job is taken to run: what we read differs from what it sees
    if truth is None:
        interp.narrow(node.test, True, frame)
    return None


def gradients(test: ast.expr) -> bool:
    """``p.grad is None``: whether gradients are there is taken, not known."""
    parts = test.values if isinstance(test, ast.BoolOp) else [test]
    return any(isinstance(one, ast.Compare) and isinstance(one.left, ast.Attribute) and one.left.attr == "grad" for one in parts)


def import_(interp: Interp, node: ast.Import, frame: Frame) -> Signal:
    for alias in node.names:
        module = interp.import_module(alias.name, Site(node, frame))
        if alias.asname:
            interp.bind(alias.asname, module, frame, node)
        else:
            top = alias.name.partition(".")[0]
            interp.bind(top, interp.import_module(top, Site(node, frame)), frame, node)
    return None


def importfrom(interp: Interp, node: ast.ImportFrom, frame: Frame) -> Signal:
    interp.import_from(node, frame)
    return None


def functiondef(interp: Interp, node: Any, frame: Frame) -> Signal:
    value: Value = interp.make_function(node, frame, node.name)
    for decorator in reversed(node.decorator_list):
        value = interp.decorate(interp.eval(decorator, frame), value, Site(decorator, frame), frame)
    interp.bind(node.name, value, frame, node)
    return None


def classdef(interp: Interp, node: ast.ClassDef, frame: Frame) -> Signal:
    value = make_class(interp, node, frame)
    interp.bind(node.name, value, frame, node)
    return None


def global_(interp: Interp, node: ast.Global, frame: Frame) -> Signal:
    frame.scope.global_names.update(node.names)
    return None


def nonlocal_(interp: Interp, node: ast.Nonlocal, frame: Frame) -> Signal:
    frame.scope.nonlocal_names.update(node.names)
    return None


def match(interp: Interp, node: ast.Match, frame: Frame) -> Signal:
    subject = interp.eval(node.subject, frame)
    for case in node.cases:
        verdict = _match(interp, case.pattern, subject, frame)
        if verdict and case.guard is not None:
            verdict = interp.truth(interp.eval(case.guard, frame))
        if verdict is not False:
            return block(interp, case.body, frame)
    return None


def _match(interp: Interp, pattern: ast.pattern, value: Value, frame: Frame) -> bool | None:
    site = Site(pattern, frame)
    if isinstance(pattern, ast.MatchValue):
        return interp.truth(operators.compare(interp, ast.Eq, value, interp.eval(pattern.value, frame), site))
    if isinstance(pattern, ast.MatchSingleton):
        return interp.truth(operators.compare(interp, ast.Is, value, pattern.value, site))
    if isinstance(pattern, ast.MatchOr):
        answers = [_match(interp, one, value, frame) for one in pattern.patterns]
        return True if True in answers else None if None in answers else False
    if isinstance(pattern, ast.MatchAs):
        verdict = _match(interp, pattern.pattern, value, frame) if pattern.pattern is not None else True
        if verdict is not False and pattern.name:
            interp.bind(pattern.name, value, frame, pattern)
        return verdict
    if isinstance(pattern, ast.MatchClass):
        verdict = interp.is_instance(value, interp.eval(pattern.cls, frame))
        for attr, inner in zip(pattern.kwd_attrs, pattern.kwd_patterns):
            if verdict:
                verdict = _match(interp, inner, interp.getattr(value, attr, site), frame)
        return verdict
    if isinstance(pattern, ast.MatchSequence):
        items = interp.iterate(value, site)
        if isinstance(value, str) or not isinstance(items, list):
            return False if isinstance(value, str) else None
        if any(isinstance(one, ast.MatchStar) for one in pattern.patterns):
            return None
        if len(items) != len(pattern.patterns):
            return False
        answers = [_match(interp, one, item, frame) for one, item in zip(pattern.patterns, items)]
        return False if False in answers else None if None in answers else True
    return None


def nothing(interp: Interp, node: ast.stmt, frame: Frame) -> Signal:
    return None


def break_(interp: Interp, node: ast.Break, frame: Frame) -> Signal:
    return BREAK


def continue_(interp: Interp, node: ast.Continue, frame: Frame) -> Signal:
    return CONTINUE


EXECUTE: dict[type[ast.AST], Callable[[Any, Any, Any], Signal]] = {
    ast.Expr: expr,
    ast.Assign: assign,
    ast.AnnAssign: annassign,
    ast.AugAssign: augassign,
    ast.Return: return_,
    ast.If: if_,
    ast.For: exec_for,
    ast.AsyncFor: exec_for,
    ast.While: exec_while,
    ast.With: exec_with,
    ast.AsyncWith: exec_with,
    ast.Delete: delete,
    ast.Raise: raise_,
    ast.Try: try_,
    ast.Assert: assert_,
    ast.Import: import_,
    ast.ImportFrom: importfrom,
    ast.FunctionDef: functiondef,
    ast.AsyncFunctionDef: functiondef,
    ast.ClassDef: classdef,
    ast.Global: global_,
    ast.Nonlocal: nonlocal_,
    ast.Match: match,
    ast.Pass: nothing,
    ast.Break: break_,
    ast.Continue: continue_,
}
if hasattr(ast, "TryStar"):
    EXECUTE[ast.TryStar] = try_
if hasattr(ast, "TypeAlias"):
    EXECUTE[ast.TypeAlias] = nothing
