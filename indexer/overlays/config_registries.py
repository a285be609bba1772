"""Registries of libraries: fvcore's and mmengine's, filled by decorators and asked by name."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.stdlib.support import Args, Handler, Kwargs, derived, text_of
from cgx.indexer.interpreter.values import (
    ClassValue,
    DictValue,
    FunctionValue,
    ListValue,
    Native,
    Opaque,
    Unknown,
    Value,
)
from cgx.indexer.overlays.config_nodes import ITEMS, is_node

FVCORE, MMENGINE = "fvcore.common.registry.Registry", "mmengine.registry.Registry"
TABLE = "__table__"
LISTED = "mm_registries"  # flag: mmengine's registries of the run, in the order they were made


def _construct(qname: str) -> Handler:
    def call(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        name = text_of(args[0] if args else kwargs.get("name")) or ""
        made = Opaque(
            qname, {TABLE: DictValue(), "name": name, "_name": name, "parent": kwargs.get("parent")}, site.anchor
        )
        if qname == MMENGINE:
            interp.trail.set_item(interp.flags, LISTED, (*interp.flags.get(LISTED, ()), made))
        return made

    return call


def _add(interp: Any, registry: Opaque, name: Value, value: Value) -> None:
    names = name.items if isinstance(name, ListValue) else [name]
    for one in names:
        key = one if isinstance(one, str) else getattr(value, "name", None)
        if isinstance(key, str):
            interp.trail.set_item(registry.attrs[TABLE].items, key, value)


def _register(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``@R.register()``, ``R.register(obj)``, ``@R.register_module(name="x")``, ``R.register_module(module=C)``."""
    registry, rest = args[0], args[1:]
    name = kwargs.get("name")
    if rest and isinstance(rest[0], str):
        name, rest = rest[0], rest[1:]
    target = kwargs.get("module", kwargs.get("obj", rest[0] if rest else None))
    if isinstance(target, ClassValue | FunctionValue | Native):
        _add(interp, registry, name, target)
        return target

    def decorate(interp: Any, site: Any, inner: Args, _kwargs: Kwargs) -> Value:
        _add(interp, registry, name, inner[0])
        return inner[0]

    return Native("Registry.register", decorate)


def _get(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    name = text_of(args[1] if len(args) > 1 else kwargs.get("name", kwargs.get("key")))
    if name is None:
        return derived(site, args[1:])
    found = find(args[0], name)
    if found is not None:
        return found
    return (
        interp.raise_("KeyError", f"{name} is not in the registry {args[0].attrs['name']}", site)
        if args[0].qname == FVCORE
        else None
    )


def find(registry: Value, name: str) -> Value:
    """The registered thing, also under its name without a scope and in the parents."""
    while isinstance(registry, Opaque) and TABLE in registry.attrs:
        table = registry.attrs[TABLE].items
        for key in (name, name.rpartition(".")[2]):
            if key in table:
                return table[key]
        registry = registry.attrs.get("parent")
    return None


def _build(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``R.build(dict(type="X", ...), default_args...)``."""
    config = args[1] if len(args) > 1 else kwargs.get("cfg")
    rows = (
        dict(config.attrs[ITEMS].items)
        if config is not None and is_node(config)
        else dict(config.items)
        if isinstance(config, DictValue)
        else None
    )
    if rows is None:
        return derived(site, [config])
    defaults = kwargs.get("default_args")
    for key, value in (defaults.items if isinstance(defaults, DictValue) else {}).items():
        rows.setdefault(key, value)
    kind = rows.pop("type", None)
    target = find(args[0], kind) if isinstance(kind, str) else kind
    if target is None:
        return Unknown(str(kind), "missing-module", site.anchor)
    return interp.call(target, [], {str(key): value for key, value in rows.items()}, site)


_METHODS: dict[str, Handler] = {
    "register": _register,
    "_do_register": lambda interp, site, args, kwargs: _add(interp, args[0], args[1], args[2]),
    "register_module": _register,
    "get": _get,
    "build": _build,
    "__contains__": lambda interp, site, args, kwargs: args[1] in args[0].attrs[TABLE].items,
    "__iter__": lambda interp, site, args, kwargs: ListValue(list(args[0].attrs[TABLE].items.items())),
    "__len__": lambda interp, site, args, kwargs: len(args[0].attrs[TABLE].items),
}

ENTRIES: dict[str, Handler] = {
    FVCORE: _construct(FVCORE),
    "mmcv.utils.Registry": _construct(MMENGINE),
    "mmengine.Registry": _construct(MMENGINE),
    MMENGINE: _construct(MMENGINE),
    **{f"{qname}.{name}": handler for qname in (FVCORE, MMENGINE) for name, handler in _METHODS.items()},
    "mmengine.registry.build_from_cfg": lambda interp, site, args, kwargs: _build(
        interp,
        site,
        [args[1] if len(args) > 1 else kwargs.get("registry"), args[0] if args else kwargs.get("cfg"), *args[2:]],
        kwargs,
    ),
}
BASES: dict[str, tuple[str, ...]] = {}
