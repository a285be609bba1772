"""Memory of module calls: a call with equal arguments of a module that reads equal values is not evaluated again.

A call is remembered with everything it read of modules and objects, by place relative to the called module. Another module of
the same class whose places hold equal values gives the same trace. Calls that write to what they were given, or to global
state, are never remembered. This is what makes 61 equal layers cost one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from cgx.indexer.interpreter.trace import ModuleCall
from cgx.indexer.interpreter.twins import has_twins, is_large, tree, twins
from cgx.indexer.interpreter.values import (
    MISSING,
    ByRank,
    Device,
    DictValue,
    DType,
    External,
    Instance,
    ListValue,
    ModuleInstance,
    ModuleObject,
    Opaque,
    SetValue,
    TensorValue,
    Unknown,
    Value,
)
from cgx.indexer.ops.dims import Dim

MAX_ENTRIES = 8  # remembered variants of one class and one set of arguments
MAX_WALK = 1_000_000  # values looked at to tell what a call was given
CONSTANTS = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), range, DType, Device, External, Dim)


@dataclass(eq=False, slots=True)
class Reading:
    """What one running call has read: (owner, name) -> value, the first time each."""

    module: ModuleInstance | None
    sealed: frozenset[int] = frozenset()  # ids of modules whose reads are no one else's matter: ``trees`` stands for them
    trees: dict[int, tuple[ModuleInstance, bool]] = field(default_factory=dict)  # modules with twins that were called inside, their mode
    reads: dict[tuple[int, str], tuple[Any, str, Value]] = field(default_factory=dict)
    unknowns: int = 0
    spoiled: bool = False


@dataclass(eq=False, slots=True)
class Entry:
    """A remembered call. ``reads``: (place, name, key); a place is a path below the module, or an object itself.

    ``trees``: (place, module, mode): a twin of the module has to stand there, whatever is read of it.
    """

    node: ModuleCall
    reads: list[tuple[Any, str, Any]]
    result: Value
    args: list[TensorValue]
    unknowns: list[Unknown]
    trees: list[tuple[Any, ModuleInstance, bool]]
    training: bool  # mode of the called module
    held: list[Any]  # what the keys know by identity: kept, or an id would be taken again


def value_key(value: Value, depth: int = 0) -> Any:
    """Equal keys mean: indistinguishable to what is evaluated. Objects are told apart by identity."""
    if isinstance(value, bool | int | float | str):
        return (type(value).__name__, value)
    if isinstance(value, CONSTANTS):
        return value
    if isinstance(value, TensorValue):
        if value.cls is not None or (value.attrs and depth >= 4):
            return ("id", id(value))
        if value.attrs:
            held = tuple((name, value_key(one, depth + 1)) for name, one in value.attrs.items())
            return ("T", value.shape, value.dtype, value.device, value.pinned, value.const, value.parameter, value.library, value.requires_grad, held)
        return ("T", value.shape, value.dtype, value.device, value.pinned, value.const, value.parameter, value.library, value.requires_grad)
    if isinstance(value, Unknown):
        return ("U", value.name, value.reason, value.hint)
    if depth < 4:
        if isinstance(value, ByRank):
            return ("R", tuple(value_key(item, depth + 1) for item in value.values))
        if isinstance(value, tuple):
            return tuple(value_key(item, depth + 1) for item in value)
        if isinstance(value, ListValue) and value.cls is None:
            return ("L", value.open, tuple(value_key(item, depth + 1) for item in value.items))
        if isinstance(value, DictValue):
            return ("D", value.open, tuple((key if isinstance(key, str | int) else id(key), value_key(item, depth + 1)) for key, item in value.items.items()))
    return ("id", id(value))


class Memo:
    """The part of the interpreter that remembers module calls. Mixed into Interp."""

    def __init__(self) -> None:
        self.readings: list[Reading] = []
        self._memo: dict[Any, list[Entry]] = {}

    def note_read(self, owner: Any, name: str, value: Value) -> None:
        """A value of a module or object that a forward depends on."""
        for reading in reversed(self.readings):
            reading.reads.setdefault((id(owner), name), (owner, name, value))
            if id(owner) in reading.sealed:
                break

    def note_tree(self, module: ModuleInstance) -> None:
        """Everything below a module that has twins is depended on."""
        for reading in reversed(self.readings):
            reading.trees.setdefault(id(module), (module, module.training))
            if id(module) in reading.sealed:
                break

    def remembered(self: Any, module: ModuleInstance, args: list[Value], kwargs: dict[str, Value], place: Any) -> tuple[Any, Entry | None]:
        """(key of the call, an earlier call that stands for it). ``place``: where it is called, for what runs without source."""
        flags = self.flags
        key = (
            id(module.cls), place, tuple(value_key(arg) for arg in args), tuple((name, value_key(value)) for name, value in kwargs.items()),
            flags.get("grad"), flags.get("autocast"), id(flags.get("stream")), flags.get("default_dtype"), flags.get("default_device"), flags.get("legacy_device"),
            tuple(sorted(self.assumptions.items())),
        )  # fmt: skip
        try:
            entries = self._memo.get(key, ())
        except TypeError:
            return None, None
        for entry in entries:
            if self._holds(entry, module):
                return key, entry
        return key, None

    def _holds(self, entry: Entry, module: ModuleInstance) -> bool:
        if module is not entry.node.module and has_twins(module) and twins(module, entry.node.module, entry.training):
            return all(read_key(owner, name, module) == key for owner, name, key in entry.reads if not isinstance(owner, tuple))
        for place, name, key in entry.reads:
            owner = walk_to(module, place) if isinstance(place, tuple) else place
            if owner is None or read_key(owner, name, module) != key:
                return False
        return all(twins(walk_to(module, place) if isinstance(place, tuple) else place, one, mode) for place, one, mode in entry.trees)

    def replay(self: Any, entry: Entry, module: ModuleInstance, node: ModuleCall, args: list[Value], kwargs: dict[str, Value]) -> Value:
        """The result of a remembered call for new arguments."""
        if self.readings:
            whole = has_twins(module)
            if whole:
                self.note_tree(module)
            for place, name, _ in entry.reads:
                if isinstance(place, tuple) and whole:
                    continue
                owner = walk_to(module, place) if isinstance(place, tuple) else place
                if owner is not None:
                    self.note_read(owner, name, read_value(owner, name))
            for place, one, _ in entry.trees if not whole else ():
                inner = walk_to(module, place) if isinstance(place, tuple) else one
                if inner is not None:
                    self.note_tree(inner)
        for unknown in entry.unknowns:
            self.note_unknown(unknown, tested=True)
        node.same_as = entry.node.same_as or entry.node
        node.children = entry.node.children
        swap = {id(old): new for old, new in zip(entry.args, argument_tensors(args, kwargs))}
        return copied(entry.result, swap)

    def remember(
        self: Any, key: Any, module: ModuleInstance, node: ModuleCall, args: list[Value], kwargs: dict[str, Value], run: Callable[[], Value]
    ) -> Value:
        """Evaluate a call and keep it, where it depends on nothing but what it reads and changes nothing it was given."""
        if not self.readings and is_large(module):
            return run()
        whole = has_twins(module)
        reading = Reading(module, unknowns=len(self.trace.unknowns))
        if whole:
            reading.sealed = frozenset(id(one) for one in tree(module))
            self.note_tree(module)
        given = reachable([*args, *kwargs.values(), module])
        before = argument_tensors(args, kwargs)
        loops = self.unknown_loops
        self.readings.append(reading)
        self.trail.begin()
        try:
            result = run()
        except BaseException:
            self.readings.remove(reading)
            self.trail.commit()
            raise
        self.readings.remove(reading)
        changes = self.trail.commit()
        del loops
        shared = self.shared_tables() if changes else frozenset()
        outside = any(id(change.obj) in given or isinstance(change.obj, ModuleInstance) or id(change.obj) in shared for change in changes.values())
        if outside or key is None or reading.spoiled or not can_copy(result):
            return result
        places = {id(inner): path for path, inner in named_places(module)}
        reads: list[tuple[Any, str, Any]] = []
        for owner, name, value in reading.reads.values():
            place: Any = places.get(id(owner), owner)
            reads.append((place, name, key_of(owner, name, value, module)))
        entries = self._memo.setdefault(key, [])
        if len(entries) < MAX_ENTRIES:
            held = [module, *args, *kwargs.values(), *(value for _, _, value in reading.reads.values()), self.flags.get("stream")]
            trees = [(places.get(id(one), one), one, mode) for one, mode in reading.trees.values() if one is not module]
            entries.append(Entry(node, reads, copied(result, {id(tensor): tensor for tensor in before}), before, list(self.trace.unknowns[reading.unknowns :]), trees, module.training, held))
        return result

    def shared_tables(self: Any) -> set[int]:
        """Ids of the scopes of modules, the environment and the flags: what every call shares."""
        found = {id(value.scope.vars) for value in self.modules.values() if isinstance(value, ModuleObject)}
        return found | {id(self.env)}


# ------------------------------------------------------------------ reads


def read_value(owner: Any, name: str) -> Value:
    if isinstance(owner, ModuleInstance):
        if name == "__class__":
            return owner.cls
        if name == "__children__":
            return tuple(owner.children)
        if name == "__layer__":
            return layer_value(owner)
        if name == "training":
            return owner.training
        for table in (owner.attrs, owner.parameters, owner.buffers, owner.children):
            if name in table:
                return table[name]
        return MISSING
    attrs = getattr(owner, "attrs", None)
    return attrs.get(name, MISSING) if attrs is not None else MISSING


def layer_value(owner: ModuleInstance) -> Value:
    """Everything a torch layer's rule looks at."""
    tables = (owner.attrs, owner.parameters, owner.buffers)
    return (owner.training, *(tuple((name, value) for name, value in table.items()) for table in tables))


