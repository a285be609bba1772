"""Enumerations: the members that a class statement or the functional call makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cgx.indexer.interpreter.scopes import Site
from cgx.indexer.interpreter.values import (
    ClassMethod,
    ClassValue,
    DictValue,
    External,
    FunctionValue,
    Instance,
    ListValue,
    Native,
    Opaque,
    Property,
    StaticMethod,
    Value,
)

if TYPE_CHECKING:
    from cgx.indexer.interpreter.interp import Interp

ENUMS = frozenset({"enum.Enum", "enum.IntEnum", "enum.StrEnum", "enum.Flag", "enum.IntFlag"})


def make_members(interp: Interp, cls: ClassValue, site: Site) -> None:
    """The plain names of the class's body become its members. Its own ``__init__`` takes a member's value, a tuple one by one."""
    init = cls.lookup("__init__")
    strings = any(isinstance(base, External) and base.qname == "enum.StrEnum" for base in cls.mro)
    members: dict[str, Value] = {}
    last = 0
    for name, value in list(cls.namespace.items()):
        if name.startswith("_") or isinstance(value, Property | StaticMethod | ClassMethod | Native | FunctionValue):
            continue
        if isinstance(value, Opaque | External) and value.qname.endswith("auto"):
            value = name.lower() if strings else last + 1
        if isinstance(value, int):
            last = value
        member = Instance(cls, {"name": name, "value": value, "_value_": value, "_name_": name})
        members[name] = member
        cls.namespace[name] = member
        if isinstance(init, FunctionValue):
            interp.call(init, [member, *(value if isinstance(value, tuple) else (value,))], {}, site)
    cls.info["members"] = members


def functional(interp: Interp, base: Value, name: Value, names: Value, site: Site) -> Value:
    """``Enum("Name", names)``, also of a class of the source that has no members: names in a string, a list, or with their values."""
    table = _table(names)
    if not isinstance(name, str) or table is None:
        return interp.unknown(site.text, "unsupported", site)
    made = interp.make_type(name, (base,), DictValue(table), site)
    if isinstance(made, ClassValue):
        make_members(interp, made, site)
    return made


def _table(names: Value) -> dict[Value, Value] | None:
    if isinstance(names, str):
        names = tuple(names.replace(",", " ").split())
    if isinstance(names, DictValue):
        return None if names.open or not all(isinstance(key, str) for key in names.items) else dict(names.items)
    items = names.items if isinstance(names, ListValue) and not names.open else names if isinstance(names, tuple) else None
    if items is None:
        return None
    if all(isinstance(one, str) for one in items):
        return {one: place for place, one in enumerate(items, 1)}
    pairs = [tuple(one.items) if isinstance(one, ListValue) else one for one in items]
    if all(isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], str) for one in pairs):
        return {one[0]: one[1] for one in pairs if isinstance(one, tuple)}
    return None
