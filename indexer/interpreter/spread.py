"""Arguments that a call spreads (``*rest``) where nobody knows how many there are."""

from __future__ import annotations

from dataclasses import replace

from cgx.indexer.interpreter.scopes import Site
from cgx.indexer.interpreter.values import ListValue, Sequence, Unknown, Value
from cgx.model.anchors import Anchor


class Spread(Unknown):
    """What a call spreads. ``rest``: what stands for all of them."""

    __slots__ = ("rest",)

    def __init__(self, name: str, rest: Value, anchor: Anchor | None) -> None:
        super().__init__(name, "unsupported", anchor)
        self.rest = rest


def spread_out(name: str, given: Sequence | Unknown, site: Site) -> Spread:
    """``*given`` of a call, where nobody knows how many there are."""
    rest: Value = replace(given, qname="tuple") if isinstance(given, Sequence) else Unknown(name, given.reason, site.anchor, hint="tuple")
    return Spread(name, rest, site.anchor)


def further(name: str, placed: list[Value], spread: Spread, fills: bool) -> Value:
    """What ``*name`` of a function holds. ``fills``: some of what is spread goes to parameters before it."""
    if placed:
        return ListValue(list(placed), open=True)
    if not isinstance(spread.rest, Sequence):
        return Unknown(name, spread.rest.reason if isinstance(spread.rest, Unknown) else spread.reason, spread.anchor, hint="tuple")
    return replace(spread.rest, length=Unknown(f"len({name})", "data", spread.anchor)) if fills else spread.rest
