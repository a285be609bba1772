"""Configuration trees with attribute access: OmegaConf, yacs, EasyDict, ml_collections, mmengine, ...

A node is an Opaque of the library's class; its entries stand in a DictValue under ``__items__``. All access goes through the
handlers made here, so that a flavour can resolve interpolations or refuse a missing name in its own way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cgx.indexer.interpreter.stdlib.support import Args, Handler, Kwargs, derived, from_python, lift, several
from cgx.indexer.interpreter.values import (
    MISSING,
    ClassValue,
    DictValue,
    Instance,
    ListValue,
    Opaque,
    SetValue,
    Unknown,
    Value,
)
from cgx.model.anchors import Anchor

ITEMS, INFO = "__items__", "__info__"
Resolve = Callable[[Any, Opaque, Any, Value, Any], Value]  # (interp, node, key, held value, site) -> value


@dataclass(frozen=True, slots=True)
class Flavour:
    """``missing``: what an absent name gives by attribute: "raise" or "empty" (another node). ``resolve`` reads an entry."""

    qname: str
    missing: str = "raise"
    resolve: Resolve | None = None
    key_error: str = "KeyError"


@dataclass(eq=False, slots=True)
class Info:
    """What a node knows beside its entries: where it hangs, and the record class it was made from."""

    flavour: Flavour
    parent: Opaque | None = None
    cls: Value = None


def is_node(value: Value) -> bool:
    return isinstance(value, Opaque) and ITEMS in value.attrs


def make_node(
    flavour: Flavour, table: Any, anchor: Anchor | None = None, parent: Opaque | None = None, cls: Value = None
) -> Opaque:
    """A node from a mapping; mappings inside become nodes too."""
    node = Opaque(flavour.qname, {ITEMS: DictValue(), INFO: Info(flavour, parent, cls)}, anchor)
    rows = table.items if isinstance(table, DictValue) else table
    held = node.attrs[ITEMS]
    held.items.update({key: inside(node, value) for key, value in rows.items()})
    held.open = isinstance(table, DictValue) and table.open
    return node


def inside(node: Opaque, value: Any) -> Value:
    """A value as it is kept in a node."""
    flavour = node.attrs[INFO].flavour
    if isinstance(value, DictValue | dict):
        return make_node(flavour, value, getattr(node, "anchor", None), node)
    if is_node(value):
        return like(value, make_node(flavour, value.attrs[ITEMS], getattr(value, "anchor", None), node, value.attrs[INFO].cls))
    if isinstance(value, ListValue | list):
        items = value.items if isinstance(value, ListValue) else value
        return ListValue([inside(node, item) for item in items], isinstance(value, ListValue) and value.open)
    return from_python(value)


def like(original: Opaque, copy: Opaque) -> Opaque:
    """A copy is of the original's class."""
    if "__bases__" in original.attrs:
        copy.attrs["__bases__"] = original.attrs["__bases__"]
    return copy


def raw(value: Value) -> Any:
    """Nodes as Python dicts and lists, entries as they are held (interpolations unresolved)."""
    if is_node(value):
        return {key: raw(item) for key, item in value.attrs[ITEMS].items.items()}
    if isinstance(value, DictValue):
        return {key: raw(item) for key, item in value.items.items()}
    if isinstance(value, ListValue):
        return [raw(item) for item in value.items]
    return value


def entries(interp: Any, node: Opaque, site: Any) -> dict[Any, Value]:
    """The entries, resolved."""
    return {key: read(interp, node, key, site) for key in list(node.attrs[ITEMS].items)}


def read(interp: Any, node: Opaque, key: Any, site: Any) -> Value:
    """One entry, resolved; MISSING where there is none."""
    held = node.attrs[ITEMS].items.get(key, MISSING)
    if held is MISSING:
        return MISSING
    resolve = node.attrs[INFO].flavour.resolve
    return held if resolve is None else resolve(interp, node, key, held, site)


def container(interp: Any, value: Value, site: Any) -> Value:
    """Plain dicts and lists, all resolved (``to_container``, ``to_dict``)."""
    if is_node(value):
        rows = {key: container(interp, item, site) for key, item in entries(interp, value, site).items()}
        return DictValue(rows, open=value.attrs[ITEMS].open)
    if isinstance(value, ListValue):
        return ListValue([container(interp, item, site) for item in value.items], value.open)
    if isinstance(value, tuple):
        return tuple(container(interp, item, site) for item in value)
    return value


