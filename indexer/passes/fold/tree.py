"""Module trees: the path of every instance, as ``named_modules()`` would give it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cgx.indexer.interpreter.values import Alternatives, ByRank, ModuleInstance, Value
from cgx.model.anchors import Anchor

Path = tuple[str, ...]


def members(module: ModuleInstance) -> Iterator[tuple[str, ModuleInstance]]:
    """The children by name, those that are None or not known left out. Of the ranks' own ones, rank 0's is taken."""
    for name, child in module.children.items():
        found = only_module(child)
        if found is not None:
            yield str(name), found


def only_module(value: Value) -> ModuleInstance | None:
    """The module that the value is, or is if it is one at all: with two possible ones nothing is known."""
    if isinstance(value, ByRank):
        return only_module(value.values[0])
    if isinstance(value, Alternatives):
        found = [option for _, option in value.options if isinstance(option, ModuleInstance)]
        return found[0] if len(found) == 1 else None
    return value if isinstance(value, ModuleInstance) else None


def condition_of(module: ModuleInstance, name: str) -> tuple[str, Anchor | None] | None:
    """The condition under which a child is there, where it is not known."""
    child = module.children.get(name)
    if not isinstance(child, Alternatives):
        return None
    text = next((text for text, option in child.options if isinstance(option, ModuleInstance)), "")
    return (text, child.anchor) if text else None


class Tree:
    """Root modules and all below them. A shared instance has the path it is first met under."""

    def __init__(self, *roots: ModuleInstance) -> None:
        self.roots = roots
        self._paths: dict[int, Path] = {}
        self._parents: dict[int, ModuleInstance] = {}
        self._modules: list[dict[Path, ModuleInstance]] = []
        self._root: dict[int, int] = {}
        self._below: dict[int, dict[int, Path]] = {}
        self._sharing: set[int] = set()
        for root in roots:
            self._walk(root)

    def _walk(self, root: ModuleInstance) -> None:
        number = len(self._modules)
        modules: dict[Path, ModuleInstance] = {}
        self._modules.append(modules)
        stack: list[tuple[Path, ModuleInstance, ModuleInstance | None]] = [((), root, None)]
        while stack:
            path, module, parent = stack.pop()
            if id(module) in self._paths:
                if parent is not None:
                    self._sharing.update(id(one) for one in self.lineage(parent))
                continue
            self._paths[id(module)] = path
            self._root[id(module)] = number
            modules[path] = module
            if parent is not None:
                self._parents[id(module)] = parent
            below = [((*path, name), child, module) for name, child in members(module)]
            stack.extend(reversed(below))

    def __contains__(self, module: object) -> bool:
        return id(module) in self._paths

    def path(self, module: ModuleInstance) -> Path:
        """The path below the module's root; () for a root."""
        return self._paths[id(module)]

    def root(self, module: ModuleInstance) -> ModuleInstance:
        return self.roots[self._root[id(module)]]

    def parent(self, module: ModuleInstance) -> ModuleInstance | None:
        return self._parents.get(id(module))

    def lineage(self, module: ModuleInstance) -> Iterator[ModuleInstance]:
        """The module, its parent, and so on up to the root."""
        step: ModuleInstance | None = module
        while step is not None:
            yield step
            step = self._parents.get(id(step))

    def modules(self) -> Iterator[tuple[Path, ModuleInstance]]:
        """Every module of every root, depth first."""
        for modules in self._modules:
            yield from modules.items()

    def relative(self, module: ModuleInstance, owner: ModuleInstance | None) -> Path:
        """The path below ``owner``; an absolute one, marked by its first part, where it does not lie there."""
        path, number = self._paths[id(module)], self._root[id(module)]
        if owner is None or self._root.get(id(owner)) != number:
            return (f"/{number}", *path)
        base = self._paths[id(owner)]
        return path[len(base) :] if path[: len(base)] == base else (f"/{number}", *path)

    def shares(self, module: ModuleInstance) -> bool:
        """Whether something below the module has its path elsewhere, or under another of its names."""
        return id(module) in self._sharing

    def counterpart(self, module: ModuleInstance, old: ModuleInstance, new: ModuleInstance) -> ModuleInstance:
        """The module that stands below ``new`` where this one stands below ``old``; itself where there is none."""
        if module not in self or old not in self or new not in self:
            return module
        below = self._places(old).get(id(module))
        found: ModuleInstance | None = new if below is not None else module
        for name in below or ():
            found = dict(members(found)).get(name) if found is not None else None
        return found if found is not None and found in self else module

    def _places(self, owner: ModuleInstance) -> dict[int, Path]:
        """Where every module below ``owner`` stands there, those that it shares with others too, whose path is elsewhere."""
        if id(owner) not in self._below:
            below: dict[int, Path] = {id(owner): ()}
            self._below[id(owner)] = below
            stack: list[tuple[Path, ModuleInstance]] = [((), owner)]
            while stack:
                path, module = stack.pop()
                for name, child in members(module):
                    if id(child) not in below:
                        below[id(child)] = (*path, name)
                        stack.append(((*path, name), child))
        return self._below[id(owner)]


def find_roots(modules: Iterable[ModuleInstance], called: Iterable[ModuleInstance]) -> list[ModuleInstance]:
    """The topmost modules of the trees that hold the called ones, in the order of the calls.

    A module that nothing holds is its own root. Where several hold it, the first built one wins.
    """
    above: dict[int, ModuleInstance] = {}
    for module in modules:
        for _, child in members(module):
            above.setdefault(id(child), module)
    roots: dict[int, ModuleInstance] = {}
    for module in called:
        seen: set[int] = set()
        while id(module) in above and id(module) not in seen:
            seen.add(id(module))
            module = above[id(module)]
        roots.setdefault(id(module), module)
    return list(roots.values())
