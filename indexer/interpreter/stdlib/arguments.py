"""``argparse``: the calls on a parser are recorded; parsing them on the launch line's words is done by a parser of our own."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from cgx.indexer.interpreter.stdlib.argument_parsing import (
    CALLS,
    DEFAULTS,
    OPTIONS,
    PARENT,
    SUBS,
    attrs_of,
    fill_parser,
    parse,
    parser_of,
)
from cgx.indexer.interpreter.stdlib.parser_build import (
    Recorded,
)
from cgx.indexer.interpreter.stdlib.support import (
    Args,
    Handler,
    Kwargs,
    constant,
    derived,
    nothing,
    text_of,
    unknown,
)
from cgx.indexer.interpreter.values import (
    DictValue,
    External,
    ListValue,
    Native,
    Opaque,
    Unknown,
    Value,
)

PARSER, GROUP, SUBPARSERS, ACTION = (
    "argparse.ArgumentParser",
    "argparse._ArgumentGroup",
    "argparse._SubParsersAction",
    "argparse.Action",
)
GROUP_DEFAULT = "__argument_default__"


# -- recording -----------------------------------------------------------------------------------------------------------


def _parser(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    parser = Opaque(PARSER, {}, site.anchor)
    fill_parser(parser.attrs, kwargs)
    return parser


def _parser_init(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``super().__init__(...)`` in a subclass."""
    for name, value in _filled(kwargs).items():
        interp.trail.set_item(args[0].attrs, name, value)
    return None


def _filled(kwargs: Kwargs) -> dict[str, Value]:
    attrs: dict[str, Value] = {}
    fill_parser(attrs, kwargs)
    return attrs


