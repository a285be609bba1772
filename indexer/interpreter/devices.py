"""On which device results lie, where the rules of the ops do not tell."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.values import ByRank, ListValue, Sequence, TensorValue, Unknown, Value, walk_values


def tensors_listed(value: Any) -> list[TensorValue]:
    """The tensor, or those in a list or tuple, however deep."""
    if isinstance(value, TensorValue):
        return [value]
    if isinstance(value, list | tuple):
        return [tensor for item in value for tensor in tensors_listed(item)]
    return []


def share_device(inputs: list[TensorValue], result: Value) -> None:
    """Operands lie on one device: where one is known to be on an accelerator, so is the result."""
    known = next((one.device for one in inputs if one.device not in (None, "cpu", "meta")), None)
    for tensor in tensors_listed(result) if known is not None else ():
        if tensor.device is None:
            tensor.device = known


def listed_device(args: list[Value], result: TensorValue) -> None:
    """A list whose length is open: what is joined lies where the elements that were seen do, as far as that is known."""
    seen = [value for arg in args if isinstance(arg, ListValue | Sequence) for value in walk_values(arg.element if isinstance(arg, Sequence) else arg)]
    found = {value.device for value in seen if isinstance(value, TensorValue)}
    if found - {None, "cpu", "meta"}:
        found.discard(None)
    if len(found) == 1 and (device := found.pop()) is not None:
        result.device, result.pinned = device, False if device == "cpu" else None


def is_index(device: Value) -> bool:
    """A number of a device that is not known: one of the accelerator's, whichever."""
    if isinstance(device, ByRank):
        return any(isinstance(one, Unknown) for one in device.values) and all(isinstance(one, int) or is_index(one) for one in device.values)
    return isinstance(device, Unknown) and device.hint == "int"
