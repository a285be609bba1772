"""``str.format`` on abstract values: only what the template names is shown, as often as it names it."""

from __future__ import annotations

import string
from _string import formatter_field_name_split
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from cgx.indexer.interpreter import operators
from cgx.indexer.interpreter.values import MISSING, Value

if TYPE_CHECKING:
    from cgx.indexer.interpreter.scopes import Site

CONVERSIONS = {None: -1, "": -1, "s": 115, "r": 114, "a": 97}
Show = Callable[[Any, Value, Value, int, Any], Value]  # the formatting of one field, as in an f-string


def formatted(interp: Any, site: Site, template: str, args: list[Value], kwargs: dict[str, Value], show: Show) -> Value:
    """The text; Unknown where a field is not known."""
    parts: list[Value] = []
    counter = iter(range(len(args)))
    try:
        fields = list(string.Formatter().parse(template))
    except ValueError as error:
        return interp.raise_("ValueError", str(error), site)
    for literal, name, spec, conversion in fields:
        parts.append(literal)
        if name is None:
            continue
        value = field(interp, site, name, args, kwargs, counter)
        given: Value = formatted(interp, site, spec, args, kwargs, show) if spec and "{" in spec else spec or ""
        code = CONVERSIONS.get(conversion, -1)
        parts.append(operators.lift(interp, (value, given), lambda one, text, code=code: show(interp, one, text, code, site)))
    return operators.lift(interp, tuple(parts), lambda *known: joined(interp, known, site))


def joined(interp: Any, parts: tuple[Value, ...], site: Site) -> Value:
    if all(isinstance(part, str) for part in parts):
        return "".join(parts)
    return operators.derived(interp, parts, site, "str")


def field(interp: Any, site: Site, name: str, args: list[Value], kwargs: dict[str, Value], counter: Iterator[int]) -> Value:
    """The value of a replacement field such as ``0.avg`` or ``meters[loss]``."""
    first, rest = formatter_field_name_split(name)  # what string.Formatter itself reads names with
    if first == "":
        first = next(counter, len(args))
    value: Value = MISSING
    if isinstance(first, int):
        value = args[first] if first < len(args) else MISSING
    elif first in kwargs:
        value = kwargs[first]
    if value is MISSING:
        return interp.unknown(name or str(first), "unsupported", site)
    for is_attribute, key in rest:
        value = interp.getattr(value, key, site) if is_attribute else interp.getitem(value, key, site)
    return value
