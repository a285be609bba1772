"""The nodes of one step, for the computation graph: without evaluations, and split where a model runs as several graphs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from cgx.indexer.interpreter.trace import LoopNode, ModuleCall, Node
from cgx.indexer.passes.schedule.situation import Run
from cgx.indexer.passes.schedule.tree import child_lists

GRAPH_PHASES = ("prefill", "decode")


def step_nodes(run: Run) -> Sequence[Node]:
    """What one step does: the body of its loop, or the whole run, with evaluation and checkpoint regions left out."""
    dropped = {id(node) for node in (*run.regions.evaluation, *run.regions.checkpoint)}
    body = child_lists(run.step.loop)[0] if run.step.loop is not None else run.trace.root.children
    return without(body, dropped)


def without(nodes: Sequence[Node], dropped: set[int]) -> list[Node]:
    """The nodes without those whose id is dropped; what holds such a node is copied, all else is shared."""
    kept: list[Node] = []
    for node in nodes:
        if id(node) in dropped:
            continue
        if isinstance(node, ModuleCall) or not holds(node, dropped):
            kept.append(node)
        elif isinstance(node, LoopNode) and node.iterations:
            kept.append(dataclasses.replace(node, iterations=[without(one, dropped) for one in node.iterations]))
        else:
            kept.append(dataclasses.replace(node, children=without(node.children, dropped)))
    return kept


def holds(node: Node, wanted: set[int]) -> bool:
    return not isinstance(node, ModuleCall) and any(
        id(child) in wanted or holds(child, wanted) for children in child_lists(node) for child in children
    )


def only(nodes: Sequence[Node], wanted: set[int]) -> list[Node]:
    """The wanted nodes with the loops, branches and calls round them."""
    kept: list[Node] = []
    for node in nodes:
        if id(node) in wanted:
            kept.append(node)
        elif isinstance(node, LoopNode) and node.iterations and holds(node, wanted):
            kept.append(dataclasses.replace(node, iterations=[only(one, wanted) for one in node.iterations]))
        elif holds(node, wanted):
            kept.append(dataclasses.replace(node, children=only(node.children, wanted)))
    return kept


def step_graphs(run: Run) -> list[tuple[str, Sequence[Node]]]:
    """(phase, nodes) where the model runs both as prefill and as decode; empty elsewhere."""
    if run.step.kind == "training" or run.phases.denoises:
        return []
    by_phase: dict[str, set[int]] = {}
    for spot in run.step.forwards:
        by_phase.setdefault(run.phases.of(spot), set()).add(id(run.naming.stands.get(id(spot.node), spot.node)))
    if not all(phase in by_phase for phase in GRAPH_PHASES):
        return []
    body = step_nodes(run)
    return [(phase, only(body, by_phase[phase])) for phase in GRAPH_PHASES]
