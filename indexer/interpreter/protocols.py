"""``isinstance`` with a protocol that may be checked at run time: whether a value has all its members, whatever its class."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.attributes import closed
from cgx.indexer.interpreter.values import (
    MISSING,
    ClassValue,
    External,
    Instance,
    ModuleInstance,
    Opaque,
    Unknown,
    Value,
)

PROTOCOLS = frozenset({"typing.Protocol", "typing_extensions.Protocol"})


def is_protocol(kind: Value) -> bool:
    """The class is a protocol itself, not one that only fulfils it."""
    return isinstance(kind, ClassValue) and any(isinstance(base, External) and base.qname in PROTOCOLS for base in kind.bases)


def members(kind: ClassValue) -> list[str]:
    """What a protocol and those above it ask for."""
    found: dict[str, None] = {}
    for cls in kind.mro:
        if isinstance(cls, ClassValue) and is_protocol(cls):
            own = [*cls.info.get("annotations", {}), *cls.namespace]
            found.update(dict.fromkeys(name for name in own if name not in MADE))
    return list(found)


MADE = frozenset({"__doc__", "__module__", "__slots__", "__annotations__", "__qualname__", "__init__", "__abstractmethods__"})


def fulfils(interp: Any, value: Value, kind: ClassValue) -> bool | None:
    """Whether the value has each of the protocol's members; None where that is not known."""
    answers = [has(interp, value, name) for name in members(kind)]
    return False if False in answers else None if None in answers else True


def has(interp: Any, value: Value, name: str) -> bool | None:
    if isinstance(value, Instance | ModuleInstance):
        if name in value.attrs or value.cls.lookup(name) is not MISSING:
            return True
        return False if closed(value.cls, interp, name) and not value.open else None
    if isinstance(value, Opaque):
        return True if name in value.attrs or interp.has_handler(value.qname, name) else None
    if isinstance(value, Unknown | External | ClassValue):
        return None
    return bool(interp.has_builtin_attribute(value, name))
