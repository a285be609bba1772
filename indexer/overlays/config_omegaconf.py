"""OmegaConf: trees from dicts, files, dot lists and structured classes; interpolations are resolved when they are read."""

from __future__ import annotations

import re
from typing import Any

from cgx.indexer.interpreter.stdlib.files import content_of
from cgx.indexer.interpreter.stdlib.files_in_tree import missing, read_bytes
from cgx.indexer.interpreter.stdlib.support import (
    Args,
    Handler,
    Kwargs,
    constant,
    derived,
    from_python,
    items_of,
    nothing,
    text_of,
)
from cgx.indexer.interpreter.values import MISSING, ClassValue, DictValue, Instance, ListValue, Opaque, Unknown, Value
from cgx.indexer.overlays.annotation_types import is_record
from cgx.indexer.overlays.config_interpolation import (
    FLAVOUR,
    NODE,
    RESOLVERS,
    UNSET,
    literal,
    load_text,
    select,
)
from cgx.indexer.overlays.config_nodes import (
    INFO,
    ITEMS,
    container,
    is_node,
    make_node,
    merge_into,
    methods,
    put,
    raw,
)
from cgx.indexer.overlays.typed_values import make_record, record_fields, record_values

PACKAGES = ("omegaconf",)


# -- making trees ----------------------------------------------------------------------------------------------------------


def structured(interp: Any, value: Value, site: Any) -> Any:
    """A record class or instance as a raw mapping; other values raw."""
    if isinstance(value, ClassValue) and is_record(value):
        return {
            item.name: UNSET if item.default is MISSING else structured(interp, item.default, site)
            for item in record_fields(interp, value, site)
        }
    if isinstance(value, Instance) and is_record(value.cls):
        return {name: structured(interp, item, site) for name, item in record_values(value).items()}
    if isinstance(value, ListValue):
        return [structured(interp, item, site) for item in value.items]
    if isinstance(value, DictValue):
        return {key: structured(interp, item, site) for key, item in value.items.items()}
    return raw(value)


def to_node(interp: Any, value: Value, site: Any) -> Value:
    """A tree from a dict, a list, a record class or instance, or a YAML text. A copy hangs where its original hangs."""
    if is_node(value):
        info = value.attrs[INFO]
        return make_node(FLAVOUR, raw(value), site.anchor, info.parent, info.cls)
    if isinstance(value, Unknown):
        return value
    if isinstance(value, str):
        loaded = load_text(value)
        return to_node(interp, from_python(loaded if loaded is not None else {}), site)
    made = structured(interp, value, site)
    if isinstance(made, dict):
        cls = value if isinstance(value, ClassValue) else value.cls if isinstance(value, Instance) else None
        node = make_node(FLAVOUR, made, site.anchor, None, cls)
        node.attrs[ITEMS].open = isinstance(value, DictValue) and value.open
        return node
    return from_python(
        [make_node(FLAVOUR, item, site.anchor) if isinstance(item, dict) else item for item in made]
        if isinstance(made, list)
        else made
    )


def dotlist(interp: Any, words: list[Value], site: Any) -> Value:
    """``["a.b=1", "c=x"]`` as a tree."""
    node = make_node(FLAVOUR, {}, site.anchor)
    for word in words:
        text = text_of(word)
        if text is None:
            node.attrs[ITEMS].open = True
            continue
        name, equals, value = text.partition("=")
        put(interp, node, re.findall(r"[^.\[\]]+", name), literal(value) if equals else None)
    return node


