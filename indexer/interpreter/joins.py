"""Joining two values of one slot after an undecided branch, or before and after a loop body."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.values import (
    MAX_OPTIONS,
    MISSING,
    Alternatives,
    ByRank,
    Device,
    DType,
    GeneratorValue,
    Instance,
    Opaque,
    Sequence,
    TensorValue,
    Unknown,
    Value,
)
from cgx.model.anchors import Anchor

ANOTHER = "another iteration"  # of a widened slot: the value before the loop, against the one that an iteration leaves


def same(one: Value, other: Value) -> bool:
    """Surely the same value: one object, or equal constants of one type."""
    if one is other:
        return True
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other))
    if isinstance(one, ByRank) and isinstance(other, ByRank):
        return same(one.values, other.values)
    if type(one) is not type(other):
        return False
    if isinstance(one, TensorValue):
        return (
            not (one.parameter or other.parameter)
            and (one.shape, one.dtype, one.device, one.pinned, one.const)
            == (other.shape, other.dtype, other.device, other.pinned, other.const)
        )
    if isinstance(one, (int, float, complex, str, bytes, bool, range, Device, DType)):
        return bool(one == other)
    try:
        own: Any = type(one).__eq__
        return own is not object.__eq__ and bool(one == other)
    except Exception:
        return False


def join_shapes(one: tuple[Value, ...] | None, other: tuple[Value, ...] | None) -> tuple[Value, ...] | None:
    if one is None or other is None or len(one) != len(other):
        return None
    return tuple(a if same(a, b) else None for a, b in zip(one, other))


def join_tensors(one: TensorValue, other: TensorValue) -> TensorValue:
    """What both tensors have in common."""
    return TensorValue(
        shape=join_shapes(one.shape, other.shape),
        dtype=one.dtype if one.dtype == other.dtype else None,
        device=one.device if one.device == other.device else None,
        pinned=one.pinned if one.pinned == other.pinned else None,
        library=one.library,
        requires_grad=one.requires_grad if one.requires_grad == other.requires_grad else None,
        name=one.name or other.name,
        anchor=one.anchor,
        attrs={key: value for key, value in one.attrs.items() if key in other.attrs and alike(value, other.attrs[key])} if one.attrs else {},
    )


def alike(one: Value, other: Value) -> bool:
    """The same value, or not known both."""
    return same(one, other) or (isinstance(one, Unknown) and isinstance(other, Unknown))


def join(one: Value, other: Value, condition: str, anchor: Anchor | None = None, name: str = "") -> Value:
    """The value after a branch: ``one`` where ``condition`` holds, else ``other``."""
    if one is MISSING or other is MISSING:
        return other if one is MISSING else one
    if same(one, other):
        return one
    if isinstance(one, list) and isinstance(other, list):  # a table of an object of ours, such as its hooks: what is surely there
        return [entry for entry in one if entry in other]
    if isinstance(one, TensorValue) and isinstance(other, TensorValue) and not (one.parameter and other.parameter):
        return join_tensors(one, other)
    if isinstance(one, Device) and isinstance(other, Device) and one.type == other.type:
        return Device(one.type, one.index if same(one.index, other.index) else None)  # of that kind, whichever
    if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
        return tuple(join(a, b, condition, anchor, name) for a, b in zip(one, other))
    if isinstance(one, Opaque) and isinstance(other, Opaque) and one.qname == other.qname and not one.attrs:
        return other
    if isinstance(one, Unknown) and isinstance(other, Unknown):
        return one
    for loaded, made in ((one, other), (other, one)):  # an object kept in a file, and what is made where the file is not there
        if isinstance(loaded, Unknown) and loaded.reason == "missing-file" and type(made) is Instance:
            return made
    options: list[tuple[str, Value]] = []
    for text, value in [*parts(one, condition), *parts(other, f"not ({condition})")]:
        if isinstance(value, TensorValue) and not value.parameter:
            index = next((i for i, (_, seen) in enumerate(options) if isinstance(seen, TensorValue)), None)
            if index is not None:
                options[index] = (options[index][0], join_tensors(options[index][1], value))
                continue
        if not any(same(value, seen) or one_loader(value, seen) for _, seen in options):
            options.append((text, value))
    if len(options) == 1:
        return options[0][1]
    if len(options) > MAX_OPTIONS:
        return Unknown(name, "undecided-branch", anchor, guard=condition)
    return Alternatives(tuple(options), anchor)


def stand_in(items: list[Value]) -> Instance | None:
    """One object for so many of a class of the source that alternatives cannot hold them: what their attributes have in common."""
    first = items[0] if items else None
    if len(items) <= MAX_OPTIONS or type(first) is not Instance or not all(type(item) is Instance and item.cls is first.cls for item in items):
        return None
    attrs = dict(first.attrs)
    for item in items[1:]:
        attrs = {name: join(value, item.attrs[name], "another element", None, name) for name, value in attrs.items() if name in item.attrs}
    some = any(item.open or len(item.attrs) != len(attrs) for item in items)
    return Instance(first.cls, attrs, first.constructed_at, dict(first.origins), some)


def one_loader(one: Value, other: Value) -> bool:
    """Iterators of one loader, or two runs of one generator: whichever gives the next batch."""
    if isinstance(one, GeneratorValue) and isinstance(other, GeneratorValue):
        return one.func.node is other.func.node
    if not (isinstance(one, Sequence) and isinstance(other, Sequence) and one.qname == other.qname):
        return False
    loader = one.attrs.get("loader")
    return loader is not None and loader is other.attrs.get("loader")


def parts(value: Value, condition: str) -> tuple[tuple[str, Value], ...]:
    if isinstance(value, Alternatives):
        return value.options
    return ((condition, value),)
