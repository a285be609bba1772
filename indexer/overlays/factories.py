"""``torch.tensor`` and its kind: host data that is packed, perhaps pinned, perhaps copied to the device."""

from __future__ import annotations

import dataclasses
from typing import Any

from cgx.indexer.interpreter.values import ListValue, TensorValue, Value
from cgx.indexer.overlays.arguments import argument_text, device_type, flag, tensors_in
from cgx.indexer.overlays.transfer import AUTHOR, copy, factory_copy, sync


def from_data(qname: str) -> Any:
    """``torch.tensor(data, ...)``: device scalars inside the data are read back one by one (a sync each)."""

    def make(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        data = args[0] if args else kwargs.get("data")
        result = interp.op(qname, args, kwargs, site)
        if isinstance(data, TensorValue) and data.library == "numpy" and isinstance(result, TensorValue):
            target = device_type(kwargs.get("device")) or "cpu"
            result = dataclasses.replace(result, library="torch", device=target, pinned=None if target != "cpu" else False)
            factory_copy(interp, result, data, site, batch=data.shape != ())
            return result
        if isinstance(data, TensorValue):
            if isinstance(result, TensorValue) and result.device != data.device and "device" in kwargs:
                copy(interp, data, kwargs["device"], False, site, what=site.text)
            return result
        for tensor in tensors_in(data):
            sync(interp, "conversion", tensor, site, what=argument_text(site, 0, "data") or site.text)
        pinned = flag(kwargs.get("pin_memory"), False)
        if pinned:
            interp.event("data", site, author=AUTHOR, hop="pin", by=f"{qname}(pin_memory=True)", workers=0, asynchronous=False,
                         blocks_step=True)  # fmt: skip
        if isinstance(result, TensorValue):
            if result.device is None and isinstance(data, ListValue | tuple) and "device" not in kwargs:
                result.device = "cpu"  # of a list, whatever is in it
            if result.device == "cpu" and (pinned or result.pinned is None):
                result.pinned = bool(pinned)
            factory_copy(interp, result, data, site, pinned=bool(pinned))
        return result

    return make


def new_tensor(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``tensor.new_tensor(data)``: host data that lands where the tensor lies."""
    result = interp.op("torch.Tensor.new_tensor", args, kwargs, site)
    data = args[1] if len(args) > 1 else kwargs.get("data")
    if isinstance(result, TensorValue) and isinstance(data, int | float | ListValue | tuple):
        for tensor in tensors_in(data):
            sync(interp, "conversion", tensor, site, what=argument_text(site, 0, "data") or site.text)
        factory_copy(interp, result, data, site)
    return result


def from_numpy(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Shares the array's memory: a pageable host tensor."""
    result = interp.op("torch.from_numpy", args, kwargs, site)
    if isinstance(result, TensorValue):
        return dataclasses.replace(result, library="torch", device="cpu", pinned=False)
    return TensorValue(None, None, "cpu", pinned=False)


ENTRIES: dict[str, Any] = {f"torch.{name}": from_data(f"torch.{name}") for name in ("tensor", "as_tensor", "asarray")}
ENTRIES["torch.from_numpy"] = from_numpy
ENTRIES["torch.Tensor.new_tensor"] = new_tensor
BASES: dict[str, tuple[str, ...]] = {}
