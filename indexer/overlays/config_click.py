"""click: commands made by decorators, called with the words of the command line."""

from __future__ import annotations

from typing import Any

from cgx.errors import UserError
from cgx.indexer.interpreter.stdlib.parser_build import Callbacks, Recipe, Recorded, WrongArguments, build, placeholder
from cgx.indexer.interpreter.stdlib.path_objects import make_path
from cgx.indexer.interpreter.stdlib.support import (
    Args,
    Handler,
    Kwargs,
    by_rank,
    constant,
    first,
    from_python,
    items_of,
    text_of,
)
from cgx.indexer.interpreter.values import (
    MISSING,
    ByRank,
    DictValue,
    External,
    FunctionValue,
    Instance,
    ListValue,
    Native,
    Opaque,
    Unknown,
    Value,
)
from cgx.indexer.overlays.command_words import by_rank_apart

PACKAGES = ("click",)
COMMAND, GROUP, OPTION, ARGUMENT = (
    "click.Command",
    "click.Group",
    "click.Option",
    "click.Argument",
)
PARAMETERS = "__click_parameters__"
ROWS = "__rows__"  # how a command finds its parameters, where not by decorators
SIMPLE = {"click.INT": int, "click.FLOAT": float, "click.STRING": str, "int": int, "float": float, "str": str}


# -- decorators ------------------------------------------------------------------------------------------------------------


