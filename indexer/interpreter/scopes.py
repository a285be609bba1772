"""Scopes, frames and call sites."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cgx.indexer.interpreter.values import MISSING, ClassValue, FunctionValue, ModuleObject, Value
from cgx.model.anchors import MODULE, Anchor

if TYPE_CHECKING:
    from cgx.indexer.interpreter.sources import Code


@dataclass(eq=False, slots=True, repr=False)
class Scope:
    """Names and their values. ``kind``: module, function, class or comprehension. ``origins``: where each was bound."""

    kind: str
    parent: Scope | None = None
    vars: dict[str, Value] = field(default_factory=dict)
    module: ModuleObject | None = None
    globals: Scope | None = None
    global_names: set[str] = field(default_factory=set)
    nonlocal_names: set[str] = field(default_factory=set)
    origins: dict[str, Anchor] = field(default_factory=dict)
    read: set[str] | None = None  # names read since tracking began (loops ask whether their target is used)

    def find(self, name: str) -> Scope | None:
        """The scope that binds the name, by Python's rules (class scopes are seen from their own body alone)."""
        if name in self.vars and name not in self.global_names:
            return self
        if name in self.global_names and self.globals is not None:
            return self.globals if name in self.globals.vars else None
        scope = self.parent
        while scope is not None:
            if scope.kind != "class" and name in scope.vars:
                return scope
            scope = scope.parent
        return None

    def target(self, name: str) -> Scope:
        """The scope an assignment to the name writes to."""
        if name in self.global_names and self.globals is not None:
            return self.globals
        if name in self.nonlocal_names:
            scope = self.parent
            while scope is not None:
                if scope.kind == "function" and name in scope.vars:
                    return scope
                scope = scope.parent
        return self

    def get(self, name: str) -> Value:
        scope = self.find(name)
        return MISSING if scope is None else scope.vars[name]


@dataclass(eq=False, slots=True, repr=False)
class Frame:
    """One running body: a module, a class body or a function call."""

    scope: Scope
    code: Code
    symbol: str = MODULE
    function: FunctionValue | None = None
    owner: ClassValue | None = None  # for zero-argument super()
    first: Value = None  # the first argument, for the same
    returns: list[tuple[str, Value]] = field(default_factory=list)  # (condition, value) of undecided returns
    result: Value = None
    on_yield: Callable[[Value], Value] | None = None
    early_exit: bool = False  # an undecided break or return inside the innermost loop
    handled: list[Any] = field(default_factory=list)  # exceptions being handled, for a bare raise
    statement: ast.stmt | None = None  # the assignment that runs
    rest: Any = None  # the branch that the rest of the block is in, after a side of an undecided `if` has left
    otherwise: ast.stmt | None = None  # the `raise` behind the `if` that runs, the last of its block
    doubt: bool = False  # a statement was left out because it raises (see recovery)
    wanted: Value = MISSING  # truth of the result that the caller is sure of: ways out that give another one are not taken

    @property
    def path(self) -> str:
        return self.code.path

    def anchor(self, node: ast.AST) -> Anchor:
        named = node.func if isinstance(node, ast.Call) else node
        line = getattr(node, "lineno", 1)
        end = getattr(node, "end_lineno", None)
        if isinstance(named, ast.Attribute) and named.end_lineno is not None:
            line = named.end_lineno  # in a chain over several lines each name stands for itself, as in a traceback
        return Anchor(self.code.path, self.symbol, line, end if end != line else None)


@dataclass(eq=False, slots=True, repr=False)
class Site:
    """Where something is evaluated: a node in a frame."""

    node: ast.AST
    frame: Frame

    @property
    def anchor(self) -> Anchor:
        return self.frame.anchor(self.node)

    @property
    def text(self) -> str:
        return self.frame.code.text(self.node)
