"""Rows of ``phases``: each phase once (or once for each period), where it stands in the step."""

from __future__ import annotations

import re
from typing import Any

from cgx.indexer.interpreter.trace import BranchNode, Event, LoopNode, ModuleCall, Node
from cgx.indexer.passes.schedule.counts import as_count, total
from cgx.indexer.passes.schedule.data_path import loop_after
from cgx.indexer.passes.schedule.device_batches import add_taken
from cgx.indexer.passes.schedule.frequency import frequency_of, repeat_in_step, steady
from cgx.indexer.passes.schedule.micro_steps import SPREAD
from cgx.indexer.passes.schedule.phase_of import OPTIMIZER_KEYS
from cgx.indexer.passes.schedule.phase_places import anchor_of, setup_anchor
from cgx.indexer.passes.schedule.situation import Run, last_words
from cgx.indexer.passes.schedule.step import is_model, replays
from cgx.indexer.passes.schedule.stepped import HostCall
from cgx.indexer.passes.schedule.tree import Spot

SHARED = ("prefill", "decode")
WINDOW = re.compile(r"\[[^\]]*\b[A-Za-z_]\w*\s*:\s*[A-Za-z_]\w*\s*\]")  # tokens[:, start:end]
STEPS = ("step", "micro-step")
EACH = tuple((per, None, "") for per in STEPS)
DEVICE_ONLY = frozenset({"forward", "backward", "optimizer", "decode", "sample"})
GATHERS = frozenset({"all_gather", "gather", "all_to_all", "send", "recv"})  # state is brought together; a barrier or a word is not
FIXED = re.compile(r"""print\((\s*(['"])[^'"{]*\2\s*(,\s*(end|flush)=[^,]*)*)?\)$""")  # a line that tells nothing of the run
HOST_KINDS = frozenset({"copy", "sync", "data", "fetch", "checkpoint"})


def phase_rows(run: Run, hosted: list[HostCall]) -> list[dict[str, Any]]:
    """Phases in the order in which they first occur, startup first and teardown last. ``hosted``: phases of the host alone."""
    members: dict[str, list[Spot]] = {}
    for spot in run.spots:
        if counts(spot):
            members.setdefault(run.phases.of(spot), []).append(spot)
    rows: list[tuple[int, dict[str, Any]]] = []
    for name, found in members.items():
        for part in split(run, name, found):
            row = make_row(run, name, part)
            if row is not None:
                rows.append((order_of(run, name, part), row))
    add_taken(run, rows)
    add_first_round(run, rows)
    add_startup(run, rows)
    add_hosted(run, rows, hosted)
    return [row for _, row in sorted(rows, key=lambda pair: pair[0])]


def add_first_round(run: Run, rows: list[tuple[int, dict[str, Any]]]) -> None:
    """A loop of tokens that feeds the model what the last round left out begins with the prompt: its first round is the prefill."""
    if run.step.kind != "inference serving" or run.phases.denoises or any(row["name"] == "prefill" and row["kind"] == "repeated" for _, row in rows):
        return
    for spot in run.step.forwards:
        if run.phases.inside_token_loop(spot) and isinstance(spot.node, ModuleCall) and WINDOW.search(spot.node.text):
            for order, row in rows:
                if row["name"] == "decode":
                    others = [pair for pair in rows if pair[1]["name"] != "prefill"]
                    rows[:] = [*others, (order - 1, {**row, "name": "prefill", "kind": "repeated", "repeat": 1})]
                    return


def split(run: Run, name: str, found: list[Spot]) -> list[list[Spot]]:
    """Logging, evaluation and checkpoints of different periods are phases of their own; of logging, not what the job tells once."""
    if name not in ("logging", "evaluation", "checkpoint") and not (name == "data" and run.regions.rollout):
        return [found]
    lead = {id(spot) for spot in leaders(run, name, found)}
    groups: dict[Any, list[Spot]] = {}
    loose: list[Spot] = []
    for spot in found:
        if id(spot) not in lead:
            loose.append(spot)
            continue
        groups.setdefault(group_of(run, name, spot), []).append(spot)
    if name == "logging" and any(key[0] != "job" for key in groups):
        groups = {key: part for key, part in groups.items() if key[0] != "job" or (name == "evaluation" and run.phases.after(part[0]))}
    if name == "logging":
        groups = telling(run, groups, loose) or groups
    for spot in loose:
        own = groups.get(group_of(run, name, spot))
        if own is None:
            own = next(iter(groups.values()), None)
        if own is not None:
            own.append(spot)
    return list(groups.values()) or [found]


