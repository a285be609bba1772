"""Hydra: ``@hydra.main``, ``compose``, the config store, and ``instantiate`` of ``_target_`` trees."""

from __future__ import annotations

import posixpath
from typing import Any

from cgx.indexer.interpreter.stdlib.support import (
    Args,
    Handler,
    Kwargs,
    constant,
    derived,
    first,
    items_of,
    nothing,
    text_of,
    unknown,
)
from cgx.indexer.interpreter.values import (
    MISSING,
    BoundMethod,
    ClassValue,
    DictValue,
    External,
    FunctionValue,
    ListValue,
    Native,
    Opaque,
    Partial,
    Unknown,
    Value,
)
from cgx.indexer.overlays.config_hydra_compose import Composition, run
from cgx.indexer.overlays.config_interpolation import FLAVOUR
from cgx.indexer.overlays.config_nodes import ITEMS, container, entries, is_node, make_node
from cgx.indexer.overlays.typed_values import class_by_path

PACKAGES = ("hydra",)
STORE = "hydra.store"  # in interp.flags: path without .yaml -> node
FOLDER = "hydra.folder"  # in interp.flags: what initialize() set
CONTROLS = frozenset({"_target_", "_args_", "_partial_", "_recursive_", "_convert_"})


# -- main ------------------------------------------------------------------------------------------------------------------


