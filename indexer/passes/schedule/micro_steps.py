"""Micro-steps that no single loop holds, and the loop round them that only a failure repeats.

A pipeline's schedule runs forwards to warm up, forwards and backwards by turns, and the backwards that are left; without a
pipeline the last micro-batch may stand behind the loop over the others, where gradients are sent. The model runs forward and
backward as often as there are micro-batches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cgx.indexer.interpreter.trace import LoopNode, ModuleCall
from cgx.indexer.passes.schedule.counts import as_count, product, total

if TYPE_CHECKING:
    from cgx.indexer.passes.schedule.step import Step
    from cgx.indexer.passes.schedule.tree import Spot

SPREAD = ("forward", "backward", "data")  # phases that a micro-step has


def spread(step: Step) -> bool:
    """Whether the step's micro-steps stand in several places; then ``accumulate`` and ``micro_place`` say so, and ``micro`` is none."""
    again = step.micro if step.micro is not None and step.micro.over == "while" and step.micro.entered and as_count(step.micro.count) is None else None
    base = again or step.loop
    if base is None or (step.micro is not None and again is None and not beside(step)):
        return False
    forwards, backwards = (most(by_model(some), base) for some in (step.forwards, step.backwards))
    if again is None and (forwards != backwards or forwards in (None, 1) or not looped(step.forwards, base)):
        return False
    if again is not None and forwards != backwards:
        return False
    step.retry, step.micro = again, None
    if forwards is not None and forwards > 1:
        step.accumulate, step.micro_place = forwards, longest(step.forwards, base)
    return True


def beside(step: Step) -> bool:
    """Forwards of the micro-step's own model stand outside its loop."""
    held = [spot for spot in step.forwards if step.micro is not None and spot.holds(step.micro)]
    return any(model_of(spot) is model_of(held[0]) for spot in step.forwards if spot not in held) if held else False


def model_of(spot: Spot) -> Any:
    return spot.node.module if isinstance(spot.node, ModuleCall) else None


def by_model(some: list[Spot]) -> list[list[Spot]]:
    """Calls of each model; backwards are of all."""
    groups: list[list[Spot]] = []
    for spot in some:
        group = next((one for one in groups if model_of(one[0]) is model_of(spot)), None)
        if group is None:
            groups.append([spot])
        else:
            group.append(spot)
    return groups


def most(groups: list[list[Spot]], base: LoopNode) -> int | None:
    """How often the busiest model runs in one round of ``base``."""
    counts = [total(rounds(spot, base) for spot in group if spot.holds(base)) for group in groups]
    return None if None in counts or not counts else max(one for one in counts if one is not None)


def rounds(spot: Spot, base: LoopNode) -> int | None:
    loops = [one for one in spot.below(base) if isinstance(one, LoopNode) and not one.iterations]
    return product(as_count(one.count) for one in loops)


def looped(some: list[Spot], base: LoopNode) -> bool:
    return any(isinstance(one, LoopNode) for spot in some for one in spot.below(base))


def longest(some: list[Spot], base: LoopNode) -> LoopNode | None:
    """The loop that runs the most of the micro-steps."""
    loops = [one for spot in some if spot.holds(base) for one in spot.below(base) if isinstance(one, LoopNode) and as_count(one.count) is not None]
    return max(loops, key=lambda one: as_count(one.count) or 0, default=None)


def per_micro_step(step: Step, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of one step, for each of its micro-steps where they say the same of all."""
    if step.micro_place is None or not step.accumulate:
        return rows
    return [each(row, step.accumulate) for row in rows]


def each(row: dict[str, Any], count: int) -> dict[str, Any]:
    rate, repeat = row.get("frequency", {}), row.get("repeat")
    if row.get("phase") not in SPREAD or rate.get("per") != "step" or "every" in rate or not repeat or repeat % count:
        return row
    return {**row, "frequency": {**rate, "per": "micro-step"}, "repeat": repeat // count}
