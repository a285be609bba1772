"""What tells a statement: its syntax as a text, the same without local names, its words, its calls. One walk yields all of it."""

from __future__ import annotations

import ast
import hashlib
from dataclasses import dataclass, field
from typing import Any

Part = tuple[str, int, int]  # key, line, weight of a call

_BODIES = frozenset(["body", "orelse", "finalbody", "handlers", "cases"])
_LEFT_OUT = frozenset(["kind", "type_comment"])  # say how it was written, not what it does
_FIELDS: dict[type, tuple[str, ...]] = {
    kind: tuple(name for name in kind._fields if name not in _LEFT_OUT)
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST)
}
_WORDS = frozenset(["id", "attr", "arg", "name"])
_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(slots=True)
class Keys:
    """``exact`` and ``blank`` are digests, ``weight`` the number of syntax nodes, ``end`` the last line of the parts walked."""

    exact: str
    blank: str
    words: frozenset[str]
    weight: int
    end: int
    parts: list[Part] = field(default_factory=list)


def keys_of(node: ast.AST) -> Keys:
    """Keys of a statement; of a compound one, those of its header: bodies and decorators are left out."""
    walk = _Walk()
    walk.header(node)
    walk.calls.sort(key=lambda row: row[0])  # stable: outermost first, then from left to right
    return Keys(
        _digest(walk.exact),
        _digest(walk.blank),
        frozenset(walk.words),
        walk.weight,
        walk.end,
        [(_digest(walk.exact[start:stop]), line, weight) for _, start, stop, line, weight in walk.calls],
    )


def _digest(parts: list[str]) -> str:
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


class _Walk:
    """One walk over the syntax. ``blank`` numbers local names in order of appearance; attributes and keywords stay."""

    def __init__(self) -> None:
        self.exact: list[str] = []
        self.blank: list[str] = []
        self.words: set[str] = set()
        self.calls: list[tuple[int, int, int, int, int]] = []  # depth, start and stop in ``exact``, line, weight
        self.names: dict[str, str] = {}
        self.weight = 0
        self.end = 0
        self.depth = 0

    def header(self, node: ast.AST) -> None:
        compound = not isinstance(node, ast.expr) and any(getattr(node, name, None) for name in _BODIES)
        self.weight += 1
        self._say(type(node).__name__)
        for name in _FIELDS[type(node)]:
            if compound and (name in _BODIES or name == "decorator_list"):
                continue
            if name == "name" and isinstance(node, _NAMED):
                self.exact.append(node.name)
                self.words.add(node.name)
                continue
            self._field(name, getattr(node, name, None))

    def _say(self, text: str) -> None:
        self.exact.append(text)
        self.blank.append(text)

    def _field(self, name: str, value: Any) -> None:
        if isinstance(value, ast.AST):
            self._node(value)
        elif isinstance(value, list):
            self._say("[")
            for item in value:
                self._field(name, item)
            self._say("]")
        else:
            if name in _WORDS and isinstance(value, str):
                self.words.add(value)
            self._say(value if isinstance(value, str) else repr(value))

    def _node(self, node: ast.AST) -> None:
        self.weight += 1
        end = getattr(node, "end_lineno", None)
        if end is not None and end > self.end:
            self.end = end
        if isinstance(node, ast.Name):
            self.weight += 1  # its context
            self.words.add(node.id)
            context = type(node.ctx).__name__
            self.exact += (context, node.id)
            self.blank += (context, self.names.setdefault(node.id, f"_{len(self.names)}"))
            return
        if isinstance(node, ast.Constant):
            text = repr(node.value)
            self.words.add(text)
            self._say(text)
            return
        start, before = len(self.exact), self.weight - 1
        self._say(type(node).__name__)
        self.depth += 1
        if isinstance(node, ast.arg):
            self._argument(node)
        else:
            for name in _FIELDS[type(node)]:
                self._field(name, getattr(node, name, None))
        self.depth -= 1
        self._say(")")
        if isinstance(node, ast.Call):
            self.calls.append((self.depth, start, len(self.exact), node.lineno, self.weight - before))

    def _argument(self, node: ast.arg) -> None:
        """A parameter: its name is a local one, and what it is annotated with does not tell it apart."""
        self.words.add(node.arg)
        self.exact.append(node.arg)
        self.blank.append(self.names.setdefault(node.arg, f"_{len(self.names)}"))
        if node.annotation is not None:
            kept, self.blank = self.blank, []
            names = dict(self.names)
            self._node(node.annotation)
            self.blank, self.names = kept, names
