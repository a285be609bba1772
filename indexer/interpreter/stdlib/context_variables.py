"""``contextvars`` and ``threading.local``: values that a job sets for what runs inside."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.stdlib.support import Args, Handler, Kwargs
from cgx.indexer.interpreter.values import MISSING, Opaque, Value

VARIABLE, TOKEN = "contextvars.ContextVar", "contextvars.Token"


def _make(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    attrs: dict[str, Value] = {"name": args[0] if args else kwargs.get("name")}
    if "default" in kwargs:
        attrs["__default__"] = kwargs["default"]
    return Opaque(VARIABLE, attrs, site.anchor)


def _get(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    attrs = args[0].attrs
    if "__value__" in attrs:
        return attrs["__value__"]
    if len(args) > 1 or "default" in kwargs:
        return args[1] if len(args) > 1 else kwargs["default"]
    return attrs["__default__"] if "__default__" in attrs else interp.raise_("LookupError", site.text, site)


def _set(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    old = args[0].attrs.get("__value__", MISSING)
    interp.trail.set_item(args[0].attrs, "__value__", args[1])
    return Opaque(TOKEN, {"var": args[0], "old_value": old}, site.anchor)


def _reset(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    token = args[1]
    old = token.attrs.get("old_value", MISSING) if isinstance(token, Opaque) else MISSING
    if old is MISSING:
        if "__value__" in args[0].attrs:
            interp.trail.del_item(args[0].attrs, "__value__")
    else:
        interp.trail.set_item(args[0].attrs, "__value__", old)
    return None


ENTRIES: dict[str, Handler] = {
    VARIABLE: _make,
    f"{VARIABLE}.get": _get,
    f"{VARIABLE}.set": _set,
    f"{VARIABLE}.reset": _reset,
}
