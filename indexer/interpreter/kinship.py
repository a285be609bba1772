"""What a value has to do with parameters: a loop of the job that writes them in place is its optimizer, or moves an average."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cgx.indexer.interpreter.values import TensorValue, Unknown, Value

# on a tensor: SAME (a view of a parameter), ALONE (made of one parameter: cast, scaled), MIXED (of several), GRADIENT (made with one)
KIN = "cgx.kin"
SAME, ALONE, MIXED, GRADIENT = "same", "alone", "mixed", "gradient"
COPIES = ("", "copy_", "set_")  # what puts a value in place of the old one; "": an assignment


def kin_of(value: Value) -> str:
    if isinstance(value, TensorValue):
        return SAME if value.parameter else str(value.attrs.get(KIN, ""))
    return GRADIENT if isinstance(value, Unknown) and value.hint == "tensor" and value.name.endswith(".grad") else ""


def is_tensor(value: Value) -> bool:
    return isinstance(value, TensorValue) or (isinstance(value, Unknown) and value.hint == "tensor")


def mark(result: Value, values: Iterable[Value], view: bool) -> None:
    """What an op makes of parameters or gradients is kin to them."""
    if not isinstance(result, TensorValue) or result.parameter:
        return
    kinds = [kin_of(value) for value in values if is_tensor(value)]
    if GRADIENT in kinds:
        result.attrs[KIN] = GRADIENT
    elif kinds and all(kinds):
        result.attrs[KIN] = MIXED if len(kinds) > 1 else SAME if view and kinds == [SAME] else ALONE if kinds[0] == SAME else kinds[0]


def written(interp: Any, name: str, target: Value, others: list[Value], site: Any) -> None:
    """An in-place op on a parameter, in a loop of the job: with its gradient a step, with other parameters an average."""
    if not interp.loops or interp.constructing_stack or kin_of(target) != SAME:
        return
    kinds = [kin_of(value) for value in others if is_tensor(value) and value is not target]
    if GRADIENT in kinds:
        interp.event("compute", site, author="interpreter.kinship", key="optimizer_step", value="by hand", once=True)
    elif kinds and all(kinds) and not (name in COPIES and MIXED not in kinds):
        interp.event("compute", site, author="interpreter.kinship", key="ema", value="in place", once=True)
