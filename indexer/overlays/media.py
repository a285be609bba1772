"""Pictures and videos that a job writes: the tensor is made a grid on its device, then copied to the host, which waits."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.values import ListValue, TensorValue, Value
from cgx.indexer.overlays.arguments import bind, items_of
from cgx.indexer.overlays.transfer import sync

AUTHOR = "overlays.media"
GRID = "tensor nrow padding normalize value_range scale_each pad_value"


def picture(value: Value) -> TensorValue | None:
    """The tensor, or the first of a list of them."""
    if isinstance(value, ListValue | tuple):
        listed = items_of(value) or []
        value = listed[0] if listed else None
    return value if isinstance(value, TensorValue) else None


def make_grid(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    tensor = picture(bind(GRID, args, kwargs).get("tensor"))
    if tensor is None:
        return NotImplemented
    return TensorValue((3, None, None), tensor.dtype, tensor.device)


def save_image(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``save_image(tensor, file)``: scaled to bytes on the device, ``.to("cpu")``, encoded on the host."""
    tensor = picture(bind("tensor fp format", args, kwargs).get("tensor"))
    if tensor is not None:
        sync(interp, "cpu", tensor, site)
    interp.event("log", site, author=AUTHOR, what=site.text)
    return None


ENTRIES: dict[str, Any] = {
    **{f"{home}.make_grid": make_grid for home in ("torchvision.utils", "torchvision")},
    **{f"{home}.save_image": save_image for home in ("torchvision.utils", "torchvision")},
}
BASES: dict[str, tuple[str, ...]] = {}