def merge_into(base: dict[Any, Any], over: dict[Any, Any]) -> dict[Any, Any]:
    """``over`` wins, mappings are merged key by key; both are raw."""
    for key, value in over.items():
        if isinstance(value, dict) and isinstance(base.get(key), dict):
            merge_into(base[key], value)
        else:
            base[key] = value
    return base


def root_of(node: Opaque) -> Opaque:
    """The outermost node."""
    while node.attrs[INFO].parent is not None:
        node = node.attrs[INFO].parent
    return node


def place_of(node: Opaque) -> list[Any]:
    """The keys from the root down to a node."""
    path: list[Any] = []
    while (parent := node.attrs[INFO].parent) is not None:
        path.insert(0, next((key for key, value in parent.attrs[ITEMS].items.items() if value is node), "?"))
        node = parent
    return path


def put(interp: Any, node: Opaque, path: list[Any], value: Any) -> None:
    """Set a nested entry; nodes on the way are made."""
    for part in path[:-1]:
        held = node.attrs[ITEMS].items.get(part)
        if not is_node(held):
            held = make_node(node.attrs[INFO].flavour, {}, getattr(node, "anchor", None), node)
            interp.trail.set_item(node.attrs[ITEMS].items, part, held)
        node = held
    interp.trail.set_item(node.attrs[ITEMS].items, path[-1], inside(node, value))


def absent(interp: Any, node: Opaque, key: Any, site: Any, error: str) -> Value:
    """A name that the node does not hold."""
    if node.attrs[ITEMS].open:
        return Unknown(site.text, "missing-file", site.anchor)
    if node.attrs[INFO].flavour.missing == "empty":
        made = make_node(node.attrs[INFO].flavour, {}, site.anchor, node)
        interp.trail.set_item(node.attrs[ITEMS].items, key, made)
        return made
    return interp.raise_(error, f"{node.qname.rpartition('.')[2]} has no key {key!r}", site)


# -- handlers --------------------------------------------------------------------------------------------------------------


