"""Rows of ``data_path``: each hop of a batch from storage to the device, in order."""

from __future__ import annotations

import re
from typing import Any

from cgx.indexer.interpreter.trace import CallNode, Event, LoopNode, ModuleCall
from cgx.indexer.interpreter.values import TensorValue, Value
from cgx.indexer.passes.schedule.frequency import repeat_in_step, unit_loop
from cgx.indexer.passes.schedule.host_hops import host_hops
from cgx.indexer.passes.schedule.merge import merged
from cgx.indexer.passes.schedule.situation import Run, data_of
from cgx.indexer.passes.schedule.step import is_model
from cgx.indexer.passes.schedule.stepped import HostCall
from cgx.indexer.passes.schedule.tree import Spot, heads

MADE = re.compile(r"(torch|th)\.(zeros|ones|empty|full|eye|arange|linspace|rand\w*|[Tt]ensor)\w*\(")
METHOD = re.compile(r"\.(to|cuda|copy_|cpu|xpu)\(")
MOVERS = (("overlays.accelerate", "accelerate.utils.send_to_device"), ("overlays.hf", "accelerate.utils.send_to_device"),
          ("overlays.lightning", "lightning.fabric.utilities.move_data_to_device"), ("overlays.data_loader", "torch.Tensor.to"))  # fmt: skip
FIELDS = ("hop", "by", "workers", "asynchronous", "blocks_step")
STARTUP = 2  # the place of its hops behind those of the step and of evaluation


def data_path_rows(run: Run, hosted: list[HostCall]) -> list[dict[str, Any]]:
    """Hops of the training (or request) data first, then those of evaluation. ``hosted``: the step's host calls."""
    rows: list[tuple[int, int, dict[str, Any]]] = []
    for call in hosted:
        if call.phase == "schedule":
            rows.append((0, 0, {"hop": "sample", "by": call.name, "workers": 0, "asynchronous": False, "blocks_step": True, "repeat": 1,
                                "code_anchor": str(call.anchor)}))  # fmt: skip
    for spot in fetches(run):
        rows += loader_rows(run, spot)
    for spot in run.events("data"):
        if data_of(spot).get("hop"):
            rows.append((rank(run, spot), spot.order, own_row(run, spot, data_of(spot))))
    for spot, hop, by in host_hops(run):
        if (rank(run, spot) and not run.own(spot)) or handed_out(run, spot):
            continue
        rows.append((rank(run, spot), spot.order, own_row(run, spot, {"hop": hop, "by": by})))
    copies = []
    for spot in run.events("copy"):
        data = data_of(spot)
        if data.get("direction") == "H2D" and not data.get("carrier") and is_batch(run, spot) and not handed_out(run, spot):
            copies.append((rank(run, spot), spot.order, copy_row(run, spot, data)))
    moved = run.step.kind == "training" and any(place == 0 for place, _, _ in copies)
    rows += [row for row in copies if not (moved and row[0] == STARTUP)]  # what is made before the first step is no batch then
    ordered = [one for _, _, one in sorted(rows, key=lambda entry: entry[:2])]
    return merged(dedupe(ordered))


def handed_out(run: Run, spot: Spot) -> bool:
    """In a job that answers: what each denoising step makes for itself, or what becomes of a result, is no way in."""
    if run.step.kind == "training":
        return False
    loop = unit_loop(spot, run.step)
    return run.phases.of(spot) == "respond" or (loop is not None and run.step.unit(loop) == "denoising step")


def fetches(run: Run) -> list[Spot]:
    """Where batches are taken. Opening a loader counts only where nothing is seen to take from it."""
    found = run.events("fetch")
    taken = {id(data_of(spot).get("loader")) for spot in found if not data_of(spot).get("opened")}
    return [spot for spot in found if not data_of(spot).get("opened") or id(data_of(spot).get("loader")) not in taken]