def group_of(run: Run, name: str, spot: Spot) -> tuple[Any, ...]:
    """The period of a place; evaluations of one step that stand under branches of their own are told apart too."""
    frequency = frequency_of(spot, run.step)
    branch = None
    if name == "evaluation" and run.step.loop is not None and spot.holds(run.step.loop):
        branch = next((one for one in spot.below(run.step.loop) if isinstance(one, BranchNode)), None)
    every = None if name == "logging" and frequency.get("every") == 1 else frequency.get("every")
    return (frequency.get("per"), every, str(branch.anchor) if branch is not None else "")


def telling(run: Run, groups: dict[Any, list[Spot]], loose: list[Spot]) -> dict[Any, list[Spot]]:
    """Groups at whose rate something is read from the device: a line that is only shown makes no phase beside them."""
    reads = [spot for spot in loose if is_read(spot)]
    rates = {group_of(run, "logging", spot) for spot in reads}
    # what is shown every so many steps was read in each of them before
    each_step = min((spot.order for spot in reads if group_of(run, "logging", spot) in EACH), default=None)
    return {
        key: part
        for key, part in groups.items()
        if key in rates or (each_step is not None and key[0] in STEPS and part[-1].order > each_step)
    }


def counts(spot: Spot) -> bool:
    """Nodes that make a phase: model calls and events, not loops, scopes or streams."""
    node = spot.node
    if spot.in_worker or (spot.aborted and isinstance(node, Event) and (node.kind == "log" or last_words(spot))):
        return False
    if isinstance(node, ModuleCall):
        return is_model(node.module)
    if isinstance(node, Event) and node.kind == "compute":
        return node.data.get("key") in ("backward", "forward", *OPTIMIZER_KEYS) or replays(node)
    if isinstance(node, Event) and node.kind == "fetch" and node.data.get("opened"):
        return isinstance(spot.path[-1], LoopNode)
    return isinstance(node, Event) and node.kind not in ("stream", "wait", "overlap", "wrap")


def order_of(run: Run, name: str, found: list[Spot]) -> int:
    if name == "startup":
        return -1
    lead = leaders(run, name, found)
    return (told(run, lead, found) if name == "logging" else lead[0]).order + (10**9 if name == "teardown" else 0)


def leaders(run: Run, name: str, found: list[Spot]) -> list[Spot]:
    """The nodes that stand for a phase: what it is named for."""
    picks: dict[str, Any] = {
        "forward": lambda node: isinstance(node, ModuleCall),
        "prefill": lambda node: isinstance(node, ModuleCall),
        "decode": lambda node: isinstance(node, ModuleCall),
        "backward": lambda node: is_compute(node, "backward"),
        "optimizer": lambda node: is_compute(node, "optimizer_step"),
        "checkpoint": lambda node: isinstance(node, Event) and node.kind == "checkpoint",
        "evaluation": lambda node: isinstance(node, ModuleCall),
        "logging": lambda node: isinstance(node, Event) and node.kind == "log",
        "data": lambda node: isinstance(node, Event) and node.kind in ("fetch", "data", "copy"),
        "sample": lambda node: (
            isinstance(node, ModuleCall) if run.phases.denoises else isinstance(node, Event) and node.kind == "sync" and "sampl" in node.text.lower()
        ),
        "teardown": lambda node: isinstance(node, Event) and node.kind == "launch",
    }
    if name in ("prefill", "decode", "sample") and any(replays(spot.node) for spot in found):
        return [spot for spot in found if replays(spot.node)]
    pick = picks.get(name)
    chosen = [spot for spot in found if pick is None or pick(spot.node)]
    return chosen or found


def is_compute(node: Node, key: str) -> bool:
    return isinstance(node, Event) and node.kind == "compute" and node.data.get("key") == key


