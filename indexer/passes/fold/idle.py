"""What is built but never called: containers, and modules whose forward the step does not reach."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cgx.indexer.interpreter.values import ModuleInstance
from cgx.indexer.passes.fold.describe import is_plain_list, repeat_of
from cgx.indexer.passes.fold.draft import Draft, Open
from cgx.indexer.passes.fold.patterns import bracket
from cgx.indexer.passes.fold.place import Place
from cgx.indexer.passes.fold.tree import members

if TYPE_CHECKING:
    from cgx.indexer.passes.fold.emit import Emitter


class Idle:
    """Adds entries for the modules below an entry that no call stands for, each once."""

    def __init__(self, emitter: Emitter) -> None:
        self._emitter = emitter
        self._done: set[int] = set()
        self.claims = True  # what is not called never runs

    def attach(self, draft: Draft, module: ModuleInstance, place: Place) -> None:
        """Add what stands below the module and is not called to the draft's children."""
        if id(module) in self._done:
            return
        self._done.add(id(module))
        known, self.claims = self.claims, self.claims and (bool(draft.children) or _told(draft))  # else the call was not understood
        for idle in self._below(module, place):
            self._insert(draft, idle)
        self.claims = known

    def _below(self, module: ModuleInstance, place: Place) -> list[Draft]:
        """Entries of the uncalled children, and of the uncalled ones below called-through containers."""
        emitter = self._emitter
        classes = emitter.classes.of(module)
        seen: set[str] = set()
        drafts: list[Draft] = []
        for name, child in members(module):
            if name in seen or emitter.tree.parent(child) is not module:
                continue
            names = classes[name]
            seen.update(names)
            if id(child) in emitter.entering.called or id(child) in self._done:
                continue
            prefixes = {emitter.tree.path(child): bracket(names)} if len(names) > 1 else {}
            drafts.extend(self._entry(child, len(names), place.within(prefixes)))
        return drafts

    def _entry(self, module: ModuleInstance, count: int, place: Place) -> list[Draft]:
        draft = self._emitter.module(module, place)
        draft.ordered = False
        if self.claims and not is_plain_list(module):
            draft.runs = False
        if count > 1:
            draft.repeat = repeat_of(module, count)
        elif self._emitter.tree.path(module)[-1:] == ("*",):
            draft.repeat = repeat_of(module, None)
        self._done.add(id(module))
        draft.children = self._below(module, place)
        return [draft]

    def unreached(self, roots: Sequence[ModuleInstance]) -> list[Draft]:
        """The trees of models that were built, where the step was not reached: whether they run is not known."""
        self.claims = False
        drafts = [draft for root in roots for draft in self._entry(root, 1, Place())]
        for draft in drafts:
            name, anchor = f"{draft.kind}.forward", draft.constructed_at
            self._emitter.opens.append(Open(name, "order", "unmodelled", anchor, draft, ("--input", "NAME")))
        return drafts

    def _insert(self, draft: Draft, idle: Draft) -> None:
        """A container goes before the first of its members that runs here, anything else to the end."""
        head = f"{idle.path}."
        for index, child in enumerate(draft.children):
            if any((inner.path or "").startswith(head) for inner in child.walk()):
                draft.children.insert(index, idle)
                return
        draft.children.append(idle)


def _told(draft: Draft) -> bool:
    """A call that runs nothing and is known to give what it gives, as one that returns early."""
    given = draft.shapes.get("out", [])
    return bool(given) and all(None not in (row["dims"] or [None]) for row in given)
