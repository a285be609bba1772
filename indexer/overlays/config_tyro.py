"""tyro: ``cli`` over dataclasses and functions: ``--a.b value``, ``--flag`` and ``--no-flag``, lists that take several words."""

from __future__ import annotations

from typing import Any

from cgx.errors import UserError
from cgx.indexer.interpreter.stdlib.support import Handler, text_of
from cgx.indexer.interpreter.values import (
    ByRank,
    ClassValue,
    DictValue,
    Instance,
    ListValue,
    Opaque,
    Unknown,
    Value,
)
from cgx.indexer.overlays.annotation_types import ANY, Type, of_value
from cgx.indexer.overlays.command_words import by_rank_apart
from cgx.indexer.overlays.typed_values import Field, Mismatch, fields_of, from_text, make_record, record_values

PACKAGES = ("tyro",)


def cli(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``tyro.cli(f, args=None, default=None)``: the instance, or what the function returns."""
    target = args[0] if args else kwargs.get("f")
    given = kwargs.get("args")
    words = (
        list(given.items)
        if isinstance(given, ListValue)
        else list(given)
        if isinstance(given, tuple)
        else by_rank_apart(list(interp.argv[1:]))
    )
    default = kwargs.get("default")
    if isinstance(given, Unknown):
        return Unknown(site.text, given.reason, given.anchor)
    result = fill(interp, site, target, words, default)
    return (result, ListValue()) if kwargs.get("return_unknown_args") is True else result


def fill(interp: Any, site: Any, target: Value, words: list[Value], default: Value) -> Value:
    """``target`` with the words applied over ``default`` (an instance) or its own defaults."""
    if isinstance(target, Opaque) and "__subcommands__" in target.attrs:
        return _subcommand(interp, site, target.attrs["__subcommands__"], words)
    kind = of_value(target) if isinstance(target, ClassValue) else ANY
    fields = fields_of(interp, target, site)
    if fields is None:
        return Unknown(site.text, "missing-module", site.anchor)
    if isinstance(default, Instance) and not words:
        return default
    given = parse_words(interp, site, fields, words, default)
    if kind.kind == "fields":
        cls = default.cls if isinstance(default, Instance) else target
        return make_record(interp, cls, given, site, default if isinstance(default, Instance) else None)
    return interp.call(target, [], given, site)


def _subcommand(interp: Any, site: Any, table: dict[str, Value], words: list[Value]) -> Value:
    place = next(
        (place for place, word in enumerate(words) if isinstance(word, str) and not word.startswith("-")), None
    )
    name = str(words[place]).replace("_", "-") if place is not None else ""
    if name not in table:
        raise UserError(f"the launch line names no subcommand of: {', '.join(table)}")
    target = table[name]
    rest = [word for number, word in enumerate(words) if number != place]
    if isinstance(target, Instance):
        return fill(interp, site, target.cls, rest, target)
    return fill(interp, site, target, rest, None)


def parse_words(interp: Any, site: Any, fields: list[Field], words: list[Value], default: Value) -> dict[str, Any]:
    """Nested values by field name. Raises UserError for an option that no field has."""
    found: dict[str, Any] = {}
    rest = list(words)
    positional = [item for item in fields if item.positional]
    while rest:
        word = rest.pop(0)
        text = word if isinstance(word, str) else None
        if text is None or not text.startswith("--"):
            if not positional:
                raise UserError(
                    f"the launch line's arguments do not fit: {text or getattr(word, 'name', word)!r} is unexpected"
                )
            item = positional.pop(0)
            found[item.name] = _value(interp, site, item.type, [word], item.name)
            continue
        name, equals, inline = text[2:].partition("=")
        path = name.replace("-", "_").split(".")
        kind, off = _find(interp, site, fields, path, default)
        if kind is None:
            raise UserError(f"the launch line's arguments do not fit: no option --{name}")
        taken = [inline] if equals else _take(kind, rest)
        value = (not off) if _is_flag(kind) and not taken else _value(interp, site, kind, taken, name)
        _nest(found, _plain_path(path, off), value)
    return found


def _take(kind: Type, rest: list[Value]) -> list[Value]:
    """The words that belong to an option of this type."""
    kinds = {part.kind for part in kind.members()}
    if _is_flag(kind):
        follows = bool(rest) and isinstance(rest[0], str) and rest[0] in ("True", "False")
        return [rest.pop(0)] if follows else []
    if kinds & {"list", "tuple", "dict"}:
        taken = []
        while rest and not (isinstance(rest[0], str) and rest[0].startswith("--")):
            taken.append(rest.pop(0))
        return taken
    return [rest.pop(0)] if rest else []


def _is_flag(kind: Type) -> bool:
    return kind.kind == "bool"


def _find(interp: Any, site: Any, fields: list[Field], path: list[str], default: Value) -> tuple[Type | None, bool]:
    """The type of the field under a path; True where it was named with ``no_`` in front of its last part."""
    here: list[Field] = fields
    base = default
    for place, part in enumerate(path):
        off = False
        item = next((item for item in here if item.name == part), None)
        if item is None and place == len(path) - 1 and part.startswith("no_"):
            item, off = next((item for item in here if item.name == part[3:]), None), True
        if item is None:
            return None, False
        if place == len(path) - 1:
            return item.type, off
        base = record_values(base).get(part, item.default)
        inner = (
            base.cls
            if isinstance(base, Instance)
            else next((p.value for p in item.type.members() if p.kind == "fields"), None)
        )
        if inner is None:
            return None, False
        here = fields_of(interp, inner, site) or []
    return None, False


def _plain_path(path: list[str], off: bool) -> list[str]:
    return [*path[:-1], path[-1][3:] if off else path[-1]]


def _value(interp: Any, site: Any, kind: Type, words: list[Value], name: str) -> Value:
    if len(words) == 1 and isinstance(words[0], Unknown | ByRank):
        return words[0]
    texts = [text_of(word) or "" for word in words]
    try:
        for part in kind.members():
            if part.kind == "list":
                inner = part.args[0] if part.args else ANY
                pieces = texts[0].split(",") if len(texts) == 1 and inner.name == "str" and "," in texts[0] else texts
                made = [from_text(interp, inner, text, site) for text in pieces]
                return tuple(made) if part.name == "tuple" else ListValue(made)
            if part.kind == "tuple":
                kinds = part.args or (ANY,) * len(texts)
                return tuple(from_text(interp, inner, text, site) for inner, text in zip(kinds, texts))
            if part.kind == "dict":
                return DictValue(dict(zip(texts[::2], texts[1::2])))
        if not texts:
            raise Mismatch("a value is missing")
        return from_text(interp, kind, texts[0], site)
    except Mismatch as error:
        raise UserError(f"the launch line's arguments do not fit --{name}: {error}") from None


def _nest(table: dict[str, Any], path: list[str], value: Any) -> None:
    for part in path[:-1]:
        table = table.setdefault(part, {})
    table[path[-1]] = value


def _overridable(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``tyro.extras.overridable_config_cli({"name": (help, config)})``: a subcommand for each."""
    table = _configs(args[0] if args else kwargs.get("configs"))
    return _subcommand(interp, site, table, by_rank_apart(list(interp.argv[1:])))


def _configs(value: Value) -> dict[str, Value]:
    rows = value.items if isinstance(value, DictValue) else {}
    return {str(name).replace("_", "-"): held[-1] if isinstance(held, tuple) else held for name, held in rows.items()}


def _subcommand_type(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``subcommand_type_from_defaults({"name": config})``."""
    return Opaque(
        "tyro.Subcommands", {"__subcommands__": _configs(args[0] if args else kwargs.get("defaults"))}, site.anchor
    )


def _subcommand_cli(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return _subcommand(interp, site, _configs(args[0]), by_rank_apart(list(interp.argv[1:])))


def _anything(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return args[0] if args else Opaque("tyro.conf.Marker", dict(kwargs), site.anchor)


def _registry(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Opaque("tyro.constructors.ConstructorRegistry", {}, site.anchor)


def _rule(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A decorator on a rule of the analysed code: kept, not used (lists of texts split at commas here anyway)."""
    return args[-1]


ENTRIES: dict[str, Handler] = {
    "tyro.cli": cli,
    "tyro.extras.overridable_config_cli": _overridable,
    "tyro.extras.subcommand_type_from_defaults": _subcommand_type,
    "tyro.extras.subcommand_cli_from_dict": _subcommand_cli,
    "tyro.conf.arg": _anything,
    "tyro.conf.subcommand": _anything,
    "tyro.conf.configure": _anything,
    "tyro.MISSING": _anything,
    "tyro.constructors.ConstructorRegistry": _registry,
    "tyro.constructors.ConstructorRegistry.primitive_rule": _rule,
    "tyro.constructors.ConstructorRegistry.struct_rule": _rule,
    "tyro.constructors.PrimitiveConstructorSpec": _anything,
}
BASES: dict[str, tuple[str, ...]] = {}
