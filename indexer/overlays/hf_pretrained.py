"""``from_pretrained`` of transformers read as source: the class that the checkpoint's ``config.json`` names, built from that file.

Downloading, resolving revisions and filling weights decide nothing of the model's structure. Without the file (``--file``) the model is
one of :mod:`cgx.indexer.overlays.hf_outside_models`. Rows answer for functions of the source by their qualified names.
"""

from __future__ import annotations

import json
from typing import Any

from cgx.indexer.interpreter.imports import import_module, member
from cgx.indexer.interpreter.values import HELD, ClassValue, DictValue, Instance, ModuleInstance, ModuleObject, Value
from cgx.indexer.overlays import hub
from cgx.indexer.overlays.arguments import dtype_name
from cgx.indexer.overlays.hf_outside_models import made, placed
from cgx.indexer.overlays.transfer import move_module

AUTO = "transformers.models.auto.auto_factory._BaseAutoModelClass"
CONFIGURATIONS = "transformers.models.auto.configuration_auto"


def auto(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``AutoModelFor...from_pretrained(name)``: by ``model_type`` and the class's own mapping."""
    cls, rest = args[0], args[1:]
    config = kwargs.get("config")
    table = None if isinstance(config, Instance) else file_of(interp, rest, kwargs, site)
    if config is None and table is not None:
        config = configuration(interp, table, site)
    kind = config.attrs.get("model_type", config.cls.lookup("model_type")) if isinstance(config, Instance) else None
    chosen = model_class(interp, cls, kind, (table or {}).get("architectures") or [], site)
    if chosen is None or not isinstance(config, Instance):
        return made(interp, getattr(cls, "name", "PreTrainedModel"), site, rest, kwargs, loaded=True)
    return built(interp, chosen, config, table, site, kwargs)


def own(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``LlamaForCausalLM.from_pretrained(name)``: the class itself, with its own configuration class."""
    cls, rest = args[0], args[1:]
    if not isinstance(cls, ClassValue):
        return NotImplemented
    config, table = kwargs.get("config"), None
    if config is None:
        table = file_of(interp, rest, kwargs, site)
        kind = cls.lookup("config_class")
        if table is not None:
            config = (
                interp.call(kind, [], options(table), site)
                if isinstance(kind, ClassValue)
                else configuration(interp, table, site)
            )
    if not isinstance(config, Instance):
        return made(interp, cls.name, site, rest, kwargs, loaded=True)
    return built(interp, cls, config, table, site, kwargs)


def file_of(interp: Any, rest: list[Value], kwargs: dict[str, Value], site: Any) -> dict[str, Any] | None:
    """``config.json`` as given by ``--file``, or beside the code."""
    name = hub.name_of(rest, kwargs, site).rstrip("/")
    data = interp.files.get(f"config.json of {name}") or interp.files.get("config.json")
    if data is None and not name.startswith(("/", "~")):
        data = interp.tree.read(f"{name}/config.json")
    try:
        loaded = json.loads(data) if data is not None else None
    except ValueError:
        return None
    return loaded if isinstance(loaded, dict) else None


def options(table: dict[str, Any]) -> dict[str, Value]:
    return {
        key: hub.plain(value)
        for key, value in table.items()
        if key not in ("model_type", "transformers_version", "auto_map")
    }


def names(interp: Any, dotted: str, name: str, site: Any) -> dict[Any, Value]:
    """A table of names in a module of the source."""
    module = import_module(interp, dotted, site)
    found = member(interp, module, dotted, name, site) if isinstance(module, ModuleObject) else None
    return found.items if isinstance(found, DictValue) else {}


def configuration(interp: Any, table: dict[str, Any], site: Any) -> Value:
    """The configuration of the class that ``model_type`` names."""
    kind = table.get("model_type")
    name = names(interp, CONFIGURATIONS, "CONFIG_MAPPING_NAMES", site).get(kind)
    cls = from_package(interp, kind, "configuration", name, site)
    return interp.call(cls, [], options(table), site) if isinstance(cls, ClassValue) else None


def from_package(interp: Any, kind: Any, part: str, name: Value, site: Any) -> Value:
    """A class of the package of one model type."""
    if not isinstance(kind, str) or not isinstance(name, str):
        return None
    special = names(interp, CONFIGURATIONS, "SPECIAL_MODEL_TYPE_TO_MODULE_NAME", site)
    folder = special.get(kind, kind.replace("-", "_"))
    for stem in dict.fromkeys((folder, kind.replace("-", "_"))):
        dotted = f"transformers.models.{folder}.{part}_{stem}"
        if interp.sources.find(dotted) is not None:
            module = import_module(interp, dotted, site)
            return interp.attempt(lambda module=module, dotted=dotted: member(interp, module, dotted, name, site))
    return None


def model_class(interp: Any, cls: Value, kind: Value, listed: list[str], site: Any) -> ClassValue | None:
    """What the auto class's mapping has for the model type; of several, the one that the file lists."""
    mapping = cls.lookup("_model_mapping") if isinstance(cls, ClassValue) else None
    held = mapping.attrs.get("_model_mapping") if isinstance(mapping, Instance) else None
    table = held.items if isinstance(held, DictValue) else items_inside(held)
    name = table.get(kind) if isinstance(kind, str) else None
    if isinstance(name, tuple):
        name = next((one for one in listed if one in name), name[0] if name else None)
    found = from_package(interp, kind, "modeling", name, site)
    return found if isinstance(found, ClassValue) else None


def items_inside(held: Value) -> dict[Any, Value]:
    """The data of an instance of a user's subclass of dict."""
    inside = held.attrs.get(HELD) if isinstance(held, Instance) else None
    return inside.items if isinstance(inside, DictValue) else {}


def built(
    interp: Any, cls: ClassValue, config: Value, table: dict[str, Any] | None, site: Any, kwargs: dict[str, Value]
) -> Value:
    """The model in evaluation mode, in the dtype that was asked for or that the file states, where ``device_map`` puts it."""
    module = interp.call(cls, [config], {}, site)
    if not isinstance(module, ModuleInstance):
        return module
    asked = kwargs.get("dtype", kwargs.get("torch_dtype"))
    stated = (table or {}).get("torch_dtype", (table or {}).get("dtype"))
    dtype = dtype_name(asked) or (
        asked if isinstance(asked, str) and asked != "auto" else stated if asked is None or asked == "auto" else None
    )
    move_module(interp, module, "cuda" if placed(kwargs) else None, dtype if dtype in hub.DTYPES else None, False, site)
    interp.call(interp.getattr(module, "eval", site), [], {}, site)
    return module


ENTRIES: dict[str, Any] = {
    f"{AUTO}.from_pretrained": auto,
    **{
        f"transformers.models.auto.modeling_auto.{name}.from_pretrained": auto
        for name in ("AutoModelForCausalLM", "AutoModelForImageTextToText")
    },
    "transformers.modeling_utils.PreTrainedModel.from_pretrained": own,
}
BASES: dict[str, tuple[str, ...]] = {}
