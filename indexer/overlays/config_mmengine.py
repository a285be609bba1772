"""Python configuration files: mmengine's ``Config`` with ``_base_``, detectron2's ``LazyConfig`` and ``LazyCall``."""

from __future__ import annotations

import ast
import posixpath
import re
from typing import Any

from cgx.errors import UserError
from cgx.indexer.interpreter.scopes import Frame, Scope
from cgx.indexer.interpreter.sources import Code
from cgx.indexer.interpreter.stdlib.files_in_tree import candidates, missing, read_bytes
from cgx.indexer.interpreter.stdlib.formats import parse_yaml
from cgx.indexer.interpreter.stdlib.support import (
    Args,
    Handler,
    Kwargs,
    constant,
    first,
    from_python,
    items_of,
    nothing,
    text_of,
)
from cgx.indexer.interpreter.values import (
    ClassValue,
    DictValue,
    External,
    FunctionValue,
    ListValue,
    ModuleObject,
    Native,
    Opaque,
    Unknown,
    Value,
)
from cgx.indexer.overlays.config_hydra import build
from cgx.indexer.overlays.config_interpolation import FLAVOUR as OMEGA
from cgx.indexer.overlays.config_interpolation import load_text
from cgx.indexer.overlays.config_nodes import (
    ITEMS,
    Flavour,
    container,
    inside,
    is_node,
    make_node,
    maker,
    merge_into,
    methods,
    put,
    raw,
)

NODE = "mmengine.config.ConfigDict"
FLAVOUR = Flavour(NODE)
MAX_BASES = 30


def load_file(interp: Any, site: Any, path: str, depth: int = 0) -> dict[str, Any] | Unknown:
    """The raw mapping of a config file over those it names under ``_base_``."""
    data = read_bytes(interp, path)
    if data is None:
        return missing(site, path, "dict")
    if depth > MAX_BASES:
        raise UserError(f"{path}: its _base_ files go round in a circle")
    if path.endswith((".yaml", ".yml", ".json")):
        loaded = parse_yaml(data)
        own: dict[str, Any] = loaded if isinstance(loaded, dict) else {}
        bases = own.pop("_base_", [])
        held = _bases(interp, site, path, from_python(bases), depth)
    else:
        text = _placeholders(data.decode("utf-8", "replace"), path)
        held = _bases(interp, site, path, _base_names(text), depth)
        if isinstance(held, Unknown):
            return held
        own = run_file(interp, site, path, text, held)
    return held if isinstance(held, Unknown) else _over(held, own)


def _placeholders(text: str, path: str) -> str:
    """``{{ fileDirname }}`` and its kind, and ``{{_base_.x}}`` as a name."""
    values = {
        "fileDirname": posixpath.dirname(path), "fileBasename": posixpath.basename(path),
        "fileBasenameNoExtension": posixpath.splitext(posixpath.basename(path))[0], "fileExtname": posixpath.splitext(path)[1],
    }  # fmt: skip
    for name, value in values.items():
        text = re.sub(r"\{\{\s*" + name + r"\s*\}\}", value, text)
    return re.sub(r"['\"]?\{\{\s*(_base_[\w.]*)\s*\}\}['\"]?", r"\1", text)


def _base_names(text: str) -> Value:
    """The literal ``_base_ = [...]`` of a Python config file."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return None
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == "_base_" for target in node.targets
        ):
            try:
                return from_python(ast.literal_eval(node.value))
            except ValueError:
                return None
    return None


def _bases(interp: Any, site: Any, path: str, names: Value, depth: int) -> dict[str, Any] | Unknown:
    items = (
        [names]
        if isinstance(names, str)
        else names.items
        if isinstance(names, ListValue)
        else list(names)
        if isinstance(names, tuple)
        else []
    )
    total: dict[str, Any] = {}
    for name in items:
        inner = posixpath.normpath(posixpath.join(posixpath.dirname(path), str(name)))
        if "::" in str(name):
            return missing(site, str(name), "dict")
        loaded = load_file(interp, site, inner, depth + 1)
        if isinstance(loaded, Unknown):
            return loaded
        merge_into(total, loaded)
    return total


def _over(base: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """mmengine's merge: ``_delete_=True`` replaces a mapping, lists are replaced."""
    total = dict(base)
    for key, value in own.items():
        if isinstance(value, dict):
            value = dict(value)
            deleted = value.pop("_delete_", False) is True
            held = total.get(key)
            total[key] = _over(held, value) if isinstance(held, dict) and not deleted else _over({}, value)
        else:
            total[key] = value
    return total


def run_file(interp: Any, site: Any, path: str, text: str, base: dict[str, Any]) -> dict[str, Any]:
    """The names that a Python config file binds at its top level, evaluated abstractly."""
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise UserError(f"{path}: does not parse: line {error.lineno}") from None
    scope = Scope("module")
    module = ModuleObject(path.removesuffix(".py").replace("/", "."), path, scope)
    scope.module, scope.globals = module, scope
    scope.vars.update(__name__=module.name, __file__=path, _base_=make_node(FLAVOUR, base, site.anchor))
    frame = Frame(scope, Code(path, tree, text))
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == "_base_" for target in statement.targets
        ):
            continue
        if interp.exec(statement, frame) is not None:
            break
    kept = (FunctionValue, ModuleObject, External, Native)
    names = {key: value for key, value in scope.vars.items() if not key.startswith("_") and not isinstance(value, kept)}
    return {key: raw(value) for key, value in names.items() if not isinstance(value, ClassValue)}


# -- mmengine Config -------------------------------------------------------------------------------------------------------


