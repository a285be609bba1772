"""``argparse``: the calls on a parser are recorded; parsing them on the launch line's words is done by a parser of our own."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from cgx.errors import UserError
from cgx.indexer.interpreter.stdlib.files_in_tree import read_bytes
from cgx.indexer.interpreter.stdlib.imports import make_plain
from cgx.indexer.interpreter.stdlib.parser_build import (
    Callbacks,
    Recipe,
    Recorded,
    WrongArguments,
    build,
    placeholder,
)
from cgx.indexer.interpreter.stdlib.support import (
    Args,
    Handler,
    Kwargs,
    by_rank,
    constant,
    derived,
    from_python,
    nothing,
    text_of,
    unknown,
)
from cgx.indexer.interpreter.values import (
    MISSING,
    ByRank,
    DictValue,
    External,
    Instance,
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
NAMESPACE = "argparse.Namespace"
CALLS, DEFAULTS, OPTIONS, PARENT, SUBS = "__calls__", "__defaults__", "__options__", "__parser__", "__subparsers__"
CONVERSION_ERRORS = frozenset({"ValueError", "TypeError", "ArgumentTypeError", "KeyError"})


# -- recording -----------------------------------------------------------------------------------------------------------


def attrs_of(value: Value) -> dict[str, Value]:
    """The attributes of a parser: an Opaque, or an instance of a subclass in the analysed code."""
    return value.attrs if isinstance(value, Opaque | Instance) else {}


def fill_parser(attrs: dict[str, Value], kwargs: Kwargs) -> None:
    """The state of a new parser; the arguments of its parents come first."""
    calls = ListValue()
    defaults = DictValue()
    parents = kwargs.get("parents")
    for parent in parents.items if isinstance(parents, ListValue) else parents if isinstance(parents, tuple) else ():
        held = attrs_of(parent)
        if CALLS in held:
            calls.items.extend(held[CALLS].items)
            defaults.items.update(held[DEFAULTS].items)
    attrs.update({CALLS: calls, DEFAULTS: defaults, OPTIONS: dict(kwargs), SUBS: None})
    attrs.setdefault("description", kwargs.get("description"))
    attrs.setdefault("prog", kwargs.get("prog"))


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


def _owner(value: Value) -> dict[str, Value]:
    """The attributes of the parser behind a parser or a group."""
    attrs = attrs_of(value)
    while isinstance(attrs.get(PARENT), Opaque | Instance):
        attrs = attrs_of(attrs[PARENT])
    if CALLS not in attrs:
        fill_parser(attrs, {})
    return attrs


def _add_argument(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    flags = [text_of(flag) for flag in args[1:]]
    options = {key: value for key, value in kwargs.items() if key != "*"}
    dest = options.get("dest")
    if not isinstance(dest, str):
        dest = _dest([flag for flag in flags if flag is not None])
    action = Opaque(
        ACTION,
        {"dest": dest, **{key: options.get(key) for key in ("default", "choices", "type", "nargs", "required")}},
        site.anchor,
    )
    action.attrs["option_strings"] = ListValue([flag for flag in flags if flag and flag.startswith("-")])
    if any(flag is None for flag in flags):
        interp.trail.set(_owner(args[0])[CALLS], "open", True)
        return action
    exclusive = attrs_of(args[0]).get("__exclusive__")
    record = Recorded(tuple(flag for flag in flags if flag is not None), options)
    if exclusive is not None:
        record.group, record.group_required = id(args[0]), attrs_of(args[0]).get("__required__") is True
    interp.trail.append(_owner(args[0])[CALLS], Opaque("argparse.Recorded", {"row": record, "action": action}))
    return action


def _dest(flags: Sequence[str]) -> str:
    """argparse's rule: the first long option, else the first one."""
    chosen = next((flag for flag in flags if flag.startswith("--")), flags[0] if flags else "")
    return chosen.lstrip("-").replace("-", "_") if chosen.startswith("-") else chosen