def read_key(owner: Any, name: str, root: ModuleInstance) -> Any:
    return key_of(owner, name, read_value(owner, name), root)


def key_of(owner: Any, name: str, value: Value, root: ModuleInstance) -> Any:
    if name == "__class__":
        return id(value)
    if isinstance(value, ModuleInstance):
        return ("module", id(value.cls)) if isinstance(owner, ModuleInstance) else ("id", id(value))
    if isinstance(value, ByRank):
        return ("R", tuple(key_of(owner, name, one, root) for one in value.values))
    return value_key(value)


def named_places(module: ModuleInstance) -> Iterator[tuple[tuple[str, ...], ModuleInstance]]:
    seen: set[int] = set()
    stack: list[tuple[tuple[str, ...], ModuleInstance]] = [((), module)]
    while stack:
        path, inner = stack.pop()
        if id(inner) in seen:
            continue
        seen.add(id(inner))
        yield path, inner
        stack.extend(((*path, name), child) for name, child in inner.children.items() if isinstance(child, ModuleInstance))


def walk_to(module: ModuleInstance, path: tuple[str, ...]) -> ModuleInstance | None:
    inner: Value = module
    for name in path:
        inner = inner.children.get(name) if isinstance(inner, ModuleInstance) else None
    return inner if isinstance(inner, ModuleInstance) else None


