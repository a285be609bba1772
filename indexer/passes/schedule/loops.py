"""Rows of ``loops``: the loops of the job outside a model's forward, named by what one round of them is."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.trace import SEARCH, LoopNode, ModuleCall
from cgx.indexer.passes.schedule.counts import loop_count, sure_count
from cgx.indexer.passes.schedule.merge import merged
from cgx.indexer.passes.schedule.situation import Run
from cgx.indexer.passes.schedule.tree import Spot

MICROBATCH = "microbatch"  # what a pipeline's schedule goes through, forward and back
OUTER = ("epoch", "step", "request", "micro-step")  # loops that hold several phases


def loop_rows(run: Run) -> list[dict[str, Any]]:
    rows = []
    for spot in run.spots:
        if isinstance(spot.node, LoopNode) and not spot.in_module and not spot.in_worker and worth_it(run, spot):
            rows.append(row(run, spot, spot.node))
    return merged(rows)


def worth_it(run: Run, spot: Spot) -> bool:
    """Units, and loops that hold a model call or a backward."""
    if run.step.unit(spot.node) is not None:
        return True
    once = isinstance(spot.node, LoopNode) and loop_count(spot.node) == 1 and spot.node.over in ("list", "container") and spot.node.target != MICROBATCH
    return id(spot.node) in run.busy and not once and not run.phases.regions.constructs(spot)


def row(run: Run, spot: Spot, loop: LoopNode) -> dict[str, Any]:
    found = {
        "unit": unit_name(run, spot, loop),
        "count": (loop_count if run.step.unit(loop) else sure_count)(loop) if not loop.iterations else len(loop.iterations),
        "expr": loop.expr,
        "inside": None if run.step.unit(loop) in OUTER or loop.target == MICROBATCH else "optimizer" if loop.over == SEARCH else held_phase(run, spot, loop),
        "code_anchor": str(loop.anchor),
    }
    return {key: value for key, value in found.items() if value is not None or key == "count"}


def held_phase(run: Run, spot: Spot, loop: LoopNode) -> str:
    """The phase of the model's call that the loop holds, where it holds one."""
    calls = (one for one in run.spots if isinstance(one.node, ModuleCall) and one.holds(loop))
    first = next(calls, None)
    return run.phases.of(spot if first is None else first)


def unit_name(run: Run, spot: Spot, loop: LoopNode) -> str:
    """The unit's own name, else what one round does."""
    known = run.step.unit(loop)
    if known:
        return known
    if loop.target == MICROBATCH:
        return MICROBATCH
    if loop.over == SEARCH:
        return "closure"
    phase = held_phase(run, spot, loop)
    direct = any(
        isinstance(other.node, ModuleCall) and other.outer_loops() and other.outer_loops()[-1] is loop for other in run.spots if other.holds(loop)
    )
    if phase == "evaluation":
        return "evaluation batch" if direct else f"evaluation {loop.target}".strip()
    return f"{phase} {loop.target}".strip()
