"""The row types of the graph schema: a property, a node kind, an edge kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["str", "int", "float", "bool", "list[str]", "list[int]", "list[float]", "json"]
"""``json`` is a string property that holds a JSON text; its name ends in ``_json``."""


@dataclass(frozen=True, slots=True)
class Property:
    """One property of a node or edge kind. An optional one that is not known is absent."""

    name: str
    kind: Kind
    doc: str
    required: bool = False


@dataclass(frozen=True, slots=True)
class NodeKind:
    """One node label. ``id`` is the identity of every node and is not listed among ``properties``.

    ``identity`` says what the id is made of. ``indexes`` are the properties that queries join on.
    ``group`` is ``static`` (written by ``cgx index``) or ``job`` (written over a launch line).
    """

    label: str
    group: Literal["static", "job"]
    doc: str
    identity: str
    properties: tuple[Property, ...]
    indexes: tuple[str, ...] = ()

    def property(self, name: str) -> Property | None:
        return next((row for row in self.properties if row.name == name), None)


@dataclass(frozen=True, slots=True)
class EdgeKind:
    """One relationship type, with the labels it may start and end at."""

    name: str
    sources: tuple[str, ...]
    targets: tuple[str, ...]
    doc: str
    properties: tuple[Property, ...] = ()


def text(name: str, doc: str, required: bool = False) -> Property:
    return Property(name, "str", doc, required)


def integer(name: str, doc: str, required: bool = False) -> Property:
    return Property(name, "int", doc, required)


def flag(name: str, doc: str, required: bool = False) -> Property:
    return Property(name, "bool", doc, required)


def texts(name: str, doc: str, required: bool = False) -> Property:
    return Property(name, "list[str]", doc, required)


def json_text(name: str, doc: str, required: bool = False) -> Property:
    if not name.endswith("_json"):
        raise ValueError(f"a JSON property is named ..._json: {name}")
    return Property(name, "json", doc, required)