def _create(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    given = args[0] if args else kwargs.get("obj", kwargs.get("content", DictValue()))
    return to_node(interp, DictValue() if given is None else given, site)


def _load(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    source = args[0] if args else kwargs.get("file_")
    content = content_of(source) if isinstance(source, Opaque) else None
    if content is None:
        data = read_bytes(interp, source)
        content = missing(site, source, "dict") if data is None else data.decode("utf-8", "replace")
    if isinstance(content, Unknown):
        return content
    loaded = load_text(content)
    return to_node(interp, from_python(loaded if loaded is not None else {}), site)


def _merge(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    base: dict[Any, Any] = {}
    cls: Value = None
    parent = args[0].attrs[INFO].parent if args and is_node(args[0]) else None
    unknown: Unknown | None = None
    items: list[Value] = []
    for arg in args:
        items.extend(arg.items if isinstance(arg, ListValue) else [arg])
    for arg in items:
        node = to_node(interp, arg, site)
        if isinstance(node, Unknown):
            unknown = node
            continue
        if not is_node(node):
            continue
        cls = cls or node.attrs[INFO].cls
        merge_into(base, raw(node))
        if unknown is not None:  # what stands before a file that is not here may be overridden by it
            continue
    merged = make_node(FLAVOUR, base, site.anchor, parent, cls)
    if unknown is not None:
        merged.attrs[ITEMS].open = True
        after = _given_after(items, unknown)
        _hide(merged, after, unknown)
    return merged


def _given_after(items: list[Value], unknown: Unknown) -> dict[Any, Any]:
    """The raw entries that come after the last unknown tree: they win whatever it holds."""
    after: dict[Any, Any] = {}
    for item in reversed(items):
        if isinstance(item, Unknown):
            break
        given = raw(item)
        if isinstance(given, dict):
            after = merge_into(given, after)
    return after


def _hide(node: Opaque, kept: dict[Any, Any], why: Unknown) -> None:
    table = node.attrs[ITEMS].items
    for key, value in table.items():
        if is_node(value):
            inner = kept.get(key)
            _hide(value, inner if isinstance(inner, dict) else {}, why)
        elif key not in kept:
            table[key] = Unknown(str(key), why.reason, why.anchor, "", why.settle)


def _from_dotlist(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    items = items_of(interp, args[-1] if args else kwargs.get("dotlist"), site)
    return derived(site, args) if items is None else dotlist(interp, items, site)


def _from_cli(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    given = args[0] if args else kwargs.get("args_list")
    words = list(interp.argv[1:]) if given is None else items_of(interp, given, site)
    return derived(site, args) if words is None else dotlist(interp, words, site)


def _merge_with(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    merged = _merge(interp, site, args, kwargs)
    for key, value in merged.attrs[ITEMS].items.items():
        interp.trail.set_item(args[0].attrs[ITEMS].items, key, value)
    return None


def _merge_with_dotlist(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    items = items_of(interp, args[1], site) or []
    return _merge_with(interp, site, [args[0], dotlist(interp, items, site)], {})


# -- reading trees ---------------------------------------------------------------------------------------------------------


def _to_container(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    return from_python(raw(args[0])) if kwargs.get("resolve") is False else container(interp, args[0], site)


def _to_object(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """Instances of the record classes that the tree was made from."""
    value = args[0]
    cls = value.attrs[INFO].cls if is_node(value) else None
    plain = container(interp, value, site)
    return (
        make_record(interp, cls, plain.items, site)
        if isinstance(cls, ClassValue) and isinstance(plain, DictValue)
        else plain
    )


def _select(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    path = text_of(args[1] if len(args) > 1 else kwargs.get("key"))
    if path is None or not is_node(args[0]):
        return derived(site, args)
    found = select(interp, args[0], path, site)
    absent = isinstance(found, Unknown) and found.name == "${" + path + "}"
    return (
        kwargs.get("default", args[2] if len(args) > 2 else None) if absent and not args[0].attrs[ITEMS].open else found
    )


def _update(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    path = text_of(args[1] if len(args) > 1 else kwargs.get("key"))
    if path is not None and is_node(args[0]):
        put(interp, args[0], re.findall(r"[^.\[\]]+", path), args[2] if len(args) > 2 else kwargs.get("value"))
    return None


def _register(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    table = dict(interp.flags.get(RESOLVERS, {}))
    name = text_of(args[0] if args else kwargs.get("name"))
    if name is not None:
        table[name] = args[1] if len(args) > 1 else kwargs.get("resolver")
    interp.flags[RESOLVERS] = table
    return None


def _is_missing(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    held = args[0].attrs[ITEMS].items.get(args[1], MISSING) if is_node(args[0]) else MISSING
    return held is MISSING or held == UNSET


def _get_parent(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    return args[0].attrs[INFO].parent if is_node(args[0]) else derived(site, args)


def _to_yaml(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    return Unknown(site.text, "unsupported", site.anchor, "str")


_FUNCTIONS: dict[str, Handler] = {
    "create": _create,
    "structured": _create,
    "load": _load,
    "merge": _merge,
    "unsafe_merge": _merge,
    "from_dotlist": _from_dotlist,
    "from_cli": _from_cli,
    "to_container": _to_container,
    "to_object": _to_object,
    "to_yaml": _to_yaml,
    "select": _select,
    "update": _update,
    "resolve": nothing,
    "save": nothing,
    "register_new_resolver": _register,
    "register_resolver": _register,
    "has_resolver": lambda interp, site, args, kwargs: args[0] in interp.flags.get(RESOLVERS, {}),
    "clear_resolvers": nothing,
    "set_struct": nothing,
    "set_readonly": nothing,
    "is_struct": constant(False),
    "is_readonly": constant(False),
    "is_missing": _is_missing,
    "is_config": lambda interp, site, args, kwargs: is_node(args[0]),
    "is_dict": lambda interp, site, args, kwargs: is_node(args[0]),
    "is_list": lambda interp, site, args, kwargs: isinstance(args[0], ListValue),
    "masked_copy": lambda interp, site, args, kwargs: args[0],
    "get_type": lambda interp, site, args, kwargs: args[0].attrs[INFO].cls if is_node(args[0]) else None,
}

ENTRIES: dict[str, Handler] = {
    **{f"omegaconf.OmegaConf.{name}": handler for name, handler in _FUNCTIONS.items()},
    **{f"omegaconf.omegaconf.OmegaConf.{name}": handler for name, handler in _FUNCTIONS.items()},
    **methods(NODE),
    NODE: _create,
    "omegaconf.dictconfig.DictConfig": _create,
    "omegaconf.ListConfig": lambda interp, site, args, kwargs: args[0] if args else ListValue(),
    f"{NODE}._get_parent": _get_parent,
    **{f"{NODE}.{name}": nothing for name in ("_set_flag", "_set_parent")},
    f"{NODE}.merge_with": _merge_with,
    f"{NODE}.merge_with_dotlist": _merge_with_dotlist,
    "omegaconf.open_dict": lambda interp, site, args, kwargs: Opaque("contextlib.nullcontext"),
    "omegaconf.read_write": lambda interp, site, args, kwargs: Opaque("contextlib.nullcontext"),
    "omegaconf.flag_override": lambda interp, site, args, kwargs: Opaque("contextlib.nullcontext"),
    "omegaconf.II": lambda interp, site, args, kwargs: "${" + str(args[0]) + "}",
    "omegaconf.SI": lambda interp, site, args, kwargs: args[0],
}
BASES: dict[str, tuple[str, ...]] = {
    NODE: ("omegaconf.dictconfig.DictConfig", "omegaconf.Container", "omegaconf.base.Container")
}
CONSTANTS: dict[str, Value] = {"omegaconf.MISSING": UNSET}
