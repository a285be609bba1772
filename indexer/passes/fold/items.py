"""What stands in one body after its loops are read: calls, ops, branches, summary loops and folded iterations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from cgx.indexer.interpreter.trace import LoopNode, ModuleCall, Node
from cgx.indexer.interpreter.values import ModuleInstance
from cgx.indexer.passes.fold.flow import calls_in, flatten
from cgx.indexer.passes.fold.patterns import merge
from cgx.indexer.passes.fold.tree import Path, Tree

MAX_SIZED = 8  # turns of a loop over tensors of different sizes that are written out one by one, each with its shapes
MAX_SPREAD = 64  # turns of a loop that are written out one by one, so that their members fold over all of them
BodyKey = Callable[[Iterable[Node]], Hashable]


@dataclass(slots=True)
class Turns:
    """Iterations of one loop that do the same on different members, or again on the same ones, with more than a call."""

    loop: LoopNode
    turns: list[list[Node]]
    prefixes: dict[Path, str]
    instances: bool  # they run different members; else the same instances run again


Item = Node | Turns


class Reader:
    """Reads bodies. ``key`` says what a body does with the members of containers named by their class, ``mask`` that name,
    ``sized`` what it does with shapes."""

    def __init__(self, tree: Tree, key: BodyKey, sized: BodyKey, mask: Callable[[ModuleInstance], Hashable]) -> None:
        self._tree, self._key, self._sized, self._mask = tree, key, sized, mask

    def read(self, bodies: Sequence[Iterable[Node]]) -> list[list[Item]]:
        """The items of bodies that do the same, those like the first."""
        nodes = [list(body) for body in bodies]
        columns = [list(self._items(body)) for body in nodes]
        if any(len(items) != len(columns[0]) for items in columns):  # sizes differ between the turns of some only
            columns = [list(self._items(body, sized=False)) for body in nodes]
        return [items for items in columns if len(items) == len(columns[0])]

    def _items(self, nodes: Iterable[Node], sized: bool = True) -> Iterator[Item]:
        for node in flatten(nodes, self._tree.__contains__):
            if isinstance(node, LoopNode) and node.iterations:
                if sized and self._unlike(node):
                    for turn in node.iterations:
                        yield from self._items(turn)
                else:
                    yield from self._loop(node)
            else:
                yield node

    def _unlike(self, loop: LoopNode) -> bool:
        """A short loop that runs no module of the tree, on tensors of other shapes in each turn."""
        if not 1 < len(loop.iterations) <= MAX_SIZED or any(self._called(turn) for turn in loop.iterations):
            return False
        return len({self._key(turn) for turn in loop.iterations}) == 1 < len({self._sized(turn) for turn in loop.iterations})

    def _loop(self, loop: LoopNode) -> Iterator[Item]:
        alike: defaultdict[Hashable, list[list[Node]]] = defaultdict(list)
        for turn in loop.iterations:
            if any(True for _ in flatten(turn, self._tree.__contains__)):
                alike[self._key(turn)].append(turn)
        if len(alike) > 1 and len(loop.iterations) <= MAX_SPREAD and self._shared(list(alike.values())):
            for turn in loop.iterations:  # turns that differ run members of one class: those fold over all turns
                yield from self._items(turn)
            return
        for turns in alike.values():
            yield from self._alike(loop, turns)

    def _shared(self, groups: list[list[list[Node]]]) -> bool:
        """Whether different members of one class run in turns of different groups."""
        owner: dict[Hashable, tuple[int, int]] = {}
        for number, turns in enumerate(groups):
            for module in (module for turn in turns for module in self._called(turn)):
                first = owner.setdefault(self._mask(module), (number, id(module)))
                if first[0] != number and first[1] != id(module):
                    return True
        return False

    def _alike(self, loop: LoopNode, turns: list[list[Node]]) -> Iterator[Item]:
        columns = list(zip(*(self._called(turn) for turn in turns)))
        kinds = [len({id(module) for module in column}) for column in columns]
        if len(turns) > 1 and all(kind in (1, len(turns)) for kind in kinds):
            only_calls = all(isinstance(item, ModuleCall) for item in self._items(turns[0]))
            varying = [column for column, kind in zip(columns, kinds) if kind > 1]
            if not (only_calls and len(varying) == len(columns)):
                prefixes = combine(self._tree, varying)
                if prefixes is not None:
                    yield Turns(loop, turns, prefixes, bool(varying))
                    return
        for turn in turns:  # the members' calls are the fold; or no pattern says which members these are
            yield from self._items(turn)

    def _called(self, turn: list[Node]) -> list[ModuleInstance]:
        return [call.module for call in calls_in(flatten(turn, self._tree.__contains__)) if call.module in self._tree]


def combine(tree: Tree, columns: Sequence[Sequence[ModuleInstance]]) -> dict[Path, str] | None:
    """How the members of the first turn are written to stand for those of all turns; None where no pattern can."""
    found: dict[Path, str] = {}
    for column in columns:
        prefixes = merge(tree.path(module) for module in column)
        if prefixes is None or any(found.get(path, text) != text for path, text in prefixes.items()):
            return None
        found.update(prefixes)
    return found
