"""Rows of ``device_device``: explicit collectives, and those that wrappers issue."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.trace import Event, ModuleCall, Node, OpNode
from cgx.indexer.passes.schedule.merge import in_run_order
from cgx.indexer.passes.schedule.micro_steps import per_micro_step
from cgx.indexer.passes.schedule.situation import Run, caller, data_of
from cgx.indexer.passes.schedule.tree import Spot
from cgx.indexer.passes.schedule.wrapped_collectives import wrapper_rows

FIELDS = ("collective", "parallelism", "group", "blocking", "async_op", "issued_by", "waited_at", "bytes")
REPLICATING = frozenset({"DistributedDataParallel", "FullyShardedDataParallel", "fully_shard"})


def collective_rows(run: Run) -> list[dict[str, Any]]:
    """Collectives in the order of the run; a job of one process sends nothing."""
    rows: list[tuple[int, dict[str, Any]]] = []
    if run.trace.world_size != 1:
        for spot in run.events("collective"):
            if data_of(spot).get("pass") == "backward" and run.phases.of(spot) != "backward":
                continue  # the forward of an evaluation has no backward
            rows.append((spot.order, explicit_row(run, spot)))
        rows += wrapper_rows(run)
    return per_micro_step(run.step, in_run_order(rows))


def explicit_row(run: Run, spot: Spot) -> dict[str, Any]:
    data = dict(data_of(spot))
    if data.get("parallelism") is None:
        data["parallelism"] = purpose_of_place(run, spot, data)
    if data.get("async_op"):
        data["blocking"] = not overlaps(spot, data)
    row: dict[str, Any] = {}
    for name in FIELDS:
        value = data.get(name)
        if value is not None:
            row[name] = str(value) if name == "waited_at" else value
    row |= run.place(spot)
    if spot.modules:
        row["module"] = spot.modules[-1]
    row["code_anchor"] = str(spot.anchor)
    site = caller(spot)
    if site is not None:
        row["called_from"] = str(site)
    return row


def purpose_of_place(run: Run, spot: Spot, data: dict[str, Any]) -> str | None:
    """The default group: inside a model's forward activations move (tensor), elsewhere gradients, metrics or control (data).

    Where the model is replicated or sharded over that group, its ranks hold other samples in the forward too. Where a model is
    split over it, what else goes over it keeps those ranks alike.
    """
    if not data.get("default_group"):
        return None
    if replicated(run):
        return "data"
    return "tensor" if spot.modules or any(other.modules and data_of(other).get("default_group") for other in run.events("collective")) else "data"


def replicated(run: Run) -> bool:
    """Some module is wrapped for data parallelism, and none for tensor parallelism."""
    kinds = {data_of(spot).get("wrapper") for spot in run.events("wrap")}
    return bool(kinds & REPLICATING) and "parallelize_module" not in kinds


def overlaps(spot: Spot, data: dict[str, Any]) -> bool:
    """Whether other work is issued between the call and the place that waits for its handle."""
    if data.get("overlapped") is not None:
        return bool(data["overlapped"])
    if data.get("waited_at") is None:
        return True
    siblings = spot.path[-1].children if spot.path else []
    seen = False
    for node in siblings:
        if node is spot.node:
            seen = True
        elif seen:
            if isinstance(node, Event) and node.kind == "wait" and node.data.get("of") is spot.node:
                return False
            if works(node):
                return True
    return True


def works(node: Node) -> bool:
    """Device work, or another event."""
    return isinstance(node, OpNode | ModuleCall) or (isinstance(node, Event) and node.kind in ("collective", "compute"))
