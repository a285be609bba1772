"""Small things that several parts of the fold need."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

T = TypeVar("T")


def distinct(items: Iterable[T], key: Callable[[T], Hashable]) -> list[T]:
    """The first item of each key, in order."""
    found: dict[Hashable, T] = {}
    for item in items:
        found.setdefault(key(item), item)
    return list(found.values())


def shorten(text: str, size: int = 80) -> str:
    """One line of at most ``size`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= size else line[: size - 1] + "…"
