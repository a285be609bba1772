"""Source for the interpreter: modules by dotted name over the repository and the ``--env`` folders."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from cgx.indexer.source.parse import parse


class TreeLike(Protocol):
    """What the interpreter needs of a source tree."""

    def read(self, path: str) -> bytes | None: ...
    def exists(self, path: str) -> bool: ...
    def isdir(self, path: str) -> bool: ...


@dataclass(eq=False)
class Code:
    """A parsed file. ``path`` is relative to the source, or to the ``--env`` folder that holds it."""

    path: str
    tree: ast.Module
    source: str
    external: bool = False
    partial: bool = False
    _lines: list[str] = field(default_factory=list)
    _texts: dict[int, tuple[ast.AST, str]] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)  # what tables have found out about the file, by their names

    def text(self, node: ast.AST) -> str:
        """Source text of a node in one line, white space folded."""
        found = self._texts.get(id(node))
        if found is None:
            found = self._texts[id(node)] = (node, self._segment(node))  # holds the node, or its id would be taken again
        return found[1]

    def _segment(self, node: ast.AST) -> str:
        if not hasattr(node, "lineno"):
            return ""
        if not self._lines:
            self._lines = self.source.splitlines() or [""]
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1  # type: ignore[attr-defined]
        if last >= len(self._lines):
            return ast.unparse(node)
        rows = [line.encode() for line in self._lines[first : last + 1]]
        rows[-1] = rows[-1][: node.end_col_offset]  # type: ignore[attr-defined]
        rows[0] = rows[0][node.col_offset :]  # type: ignore[attr-defined]
        if len(rows) > 1 and any(b"#" in row for row in rows):
            return ast.unparse(node)
        return re.sub(r"\s+", " ", b" ".join(rows).decode("utf-8", "replace")).strip()


class Sources:
    """Finds and parses modules. The first root that has the module wins, as ``sys.path`` does."""

    def __init__(self, tree: TreeLike, env: Sequence[TreeLike] = (), roots: Sequence[str] = ("",)) -> None:
        self.tree, self.env = tree, list(env)
        self.roots: list[tuple[TreeLike, str, bool]] = []
        for root in roots:
            self.add_root(root)
        self.roots += [(other, "", True) for other in self.env]
        self._codes: dict[tuple[int, str], Code | None] = {}
        self._found: dict[str, Any] = {}

    def add_root(self, root: str, first: bool = False) -> None:
        entry = (self.tree, root.strip("/"), False)
        if entry not in self.roots:
            self.roots.insert(0 if first else len(self.roots), entry)
            self._found = {}

    def find(self, dotted: str) -> tuple[TreeLike, str, bool, bool] | None:
        """(tree, path, is package, external) of a module, or None. A folder without ``__init__.py`` is a package too."""
        if dotted not in self._found:
            self._found[dotted] = self._find(dotted)
        found: tuple[TreeLike, str, bool, bool] | None = self._found[dotted]
        return found

    def _find(self, dotted: str) -> tuple[TreeLike, str, bool, bool] | None:
        inner = dotted.replace(".", "/")
        for tree, root, external in self.roots:
            base = f"{root}/{inner}" if root else inner
            if tree.exists(f"{base}/__init__.py"):
                return tree, f"{base}/__init__.py", True, external
            if tree.exists(f"{base}.py"):
                return tree, f"{base}.py", False, external
        for tree, root, external in self.roots:
            base = f"{root}/{inner}" if root else inner
            if tree.isdir(base):
                return tree, base, True, external
        return None

    def code(self, tree: TreeLike, path: str, external: bool = False) -> Code | None:
        """The parsed file, or None where it is not there or does not parse at all."""
        key = (id(tree), path)
        if key not in self._codes:
            data = tree.read(path)
            code = None
            if data is not None:
                parsed = parse(data, path)
                if parsed.tree is not None:
                    code = Code(path, parsed.tree, parsed.text, external, parsed.partial)
            self._codes[key] = code
        return self._codes[key]
