"""Entries of loops: a repeat on the one unit inside, or an entry of the loop round several."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cgx.indexer.interpreter.trace import LoopNode
from cgx.indexer.interpreter.values import ModuleInstance, Unknown
from cgx.indexer.passes.fold.describe import repeat_of
from cgx.indexer.passes.fold.draft import Draft, Open, Repeat
from cgx.indexer.passes.fold.items import Turns
from cgx.indexer.passes.fold.patterns import write
from cgx.indexer.passes.fold.place import Place
from cgx.indexer.passes.fold.texts import distinct, shorten
from cgx.indexer.passes.fold.tree import Path

if TYPE_CHECKING:
    from cgx.indexer.passes.fold.emit import Emitter


class Loops:
    """The part of the emitter that writes loops."""

    def __init__(self, emitter: Emitter) -> None:
        self._emitter = emitter

    def turns(self, several: list[Turns], place: Place) -> list[Draft]:
        first = several[0]
        inner = place.within(first.prefixes)
        draft = self._loop_draft(first.loop, place)
        turns = [turn for item in several for turn in item.turns]
        different = distinct(
            turns, lambda turn: self._emitter.signatures.body(turn, self._emitter.classes.masked, True)
        )
        draft.children = self._housed(self._emitter.body(different, inner), first, inner)
        if not draft.children:
            return []
        if not first.instances and len(draft.children) == 1 and draft.children[0].repeat is None:
            only = draft.children[0]
            if only.path is not None:
                only.repeat = Repeat(
                    len(first.turns), "calls", only.kind, first.loop.expr, place.real(first.loop.bound)
                )
                return [only]
        unit = _unit(draft)
        draft.repeat = Repeat(
            len(first.turns), "calls", unit, first.loop.expr, place.real(first.loop.bound or first.loop.anchor)
        )
        if first.instances:
            built = next(
                (child.module for child in draft.walk() if child.module is not None and child.module.loops), None
            )
            if built is not None:
                bound = repeat_of(built, len(first.turns))
                draft.repeat.expr, draft.repeat.anchor = bound.expr, bound.anchor
            draft.repeat.by = "instances"
            return self._beside(draft, first, place)
        return [draft]

    def _beside(self, draft: Draft, turns: Turns, place: Place) -> list[Draft]:
        """The loop over different members, and behind it the modules that all of its turns share: those run again and again."""
        inner = place.within(turns.prefixes).prefixes
        shared = [child for child in draft.children if child.ordered and child.repeat is None and self._same(child, place, inner)]
        if not shared:
            return [draft]
        for child in shared:
            child.repeat = Repeat(len(turns.turns), "calls", child.kind, turns.loop.expr, place.real(turns.loop.bound or turns.loop.anchor))
        draft.children = [child for child in draft.children if child not in shared]
        if any(child.path is None or child.repeat is not None for child in draft.children):
            return [draft, *shared]
        for child in draft.children:
            if child.module is not None:
                child.repeat = repeat_of(child.module, len(turns.turns))
        return [*draft.children, *shared]

    def _same(self, child: Draft, place: Place, inner: dict[Path, str]) -> bool:
        """A module that is none of the members that the loop runs over, nor below one."""
        if child.module is None:
            return False
        path = self._emitter.tree.path(child.module)
        return write(path, inner) == write(path, place.prefixes)

    def _housed(self, drafts: list[Draft], turns: Turns, place: Place) -> list[Draft]:
        """Folds inside the containers that the loop runs over are put under those: each level states its own count."""
        housed: list[Draft] = []
        houses: dict[int, Draft] = {}
        for draft in drafts:
            container = self._container(draft, turns)
            if container is None:
                housed.append(draft)
                continue
            if id(container) not in houses:
                houses[id(container)] = self._emitter.module(container, place)
                housed.append(houses[id(container)])
            houses[id(container)].children.append(draft)
        for module in {id(draft.module): draft.module for draft in houses.values()}.values():
            if module is not None:
                self._emitter.idle.attach(houses[id(module)], module, place)
        return housed

    def _container(self, draft: Draft, turns: Turns) -> ModuleInstance | None:
        """The uncalled container that the loop runs over and that holds the members this entry folds."""
        if draft.module is None or draft.repeat is None or draft.repeat.by != "instances":
            return None
        path = self._emitter.tree.path(draft.module)
        for module in self._emitter.tree.lineage(draft.module):
            if self._emitter.tree.path(module) in turns.prefixes and self._emitter.tree.path(module) != path:
                return module
        return None

    def loop(self, loops: list[LoopNode], place: Place) -> list[Draft]:
        first = loops[0]
        children = self._emitter.body([loop.children for loop in loops], place)
        count = first.count if type(first.count) is int and not first.early_exit else None
        if not children or count == 1:
            return children
        repeat = Repeat(count, "calls", "", first.expr, place.real(first.bound or first.anchor))
        only = children[0]
        if len(children) == 1 and only.path is not None and only.repeat is None and only.when is None:
            draft = only
        else:
            draft = self._loop_draft(first, place)
            draft.children = children
        if (
            len(children) == 1
            and only.repeat is not None
            and only.repeat.count is None
            and only.repeat.by == "instances"
        ):
            return children  # one pass over a container whose size is not known
        repeat.unit = draft.kind if draft is only else _unit(draft)
        draft.repeat = repeat
        if count is None:
            self.unknown(draft, repeat, first.count)
        return [draft]

    def _loop_draft(self, loop: LoopNode, place: Place) -> Draft:
        kind = "while" if loop.over == "while" else "for"
        head = f"while {loop.expr}" if kind == "while" else f"for {loop.target or '_'} in {loop.expr}"
        return Draft("loop", shorten(loop.text or head), kind, place.real(loop.anchor))

    def unknown(self, draft: Draft, repeat: Repeat, count: object = None) -> None:
        unknown = count if isinstance(count, Unknown) else None
        name = (unknown.name if unknown else "") or repeat.expr or draft.name
        reason = unknown.reason if unknown else "data"
        settle = unknown.settle if unknown else None
        self._emitter.opens.append(Open(name, "repeat.count", reason, repeat.anchor or draft.anchor, draft, settle))


def _unit(draft: Draft) -> str:
    return next((child.kind for child in draft.walk() if child.path is not None), "op")
