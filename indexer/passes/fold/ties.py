"""Tied parameters: which module's parameters another one shares."""

from __future__ import annotations

from cgx.indexer.interpreter.values import ModuleInstance, TensorValue
from cgx.indexer.passes.fold.tree import Tree


class Ties:
    """Parameters by identity. The module that ``named_modules()`` gives first owns a shared one.

    To share a module's parameters is to have all of them: where only the other has all of both, it is the one that shares.
    """

    def __init__(self, tree: Tree) -> None:
        self._owner: dict[int, ModuleInstance] = {}
        self._shared: dict[int, ModuleInstance] = {}
        for _, module in tree.modules():
            for value in module.parameters.values():
                if isinstance(value, TensorValue):
                    owner = self._owner.setdefault(id(value), module)
                    if owner is module:
                        continue
                    if owner.parameters.keys() <= module.parameters.keys():
                        self._shared.setdefault(id(module), owner)
                    elif module.parameters.keys() <= owner.parameters.keys():
                        self._shared.setdefault(id(owner), module)

    def owner(self, module: ModuleInstance) -> ModuleInstance | None:
        """The module that owns a parameter which this one shares; None where it shares none."""
        return self._shared.get(id(module))
