"""yacs ``CfgNode`` (and fvcore's, detectron2's base): a tree of defaults, files and ``KEY VALUE`` lists merged over it."""

from __future__ import annotations

import ast
import posixpath
from typing import Any

import yaml

from cgx.errors import UserError
from cgx.indexer.interpreter.stdlib.files_in_tree import missing, read_bytes
from cgx.indexer.interpreter.stdlib.formats import parse_yaml
from cgx.indexer.interpreter.stdlib.support import (
    Args,
    Handler,
    Kwargs,
    NotPlain,
    constant,
    first,
    items_of,
    nothing,
    text_of,
    to_python,
)
from cgx.indexer.interpreter.values import ListValue, Opaque, Unknown, Value
from cgx.indexer.overlays.config_nodes import (
    ITEMS,
    Flavour,
    container,
    inside,
    is_node,
    like,
    make_node,
    maker,
    merge_into,
    methods,
    raw,
    subclass,
)

PACKAGES = ("yacs",)
NODE = "yacs.config.CfgNode"
FLAVOUR = Flavour(NODE, key_error="KeyError")
BASE_KEY = "_BASE_"


def decode(value: Any) -> Any:
    """yacs reads texts as Python literals where they are ones."""
    if not isinstance(value, str):
        return value
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return value


def load_file(interp: Any, site: Any, name: Value, depth: int = 0) -> Any:
    """A YAML file's mapping with the files it names under ``_BASE_``; an Unknown where one is not in the source."""
    data = read_bytes(interp, name)
    if data is None:
        return missing(site, name, "dict")
    try:
        loaded = parse_yaml(data)
    except yaml.YAMLError as error:
        raise UserError(f"{text_of(name)}: not YAML: {str(error).splitlines()[0]}") from None
    if not isinstance(loaded, dict):
        return {}
    base = loaded.pop(BASE_KEY, None)
    if isinstance(base, str) and depth < 20:
        below = load_file(interp, site, posixpath.join(posixpath.dirname(text_of(name) or ""), base), depth + 1)
        return below if isinstance(below, Unknown) else merge_into(below, loaded)
    return loaded


def _decoded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _decoded(item) for key, item in value.items()}
    return decode(value)


def apply(interp: Any, node: Opaque, over: dict[Any, Any]) -> None:
    """Merge a raw mapping into a node, in place."""
    table = node.attrs[ITEMS].items
    for key, value in over.items():
        held = table.get(key)
        if is_node(held) and isinstance(value, dict):
            apply(interp, held, value)
        else:
            interp.trail.set_item(table, key, inside(node, _fitted(value, held)))


def _fitted(value: Any, old: Value) -> Any:
    """yacs turns lists into tuples and back, after the value that stands there."""
    if isinstance(value, list | ListValue) and isinstance(old, tuple):
        return tuple(value.items if isinstance(value, ListValue) else value)
    if isinstance(value, tuple) and isinstance(old, ListValue):
        return list(value)
    return value


def _merge_from_file(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    loaded = load_file(interp, site, args[1] if len(args) > 1 else kwargs.get("cfg_filename"))
    if isinstance(loaded, Unknown):
        _make_open(interp, args[0], loaded)
    else:
        apply(interp, args[0], _decoded(loaded))
    return None


def _make_open(interp: Any, node: Opaque, why: Unknown) -> None:
    """A file that is not here may set any entry: none of the defaults is a fact any more."""
    table = node.attrs[ITEMS]
    interp.trail.set(table, "open", True)
    for key, value in list(table.items.items()):
        if is_node(value):
            _make_open(interp, value, why)
        else:
            interp.trail.set_item(table.items, key, Unknown(str(key), why.reason, why.anchor, "", why.settle))


def _merge_from_list(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    items = items_of(interp, args[1] if len(args) > 1 else kwargs.get("cfg_list"), site)
    if items is None:
        return None
    if len(items) % 2:
        raise UserError("the launch line's options come in pairs of KEY VALUE; one value is missing")
    for key, value in zip(items[::2], items[1::2]):
        path = (text_of(key) or "").split(".")
        node = args[0]
        for part in path[:-1]:
            inner = node.attrs[ITEMS].items.get(part)
            if not is_node(inner):
                raise UserError(f"the configuration has no key {'.'.join(path)!r}")
            node = inner
        apply(interp, node, {path[-1]: decode(value)})
    return None


def _merge_from_other(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    other = args[1] if len(args) > 1 else kwargs.get("cfg_other")
    if is_node(other):
        apply(interp, args[0], raw(other))
    else:
        interp.trail.set(args[0].attrs[ITEMS], "open", True)
    return None


def _load_cfg(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    from cgx.indexer.interpreter.stdlib.files import content_of

    content = content_of(args[-1])
    if isinstance(content, str):
        return make_node(FLAVOUR, _decoded(parse_yaml(content) or {}), site.anchor)
    return missing(site, args[-1])


def _dump(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """The tree as YAML text, where all of it is known."""
    try:
        return yaml.safe_dump(_listed(to_python(container(interp, args[0], site))))
    except (NotPlain, yaml.YAMLError):
        return Unknown(site.text, "unsupported", site.anchor, "str")


def _listed(value: Any) -> Any:
    """Tuples as lists, as yacs dumps them."""
    if isinstance(value, dict):
        return {key: _listed(item) for key, item in value.items()}
    return [_listed(item) for item in value] if isinstance(value, tuple | list) else value


def _clone(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    return like(args[0], make_node(FLAVOUR, raw(args[0]), site.anchor))


def _base_file(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    loaded = load_file(interp, site, args[-1])
    return loaded if isinstance(loaded, Unknown) else container(interp, make_node(FLAVOUR, loaded), site)


_OWN: dict[str, Handler] = {
    "clone": _clone,
    "merge_from_file": _merge_from_file,
    "merge_from_list": _merge_from_list,
    "merge_from_other_cfg": _merge_from_other,
    "load_cfg": _load_cfg,
    "load_yaml_with_base": _base_file,
    "freeze": nothing,
    "defrost": nothing,
    "set_new_allowed": nothing,
    "is_frozen": constant(False),
    "is_new_allowed": constant(True),
    "register_renamed_key": nothing,
    "register_deprecated_key": nothing,
    "dump": _dump,
}
NAMES = (NODE, "yacs.config.load_cfg", "fvcore.common.config.CfgNode", "iopath.common.CfgNode")

ENTRIES: dict[str, Handler] = {
    **dict.fromkeys((NODE, "fvcore.common.config.CfgNode"), maker(FLAVOUR)),
    **methods(NODE),
    **{f"{name}.__cgx_new__": subclass(FLAVOUR) for name in (NODE, "fvcore.common.config.CfgNode")},
    **{f"{NODE}.{name}": handler for name, handler in _OWN.items()},
    "yacs.config.load_cfg": _load_cfg,
    "yacs.config._assert_with_logging": first,
}
BASES: dict[str, tuple[str, ...]] = {NODE: ("dict", "fvcore.common.config.CfgNode")}
