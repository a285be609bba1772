"""Elements of data sets and batches as abstract values: what collation and pinning make of them."""

from __future__ import annotations

import dataclasses
from typing import Any

from cgx.indexer.interpreter import open_dicts
from cgx.indexer.interpreter.batches import BATCH, PINNED
from cgx.indexer.interpreter.values import (
    Alternatives,
    DictValue,
    Instance,
    ListValue,
    ModuleInstance,
    Opaque,
    TensorValue,
    Unknown,
    Value,
)


def collated(element: Value, batch: Value) -> Value:
    """What ``default_collate`` makes of ``batch`` elements: tensors are stacked, numbers become tensors."""
    size = batch if isinstance(batch, int) or hasattr(batch, "terms") else None
    if isinstance(element, TensorValue):
        shape = None if element.shape is None else (size, *element.shape)
        return TensorValue(shape, element.dtype, "cpu", pinned=False)
    if isinstance(element, bool):
        return TensorValue((size,), "bool", "cpu", pinned=False)
    if isinstance(element, int):
        return TensorValue((size,), "int64", "cpu", pinned=False)
    if isinstance(element, float):
        return TensorValue((size,), "float64", "cpu", pinned=False)
    if isinstance(element, str):
        return ListValue([element], open=True)
    if isinstance(element, tuple):
        return ListValue([collated(one, batch) for one in element])
    if isinstance(element, ListValue):
        return ListValue([collated(one, batch) for one in element.items], open=element.open)
    if isinstance(element, DictValue):
        rest = None if (one := open_dicts.standing(element)) is None else collated(one, batch)
        return DictValue({key: collated(one, batch) for key, one in element.items.items()}, open=element.open, other=rest)
    if isinstance(element, Unknown):
        return collated_unknown(element, size)
    return element


def collated_unknown(element: Unknown, size: Any) -> Value:
    """An unknown number becomes a tensor on the host; anything else stays unknown."""
    if element.hint == "int":
        return TensorValue((size,), "int64", "cpu", pinned=False)
    if element.hint == "float":
        return TensorValue((size,), "float64", "cpu", pinned=False)
    if element.hint == "tensor":
        return TensorValue(None, None, "cpu", pinned=False)
    if element.hint:
        return element
    return Unknown(element.name, element.reason, element.anchor, BATCH, element.settle)


def from_host(value: Value) -> Value:
    """What data sets and collators make lies on the host, unless it was put elsewhere in so many words. In place on fresh values."""
    if isinstance(value, TensorValue):
        if value.device is None and value.library == "torch":
            value.device = "cpu"
    elif isinstance(value, tuple | ListValue | DictValue | Alternatives):
        for one in parts_of(value):
            from_host(one)
    elif isinstance(value, Instance) and not isinstance(value, ModuleInstance):  # a batch of a class of its own
        for one in value.attrs.values():
            from_host(one)
    return value


def parts_of(value: Value) -> list[Value]:
    """What a container of a batch holds."""
    if isinstance(value, Alternatives):
        return [one for _, one in value.options]
    if isinstance(value, DictValue):
        return [*value.items.values(), value.other]
    return list(value.items) if isinstance(value, ListValue) else list(value)


def pinned(value: Value) -> Value:
    """The batch after ``pin_memory``: its host tensors are page-locked. Built in place on fresh values."""
    if isinstance(value, TensorValue):
        if value.device in ("cpu", None) and value.library == "torch":
            value.pinned, value.device = True, "cpu"
    elif isinstance(value, Unknown):
        value.hint = PINNED if value.hint == BATCH else value.hint  # it was made for this batch
    elif isinstance(value, tuple | ListValue | DictValue | Alternatives):
        for one in parts_of(value):
            pinned(one)
    elif isinstance(value, Opaque) and value.qname == "cgx.TensorMapping":
        pinned(value.attrs["cgx.value"])
    return value


def fresh(value: Value) -> Value:
    """The batch of another round: containers of its own, so that what one round writes into its batch is not in the next."""
    if isinstance(value, tuple):
        return tuple(fresh(one) for one in value)
    if isinstance(value, ListValue):
        return dataclasses.replace(value, items=[fresh(one) for one in value.items])
    if isinstance(value, DictValue):
        return dataclasses.replace(value, items={key: fresh(one) for key, one in value.items.items()}, other=fresh(value.other))
    return value
