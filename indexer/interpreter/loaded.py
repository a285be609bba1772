"""What a file held, of which only that much is known: it was pickled, and where its storages lie.

What only a module has tells that a part is one: ``torch.load(f)["model"].float().eval()`` is a model whose class is not known.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from cgx.indexer.interpreter.values import MISSING, External, ModuleInstance, Native, TensorValue, Unknown, Value

if TYPE_CHECKING:
    from cgx.indexer.interpreter.scopes import Site

HELD: dict[str | None, str] = {"cpu": "loaded on the host", "cuda": "loaded on the device", None: "loaded"}
DEVICES = {hint: device for device, hint in HELD.items()}
UNPICKLED = "cgx.Unpickled"  # the class of such a module in the overlays
WHOLE = "cgx.loaded"  # the attribute that marks one
MODULE_ONLY = frozenset({"eval", "train", "fuse", "modules", "named_modules", "children", "requires_grad_"})
MOVES = frozenset({"to", "cuda"})
CASTS = frozenset({"float", "half", "bfloat16", "double", "get"})  # of a table, a tensor or a module: what they give is such a part again
MODEL_NAME = re.compile(r"model|net\b|net_|ema|gen(erator)?\b|disc(riminator)?\b|encoder|decoder|unet|vae|actor|critic|policy|backbone|classifier", re.IGNORECASE)


def is_loaded(value: Value) -> bool:
    return isinstance(value, Unknown) and value.hint in DEVICES


def loaded(site: Site, device: str | None, reason: str = "missing-file", settle: tuple[str, str] | None = None, name: str = "") -> Unknown:
    return Unknown(name or site.text, reason, site.anchor, HELD.get(device, HELD[None]), settle)


def part_of(owner: Unknown, site: Site) -> Unknown:
    return Unknown(site.text, owner.reason, owner.anchor or site.anchor, owner.hint, owner.settle or ("--set", owner.name))


def attribute(interp: Any, owner: Unknown, name: str, site: Site) -> Value:
    """A method that tells it is a module makes it one; MISSING where the name tells nothing."""
    if name in CASTS:
        return Native(f"loaded.{name}", lambda i, s, args, kwargs: part_of(owner, s))
    whole = owner.name.endswith(")") and "[" not in owner.name and ".get(" not in owner.name
    if name in MODULE_ONLY or (name in MOVES and (whole or MODEL_NAME.search(last_part(owner.name)))):
        module = interp.call(External(f"{UNPICKLED}.made"), [owner], {}, site)
        return MISSING if isinstance(module, Unknown) else interp.getattr(module, name, site)
    return MISSING


def inside(module: ModuleInstance, site: Site) -> Unknown:
    """Something that a loaded module has: a part, a number, a method."""
    device = next((one.device for one in module.parameters.values() if isinstance(one, TensorValue)), None)
    return loaded(site, device)


def called(part: Unknown, tensors: list[TensorValue], site: Site) -> Value:
    """A part or a method that is called: of tensors it makes a tensor beside them."""
    return TensorValue(None, None, tensors[0].device) if tensors else part_of(part, site)


def last_part(text: str) -> str:
    """The key or the attribute that the text ends with, casts left aside."""
    text = re.sub(r"(\.(float|half|bfloat16|double)\(\))+$", "", text)
    return text[max(text.rfind("["), text.rfind("."), text.rfind("(")) + 1 :]
