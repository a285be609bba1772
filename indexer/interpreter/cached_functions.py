"""Functions under ``functools.lru_cache``: what was worked out once for equal arguments is not worked out again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from cgx.indexer.interpreter.memo import CONSTANTS
from cgx.indexer.interpreter.values import FunctionValue, Instance, ModuleInstance, Unknown, Value

CACHE = "__cgx_cache__"  # attribute of a function: (table of results, how many it keeps)


def cached(func: Value, size: Value) -> Value:
    """The function with a table of its own; ``size`` None keeps all."""
    if not isinstance(func, FunctionValue) or func.generator or not isinstance(size, int | type(None)):
        return func
    table: dict[Any, tuple[Value, list[Value]]] = {}
    return replace(func, attrs={**func.attrs, CACHE: (table, size)})


def from_cache(interp: Any, func: FunctionValue, args: list[Value], kwargs: dict[str, Value], run: Callable[[], Value]) -> Value:
    """The kept result for these arguments, else what ``run`` gives. Arguments that are not surely equal are never looked up."""
    table, size = func.attrs[CACHE]
    try:
        key: Any = (tuple(_key(arg) for arg in args), tuple((name, _key(value)) for name, value in kwargs.items()))
        hash(key)
    except TypeError:
        return run()
    if key in table:
        return table[key][0]
    for reading in interp.readings:
        reading.spoiled = True  # a call that works it out is not like the next one, which finds it
    result = run()
    if not isinstance(result, Unknown):
        if size is not None and len(table) >= max(size, 1):
            interp.trail.del_item(table, next(iter(table)))
        if size != 0:
            interp.trail.set_item(table, key, (result, [*args, *kwargs.values()]))
    return result


def _key(value: Value) -> Any:
    if isinstance(value, tuple):
        return tuple(_key(item) for item in value)
    if isinstance(value, ModuleInstance | Instance):
        return ("id", id(value))  # the table holds it
    if isinstance(value, CONSTANTS):
        return (type(value).__name__, value)
    raise TypeError