# ------------------------------------------------------------------ arguments and results


def argument_tensors(args: list[Value], kwargs: dict[str, Value]) -> list[TensorValue]:
    found: list[TensorValue] = []
    stack: list[Value] = [*reversed(list(kwargs.values())), *reversed(args)]
    while stack:
        value = stack.pop()
        if isinstance(value, TensorValue):
            found.append(value)
        elif isinstance(value, tuple):
            stack.extend(reversed(value))
        elif isinstance(value, ListValue):
            stack.extend(reversed(value.items))
        elif isinstance(value, DictValue):
            stack.extend(reversed(list(value.items.values())))
    return found


def reachable(values: list[Value]) -> set[int]:
    """Ids of the mutable things that values hold, modules' own tables included."""
    found: set[int] = set()
    stack = list(values)
    while stack and len(found) < MAX_WALK:
        value = stack.pop()
        if id(value) in found:
            continue
        if isinstance(value, tuple):
            stack.extend(value)
        elif isinstance(value, TensorValue):
            found.update((id(value), id(value.attrs)))
        elif isinstance(value, ListValue | SetValue):
            found.add(id(value))
            stack.extend(value.items)
        elif isinstance(value, DictValue):
            found.update((id(value), id(value.items)))
            stack.extend(value.items.values())
        elif isinstance(value, ModuleInstance):
            found.update((id(value), id(value.attrs), id(value.parameters), id(value.buffers), id(value.children)))
            stack.extend(value.attrs.values())
            stack.extend(value.buffers.values())
            stack.extend(child for child in value.children.values() if child is not None)
        elif isinstance(value, Instance | Opaque):
            found.update((id(value), id(value.attrs)))
            stack.extend(value.attrs.values())
    return found


def can_copy(value: Value) -> bool:
    """A result that may be handed out again: data, not modules, functions or generators."""
    if isinstance(value, (CONSTANTS, TensorValue | Unknown)):
        return True
    if isinstance(value, tuple):
        return all(can_copy(item) for item in value)
    if isinstance(value, ListValue):
        return all(can_copy(item) for item in value.items)
    if isinstance(value, DictValue):
        return all(can_copy(item) for item in value.items.values())
    if isinstance(value, Instance) and not isinstance(value, ModuleInstance):
        return all(can_copy(item) for item in value.attrs.values())
    return False


def copied(value: Value, swap: dict[int, TensorValue]) -> Value:
    """A copy with tensors of its own; a tensor that was passed through is the new call's."""
    if isinstance(value, TensorValue):
        return swap[id(value)] if id(value) in swap else replace(value, attrs=dict(value.attrs))
    if isinstance(value, tuple):
        if hasattr(value, "fields"):
            return type(value)(value.fields, [copied(item, swap) for item in value])  # type: ignore[call-arg]
        return tuple(copied(item, swap) for item in value)
    if isinstance(value, ListValue):
        return ListValue([copied(item, swap) for item in value.items], value.open, value.cls)
    if isinstance(value, DictValue):
        return DictValue({key: copied(item, swap) for key, item in value.items.items()}, value.open, value.kind, value.default, dict(value.origins), value.other)
    if isinstance(value, Instance) and not isinstance(value, ModuleInstance):
        return Instance(value.cls, {name: copied(item, swap) for name, item in value.attrs.items()}, value.constructed_at, dict(value.origins), value.open)
    return value
