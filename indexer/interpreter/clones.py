"""Memory of construction: a module built again at one place from equal arguments is a copy of the first one.

An expert of which 256 are made, or a layer whose index nobody reads, is evaluated once. A constructor is remembered where it
changes nothing but what it makes: its modules, its own scopes, lists and dicts. What it read of other objects (a configuration)
must still be the same. A copy is a twin of its original until one of them is written to; :class:`Table` notices that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cgx.indexer.interpreter.memo import Reading, key_of, reachable, read_value, value_key
from cgx.indexer.interpreter.scopes import Site
from cgx.indexer.interpreter.trace import Event, ScopeNode
from cgx.indexer.interpreter.twins import tree
from cgx.indexer.interpreter.values import (
    CONTAINERS,
    ClassValue,
    DictValue,
    External,
    FunctionValue,
    Instance,
    ListValue,
    Make,
    ModuleInstance,
    Native,
    SetValue,
    TensorValue,
    Unknown,
    Value,
    is_constant,
)

MAX_MISSES = 6  # constructor calls of one class at one place without a hit, after which it is not remembered there any more
MAX_KEPT = 8  # remembered argument sets of one class at one place
TABLES = ("attrs", "children", "parameters", "buffers")


class Table(dict[str, Value]):
    """A table of a module that has twins: a write to it ends that."""

    __slots__ = ("owner",)
    owner: ModuleInstance

    def __setitem__(self, key: str, value: Value) -> None:
        self.owner.make = None
        super().__setitem__(key, value)

    def __delitem__(self, key: str) -> None:
        self.owner.make = None
        super().__delitem__(key)

    def pop(self, *args: Any) -> Value:
        self.owner.make = None
        return super().pop(*args)

    def update(self, *args: Any, **kwargs: Any) -> None:
        self.owner.make = None
        super().update(*args, **kwargs)

    def clear(self) -> None:
        self.owner.make = None
        super().clear()


@dataclass(eq=False, slots=True)
class Made:
    """A remembered constructor call. ``outer``: how many loops were running round it."""

    key: Any
    module: ModuleInstance
    makes: list[tuple[ModuleInstance, Make | None]]  # every module of it, as it was
    reads: list[tuple[Any, str, Any]]
    outer: int
    held: list[Value]  # what the key names by identity


@dataclass(eq=False, slots=True)
class Spot:
    """What is known of one class at one place."""

    made: list[Made]
    misses: int = 0
    hits: int = 0


class Clones:
    """The part of the interpreter that remembers constructor calls. Mixed into Interp."""

    def __init__(self) -> None:
        self.fresh: dict[int, int] = {}  # id of a table or list made inside remembered constructors -> running number
        self._spots: dict[Any, Spot] = {}
        self._recording = 0

    def note_fresh(self, table: Any) -> None:
        """A scope, list or dict is made: inside a constructor that is being remembered it may be written to."""
        if self._recording:
            self.fresh[id(table)] = len(self.fresh)

    def construct(self: Any, cls: ClassValue, args: list[Value], kwargs: dict[str, Value], site: Site, build: Callable[[], Value]) -> Value:
        """``cls(*args, **kwargs)`` for a module class: a copy of an equal earlier one, or ``build()``."""
        chain = tuple(owner.constructed_at for owner in self.constructing_stack[-3:])
        spot = self._spots.setdefault((id(cls), site.anchor, chain), Spot([]))
        if not self.constructing_stack or spot.misses > MAX_MISSES or "row" in cls.info:
            return build()
        key = (
            tuple(value_key(arg) for arg in args), tuple((name, value_key(value)) for name, value in kwargs.items()),
            self.flags.get("default_dtype"), self.flags.get("default_device"), self.flags.get("legacy_device"), self.flags.get("grad"),
            tuple(sorted(self.assumptions.items())),
        )  # fmt: skip
        for made in spot.made:
            if made.key == key and self._still(made):
                copy = self._copy(made)
                if copy is not None:
                    spot.hits, spot.misses = spot.hits + 1, 0
                    return copy
        spot.misses += 1
        return self._remembered(spot, key, args, kwargs, build)

    def _still(self, made: Made) -> bool:
        return all(key_of(owner, name, read_value(owner, name), made.module) == key for owner, name, key in made.reads)

    def _remembered(self: Any, spot: Spot, key: Any, args: list[Value], kwargs: dict[str, Value], build: Callable[[], Value]) -> Value:
        start, number, before = len(self.trace.modules), len(self.fresh), len(self.stack[-1].children)
        reading = Reading(None)
        self.readings.append(reading)
        self.trail.begin()
        self._recording += 1
        try:
            module = build()
        except BaseException:
            self.readings.remove(reading)
            self.trail.commit()
            raise
        finally:
            self._recording -= 1
        self.readings.remove(reading)
        changes = self.trail.commit()
        made = self.trace.modules[start:]
        own = {id(table) for one in made for table in (one.attrs, one.children, one.parameters, one.buffers, one.origins)}
        inside = {id(one) for one in made}
        own |= {id(part) for one in made for tensor in tensors_of(one) for part in (tensor, tensor.attrs)}
        given = reachable([*args, *kwargs.values()])
        allowed = all(self._own_change(change.obj, own, inside, number) for change in changes.values())
        quiet = not any(isinstance(node, Event | ScopeNode) for top in self.stack[-1].children[before:] for node in top.walk())
        if not self._recording:
            self.fresh.clear()
        if allowed and quiet and isinstance(module, ModuleInstance) and all(copyable(one, given, inside) for one in made):
            reads = [(owner, name, key_of(owner, name, value, module)) for owner, name, value in reading.reads.values() if id(owner) not in inside]
            adopt(module)
            makes = [(one, one.make) for one in tree(module)]
            entry = Made(key, module, makes, reads, len(self.loops), [*args, *kwargs.values(), *(owner for owner, _, _ in reads)])
            spot.made = [*spot.made[-MAX_KEPT + 1 :], entry]
        return module

    def _own_change(self, obj: Any, own: set[int], inside: set[int], number: int) -> bool:
        return id(obj) in own or id(obj) in inside or self.fresh.get(id(obj), -1) >= number

    def _copy(self: Any, made: Made) -> Any:
        """A twin of a remembered module; None where the original was changed since."""
        interp: Any = self
        if not all(one.make is make for one, make in made.makes):
            return None
        outer = tuple(interp.loops)
        copies: dict[int, Value] = {}

        def module(one: ModuleInstance) -> Any:
            known = copies.get(id(one))
            if known is not None:
                return known
            twin = ModuleInstance(one.cls, {}, one.constructed_at, dict(one.origins), one.open, passing=interp.forward_depth > 0)
            copies[id(one)] = twin
            twin.via, twin.device, twin.training = one.via, one.device, one.training
            twin.loops = outer + one.loops[made.outer :]
            twin.wrappers = list(one.wrappers)
            twin.serial = len(interp.trace.modules)
            assert one.make is not None
            one.make.copies += 1
            interp.trace.modules.append(twin)
            for name in TABLES:
                table = Table({key: value(item) for key, item in getattr(one, name).items()})
                table.owner = twin
                setattr(twin, name, table)
            twin.make = one.make
            return twin

        def value(item: Value) -> Value:
            if isinstance(item, ModuleInstance):
                return module(item)
            if isinstance(item, TensorValue):
                known = copies.get(id(item))
                if known is None:
                    known = copies[id(item)] = TensorValue(
                        item.shape, item.dtype, item.device, item.pinned, item.library, item.parameter, item.requires_grad,
                        item.const, item.name, item.anchor, {}, item.cls,
                    )  # fmt: skip
                    known.attrs.update({key: value(part) if isinstance(part, TensorValue) else part for key, part in item.attrs.items()})
                return known
            if isinstance(item, tuple) and not is_constant(item):
                return tuple(value(part) for part in item)
            if isinstance(item, ListValue):
                return ListValue([value(part) for part in item.items], item.open, item.cls)
            if isinstance(item, DictValue):
                return DictValue({key: value(part) for key, part in item.items.items()}, item.open, item.kind, item.default, dict(item.origins), item.other)
            if isinstance(item, SetValue):
                return SetValue(list(item.items), item.open, item.frozen)
            return item

        return module(made.module)


def tensors_of(one: ModuleInstance) -> list[TensorValue]:
    """Parameters and buffers: what a constructor sets on them is part of what it makes."""
    return [tensor for table in (one.parameters, one.buffers) for tensor in table.values() if isinstance(tensor, TensorValue)]


def adopt(root: ModuleInstance) -> None:
    """Watch the tables of a module and all below it."""
    for one in tree(root):
        if one.make is not None:
            continue
        for name in TABLES:
            table = Table(getattr(one, name))
            table.owner = one
            setattr(one, name, table)
        one.make = Make()


def copyable(one: ModuleInstance, given: set[int], inside: set[int]) -> bool:
    """Every attribute may be copied or shared: nothing of it stands for this very object alone."""
    if one.hooks or one.open:
        return False
    if not all(child is None or id(child) in inside for child in one.children.values()):
        return False  # a module of the caller's: whether it is written to is not watched here
    return all(_plain(item, given, inside) for table in (one.attrs, one.buffers, one.parameters) for item in table.values())


def _plain(item: Value, given: set[int], inside: set[int]) -> bool:
    if isinstance(item, TensorValue):
        return id(item) not in given
    if isinstance(item, ModuleInstance):
        return id(item) in inside
    if isinstance(item, FunctionValue):
        return item.closure.kind in ("module", "class")
    if isinstance(item, ClassValue | External | Native | Unknown) or is_constant(item):
        return True
    if isinstance(item, CONTAINERS):
        if id(item) in given:
            return False
        parts = item.items.values() if isinstance(item, DictValue) else item if isinstance(item, tuple) else item.items
        return all(_plain(part, given, inside) for part in parts)
    if isinstance(item, Instance):
        return id(item) in given or "members" in item.cls.info
    return id(item) in given or type(item).__module__.endswith("ops.dims") or type(item).__name__ in ("Device", "DType", "slice")
