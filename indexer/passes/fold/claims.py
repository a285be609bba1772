"""Whether the run was read to its end: only then is a module that was not called known never to run."""

from __future__ import annotations

from collections.abc import Sequence

from cgx.indexer.interpreter.trace import ModuleCall, Node, Trace
from cgx.indexer.interpreter.values import Unknown
from cgx.indexer.passes.fold.describe import forward_anchor
from cgx.indexer.passes.fold.tree import Tree

BROKEN = frozenset({"error", "budget", "internal"})
"""Reasons that end what was being read early."""


def read_to_the_end(trace: Trace, nodes: Sequence[Node], tree: Tree) -> bool:
    """Nothing broke off in the calls themselves, nor in the code of a forward of these models.

    Where parts of a model were called and its own forward was not, nothing at all may have broken off: what would have
    called it might come later.
    """
    calls = [node for top in nodes for node in top.walk() if isinstance(node, ModuleCall)]
    if not all(call.complete for call in calls):
        return False
    broken = [unknown for unknown in trace.unknowns if isinstance(unknown, Unknown) and unknown.reason in BROKEN]
    if any(call.method == "" for call in calls) and (broken or trace.faults):
        return False
    places = {(unknown.anchor.path, unknown.anchor.symbol) for unknown in broken if unknown.anchor is not None}
    if not places:
        return True
    forwards = (forward_anchor(module) for _, module in tree.modules())
    return not any((anchor.path, anchor.symbol) in places for anchor in forwards if anchor is not None)
