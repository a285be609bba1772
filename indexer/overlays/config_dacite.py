"""dacite: ``from_dict`` makes dataclasses of plain data, with hooks by type, casts, and the first type of a union that fits.

Read in dacite 1.9.2 (``core.py``, ``config.py``, ``dataclasses.py``). That a value has the type of its field is not checked here.
"""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.signals import Raised
from cgx.indexer.interpreter.stdlib.path_objects import make_path
from cgx.indexer.interpreter.stdlib.support import Args, Handler, Kwargs, from_python, items_of
from cgx.indexer.interpreter.values import (
    MISSING,
    ClassValue,
    DictValue,
    External,
    Instance,
    ListValue,
    Opaque,
    Unknown,
    Value,
)
from cgx.indexer.overlays.annotation_types import Type, of_value
from cgx.indexer.overlays.arguments import bind
from cgx.indexer.overlays.typed_values import Mismatch, record_fields

CONFIG = "dacite.Config"
NUMBERS = {"int": int, "float": float, "str": str, "complex": complex}


def config(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    bound = bind("type_hooks cast forward_references check_types strict strict_unions_match convert_key", args, kwargs)
    return Opaque(CONFIG, dict(bound), site.anchor)


def from_dict(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    bound = bind("data_class data config", args, kwargs)
    cls, data, options = bound.get("data_class"), bound.get("data"), bound.get("config")
    if not isinstance(cls, ClassValue) or not isinstance(data, DictValue) or data.open:
        return interp.unknown(site.text, getattr(data, "reason", "unsupported"), site)
    reader = Reader(interp, site, options if isinstance(options, Opaque) else None)
    try:
        return reader.record(cls, data)
    except Mismatch as error:
        return interp.raise_("dacite.exceptions.DaciteError", str(error), site)


class Reader:
    """One call of ``from_dict`` with its options."""

    def __init__(self, interp: Any, site: Any, options: Opaque | None) -> None:
        self.interp, self.site = interp, site
        attrs = options.attrs if options is not None else {}
        self.strict, self.checks = attrs.get("strict") is True, attrs.get("check_types") is not False
        self.key = attrs.get("convert_key")
        hooks, casts = attrs.get("type_hooks"), attrs.get("cast")
        self.hooks = list(zip(interp.unkeys(hooks), hooks.items.values())) if isinstance(hooks, DictValue) else []
        self.casts = items_of(interp, casts, site) or [] if casts is not None else []

    def record(self, cls: ClassValue, data: DictValue) -> Value:
        fields = record_fields(self.interp, cls, self.site)
        names = {field.name for field in fields}
        if self.strict and any(name not in names for name in data.items):
            raise Mismatch(f"can not match {', '.join(str(name) for name in data.items if name not in names)} to any data class field")
        given: dict[str, Value] = {}
        for field in fields:
            key = field.name if self.key is None else self.interp.call(self.key, [field.name], {}, self.site)
            if key in data.items:
                given[field.name] = self.value(field.type, self.interp.pick(data.items[key]))
            elif field.default is MISSING and not field.type.optional:
                raise Mismatch(f'missing value for field "{field.name}"')
            elif field.default is MISSING:
                given[field.name] = None
        return self.interp.call(cls, [], given, self.site)

    def value(self, kind: Type, data: Value) -> Value:
        hook = self.hook(kind)
        if hook is not None:
            data = self.interp.call(hook, [data], {}, self.site)
        if data is None and kind.optional:
            return None
        return self.cast(kind, self.built(kind, data))

    def built(self, kind: Type, data: Value) -> Value:
        """The data with what it holds made into the types that the kind names inside."""
        if kind.kind == "union":
            return self.first([part for part in kind.members() if part.kind != "none"], data)
        if kind.kind == "fields" and isinstance(data, DictValue) and isinstance(kind.value, ClassValue):
            return self.record(kind.value, data)
        if kind.kind in ("list", "tuple") and isinstance(data, ListValue | tuple):
            items = list(data) if isinstance(data, tuple) else data.items
            inner = [kind.args[place] if kind.kind == "tuple" and place < len(kind.args) else kind.args[0] if kind.args else None for place in range(len(items))]
            made = [self.value(one, item) if one is not None else item for one, item in zip(inner, items)]
            return tuple(made) if isinstance(data, tuple) else ListValue(made, data.open if isinstance(data, ListValue) else False)
        if kind.kind == "dict" and isinstance(data, DictValue) and len(kind.args) > 1:
            return DictValue({key: self.value(kind.args[1], item) for key, item in data.items.items()}, data.open)
        return data

    def hook(self, kind: Type) -> Value:
        """The hook that was given for just this type."""
        for key, function in self.hooks:
            if kind.value is not None and (key is kind.value or (isinstance(key, External) and key == kind.value)):
                return function
            if kind.value is None and kind.kind in ("plain", "bool") and isinstance(key, External) and key.tail == (kind.name or "bool"):
                return function
        return None

    def cast(self, kind: Type, data: Value) -> Value:
        for target in self.casts:
            wanted = of_value(target)
            if isinstance(target, External) and target.tail == "tuple" and isinstance(data, ListValue) and (kind.kind == "tuple" or kind.name == "tuple"):
                return tuple(data.items) if not data.open else data
            if wanted.kind == "path" == kind.kind and isinstance(data, str):
                return make_path(data)
            if isinstance(target, External) and target.tail == "Enum" and kind.kind == "enum":
                return self.interp.call(kind.value, [data], {}, self.site)
            if isinstance(kind.value, ClassValue) and isinstance(target, ClassValue) and target in kind.value.mro and not isinstance(data, Instance):
                return self.interp.call(kind.value, [data], {}, self.site)
            if wanted.kind == kind.kind == "plain" and wanted.name == kind.name and isinstance(data, str | int | float):
                return from_python(NUMBERS[kind.name](data))
        return data

    def first(self, parts: list[Type], data: Value) -> Value:
        """The first type of a union that the data fits; a part alone beside None is that."""
        if len(parts) == 1:
            return self.value(parts[0], data)
        for part in parts:
            try:
                with self.interp.catching():
                    made = self.value(part, data)
            except (Mismatch, Raised):
                continue
            if fits(part, made):
                return made
        if isinstance(data, Unknown) or not self.checks:
            return data
        raise Mismatch("can not match type to any type of the union")


def fits(kind: Type, made: Value) -> bool:
    """Whether a value is of the type, as ``isinstance`` would say."""
    if isinstance(made, Unknown):
        return True
    if kind.kind == "plain":
        wanted = NUMBERS[kind.name]
        return isinstance(made, wanted) and not (isinstance(made, bool) and kind.name != "bool")
    if kind.kind == "bool":
        return isinstance(made, bool)
    if kind.kind in ("list", "tuple"):
        return isinstance(made, ListValue | tuple)
    if kind.kind == "dict":
        return isinstance(made, DictValue)
    if kind.kind in ("fields", "enum", "class"):
        return not isinstance(kind.value, ClassValue) or (isinstance(made, Instance) and kind.value in made.cls.mro)
    if kind.kind == "literal":
        return any(option == made for option in kind.args)
    if kind.kind == "path":
        return not isinstance(made, str | int | float | DictValue | ListValue)
    return True


ENTRIES: dict[str, Handler] = {
    CONFIG: config,
    "dacite.config.Config": config,
    "dacite.from_dict": from_dict,
    "dacite.core.from_dict": from_dict,
}
BASES: dict[str, tuple[str, ...]] = {}
PACKAGES = ("dacite",)