def make_row(run: Run, name: str, found: list[Spot]) -> dict[str, Any] | None:
    lead = leaders(run, name, found)
    shown_only = name == "logging" and run.step.kind != "training"
    if name in ("optimizer", "teardown", "logging") and (lead is found or shown_only) and not worth_a_phase(name, found):
        return None
    if name == "forward" and run.step.kind == "training":  # what is learned from, not a frozen part's preparation
        lead = [one for one in lead if any(one is other for other in run.step.forwards)] or lead
    lead = with_backward(run, oftenest(run, steady(lead))) if name == "forward" else steady(lead)
    spot = least_repeated(run, lead) if name == "backward" else in_the_step(run, lead) if name == "data" else lead[0]
    if name == "checkpoint":  # one that is saved every so often, before one that is saved when the job ends
        spot = next((one for one in lead if kind_of(run, name, frequency_of(one, run.step)) == "periodic"), spot)
    if name == "logging":
        spot = told(run, lead, found)
    if name == "checkpoint":
        spot = least_guarded(run, lead)
    frequency = frequency_of(spot, run.step)
    row: dict[str, Any] = {"name": name, "kind": kind_of(run, name, frequency)}
    if row["kind"] == "periodic":
        row["every"] = every_of(frequency)
    row["repeat"] = repeat_of_phase(run, name, lead, row["kind"])
    if name in SHARED and not any(isinstance(one.node, ModuleCall) for one in found):
        spot = next(iter(run.step.forwards), spot)  # one call of the model serves both
    row["runs_on"] = runs_on(name, found, run)
    row["ranks"] = ranks_of_phase(run, name, spot, found)
    row["code_anchor"] = str(anchor_of(run, name, spot))
    return {key: value for key, value in row.items() if value is not None or key == "repeat"}


def least_guarded(run: Run, lead: list[Spot]) -> Spot:
    """Of files written at one rate the one that is written whenever any is: the best is kept beside the last."""
    rates = [frequency_of(spot, run.step) for spot in lead]
    alike = [(spot, rate) for spot, rate in zip(lead, rates) if (rate.get("per"), rate.get("every")) == (rates[0].get("per"), rates[0].get("every"))]
    return min(alike, key=lambda pair: (len(str(pair[1].get("guard", ""))), pair[0].order))[0]


def with_backward(run: Run, lead: list[Spot]) -> list[Spot]:
    """Calls in the rounds of the backward, where it runs in some only: what is trained, not what runs beside it."""
    branches = [one for one in run.step.backwards[0].branches() if one.period is not None][-1:] if run.step.backwards else []
    return [spot for spot in lead if all(spot.holds(branch) for branch in branches)] or lead


def told(run: Run, lead: list[Spot], found: list[Spot]) -> Spot:
    """Where a report of an epoch begins to read the device, and where one of the step shows what was read: other lines may stand before."""
    rate = frequency_of(lead[0], run.step).get("per")
    reads = [spot for spot in found if is_read(spot) and frequency_of(spot, run.step).get("per") == rate]
    if rate == "epoch" or not reads:
        return reads[0] if reads else lead[0]
    return next((spot for spot in lead if spot.order > reads[0].order), lead[0])


def is_read(spot: Spot) -> bool:
    """A value comes from the device."""
    return isinstance(spot.node, Event) and bool(spot.node.data.get("reads"))


def worth_a_phase(name: str, found: list[Spot]) -> bool:
    """A teardown of nothing but compute markers, or an optimizer phase without a step, is none."""
    if name == "logging":
        return any(isinstance(spot.node, Event) and spot.node.kind in ("log", "sync", "copy", "collective") and not FIXED.match(spot.node.text) for spot in found)
    return any(isinstance(spot.node, Event) and spot.node.kind in ("launch", "sync", "copy", "collective", "checkpoint") for spot in found)


def least_repeated(run: Run, lead: list[Spot]) -> Spot:
    """The backward of the model itself, beside those of parts that are gone through chunk by chunk."""
    return min(lead, key=lambda spot: (frequency_of(spot, run.step).get("every", 1) or 10**9, repeat_in_step(spot, run.step) or 0, spot.order))


def oftenest(run: Run, lead: list[Spot]) -> list[Spot]:
    """Those that run in every step, beside what does so in periods."""
    rates = [frequency_of(spot, run.step).get("every", 1) or 10**9 for spot in lead]
    return [spot for spot, rate in zip(lead, rates) if rate == min(rates)]


def in_the_step(run: Run, lead: list[Spot]) -> Spot:
    """The first that each step does, beside what is looked at once an epoch."""
    within = [spot for spot in lead if run.step.loop is not None and (spot.holds(run.step.loop) or fetched_by(run, spot))]
    batches = [spot for spot in within if not (isinstance(spot.node, Event) and spot.node.data.get("factory"))]  # no number that is made there
    return (batches or within or lead)[0]


def fetched_by(run: Run, spot: Spot) -> bool:
    """The batch that the step's loop goes through."""
    return isinstance(spot.node, Event) and spot.node.kind == "fetch" and loop_after(spot) is run.step.loop


