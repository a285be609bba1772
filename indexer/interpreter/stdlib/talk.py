"""Logging, warnings, progress bars: nothing of the job changes. A device tensor in a shown text makes the host wait."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.stdlib.support import Args, Handler, Kwargs, constant, first, holder, nothing
from cgx.indexer.interpreter.values import (
    MISSING,
    GeneratorValue,
    Native,
    Opaque,
    TensorValue,
    Unknown,
    Value,
    walk_values,
)

LOGGER, BAR = "logging.Logger", "tqdm.std.tqdm"
SHOWN = ("info", "warning", "warn", "error", "critical", "exception", "log", "success")
HIDDEN = ("debug", "trace")


def shown(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """A log call: its arguments become text."""
    turned_to_text(interp, site, args, kwargs)
    interp.event("log", site, author="stdlib.talk", what=site.text)
    return None


def turned_to_text(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """A call that turns its arguments into text."""
    transfer = getattr(interp, "transfer", None)
    for value in [*args, *kwargs.values()]:
        for part in walk_values(value) if not isinstance(value, Opaque) else ():
            if isinstance(part, TensorValue) and transfer is not None:
                transfer("print", part, site)
    return None


def _logger(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    name = args[0] if args and isinstance(args[0], str) else "root"
    return Opaque(
        LOGGER,
        {"name": name, "level": 20, "handlers": interp.unknown(f"{site.text}.handlers", "environment", site), "propagate": True},
        site.anchor,
    )


def _enabled(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    return args[-1] >= 20 if isinstance(args[-1], int) else Unknown(site.text, "environment", site.anchor, "bool")


# -- progress bars -------------------------------------------------------------------------------------------------------


def make_bar(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``tqdm(iterable)``: the bar gives the iterable's elements."""
    source = args[0] if args else kwargs.get("iterable", MISSING)
    attrs: dict[str, Value] = {"total": kwargs.get("total"), "disable": kwargs.get("disable", False)}
    if source is not MISSING and source is not None:
        attrs["iterable"] = source
    return Opaque(BAR, attrs, site.anchor)


