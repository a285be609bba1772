"""dataclass_extensions 0.5: ``decode`` makes dataclasses of plain data, each field the first of its types that takes the value."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.signals import Raised
from cgx.indexer.interpreter.stdlib.support import Args, Handler, Kwargs
from cgx.indexer.interpreter.values import (
    MISSING,
    Alternatives,
    ClassValue,
    DictValue,
    Instance,
    ListValue,
    SetValue,
    Unknown,
    Value,
)
from cgx.indexer.overlays.annotation_types import ANY, Type
from cgx.indexer.overlays.arguments import bind
from cgx.indexer.overlays.config_dacite import fits
from cgx.indexer.overlays.typed_values import Mismatch, record_fields

REGISTRY, DEFAULT, OWN = "_registry", "_default_type", "registered_name"


def decode(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    bound = bind("config_class data", args, kwargs)
    cls, data = bound.get("config_class"), bound.get("data")
    if not isinstance(cls, ClassValue) or not isinstance(data, DictValue) or data.open:
        return interp.unknown(site.text, getattr(cls if isinstance(cls, Unknown) else data, "reason", "unsupported"), site)
    try:
        return Reader(interp, site).record(cls, data)
    except Mismatch as error:
        return interp.raise_("dataclass_extensions.decode.DecodeError", str(error), site)


def called(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``decode`` where the library's source is given: an object that is called."""
    return decode(interp, site, args[1:], kwargs)


class Reader:
    """One call of ``decode``."""

    def __init__(self, interp: Any, site: Any) -> None:
        self.interp, self.site = interp, site

    def record(self, cls: ClassValue, data: DictValue) -> Value:
        cls = self.registered(cls, data)
        kinds = {field.name: field.type for field in record_fields(self.interp, cls, self.site)}
        given: dict[str, Value] = {}
        for name, value in data.items.items():
            if name == "type" and cls.lookup(REGISTRY) is not MISSING:
                continue
            if not isinstance(name, str) or name not in kinds:
                raise Mismatch(f"class {cls.name!r} has no attribute {name!r}")
            given[name] = self.value(kinds[name], self.interp.pick(value))
        return self.interp.call(cls, [], given, self.site)

    def registered(self, cls: ClassValue, data: DictValue) -> ClassValue:
        """The class that the data names, where the class keeps a registry of those below it."""
        registry = cls.lookup(REGISTRY)
        if not isinstance(registry, DictValue):
            return cls
        name = data.items.get("type", cls.lookup(DEFAULT))
        found = registry.items.get(name) if isinstance(name, str) else None
        return found if isinstance(found, ClassValue) and name != cls.lookup(OWN) else cls

    def value(self, kind: Type, data: Value) -> Value:
        if isinstance(data, Unknown | Alternatives) or kind == ANY:
            return data
        for part in kind.members():
            try:
                with self.interp.catching():
                    made = self.part(part, data)
            except (Mismatch, Raised):
                continue
            if made is not MISSING:
                return made
        raise Mismatch(f"{data!r} is of none of the types")

    def part(self, kind: Type, data: Value) -> Value:
        """The value as one of the types; MISSING where it is none of it."""
        if kind.kind == "none":
            return None if data is None else MISSING
        if kind.kind in ("list", "tuple") and isinstance(data, ListValue | SetValue | tuple):
            return self.listed(kind, data)
        if kind.kind == "dict" and isinstance(data, DictValue) and len(kind.args) > 1:
            return DictValue({key: self.value(kind.args[1], item) for key, item in data.items.items()}, data.open)
        if kind.kind == "fields" and isinstance(data, DictValue) and isinstance(kind.value, ClassValue):
            return self.record(kind.value, data)
        if kind.kind == "plain" and kind.name in ("int", "float") and isinstance(data, int | float | str) and not isinstance(data, bool):
            return number(kind.name, data)
        if kind.kind == "plain" and isinstance(data, Instance) and data.cls.derives(kind.name):
            return data  # a member of a StrEnum
        if data is not None and fits(kind, data):
            return data
        if kind.kind == "enum":
            return self.interp.call(kind.value, [data], {}, self.site)
        return MISSING

    def listed(self, kind: Type, data: ListValue | SetValue | tuple[Value, ...]) -> Value:
        items = list(data) if isinstance(data, tuple) else list(data.items)
        each = kind.kind == "tuple" and len(kind.args) == len(items)
        made = [self.value(kind.args[place] if each else kind.args[0], item) if kind.args else item for place, item in enumerate(items)]
        if kind.kind == "tuple":
            return tuple(made)
        return data if isinstance(data, SetValue) else ListValue(made, data.open if isinstance(data, ListValue) else False)


def number(name: str, data: float | str) -> Value:
    """``1e-3`` of a file is a text; a whole float is an int where one is wanted."""
    try:
        value = float(data)
    except ValueError:
        return MISSING
    if name == "float":
        return value
    return int(value) if int(value) == value else MISSING


ENTRIES: dict[str, Handler] = {
    "dataclass_extensions.decode": decode,
    "dataclass_extensions.decode.decode": decode,
    "dataclass_extensions.decode.Decoder.__call__": called,
}
BASES: dict[str, tuple[str, ...]] = {}
PACKAGES = ("dataclass_extensions",)