def _getattr(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    node, name = args[0], args[1]
    found = read(interp, node, name, site)
    if found is not MISSING:
        return found
    if isinstance(name, str) and name.startswith("__"):
        return NotImplemented
    return absent(interp, node, name, site, "AttributeError")


def _hasattr(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    if args[1] in args[0].attrs[ITEMS].items:
        return True
    return Unknown(site.text, "missing-file", site.anchor, "bool") if args[0].attrs[ITEMS].open else False


def _getitem(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    def once(key: Value) -> Value:
        if isinstance(key, Unknown):
            return derived(site, [key])
        found = read(interp, args[0], key, site)
        return absent(interp, args[0], key, site, args[0].attrs[INFO].flavour.key_error) if found is MISSING else found

    return lift(once, [args[1]])


def _set(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    if isinstance(args[1], Unknown) or several([args[1]]):
        interp.trail.set(args[0].attrs[ITEMS], "open", True)
    else:
        interp.trail.set_item(args[0].attrs[ITEMS].items, args[1], inside(args[0], args[2]))
        args[0].attrs[ITEMS].origins[args[1]] = site.anchor
    return None


def _delete(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    if args[1] in args[0].attrs[ITEMS].items:
        interp.trail.del_item(args[0].attrs[ITEMS].items, args[1])
    return None


def _get(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    default = args[2] if len(args) > 2 else kwargs.get("default", kwargs.get("default_value"))

    def once(key: Value) -> Value:
        if isinstance(key, Unknown):
            return derived(site, [key])
        found = read(interp, args[0], key, site)
        if found is not MISSING:
            return found
        return Unknown(site.text, "missing-file", site.anchor) if args[0].attrs[ITEMS].open else default

    return lift(once, [args[1]])


def _pop(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    found = read(interp, args[0], args[1], site)
    if found is MISSING:
        if len(args) > 2 or "default" in kwargs:
            return args[2] if len(args) > 2 else kwargs["default"]
        return absent(interp, args[0], args[1], site, "KeyError")
    interp.trail.del_item(args[0].attrs[ITEMS].items, args[1])
    return found


def _setdefault(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    found = read(interp, args[0], args[1], site)
    if found is MISSING:
        _set(interp, site, [args[0], args[1], args[2] if len(args) > 2 else None], {})
        found = read(interp, args[0], args[1], site)
    return found


def _contains(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    return (
        _hasattr(interp, site, args, kwargs) if not isinstance(args[1], Unknown) else derived(site, [args[1]], "bool")
    )


def _update(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    given: dict[Any, Value] = {}
    for source in args[1:]:
        rows = (
            entries(interp, source, site)
            if is_node(source)
            else source.items
            if isinstance(source, DictValue)
            else None
        )
        if rows is None:
            interp.trail.set(args[0].attrs[ITEMS], "open", True)
        else:
            given.update(rows)
    for key, value in {**given, **kwargs}.items():
        if key != "*":
            _set(interp, site, [args[0], key, value], {})
    return None


def _copy(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    info = args[0].attrs[INFO]
    return like(args[0], make_node(info.flavour, args[0].attrs[ITEMS], site.anchor, info.parent, info.cls))


def _equal(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    left, right = raw(args[0]), raw(args[1])
    if any(isinstance(item, Unknown | Opaque | Instance | SetValue) for item in (left, right)):
        return derived(site, [], "bool")
    return bool(left == right)


def _listed(choose: Callable[[Any, Value], Value]) -> Handler:
    def call(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        rows = entries(interp, args[0], site)
        return ListValue([choose(key, value) for key, value in rows.items()], args[0].attrs[ITEMS].open)

    return call


_KEYS = _listed(lambda key, value: key)

METHODS: dict[str, Handler] = {
    "__call__": lambda interp, site, args, kwargs: interp.raise_(
        "TypeError", f"{args[0].qname} object is not callable", site
    ),
    "__getattr__": _getattr,
    "__hasattr__": _hasattr,
    "__setattr__": _set,
    "__getitem__": _getitem,
    "__setitem__": _set,
    "__delitem__": _delete,
    "__delattr__": _delete,
    "__contains__": _contains,
    "__iter__": _KEYS,
    "__len__": lambda interp, site, args, kwargs: len(args[0].attrs[ITEMS].items),
    "__bool__": lambda interp, site, args, kwargs: bool(args[0].attrs[ITEMS].items),
    "__eq__": _equal,
    "__deepcopy__": _copy,
    "keys": _KEYS,
    "values": _listed(lambda key, value: value),
    "items": _listed(lambda key, value: (key, value)),
    "get": _get,
    "pop": _pop,
    "setdefault": _setdefault,
    "update": _update,
    "copy": _copy,
}


def methods(qname: str, flavour: Flavour | None = None) -> dict[str, Handler]:
    """The handlers of a node class under its name."""
    return {f"{qname}.{name}": with_entries(handler, flavour or Flavour(qname)) for name, handler in METHODS.items()}


def with_entries(handler: Handler, flavour: Flavour) -> Handler:
    """The handler for an instance of a subclass too, whose own constructor does not call the library's."""

    def call(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        if args and isinstance(args[0], Instance) and ITEMS not in args[0].attrs:
            args[0].attrs |= {ITEMS: DictValue(), INFO: Info(flavour)}
        return handler(interp, site, args, kwargs)

    return call


def subclass(flavour: Flavour) -> Handler:
    """An instance of a class of the source that derives from a node class: a node that knows its class by name.

    A subclass with a constructor of its own stays a plain instance.
    """

    def call(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        cls = args[0]
        if "__init__" in cls.namespace:
            return NotImplemented
        node = maker(flavour)(interp, site, args[1:], {key: value for key, value in kwargs.items() if key != "*"})
        node.attrs["__bases__"] = (flavour.qname, *(base.qname for base in cls.mro if isinstance(base, ClassValue)))
        return node

    return call


def maker(flavour: Flavour) -> Handler:
    """The constructor: a mapping, keywords, or both."""

    def call(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        node = make_node(flavour, {}, site.anchor)
        _update(interp, site, [node, *[arg for arg in args if arg is not None]], kwargs)
        return node

    return call
