"""The data phase of a job whose data already lies on the device: a batch is cut from it, and nothing is copied or waited for."""

from __future__ import annotations

import re
from typing import Any

from cgx.indexer.interpreter.trace import CallNode, LoopNode, OpNode
from cgx.indexer.interpreter.values import TensorValue
from cgx.indexer.passes.schedule.frequency import repeat_in_step
from cgx.indexer.passes.schedule.situation import Run

TAKES = re.compile(r"batch|sample|minibatch|next_data|get_data", re.IGNORECASE)
DRAWN = frozenset({"rand", "randn", "randint"})
NORMALISES = re.compile(r"batch_?norm|resample|upsample|downsample", re.IGNORECASE)


def add_taken(run: Run, rows: list[tuple[int, dict[str, Any]]]) -> None:
    """A phase at the call that cuts the batch, where no event showed one."""
    loop = run.step.micro or run.step.loop
    if run.step.kind != "training" or loop is None or any(row["name"] == "data" for _, row in rows):
        return
    first = min((spot.order for spot in run.step.forwards), default=0)
    for spot in run.spots:
        if spot.order >= first:
            return
        if not isinstance(spot.node, OpNode) or spot.in_module or spot.in_worker or not spot.holds(loop):
            continue
        below = spot.below(loop)
        call = next((one for one in below if isinstance(one, CallNode)), None)
        if any(isinstance(one, LoopNode) for one in below):
            continue
        name = call.symbol.rpartition(".")[2] if call is not None else ""
        if made_up(spot.node) if call is None else TAKES.search(name) and not NORMALISES.search(name):
            rows.append((spot.order, {"name": "data", "kind": "repeated", "repeat": repeat_in_step(spot, run.step), "runs_on": "device",
                                      "ranks": run.place(spot)["ranks"], "code_anchor": str((call or spot).anchor)}))  # fmt: skip
            return


def made_up(op: OpNode) -> bool:
    """Random numbers, drawn on the device in place of a batch."""
    return op.qname.rpartition(".")[2] in DRAWN and any(isinstance(one, TensorValue) and one.device not in ("cpu", None) for one in op.outputs)
