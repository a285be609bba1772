"""Do anchors hold: does the file stand in the tree, the symbol in the file, the line in the symbol?"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from cgx.indexer.source import Tree, parse
from cgx.model.anchors import MODULE, Anchor

Span = tuple[int, int]
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
WORK = (ast.Call, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Subscript, ast.AugAssign, ast.For, ast.While)


class Places:
    """The symbols of the files of some trees, read when first asked for."""

    def __init__(self, trees: Sequence[Tree]) -> None:
        self._trees = trees
        self._files: dict[str, _File | None] = {}

    def problem(self, text: str) -> str | None:
        """Why the anchor does not hold; None where it does."""
        try:
            anchor = Anchor.parse(text)
        except ValueError:
            return "not path:Symbol:line"
        file = self._file(anchor.path)
        if file is None:
            return "no such file"
        return file.problem(anchor)

    def empty(self, text: str) -> bool:
        """Whether the function at the anchor is there and does nothing but hand on what it got."""
        try:
            anchor = Anchor.parse(text)
        except ValueError:
            return False
        file = self._file(anchor.path)
        node = file.functions.get((anchor.symbol, anchor.line)) if file is not None else None
        return node is not None and not any(isinstance(inner, WORK) for part in node.body for inner in ast.walk(part))

    def _file(self, path: str) -> _File | None:
        if path not in self._files:
            data = next((data for tree in self._trees if (data := tree.read(path)) is not None), None)
            self._files[path] = None if data is None else _File(data, path)
        return self._files[path]


class _File:
    def __init__(self, data: bytes, path: str) -> None:
        parsed = parse(data, path) if path.endswith((".py", ".ipynb")) else None
        self.lines = (parsed.text if parsed is not None else data.decode("utf-8", "replace")).split("\n")
        self.spans: dict[str, list[Span]] = {}
        self.bodies: list[Span] = []
        self.functions: dict[tuple[str, int], Any] = {}
        self.python = parsed is not None and parsed.tree is not None and not parsed.partial
        if parsed is not None and parsed.tree is not None:
            self._visit(parsed.tree, "")

    def _visit(self, node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, DEFINITIONS):
                end = child.end_lineno or child.lineno
                start = min([child.lineno, *(item.lineno for item in child.decorator_list)])
                self.spans.setdefault(prefix + child.name, []).append((start, end))
                self.bodies.append((max(child.body[0].lineno, child.lineno + 1), end))
                if not isinstance(child, ast.ClassDef):
                    self.functions[(prefix + child.name, child.lineno)] = child
                self._visit(child, f"{prefix}{child.name}.")
            else:
                self._visit(child, prefix)

    def problem(self, anchor: Anchor) -> str | None:
        if anchor.line > len(self.lines):
            return f"the file has {len(self.lines)} lines"
        if not self.lines[anchor.line - 1].strip():
            return "the line is blank"
        if not self.python:
            return None
        if anchor.symbol == MODULE:
            inside = any(start <= anchor.line <= end for start, end in self.bodies)
            return "the line is inside a function or class" if inside else None
        spans = self.spans.get(anchor.symbol)
        if spans is None:
            return "no such symbol"
        return None if any(start <= anchor.line <= end for start, end in spans) else "the line is outside the symbol"
