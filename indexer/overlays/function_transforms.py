"""``torch.vmap``: the function sees its tensors without the mapped axis, and what it gives gets that axis back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cgx.indexer.interpreter.values import DictValue, ListValue, Native, TensorValue, Unknown, Value


def vmap(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``torch.vmap(func, in_dims=0, out_dims=0)``; as a decorator with options alone it waits for the function."""
    given = dict(zip(("func", "in_dims", "out_dims", "randomness", "chunk_size"), args)) | kwargs
    if "func" not in given:
        return Native("torch.vmap", lambda interp, site, args, kwargs: vmap(interp, site, args, given | kwargs))
    into, out = interp.plain(given.get("in_dims", 0)), interp.plain(given.get("out_dims", 0))

    def mapped(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        sizes: list[Value] = []
        dims = into if isinstance(into, tuple | list) else [into] * len(args)
        inner = [_without(arg, dim, sizes) for arg, dim in zip(args, dims)] if len(dims) == len(args) else args
        named = {name: _without(value, 0, sizes) for name, value in kwargs.items()}
        result = interp.call(given["func"], inner, named, site)
        if not sizes or any(isinstance(one, Unknown) for one in inner):
            return interp.unknown(site.text, "unmodelled", site)
        return _with(interp, result, out, sizes[0], site)

    return Native("torch.vmap", mapped)


def _axis(value: TensorValue, dim: Any, room: int = 0) -> int | None:
    """The axis counted from the front; None where the rank is not known or too small."""
    if value.shape is None or type(dim) is not int:
        return None
    place = dim + len(value.shape) + room if dim < 0 else dim
    return place if 0 <= place < len(value.shape) + room else None


def _without(value: Value, dim: Any, sizes: list[Value]) -> Value:
    """An argument as the function sees it; the size of the axis that went goes to ``sizes``."""
    if dim is None:
        return value
    if isinstance(value, tuple):
        parts = dim if isinstance(dim, tuple | list) and len(dim) == len(value) else [dim] * len(value)
        return tuple(_without(item, part, sizes) for item, part in zip(value, parts))
    if isinstance(value, ListValue):
        return ListValue([_without(item, dim, sizes) for item in value.items], value.open)
    if isinstance(value, DictValue):
        return DictValue({key: _without(item, dim, sizes) for key, item in value.items.items()}, value.open)
    if not isinstance(value, TensorValue):
        return value
    place = _axis(value, dim)
    if place is None or value.shape is None:
        return replace(value, shape=None, const=None, parameter=False)
    sizes.append(value.shape[place])
    return replace(value, shape=value.shape[:place] + value.shape[place + 1 :], const=None, parameter=False)


def _with(interp: Any, value: Value, dim: Any, size: Value, site: Any) -> Value:
    """A result with the mapped axis."""
    if isinstance(value, tuple):
        parts = dim if isinstance(dim, tuple | list) and len(dim) == len(value) else [dim] * len(value)
        return tuple(_with(interp, item, part, size, site) for item, part in zip(value, parts))
    if isinstance(value, DictValue):
        return DictValue({key: _with(interp, item, dim, size, site) for key, item in value.items.items()}, value.open)
    if not isinstance(value, TensorValue):
        return value if isinstance(value, Unknown) else interp.unknown(site.text, "unmodelled", site)
    place = _axis(value, dim, 1)
    shape = None if place is None or value.shape is None else (*value.shape[:place], size, *value.shape[place:])
    return replace(value, shape=shape, const=None, parameter=False)


ENTRIES: dict[str, Any] = {"torch.vmap": vmap, "torch.func.vmap": vmap, "torch._functorch.apis.vmap": vmap, "functorch.vmap": vmap}
BASES: dict[str, tuple[str, ...]] = {}
