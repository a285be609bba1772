"""Which modules are built alike: equal numbers for equal class, constructor values that matter, parameters and children.

What matters of a layer of torch is what its table row names; of a class of the source what its ``extra_repr`` prints.
Other attributes count only through what they make ``forward`` do, which the signatures of the calls compare.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable
from typing import Any

from cgx.indexer.interpreter.values import (
    ClassValue,
    DType,
    FunctionValue,
    ModuleInstance,
    Opaque,
    TensorValue,
    Unknown,
    Value,
    is_constant,
)
from cgx.indexer.ops.layers import layer
from cgx.indexer.ops.rows import parameters
from cgx.indexer.passes.fold.tree import members

FACTORY = frozenset({"device", "dtype"})


class Interner:
    """One small number for each distinct key, in the order they are first seen."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}

    def __call__(self, key: Hashable) -> int:
        return self._numbers.setdefault(key, len(self._numbers))


class Structure:
    """Numbers for how modules are built; equal numbers mean built alike."""

    def __init__(self, interner: Interner) -> None:
        self._intern = interner
        self._memo: dict[int, int] = {}
        self._shown: dict[int, frozenset[str] | None] = {}

    def of(self, module: ModuleInstance) -> int:
        if id(module) not in self._memo:
            self._memo[id(module)] = -1  # a circle ends here
            self._memo[id(module)] = self._intern(self._key(module))
        return self._memo[id(module)]

    def _key(self, module: ModuleInstance) -> Hashable:
        return (
            "module",
            module.cls.qname,
            self._attributes(module),
            tensors(module.parameters),
            tensors(module.buffers),
            tuple((name, self.of(child)) for name, child in members(module)),
            tuple(part for name, value in module.attrs.items() if (part := closed_part(name, value)) is not None),
        )

    def _attributes(self, module: ModuleInstance) -> Hashable:
        shown = self._names(module.cls)
        found = []
        for name, value in module.attrs.items():
            wanted = not name.startswith("_") and name != "training" if shown is None else name in shown
            if wanted and (is_constant(value) or isinstance(value, DType)):
                found.append((name, repr(value)))
        return tuple(sorted(found))

    def _names(self, cls: ClassValue) -> frozenset[str] | None:
        """The attributes that matter; None for all of them."""
        if id(cls) not in self._shown:
            self._shown[id(cls)] = attribute_names(cls)
        return self._shown[id(cls)]


def attribute_names(cls: ClassValue) -> frozenset[str] | None:
    """What its own ``extra_repr`` reads; else what the table row of the layer it is, or derives from, takes to construct."""
    function = cls.lookup("extra_repr")
    if isinstance(function, FunctionValue):
        reads = (node for node in ast.walk(function.node) if isinstance(node, ast.Attribute))
        return frozenset(node.attr for node in reads if isinstance(node.value, ast.Name) and node.value.id == "self")
    for base in (cls, *cls.mro):
        row = layer(getattr(base, "native", "") or getattr(base, "qname", ""))
        if row is not None:
            return frozenset(parameter.name for parameter in parameters(row.signature)) - FACTORY
    return None if cls.module is None else frozenset()


def closed_part(name: str, value: Value) -> Hashable:
    """What may be a module though no source shows it: another one is not built alike. None for anything else."""
    if isinstance(value, Opaque) and value.qname.rpartition(".")[2][:1].isupper():
        return name, value.qname
    if isinstance(value, Unknown) and value.reason == "missing-module" and value.hint in ("", "module"):
        return name, value.name
    return None


def tensors(named: dict[str, Any]) -> Hashable:
    """Names, shapes and dtypes of parameters or buffers."""
    return tuple(
        (name, dims(value.shape), value.dtype) for name, value in named.items() if isinstance(value, TensorValue)
    )


def dims(shape: tuple[Any, ...] | None) -> Hashable:
    return None if shape is None else tuple(dim if isinstance(dim, int) else str(dim) for dim in shape)
