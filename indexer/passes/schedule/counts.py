"""Numbers of loops: a count as it may stand in a record, products, values that are equal on all ranks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cgx.indexer.interpreter.trace import LoopNode
from cgx.indexer.interpreter.values import ByRank


def as_count(value: Any) -> int | None:
    """An int, or None where it is symbolic, unknown or differs between ranks."""
    if isinstance(value, ByRank):
        first = value.values[0]
        return as_count(first) if all(one == first for one in value.values) else None
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value


def loop_count(loop: LoopNode) -> int | None:
    """How often the body runs; None where a break may end it and no count is known."""
    return as_count(loop.count)


def sure_count(loop: LoopNode) -> int | None:
    """How often the body of a loop inside a unit runs; None where a break or return may end it before."""
    return None if loop.early_exit else loop_count(loop)


def product(values: Iterable[int | None]) -> int | None:
    total = 1
    for value in values:
        if value is None:
            return None
        total *= value
    return total


def total(values: Iterable[int | None]) -> int | None:
    result = 0
    for value in values:
        if value is None:
            return None
        result += value
    return result
