"""From what a person names (``path:Symbol.name:line``, ``path:line``) to a place in a linked program."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cgx.errors import UserError
from cgx.indexer.names.modules import Module, Modules
from cgx.indexer.names.values import Scope


@dataclass(slots=True)
class Place:
    """``scope`` is the innermost class, function or module that holds the line."""

    module: Module
    scope: Scope
    line: int


def find_place(text: str, modules: Modules) -> Place:
    """Raises UserError with what would help: the nearest path, the symbols that are there."""
    path, symbol, line = _split(text)
    module = modules.at(path)
    if module is None:
        near = sorted(item.path for item in modules.files if item.path.rpartition("/")[2] == path.rpartition("/")[2])
        hint = f"; did you mean {near[0]}?" if near else ""
        raise UserError(f"{path} is no Python file of the source{hint}")
    if symbol:
        return _by_symbol(text, module, symbol, line)
    if line is None or not 1 <= line <= max(module.facts["lines"], 1):
        raise UserError(f"{path} has {module.facts['lines']} lines; give `path:line` or `path:Symbol.name:line`")
    return Place(module, innermost(module, line), line)


def innermost(module: Module, line: int) -> Scope:
    """The innermost class, function or module round a line."""
    best = module.scopes[0]
    for scope in module.scopes[1:]:
        if scope.kind in ("class", "function") and scope.line <= line <= scope.end_line and scope.line >= best.line:
            best = scope
    return best


def _split(text: str) -> tuple[str, str, int | None]:
    match = re.fullmatch(r"(.+\.pyi?)(?::(?P<symbol>[^:]*[^:\d][^:]*))?(?::(?P<line>\d+))?", text)
    if match is None:
        raise UserError(f"{text!r} is neither `path.py:line` nor `path.py:Symbol.name:line`")
    line = match["line"]
    return match[1], match["symbol"] or "", int(line) if line else None


def _by_symbol(text: str, module: Module, symbol: str, line: int | None) -> Place:
    named = [scope for scope in module.scopes if scope.symbol == symbol and scope.kind not in ("comp", "lambda")]
    if not named:
        known = sorted({scope.symbol for scope in module.scopes if scope.symbol.endswith(symbol.rpartition(".")[2])})
        hint = f"; did you mean {', '.join(known[:3])}?" if known else ""
        raise UserError(f"{module.path} has no {symbol}{hint}")
    if line is None:
        return Place(module, named[0], named[0].line)
    holding = [scope for scope in named if scope.kind == "module" or scope.line <= line <= scope.end_line]
    if not holding:
        raise UserError(f"{symbol} stands at {module.path}:{named[0].line}, not at line {line}")
    return Place(module, holding[-1], line)
