"""Annotations as types: what a parser may make of a word."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cgx.indexer.interpreter.generics import members
from cgx.indexer.interpreter.scopes import Frame
from cgx.indexer.interpreter.values import (
    ClassValue,
    External,
    FunctionValue,
    Opaque,
    Value,
)

PLAIN = {"int": int, "float": float, "str": str, "complex": complex}


LISTS = frozenset(["list", "List", "Sequence", "Iterable", "MutableSequence", "Collection", "set", "Set"])


DICTS = frozenset(["dict", "Dict", "Mapping", "MutableMapping", "OrderedDict"])


PATHS = frozenset({"Path", "PosixPath", "PathLike", "PurePath", "Path_fr", "Path_drw", "Path_dw", "Path_fc"})


@dataclass(frozen=True, slots=True)
class Type:
    """``kind``: any, plain, bool, none, literal, union, list, tuple, dict, enum, fields (a dataclass or its kind), class, path.

    ``args``: inner types (of a union, list, tuple, dict) or the values of a literal. ``value``: the class where there is one.
    """

    kind: str
    name: str = ""
    args: tuple[Any, ...] = ()
    value: Value = None

    def members(self) -> Iterator[Type]:
        """The alternatives of a union, itself otherwise."""
        if self.kind == "union":
            for part in self.args:
                yield from part.members()
        else:
            yield self

    @property
    def optional(self) -> bool:
        return any(part.kind == "none" for part in self.members())


ANY = Type("any")


def read_type(interp: Any, node: ast.expr | None, frame: Frame | None) -> Type:
    """The type an annotation means; ``any`` where it cannot be told."""
    if node is None or frame is None:
        return ANY
    if isinstance(node, ast.Constant):
        if node.value is None:
            return Type("none")
        if isinstance(node.value, str):
            try:
                return read_type(interp, ast.parse(node.value, mode="eval").body, frame)
            except SyntaxError:
                return ANY
        return ANY
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return Type("union", args=(read_type(interp, node.left, frame), read_type(interp, node.right, frame)))
    if isinstance(node, ast.Subscript):
        return _subscript(interp, node, frame)
    if isinstance(node, ast.Name | ast.Attribute):
        return of_value(interp.attempt(lambda: interp.eval(node, frame)))
    return ANY


def _subscript(interp: Any, node: ast.Subscript, frame: Frame) -> Type:
    head = ast.unparse(node.value).rpartition(".")[2]
    parts = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    if head == "Literal":
        values = [interp.attempt(lambda part=part: interp.eval(part, frame)) for part in parts]
        return Type("literal", args=tuple(values))
    inner = tuple(
        read_type(interp, part, frame) for part in parts if not (isinstance(part, ast.Constant) and part.value is ...)
    )
    if head == "Optional":
        return Type("union", args=(*inner, Type("none")))
    if head == "Union":
        return Type("union", args=inner)
    if head in LISTS:
        return Type("list", args=inner)
    if head in ("tuple", "Tuple"):
        endless = any(isinstance(part, ast.Constant) and part.value is ... for part in parts)
        return Type("list", "tuple", args=inner[:1]) if endless else Type("tuple", args=inner)
    if head in DICTS:
        return Type("dict", args=inner)
    if head in (
        "Annotated",
        "Positional",
        "Final",
        "ClassVar",
        "Required",
        "NotRequired",
        "InitVar",
        "FlagConversionOff",
        "Suppress",
    ):
        return inner[0] if inner else ANY
    return read_type(interp, node.value, frame) if head not in ("type", "Type", "Callable") else Type("class", head)


def of_value(value: Value) -> Type:
    """The type that an evaluated annotation names."""
    if isinstance(value, ClassValue):
        if any("members" in cls.info for cls in value.mro if isinstance(cls, ClassValue)):
            return Type("enum", value.name, value=value)
        if is_record(value):
            return Type("fields", value.name, value=value)
        return Type("class", value.name, value=value)
    if isinstance(value, External):
        tail = value.tail
        if tail in PLAIN:
            return Type("plain", tail)
        if tail == "bool":
            return Type("bool")
        if tail in PATHS:
            return Type("path")
        if tail in LISTS or tail in ("tuple", "Tuple"):
            return Type("list", "tuple" if tail.lower() == "tuple" else "")
        if tail in DICTS:
            return Type("dict")
        if tail == "NoneType":
            return Type("none")
        return ANY if tail in ("Any", "object") else Type("class", tail, value=value)
    parts = members(value) if isinstance(value, Opaque) else ()
    return Type("union", args=tuple(of_value(one) for one in parts)) if len(parts) > 1 else ANY


def is_record(cls: ClassValue) -> bool:
    """A dataclass, an attrs class or a pydantic model."""
    return any("dataclass" in one.info for one in cls.mro if isinstance(one, ClassValue)) or cls.derives(
        "pydantic.BaseModel"
    )


def frame_of(function: FunctionValue) -> Frame:
    """A frame in which a function's annotations can be evaluated."""
    return Frame(function.closure, function.attrs["__cgx_code__"], function.symbol, function)
