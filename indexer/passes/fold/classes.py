"""Which children of a container are equal: built alike, run alike, and of one size where they are not all there is."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator

from cgx.indexer.interpreter.trace import ModuleCall
from cgx.indexer.interpreter.values import ModuleInstance
from cgx.indexer.passes.fold.entering import Entering
from cgx.indexer.passes.fold.shapes import named_tensors
from cgx.indexer.passes.fold.structure import Structure
from cgx.indexer.passes.fold.tree import Tree, members

Size = int | str | None
CONTAINERS = ("ModuleList", "Sequential", "ModuleDict")


def container_kind(module: ModuleInstance) -> str | None:
    """The torch container that the module is, or derives from."""
    names = {getattr(cls, "qname", "") for cls in module.cls.mro} | {module.cls.qname, module.cls.native}
    for kind in CONTAINERS:
        if f"torch.nn.{kind}" in names or f"torch.nn.modules.container.{kind}" in names:
            return kind
    return None


class Classes:
    """For each parent, the classes of its children by name."""

    def __init__(self, tree: Tree, structure: Structure, entering: Entering) -> None:
        self._tree, self._structure, self._entering = tree, structure, entering
        self._memo: dict[int, dict[str, tuple[str, ...]]] = {}
        self._masked: dict[int, Hashable] = {}

    def of(self, parent: ModuleInstance) -> dict[str, tuple[str, ...]]:
        """name of a child -> the names that are folded with it, itself included, in order."""
        if id(parent) not in self._memo:
            self._memo[id(parent)] = self._partition(parent)
        return self._memo[id(parent)]

    def masked(self, module: ModuleInstance) -> Hashable:
        """The module's path with every part that may be folded replaced by its class."""
        if id(module) not in self._masked:
            parent = self._tree.parent(module)
            if parent is None:
                self._masked[id(module)] = ()
            else:
                name = self._tree.path(module)[-1]
                self._masked[id(module)] = (self.masked(parent), self.of(parent).get(name, (name,)))
        return self._masked[id(module)]

    def _partition(self, parent: ModuleInstance) -> dict[str, tuple[str, ...]]:
        children = [(name, child) for name, child in members(parent) if self._tree.parent(child) is parent]
        groups: defaultdict[Hashable, list[tuple[str, ModuleInstance]]] = defaultdict(list)
        contained = container_kind(parent) is not None
        family = {} if contained else families(children)
        for name, child in children:
            if contained or name in family:
                groups[(family.get(name), self._structure.of(child), self._runs(child))].append((name, child))
        classes: dict[str, tuple[str, ...]] = {name: (name,) for name, _ in children}
        for group in groups.values():
            whole = contained and len(group) == len(children)
            kind = family.get(group[0][0])
            if kind is not None and len(group) < sum(other == kind for other in family.values()):
                continue  # numbered attributes that differ are no repeat
            for part in [group] if whole else self._by_shape(group):
                names = tuple(name for name, _ in part)
                classes.update((name, names) for name in names)
        return classes

    def _runs(self, child: ModuleInstance) -> Hashable:
        return tuple((entry.below, entry.does, entry.caller, entry.context) for entry in self._entering.of(child))

    def _by_shape(self, group: list[tuple[str, ModuleInstance]]) -> list[list[tuple[str, ModuleInstance]]]:
        """Members of one size together; a size that is not known goes with any."""
        parts: list[tuple[list[Size], list[tuple[str, ModuleInstance]]]] = []
        for name, child in group:
            sizes = [size for entry in self._entering.of(child) if not entry.below for size in _sizes(entry.call)]
            for known, members_ in parts:
                merged = _together(known, sizes)
                if merged is not None:
                    known[:] = merged
                    members_.append((name, child))
                    break
            else:
                parts.append((sizes, [(name, child)]))
        return [members_ for _, members_ in parts]


def _sizes(call: ModuleCall) -> Iterator[Size]:
    """Every dim of every tensor on the call's boundary; None where not even the rank is known."""
    for side in (call.inputs, call.outputs):
        for _, tensor in named_tensors(side):
            yield None if tensor.shape is None else len(tensor.shape)
            yield from (None if dim is None else str(dim) for dim in tensor.shape or ())


def _together(a: list[Size], b: list[Size]) -> list[Size] | None:
    """What is known of both, or None where they differ for sure."""
    if len(a) != len(b):
        return None if None not in a and None not in b else a
    if any(one is not None and other is not None and one != other for one, other in zip(a, b)):
        return None
    return [one if one is not None else other for one, other in zip(a, b)]


def families(children: list[tuple[str, ModuleInstance]]) -> dict[str, Hashable]:
    """Attributes that one loop made: named by a number (`block1`, `block2`), built at one place inside a loop."""
    found: dict[str, Hashable] = {}
    for name, child in children:
        if re.search(r"\d", name) and child.loops:
            found[name] = (re.sub(r"\d+", "#", name), child.constructed_at)
    counts = Counter(found.values())
    return {name: key for name, key in found.items() if counts[key] > 1}