def _parameter(kind: str) -> Handler:
    """``@click.option(...)`` and ``@click.argument(...)``: kept on the function, the outermost first."""

    def make(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        row = Opaque(kind, {"names": tuple(text_of(arg) or "" for arg in args), "options": dict(kwargs)}, site.anchor)

        def decorate(interp: Any, site: Any, inner: Args, _kwargs: Kwargs) -> Value:
            target = inner[0]
            attrs = target.attrs if isinstance(target, FunctionValue | Opaque | Native) else None
            if attrs is not None:
                interp.trail.set_item(attrs, PARAMETERS, [row, *attrs.get(PARAMETERS, [])])
            return target

        return Native(kind, decorate)

    return make


def _command(kind: str) -> Handler:
    """``@click.command()`` and ``@click.group()``, with and without their own call."""

    def make(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        if args and isinstance(args[0], FunctionValue | Native):
            return _made(kind, args[0], {}, site)

        def decorate(interp: Any, site: Any, inner: Args, _kwargs: Kwargs) -> Value:
            return _made(kind, inner[0], {**kwargs, "name": args[0] if args else kwargs.get("name")}, site)

        return Native(kind, decorate)

    return make


def _made(kind: str, function: Value, options: Kwargs, site: Any) -> Opaque:
    name = (
        options.get("name")
        if isinstance(options.get("name"), str)
        else getattr(function, "name", "main").replace("_", "-")
    )
    held = function.attrs.get(PARAMETERS, []) if isinstance(function, FunctionValue | Native) else []
    attrs = {"callback": function, "name": name, PARAMETERS: list(held), "options": options, "commands": DictValue()}
    return Opaque(kind, attrs, site.anchor)


def _subcommand(kind: str) -> Handler:
    """``@group.command()``."""

    def make(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        owner = args[0]

        def decorate(interp: Any, site: Any, inner: Args, _kwargs: Kwargs) -> Value:
            made = _made(
                kind,
                inner[0],
                {**kwargs, "name": args[1] if len(args) > 1 and isinstance(args[1], str) else kwargs.get("name")},
                site,
            )
            interp.trail.set_item(owner.attrs["commands"].items, made.attrs["name"], made)
            return made

        if len(args) > 1 and isinstance(args[1], FunctionValue):
            return decorate(interp, site, [args[1]], {})
        return Native(kind, decorate)

    return make


def _add_command(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    name = text_of(args[2] if len(args) > 2 else kwargs.get("name")) or args[1].attrs.get("name")
    interp.trail.set_item(args[0].attrs["commands"].items, name, args[1])
    return None


# -- calling ---------------------------------------------------------------------------------------------------------------


def _call(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``main()``: the words of the line; ``main(["--x"])`` and ``standalone_mode=False`` as well."""
    given = args[1] if len(args) > 1 else kwargs.get("args")
    words = by_rank_apart(list(interp.argv[1:])) if given is None else items_of(interp, given, site) or []
    return run(
        interp,
        site,
        args[0],
        words,
        Opaque("click.Context", {"obj": kwargs.get("obj"), "command": args[0], "params": DictValue()}, site.anchor),
    )


def run(interp: Any, site: Any, command: Opaque, words: list[Value], context: Opaque) -> Value:
    """Parse the words of a command (and of its subcommands), and call the functions."""
    commands = command.attrs["commands"].items
    place = _place_of_subcommand(command, words) if commands else None
    own = words if place is None else words[:place]
    values = parse(interp, site, command, own)
    function = command.attrs["callback"]
    context.attrs["params"] = DictValue(dict(values))
    result: Value = None
    if function is not None:
        takes_context = isinstance(function, FunctionValue) and function.attrs.get("__click_context__")
        takes_object = isinstance(function, FunctionValue) and function.attrs.get("__click_object__")
        before = [context] if takes_context else [context.attrs.get("obj")] if takes_object else []
        result = interp.call(function, before, values, site)
    if commands:
        name = text_of(words[place]) if place is not None else None
        if name not in commands:
            if command.attrs["options"].get("invoke_without_command") is True:
                return result
            raise UserError(f"the launch line names no subcommand of: {', '.join(str(key) for key in commands)}")
        return run(interp, site, commands[name], words[(place or 0) + 1 :], context)
    return result


def _place_of_subcommand(command: Opaque, words: list[Value]) -> int | None:
    names = command.attrs["commands"].items
    return next((place for place, word in enumerate(words) if isinstance(word, str) and word in names), None)


def parse(interp: Any, site: Any, command: Opaque, words: list[Value]) -> dict[str, Value]:
    """The keyword arguments of the command's function."""
    count = next((len(word.values) for word in words if isinstance(word, ByRank)), 0)
    if count:
        runs = [
            _parse_once(interp, site, command, [w.values[rank] if isinstance(w, ByRank) else w for w in words])
            for rank in range(count)
        ]
        return {name: by_rank([found[name] for found in runs]) for name in runs[0]}
    return _parse_once(interp, site, command, words)


def _parse_once(interp: Any, site: Any, command: Opaque, words: list[Value]) -> dict[str, Value]:
    rows = parameter_rows(interp, site, command)
    recipe = Recipe({}, [row for row, _finish in rows.values()])
    texts = [placeholder(word) if isinstance(word, Unknown) else text_of(word) or "" for word in words]
    try:
        parser = build(
            recipe,
            Callbacks(lambda kind, text: interp.call(kind, [text], {}, site), _no_action),
            str(command.attrs["name"]),
        )
        result, rest = parser.parse_known_args(texts)
        if rest and command.attrs["options"].get("context_settings") is None:
            raise WrongArguments(f"unrecognized arguments: {' '.join(rest)}")
    except WrongArguments as error:
        raise UserError(
            f"the launch line's arguments do not fit {command.attrs['name']}: {' '.join(str(error).split())}"
        ) from None
    found = vars(result)
    return {name: finish(from_python(found.get(name))) for name, (_row, finish) in rows.items()}


def _no_action(*_: Any) -> Any:
    raise AssertionError("commands have no custom actions")


def parameter_rows(interp: Any, site: Any, command: Opaque) -> dict[str, tuple[Recorded, Any]]:
    """Name of each parameter -> its recorded argument and what is done with the parsed value."""
    function = command.attrs["callback"]
    if ROWS in command.attrs:
        made: dict[str, tuple[Recorded, Any]] = command.attrs[ROWS](interp, site, function)
        return made
    return {
        name: (row, finish)
        for name, row, finish in (_click_row(interp, site, held) for held in command.attrs[PARAMETERS])
    }


def _click_row(interp: Any, site: Any, held: Opaque) -> tuple[str, Recorded, Any]:
    names, options = held.attrs["names"], held.attrs["options"]
    on, off = [name for name in names if name.startswith("-")], []
    for name in list(on):
        if "/" in name[1:]:
            first_half, second = name.split("/", 1)
            on.remove(name)
            on.append(first_half.strip())
            off.append(second.strip())
    bare = [name for name in names if not name.startswith("-")]
    dest = (
        bare[0] if bare else max(on, key=lambda name: (name.startswith("--"), 0)).lstrip("-").replace("-", "_").lower()
    )
    default = options.get("default", MISSING)
    if isinstance(default, FunctionValue):
        default = interp.call(default, [], {}, site)
    callback = options.get("callback")

    def finish(value: Value) -> Value:
        if (options.get("multiple") is True or options.get("nargs") not in (None, 1)) and isinstance(value, ListValue):
            value = tuple(value.items)
        if callback is not None:
            context = Opaque("click.Context", {"params": DictValue()}, site.anchor)
            return interp.call(callback, [context, held, value], {}, site)
        return value

    keywords: dict[str, Value] = {"default": None if default is MISSING else default}
    is_flag = (
        options.get("is_flag") is True
        or bool(off)
        or (default in (True, False) and isinstance(default, bool) and "type" not in options)
    )
    if held.qname == ARGUMENT:
        nargs = options.get("nargs", 1)
        keywords["nargs"] = (
            "*"
            if nargs == -1
            else "?"
            if options.get("required") is False or default is not MISSING
            else nargs
            if nargs != 1
            else None
        )
        keywords["type"] = _converter(interp, site, options.get("type"))
        return dest, Recorded((dest,), {k: v for k, v in keywords.items() if k != "nargs" or v is not None}), finish
    if is_flag:
        keywords |= {"action": "store_true", "dest": dest, "default": default if isinstance(default, bool) else False}
        if "flag_value" in options:
            keywords |= {
                "action": "store_const",
                "const": options["flag_value"],
                "default": None if default is MISSING else default,
            }
        if off:
            keywords |= {"action": External("argparse.BooleanOptionalAction")}
            on = [name for name in on if name.startswith("--")] or on
        return dest, Recorded(tuple(on), keywords), finish
    keywords |= {
        "dest": dest,
        "type": _converter(interp, site, options.get("type", _kind_of(default))),
        "required": options.get("required") is True,
    }
    if options.get("count") is True:
        keywords = {"action": "count", "dest": dest, "default": 0 if default is MISSING else default}
    elif options.get("multiple") is True:
        keywords |= {"action": "append", "default": ListValue() if default in (MISSING, None) else _as_list(default)}
    elif isinstance(options.get("nargs"), int) and options["nargs"] > 1:
        keywords["nargs"] = options["nargs"]
    elif isinstance(options.get("type"), tuple):
        keywords["nargs"] = len(options["type"])
    return dest, Recorded(tuple(on), keywords), finish


def _as_list(value: Value) -> Value:
    return ListValue(list(value)) if isinstance(value, tuple) else value


def _kind_of(default: Value) -> Value:
    """click takes the type of the default where none is named."""
    return (
        External(type(default).__name__) if isinstance(default, int | float) and not isinstance(default, bool) else None
    )


def _converter(interp: Any, site: Any, kind: Value) -> Value:
    """A click type as a function on a word."""

    def convert(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        text = args[0]
        if isinstance(kind, Opaque) and kind.qname == "click.Choice":
            options = kind.attrs.get("choices")
            items = (
                options.items if isinstance(options, ListValue) else list(options) if isinstance(options, tuple) else []
            )
            if items and text not in items:
                raise UserError(
                    f"the launch line's arguments do not fit: {text!r} is none of {', '.join(str(item) for item in items)}"
                )
            return text
        if isinstance(kind, Opaque) and kind.qname == "click.Path":
            return make_path(text) if kind.attrs.get("path_type") is not None else text
        if isinstance(kind, Opaque) and kind.qname in ("click.IntRange", "click.FloatRange"):
            return interp.call(External("int" if "Int" in kind.qname else "float"), [text], {}, site)
        if isinstance(kind, External) and kind.qname in SIMPLE:
            return interp.call(External(SIMPLE[kind.qname].__name__), [text], {}, site)
        if isinstance(kind, External) and kind.qname in ("bool", "click.BOOL"):
            return text.lower() in ("1", "true", "t", "yes", "y", "on")
        if isinstance(kind, Instance):  # a ParamType of the analysed code
            return interp.call(interp.getattr(kind, "convert", site), [text, None, None], {}, site)
        if kind is None or isinstance(kind, tuple):
            return text
        return interp.call(kind, [text], {}, site)

    return Native("click.convert", convert)


def _kind(qname: str, *names: str) -> Handler:
    return lambda interp, site, args, kwargs: Opaque(qname, {**dict(zip(names, args)), **kwargs}, site.anchor)


def _marks(name: str) -> Handler:
    """``@click.pass_context`` and ``@click.pass_obj``."""

    def mark(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        if isinstance(args[0], FunctionValue):
            interp.trail.set_item(args[0].attrs, name, True)
        return args[0]

    return mark


def _ensure_object(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    context = args[0]
    if context.attrs.get("obj") is None:
        interp.trail.set_item(context.attrs, "obj", interp.call(args[1], [], {}, site))
    return context.attrs["obj"]


def _invoke(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    target = args[1].attrs["callback"] if isinstance(args[1], Opaque) and "callback" in args[1].attrs else args[1]
    return interp.call(target, args[2:], kwargs, site)


ENTRIES: dict[str, Handler] = {
    "click.option": _parameter(OPTION),
    "click.argument": _parameter(ARGUMENT),
    "click.version_option": _command("click.ignored"),
    "click.command": _command(COMMAND),
    "click.group": _command(GROUP),
    f"{COMMAND}.__call__": _call,
    f"{COMMAND}.main": _call,
    f"{GROUP}.command": _subcommand(COMMAND),
    f"{GROUP}.group": _subcommand(GROUP),
    f"{GROUP}.add_command": _add_command,
    "click.pass_context": _marks("__click_context__"),
    "click.pass_obj": _marks("__click_object__"),
    "click.Context.ensure_object": _ensure_object,
    "click.Context.invoke": _invoke,
    "click.Context.fail": lambda interp, site, args, kwargs: interp.raise_("SystemExit", str(args[-1]), site),
    "click.Context.exit": lambda interp, site, args, kwargs: interp.raise_("SystemExit", "", site),
    "click.Choice": _kind("click.Choice", "choices"),
    "click.Path": _kind("click.Path", "exists"),
    "click.File": _kind("click.File", "mode"),
    "click.IntRange": _kind("click.IntRange", "min", "max"),
    "click.FloatRange": _kind("click.FloatRange", "min", "max"),
    "click.confirm": constant(True),
    "click.get_current_context": _kind("click.Context"),
    "click.progressbar": first,
    "click.style": first,
}
ENTRIES["click.version_option"] = lambda interp, site, args, kwargs: Native("click.version_option", first)
ENTRIES["click.help_option"] = ENTRIES["click.version_option"]
BASES: dict[str, tuple[str, ...]] = {GROUP: (COMMAND,)}
