"""Which nodes of the trace are one step, where no schedule pass says so."""

from __future__ import annotations

from collections.abc import Sequence

from cgx.indexer.interpreter.trace import LoopNode, ModuleCall, Node, Trace
from cgx.indexer.passes.fold.flow import bodies


def innermost_step(trace: Trace) -> Sequence[Node]:
    """The body of the innermost loop of the job that calls a model with gradients, else with any; else the whole run."""
    for gradients in (True, False):
        found = _search(trace.root.children, gradients, None)
        if found is not None:
            return found
    return trace.root.children


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
