"""What a call does, as a number: equal numbers mean the same calls and ops in the same order, names above left out."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

from cgx.indexer.interpreter.trace import BranchNode, LoopNode, ModuleCall, Node, OpNode
from cgx.indexer.interpreter.values import ModuleInstance, TensorValue
from cgx.indexer.passes.fold.flow import bodies, flatten
from cgx.indexer.passes.fold.structure import Interner, Structure, dims
from cgx.indexer.passes.fold.tree import Tree
from cgx.model.anchors import Anchor

Ref = Callable[[ModuleInstance], Hashable]


class Signatures:
    """Signatures of the calls in one tree, with and without shapes."""

    def __init__(self, tree: Tree, structure: Structure, interner: Interner) -> None:
        self._tree, self._structure, self._intern = tree, structure, interner
        self._memo: dict[tuple[int, bool], int] = {}
        self._keep: list[ModuleCall] = []  # ids stay valid while the nodes live

    def call(self, call: ModuleCall, shapes: bool = False) -> int:
        """What one call of a module does. ``shapes``: sizes on all boundaries inside count as well."""
        key = (id(call), shapes)
        if key not in self._memo:
            self._keep.append(call)
            self._memo[key] = self._call(call, shapes)
        return self._memo[key]

    def _call(self, call: ModuleCall, shapes: bool) -> int:
        first = call.same_as
        if first is not None and self._structure.of(first.module) == self._structure.of(call.module):
            return self.call(first, shapes)
        owner = call.module

        def ref(module: ModuleInstance) -> Hashable:
            return self._tree.relative(module, owner)

        own = (boundary(call.inputs), boundary(call.outputs)) if shapes else ()
        children = (first or call).children
        # a layer without source has no place of its own: the line that calls it says nothing of what it does
        home = None if call.anchor == call.called_from else place(call.anchor)
        return self._intern(("call", call.method, home, own, self.body(children, ref, shapes)))

    def body(self, nodes: Iterable[Node], ref: Ref, shapes: bool = False) -> Hashable:
        """What a list of nodes does; ``ref`` names the modules that it calls."""
        return tuple(self._node(node, ref, shapes) for node in flatten(nodes, self._tree.__contains__))

    def _node(self, node: Node, ref: Ref, shapes: bool) -> int:
        key: Hashable
        if isinstance(node, ModuleCall):
            built = self._structure.of(node.module)
            again = place(node.recompute)
            key = ("m", ref(node.module), built, place(node.called_from), again, self.call(node, shapes))
        elif isinstance(node, OpNode):
            sizes = (boundary(node.inputs), boundary(node.outputs)) if shapes else ()
            key = ("o", node.qname, None if node.layer else place(node.anchor), sizes)
        elif isinstance(node, LoopNode):
            inner = tuple(self.body(body, ref, shapes) for body in bodies(node))
            key = ("l", place(node.anchor), str(node.count), node.expr, inner)
        else:
            assert isinstance(node, BranchNode)
            key = ("b", node.text, place(node.anchor), self.body(node.children, ref, shapes))
        return self._intern(key)


def place(anchor: Anchor | None) -> Hashable:
    return None if anchor is None else (anchor.path, anchor.line, anchor.symbol)


def boundary(values: Iterable[Any]) -> Hashable:
    """Shapes and dtypes of tensors, each alone or as (name, tensor)."""
    plain = (value[1] if isinstance(value, tuple) and len(value) == 2 else value for value in values)
    return tuple((dims(value.shape), value.dtype) for value in plain if isinstance(value, TensorValue))
