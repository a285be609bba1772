"""Dicts that hold more than the keys that are known: what a loop over unknown names put into them.

Features of a file, the columns of a batch: each name is not known, but what stands under it is a tensor that the code made.
One tensor stands for all of those. So does one table, where each name has a table of its own: metrics by step.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cgx.indexer.interpreter.joins import join_tensors
from cgx.indexer.interpreter.values import (
    MAYBE,
    Alternatives,
    DictValue,
    Instance,
    ListValue,
    Sequence,
    TensorValue,
    Unknown,
    Value,
)

ADDED = "cgx.added"

if TYPE_CHECKING:
    from cgx.indexer.interpreter.scopes import Site


def tensor_in(value: Value) -> TensorValue | None:
    """The tensor that a value is, or may be."""
    if isinstance(value, Alternatives):
        return next((one for _, one in value.options if isinstance(one, TensorValue)), None)
    return value if isinstance(value, TensorValue) else None


def standing(table: Value) -> TensorValue | None:
    """A tensor of its own for a name that is not known one by one; None where nothing is known of such."""
    found = tensor_in(table.other) if isinstance(table, DictValue) and table.open else None
    return None if found is None else replace(found, attrs=dict(found.attrs))


def gathered(held: Value, value: Value) -> TensorValue | None:
    """What stands for all names after ``value`` is put under another one."""
    found, known = tensor_in(value), tensor_in(held)
    if known is None:
        return None if found is None else replace(found, attrs={})
    if found is None:
        return known
    # A loop over the names puts each tensor back elsewhere: what it puts there is what stands for all behind it.
    return join_tensors(known, found) if known.device == found.device else replace(found, attrs={})


def table_in(value: Value) -> DictValue | ListValue | None:
    """The table or list that a value is, or may be."""
    if isinstance(value, Alternatives):
        return next((one for _, one in value.options if isinstance(one, DictValue | ListValue)), None)
    return value if isinstance(value, DictValue | ListValue) else None


def shared(held: Value, value: Value) -> DictValue | ListValue | None:
    """The table that stands for those under all names after ``value`` is put under another one: an empty one adds nothing to it."""
    known, found = table_in(held), table_in(value)
    if known is None or found is None or known is found or type(known) is not type(found):
        return known or found
    if isinstance(known, DictValue) and isinstance(found, DictValue) and found.items:
        return DictValue({**known.items, **found.items}, True, known.kind, known.default, other=known.other if found.other is None else found.other)
    return found if isinstance(found, ListValue) and found.items else known


def inner(table: DictValue) -> DictValue | ListValue | None:
    """What stands under a name that is not known, in a table of tables."""
    return table_in(table.other) if table.open and not table.items else None


def record(table: DictValue) -> Instance | None:
    """The object that stands under a name that is not known, where no name is."""
    return table.other if table.open and not table.items and isinstance(table.other, Instance) else None


def element(table: DictValue) -> TensorValue | None:
    """What any of the tensors in it is."""
    found = standing(table)
    for value in table.items.values() if found is not None or extent(table) == MAYBE else ():
        found = gathered(found, value)
    return found


def listed(interp: Any, table: DictValue, what: str, site: Site) -> Sequence | None:
    """``items``, ``values`` or ``keys`` of a dict for whose unknown names a tensor stands."""
    one: Value = element(table)
    key = Unknown(f"keys of {site.text}", "data", site.anchor, "str")
    if one is None:
        one, key = inner(table) or record(table), Unknown(f"keys of {site.text}", "data", site.anchor)
    if one is None:
        return None
    entry: Value = {"items": (key, one), "values": one, "keys": key}[what]
    return Sequence(entry, interp.unknown(f"len({site.text})", "data", site, "int"), "list")


def put(table: DictValue, value: Value) -> None:
    """A new table is filled under a name that is not known: tensors and tables are joined, of objects the first stands for all."""
    table.open, held = True, table.other
    table.other = gathered(held, value) or shared(held, value) or (value if held is None and isinstance(value, Instance) else held)


def extent(table: DictValue) -> Any:
    """``open`` for whoever goes through it: of tensors with a key that a branch may have added, how many there are is not known.

    Other tables (options, keywords) are gone through key by key all the same: what each key means counts more than their number.
    """
    held = table.items.values()
    if table.open or not all(isinstance(value, TensorValue) for value in held):
        return table.open
    return MAYBE if any(isinstance(value, TensorValue) and value.attrs.get(ADDED) for value in held) else False


def added(value: TensorValue) -> TensorValue:
    """What one branch alone put into a table."""
    return replace(value, attrs={**value.attrs, ADDED: True})