def _bar_range(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    from cgx.indexer.interpreter.values import External

    return make_bar(interp, site, [interp.call(External("range"), args, {}, site)], kwargs)


def _bar_iterate(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    return args[0].attrs.get("iterable", Unknown(site.text, "data", site.anchor))


def _bar_length(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    from cgx.indexer.interpreter.values import External

    source = args[0].attrs.get("iterable", MISSING)
    if source is MISSING or isinstance(source, GeneratorValue):
        return Unknown(site.text, "data", site.anchor, "int")
    return interp.call(External("len"), [source], {}, site)


def _track(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    return args[0] if args else kwargs.get("sequence")


def _decorator(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """A decorator, with or without its own call, that changes nothing."""
    if args and not isinstance(args[0], str | bool | int | type(None)):
        return args[0]
    return Native("decorator", first)


LOG_FUNCTIONS = dict.fromkeys(SHOWN, shown) | dict.fromkeys(HIDDEN, nothing)
BARS = (
    "tqdm",
    "tqdm.tqdm",
    "tqdm.auto.tqdm",
    "tqdm.std.tqdm",
    "tqdm.rich.tqdm",
    "tqdm.notebook.tqdm",
    "tqdm.asyncio.tqdm",
    "tqdm.tqdm_notebook",
)

ENTRIES: dict[str, Handler] = {
    **{f"logging.{name}": handler for name, handler in LOG_FUNCTIONS.items()},
    **{f"{LOGGER}.{name}": handler for name, handler in LOG_FUNCTIONS.items()},
    "logging.getLogger": _logger,
    "logging.Logger": _logger,
    "logging.LoggerAdapter": _logger,
    f"{LOGGER}.getChild": _logger,
    f"{LOGGER}.isEnabledFor": _enabled,
    f"{LOGGER}.hasHandlers": constant(True),
    f"{LOGGER}.getEffectiveLevel": constant(20),
    **{
        f"{LOGGER}.{name}": nothing for name in ("setLevel", "addHandler", "removeHandler", "addFilter", "removeFilter")
    },
    **{
        f"logging.{name}": nothing
        for name in ("basicConfig", "disable", "captureWarnings", "addLevelName", "setLoggerClass", "shutdown")
    },
    "logging.config.dictConfig": nothing,
    "logging.config.fileConfig": nothing,
    "logging.getLevelName": _enabled,
    **{
        f"logging.{name}": holder(f"logging.{name}")
        for name in ("StreamHandler", "FileHandler", "Formatter", "NullHandler", "Filter", "Handler")
    },
    "logging.handlers.RotatingFileHandler": holder("logging.Handler"),
    "loguru.logger.add": nothing,
    "loguru.logger.remove": nothing,
    "loguru.logger.opt": _logger,
    **{f"loguru.logger.{name}": handler for name, handler in LOG_FUNCTIONS.items()},
    "loguru.logger.catch": _decorator,
    "absl.logging.set_verbosity": nothing,
    **{f"absl.logging.{name}": handler for name, handler in LOG_FUNCTIONS.items()},
    "warnings.warn": nothing,
    "warnings.warn_explicit": nothing,
    "warnings.filterwarnings": nothing,
    "warnings.simplefilter": nothing,
    "warnings.resetwarnings": nothing,
    "warnings.catch_warnings": holder("contextlib.nullcontext"),
    "traceback.print_exc": nothing,
    "traceback.format_exc": lambda interp, site, args, kwargs: Unknown(site.text, "environment", site.anchor, "str"),
    "traceback.print_stack": nothing,
    "pprint.pprint": shown,
    "pprint.pformat": lambda interp, site, args, kwargs: Unknown(site.text, "unsupported", site.anchor, "str"),
    "rich.print": shown,
    "rich.console.Console": holder("rich.console.Console"),
    "rich.console.Console.print": shown,
    "rich.console.Console.log": shown,
    "rich.progress.track": _track,
    "click.echo": shown,
    "click.secho": shown,
    "typer.echo": shown,
    "typer.secho": shown,
    "tabulate.tabulate": lambda interp, site, args, kwargs: Unknown(site.text, "unsupported", site.anchor, "str"),
    "termcolor.colored": first,
    "alive_progress.alive_it": _track,
    **dict.fromkeys(BARS, make_bar),
    "tqdm.trange": _bar_range,
    "tqdm.auto.trange": _bar_range,
    f"{BAR}.__iter__": _bar_iterate,
    f"{BAR}.__len__": _bar_length,
    f"{BAR}.__bool__": constant(True),
    f"{BAR}.__enter__": first,
    f"{BAR}.__exit__": nothing,
    f"{BAR}.set_postfix": turned_to_text,
    f"{BAR}.set_postfix_str": turned_to_text,
    f"{BAR}.set_description": turned_to_text,
    f"{BAR}.set_description_str": turned_to_text,
    f"{BAR}.write": shown,
    **{f"{BAR}.{name}": nothing for name in ("update", "close", "refresh", "reset", "clear", "display", "unpause")},
    "tqdm.tqdm.write": shown,
    "tqdm.auto.tqdm.write": shown,
    "tqdm.write": shown,
}

BASES: dict[str, tuple[str, ...]] = {BAR: ("tqdm.tqdm", "tqdm.auto.tqdm")}

CONSTANTS: dict[str, Value] = {
    "logging.NOTSET": 0,
    "logging.DEBUG": 10,
    "logging.INFO": 20,
    "logging.WARNING": 30,
    "logging.WARN": 30,
    "logging.ERROR": 40,
    "logging.CRITICAL": 50,
    "logging.root": Opaque(LOGGER, {"name": "root", "level": 20}),
    "absl.logging.INFO": 0,
    "loguru.logger": Opaque("loguru.logger"),
}