def _group(exclusive: bool) -> Handler:
    def call(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        attrs: dict[str, Value] = {PARENT: args[0], "title": args[1] if len(args) > 1 else kwargs.get("title")}
        if exclusive:
            attrs |= {"__exclusive__": True, "__required__": kwargs.get("required", False)}
        return Opaque(GROUP, attrs, site.anchor)

    return call


def _add_subparsers(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    action = Opaque(
        SUBPARSERS, {OPTIONS: dict(kwargs), "choices": DictValue(), "dest": kwargs.get("dest")}, site.anchor
    )
    interp.trail.set_item(_owner(args[0]), SUBS, action)
    return action


def _add_parser(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    parser = _parser(interp, site, [], kwargs)
    name = text_of(args[1] if len(args) > 1 else kwargs.get("name"))
    if name is not None:
        interp.trail.set_item(args[0].attrs["choices"].items, name, parser)
    return parser


def _set_defaults(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    attrs = _owner(args[0])
    for name, value in kwargs.items():
        if name != "*":
            interp.trail.set_item(attrs[DEFAULTS].items, name, value)
    if "*" in kwargs:
        # A file that is not here may set any default: what the parser gives is then not known, unless the line says it.
        interp.trail.set_item(attrs, "__open__", kwargs["*"])
    return None


def _get_default(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    attrs, name = _owner(args[0]), text_of(args[1])
    if name in attrs[DEFAULTS].items:
        return attrs[DEFAULTS].items[name]
    for held in attrs[CALLS].items:
        if held.attrs["action"].attrs["dest"] == name:
            return held.attrs["row"].options.get("default")
    return None


# -- parsing -------------------------------------------------------------------------------------------------------------


def recipe_of(attrs: dict[str, Value]) -> Recipe:
    """The recorded calls of a parser in plain form."""
    recipe = Recipe(
        dict(attrs[OPTIONS]), [held.attrs["row"] for held in attrs[CALLS].items], dict(attrs[DEFAULTS].items)
    )
    subs = attrs.get(SUBS)
    if isinstance(subs, Opaque):
        recipe.subparsers = (
            subs.attrs[OPTIONS],
            {name: recipe_of(attrs_of(parser)) for name, parser in subs.attrs["choices"].items.items()},
        )
    return recipe


def _callbacks(interp: Any, site: Any, parser: Value) -> Callbacks:
    def convert(kind: Value, text: str) -> Value:
        try:
            return interp.call(kind, [text], {}, site)
        except Exception as error:
            if getattr(error, "kind", "") in CONVERSION_ERRORS:
                raise argparse.ArgumentTypeError(str(error) or f"invalid value: {text!r}") from None
            raise

    def act(kind: Value, options: dict[str, Value], flags: Sequence[str], dest: str) -> Callable[..., dict[str, Value]]:
        keywords = {key: value for key, value in options.items() if key != "action"}
        action = interp.call(kind, [], {**keywords, "option_strings": ListValue(list(flags)), "dest": dest}, site)

        def run(held: dict[str, Any], values: Value, option: str | None) -> dict[str, Value]:
            namespace = make_plain(NAMESPACE, {name: from_python(value) for name, value in held.items()}, site)
            before = dict(namespace.attrs)
            interp.call(interp.getattr(action, "__call__", site), [parser, namespace, values, option], {}, site)
            return {name: value for name, value in namespace.attrs.items() if before.get(name, MISSING) is not value}

        return run

    return Callbacks(convert, act)


def parse(
    interp: Any, site: Any, parser: Value, words: list[Value], namespace: Value, rest_allowed: bool
) -> tuple[Value, Value]:
    """(namespace, words left over). Words that differ by rank are parsed for each rank."""
    count = next((len(word.values) for word in words if isinstance(word, ByRank)), 0)
    if not count:
        found, rest = _parse_once(interp, site, parser, words, namespace, rest_allowed)
    else:
        runs = [
            _parse_once(
                interp,
                site,
                parser,
                [w.values[rank] if isinstance(w, ByRank) else w for w in words],
                namespace,
                rest_allowed,
            )
            for rank in range(count)
        ]
        names = list(dict.fromkeys(name for held, _rest in runs for name in held))
        found = {name: by_rank([held.get(name) for held, _rest in runs]) for name in names}
        rest = runs[0][1]
    if isinstance(namespace, Instance | Opaque):
        for name, value in found.items():
            interp.trail.set_item(namespace.attrs, name, value)
        return namespace, ListValue(list(rest))
    return make_plain(NAMESPACE, found, site), ListValue(list(rest))


def _parse_once(
    interp: Any, site: Any, parser: Value, words: list[Value], namespace: Value, rest_allowed: bool
) -> tuple[dict[str, Value], list[str]]:
    attrs = _owner(parser)
    prog = str(attrs["prog"]) if isinstance(attrs.get("prog"), str) else _program(interp)
    texts = _expand_files(interp, attrs, [_text(word) for word in words])
    given = argparse.Namespace(**namespace.attrs) if isinstance(namespace, Instance | Opaque) else argparse.Namespace()
    try:
        real = build(recipe_of(attrs), _callbacks(interp, site, parser), prog)
        result, rest = real.parse_known_args(texts, given)
        if rest and not rest_allowed:
            raise WrongArguments(f"unrecognized arguments: {' '.join(rest)}")
    except WrongArguments as error:
        raise UserError(f"the launch line's arguments do not fit {prog}: {' '.join(str(error).split())}") from None
    found = {name: from_python(value) for name, value in vars(result).items()}
    _mark_open(attrs, found, texts, real, site)
    return found, rest


def _mark_open(
    attrs: dict[str, Value], found: dict[str, Value], texts: list[str], real: argparse.ArgumentParser, site: Any
) -> None:
    """Where a file that is not here may set defaults, only what stands on the line is known."""
    source = attrs.get("__open__")
    if source is None:
        return
    bare = argparse.Namespace(**dict.fromkeys(found, MISSING))
    try:
        on_line, _rest = real.parse_known_args(texts, bare)
    except WrongArguments:
        return
    for name, value in vars(on_line).items():
        if value is MISSING and name not in attrs[DEFAULTS].items:
            found[name] = Unknown(
                f"args.{name}",
                getattr(source, "reason", "missing-file"),
                site.anchor,
                "",
                getattr(source, "settle", None),
            )


def _text(word: Value) -> str:
    if isinstance(word, Unknown):
        return placeholder(word)
    return text_of(word) or str(word)


def _program(interp: Any) -> str:
    program = interp.argv[0] if interp.argv else ""
    return program.rpartition("/")[2] if isinstance(program, str) and program else "the program"


def _expand_files(interp: Any, attrs: dict[str, Value], texts: list[str]) -> list[str]:
    """``@file`` words of parsers that allow them, one argument a line, from the source."""
    prefix = attrs[OPTIONS].get("fromfile_prefix_chars")
    if not isinstance(prefix, str) or not prefix:
        return texts
    made: list[str] = []
    for text in texts:
        data = read_bytes(interp, text[1:]) if text[:1] and text[0] in prefix else None
        made.extend([text] if data is None else data.decode("utf-8", "replace").splitlines())
    return made


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
        return ListValue([held.attrs["action"] for held in _owner(args[0])[CALLS].items])
    if args[1] == "_defaults":
        return _owner(args[0])[DEFAULTS]
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
