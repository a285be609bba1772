"""How each module is run from outside: the calls that enter its subtree, in order.

Calls below one that the interpreter marked as the same as an earlier call are not walked: the earlier one stands for them.
Where such a call has to be read after all, :meth:`Entering.children` gives its body for its own module.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace

from cgx.indexer.interpreter.trace import BranchNode, CallNode, LoopNode, ModuleCall, Node, OpNode, ScopeNode
from cgx.indexer.interpreter.values import ModuleInstance
from cgx.indexer.passes.fold.flow import bodies, flatten
from cgx.indexer.passes.fold.signature import Signatures, place
from cgx.indexer.passes.fold.tree import Path, Tree


@dataclass(frozen=True, slots=True)
class Entry:
    """One call that enters a module's subtree: the callee's path below the module, what it does, from where it comes."""

    below: Path
    does: int
    caller: Hashable
    context: Hashable
    call: ModuleCall


class Entering:
    """The calls of one tree, by the module whose subtree they enter."""

    def __init__(self, tree: Tree, signatures: Signatures) -> None:
        self._tree, self._signatures = tree, signatures
        self._entries: defaultdict[int, list[Entry]] = defaultdict(list)
        self._copied: dict[int, list[Node]] = {}
        self.called: set[int] = set()
        self._seen: set[int] = set()

    def add(self, nodes: Iterable[Node], caller: ModuleInstance | None, context: tuple[Hashable, ...] = ()) -> None:
        """Note every call in the nodes and below."""
        for node in flatten(nodes, self._tree.__contains__):
            if isinstance(node, ModuleCall):
                self._note(node, caller, context)
            elif isinstance(node, LoopNode):
                # a loop that was read turn by turn only says which members come; one that stands for all says how often
                inside = context if node.iterations else (*context, ("loop", place(node.anchor)))
                for body in bodies(node):
                    self.add(body, caller, inside)
            elif isinstance(node, BranchNode):
                self.add(node.children, caller, (*context, ("if", node.text, place(node.anchor))))

    def _note(self, call: ModuleCall, caller: ModuleInstance | None, context: tuple[Hashable, ...]) -> None:
        if id(call) in self._seen:
            return
        self._seen.add(id(call))
        self.called.add(id(call.module))
        path, does = self._tree.path(call.module), self._signatures.call(call)
        outside = {id(module) for module in self._tree.lineage(caller)} if caller is not None else set()
        depth = len(path)
        for module in self._tree.lineage(call.module):
            if id(module) in outside:
                break
            frm = None if caller is None else self._tree.relative(caller, self._tree.parent(module))
            self._entries[id(module)].append(Entry(path[depth:], does, frm, (context, place(call.recompute)), call))
            depth -= 1
        first = earliest(call)
        if first is call:
            self.add(call.children, call.module)
        elif id(first) not in self._seen:  # the call that this one is the same as is no part of the step
            self._seen.add(id(first))
            self.add(self.children(call), call.module)
        elif first.module is not call.module and self._tree.shares(call.module):  # it may enter what stands elsewhere
            self.children(call)

    def of(self, module: ModuleInstance) -> list[Entry]:
        return self._entries.get(id(module), [])

    def children(self, call: ModuleCall) -> list[Node]:
        """The body of a call, with the modules that it itself calls."""
        first = earliest(call)
        if first is call:
            return call.children
        if id(call) not in self._copied:
            body = [self._copy(node, first.module, call.module) for node in first.children]
            self._copied[id(call)] = body
            if first.module is not call.module:
                self.add(body, call.module)
        return self._copied[id(call)]

    def _copy(self, node: Node, old: ModuleInstance, new: ModuleInstance) -> Node:
        if isinstance(node, ModuleCall) and node.module not in self._tree:  # transparent: what it holds is the caller's
            first = earliest(node)
            return replace(node, same_as=None, children=[self._copy(child, old, new) for child in first.children])
        if isinstance(node, ModuleCall):
            module = self._tree.counterpart(node.module, old, new)
            return replace(node, module=module, same_as=node, children=[])  # a call of its own, of a shared module too
        if isinstance(node, OpNode):
            return node
        children = [self._copy(child, old, new) for child in node.children]
        if isinstance(node, LoopNode):
            turns = [[self._copy(child, old, new) for child in body] for body in node.iterations]
            return replace(node, children=children, iterations=turns)
        if isinstance(node, CallNode | ScopeNode | BranchNode):
            return replace(node, children=children)
        return node


def earliest(call: ModuleCall) -> ModuleCall:
    """The call whose children stand for this one's; itself where they are its own."""
    while call.same_as is not None:
        call = call.same_as
    return call
