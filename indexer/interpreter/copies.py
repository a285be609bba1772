"""``copy.copy`` and ``copy.deepcopy`` of abstract values. A copied module is a module of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cgx.indexer.interpreter.scopes import Site
from cgx.indexer.interpreter.values import (
    DictValue,
    FunctionValue,
    Instance,
    ListValue,
    ModuleInstance,
    Opaque,
    SetValue,
    TensorValue,
    Value,
)

if TYPE_CHECKING:
    from cgx.indexer.interpreter.interp import Interp


def shallow_copy(interp: Interp, value: Value, site: Site) -> Value:
    if isinstance(value, ListValue):
        return ListValue(list(value.items), value.open, value.cls)
    if isinstance(value, SetValue):
        return SetValue(list(value.items), value.open, value.frozen)
    if isinstance(value, DictValue):
        return DictValue(dict(value.items), value.open, value.kind, value.default, dict(value.origins), value.other)
    hook = value.cls.lookup("__copy__") if isinstance(value, Instance) else None
    if isinstance(hook, FunctionValue):
        return interp.call(hook, [value], {}, site)
    if isinstance(value, ModuleInstance):
        return _module(interp, value, site, lambda item: item)
    if isinstance(value, Instance):
        return Instance(value.cls, dict(value.attrs), value.constructed_at, dict(value.origins), value.open)
    if isinstance(value, Opaque):
        return Opaque(value.qname, dict(value.attrs), value.anchor, value.name)
    return value


def deep_copy(interp: Interp, value: Value, site: Site) -> Value:
    memo: dict[int, Value] = {}

    def copy(item: Value) -> Value:
        known = memo.get(id(item))
        if known is not None:
            return known
        made = _one(item)
        memo[id(item)] = made
        return made

    def _one(item: Value) -> Value:
        if isinstance(item, tuple):
            return tuple(copy(part) for part in item)
        if isinstance(item, ListValue):
            made = ListValue([], item.open, item.cls)
            memo[id(item)] = made
            made.items.extend(copy(part) for part in item.items)
            return made
        if isinstance(item, SetValue):
            return SetValue([copy(part) for part in item.items], item.open, item.frozen)
        if isinstance(item, DictValue):
            fresh = DictValue({}, item.open, item.kind, item.default, dict(item.origins), item.other)
            memo[id(item)] = fresh
            fresh.items.update({key: copy(part) for key, part in item.items.items()})
            return fresh
        if isinstance(item, TensorValue):
            return replace(item, attrs=dict(item.attrs))
        if isinstance(item, ModuleInstance):
            return _module(interp, item, site, copy, memo)
        if isinstance(item, Instance):
            if "members" in item.cls.info:
                return item
            hook = item.cls.lookup("__deepcopy__")
            if hook is not None and type(hook).__name__ == "FunctionValue":
                return interp.call(hook, [item, DictValue()], {}, site)
            one = Instance(item.cls, {}, item.constructed_at, dict(item.origins), item.open)
            memo[id(item)] = one
            one.attrs.update({key: copy(part) for key, part in item.attrs.items()})
            return one
        if isinstance(item, Opaque):
            if item.attrs.get("cgx.value"):  # of its kind and attributes alone, as a number is
                return item
            return Opaque(item.qname, {key: copy(part) for key, part in item.attrs.items()}, item.anchor, item.name)
        return item

    return copy(value)


def _module(interp: Interp, value: ModuleInstance, site: Site, copy: Any, memo: dict[int, Value] | None = None) -> ModuleInstance:
    value = interp.materialise(value)
    made = ModuleInstance(value.cls, constructed_at=value.constructed_at)
    if memo is not None:
        memo[id(value)] = made
    interp.register_module(made, site, like=value)
    made.open, made.training, made.device = value.open, value.training, value.device
    made.origins = dict(value.origins)
    made.hooks = list(value.hooks)
    made.attrs = {key: copy(item) for key, item in value.attrs.items()}
    made.parameters = {key: copy(item) for key, item in value.parameters.items()}
    made.buffers = {key: copy(item) for key, item in value.buffers.items()}
    made.children = {key: copy(item) for key, item in value.children.items()}
    return made
