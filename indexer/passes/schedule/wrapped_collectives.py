"""Collectives that no line calls: what DDP, FSDP, DataParallel and tensor-parallel plans send with forward and backward."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.trace import ModuleCall, ScopeNode
from cgx.indexer.interpreter.values import ModuleInstance
from cgx.indexer.passes.schedule.frequency import frequency_of, steady
from cgx.indexer.passes.schedule.situation import Run, data_of
from cgx.indexer.passes.schedule.tree import Spot

Row = tuple[int, dict[str, Any]]


def wrapper_rows(run: Run) -> list[Row]:
    rows: list[Row] = []
    owns = owned(run)
    for spot in run.events("wrap"):
        kind = data_of(spot).get("wrapper")
        if kind == "DistributedDataParallel":
            rows += ddp_rows(run, spot)
        elif kind in ("fully_shard", "FullyShardedDataParallel"):
            rows += sharded_rows(run, spot) if owns.get(id(spot.node)) else []
        elif kind in ("parallelize_module", "DeepSpeedEngine"):
            rows += plan_rows(run, spot)
    return rows


def base(spot: Spot, collective: str, **more: Any) -> dict[str, Any]:
    data = data_of(spot)
    row = {"collective": collective, "parallelism": data.get("parallelism") or "data", "issued_by": data["wrapper"], **more}
    row["code_anchor"] = str(spot.anchor)
    return row


def calls_of(run: Run, module: ModuleInstance | None) -> list[Spot]:
    """Calls of the wrapped root in the step and in evaluations."""
    return [spot for spot in run.spots if isinstance(spot.node, ModuleCall) and spot.node.module is module and not spot.in_worker]


def unsynced(spot: Spot) -> bool:
    """Inside a ``no_sync`` region."""
    return any(isinstance(one, ScopeNode) and one.qname.endswith(("no_sync", "no_backward_sync")) for one in spot.path)


def switch(run: Run) -> Spot | None:
    """The place that switches the gradient sync on for some micro-steps only."""
    return next((spot for spot in run.events("compute", "grad_sync") if data_of(spot).get("guard")), None)


def backward_places(run: Run) -> list[tuple[Spot, dict[str, Any]]]:
    """Backwards in which gradients are reduced, with their place; one where micro-steps share them."""
    found: list[tuple[Spot, dict[str, Any]]] = []
    skipping = any(unsynced(spot) for spot in run.step.backwards) or any(
        data_of(spot).get("value") == "no_sync" for spot in run.events("compute", "grad_sync")
    )
    guard = switch(run)
    for spot in steady(run.step.backwards):
        if unsynced(spot):
            continue
        place = run.place(spot)
        if (skipping or guard is not None) and place["frequency"].get("per") == "micro-step":
            place["frequency"] = {**place["frequency"], "per": "step"}
            if guard is not None:
                place["frequency"]["guard"] = data_of(guard)["guard"]
        found.append((spot, place))
    return found


def ddp_rows(run: Run, spot: Spot) -> list[Row]:
    """Gradient buckets in each backward that syncs; buffers before each forward where there are any."""
    rows: list[Row] = []
    module = data_of(spot).get("module")
    for backward, place in backward_places(run)[:1]:
        rows.append((backward.order, {**base(spot, "all_reduce", blocking=False, waited_at=str(backward.anchor)), **place}))
    if data_of(spot).get("broadcast_buffers"):
        seen: set[str] = set()
        for call in calls_of(run, module):
            place = run.place(call)
            if place["phase"] in seen:
                continue
            seen.add(place["phase"])
            if place["phase"] == "evaluation":
                place["repeat"] = 1  # without gradients only the first forward after training still syncs
            rows.append((call.order, {**base(spot, "broadcast", blocking=True), **place}))
    return rows


def owned(run: Run) -> dict[int, bool]:
    """For each wrap event of a sharded unit: whether it holds parameters that no earlier unit took."""
    taken: set[int] = set()
    answer: dict[int, bool] = {}
    for spot in run.events("wrap"):
        if data_of(spot).get("wrapper") not in ("fully_shard", "FullyShardedDataParallel"):
            continue
        mine = False
        for module in data_of(spot).get("modules", []):
            for tensor in parameters(module):
                if id(tensor) not in taken:
                    taken.add(id(tensor))
                    mine = True
        answer[id(spot.node)] = mine
    return answer


def parameters(module: ModuleInstance) -> list[Any]:
    stack, seen, found = [module], set(), []
    while stack:
        one = stack.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        found += [value for value in one.parameters.values() if value is not None]
        stack.extend(child for child in one.children.values() if isinstance(child, ModuleInstance))
    return found


def sharded_rows(run: Run, spot: Spot) -> list[Row]:
    """Gather, gather again where resharded, scatter the gradients: for a unit with parameters of its own."""
    data = data_of(spot)
    if data.get("strategy") == "NO_SHARD":
        return []
    name = ", ".join(run.naming.of(one) or one.cls.name for one in data.get("modules", []))
    rows: list[Row] = []
    for call in steady(run.step.forwards)[:1]:
        place = within_step(run, call)
        rows.append((call.order, {**base(spot, "all_gather", blocking=False), **place, "module": name}))
    for backward, place in backward_places(run)[:1]:
        here = {**place, "repeat": 1, "frequency": frequency_of(backward, run.step), "phase": "backward"}
        if resharded(data):
            rows.append((backward.order, {**base(spot, "all_gather", blocking=False), **here, "module": name}))
        scatter = {**base(spot, "reduce_scatter", blocking=False), **here, "frequency": place["frequency"], "module": name}
        rows.append((backward.order, scatter))
    return rows


def resharded(data: dict[str, Any]) -> bool:
    """Parameters are freed after the forward: the default; not for a root, nor where switched off."""
    value = data.get("reshard_after_forward")
    return value is None or (bool(value) if isinstance(value, bool | int) else True)


def within_step(run: Run, call: Spot) -> dict[str, Any]:
    place = run.place(call)
    return {**place, "repeat": 1}


def plan_rows(run: Run, spot: Spot) -> list[Row]:
    """Collectives of the style of one layer."""
    data = data_of(spot)
    name = run.naming.of(data["module"]) if data.get("module") is not None else ""
    rows: list[Row] = []
    for phase, collective in data.get("sends", ()):
        anchors = {"forward": run.step.forwards, "backward": run.step.backwards, "optimizer": run.step.optimizers}[phase]
        for one in steady(anchors)[:1]:
            place = {**run.place(one), "repeat": 1}
            rows.append((one.order, {**base(spot, collective, blocking=bool(data.get("blocking", True))), **place, "module": name}))
    return rows