def dedupe(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One hop at one line is one row, however many tensors take it: the step's, else evaluation's, else startup's."""
    seen: set[tuple[Any, ...]] = set()
    kept = []
    for row in rows:
        key = (row["hop"], row["by"], row["code_anchor"])
        if key not in seen:
            seen.add(key)
            kept.append(row)
    return kept


def rank(run: Run, spot: Spot) -> int:
    return {"evaluation": 1, "startup": STARTUP, "teardown": 3}.get(run.phases.of(spot), 0)


def is_batch(run: Run, spot: Spot) -> bool:
    """A copy of data, not of a metric or of state: a trainer's batches are moved, requests may be built on the spot."""
    if run.regions.generated(spot):
        return not data_of(spot).get("index") and (data_of(spot).get("bytes") or 99) > 8
    if data_of(spot).get("factory") and (run.step.kind == "training" or run.phases.of(spot) not in ("data", "prefill")):
        return False
    if run.step.kind == "training" and run.phases.of(spot) == "startup" and MADE.match(str(data_of(spot).get("what"))):
        return False  # a buffer, made before the first step
    if rank(run, spot) and (not run.own(spot) or constant(data_of(spot).get("tensor"))):
        return False  # weights that a library puts aside, tables of a metric
    if run.step.kind == "training" and (number(run, spot) or (run.phases.of(spot) == "startup" and sets_up(spot))):
        return False
    prepared = not any(isinstance(one, ModuleCall) and is_model(one.module) for one in spot.path)  # by a module that only moves it
    return run.phases.of(spot) in ("data", "evaluation", "startup", "prefill", "decode", "sample") and (not spot.in_module or prepared)


def constant(tensor: Value) -> bool:
    """A parameter, or numbers that stand in the source: no data."""
    return isinstance(tensor, TensorValue) and (tensor.parameter or tensor.const is not None)


def number(run: Run, spot: Spot) -> bool:
    """A number that the ranks tell each other: a seed, a metric."""
    data = data_of(spot)
    made = str(data.get("what", "")).startswith(("torch.tensor(", "torch.as_tensor(")) or run.phases.of(spot) == "startup"
    return made and (data.get("bytes") or 99) <= 8


def sets_up(spot: Spot) -> bool:
    """In a method of a module, such as one that fills its buffers."""
    return any(isinstance(one, CallNode) and one.owner is not None for one in spot.path)


def loader_rows(run: Run, spot: Spot) -> list[tuple[int, int, dict[str, Any]]]:
    """The hops that the fetch of a loader holds; they run once a batch, in the loop that follows."""
    place = rank(run, spot)
    shared = run.step.accumulate_branch is not None or run.step.micro_place is not None or (run.step.micro is not None and spot.holds(run.step.micro))
    repeat = run.step.accumulate if shared and run.phases.in_step(spot) else 1
    rows = []
    for hop in data_of(spot).get("hops", []):
        row = {name: hop[name] for name in FIELDS if hop.get(name) is not None}
        row["repeat"] = repeat
        row["code_anchor"] = str(hop.get("anchor") or spot.anchor)
        rows.append((place, spot.order, row))
    return rows


def loop_after(spot: Spot) -> LoopNode | None:
    """The loop over the loader that the fetch belongs to; None where batches are taken by ``next``."""
    last = spot.path[-1] if spot.path else None
    return last if isinstance(last, LoopNode) and heads(last, spot.anchor) else None


def own_row(run: Run, spot: Spot, data: dict[str, Any]) -> dict[str, Any]:
    """A hop that the step's own code takes."""
    in_step = run.phases.in_step(spot)
    row = {name: data[name] for name in FIELDS if data.get(name) is not None}
    row.setdefault("workers", 0)
    row.setdefault("asynchronous", False)
    row["blocks_step"] = bool(data.get("blocks_step", True)) and in_step
    row["repeat"] = repeat_in_step(spot, run.step, samples=False)
    row["code_anchor"] = str(spot.anchor)
    return row


def mover(spot: Spot) -> str:
    """What copies, by its qualified name: a method of tensors, or what a framework moves batches with."""
    assert isinstance(spot.node, Event)
    framework = next((name for author, name in MOVERS if spot.node.author.startswith(author)), None)
    found = METHOD.search(spot.node.text)
    return framework or (f"torch.Tensor.{found[1]}" if found else spot.node.text.partition("(")[0] or "copy")


def copy_row(run: Run, spot: Spot, data: dict[str, Any]) -> dict[str, Any]:
    waits = data.get("blocks_host")
    row: dict[str, Any] = {"hop": "copy", "by": mover(spot), "workers": 0}
    if waits is not None:
        row["asynchronous"] = not waits
        row["blocks_step"] = bool(waits) and run.phases.in_step(spot)
    row["repeat"] = repeat_in_step(spot, run.step)
    row["code_anchor"] = str(spot.anchor)
    return row