def kind_of(run: Run, name: str, frequency: dict[str, Any]) -> str:
    """``one-off`` outside loops, ``periodic`` with a period or less often than the step, else ``repeated``."""
    per = frequency.get("per")
    if name in ("startup", "teardown") or per == "job":
        return "one-off"
    reports = name in ("logging", "evaluation", "checkpoint")
    if per == "epoch" or ("every" in frequency and (reports or frequency["every"] != 1)):  # the rest every one step is in each
        return "periodic"
    return "repeated"


def every_of(frequency: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {"count": frequency.get("every", 1), "unit": frequency["per"]}
    if frequency.get("guard"):
        row["guard"] = frequency["guard"]
    return row


def ranks_of_phase(run: Run, name: str, spot: Spot, found: list[Spot]) -> str:
    """Those of its leader; a checkpoint that one rank writes is still of all ranks where they gather it."""
    if name == "startup" and any(run.place(one)["ranks"] == "all" for one in found):
        return "all"
    if name == "checkpoint":
        shared = [one for one in found if isinstance(one.node, Event) and (one.node.kind == "copy" or one.node.data.get("collective") in GATHERS)]
        if any(run.place(one)["ranks"] == "all" for one in shared):
            return "all"
    if name in ("startup", "teardown") and any(run.place(one)["ranks"] == "all" for one in found):
        return "all"
    if name == "logging" and any(isinstance(one.node, Event) and one.node.data.get("reads") and run.place(one)["ranks"] == "all" for one in found):
        return "all"
    return str(run.place(spot)["ranks"])


def repeat_of_phase(run: Run, name: str, lead: list[Spot], kind: str) -> int | None:
    """Times per step, or per period for an evaluation."""
    if kind == "one-off" or name in ("logging", "checkpoint"):
        return 1
    if name in ("evaluation", "forward", "backward", "prefill", "decode", "sample"):
        if run.step.micro_place is not None and name in SPREAD:
            return run.step.accumulate
        all_of_them = total(repeat_in_step(spot, run.step) for spot in lead)
        if all_of_them is None:
            return None
        return all_of_them if name == "evaluation" else repeat_in_step(least_repeated(run, lead) if name == "backward" else lead[0], run.step)
    first = lead[0].node
    if name == "data" and run.step.micro_place is not None and total(repeat_in_step(spot, run.step) for spot in lead) == run.step.accumulate:
        return run.step.accumulate
    if name == "data" and isinstance(first, Event) and first.kind == "fetch":
        in_step = run.step.loop is not None and lead[0].holds(run.step.loop) and not first.data.get("opened")
        if (in_step and run.step.accumulate_branch is None) or (run.step.micro is not None and lead[0].holds(run.step.micro)):
            return repeat_in_step(lead[0], run.step)
        return as_count(run.step.accumulate) if run.step.accumulate_branch is not None else 1
    if name == "data" and run.regions.generates:  # the region as a whole, not the rounds inside it
        return min((count for spot in lead if (count := repeat_in_step(spot, run.step)) is not None), default=None)
    return repeat_in_step(lead[0], run.step)


def runs_on(name: str, found: list[Spot], run: Run) -> str:
    """The contract's rule: both where a copy, a sync or host data belongs to it; device where kernels are only issued."""
    if any(isinstance(spot.node, Event) and spot.node.kind in HOST_KINDS for spot in found):
        return "host and device"
    if name in DEVICE_ONLY or any(isinstance(spot.node, ModuleCall) for spot in found):
        return "device"
    return "host and device" if name == "startup" else "host"


def add_startup(run: Run, rows: list[tuple[int, dict[str, Any]]]) -> None:
    """Startup stands where the model is built, even if nothing there copies or waits."""
    anchor = setup_anchor(run)
    if anchor is None:
        return
    for _, row in rows:
        if row["name"] == "startup":
            row["code_anchor"] = str(anchor)
            row["runs_on"] = "host and device"
            return
    rows.append((-1, {"name": "startup", "kind": "one-off", "repeat": 1, "runs_on": "host and device", "ranks": "all", "code_anchor": str(anchor)}))


def add_hosted(run: Run, rows: list[tuple[int, dict[str, Any]]], hosted: list[HostCall]) -> None:
    """Scheduling and answering that no event shows."""
    present = {row["name"] for _, row in rows if row["kind"] != "one-off"}
    first = min((spot.order for spot in run.step.forwards), default=0)
    for call in hosted:
        if call.phase not in present:
            place = first - 1 if call.phase == "schedule" else 10**8
            rows.append((place, {"name": call.phase, "kind": "repeated", "repeat": 1, "runs_on": "host", "ranks": "all", "code_anchor": str(call.anchor)}))
