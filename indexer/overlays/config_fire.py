"""python-fire: a function, class, object or dict called with the words of the command line."""

from __future__ import annotations

import ast
from typing import Any

from cgx.errors import UserError
from cgx.indexer.interpreter.stdlib.imports import function_of, parameters
from cgx.indexer.interpreter.stdlib.support import Args, Handler, Kwargs, from_python, items_of, text_of
from cgx.indexer.interpreter.values import (
    BoundMethod,
    ByRank,
    ClassValue,
    DictValue,
    FunctionValue,
    Instance,
    Partial,
    Unknown,
    Value,
)
from cgx.indexer.overlays.command_words import by_rank_apart

PACKAGES = ("fire",)
SEPARATORS = ("-", "--")


def fire(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``Fire(component, command=None)``."""
    component = args[0] if args else kwargs.get("component")
    command = args[1] if len(args) > 1 else kwargs.get("command")
    if command is None:
        words = by_rank_apart(list(interp.argv[1:]))
    elif isinstance(command, str):
        words = list(command.split())
    else:
        words = items_of(interp, command, site) or []
    if component is None:
        scope = site.frame.scope.globals or site.frame.scope
        component = DictValue(
            {name: value for name, value in scope.vars.items() if isinstance(value, FunctionValue | ClassValue)}
        )
    return _walk(interp, site, component, words)


def _walk(interp: Any, site: Any, component: Value, words: list[Value]) -> Value:
    """Consume words: calls take arguments, dicts and objects are entered by name."""
    for _ in range(20):
        if isinstance(component, FunctionValue | BoundMethod | ClassValue | Partial):
            values, named, words = take(component, words)
            component = interp.call(component, values, named, site)
            continue
        if not words:
            return component
        name = text_of(words[0])
        if isinstance(component, DictValue) and name in component.items:
            component, words = component.items[name], words[1:]
        elif isinstance(component, Instance) and name is not None and not name.startswith("-"):
            component, words = interp.getattr(component, name.replace("-", "_"), site), words[1:]
        else:
            return component
    return component


def take(component: Value, words: list[Value]) -> tuple[list[Value], dict[str, Value], list[Value]]:
    """(positional, named, words left) for one call."""
    function, bound = function_of(component)
    rows = parameters(function)[bound:] if function is not None else []
    names = [name for name, kind, _default, _note in rows if not kind.startswith("VAR_")]
    takes_any = any(kind == "VAR_KEYWORD" for _name, kind, _d, _n in rows) or function is None
    spread = any(kind == "VAR_POSITIONAL" for _name, kind, _d, _n in rows)
    named: dict[str, Value] = {}
    plain: list[Value] = []
    rest = list(words)
    left: list[Value] = []
    while rest:
        word = rest.pop(0)
        text = word if isinstance(word, str) else None
        if text in SEPARATORS:
            left = rest
            break
        if text is None or not _is_flag(text):
            if spread or len(plain) + len([name for name in names if name in named]) < len(names):
                plain.append(_value(word))
                continue
            left = [word, *rest]
            break
        key, equals, inline = text.lstrip("-").partition("=")
        key = key.replace("-", "_")
        if key not in names and key.startswith("no") and key[2:] in names and not equals:
            named[key[2:]] = False
            continue
        full = _full(key, names)
        if full is None and not takes_any:
            raise UserError(
                f"the launch line's arguments do not fit {getattr(component, 'name', 'the command')}: no flag --{key}"
            )
        follows = bool(rest) and not (isinstance(rest[0], str) and _is_flag(rest[0]))
        named[full or key] = _value(inline) if equals else _value(rest.pop(0)) if follows else True
    return plain, named, left


def _is_flag(text: str) -> bool:
    return text.startswith("--") or (len(text) > 1 and text[0] == "-" and text[1].isalpha())


def _full(key: str, names: list[str]) -> str | None:
    if key in names:
        return key
    short = [name for name in names if len(key) == 1 and name.startswith(key)]
    return short[0] if len(short) == 1 else None


def _value(word: Value) -> Value:
    """A word as fire reads it: a Python literal, a bare text otherwise."""
    if isinstance(word, ByRank):
        return ByRank(tuple(_value(one) for one in word.values))
    if isinstance(word, Unknown):
        return word
    text = text_of(word) or ""
    try:
        return from_python(ast.literal_eval(text))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        pass
    try:  # [a,b] and {a:b} of bare words
        return from_python(ast.literal_eval(ast.unparse(_quoted(ast.parse(text, mode="eval").body))))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text


def _quoted(node: ast.expr) -> ast.expr:
    """Bare names inside lists, tuples and dicts become texts."""
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        node.elts = [_quoted(item) for item in node.elts]
        return node
    if isinstance(node, ast.Dict):
        node.keys = [None if key is None else _quoted(key) for key in node.keys]
        node.values = [_quoted(value) for value in node.values]
        return node
    return ast.Constant(node.id) if isinstance(node, ast.Name) and node.id not in ("True", "False", "None") else node


ENTRIES: dict[str, Handler] = {"fire.Fire": fire, "fire.core.Fire": fire}
BASES: dict[str, tuple[str, ...]] = {}
