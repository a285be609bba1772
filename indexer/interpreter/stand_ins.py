"""What a job falls back to where an optional package is not there, and errors that say that the launched job has it.

Names that a handler of a failed import binds stand in for the package: ``HAVE_X = False``, ``Norm = PlainNorm``. So do names that
are bound under a condition on such a name: ``if HAVE_X: ... else: Layer = None``. Where the job then raises by itself because of
one of them, or calls a ``None`` that one of them holds, it runs with the package: the run is begun anew.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cgx.indexer.interpreter.signals import Raised, StopRun

if TYPE_CHECKING:
    from cgx.indexer.interpreter.scopes import Frame

Table = dict[str, frozenset[str]]


def note(table: Table, package: str, body: list[ast.stmt]) -> None:
    """The names that a handler of the failed import of ``package`` binds."""
    for name in bound_in(body):
        table[name] = table.get(name, frozenset()) | {package}


def bound_in(body: list[ast.stmt]) -> Iterator[str]:
    for node in (one for statement in body for one in ast.walk(statement)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.ClassDef | ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.ImportFrom):
            yield from (name for alias in node.names for name in (alias.name, alias.asname) if name is not None)


def asked_for(table: Table, error: Raised, node: ast.stmt, frame: Frame) -> frozenset[str]:
    """Packages that an error nothing catches asks for."""
    names: set[str] = set()
    if isinstance(node, ast.Assert | ast.Raise):
        names |= words(node.test) if isinstance(node, ast.Assert) else set()
        names |= {part for part in (error.anchor.symbol if error.anchor is not None else "").split(".") if part in table}
        for guard in guards(node, frame):
            names |= words(guard)
    elif error.kind == "TypeError" and "NoneType" in (error.message or ""):
        for call in ast.walk(node):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
                names |= {call.func.id} | behind(call.func.id, frame.code.tree)
    return frozenset(package for name in names for package in table.get(name, ()))


def words(node: ast.expr) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def guards(node: ast.stmt, frame: Frame) -> Iterator[ast.expr]:
    """Tests of the ``if`` statements round a statement."""
    for one in ast.walk(frame.code.tree):
        if isinstance(one, ast.If) and one.lineno <= node.lineno <= (one.end_lineno or one.lineno):
            yield one.test


def behind(name: str, tree: ast.Module) -> set[str]:
    """Names in the tests under which a module binds ``name``."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.If) and name in set(bound_in([*node.body, *node.orelse])):
            found |= words(node.test)
    return found


def check(interp: Any, error: Raised, node: ast.stmt, frame: Frame) -> None:
    """End the run where an error asks for packages that it took as not there; it is begun anew with them."""
    missed = asked_for(interp.stand_ins, error, node, frame) & interp.absent - interp.needed
    if missed:
        interp.lacking |= missed
        raise StopRun
