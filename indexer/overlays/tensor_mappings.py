"""A mapping of tensors whose keys are not known: a collated batch of a data set that lies outside.

All its values are alike (``cgx.value``): what is done to each of them is seen once, how often stays open.
"""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.values import Opaque, Sequence, TensorValue, Unknown, Value
from cgx.indexer.overlays.arguments import device_type
from cgx.indexer.overlays.transfer import ACCELERATORS, copy

MAPPING = "cgx.TensorMapping"


def mapping(site: Any, value: TensorValue, name: str = "") -> Opaque:
    """``name``: the class that it is an instance of beside a dict."""
    kinds = ("dict", "collections.abc.Mapping", "collections.UserDict", *([name] if name else []))
    return Opaque(MAPPING, {"cgx.value": value, "__bases__": kinds}, site.anchor)


def one(held: Opaque) -> TensorValue:
    value = held.attrs["cgx.value"]
    assert isinstance(value, TensorValue)
    return TensorValue(value.shape, value.dtype, value.device, value.pinned)


def how_many(interp: Any, site: Any) -> Unknown:
    found: Unknown = interp.unknown("len(batch)", "data", site, hint="int")
    return found


def items(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Sequence((interp.unknown("key", "data", site, hint="str"), one(args[0])), how_many(interp, site))


def values(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Sequence(one(args[0]), how_many(interp, site))


def keys(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Sequence(interp.unknown("key", "data", site, hint="str"), how_many(interp, site))


def item(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return one(args[0])


def moved(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``batch.to(device)`` of the kind that moves its tensors in place and answers itself."""
    target = device_type(args[1] if len(args) > 1 else kwargs.get("device"))
    copy(interp, args[0].attrs["cgx.value"], target, kwargs.get("non_blocking", False), site)
    if target is not None:
        interp.trail.set_item(args[0].attrs, "cgx.value", on(args[0], target))
    return args[0]


def on(held: Opaque, device: str) -> TensorValue:
    value = one(held)
    value.device, value.pinned = device, None if device in ACCELERATORS else value.pinned
    return value


ENTRIES: dict[str, Any] = {
    f"{MAPPING}.items": items,
    f"{MAPPING}.values": values,
    f"{MAPPING}.keys": keys,
    f"{MAPPING}.__iter__": keys,
    f"{MAPPING}.__getitem__": item,
    f"{MAPPING}.get": item,
    f"{MAPPING}.pop": item,
    f"{MAPPING}.__getattr__": item,
    f"{MAPPING}.to": moved,
    f"{MAPPING}.__len__": lambda interp, site, args, kwargs: how_many(interp, site),
}
BASES: dict[str, tuple[str, ...]] = {MAPPING: ()}
