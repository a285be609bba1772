"""The object ``compute``: what runs on the device and how, key by key."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from cgx.indexer.interpreter.trace import BranchNode, ModuleCall, OpNode, ScopeNode
from cgx.indexer.overlays.arguments import dtype_name, flag
from cgx.indexer.passes.schedule.compiled import compile_rows
from cgx.indexer.passes.schedule.merge import merged
from cgx.indexer.passes.schedule.situation import Run, data_of
from cgx.indexer.passes.schedule.step import is_model
from cgx.indexer.passes.schedule.tree import ATTENTION, Spot

Rows = list[dict[str, Any]]
INTERNAL = frozenset({"key", "at", "once", "target", "loss", "optimizer", "module", "known", "anchor_at", "graph"})
CLASS = re.compile(r"\.[A-Z]\w*$")  # an object of a library that is not there: a module, no kernel
PLAIN = (bool, int, float, str, list, dict, tuple)


def compute_object(run: Run) -> dict[str, Any]:
    """Keys in the contract's order; one entry is an object, several are a list."""
    result: dict[str, Any] = {}
    for key, make in KEYS:
        rows = merged(make(run))
        if rows:
            result[key] = rows[0] if len(rows) == 1 else rows
    return result


def event_rows(key: str) -> Callable[[Run], Rows]:
    """Rows straight from events of one key."""

    def make(run: Run) -> Rows:
        rows: Rows = []
        for spot in run.events("compute", key):
            rows.append(event_row(run, spot))
        return rows

    return make


def event_row(run: Run, spot: Spot) -> dict[str, Any]:
    data = data_of(spot)
    row: dict[str, Any] = {"value": data.get("value")}
    for name, value in data.items():
        if name not in INTERNAL and name != "value" and value is not None and isinstance(value, PLAIN):
            row[name.removeprefix("option_")] = value
    if spot.modules:
        row["module"] = spot.modules[-1]
    row["code_anchor"] = str(data.get("anchor_at") or spot.anchor)
    return row


def in_step_rows(key: str) -> Callable[[Run], Rows]:
    """Rows of a key with their frequency: what each step does."""

    def make(run: Run) -> Rows:
        rows: Rows = []
        for spot in run.events("compute", key):
            row = event_row(run, spot)
            place = run.place(spot)
            row["frequency"] = place["frequency"]
            rows.append(row)
        return rows

    return make


def forward_rows(run: Run) -> Rows:
    """Calls of models: in the step, then in evaluations."""
    rows: Rows = []
    for spot in run.spots:
        node = spot.node
        if not isinstance(node, ModuleCall) or spot.in_worker or not is_model(node.module):
            continue
        phase = run.phases.of(spot)
        if phase == "startup":
            continue
        method = run.model_method(spot)
        own = method is None or method.symbol.rpartition(".")[0] in {getattr(cls, "qname", "") for cls in node.module.cls.mro}
        name = f"{node.module.cls.name}.{node.method}" if own or method is None else ".".join(method.symbol.split(".")[-2:])
        row: dict[str, Any] = {"value": name, "phase": phase, "call": (node if method is None else method).text or None}
        row["code_anchor"] = str(run.forward_site(spot))
        rows.append({key: value for key, value in row.items() if value is not None})
        if phase == "prefill" and run.one_forward:
            rows.append({**rows[-1], "phase": "decode"})
    return rows + event_rows("forward")(run)


def ema_rows(run: Run) -> Rows:
    """Averages that the step keeps: weights that are swapped or merged for an evaluation, or at the end, are none."""
    kept = [spot for spot in run.events("compute", "ema") if data_of(spot).get("value") != "in place" or average(run, spot)]
    return [event_row(run, spot) for spot in kept]


def average(run: Run, spot: Spot) -> bool:
    return run.phases.in_step(spot) and run.phases.of(spot) not in ("evaluation", "checkpoint")


def accumulation_rows(run: Run) -> Rows:
    """How many micro-steps one optimizer step has, at their loop or guard."""
    step = run.step
    if step.kind != "training":
        return []
    loop = step.micro or step.micro_place
    if loop is not None:
        return [{"value": step.accumulate, "expr": loop.expr, "repeats": "forward and backward", "code_anchor": str(loop.anchor)}]
    if step.accumulate_branch is not None:
        guard = guard_in_step(run, step.accumulate_branch)
        return [{"value": step.accumulate, "expr": guard.text, "repeats": "forward and backward", "code_anchor": str(guard.anchor)}]
    return []


