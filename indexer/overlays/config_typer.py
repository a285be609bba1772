"""typer: commands from signatures; required parameters are arguments, others options, bools are flags."""

from __future__ import annotations

from typing import Any

from cgx.errors import UserError
from cgx.indexer.interpreter.stdlib.parser_build import Recorded
from cgx.indexer.interpreter.stdlib.support import (
    Args,
    Handler,
    Kwargs,
    nothing,
    text_of,
)
from cgx.indexer.interpreter.values import (
    MISSING,
    DictValue,
    External,
    Native,
    Opaque,
    Value,
)
from cgx.indexer.overlays.annotation_types import Type
from cgx.indexer.overlays.command_words import by_rank_apart
from cgx.indexer.overlays.config_click import COMMAND, PARAMETERS, ROWS, run
from cgx.indexer.overlays.typed_values import Field, Mismatch, fields_of, from_text

PACKAGES = ("typer",)
TYPER = "typer.Typer"


def _rows(interp: Any, site: Any, function: Value) -> dict[str, tuple[Recorded, Any]]:
    """The parameters of a command, from its function's signature."""
    fields = fields_of(interp, function, site) or []
    return {item.name: typer_row(interp, site, item) for item in fields if not _is_context(item)}


def _is_context(item: Field) -> bool:
    return item.type.kind == "class" and item.type.name == "Context"


def typer_row(interp: Any, site: Any, item: Field) -> tuple[Recorded, Any]:
    """A parameter of a typer command: required ones are arguments, others options; bools are flags."""
    given = (
        item.default
        if isinstance(item.default, Opaque) and item.default.qname in ("typer.Option", "typer.Argument")
        else None
    )
    default = given.attrs.get("default", MISSING) if given is not None else item.default
    default = MISSING if default is ... else default
    flags = tuple(name for name in given.attrs["names"] if name.startswith("-")) if given is not None else ()
    positional = (given.qname == "typer.Argument") if given is not None else item.default is MISSING
    many = next((part for part in item.type.members() if part.kind == "list"), None)
    inner = many.args[0] if many is not None and many.args else item.type
    keywords: dict[str, Value] = {"default": None if default is MISSING else default, "type": _typed(inner)}
    if positional:
        keywords |= {"nargs": "*"} if many is not None else {"nargs": "?"} if default is not MISSING else {}
        return Recorded((item.name,), keywords), _same
    names = flags or (f"--{item.name.replace('_', '-')}",)
    if item.type.kind == "bool":
        action: Value = External("argparse.BooleanOptionalAction")
        names = tuple(name.partition("/")[0] for name in names)
        return Recorded(names, {"action": action, "dest": item.name, "default": keywords["default"]}), _same
    if many is not None:
        keywords |= {"action": "append"}
    return Recorded(names, {**keywords, "dest": item.name, "required": default is MISSING}), _same


def _same(value: Value) -> Value:
    return value


def _typed(kind: Type) -> Value:
    def convert(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        try:
            return from_text(interp, kind, args[0], site)
        except Mismatch as error:
            raise UserError(f"the launch line's arguments do not fit: {error}") from None

    return Native("typer.convert", convert)


def _typer_parameter(qname: str) -> Handler:
    def call(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        names = tuple(text_of(arg) or "" for arg in args[1:])
        return Opaque(
            qname, {"default": args[0] if args else kwargs.get("default", MISSING), "names": names}, site.anchor
        )

    return call


def _typer_app(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    return Opaque(
        TYPER,
        {
            "callback": None,
            "name": "app",
            PARAMETERS: [],
            "options": dict(kwargs),
            "commands": DictValue(),
            ROWS: _rows,
        },
        site.anchor,
    )


def _typer_command(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    app = args[0]

    def decorate(interp: Any, site: Any, inner: Args, _kwargs: Kwargs) -> Value:
        name = (
            args[1]
            if len(args) > 1 and isinstance(args[1], str)
            else kwargs.get("name") or getattr(inner[0], "name", "main").replace("_", "-")
        )
        made = Opaque(
            COMMAND,
            {
                "callback": inner[0],
                "name": name,
                PARAMETERS: [],
                "options": dict(kwargs),
                "commands": DictValue(),
                ROWS: _rows,
            },
        )
        interp.trail.set_item(app.attrs["commands"].items, name, made)
        return inner[0]

    return Native("typer.command", decorate)


def _typer_callback(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    app = args[0]

    def decorate(interp: Any, site: Any, inner: Args, _kwargs: Kwargs) -> Value:
        interp.trail.set_item(app.attrs, "callback", inner[0])
        app.attrs["options"].update(kwargs)
        return inner[0]

    return Native("typer.callback", decorate)


def _typer_call(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``app()``: with one command and no callback the command itself."""
    app = args[0]
    commands = app.attrs["commands"].items
    context = Opaque("click.Context", {"obj": None, "params": DictValue()}, site.anchor)
    if len(commands) == 1 and app.attrs["callback"] is None:
        return run(interp, site, next(iter(commands.values())), by_rank_apart(list(interp.argv[1:])), context)
    return run(interp, site, app, by_rank_apart(list(interp.argv[1:])), context)


def _typer_run(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    made = Opaque(
        COMMAND,
        {
            "callback": args[0],
            "name": getattr(args[0], "name", "main"),
            PARAMETERS: [],
            "options": {},
            "commands": DictValue(),
            ROWS: _rows,
        },
    )
    return run(interp, site, made, by_rank_apart(list(interp.argv[1:])), Opaque("click.Context", {"params": DictValue()}, site.anchor))


def _add_typer(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    name = kwargs.get("name") or args[1].attrs["name"]
    interp.trail.set_item(args[0].attrs["commands"].items, name, args[1])
    return None


ENTRIES: dict[str, Handler] = {
    TYPER: _typer_app,
    f"{TYPER}.command": _typer_command,
    f"{TYPER}.callback": _typer_callback,
    f"{TYPER}.__call__": _typer_call,
    f"{TYPER}.add_typer": _add_typer,
    "typer.run": _typer_run,
    "typer.Option": _typer_parameter("typer.Option"),
    "typer.Argument": _typer_parameter("typer.Argument"),
    "typer.Exit": nothing,
}
BASES: dict[str, tuple[str, ...]] = {}
