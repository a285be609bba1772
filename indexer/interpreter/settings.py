"""Values given by hand (``--set NAME=VALUE``): matched against source text as it is evaluated."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from cgx.indexer.interpreter.values import MISSING, Value

if TYPE_CHECKING:
    from cgx.indexer.interpreter.scopes import Frame


class Settings:
    """``NAME`` is source text; ``Symbol:NAME`` holds inside that symbol only."""

    def __init__(self, given: dict[str, Value]) -> None:
        self.used: dict[str, Value] = {}
        self._given = given
        self._index: dict[tuple[type, str], list[tuple[str, str, str, Value]]] = {}
        for name, value in given.items():
            symbol, _, text = name.rpartition(":") if ":" in name and "[" not in name.partition(":")[0] else ("", "", name)
            try:
                node = ast.parse(text.strip(), mode="eval").body
            except SyntaxError:
                continue
            self._index.setdefault(_bucket(node), []).append((symbol, ast.dump(_load(node)), name, value))

    @property
    def active(self) -> bool:
        return bool(self._index)

    @property
    def unused(self) -> list[str]:
        return [name for name in self._given if name not in self.used]

    def match(self, node: ast.expr, frame: Frame) -> Value:
        rows = self._index.get(_bucket(node))
        if not rows:
            return MISSING
        dumped = ast.dump(_load(node))
        for symbol, pattern, name, value in rows:
            if dumped == pattern and (not symbol or _inside(symbol, frame)):
                self.used[name] = value
                return value
        return MISSING


def _inside(symbol: str, frame: Frame) -> bool:
    stem = frame.path.removesuffix(".py").replace("/", ".")
    full = f"{stem}.{frame.symbol}"
    return frame.symbol == symbol or full == symbol or full.endswith(f".{symbol}")


def _bucket(node: ast.AST) -> tuple[type, str]:
    tail: ast.AST = node
    if isinstance(tail, ast.Call):
        tail = tail.func
    name = tail.attr if isinstance(tail, ast.Attribute) else tail.id if isinstance(tail, ast.Name) else ""
    return type(node), name


class _Loader(ast.NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(node.id, ast.Load())

    def visit_Attribute(self, node: ast.Attribute) -> ast.Attribute:
        return ast.Attribute(self.visit(node.value), node.attr, ast.Load())

    def visit_Subscript(self, node: ast.Subscript) -> ast.Subscript:
        return ast.Subscript(self.visit(node.value), self.visit(node.slice), ast.Load())


def _load(node: ast.AST) -> ast.AST:
    """The node as it would be read, so that an assignment target matches too."""
    from copy import deepcopy

    return _Loader().visit(deepcopy(node)) if not isinstance(getattr(node, "ctx", None), ast.Load) else node