def guard_in_step(run: Run, branch: BranchNode) -> BranchNode:
    """The guard of the micro-steps: a helper that takes the step may be told of it, and the step's own function asks it too."""
    own = run.step.loop.anchor.symbol if run.step.loop is not None else branch.anchor.symbol
    if branch.anchor.symbol == own:
        return branch
    others = (one for spot in run.spots for one in spot.path if isinstance(one, BranchNode) and one.period == branch.period)
    return next((one for one in others if one.anchor.symbol == own), branch)


def precision_rows(run: Run) -> Rows:
    """Autocast regions that the step or its evaluations run in, and policies and switches."""
    rows: Rows = []
    for spot in run.spots:
        node = spot.node
        if isinstance(node, ScopeNode) and node.qname.endswith("autocast") and not spot.in_worker:
            if flag(node.data.get("enabled"), True) is False or (node.data.get("told") and run.events("compute", "precision")):
                continue
            rows.append({"value": dtype_name(node.data.get("dtype")) or "float16", "how": "autocast", "code_anchor": str(spot.anchor)})
    return rows + event_rows("precision")(run)


def scope_rows(*names: str) -> Callable[[Run], Rows]:
    """Regions without gradients, in the step or its evaluations."""

    def make(run: Run) -> Rows:
        rows: Rows = []
        for spot in run.spots:
            node = spot.node
            if isinstance(node, ScopeNode) and node.qname in names and not spot.in_worker and not spot.in_module and runs_model(run, node):
                anchor = node.data.get("constructed_at") or spot.anchor
                rows.append({"value": node.qname, "phase": run.phases.of(spot), "code_anchor": str(anchor)})
        return rows

    return make


def runs_model(run: Run, node: ScopeNode) -> bool:
    return any(isinstance(one.node, ModuleCall) and one.holds(node) for one in run.spots)


def checkpointing_rows(run: Run) -> Rows:
    """Calls of ``checkpoint`` that the step's forwards reach, and wrapped modules."""
    rows: Rows = []
    for spot in run.events("compute", "activation_checkpointing"):
        rows.append(event_row(run, spot))
    return rows


def attention_rows(run: Run) -> Rows:
    rows: Rows = []
    for spot in run.spots:
        node = spot.node
        if isinstance(node, OpNode) and node.qname.endswith(ATTENTION) and run.phases.of(spot) != "evaluation":
            rows.append({"value": node.text or node.qname, "backend": node.qname.rpartition(".")[2], "module": spot.modules[-1] if spot.modules else None,
                         "code_anchor": str(spot.anchor)})  # fmt: skip
    return rows


def kernel_rows(run: Run) -> Rows:
    rows: Rows = []
    for spot in run.spots:
        node = spot.node
        if isinstance(node, OpNode) and node.opaque and not node.qname.startswith(("torch.", "scipy.", "sklearn.")) and not CLASS.search(node.qname) and run.phases.in_step(spot) and run.phases.of(spot) != "evaluation":
            rows.append({"value": node.qname, "module": spot.modules[-1] if spot.modules else None, "code_anchor": str(spot.anchor)})
    return rows


KEYS: tuple[tuple[str, Callable[[Run], Rows]], ...] = (
    ("forward", forward_rows),
    ("backward", event_rows("backward")),
    ("gradient_accumulation", accumulation_rows),
    ("grad_sync", event_rows("grad_sync")),
    ("activation_checkpointing", checkpointing_rows),
    ("optimizer", event_rows("optimizer")),
    ("optimizer_step", in_step_rows("optimizer_step")),
    ("grad_clip", event_rows("grad_clip")),
    ("grad_scaler", event_rows("grad_scaler")),
    ("precision", precision_rows),
    ("zero_grad", event_rows("zero_grad")),
    ("lr_schedule", in_step_rows("lr_schedule")),
    ("ema", ema_rows),
    ("no_grad", scope_rows("torch.no_grad")),
    ("inference_mode", scope_rows("torch.inference_mode")),
    ("tensor_parallel", event_rows("tensor_parallel")),
    ("compile", compile_rows),
    ("cuda_graphs", event_rows("cuda_graphs")),
    ("attention", attention_rows),
    ("kernel", kernel_rows),
    ("metrics", event_rows("metrics")),
)
