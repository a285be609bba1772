"""Loops that a counter ends."""

from __future__ import annotations

import ast

import pytest

from cgx.indexer.interpreter import counters

FRAME = object()


class Values:
    """Names of a frame, and how the interpreter reads an expression of them."""

    def __init__(self, **names: int) -> None:
        self.names = names

    def attempt(self, run):
        return run()

    def truth(self, value: object) -> bool:
        return bool(value)

    def eval(self, node: ast.expr, frame: object) -> object:
        return eval(ast.unparse(node), {}, self.names)


@pytest.mark.parametrize(
    ("text", "rounds"),
    [
        ("while True:\n step()\n n += 1\n if n > last:\n  break", 11),
        ("while True:\n step()\n n += 1\n if n >= last:\n  break", 10),
        ("while True:\n if n >= last:\n  break\n n += 2", 6),
        ("while n < last:\n step()\n n += 3", 4),
        ("while last > n:\n n += 1", 10),
        ("while n < last:\n step()\n n += 1\n n = other()", None),
        ("while n < last:\n step()\n if a: n += 1", 10),
        ("while n < last:\n step()\n if a: n += 1\n else: n += 2", None),
        ("while True:\n step()", None),
        ("while True:\n end = n == last\n if end:\n  break\n n += 2", 6),
        ("while True:\n if n == last:\n  break\n n += 3", None),
        ("while n > last:\n n += 1", None),
    ],
)
def test_rounds(text: str, rounds: int | None) -> None:
    loop = ast.parse(text).body[0]
    found = counters.planned(Values(n=0, last=10, a=1), loop, FRAME)
    assert (found[0] if found else None) == rounds


@pytest.mark.parametrize(("a", "holds"), [(0, True), (1, False)])
def test_another_break(a: int, holds: bool) -> None:
    loop = ast.parse("while True:\n if a:\n  break\n n += 1\n if n > last:\n  break").body[0]
    values = Values(n=0, last=10, a=a)
    found = counters.planned(values, loop, FRAME)
    assert found is not None and counters.holds(values, loop, FRAME, found[1]) is holds


@pytest.mark.parametrize(("a", "holds"), [(1, True), (0, False)])
def test_growth_under_a_condition_that_each_round_takes(a: int, holds: bool) -> None:
    loop = ast.parse("while n < last:\n step()\n if a: n += 1").body[0]
    assert counters.holds(Values(n=0, last=10, a=a), loop, FRAME, None) is holds
