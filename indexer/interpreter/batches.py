"""A batch, or a part of one, of which only that much is known: the default collation made it of tensors and containers.

What only a tensor has tells that a part is one: ``batch["image"].cuda()`` is a copy whatever the data set gives.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cgx.indexer.interpreter.values import MISSING, Native, Sequence, TensorValue, Unknown, Value

if TYPE_CHECKING:
    from cgx.indexer.interpreter.scopes import Site

BATCH, PINNED, PLACED = "batch", "pinned batch", "batch on the device"
TENSOR_ONLY = frozenset({"to", "cuda", "shape", "size", "dtype", "device", "float", "long", "half", "unsqueeze", "squeeze", "view", "reshape", "permute"})


def is_batch(value: Value) -> bool:
    return isinstance(value, Unknown) and value.hint in (BATCH, PINNED, PLACED)


def part_of(owner: Unknown, site: Site) -> Unknown:
    """An element of it, of which no more is known."""
    return Unknown(site.text, owner.reason, owner.anchor or site.anchor, owner.hint, owner.settle)


def part_as_tensor(owner: Unknown) -> TensorValue:
    if owner.hint == PLACED:
        return TensorValue(None, None, "cuda")
    return TensorValue(None, None, "cpu", pinned=owner.hint == PINNED)


def placed(owner: Unknown) -> Unknown:
    """The same batch after a framework moved all its tensors to the device."""
    return Unknown(owner.name, owner.reason, owner.anchor, PLACED, owner.settle)


def attribute(interp: Any, owner: Unknown, name: str, site: Site) -> Value:
    """What a tensor's or a mapping's attribute is on it; MISSING where the name tells nothing."""
    if name in TENSOR_ONLY:
        return interp.getattr(part_as_tensor(owner), name, site)
    if name in ("items", "values"):
        return Native(f"dict.{name}", lambda i, s, args, kwargs: parts(i, owner, name, s))
    return MISSING


def parts(interp: Any, owner: Unknown, name: str, site: Site) -> Value:
    element = part_of(owner, site)
    key = interp.unknown(f"keys of {owner.name}", owner.reason, site, "str")
    return Sequence((key, element) if name == "items" else element, interp.unknown(f"len({site.text})", owner.reason, site, "int"))
