"""From calls to entries: one entry for each class of equal calls in one body, and below it what one of them does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from cgx.indexer.interpreter.trace import BranchNode, LoopNode, ModuleCall, Node, OpNode
from cgx.indexer.interpreter.values import ModuleInstance
from cgx.indexer.passes.fold.classes import Classes
from cgx.indexer.passes.fold.describe import (
    forward_anchor,
    level_of,
    made_at,
    parameter_rows,
    repeat_of,
    type_of,
    wrapper_names,
)
from cgx.indexer.passes.fold.draft import Condition, Draft, Open
from cgx.indexer.passes.fold.entering import Entering
from cgx.indexer.passes.fold.idle import Idle
from cgx.indexer.passes.fold.items import Item, Reader, Turns
from cgx.indexer.passes.fold.loops import Loops
from cgx.indexer.passes.fold.patterns import merge, write
from cgx.indexer.passes.fold.place import Place
from cgx.indexer.passes.fold.shapes import Symbols, boundary_rows, named_tensors
from cgx.indexer.passes.fold.signature import Signatures
from cgx.indexer.passes.fold.structure import Interner, Structure
from cgx.indexer.passes.fold.texts import distinct, shorten
from cgx.indexer.passes.fold.ties import Ties
from cgx.indexer.passes.fold.tree import Tree, condition_of


class Emitter:
    """Writes the drafts of one step."""

    def __init__(self, tree: Tree, nodes: Sequence[Node], symbols: Symbols) -> None:
        interner = Interner()
        self.tree, self.symbols = tree, symbols
        self.structure = Structure(interner)
        self.signatures = Signatures(tree, self.structure, interner)
        self.entering = Entering(tree, self.signatures)
        self.entering.add(nodes, None)
        self.classes = Classes(tree, self.structure, self.entering)
        self.ties = Ties(tree)
        self.idle = Idle(self)
        self._loops = Loops(self)
        self.opens: list[Open] = []
        self._reader = Reader(
            tree,
            lambda body: self.signatures.body(body, self.classes.masked),
            lambda body: self.signatures.body(body, self.classes.masked, True),
            self.classes.masked,
        )

    def body(self, bodies: Sequence[Iterable[Node]], place: Place) -> list[Draft]:
        """The entries of a body. ``bodies`` do the same for several units of a fold; the first one stands for all."""
        columns = self._reader.read(bodies)
        drafts: list[Draft] = []
        for positions in self._groups(columns[0]):
            group = [items[position] for items in columns for position in positions]
            drafts.extend(self._emit(group, len(positions), place))
        return drafts

    def _groups(self, items: list[Item]) -> list[list[int]]:
        """Positions that make one entry: calls of equal members of a container, each of another member."""
        groups: list[list[int]] = []
        open_groups: dict[object, tuple[list[int], set[int]]] = {}
        for position, item in enumerate(items):
            if isinstance(item, ModuleCall):
                key = (self.classes.masked(item.module), self.signatures.call(item), id(self.tree.root(item.module)))
                group, taken = open_groups.get(key, ([], set()))
                if group and id(item.module) not in taken:
                    paths = [self.tree.path(_call(items[index]).module) for index in (*group, position)]
                    if len(paths[0]) == len(paths[-1]):
                        group.append(position)
                        taken.add(id(item.module))
                        continue
                open_groups[key] = ([position], {id(item.module)})
                groups.append(open_groups[key][0])
            else:
                groups.append([position])
        return [part for group in groups for part in self._writable(items, group)]

    def _writable(self, items: list[Item], group: list[int]) -> list[list[int]]:
        """The group, or its members one by one where no pattern says exactly their paths."""
        if len(group) == 1 or merge(self.tree.path(_call(items[index]).module) for index in group) is not None:
            return [group]
        return [[position] for position in group]

    def _emit(self, group: list[Item], own: int, place: Place) -> list[Draft]:
        first = group[0]
        if isinstance(first, ModuleCall):
            return [self._calls([_call(item) for item in group], own, place)]
        if isinstance(first, OpNode):
            if first.inherited:
                return []
            hidden = not place.inside and self._on_host(first)
            return [] if hidden else [self._op([item for item in group if isinstance(item, OpNode)], place)]
        if isinstance(first, BranchNode):
            return self._branch([item for item in group if isinstance(item, BranchNode)], place)
        if isinstance(first, Turns):
            return self._loops.turns([item for item in group if isinstance(item, Turns)], place)
        if isinstance(first, LoopNode):
            return self._loops.loop([item for item in group if isinstance(item, LoopNode)], place)
        return []

    # ---------------------------------------------------------------- modules

    def module(self, module: ModuleInstance, where: Place) -> Draft:
        """An entry with what is known of the module alone."""
        root = self.tree.parent(module) is None
        path = self.tree.path(module)
        written = write(path, where.prefixes)
        owner = self.ties.owner(module)
        parent = self.tree.parent(module)
        made = next((line for one in self.tree.lineage(module) if (line := made_at(one)) is not None), None)
        known = condition_of(parent, path[-1]) if parent is not None else None
        return Draft(
            level_of(module, root),
            written.rpartition(".")[2],
            type_of(module),
            forward_anchor(module) or made,
            path=written,
            constructed_at=made,
            parameters=parameter_rows(module, self.symbols),
            shares=None if owner is None else write(self.tree.path(owner), where.prefixes),
            wrapped_by=wrapper_names(module),
            when=None if known is None or known[1] is None else Condition(known[0], known[1]),
            module=module,
        )

    def _calls(self, calls: list[ModuleCall], own: int, place: Place) -> Draft:
        first = calls[0]
        mine = calls[:own]
        inner = place.within(merge(self.tree.path(call.module) for call in mine) or {})
        inner = replace(inner, inside=True, recomputed=inner.recomputed or first.recompute is not None)
        inner = replace(inner, line=place.real(first.called_from))
        draft = self.module(first.module, inner)
        draft.anchor = inner.real(first.anchor) or draft.anchor
        if draft.level == "model":
            draft.name = _variable(first.text) or draft.name or first.module.cls.name
        lines = (place.real(call.called_from) for call in mine)
        draft.called_from = list(dict.fromkeys(line for line in lines if line is not None))
        draft.recomputed = 1 if inner.recomputed else None
        draft.stand_in = first.method != "forward"
        if first.method == "":
            draft.runs, draft.ordered = False, False
        if own > 1:
            draft.repeat = repeat_of(first.module, own)
        elif self.tree.path(first.module)[-1:] == ("*",):
            draft.repeat = repeat_of(first.module, None)
            self._loops.unknown(draft, draft.repeat)
        different = distinct(calls, lambda call: self.signatures.call(call, shapes=True))
        draft.shapes = self._shapes([call.inputs for call in different], [call.outputs for call in different], draft)
        bodies = [self.entering.children(first), *((call.same_as or call).children for call in different[1:])]
        draft.children = self.body(bodies, inner)
        self.idle.attach(draft, first.module, inner)
        return draft

    def _shapes(
        self, inputs: Sequence[Sequence[Any]], outputs: Sequence[Sequence[Any]], draft: Draft
    ) -> dict[str, list[dict[str, Any]]]:
        sides = {"in": boundary_rows(inputs, draft.anchor, self.symbols)}
        sides["out"] = boundary_rows(outputs, draft.anchor, self.symbols)
        return sides if sides["in"] or sides["out"] else {}

    # ---------------------------------------------------------------- ops, branches

    def _op(self, ops: list[OpNode], place: Place) -> Draft:
        first = ops[0]
        draft = Draft("op", shorten(first.text or first.qname), first.qname, place.real(first.anchor))
        draft.text = first.text
        draft.recomputed = 1 if place.recomputed else None
        draft.shapes = self._shapes([op.inputs for op in ops], [op.outputs for op in ops], draft)
        return draft

    def _on_host(self, op: OpNode) -> bool:
        """Work on host tensors beside models that are on a device: the making of a batch is no computation of the step."""
        tensors = [tensor for _, tensor in named_tensors([*op.inputs, *op.outputs])]
        away = any(root.device != "cpu" for root in self.tree.roots)
        return away and bool(tensors) and all(tensor.device == "cpu" for tensor in tensors)

    def _branch(self, branches: list[BranchNode], place: Place) -> list[Draft]:
        first = branches[0]
        anchor = place.real(first.anchor)
        drafts = self.body([branch.children for branch in branches], place)
        if anchor is not None:
            condition = Condition(first.text, anchor)
            for draft in drafts:
                draft.when = condition if draft.when is None else draft.when.under(condition)
        return drafts


def _call(item: Item) -> ModuleCall:
    assert isinstance(item, ModuleCall)
    return item


def _variable(text: str) -> str:
    """`model` for `model(X, Y)`; nothing where the call's text is no plain name."""
    head = text.partition("(")[0].strip()
    plain = head != "self" and head.replace(".", "").replace("_", "a").isalnum()
    return head if plain else ""
