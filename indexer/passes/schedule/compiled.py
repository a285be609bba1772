"""Rows of ``compute.compile``: each compiled region, its options, and where its graph breaks."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.trace import CallNode, Event, ModuleCall, Node
from cgx.indexer.interpreter.values import BoundMethod, FunctionValue, ModuleInstance
from cgx.indexer.passes.schedule.situation import Run, data_of
from cgx.indexer.passes.schedule.tree import child_lists

REASONS = {
    "item": "reads a tensor's value: .item()",
    "tolist": "reads a tensor's values: .tolist()",
    "cpu": "copies to the host",
    "numpy": "converts to NumPy",
    "branch": "data-dependent branch",
    "conversion": "reads a tensor's value as a Python number",
    "print": "prints a tensor",
    "dynamic shape": "output shape depends on data",
    "synchronize": "synchronises the device",
}
INTERNAL = frozenset({"key", "target"})
MAX_BREAKS = 50


def compile_rows(run: Run) -> list[dict[str, Any]]:
    """One row for each call of ``torch.compile`` whose target the job uses."""
    rows = []
    called = called_functions(run.trace.root)
    for spot in run.events("compute", "compile"):
        data = data_of(spot)
        target = data.get("target")
        if isinstance(target, FunctionValue) and (target.path, target.symbol) not in called:
            continue  # decorated where its file is imported, and not run by this job
        row: dict[str, Any] = {"value": data.get("value")}
        for name, value in data.items():
            if name.startswith("option_"):
                row[name.removeprefix("option_")] = value
        if data.get("option_fullgraph") is not True:
            found = breaks(run, data.get("target"))
            if found:
                row["graph_breaks"] = found
        row["code_anchor"] = str(spot.anchor)
        rows.append(row)
    return rows


def called_functions(root: Node) -> set[tuple[str, str]]:
    """(file, symbol) of the functions that ran and left something; lists of nodes that calls share are looked at once."""
    names: set[tuple[str, str]] = set()
    seen: set[int] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, CallNode) and node.target is not None:
            names.add((node.target.path, node.target.symbol))
        elif isinstance(node, ModuleCall):
            names.add((node.anchor.path, node.anchor.symbol))
        for children in child_lists(node):
            if id(children) not in seen:
                seen.add(id(children))
                stack.extend(children)
    return names


def region(target: Any) -> tuple[ModuleInstance | None, str]:
    """The module, or the symbol of the function, that is compiled."""
    if isinstance(target, ModuleInstance):
        return target, ""
    if isinstance(target, BoundMethod):
        return region(target.func)
    return None, target.symbol if isinstance(target, FunctionValue) else ""


def is_region(node: Node, module: ModuleInstance | None, symbol: str) -> bool:
    if module is not None:
        return isinstance(node, ModuleCall) and node.module is module
    if not symbol:
        return False
    if isinstance(node, ModuleCall):
        return node.anchor.symbol == symbol
    return isinstance(node, CallNode) and symbol in (node.symbol, node.target.symbol if node.target else "")


def breaks(run: Run, target: Any) -> list[dict[str, Any]]:
    """Places inside the region that end the captured graph, each once."""
    module, symbol = region(target)
    found: dict[str, dict[str, Any]] = {}
    trained = {str(one.node.called_from) for one in run.step.forwards if isinstance(one.node, ModuleCall) and one.node.module is module}
    for spot in run.spots:
        node = spot.node
        if not isinstance(node, Event) or spot.in_worker or not any(is_region(one, module, symbol) for one in spot.path):
            continue
        if trained and not any(isinstance(one, ModuleCall) and str(one.called_from) in trained for one in spot.path):
            continue  # the module itself may be called beside the compiled one
        reason = reason_of(node)
        if reason and len(found) < MAX_BREAKS:
            found.setdefault(str(spot.anchor), {"reason": reason, "what": node.text or None, "code_anchor": str(spot.anchor)})
    return [{key: value for key, value in row.items() if value is not None} for row in found.values()]


def reason_of(node: Event) -> str | None:
    if node.kind == "sync":
        return REASONS.get(str(node.data.get("sync")))
    if node.kind == "copy" and node.data.get("direction") == "D2H":
        return REASONS["cpu"]
    return "prints" if node.kind == "log" else None
