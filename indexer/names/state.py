"""What an extraction collects: scopes, bindings, sites; and the source text by line."""

from __future__ import annotations

import re
from typing import Any

from cgx.indexer.names.facts import Expr

_NEWLINE = re.compile("\r\n|\r|\n")


class State:
    """Scopes, bindings and sites of one file. Scope tuples are made by :meth:`open_scope`; the last two items are dicts."""

    def __init__(self, text: str) -> None:
        self.ascii = text.isascii()
        self.lines: list[str] = _NEWLINE.split(text)
        self._bytes: list[bytes] = [] if self.ascii else [line.encode("utf-8", "surrogatepass") for line in self.lines]
        self.scopes: list[tuple[Any, ...]] = []
        self.sites: list[tuple[Any, ...]] = []
        self.stars: list[tuple[int, str, int]] = []
        self.imports: list[tuple[int, str, str, str, int]] = []
        self.exports: list[str] | None = None
        self.scope = 0
        self.bound_to = ""  # target text of the assignment whose value is read next
        self._globals: dict[int, set[str]] = {}

    def open_scope(self, kind: str, name: str, node: Any) -> int:
        line = getattr(node, "lineno", 1)
        parent = self.scope if self.scopes else -1
        self.scopes.append((kind, name, line, getattr(node, "end_lineno", line) or line, parent, {}, {}))
        return len(self.scopes) - 1

    def enter(self, index: int) -> int:
        """Go into a scope; gives the one to :meth:`leave` back to."""
        outer, self.scope = self.scope, index
        return outer

    def leave(self, outer: int) -> None:
        self.scope = outer

    def bind(self, name: str, value: Expr) -> None:
        """Bind a name where it stands (``global`` names in the module)."""
        scope = self.scope
        if self._globals and name in self._globals.get(scope, ()):
            self.bind_in(0, name, ("@", scope, value))
        else:
            self.bind_in(scope, name, value)

    def bind_in(self, scope: int, name: str, value: Expr) -> None:
        bound = self.scopes[scope][5]
        if name in bound:
            if len(bound[name]) < 24 and value not in bound[name]:
                bound[name].append(value)
        else:
            bound[name] = [value]

    def declare_global(self, names: list[str]) -> None:
        self._globals.setdefault(self.scope, set()).update(names)

    def bind_attribute(self, receiver: str, name: str, value: Expr) -> None:
        """Bind ``self.name`` if the receiver is the first parameter of a method round here."""
        scope = self.scope
        while scope >= 0:
            kind, _, _, _, parent, bindings, more = self.scopes[scope]
            if kind == "function" and more.get("self") == receiver:
                bound = self.scopes[parent][6]["attributes"].setdefault(name, [])
                if len(bound) < 24:
                    item = ("@", self.scope, value)
                    if item not in bound:
                        bound.append(item)
                return
            if receiver in bindings:
                return  # another variable of that name
            scope = parent

    def note_return(self, value: Expr) -> None:
        self._note("returns", value)

    def note_yield(self, value: Expr) -> None:
        self._note("yields", value)

    def _note(self, key: str, value: Expr) -> None:
        scope = self.scope
        while self.scopes[scope][0] == "comp":
            scope = self.scopes[scope][4]
        noted = self.scopes[scope][6].setdefault(key, [])
        item = value if scope == self.scope else ("@", self.scope, value)
        if len(noted) < 8 and item not in noted:
            noted.append(item)

    def column(self, line: int, offset: int) -> int:
        """A byte offset of the tree as a column in characters."""
        if self.ascii or line > len(self._bytes):
            return offset
        return len(self._bytes[line - 1][:offset].decode("utf-8", "ignore"))

    def slice(self, line: int, start: int, end_line: int, end: int) -> str:
        """Source text between two places, white space folded."""
        if line > len(self.lines):
            return ""
        if line == end_line:
            return self.lines[line - 1][start:end] if self.ascii else self._cut(line, start, end)
        parts = [self._cut(line, start, None), *self.lines[line : end_line - 1], self._cut(end_line, 0, end)]
        return " ".join(part.strip() for part in parts)

    def source(self, node: Any, limit: int = 120) -> str:
        """Source text of a node, white space folded, cut."""
        text = self.slice(node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
        return text if len(text) <= limit else text[: limit - 1] + "…"

    def _cut(self, line: int, start: int, end: int | None) -> str:
        if line > len(self.lines):
            return ""
        if self.ascii:
            return self.lines[line - 1][start:end]
        return self._bytes[line - 1][start:end].decode("utf-8", "replace")
