"""absl: flags defined by calls, parsed by ``app.run``; ``config_flags`` of ml_collections."""

from __future__ import annotations

import re
from typing import Any

from cgx.errors import UserError
from cgx.indexer.interpreter.stdlib.files_in_tree import candidates
from cgx.indexer.interpreter.stdlib.support import Args, Handler, Kwargs, nothing, text_of
from cgx.indexer.interpreter.values import MISSING, ByRank, ListValue, Opaque, Unknown, Value
from cgx.indexer.overlays.config_interpolation import load_text
from cgx.indexer.overlays.config_nodes import ITEMS, is_node
from cgx.indexer.overlays.typed_values import FALSE, TRUE

PACKAGES = ("absl",)
HOLDER = "absl.flags.FLAGS"
DEFINED, VALUES = "absl.flags.defined", "absl.flags.values"  # in interp.flags


def _table(interp: Any, name: str) -> dict[str, Any]:
    table: dict[str, Any] = interp.flags.setdefault(name, {})
    return table


def define(kind: str) -> Handler:
    """``DEFINE_integer(name, default, help)`` and its kind: the flag is remembered, its holder given back."""

    def call(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        bound = dict(zip(("name", "default"), args)) | kwargs
        name = text_of(bound.get("name"))
        if name is not None:
            options = bound.get("enum_values", args[2] if kind == "enum" and len(args) > 2 else None)
            _table(interp, DEFINED)[name] = (kind, bound.get("default"), options)
        return Opaque("absl.flags.FlagHolder", {"name": name}, site.anchor)

    return call


def parse(interp: Any, site: Any, words: list[Value]) -> list[Value]:
    """Set the flags that the words give; what is left over comes back."""
    defined, values = _table(interp, DEFINED), _table(interp, VALUES)
    rest, left = list(words), []
    while rest:
        word = rest.pop(0)
        text = word if isinstance(word, str) else word.name if isinstance(word, Unknown) else ""
        if not text.startswith("-") or text in ("-", "--"):
            left.append(word)
            continue
        name, equals, inline = text.lstrip("-").partition("=")
        head, dot, path = name.partition(".")
        if name in defined:
            kind = defined[name][0]
            if isinstance(word, Unknown):
                values[name] = Unknown(inline, word.reason, word.anchor)
            elif kind == "boolean" and not equals:
                values[name] = True
            else:
                values[name] = convert(name, defined[name], inline if equals else rest.pop(0) if rest else "")
        elif name.startswith("no") and name[2:] in defined:
            values[name[2:]] = False
        elif dot and head in defined:
            given = inline if equals else rest.pop(0) if rest else ""
            values.setdefault(f"{head}.", []).append((path, given))
        elif not interp.flags.get("absl.undefok"):
            raise UserError(f"the launch line's arguments do not fit: no flag --{name}")
    return left


def convert(name: str, row: tuple[str, Value, Value], word: Value) -> Value:
    """A word as the flag's kind."""
    kind, _default, options = row
    if isinstance(word, Unknown | ByRank):
        return word
    text = text_of(word) or ""
    try:
        if kind == "integer":
            return int(text, 0)
        if kind == "float":
            return float(text)
    except ValueError:
        raise UserError(f"the launch line's arguments do not fit --{name}: not a number: {text!r}") from None
    if kind == "boolean":
        return text.lower() in TRUE if text.lower() in TRUE | FALSE else True
    if kind in ("list", "spaceseplist"):
        return ListValue(list(text.split("," if kind == "list" else None)) if text else [])
    if kind == "multi":
        return ListValue([text])
    allowed = options.items if isinstance(options, ListValue) else options
    if kind == "enum" and isinstance(allowed, list | tuple) and text not in allowed:
        raise UserError(
            f"the launch line's arguments do not fit --{name}: {text!r} is none of {', '.join(map(str, allowed))}"
        )
    return text


def value_of(interp: Any, site: Any, name: str) -> Value:
    """A flag's value: the line's, else its default. MISSING where no call defines it."""
    defined, values = _table(interp, DEFINED), _table(interp, VALUES)
    if name not in defined:
        return MISSING
    kind, default, _options = defined[name]
    if kind == "config":
        made = values.get(f"{name}:made")
        if made is None:
            made = values[f"{name}:made"] = load_config(
                interp, site, values.get(name, default), values.get(f"{name}.", [])
            )
        return made
    if name in values:
        return values[name]
    if kind == "list" and isinstance(default, str):
        return ListValue(list(default.split(",")))
    return default


def load_config(interp: Any, site: Any, path: Value, overrides: list[tuple[str, Value]]) -> Value:
    """``DEFINE_config_file``: ``get_config()`` of the file, with ``--config.a.b=1`` applied."""
    text = text_of(path) if path is not None else None
    if text is None:
        return path
    text, _colon, argument = text.partition(":")
    config: Value = Unknown(text, "missing-file", site.anchor, "", ("--file", text))
    for place in candidates(interp, text):
        dotted = place.removesuffix(".py").replace("/", ".")
        if interp.tree.exists(place) and interp.sources.find(dotted) is not None:
            module = interp.import_module(dotted, site)
            config = interp.call(interp.getattr(module, "get_config", site), [argument] if argument else [], {}, site)
            break
    for name, given in overrides:
        node = config
        *path_parts, last = re.split(r"[.\[\]]+", name)
        for part in path_parts:
            node = node.attrs[ITEMS].items.get(part) if is_node(node) else None
        if is_node(node):
            interp.trail.set_item(node.attrs[ITEMS].items, last, _fit(node.attrs[ITEMS].items.get(last), given))
    return config


def _fit(old: Value, word: Value) -> Value:
    text = text_of(word)
    if text is None:
        return word
    if isinstance(old, str):
        return text
    loaded = load_text(text)
    return (
        float(loaded)
        if isinstance(old, float) and isinstance(loaded, int)
        else tuple(loaded)
        if isinstance(loaded, list)
        else loaded
    )


def _run(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``app.run(main)``."""
    main = args[0] if args else kwargs.get("main")
    left = parse(interp, site, list(interp.argv[1:]))
    return interp.call(main, [ListValue([interp.argv[0], *left])], {}, site)


def _parse_words(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``FLAGS(sys.argv)``."""
    given = args[1] if len(args) > 1 else None
    words = given.items if isinstance(given, ListValue) else list(interp.argv)
    return ListValue([words[0], *parse(interp, site, words[1:])] if words else [])


def _flag(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    name = args[1]
    found = value_of(interp, site, name)
    if found is not MISSING:
        return found
    return NotImplemented if name.startswith("__") else interp.raise_("AttributeError", name, site)


def _holder(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    if args[1] not in ("value", "default"):
        return NotImplemented
    found = value_of(interp, site, args[0].attrs["name"])
    return None if found is MISSING else found


def _set(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    _table(interp, VALUES)[args[1]] = args[2]
    return None


def _hasattr(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    return args[1] in _table(interp, DEFINED)


KINDS = {
    "string": "string", "integer": "integer", "float": "float", "bool": "boolean", "boolean": "boolean", "enum": "enum", "list": "list",
    "spaceseplist": "spaceseplist", "multi_string": "multi", "multi_integer": "multi", "multi_float": "multi", "enum_class": "string",
    "alias": "string",
}  # fmt: skip

ENTRIES: dict[str, Handler] = {
    **{f"absl.flags.DEFINE_{name}": define(kind) for name, kind in KINDS.items()},
    "ml_collections.config_flags.DEFINE_config_file": define("config"),
    "ml_collections.config_flags.config_flags.DEFINE_config_file": define("config"),
    "absl.app.run": _run,
    f"{HOLDER}.__getattr__": _flag,
    f"{HOLDER}.__setattr__": _set,
    f"{HOLDER}.__getitem__": _flag,
    f"{HOLDER}.__hasattr__": _hasattr,
    f"{HOLDER}.__contains__": _hasattr,
    f"{HOLDER}.__call__": _parse_words,
    "absl.flags.FlagHolder.__getattr__": _holder,
    **{
        f"absl.flags.{name}": nothing
        for name in (
            "mark_flag_as_required",
            "mark_flags_as_required",
            "register_validator",
            "adopt_module_key_flags",
            "declare_key_flag",
        )
    },
}
BASES: dict[str, tuple[str, ...]] = {}
CONSTANTS: dict[str, Value] = {"absl.flags.FLAGS": Opaque(HOLDER)}
