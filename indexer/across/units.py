"""A file as units (module body, classes, functions) of statements, each with keys that survive edits round it.

``exact`` is the statement's syntax without positions; ``blank`` the same with local identifiers left out. A compound statement is
one entry for its header (``if test:``) followed by the entries of its body.
"""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from cgx.indexer.across.keys import keys_of
from cgx.indexer.source.parse import parse
from cgx.model.anchors import MODULE

BODIES = ("body", "orelse", "finalbody", "handlers", "cases")
DECORATOR = "@"
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(eq=False, slots=True)
class Statement:
    """One simple statement or one header. ``parts``: (key, line) of the calls in it, outermost first."""

    line: int
    end: int
    exact: str
    blank: str
    kind: str
    weight: int  # syntax nodes: how much the key tells
    words: frozenset[str]
    parts: list[tuple[str, int, int]] = field(default_factory=list)  # (key, line, weight)
    head: bool = False  # the def or class line of the unit itself
    inside: str = ""  # keys of the headers that it stands under, with the branch; DECORATOR for one
    label: tuple[str, str] | None = None  # of a call whose first argument is a text: what is called, and that text


@dataclass(eq=False, slots=True)
class Unit:
    """A definition, or the module's own statements. Nested definitions are units of their own."""

    path: str
    symbol: str
    line: int
    end: int
    kind: str  # module, class, function
    statements: list[Statement] = field(default_factory=list)
    body: str = ""  # digest of the statements' exact keys, the head left out
    shape: str = ""  # digest of their blank keys
    weight: int = 0  # syntax nodes of the statements, the head left out
    exact: Counter[str] = field(default_factory=Counter)  # exact key -> weight of the statements that have it
    blank: Counter[str] = field(default_factory=Counter)

    @property
    def name(self) -> str:
        return self.symbol.rpartition(".")[2]

    @property
    def parent(self) -> str:
        return self.symbol.rpartition(".")[0]


@dataclass(eq=False, slots=True)
class FileUnits:
    """One version of a file. ``lines``: its text lines, white space folded, for what is no Python."""

    path: str
    blob: str
    units: dict[str, Unit]
    lines: list[str]

    def unit_at(self, symbol: str, line: int) -> Unit | None:
        """The unit of a symbol that holds the line: definitions may share a name."""
        same = [unit for key, unit in self.units.items() if unit.symbol == symbol]
        return next((unit for unit in same if unit.line <= line <= unit.end), same[0] if same else None)


def read_units(path: str, blob: str, data: bytes) -> FileUnits:
    """Units of a file; only text lines where it is not Python or cannot be parsed."""
    if not path.endswith((".py", ".pyi")):
        text = data.decode("utf-8", "replace")
        return FileUnits(path, blob, {}, [" ".join(line.split()) for line in text.splitlines()])
    parsed = parse(data, path)
    lines = [" ".join(line.split()) for line in parsed.text.splitlines()]
    units: dict[str, Unit] = {}
    if parsed.tree is not None:
        module = Unit(path, MODULE, 1, max(1, len(lines)), "module")
        _walk(parsed.tree.body, module, "", path, units, "")
        units[MODULE] = module
        for unit in units.values():
            unit.body = _digest(statement.exact for statement in unit.statements if not statement.head)
            unit.shape = _digest(statement.blank for statement in unit.statements if not statement.head)
            for statement in unit.statements:
                if not statement.head:
                    unit.weight += statement.weight
                    unit.exact[statement.exact] += statement.weight
                    unit.blank[statement.blank] += statement.weight
    return FileUnits(path, blob, units, lines)


def _digest(parts: Iterator[str]) -> str:
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=12).hexdigest()


def _walk(body: list[ast.stmt], unit: Unit, prefix: str, path: str, units: dict[str, Unit], inside: str) -> None:
    for node in body:
        if isinstance(node, DEFINITIONS):
            _define(node, prefix, path, units)
            continue
        if _is_docstring(node):
            continue
        header = _statement(node, inside)
        unit.statements.append(header)
        for name in BODIES:
            held = getattr(node, name, []) or []
            elif_ = name == "orelse" and isinstance(node, ast.If) and len(held) == 1 and isinstance(held[0], ast.If)
            under = inside if elif_ else f"{inside}/{header.exact} {name}"  # branches side by side: one more changes no other
            for inner in held:
                if isinstance(inner, ast.ExceptHandler | ast.match_case):
                    handler = _statement(inner, under)
                    unit.statements.append(handler)
                    _walk(inner.body, unit, prefix, path, units, f"{under}/{handler.exact}")
                elif isinstance(inner, ast.stmt):
                    _walk([inner], unit, prefix, path, units, under)


def _define(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, prefix: str, path: str, units: dict[str, Unit]) -> None:
    symbol = f"{prefix}{node.name}"
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    unit = Unit(path, symbol, first, node.end_lineno or node.lineno, "class" if isinstance(node, ast.ClassDef) else "function")
    key, number = symbol, 1
    while key in units:
        number += 1
        key = f"{symbol}#{number}"
    units[key] = unit
    head = _statement(node, "")
    head.head = True
    unit.statements.append(head)
    for decorator in node.decorator_list:
        unit.statements.append(_statement(ast.copy_location(ast.Expr(decorator), decorator), DECORATOR))
    _walk(node.body, unit, f"{symbol}.", path, units, "")


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _statement(node: ast.AST, inside: str) -> Statement:
    keys = keys_of(node)
    line = getattr(node, "lineno", None) or node.pattern.lineno  # type: ignore[attr-defined]  # a match case has none of its own
    compound = isinstance(node, ast.stmt) and any(getattr(node, name, None) for name in BODIES)
    end = (keys.end if compound else getattr(node, "end_lineno", None)) or line
    return Statement(line, end, keys.exact, keys.blank, type(node).__name__, keys.weight, keys.words, keys.parts, inside=inside, label=_label(node))


def _label(node: ast.AST) -> tuple[str, str] | None:
    """``add_argument("--lr", ...)``: of many calls of one function, the first text tells which one it is."""
    call = node.value if isinstance(node, ast.Expr | ast.Assign) else None
    if not isinstance(call, ast.Call) or not call.args:
        return None
    first = call.args[0]
    if not isinstance(first, ast.Constant) or not isinstance(first.value, str):
        return None
    func = call.func
    return (func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else "", first.value)
