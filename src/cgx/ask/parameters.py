"""Parameters: from ``k=v`` words to typed values, with what a statement uses filled in."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from cgx.ask.where import Where
from cgx.errors import UserError
from cgx.queries import Param, Query, nearest

_USED = re.compile(r"\$(\w+)")
_STRINGS = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|//[^\n]*")

BY_NAME: Mapping[str, tuple[str, str]] = {
    "commit": ("commit", "latest"),
    "new": ("commit", "latest"),
    "old": ("commit", "previous"),
    "job": ("job", "latest"),
    "new_job": ("job", "latest"),
    "old_job": ("job", "previous"),
}
"""Parameters that a statement may use without giving them: what they are, and which one."""


def used(statement: str) -> list[str]:
    """Names of the parameters that a statement uses, in order of first use; not those in strings and comments."""
    return list(dict.fromkeys(_USED.findall(_STRINGS.sub(" ", statement))))


def split(words: Iterable[str]) -> dict[str, str]:
    """``k=v`` words as a dict. Raises UserError for a word without ``=``."""
    found: dict[str, str] = {}
    for word in words:
        name, sign, value = word.partition("=")
        if not sign or not name.strip():
            raise UserError(f"a parameter is NAME=VALUE, not {word!r}")
        found[name.strip()] = value
    return found


def for_query(query: Query, given: Mapping[str, Any], where: Where) -> dict[str, Any]:
    """Values for every parameter of a shipped query. Raises UserError for one that is missing, unknown or of a wrong type."""
    known = {param.name for param in query.params}
    for name in given:
        if name not in known:
            near = nearest(name, known)
            hint = f"; did you mean {near[0]}?" if near else f"; it has {', '.join(sorted(known)) or 'none'}"
            raise UserError(f"{query.name} has no parameter {name!r}{hint}")
    return {param.name: _value(query.name, param, given, where) for param in query.params}


def for_statement(statement: str, given: Mapping[str, Any], where: Where) -> dict[str, Any]:
    """Values for a statement: those given, and commits and jobs by the names that shipped queries use for them."""
    values: dict[str, Any] = {}
    for name in used(statement):
        kind, default = BY_NAME.get(name, ("", ""))
        if name in given:
            value = given[name]
            if kind and isinstance(value, str):
                value = _named(kind, value, where)
            values[name] = literal(value) if isinstance(value, str) and not kind else value
        elif kind:
            values[name] = _named(kind, default, where)
        else:
            raise UserError(f"the statement uses ${name}: give --param {name}=VALUE")
    return values


def literal(text: str) -> Any:
    """A JSON value where the text is one (3, true, null, "x", [1, 2]), else the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _value(query: str, param: Param, given: Mapping[str, Any], where: Where) -> Any:
    value = given.get(param.name, param.default)
    if value is None:
        raise UserError(f"{query} needs --param {param.name}=...: {param.doc}")
    if param.kind in ("commit", "job"):
        return _named(param.kind, str(value), where)
    if not isinstance(value, str):
        return value
    try:
        return _READERS[param.kind](value)
    except (ValueError, KeyError) as error:
        raise UserError(f"{param.name} is of type {param.kind}, not {value!r}") from error


_READERS: Mapping[str, Callable[[str], Any]] = {
    "string": str,
    "int": int,
    "float": float,
    "bool": lambda text: {"true": True, "false": False}[text.lower()],
}


def _named(kind: str, text: str, where: Where) -> str:
    return where.commit(text) if kind == "commit" else where.job(text)
