"""Which nodes of the trace are one step, where no schedule pass says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cgx.indexer.interpreter.trace import LoopNode, ModuleCall, Node, Trace
from cgx.indexer.passes.fold.flow import bodies


def innermost_step(trace: Trace) -> Sequence[Node]:
    """The body of the innermost loop of the job that calls a model with gradients, else with any; else the whole run."""
    for gradients in (True, False):
        found = _search(trace.root.children, gradients, None)
        if found is not None:
            return found
    return trace.root.children


def built_step(trace: Trace) -> Sequence[Node]:
    """The forward of the model that a build expression gave: the last call of a root, without what its making ran.

    The expression itself stands in no file: what it constructs and calls has no place there.
    """
    nowhere = trace.root.anchor
    for module in trace.modules:
        if module.constructed_at == nowhere:
            module.constructed_at = None
    roots = {id(module) for module in trace.model_roots}
    calls = [
        node for node in trace.root.children if isinstance(node, ModuleCall) and (not roots or id(node.module) in roots)
    ]
    return [replace(call, called_from=None) if call.called_from == nowhere else call for call in calls[-1:]]  # type: ignore[arg-type]


def _search(nodes: Sequence[Node], gradients: bool, body: Sequence[Node] | None) -> Sequence[Node] | None:
    for node in nodes:
        if isinstance(node, ModuleCall):
            if node.grad or not gradients:
                return body
        elif isinstance(node, LoopNode):
            for turn in bodies(node)[:1]:
                found = _search(turn, gradients, turn)
                if found is not None:
                    return found
        else:
            found = _search(node.children, gradients, body)
            if found is not None:
                return found
    return None
