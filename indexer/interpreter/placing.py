"""Where unknown results of the tables stand: their rules see no source, so the call that asks gives them its place and its text."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.values import DictValue, ListValue, Sequence, Unknown, Value


def placed(value: Value, site: Any, named: bool) -> Value:
    """The result of a rule; ``named``: it was asked of something whose name in the source the rule's own names begin with."""
    _place(value, site, site.text, named)
    return value


def _place(value: Value, site: Any, text: str, named: bool) -> None:
    if isinstance(value, Unknown):
        if value.anchor is None:
            value.anchor, value.name = site.anchor, value.name if named and value.name else text
    elif isinstance(value, Sequence):
        _place(value.element, site, f"{text}[i]", named)
        _place(value.length, site, f"len({text})", named)
    elif isinstance(value, tuple | list):
        for place, one in enumerate(value):
            _place(one, site, f"{text}[{place}]", named)
    elif isinstance(value, ListValue):
        _place(value.items, site, text, named)
    elif isinstance(value, dict):
        for key, one in value.items():
            _place(one, site, f"{text}[{key!r}]", named)
    elif isinstance(value, DictValue):
        _place(value.items, site, text, named)
