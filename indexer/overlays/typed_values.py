"""Annotations as types, and texts of a command line or values of a file as values of those types.

Shared by the parsers that read dataclasses and signatures: jsonargparse, tyro, HfArgumentParser, simple_parsing, typer, ...
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

import yaml

from cgx.indexer.interpreter.stdlib.imports import EMPTY, function_of, parameters
from cgx.indexer.interpreter.stdlib.path_objects import make_path
from cgx.indexer.interpreter.stdlib.support import from_python
from cgx.indexer.interpreter.values import (
    MISSING,
    ClassValue,
    DictValue,
    External,
    Instance,
    ListValue,
    ModuleObject,
    Opaque,
    Unknown,
    Value,
)
from cgx.indexer.overlays.annotation_types import ANY, PLAIN, Type, frame_of, is_record, read_type
from cgx.indexer.overlays.config_interpolation import load_text

TRUE = frozenset({"true", "yes", "y", "on", "1", "t"})
FALSE = frozenset({"false", "no", "n", "off", "0", "f"})
NONE = frozenset({"none", "null", "~"})


class Mismatch(Exception):
    """A text that is not of the type; the message is for the user."""


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter or dataclass field: ``default`` is MISSING where it is required."""

    name: str
    type: Type
    default: Value = MISSING
    metadata: Value = None
    positional: bool = False
    annotation: ast.expr | None = None


# -- reading annotations -------------------------------------------------------------------------------------------------


# -- fields --------------------------------------------------------------------------------------------------------------


def fields_of(interp: Any, value: Value, site: Any) -> list[Field] | None:
    """The fields of a record class, or the parameters of a function or class; None where there is no source."""
    if isinstance(value, ClassValue) and is_record(value):
        return record_fields(interp, value, site)
    function, bound = function_of(value)
    if function is None:
        return None
    frame = frame_of(function)
    rows = parameters(function)[bound:]
    return [
        Field(
            name,
            read_type(interp, note, frame),
            MISSING if default is EMPTY else default,
            None,
            kind == "POSITIONAL_ONLY",
            note,
        )
        for name, kind, default, note in rows
        if not kind.startswith("VAR_")
    ]


def record_fields(interp: Any, cls: ClassValue, site: Any) -> list[Field]:
    """The init fields of a record class over its MRO, in order, with their defaults evaluated."""
    from cgx.indexer.interpreter.classes import field_default

    names: dict[str, tuple[ast.expr, Any]] = {}
    for parent in reversed(cls.mro):
        if isinstance(parent, ClassValue):
            for name, note in parent.info.get("annotations", {}).items():
                if "ClassVar" not in ast.unparse(note):
                    names[name] = (note, parent.info.get("frame"))
    found = []
    for name, (note, frame) in names.items():
        held = cls.lookup(name)
        metadata = held.attrs.get("metadata") if isinstance(held, Opaque) else None
        if isinstance(held, Opaque) and held.attrs.get("init") is False:
            continue
        default = interp.attempt(lambda name=name: field_default(interp, cls, name, site))
        found.append(
            Field(name, read_type(interp, note, frame), default, metadata, "Positional[" in ast.unparse(note), note)
        )
    return found


def record_values(value: Value) -> dict[str, Value]:
    """The attributes of an instance that its class lists as fields."""
    if not isinstance(value, Instance):
        return {}
    names = next(
        (cls.info["dataclass"] for cls in value.cls.mro if isinstance(cls, ClassValue) and "dataclass" in cls.info),
        value.attrs,
    )
    return {name: value.attrs[name] for name in names if name in value.attrs}


# -- values --------------------------------------------------------------------------------------------------------------


def from_text(interp: Any, kind: Type, text: str, site: Any) -> Value:
    """The value of a word of the command line; raises :class:`Mismatch`."""
    if kind.kind == "union":
        return _first(interp, list(kind.members()), text, site)
    if kind.kind == "plain":
        return _plain(kind.name, text)
    if kind.kind == "bool":
        if text.lower() in TRUE | FALSE:
            return text.lower() in TRUE
        raise Mismatch(f"not a bool: {text!r}")
    if kind.kind == "none":
        if text.lower() in NONE:
            return None
        raise Mismatch(f"not None: {text!r}")
    if kind.kind == "literal":
        for option in kind.args:
            if str(option) == text or (isinstance(option, Instance) and option.attrs.get("name") == text):
                return option
        raise Mismatch(f"{text!r} is none of {', '.join(str(option) for option in kind.args)}")
    if kind.kind == "enum":
        return _member(kind.value, text)
    if kind.kind == "path":
        return make_path(text)
    if kind.kind in ("list", "tuple", "dict", "fields", "any"):
        try:
            loaded = load_text(text)
        except yaml.YAMLError:
            return text
        return from_plain(interp, kind, loaded, site)
    return text


