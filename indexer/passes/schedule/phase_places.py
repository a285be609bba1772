"""Where a reader looks for a phase: the line in the step's own frame, a callback's condition, the place where the model is built."""

from __future__ import annotations

import re

from cgx.indexer.interpreter.trace import BranchNode, CallNode, Event, LoopNode, ModuleCall, Node, ScopeNode
from cgx.indexer.interpreter.values import ModuleInstance
from cgx.indexer.passes.schedule.data_path import loop_after
from cgx.indexer.passes.schedule.frequency import at_the_boundary
from cgx.indexer.passes.schedule.situation import Run
from cgx.indexer.passes.schedule.tree import Spot
from cgx.model.anchors import Anchor

PASSED_ON = re.compile(r"(\w*(?:step|backward)\w*)\(")  # `optimizer.step()`, `super().step(closure)`


def anchor_of(run: Run, name: str, spot: Spot) -> Anchor:
    """Where a reader looks for the phase."""
    node = spot.node
    if name in ("forward", "prefill", "decode", "sample") and isinstance(node, ModuleCall):
        return run.forward_site(spot)
    if name == "evaluation":
        root = run.regions.root(spot, run.regions.evaluation)
        hook = periodic_hook(run, spot)
        if hook is not None and hook[1] is not None:
            return hook[1]
        return call_in_frame(run, spot, root) if root is not None else spot.anchor
    if name == "checkpoint":
        root = run.regions.root(spot, run.regions.checkpoint)
        return call_in_frame(run, spot, root if root is not None and run.step.kind == "training" else None)
    if name == "data":
        root = run.regions.root(spot, run.regions.rollout)
        return root.anchor if isinstance(root, LoopNode) else data_anchor(run, spot)
    if name in ("optimizer", "backward"):
        return climbed(spot)
    if name == "logging":
        hook = periodic_hook(run, spot)
        return hook[0] if hook is not None else period_in_frame(run, spot) or call_in_frame(run, spot, None)
    if name in ("teardown", "respond"):
        return call_in_frame(run, spot, None)
    return spot.anchor


def call_in_frame(run: Run, spot: Spot, root: Node | None) -> Anchor:
    """The call in the step's own frame that leads here (before the step: in the frame of its loop), else the place itself."""
    if isinstance(root, CallNode):
        return root.anchor
    entry = run.step.entry_node if run.step.entry_node is not None else run.step.loop
    if entry is not None and spot.holds(entry):
        for node in spot.below(entry):
            if isinstance(node, CallNode):
                return node.anchor
        return (spot.node.called_from if isinstance(spot.node, ModuleCall) else None) or spot.anchor
    symbols = frame_symbols(run)
    shared = [site for site in [*spot.call_sites(), spot.anchor] if site.symbol in symbols]
    return shared[-1] if shared else spot.anchor


def periodic_hook(run: Run, spot: Spot) -> tuple[Anchor, Anchor | None] | None:
    """The condition by which one of the job's callbacks acts in some steps, and what it then calls.

    Callbacks are called in a loop over them: their own code says what is done, the line that calls them all does not.
    """
    entry = run.step.entry_node if run.step.entry_node is not None else run.step.loop
    called = looped = False
    path = [*spot.below(entry), spot.node] if entry is not None else []
    for place, node in enumerate(path):
        called |= isinstance(node, CallNode)
        looped |= called and isinstance(node, LoopNode) and run.step.unit(node) is None
        if looped and isinstance(node, BranchNode) and node.period is not None:
            if run.tree is not None and not run.tree.exists(node.anchor.path):
                return None
            acts = (one for one in path[place + 1 :] if isinstance(one, CallNode | LoopNode | ModuleCall))
            first = next(acts, None)
            return node.anchor, None if first is None else (first.called_from if isinstance(first, ModuleCall) else None) or first.anchor
    return None


def period_in_frame(run: Run, spot: Spot) -> Anchor | None:
    """The condition in the step's own frame that says when it is logged."""
    entry = run.step.entry_node if run.step.entry_node is not None else run.step.loop
    for node in spot.below(entry) if entry is not None else ():
        if isinstance(node, CallNode):
            return None
        if isinstance(node, BranchNode) and node.period is not None and not at_the_boundary(node, run.step):
            return node.anchor
    return None


def data_anchor(run: Run, spot: Spot) -> Anchor:
    """The head of the loop over a loader, the call that fetches a batch, else the hop itself."""
    node = spot.node
    if isinstance(node, Event) and node.kind == "fetch":
        loop = loop_after(spot)
        return loop.anchor if loop is not None else call_in_frame(run, spot, None)
    return call_in_frame(run, spot, None)


def climbed(spot: Spot) -> Anchor:
    """Out of methods that only pass the call on: ``Container.step`` round ``optimizer.step()``."""
    anchor = spot.anchor
    called = PASSED_ON.search(spot.node.text)
    if called is None:
        return anchor  # a trainer's own call: its name says nothing of what is passed on
    name = called[1]
    for node in reversed(spot.path):
        if isinstance(node, CallNode):
            if node.symbol.rpartition(".")[2] != name:
                break
            anchor = node.anchor
        elif not isinstance(node, LoopNode | BranchNode | ScopeNode):
            break
    return anchor


def setup_anchor(run: Run) -> Anchor | None:
    """The call that builds the first model of the step: seen from the frame that holds the step's loop."""
    first = next((spot.node.module for spot in run.step.forwards if isinstance(spot.node, ModuleCall)), None)
    if first is None or first.constructed_at is None:
        return first_setup(run)
    chain = [site for site in construction_sites(run, first) if run.tree is None or run.tree.exists(site.path)]
    for site in chain:
        if site.symbol.endswith(".__init__"):
            return site
    symbols = frame_symbols(run)
    shared = [site for site in chain if site.symbol in symbols]
    if shared:
        return shared[-1]
    return first_setup(run) or (chain[0] if chain else None)


def first_setup(run: Run) -> Anchor | None:
    """Where processes are joined or the model is moved, if its construction leaves no trace."""
    for kind in ("launch", "copy"):
        for spot in run.events(kind):
            if run.phases.of(spot) == "startup" and spot.node.data.get("what") != "spawn":  # type: ignore[attr-defined]
                return call_in_frame(run, spot, None)
    return None


def construction_sites(run: Run, module: ModuleInstance) -> list[Anchor]:
    """Call sites that lead to the module's constructor, outermost first: from the trace where it did something there."""
    for spot in run.spots:
        sites = spot.call_sites()
        if module.constructed_at in sites:
            return sites[: sites.index(module.constructed_at) + 1]
    assert module.constructed_at is not None
    return [*reversed(module.via), module.constructed_at]


def frame_symbols(run: Run) -> set[str]:
    """Symbols of the frames that lead to the step's loop."""
    loop = run.step.loop
    if loop is None:
        return set()
    spot = next((one for one in run.spots if one.node is loop), None)
    symbols = {loop.anchor.symbol}
    if spot is not None:
        symbols |= {site.symbol for site in spot.call_sites()}
    return symbols


