"""A real ``argparse`` parser from recorded calls. It is ours: no class or function of the analysed code is in it.

What the code gave as ``type``, ``choices`` or a custom action is evaluated abstractly, through callbacks.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from cgx.indexer.interpreter.stdlib.support import NotPlain, from_python, to_python
from cgx.indexer.interpreter.values import External, ListValue, Opaque, Unknown, Value

OPEN, CLOSE = "\ue000", "\ue001"  # round the name of a word of the line that is not known
PLAIN_TYPES: dict[str, Callable[[str], Any]] = {"int": int, "float": float, "str": str, "complex": complex}
DROPPED = frozenset(
    {
        "help",
        "metavar",
        "type",
        "choices",
        "action",
        "default",
        "const",
        "required",
        "nargs",
        "dest",
        "version",
        "completer",
        "deprecated",
    }
)
ACTIONS = frozenset(
    [
        "store",
        "store_const",
        "store_true",
        "store_false",
        "append",
        "append_const",
        "count",
        "extend",
        "help",
        "version",
    ]
)


class WrongArguments(Exception):
    """The words do not fit the parser; the message is argparse's."""


class Parser(argparse.ArgumentParser):
    """argparse with errors as exceptions; files named with ``@`` are not opened."""

    def error(self, message: str) -> NoReturn:
        raise WrongArguments(message)

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise WrongArguments(message or "exits")


@dataclass(slots=True)
class Recorded:
    """One ``add_argument`` call: flags or a name, keywords as abstract values. ``group``: of a mutually exclusive group."""

    flags: tuple[str, ...]
    options: dict[str, Value]
    group: int | None = None
    group_required: bool = False


@dataclass(slots=True)
class Recipe:
    """All calls on one parser. ``subparsers``: (options, {name: recipe})."""

    options: dict[str, Value] = field(default_factory=dict)
    arguments: list[Recorded] = field(default_factory=list)
    defaults: dict[str, Value] = field(default_factory=dict)
    subparsers: tuple[dict[str, Value], dict[str, Recipe]] | None = None


@dataclass(slots=True)
class Callbacks:
    """How abstract parts are evaluated: ``convert(type, text)``, ``act(class, options)``, both through the interpreter."""

    convert: Callable[[Value, str], Value]
    act: Callable[[Value, dict[str, Value], Sequence[str], str], Callable[..., dict[str, Value]]]


class Choices:
    """``choices`` that may hold abstract values; what is not known is let through."""

    def __init__(self, items: list[Value] | None) -> None:
        self.items = items

    def __contains__(self, value: object) -> bool:
        if self.items is None or isinstance(value, Unknown | Opaque):
            return True  # what a library's type makes of the word cannot be compared
        return any(item is value or (type(item) is type(value) and item == value) for item in self.items)

    def __iter__(self) -> Any:
        return iter(self.items or ())


def placeholder(value: Unknown) -> str:
    """The word that stands for an unknown one; a part before ``=`` stays readable."""
    flag, equals, rest = value.name.partition("=")
    if value.name.startswith("-") and equals:
        return f"{flag}={OPEN}{rest}{CLOSE}"
    return f"{OPEN}{value.name}{CLOSE}"


def build(recipe: Recipe, callbacks: Callbacks, prog: str) -> Parser:
    """The parser that the calls describe."""
    keywords: dict[str, Any] = {
        "prog": prog,
        "add_help": _flag(recipe.options.get("add_help"), True),
        "conflict_handler": "resolve",
    }
    for name in ("prefix_chars", "allow_abbrev", "argument_default"):
        if name in recipe.options and isinstance(recipe.options[name], str | bool):
            keywords[name] = recipe.options[name]
    parser = Parser(**keywords)
    groups: dict[int, Any] = {}
    for row in recipe.arguments:
        target: Any = parser
        if row.group is not None:
            if row.group not in groups:
                groups[row.group] = parser.add_mutually_exclusive_group(required=row.group_required)
            target = groups[row.group]
        _add(target, row, callbacks)
    if recipe.subparsers is not None:
        _add_subparsers(parser, recipe.subparsers, callbacks, prog)
    parser.set_defaults(**{name: _default(value, "") for name, value in recipe.defaults.items()})
    return parser