def _fromfile(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    name = args[-1] if args and not isinstance(args[-1], ClassValue) else kwargs.get("filename")
    path = text_of(name)
    if path is None:
        return missing(site, name)
    place = next((place for place in candidates(interp, path) if interp.tree.exists(place)), path)
    loaded = load_file(interp, site, place)
    if isinstance(loaded, Unknown):
        return loaded
    node = make_node(FLAVOUR, loaded, site.anchor)
    node.attrs["filename"] = path
    return node


def _merge_from_dict(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``cfg.merge_from_dict({"model.depth": 18})``."""
    options = args[1] if len(args) > 1 else kwargs.get("options")
    rows = None
    if isinstance(options, DictValue):
        rows = options.items
    elif isinstance(options, Opaque) and is_node(options):
        rows = options.attrs[ITEMS].items
    if rows is None:
        if options is not None:
            interp.trail.set(args[0].attrs[ITEMS], "open", True)
        return None
    for key, value in rows.items():
        path = str(key).split(".")
        node = args[0]
        for part in path[:-1]:
            node = node.attrs[ITEMS].items.get(part) if is_node(node) else None
        held = node.attrs[ITEMS].items.get(path[-1]) if is_node(node) else None
        if isinstance(value, DictValue) and is_node(held):
            _merge_from_dict(interp, site, [held, value], {})
        else:
            put(interp, args[0], path, value)
    return None


def _dict_action(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """mmengine's ``DictAction`` of argparse: ``--cfg-options a.b=1 c=[1,2]``."""
    namespace, values = args[2], args[3]
    table = DictValue()
    for word in items_of(interp, values, site) or []:
        key, _equals, value = (text_of(word) or "").partition("=")
        table.items[key] = from_python(load_text(value))
    interp.setattr(namespace, interp.getattr(args[0], "dest", site), table, site)
    return None


# -- LazyConfig ------------------------------------------------------------------------------------------------------------


def _lazy_load(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    path = text_of(args[0] if args else kwargs.get("filename"))
    if path is None:
        return missing(site, args[0] if args else None)
    for place in candidates(interp, path):
        dotted = place.removesuffix(".py").replace("/", ".")
        if place.endswith(".py") and interp.tree.exists(place) and interp.sources.find(dotted) is not None:
            module = interp.import_module(dotted, site)
            rows = {
                key: value
                for key, value in module.scope.vars.items()
                if not key.startswith("_")
                and (is_node(value) or isinstance(value, DictValue | ListValue | int | float | str | tuple))
            }
            return make_node(OMEGA, rows, site.anchor)
    return missing(site, path)


def _lazy_call(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``LazyCall(Target)(a=1)``: a tree with ``_target_``."""
    target = args[0]

    def make(interp: Any, site: Any, inner: Args, inner_kwargs: Kwargs) -> Value:
        node = make_node(OMEGA, {}, site.anchor)
        node.attrs[ITEMS].items["_target_"] = target
        node.attrs[ITEMS].items.update({key: inside(node, value) for key, value in inner_kwargs.items()})
        return node

    return Native("LazyCall", make)


def _lazy_instantiate(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    return build(interp, site, args[0] if args else kwargs.get("cfg"), [], {})


def _lazy_overrides(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    for word in items_of(interp, args[1], site) or []:
        key, equals, value = (text_of(word) or "").partition("=")
        if equals and is_node(args[0]):
            put(interp, args[0], key.split("."), from_python(load_text(value)))
    return args[0]


def _new_action(package: str) -> Handler:
    return lambda interp, site, args, kwargs: Opaque(f"{package}.DictAction", dict(kwargs), site.anchor)


ACTIONS = ("mmengine", "mmengine.config", "mmcv")
CONFIGS = ("mmengine.Config", "mmengine.config.Config", "mmcv.Config", "mmcv.utils.Config")
ENTRIES: dict[str, Handler] = {
    **methods(NODE),
    **dict.fromkeys((NODE, "mmengine.ConfigDict", "mmcv.ConfigDict", *CONFIGS), maker(FLAVOUR)),
    **{f"{name}.fromfile": _fromfile for name in CONFIGS},
    f"{NODE}.merge_from_dict": _merge_from_dict,
    f"{NODE}.to_dict": lambda interp, site, args, kwargs: container(interp, args[0], site),
    f"{NODE}.dump": nothing,
    f"{NODE}.pretty_text": lambda interp, site, args, kwargs: Unknown(site.text, "unsupported", site.anchor, "str"),
    **{f"{package}.DictAction": _new_action(package) for package in ACTIONS},
    **{f"{package}.DictAction.__call__": _dict_action for package in ACTIONS},
    "detectron2.config.LazyConfig.load": _lazy_load,
    "detectron2.config.lazy.LazyConfig.load": _lazy_load,
    "detectron2.config.LazyConfig.apply_overrides": _lazy_overrides,
    "detectron2.config.LazyConfig.save": nothing,
    "detectron2.config.LazyCall": _lazy_call,
    "detectron2.config.lazy.LazyCall": _lazy_call,
    "detectron2.config.instantiate": _lazy_instantiate,
    "detectron2.config.instantiate.instantiate": _lazy_instantiate,
    "mmengine.config.read_base": lambda interp, site, args, kwargs: Opaque("contextlib.nullcontext"),
    "mmengine.Config.is_file": constant(True),
    "mmengine.utils.digit_version": first,
}
BASES: dict[str, tuple[str, ...]] = {
    NODE: ("dict", "mmengine.Config", "mmengine.config.Config", "mmengine.ConfigDict"),
    **{f"{package}.DictAction": ("argparse.Action",) for package in ACTIONS},
}
