"""Exceptions that nothing catches.

The launched job is taken to run. An abstract exception that no handler of the analysed code would catch, outside an undecided
branch, therefore says that something was not modelled: the innermost statement that raises is left out, what it would have
bound is unknown with that reason, and evaluation goes on behind it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cgx.indexer.interpreter import stand_ins
from cgx.indexer.interpreter.signals import RETURN, Raised
from cgx.indexer.interpreter.trace import ModuleCall
from cgx.indexer.interpreter.values import Instance, Unknown, Value

if TYPE_CHECKING:
    from cgx.indexer.interpreter.scopes import Frame

Catcher = Callable[[Raised], bool]
ENDS = frozenset({"SystemExit", "KeyboardInterrupt"})
MAX_NAME = 120  # characters of a statement's text that name what is not known


def catch_all(error: Raised) -> bool:
    return True


class Recovery:
    """The part of the interpreter that goes on after an exception nothing catches. Mixed into Interp."""

    def __init__(self) -> None:
        self.catchers: list[Catcher] = []
        self.asked: list[str] = []  # what the job raises where a package is not there

    @contextmanager
    def catching(self, catcher: Catcher = catch_all) -> Iterator[None]:
        """Inside, exceptions that ``catcher`` takes are handled by the caller."""
        depth = len(self.catchers)
        self.catchers.append(catcher)
        try:
            yield
        finally:
            del self.catchers[depth:]

    def catchable(self, error: Raised) -> bool:
        """Something round the running statement handles the exception, or it ends the job as the job means to."""
        return error.kind in ENDS or any(catcher(error) for catcher in reversed(self.catchers))

    def said_absent(self: Any, error: Raised) -> bool:
        """An import that fails for a package that is listed already as not there."""
        named = ABSENT.match(error.message or "") if error.kind in ("ModuleNotFoundError", "ImportError") else None
        return named is not None and named[1] in self.absent

    def recover(self: Any, error: Raised, node: ast.stmt, frame: Frame) -> str | None:
        """Leave a statement out: its targets, or its result, are unknown."""
        text = frame.code.text(node)[:MAX_NAME] if not isinstance(node, COMPOUND) else frame.code.text(_header(node))
        what = f"{error.kind}: {error.message}" if error.message else error.kind
        anchor = error.anchor or frame.anchor(node)
        if isinstance(node, ast.Raise) and error.kind == "ImportError":  # a job that runs has what it asks for
            self.asked.append(f"{text} ({what})")
        elif not self.said_absent(error):
            self.note_unknown(Unknown(f"{text} ({what})", "error", anchor, settle=_settled_by(error, node, frame)))
        stand_ins.check(self, error, node, frame)
        frame.doubt = True
        for open_node in self.stack:
            if isinstance(open_node, ModuleCall):
                open_node.complete = False
        if isinstance(node, ast.Return):
            frame.result = Unknown(text, "error", anchor)
            return RETURN
        for target in _targets(node):
            self.bind(target, Unknown(target, "error", anchor), frame, node)
        for member in _members(node):
            owner = self.attempt(lambda member=member: self.eval(member.value, frame))
            if isinstance(owner, Instance):
                self.trail.set_item(owner.attrs, member.attr, Unknown(frame.code.text(member), "error", anchor))
        return None


ABSENT = re.compile(r"No module named '(\w+)")


def _settled_by(error: Raised, node: ast.stmt, frame: Frame) -> tuple[str, str] | None:
    """The option that would put a value in the statement's place: a variable of the launch line, or what it evaluates."""
    missing = re.fullmatch(r"'([A-Z][A-Z0-9_]+)'", error.message or "")
    if error.kind == "KeyError" and missing is not None and "environ" in frame.code.text(node):
        return "--launch", missing[1]
    value = getattr(node, "value", None)
    return ("--set", frame.code.text(value)[:MAX_NAME]) if isinstance(value, ast.expr) else None


COMPOUND = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.Match, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _header(node: ast.stmt) -> ast.AST:
    for name in ("test", "iter", "subject"):
        if hasattr(node, name):
            found: ast.AST = getattr(node, name)
            return found
    if isinstance(node, ast.With | ast.AsyncWith):
        return node.items[0].context_expr
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return node.decorator_list[0] if node.decorator_list else ast.Name(node.name)
    return node


def _targets(node: ast.stmt) -> list[str]:
    """Names that the statement binds in its own scope."""
    if isinstance(node, ast.Assign):
        return [name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)]
    if isinstance(node, ast.AnnAssign | ast.AugAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [alias.asname or alias.name.partition(".")[0] for alias in node.names if alias.name != "*"]
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    return []


def _members(node: ast.stmt) -> list[ast.Attribute]:
    """Attributes that the statement sets."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [target for target in targets if isinstance(target, ast.Attribute)]


def doubtful(result: Value, frame: Frame, name: str) -> Value:
    """What a function gives that falls off its end after a statement was left out: not surely None."""
    return Unknown(name, "error", None) if result is None and frame.doubt else result
