"""What ``dataclasses.fields`` and ``__dataclass_fields__`` tell of a dataclass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cgx.indexer.interpreter.values import MISSING, ClassValue, DictValue, External, Opaque, Value

if TYPE_CHECKING:
    from cgx.indexer.interpreter.interp import Interp

FIELD, NO_DEFAULT = "dataclasses.Field", "dataclasses.MISSING"


def fields_of(interp: Interp, cls: ClassValue) -> dict[str, Value] | None:
    """A ``Field`` with name, type, default, factory and metadata for each field in order; None for a class that is no dataclass."""
    names = _table(cls)
    return None if names is None else {name: _field(interp, cls, name) for name in names}


def _table(cls: ClassValue) -> dict[str, Value] | None:
    """Field -> class that has it, of the class or the nearest base that is a dataclass."""
    return next((c.info["dataclass"] for c in cls.mro if isinstance(c, ClassValue) and "dataclass" in c.info), None)


def keyword_only(cls: ClassValue, name: str) -> bool:
    """By the field's own word, else by that of the decorator of the class that has it."""
    given = cls.lookup(name)
    if isinstance(given, Opaque) and given.qname == FIELD and "kw_only" in given.attrs:
        return given.attrs["kw_only"] is True
    home = (_table(cls) or {}).get(name)
    options = home.info.get("options", {}) if isinstance(home, ClassValue) else {}
    return options.get("kw_only") is True


def _field(interp: Interp, cls: ClassValue, name: str) -> Value:
    given = cls.lookup(name)
    attrs: dict[str, Value] = {"name": name, "init": True, "default": External(NO_DEFAULT), "default_factory": External(NO_DEFAULT), "metadata": DictValue()}
    if isinstance(given, Opaque) and given.qname == FIELD:
        attrs.update(given.attrs)
    elif given is not MISSING:
        attrs["default"] = given
    attrs["kw_only"] = keyword_only(cls, name)
    home = next((c for c in cls.mro if isinstance(c, ClassValue) and name in c.info.get("annotations", {})), cls)
    annotation = home.info["annotations"].get(name)
    if annotation is not None:
        attrs["type"] = interp.annotation(annotation, home.info.get("frame"))
    return Opaque(FIELD, attrs)
