"""timm's registry of models, where timm's source is not given: what the analysed code registers, ``create_model`` builds.

As read in timm 1.0.31 (``models/_factory.py``, ``_registry.py``): the registered function is called with ``pretrained`` and the keywords
that are not None. What else newer versions hand to it (``pretrained_cfg``, ``cache_dir``) is left out: functions of older ones take no such.
"""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.values import FunctionValue, Value

PACKAGE = "timm"
HOMES = ("timm.models.registry", "timm.models._registry", "timm.models")
FACTORIES = ("timm.create_model", "timm.models.create_model", "timm.models.factory.create_model", "timm.models._factory.create_model")
OF_THE_FACTORY = frozenset({
    "model_name", "checkpoint_path", "cache_dir", "pretrained_cfg", "pretrained_cfg_overlay", "scriptable", "exportable", "no_jit",
})  # fmt: skip


def register(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``@register_model``: the function stays what it is, and has a name in the registry."""
    if interp.sources.find(PACKAGE) is not None:
        return NotImplemented
    function = args[0] if args else None
    if isinstance(function, FunctionValue):
        interp.trail.set_item(interp.external_overrides, f"timm.models.{function.name}", function)
    return function


def create(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    name = args[0] if args else kwargs.get("model_name")
    found = interp.external_overrides.get(f"timm.models.{name.partition('.')[0]}") if isinstance(name, str) else None
    if not isinstance(found, FunctionValue) or interp.sources.find(PACKAGE) is not None:
        return NotImplemented
    given = {key: value for key, value in kwargs.items() if key not in OF_THE_FACTORY and value is not None}
    given["pretrained"] = args[1] if len(args) > 1 else given.get("pretrained", False)
    return interp.call(found, [], given, site)


ENTRIES: dict[str, Any] = {**{f"{home}.register_model": register for home in HOMES}, **dict.fromkeys(FACTORIES, create)}
BASES: dict[str, tuple[str, ...]] = {}