def _first(interp: Any, members: list[Type], text: str, site: Any) -> Value:
    """The first member that takes the text; narrow kinds before texts and paths."""
    order = ("none", "bool", "literal", "enum", "plain", "list", "tuple", "dict", "fields", "path", "class", "any")
    ranked = sorted(members, key=lambda part: (part.kind == "plain" and part.name == "str", order.index(part.kind)))
    for part in ranked:
        try:
            return from_text(interp, part, text, site)
        except Mismatch:
            continue
    raise Mismatch(f"{text!r} fits none of the types")


def _plain(name: str, text: str) -> Value:
    try:
        return PLAIN[name](text)
    except ValueError:
        raise Mismatch(f"not a valid {name}: {text!r}") from None


def _member(cls: ClassValue, text: str) -> Value:
    members = next(one.info["members"] for one in cls.mro if isinstance(one, ClassValue) and "members" in one.info)
    for name, member in members.items():
        if text in (name, str(member.attrs.get("value"))) or text.lower() == name.lower():
            return member
    raise Mismatch(f"{text!r} is none of {', '.join(members)}")


def from_plain(interp: Any, kind: Type, value: Any, site: Any) -> Value:
    """A loaded value (YAML, JSON) as a value of the type; dicts become records where the type is one."""
    if isinstance(value, Unknown):
        return value
    for part in kind.members():
        if part.kind == "fields" and isinstance(value, dict | DictValue):
            return make_record(interp, part.value, value.items if isinstance(value, DictValue) else value, site)
        if part.kind in ("list", "tuple") and isinstance(value, list | ListValue):
            items = value.items if isinstance(value, ListValue) else value
            inner = part.args[0] if part.args else ANY
            made = [from_plain(interp, inner, item, site) for item in items]
            return tuple(made) if part.kind == "tuple" or part.name == "tuple" else ListValue(made)
        if part.kind == "dict" and isinstance(value, dict) and len(part.args) > 1:
            return DictValue({key: from_plain(interp, part.args[1], item, site) for key, item in value.items()})
        if part.kind == "path" and isinstance(value, str):
            return make_path(value)
        if part.kind == "enum" and isinstance(value, str | int):
            return _member(part.value, str(value))
        if part.kind == "plain" and part.name == "float" and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        if part.kind == "plain" and part.name == "float" and isinstance(value, str):
            try:
                return float(value)  # YAML reads 1e-4 as a text
            except ValueError:
                continue
    return from_python(value)


def make_record(interp: Any, cls: ClassValue, given: dict[Any, Any], site: Any, base: Value = None) -> Value:
    """An instance of a record class: ``given`` over the values of ``base`` (an instance), over the class's defaults."""
    kinds = {field.name: field for field in record_fields(interp, cls, site)}
    values: dict[str, Value] = {name: value for name, value in record_values(base).items() if name in kinds}
    for name, value in given.items():
        kind = kinds[name].type if name in kinds else ANY
        inner = values.get(name)
        if isinstance(value, dict | DictValue) and isinstance(inner, Instance):
            table = value.items if isinstance(value, DictValue) else value
            values[str(name)] = make_record(interp, inner.cls, table, site, inner)
        else:
            values[str(name)] = from_plain(interp, kind, value, site)
    return interp.call(cls, [], values, site)


def class_by_path(interp: Any, path: str, site: Any) -> Value:
    """``package.module.Class`` to the class; MISSING where the source does not hold it."""
    module, _, name = path.rpartition(".")
    if not module:
        return MISSING
    owner = interp.attempt(lambda: interp.import_module(module, site))
    if isinstance(owner, ModuleObject):
        found = interp.attempt(lambda: interp.getattr(owner, name, site))
        return MISSING if isinstance(found, Unknown) else found
    if isinstance(owner, External):
        return interp.external(path, site)
    outer = class_by_path(interp, module, site)
    return interp.attempt(lambda: interp.getattr(outer, name, site)) if isinstance(outer, ClassValue) else MISSING
