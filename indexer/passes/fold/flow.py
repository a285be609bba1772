"""Reading a trace's nodes as one body: what runs, in order, with everything transparent seen through."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from cgx.indexer.interpreter.trace import BranchNode, CallNode, Event, LoopNode, ModuleCall, Node, OpNode, ScopeNode
from cgx.indexer.interpreter.values import ModuleInstance

Inside = Callable[[ModuleInstance], bool]


def flatten(nodes: Iterable[Node], inside: Inside) -> Iterator[Node]:
    """Module calls, ops, loops and undecided branches.

    Plain calls, ``with`` regions and branches that are always taken are transparent. So is the call of a module
    outside the tree (``inside`` says no): it has no path, and its ops belong to the caller.
    """
    for node in nodes:
        if isinstance(node, ModuleCall):
            if inside(node.module):
                yield node
            else:
                yield from flatten((node.same_as or node).children, inside)
        elif isinstance(node, CallNode | ScopeNode) or (isinstance(node, BranchNode) and always(node)):
            yield from flatten(node.children, inside)
        elif isinstance(node, LoopNode | BranchNode | OpNode):
            yield node
        elif not isinstance(node, Event):
            yield from flatten(node.children, inside)


def always(branch: BranchNode) -> bool:
    """Whether the branch is taken every time and on every rank."""
    return branch.decided and branch.period is None and branch.ranks is None


def bodies(loop: LoopNode) -> list[list[Node]]:
    """What each iteration does, or what the one body does that stands for all."""
    return loop.iterations or [loop.children]


def calls_in(nodes: Iterable[Node]) -> Iterator[ModuleCall]:
    """The outermost module calls, in order, whatever loops and branches are round them."""
    for node in nodes:
        if isinstance(node, ModuleCall):
            yield node
        elif isinstance(node, LoopNode) and node.iterations:
            for body in node.iterations:
                yield from calls_in(body)
        else:
            yield from calls_in(node.children)
