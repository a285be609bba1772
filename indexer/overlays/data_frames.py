"""Small pandas tables that the code writes out itself: rows of a literal under names, read column by column."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.values import DictValue, ListValue, Opaque, Value
from cgx.indexer.overlays.arguments import bind

FRAME, COLUMNS = "pandas.DataFrame", "cgx.columns"


def made(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``DataFrame([[...], [...]], columns=[...])`` or ``DataFrame({"name": [...]})``, where all of it is known."""
    bound = bind("data index columns dtype copy", args, kwargs)
    data, names = bound.get("data"), listed(bound.get("columns"))
    columns: dict[Any, Value] = {}
    if isinstance(data, DictValue) and not data.open and all(listed(one) is not None for one in data.items.values()):
        columns = dict(data.items)
    rows = [listed(one) for one in listed(data) or ()]
    if names is not None and all(isinstance(name, str) for name in names) and all(row is not None and len(row) == len(names) for row in rows):
        columns = {name: ListValue([row[place] for row in rows if row is not None]) for place, name in enumerate(names)}
    return Opaque(FRAME, {COLUMNS: DictValue(columns)}, site.anchor) if columns else NotImplemented


def listed(value: Value) -> list[Value] | None:
    """The elements, where they are known one by one."""
    if isinstance(value, ListValue) and not value.open:
        return value.items
    return list(value) if isinstance(value, tuple) else None


def column(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``frame.Name`` and ``frame["Name"]``."""
    held = args[0].attrs.get(COLUMNS) if isinstance(args[0], Opaque) else None
    key = args[1] if len(args) > 1 else None
    return held.items[key] if isinstance(held, DictValue) and isinstance(key, str) and key in held.items else NotImplemented


ENTRIES: dict[str, Any] = {FRAME: made, f"{FRAME}.__getattr__": column, f"{FRAME}.__getitem__": column}
BASES: dict[str, tuple[str, ...]] = {}