def _add_argument(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    flags = [text_of(flag) for flag in args[1:]]
    options = {key: value for key, value in kwargs.items() if key != "*"}
    default = attrs_of(args[0]).get(GROUP_DEFAULT)
    if isinstance(default, str):  # the group's own; a parser's is argparse's affair
        options.setdefault("default", default)
    dest = options.get("dest")
    if not isinstance(dest, str):
        dest = _dest([flag for flag in flags if flag is not None])
    action = Opaque(
        ACTION,
        {"dest": dest, **{key: options.get(key) for key in ("default", "choices", "type", "nargs", "required")}},
        site.anchor,
    )
    action.attrs["option_strings"] = ListValue([flag for flag in flags if flag and flag.startswith("-")])
    if not flags and not isinstance(options.get("dest"), str):
        flags = [None]  # names spread from what is not known
    if any(flag is None for flag in flags):
        interp.trail.set(parser_of(args[0])[CALLS], "open", True)
        return action
    exclusive = attrs_of(args[0]).get("__exclusive__")
    record = Recorded(tuple(flag for flag in flags if flag is not None), options)
    if exclusive is not None:
        record.group, record.group_required = id(args[0]), attrs_of(args[0]).get("__required__") is True
    interp.trail.append(parser_of(args[0])[CALLS], Opaque("argparse.Recorded", {"row": record, "action": action}))
    return action


def _dest(flags: Sequence[str]) -> str:
    """argparse's rule: the first long option, else the first one."""
    chosen = next((flag for flag in flags if flag.startswith("--")), flags[0] if flags else "")
    return chosen.lstrip("-").replace("-", "_") if chosen.startswith("-") else chosen


def _group(exclusive: bool) -> Handler:
    def call(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        default = kwargs.get("argument_default", attrs_of(args[0]).get(GROUP_DEFAULT))
        attrs: dict[str, Value] = {PARENT: args[0], "title": args[1] if len(args) > 1 else kwargs.get("title"), GROUP_DEFAULT: default}
        if exclusive:
            attrs |= {"__exclusive__": True, "__required__": kwargs.get("required", False)}
        return Opaque(GROUP, attrs, site.anchor)

    return call


def _add_subparsers(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    action = Opaque(
        SUBPARSERS, {OPTIONS: dict(kwargs), "choices": DictValue(), "dest": kwargs.get("dest")}, site.anchor
    )
    interp.trail.set_item(parser_of(args[0]), SUBS, action)
    return action


def _add_parser(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    parser = _parser(interp, site, [], kwargs)
    name = text_of(args[1] if len(args) > 1 else kwargs.get("name"))
    if name is not None:
        interp.trail.set_item(args[0].attrs["choices"].items, name, parser)
    return parser


def _set_defaults(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    attrs = parser_of(args[0])
    for name, value in kwargs.items():
        if name != "*":
            interp.trail.set_item(attrs[DEFAULTS].items, name, value)
    if "*" in kwargs:
        # A file that is not here may set any default: what the parser gives is then not known, unless the line says it.
        interp.trail.set_item(attrs, "__open__", kwargs["*"])
    return None


def _get_default(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    attrs, name = parser_of(args[0]), text_of(args[1])
    if name in attrs[DEFAULTS].items:
        return attrs[DEFAULTS].items[name]
    for held in attrs[CALLS].items:
        if held.attrs["action"].attrs["dest"] == name:
            return held.attrs["row"].options.get("default")
    return None


def _parse_args(rest_allowed: bool) -> Handler:
    def call(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        given = args[1] if len(args) > 1 else kwargs.get("args")
        namespace = args[2] if len(args) > 2 else kwargs.get("namespace")
        if given is None:
            words = list(interp.argv[1:])
        else:
            items = interp.iterate(given, site) if not isinstance(given, Unknown) else given
            if not isinstance(items, list):
                return derived(site, [given], "", "environment")
            words = items
        found, rest = parse(interp, site, args[0], words, namespace, rest_allowed)
        return (found, rest) if rest_allowed else found

    return call


def _error(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    message = args[1] if len(args) > 1 and isinstance(args[1], str) else "the arguments are refused"
    return interp.raise_("SystemExit", message, site)


# -- custom actions ------------------------------------------------------------------------------------------------------


def _action_init(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    names = ("option_strings", "dest", "nargs", "const", "default", "type", "choices", "required", "help", "metavar")
    values = dict(zip(names, args[1:])) | {key: value for key, value in kwargs.items() if key != "*"}
    for name in names:
        interp.setattr(args[0], name, values.get(name, False if name == "required" else None), site)
    return None


def _file_type(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    def opened(interp: Any, site: Any, inner: Args, _kwargs: Kwargs) -> Value:
        return interp.call(External("open"), [inner[0], *args[:1]], {}, site)

    return Native("argparse.FileType", opened)


def _recorded_actions(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``parser._actions``."""
    if args[1] == "_actions":
        return ListValue([held.attrs["action"] for held in parser_of(args[0])[CALLS].items])
    if args[1] == "_defaults":
        return parser_of(args[0])[DEFAULTS]
    return NotImplemented


_METHODS: dict[str, Handler] = {
    "add_argument": _add_argument,
    "add_argument_group": _group(False),
    "add_mutually_exclusive_group": _group(True),
    "set_defaults": _set_defaults,
    "get_default": _get_default,
}

ENTRIES: dict[str, Handler] = {
    PARSER: _parser,
    f"{PARSER}.__init__": _parser_init,
    **{f"{PARSER}.{name}": handler for name, handler in _METHODS.items()},
    **{f"{GROUP}.{name}": handler for name, handler in _METHODS.items()},
    f"{PARSER}.add_subparsers": _add_subparsers,
    f"{SUBPARSERS}.add_parser": _add_parser,
    f"{PARSER}.parse_args": _parse_args(False),
    f"{PARSER}.parse_known_args": _parse_args(True),
    f"{PARSER}.parse_intermixed_args": _parse_args(False),
    f"{PARSER}.error": _error,
    f"{PARSER}.exit": _error,
    f"{PARSER}.print_help": nothing,
    f"{PARSER}.print_usage": nothing,
    f"{PARSER}.register": nothing,
    f"{PARSER}.format_help": unknown("unsupported", "str"),
    f"{PARSER}.__getattr__": _recorded_actions,
    f"{ACTION}.__init__": _action_init,
    "argparse.FileType": _file_type,
    "argparse.ArgumentError": lambda interp, site, args, kwargs: Opaque(
        "argparse.ArgumentError", {"args": tuple(args)}
    ),
    "argparse.BooleanOptionalAction.__init__": _action_init,
    "argcomplete.autocomplete": nothing,
    "argparse.HelpFormatter": constant(None),
}

BASES: dict[str, tuple[str, ...]] = {
    "configargparse.ArgumentParser": (PARSER,),
    "argparse._StoreAction": (ACTION,),
    "argparse._AppendAction": (ACTION,),
}

CONSTANTS: dict[str, Value] = {
    "argparse.SUPPRESS": argparse.SUPPRESS,
    "argparse.REMAINDER": argparse.REMAINDER,
    "argparse.OPTIONAL": argparse.OPTIONAL,
    "argparse.ZERO_OR_MORE": argparse.ZERO_OR_MORE,
    "argparse.ONE_OR_MORE": argparse.ONE_OR_MORE,
    "argparse.PARSER": argparse.PARSER,
}