def _add_subparsers(
    parser: Parser, held: tuple[dict[str, Value], dict[str, Recipe]], callbacks: Callbacks, prog: str
) -> None:
    options, recipes = held
    keywords: dict[str, Any] = {"parser_class": Parser}
    if isinstance(options.get("dest"), str):
        keywords["dest"] = options["dest"]
    if isinstance(options.get("required"), bool):
        keywords["required"] = options["required"]
    action = parser.add_subparsers(**keywords)
    for name, recipe in recipes.items():
        built = build(recipe, callbacks, f"{prog} {name}")
        action._name_parser_map[name] = built
        aliases = recipe.options.get("aliases")
        for alias in aliases.items if isinstance(aliases, ListValue) else aliases if isinstance(aliases, tuple) else ():
            if isinstance(alias, str):
                action._name_parser_map[alias] = built


def _flag(value: Value, default: bool) -> bool:
    return value if isinstance(value, bool) else default


def _default(value: Value, action: str) -> Any:
    """A default as argparse takes it: lists that an action appends to become Python lists."""
    if isinstance(value, ListValue) and action in ("append", "append_const", "extend"):
        return list(value.items)
    return value


def _add(target: Any, row: Recorded, callbacks: Callbacks) -> None:
    options = row.options
    keywords: dict[str, Any] = {
        key: value for key, value in options.items() if key not in DROPPED and isinstance(value, str | bool | int)
    }
    action, custom = _action(options.get("action", "store"), options, callbacks)
    if custom is not None:
        keywords["action"] = custom
    elif action != "store":
        keywords["action"] = action
    if "default" in options:
        keywords["default"] = _default(options["default"], action)
    if isinstance(options.get("dest"), str):
        keywords["dest"] = options["dest"]
    if action in ("help", "version"):
        keywords = {"action": action, **({"version": ""} if action == "version" else {})}
    else:
        _add_values(keywords, options, action, callbacks)
    if row.flags and row.flags[0].startswith(tuple("-+/")) and isinstance(options.get("required"), bool):
        keywords["required"] = options["required"]
    try:
        target.add_argument(*row.flags, **keywords)
    except (TypeError, ValueError, argparse.ArgumentError) as error:
        raise WrongArguments(f"{' '.join(row.flags)}: {error}") from None


def _add_values(keywords: dict[str, Any], options: dict[str, Value], action: str, callbacks: Callbacks) -> None:
    if "const" in options:
        keywords["const"] = options["const"]
    if action in ("store_true", "store_false", "store_const", "append_const", "count"):
        return
    nargs = options.get("nargs")
    if isinstance(nargs, str | int):
        keywords["nargs"] = nargs
    if "BooleanOptional" in action:
        return
    keywords["type"] = converter(options.get("type"), callbacks)
    if "choices" in options and options["choices"] is not None:
        keywords["choices"] = Choices(_items(options["choices"]))
        keywords["metavar"] = "CHOICE"


def _items(value: Value) -> list[Value] | None:
    if isinstance(value, ListValue) and not value.open:
        return list(value.items)
    if isinstance(value, tuple | range | list):
        return list(value)
    try:
        made = to_python(value)
    except NotPlain:
        return None
    return list(made) if isinstance(made, Iterable) else None


def converter(kind: Value, callbacks: Callbacks) -> Callable[[str], Any]:
    """The ``type`` of an argument as a Python function on one word."""
    plain = PLAIN_TYPES.get(kind.qname) if isinstance(kind, External) else None

    def convert(text: str) -> Any:
        if OPEN in text:
            return Unknown(text.replace(OPEN, "").replace(CLOSE, ""), "environment", hint="str")
        if kind is None:
            return text
        if plain is not None:
            return plain(text)
        return callbacks.convert(kind, text)

    convert.__name__ = getattr(kind, "tail", None) or getattr(kind, "name", None) or "value"
    return convert


def _action(kind: Value, options: dict[str, Value], callbacks: Callbacks) -> tuple[str, Any]:
    """(name, class): the name of a standard action, or a class that evaluates a custom one."""
    if isinstance(kind, str):
        return (kind, None) if kind in ACTIONS else ("store", None)
    if isinstance(kind, External) and kind.tail == "BooleanOptionalAction":
        return "BooleanOptionalAction", argparse.BooleanOptionalAction
    if kind is None:
        return "store", None

    class Custom(argparse.Action):
        """The analysed code's action, evaluated abstractly on a copy of the namespace."""

        def __init__(self, option_strings: Sequence[str], dest: str, **keywords: Any) -> None:
            names = ("nargs", "const", "default", "type", "choices", "required", "metavar")
            super().__init__(option_strings, dest, **{key: value for key, value in keywords.items() if key in names})
            self._run = callbacks.act(kind, {**options, "nargs": keywords.get("nargs")}, option_strings, dest)

        def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
            made = self._run(vars(namespace), from_python(values), option_string)
            for name, value in made.items():
                setattr(namespace, name, value)

    return "custom", Custom