def main(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``@hydra.main(config_path, config_name)``: the function is called with the composed configuration."""
    path = args[0] if args else kwargs.get("config_path")
    name = args[1] if len(args) > 1 else kwargs.get("config_name")

    def decorate(interp: Any, site: Any, inner: Args, _kwargs: Kwargs) -> Value:
        function = inner[0]

        def call(interp: Any, site: Any, given: Args, given_kwargs: Kwargs) -> Value:
            if given or given_kwargs:
                return interp.call(function, given, given_kwargs, site)
            source = function.path if isinstance(function, FunctionValue) else ""
            config = composed(
                interp, site, text_of(path), text_of(name), posixpath.dirname(source), list(interp.argv[1:])
            )
            return interp.call(function, [config], {}, site)

        made = Native("hydra.main", call)
        made.attrs.update({"__wrapped__": function, "__name__": getattr(function, "name", "main")})
        return made

    return Native("hydra.main", decorate)


def composed(interp: Any, site: Any, path: str | None, name: str | None, base: str, words: list[Value]) -> Value:
    """The configuration that ``@hydra.main`` would give. ``base``: the folder of the file that holds the function."""
    rest: list[Value] = []
    items = list(words)
    while items:
        word = items.pop(0)
        text = word if isinstance(word, str) else ""
        key, equals, inline = text.partition("=")
        if key in ("--config-name", "-cn", "--config-path", "-cp", "--config-dir", "-cd"):
            value = inline if equals else text_of(items.pop(0)) if items else None
            if key in ("--config-name", "-cn"):
                name = value
            else:
                path, base = value, base if key in ("--config-path", "-cp") else ""
        elif not text.startswith("-"):
            rest.append(word)
    folder = posixpath.normpath(posixpath.join(base, path)) if path is not None else base
    if path is not None and path.startswith("pkg://"):
        folder = path.removeprefix("pkg://").replace(".", "/")
    nodes = dict(interp.flags.get(STORE, {}))
    if name is None:
        mapping: dict[str, Any] = {}
        job = Composition(interp, site, folder, {**nodes, "": DictValue()})
        mapping, open_word = run(job, "", rest)
    else:
        job = Composition(interp, site, folder, nodes)
        mapping, open_word = run(job, name, rest)
    node = make_node(FLAVOUR, mapping, site.anchor)
    if open_word is not None or job.missing:
        node.attrs[ITEMS].open = True
    return node


# -- compose API and store -------------------------------------------------------------------------------------------------


def _initialize(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    path = text_of(args[0] if args else kwargs.get("config_path", kwargs.get("config_dir")))
    base = posixpath.dirname(site.anchor.path)
    interp.flags[FOLDER] = posixpath.normpath(posixpath.join(base, path)) if path is not None else base
    return Opaque("contextlib.nullcontext")


def _initialize_module(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """The folder of a package, wherever the call stands."""
    name = text_of(args[0] if args else kwargs.get("config_module"))
    found = interp.sources.find(name) if name is not None else None
    if name is not None:
        interp.flags[FOLDER] = posixpath.dirname(found[1]) if found is not None and found[1].endswith(".py") else name.replace(".", "/")
    return Opaque("contextlib.nullcontext")


def _compose(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    name = text_of(args[0] if args else kwargs.get("config_name"))
    words = items_of(interp, args[1] if len(args) > 1 else kwargs.get("overrides", ListValue()), site)
    return composed(interp, site, ".", name, interp.flags.get(FOLDER, ""), words or [])


def _store(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    rest = args[1:] if args and isinstance(args[0], Opaque) and args[0].qname.endswith("ConfigStore") else args
    bound = dict(zip(("name", "node", "group", "package"), rest)) | kwargs
    name, group = text_of(bound.get("name")), text_of(bound.get("group"))
    if name is not None:
        table = dict(interp.flags.get(STORE, {}))
        table[f"{group}/{name}".removesuffix(".yaml") if group else name.removesuffix(".yaml")] = bound.get("node")
        interp.flags[STORE] = table
    return None


# -- instantiate -----------------------------------------------------------------------------------------------------------


def instantiate(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``instantiate(config, *args, **kwargs)``: the target called, nested targets first."""
    config = args[0] if args else kwargs.get("config")
    given = {key: value for key, value in kwargs.items() if key not in ("config", "*")}
    if config is None:
        return None
    return build(interp, site, config, args[1:], given)


def build(interp: Any, site: Any, config: Value, args: Args, given: Kwargs, recursive: bool = True) -> Value:
    """The object of a config tree; trees without a target are walked."""
    rows = (
        entries(interp, config, site)
        if is_node(config)
        else dict(config.items)
        if isinstance(config, DictValue)
        else None
    )
    if isinstance(config, ListValue):
        return ListValue([build(interp, site, item, [], {}) for item in config.items], config.open)
    if rows is None:
        return config
    rows = {**rows, **given}
    if "_target_" not in rows:
        if not recursive:
            return config
        made = {key: build(interp, site, value, [], {}) for key, value in rows.items()}
        return make_node(FLAVOUR, made, site.anchor) if is_node(config) else DictValue(made)
    recursive = rows.get("_recursive_", recursive) is not False
    target = find_target(interp, site, rows["_target_"])
    converted = rows.get("_convert_") in ("all", "partial", "object")
    values = {key: value for key, value in rows.items() if key not in CONTROLS}
    if recursive:
        values = {key: build(interp, site, value, [], {}) for key, value in values.items()}
    if converted:
        values = {key: container(interp, value, site) for key, value in values.items()}
    positional = list(args)
    if not positional and isinstance(rows.get("_args_"), ListValue):
        positional = [build(interp, site, item, [], {}) for item in rows["_args_"].items]
    if isinstance(target, Unknown):
        return target
    if rows.get("_partial_") is True:
        return Partial(target, tuple(positional), {str(key): value for key, value in values.items()})
    return interp.call(target, positional, {str(key): value for key, value in values.items()}, site)


def find_target(interp: Any, site: Any, target: Value) -> Value:
    """The callable behind a ``_target_``: a path, or the thing itself."""
    if isinstance(target, ClassValue | FunctionValue | Native | External | Partial | BoundMethod):
        return target
    path = text_of(target)
    if path is None:
        return derived(site, [target], "callable")
    found = class_by_path(interp, path, site)
    return Unknown(path, "missing-module", site.anchor, "callable") if found is MISSING else found


def _get_object(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    return find_target(interp, site, args[0] if args else next(iter(kwargs.values()), None))


def _runtime(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    return Unknown(site.text, "environment", site.anchor)


def _absolute(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    return args[0]


ENTRIES: dict[str, Handler] = {
    "hydra.main": main,
    "dora.hydra_main": main,
    "hydra.compose": _compose,
    "hydra.initialize": _initialize,
    "hydra.initialize_config_dir": _initialize,
    "hydra.initialize_config_module": _initialize_module,
    "hydra.experimental.compose": _compose,
    "hydra.experimental.initialize": _initialize,
    "hydra.core.config_store.ConfigStore.instance": lambda interp, site, args, kwargs: Opaque(
        "hydra.core.config_store.ConfigStore"
    ),
    "hydra.core.config_store.ConfigStore": lambda interp, site, args, kwargs: Opaque(
        "hydra.core.config_store.ConfigStore"
    ),
    "hydra.core.config_store.ConfigStore.store": _store,
    "hydra.utils.instantiate": instantiate,
    "hydra.utils.call": instantiate,
    "hydra._internal.instantiate._instantiate2.instantiate": instantiate,
    "hydra.utils.get_class": _get_object,
    "hydra.utils.get_method": _get_object,
    "hydra.utils.get_object": _get_object,
    "hydra.utils.get_original_cwd": lambda interp, site, args, kwargs: ".",
    "hydra.utils.to_absolute_path": _absolute,
    "hydra.core.hydra_config.HydraConfig.get": _runtime,
    "hydra.core.hydra_config.HydraConfig.instance": _runtime,
    "hydra.core.hydra_config.HydraConfig.initialized": constant(True),
    "hydra.core.global_hydra.GlobalHydra.instance": unknown("environment"),
    "hydra.utils.log.info": nothing,
    "rootutils.setup_root": lambda interp, site, args, kwargs: ".",
    "pyrootutils.setup_root": lambda interp, site, args, kwargs: ".",
    "hydra.types.TaskFunction": first,
}
BASES: dict[str, tuple[str, ...]] = {}
