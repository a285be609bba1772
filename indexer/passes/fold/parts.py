"""Steps that run parts of a model: the method, or the stretch of code, that runs them stands for the model itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cgx.indexer.interpreter.trace import BranchNode, CallNode, LoopNode, ModuleCall, Node, ScopeNode
from cgx.indexer.interpreter.values import ClassValue, ModuleInstance
from cgx.indexer.passes.fold.describe import forward_anchor
from cgx.indexer.passes.fold.draft import Draft
from cgx.indexer.passes.fold.flow import calls_in
from cgx.indexer.passes.fold.tree import Tree


def whole_models(nodes: Sequence[Node], tree: Tree) -> list[Node]:
    """The nodes with every direct run of a part of a model put under a call of that model.

    A method of the model that runs its parts (a trainer's ``training_step``, ``generate``) becomes that call; otherwise the
    stretch from the first to the last such run, under a call with an empty ``method``: the model's own forward never runs.
    """
    found = [_open(node, tree) for node in nodes]
    touched = [_parts_owner(node, tree) for node in found]
    owners = list({id(owner): owner for owner in touched if owner is not None}.values())
    for owner in owners:
        places = [index for index, other in enumerate(touched) if other is owner]
        first, last = places[0], places[-1]
        call = _stand_in(owner, found[first : last + 1])
        found[first : last + 1] = [call]
        touched[first : last + 1] = [None]
    return found


def _open(node: Node, tree: Tree) -> Node:
    """The node with whole models put round the parts that run inside it."""
    if isinstance(node, CallNode):
        owner = _parts_owner(node, tree)
        if owner is not None and _is_method(node, owner):
            call = _stand_in(owner, node.children)
            call.method = node.symbol.rpartition(".")[2]
            call.anchor, call.called_from = node.target or node.anchor, node.anchor
            return call
    if isinstance(node, LoopNode) and node.iterations:
        return replace(node, iterations=[whole_models(body, tree) for body in node.iterations])
    if isinstance(node, CallNode | ScopeNode | BranchNode | LoopNode):
        return replace(node, children=whole_models(node.children, tree))
    return node


def _parts_owner(node: Node, tree: Tree) -> ModuleInstance | None:
    """The root of a module that the node runs although it is not itself a root."""
    for call in calls_in([node]):
        if call.module in tree and tree.parent(call.module) is not None:
            return tree.root(call.module)
    return None


def _is_method(node: CallNode, owner: ModuleInstance) -> bool:
    names = [cls.name for cls in owner.cls.mro if isinstance(cls, ClassValue)] or [owner.cls.name]
    parts = node.symbol.split(".")
    return len(parts) > 1 and parts[-2] in names


def _stand_in(owner: ModuleInstance, children: list[Node]) -> ModuleCall:
    first = next(iter(calls_in(children)))
    anchor = forward_anchor(owner) or first.called_from
    return ModuleCall(anchor, children=children, module=owner, called_from=first.called_from, method="")


def under_their_models(roots: list[Draft]) -> list[Draft]:
    """Parts that run beside their model's own call (its loss, a projection head) stand under that call's entry."""
    called = {
        id(draft.module): draft for root in roots for draft in root.walk() if _is_model(draft) and not draft.stand_in
    }
    return _joined(roots, called)


def _joined(drafts: list[Draft], called: dict[int, Draft]) -> list[Draft]:
    kept: list[Draft] = []
    for draft in drafts:
        home = called.get(id(draft.module))
        if home is None or not draft.stand_in:
            if draft.path is None:
                draft.children = _joined(draft.children, called)
            kept.append(draft)
            continue
        there = {inner.path for inner in home.walk()}
        for child in draft.children:
            if child.path is None or child is home:  # the step calls the model beside its parts: the call is in here
                kept.append(child)
            elif child.path not in there:
                home.children.append(child)
    return kept


def _is_model(draft: Draft) -> bool:
    return draft.level == "model" and draft.path == ""
