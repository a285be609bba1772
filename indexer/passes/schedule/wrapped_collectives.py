"""Collectives that no line calls: what DDP, FSDP, DataParallel and tensor-parallel plans send with forward and backward."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.trace import ModuleCall, ScopeNode
from cgx.indexer.interpreter.values import ModuleInstance
from cgx.indexer.passes.schedule.frequency import frequency_of, steady, usual
from cgx.indexer.passes.schedule.situation import Run, data_of
from cgx.indexer.passes.schedule.tree import Spot

SHARDED = ("fully_shard", "FullyShardedDataParallel")
Row = tuple[int, dict[str, Any]]


def wrapper_rows(run: Run) -> list[Row]:
    rows: list[Row] = []
    owns, outermost = owned(run), roots(run)
    for spot in run.events("wrap"):
        kind = data_of(spot).get("wrapper")
        if kind == "DistributedDataParallel":
            rows += ddp_rows(run, spot)
        elif kind in SHARDED:
            rows += sharded_rows(run, spot, id(spot.node) in outermost, owns[id(spot.node)]) if owns.get(id(spot.node)) else []
        elif kind in ("parallelize_module", "SyncBatchNorm"):
            rows += plan_rows(run, spot)
        elif kind == "DeepSpeedEngine":
            rows += engine_rows(run, spot)
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


def skips(run: Run) -> bool:
    """Some micro-steps leave the gradients where they are."""
    off = any(data_of(spot).get("value") == "no_sync" for spot in run.events("compute", "grad_sync"))
    return off or switch(run) is not None or any(unsynced(spot) for spot in run.step.backwards)


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
    kept = usual([spot for spot, _ in found])
    return [(spot, place) for spot, place in found if spot in kept]


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
            if skips(run) and place["frequency"].get("per") == "micro-step":
                place["frequency"] = {**place["frequency"], "per": "step"}  # only after a backward that synced
            if place["phase"] == "evaluation":
                place["repeat"] = 1  # without gradients only the first forward after training still syncs
            rows.append((call.order, {**base(spot, "broadcast", blocking=True), **place}))
    return rows


def owned(run: Run) -> dict[int, list[Any]]:
    """For each wrap event of a sharded unit: the parameters that no earlier unit took."""
    taken: set[int] = set()
    answer: dict[int, list[Any]] = {}
    for spot in run.events("wrap"):
        if data_of(spot).get("wrapper") not in SHARDED:
            continue
        mine = []
        for module in data_of(spot).get("modules", []):
            for tensor in parameters(module):
                if id(tensor) not in taken:
                    taken.add(id(tensor))
                    mine.append(tensor)
        answer[id(spot.node)] = mine
    return answer


def roots(run: Run) -> set[int]:
    """Ids of wrap events of units that lie in no other unit: their parameters stay gathered between forward and backward.

    ``inner``: the event stands for units inside a module whose source is not there.
    """
    units = [(spot.node, set(map(id, data_of(spot).get("modules", [])))) for spot in run.events("wrap") if data_of(spot).get("wrapper") in SHARDED]
    below = {id(node): {id(one) for module in node.data.get("modules", []) for one in descendants(module)} for node, _ in units}  # type: ignore[attr-defined]
    return {
        id(node)
        for node, own in units
        if own and not node.data.get("inner")  # type: ignore[attr-defined]
        and not any(other is not node and own & below[id(other)] and not held & own for other, held in units)
    }


def unit_data(run: Run, spot: Spot) -> dict[str, Any]:
    """What a sharded unit was told, with what was set on its modules later."""
    data = dict(data_of(spot))
    own = set(map(id, data.get("modules", [])))
    for other in run.events("wrap"):
        told = data_of(other)
        for key in ("reshard_after_forward", "unshard_in_backward"):
            if told.get("wrapper") == f"set_{key}" and own & set(map(id, told["modules"])):
                data[key] = told.get(key)
    return data


def descendants(module: ModuleInstance) -> list[ModuleInstance]:
    """The module and all below it."""
    stack, seen, found = [module], set(), []
    while stack:
        one = stack.pop()
        if id(one) not in seen:
            seen.add(id(one))
            found.append(one)
            stack.extend(child for child in one.children.values() if isinstance(child, ModuleInstance))
    return found


def parameters(module: ModuleInstance) -> list[Any]:
    return [value for one in descendants(module) for value in one.parameters.values() if value is not None]


def sharded_rows(run: Run, spot: Spot, root: bool, own: list[Any]) -> list[Row]:
    """Gather, gather again where resharded, scatter the gradients: for a unit with parameters of its own.

    A unit that learns nothing sends no gradients, and takes part in the backward only where something before it learns. Where units are replicated too (a mesh of two dims, a hybrid strategy), the scattered gradients are summed over the replicas.
    """
    data = unit_data(run, spot)
    name = ", ".join(run.naming.of(one) or one.cls.name for one in data.get("modules", []))
    rows: list[Row] = []
    each = None if data.get("inner") or "*" in name.split(".") else 1  # units of a model that is not there, or of an open list: how many is not known
    whole = data.get("strategy") == "NO_SHARD"
    for call in gathering(run, data.get("modules", [])) if not whole else ():
        place = {**run.place(call), "repeat": each}
        rows.append((call.order, {**base(spot, "all_gather", blocking=False), **place, "module": name}))
    for call in evaluated(run)[:1] if not whole and each is not None else ():
        rows.append((call.order, {**base(spot, "all_gather", blocking=False), **run.place(call), "module": name}))
    learns = any(learnt(tensor) for tensor in own)
    for backward, place in backward_places(run)[:1] if learns or any(input_learns(run, one) for one in data.get("modules", [])) else ():
        here = {**place, "repeat": each, "frequency": frequency_of(backward, run.step), "phase": "backward"}
        if resharded(data, root) and not whole:
            rows.append((backward.order, {**base(spot, "all_gather", blocking=False), **here, "module": name}))
        for collective in () if not learns else ("all_reduce",) if whole else ("reduce_scatter", "all_reduce") if data.get("replicated") else ("reduce_scatter",):
            sent = {**base(spot, collective, blocking=False), **here, "frequency": place["frequency"], "module": name}
            rows.append((backward.order, sent))
    return rows


def gathering(run: Run, units: list[ModuleInstance]) -> list[Spot]:
    """Calls for which units are gathered: the step's forward; where a job only infers, each call of the model that holds them."""
    found = usual(steady(run.step.forwards))
    if run.step.kind == "training":
        return found[:1]
    wanted = set(map(id, units))
    models = [spot for spot in run.spots if isinstance(spot.node, ModuleCall) and not spot.in_module and not spot.in_worker]
    holding = [spot for spot in models if run.phases.of(spot) != "startup" and wanted & {id(one) for one in descendants(spot.node.module)}]  # type: ignore[attr-defined]
    return holding or found[:1]


