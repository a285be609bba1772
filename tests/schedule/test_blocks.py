"""Conditions that hold for the rest of a block, and periods that survive under another name."""

from __future__ import annotations

import ast

import pytest

from cgx.indexer.interpreter.blocks import holds_in_period, negated


@pytest.mark.parametrize(
    ("text", "other"),
    [("i == -1", "not (i == -1)"), ("not (i == -1)", "i == -1"), ("not should_log", "should_log"), ("not a and b", "not (not a and b)")],
)  # fmt: skip
def test_negated(text: str, other: str) -> None:
    assert negated(text) == other


@pytest.mark.parametrize(("text", "holds"), [("i % 4 == 0", True), ("i % 4 != 0", False), ("not i % 4 == 0", False), ("not i % 4", False)])
def test_side_of_a_period(text: str, holds: bool) -> None:
    assert holds_in_period(ast.parse(text, mode="eval").body) is holds