def evaluated(run: Run) -> list[Spot]:
    """Calls of the trained models in evaluations: their units are gathered there too."""
    trained = [spot.node.module for spot in run.step.forwards if isinstance(spot.node, ModuleCall)]
    return [spot for module in trained[:1] for spot in calls_of(run, module) if run.phases.of(spot) == "evaluation"]


def resharded(data: dict[str, Any], root: bool) -> bool:
    """Parameters are freed after the forward: the default; not for a root that nobody asked to, nor where switched off."""
    if root and (data.get("wrapper") == "FullyShardedDataParallel" or data.get("reshard_after_forward") is None):
        return False
    if data.get("unshard_in_backward") is False:
        return False  # what the backward does not ask for, as of an embedding
    value = data.get("reshard_after_forward")
    return value is None or (bool(value) if isinstance(value, bool | int) else True)


def plan_rows(run: Run, spot: Spot) -> list[Row]:
    """Collectives of the style of one layer."""
    data = data_of(spot)
    module = data.get("module")
    name = run.naming.of(module) if module is not None else ""
    rows: list[Row] = []
    sends = list(data.get("sends", ()))
    if data.get("style") == "sequence" and isinstance(module, ModuleInstance) and in_a_unit(run, module):
        sends += [("backward", "all_reduce", "")] * len(parameters(module))  # each rank saw its part of the sequence
    for phase, collective, *purpose in sends:
        if purpose == ["input"] and not input_learns(run, module):
            continue
        anchors = {"forward": run.step.forwards, "backward": run.step.backwards, "optimizer": run.step.optimizers}[phase]
        for one in usual(steady(anchors))[:1]:
            place = {**run.place(one), "repeat": 1}
            rows.append((one.order, {**base(spot, collective, blocking=bool(data.get("blocking", True))), **place, "module": name}))
    return rows


def in_a_unit(run: Run, module: ModuleInstance) -> bool:
    """Below a module that ``fully_shard`` took: it lays the gradients out as the parameters are."""
    units = [one for spot in run.events("wrap") if data_of(spot).get("wrapper") == "fully_shard" for one in data_of(spot).get("modules", [])]
    return any(one is module for unit in units for one in descendants(unit))


def input_learns(run: Run, module: ModuleInstance | None) -> bool:
    """Something that learns runs in the step's forward before the module: the gradient of its input is needed."""
    for root in run.step.forwards[:1]:
        for node in root.node.walk():
            if not isinstance(node, ModuleCall) or node is root.node:
                continue
            if node.module is module:
                return False
            if not any(one is module for one in descendants(node.module)) and any(map(learnt, parameters(node.module))):
                return True
    return True


def learnt(tensor: Any) -> bool:
    """A parameter that is not known to be frozen."""
    return getattr(tensor, "requires_grad", None) is not False


def engine_rows(run: Run, spot: Spot) -> list[Row]:
    """What an engine's configuration says."""
    data = data_of(spot)
    module = data.get("module")
    name = run.naming.of(module) if module is not None else ""
    rows: list[Row] = []
    for one in data.get("sends", ()):
        blocking = bool(one.get("blocking", True))
        for at in reached(run, module, one):
            place = {**run.place(at), "repeat": 1}
            if one.get("boundary") and place["frequency"].get("per") == "micro-step":
                place["frequency"] = {**place["frequency"], "per": "step"}
            row = {**base(spot, one["collective"], blocking=blocking), **place, "module": name}
            if not blocking and one["phase"] == "backward":
                row["waited_at"] = str(at.anchor)
            rows.append((at.order, row))
    return rows


def reached(run: Run, module: Any, send: dict[str, Any]) -> list[Spot]:
    """Where it is sent: the first forward, backward or optimizer's step; a forward in each phase where it is sent ``everywhere``."""
    if not send.get("everywhere"):
        return usual(steady({"forward": run.step.forwards, "backward": run.step.backwards, "optimizer": run.step.optimizers}[send["phase"]]))[:1]
    first: dict[str, Spot] = {}
    for call in calls_of(run, module):
        first.setdefault(run.phases.of(call), call)
    return list(first.values())
