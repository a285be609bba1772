"""``from_pretrained`` of a pipeline class that is read: built of the classes that the annotations of its ``__init__`` name.

Which class a checkpoint really names stands in its ``model_index.json``, and each part's values in a ``config.json`` of its own: those are
outside, so that the parts are known and their sizes are not. A part that may be left out, and that offloading does not count on, is
open. Read from diffusers 0.42.1 (pipelines/pipeline_utils.py).
"""

from __future__ import annotations

import json
import re
from typing import Any

from cgx.indexer.interpreter.values import (
    BoundMethod,
    ClassValue,
    Device,
    DictValue,
    FunctionValue,
    Instance,
    ListValue,
    ModuleInstance,
    Opaque,
    TensorValue,
    Unknown,
    Value,
)
from cgx.indexer.overlays import diffusers_models, diffusers_pipelines, hf_pretrained, hub
from cgx.indexer.overlays.annotation_types import Type, frame_of, read_type
from cgx.indexer.overlays.arguments import device_type, dtype_name, flag
from cgx.indexer.overlays.hf_outside_models import placed
from cgx.indexer.overlays.offloading import runs_on
from cgx.indexer.overlays.sourceless import HOOK
from cgx.indexer.overlays.transfer import module_tensors, module_to, move_module, to_targets

AUTHOR = "overlays.diffusers_build"
OF_THE_HOST = re.compile(r"\w*(Tokenizer\w*|Processor|FeatureExtractor)$")
HOME = "diffusers.pipelines.pipeline_utils"
BASE = f"{HOME}.DiffusionPipeline"
LOADING = frozenset({"torch_dtype", "dtype", "device_map", "variant", "revision", "cache_dir", "subfolder", "use_safetensors", "local_files_only", "token"})


def built(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The pipeline with its parts on the host, those that the caller gives as they are."""
    cls, rest = args[0], args[1:]
    if not isinstance(cls, ClassValue):
        return NotImplemented
    init = plain_init(cls)
    if init is None or cls.qname == BASE:
        return diffusers_pipelines.made(interp, f"diffusers.{cls.name}.from_pretrained", site, rest, kwargs)
    name = hub.name_of(rest, kwargs, site).rstrip("/")
    wanted = f"model_index.json of {name}"
    index = Unknown(wanted, "missing-file", site.anchor, settle=("--file", wanted))
    interp.note_unknown(index)
    spec = init.node.args
    names = [one.arg for one in [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]][1:]
    with_default = set(names[len(names) - len(init.defaults) :]) if init.defaults else set()
    optional = cls.lookup("_optional_components")
    left_out = set(optional.items) if isinstance(optional, ListValue) else set()
    sequence = str(cls.lookup("model_cpu_offload_seq") or "").split("->")
    values: dict[str, Value] = {}
    for role in names:
        if role in kwargs:
            values[role] = kwargs[role]
        elif role in with_default or role in init.kw_defaults:
            continue
        elif role in left_out and role not in sequence:
            values[role] = Unknown(role, "missing-file", site.anchor, settle=index.settle)
        else:
            kind = read_type(interp, init.annotations.get(role), frame_of(init))
            values[role] = part(interp, kind, role, name, index, site)
    dtype = dtype_name(kwargs.get("torch_dtype", kwargs.get("dtype")))
    for role, module in values.items():
        if isinstance(module, ModuleInstance) and role not in kwargs:
            move_module(interp, module, "cuda" if placed(kwargs) else None, dtype, False, site)
    more = {key: value for key, value in kwargs.items() if key not in LOADING and key not in values and key in names}
    return interp.call(cls, [], {**values, **more}, site)


def plain_init(cls: ClassValue) -> FunctionValue | None:
    """``__init__`` as it is written, below its decorators."""
    init = cls.lookup("__init__")
    while isinstance(init, BoundMethod):
        init = init.func
    if isinstance(init, FunctionValue) and isinstance(init.attrs.get("__wrapped__"), FunctionValue):
        init = init.attrs["__wrapped__"]
    return init if isinstance(init, FunctionValue) else None


def part(interp: Any, kind: Type, role: str, name: str, index: Unknown, site: Any) -> Value:
    """One part of the class that is annotated, the first of several."""
    kind = next((one for one in kind.members() if one.kind in ("class", "fields", "enum")), kind)
    if role == "scheduler" or role.endswith("_scheduler"):
        return scheduler(interp, kind, name, role, site)
    if OF_THE_HOST.fullmatch(kind.name) or OF_THE_HOST.fullmatch(role):
        return Opaque(hub.TOKENIZER, {}, site.anchor)
    cls, place = kind.value, f"{name}/{role}"
    if isinstance(cls, ClassValue) and cls.derives("torch.nn.Module"):
        of_transformers = cls.lookup("config_class") is not None and cls.qname.startswith("transformers.")
        load = hf_pretrained.own if of_transformers else diffusers_models.from_pretrained
        made = load(interp, site, [cls, place], {})
    elif kind.kind == "class" and kind.name:
        made = diffusers_pipelines.part(interp, kind.name, site, [place], {})
    else:
        return Unknown(role, "missing-file", site.anchor, settle=index.settle)
    return Unknown(role, "missing-file", site.anchor, settle=index.settle) if made is NotImplemented else made


def scheduler(interp: Any, kind: Type, name: str, role: str, site: Any) -> Value:
    """The scheduler's class where one is annotated; its values are its file's."""
    cls = kind.value
    if isinstance(cls, ClassValue) and kind.kind == "class" and plain_init(cls) is not None:
        return configured(interp, cls, {}, f"scheduler_config.json of {name}", site)
    return diffusers_pipelines.scheduler(None, [name], {}, site)


def configured(interp: Any, cls: ClassValue, known: dict[str, Value], wanted: str, site: Any) -> Value:
    """An object of a class whose values a file holds: what is known, the rest open."""
    given = parsed(interp.files.get(wanted))
    init = plain_init(cls)
    assert init is not None
    names = [one.arg for one in [*init.node.args.args, *init.node.args.kwonlyargs]][1:]
    values: dict[str, Value] = {}
    for name in names:
        if name in known:
            values[name] = known[name]
        elif given is None:
            values[name] = Unknown(name, "missing-file", site.anchor, settle=("--file", wanted))
        elif name in given:
            values[name] = hub.plain(given[name])
    return interp.call(cls, [], values, site)


def parsed(data: bytes | None) -> dict[str, Any] | None:
    try:
        found = json.loads(data) if data is not None else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def scheduler_loaded(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``DDPMScheduler.from_pretrained(name, subfolder="scheduler")`` of the source."""
    cls, rest = args[0], args[1:]
    if not isinstance(cls, ClassValue) or plain_init(cls) is None or flag(kwargs.get("return_unused_kwargs"), False):
        return NotImplemented
    wanted = f"scheduler_config.json of {hub.name_of(rest, kwargs, site).rstrip('/')}"
    if interp.files.get(wanted) is None:
        interp.note_unknown(Unknown(wanted, "missing-file", site.anchor, settle=("--file", wanted)))
    return configured(interp, cls, kwargs, wanted, site)


def from_config(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``Class.from_config(other.config, name=value)`` of the source, where what the configuration holds is not all known."""
    cls = args[0]
    config = args[1] if len(args) > 1 else kwargs.get("config")
    if not isinstance(cls, ClassValue) or plain_init(cls) is None or flag(kwargs.get("return_unused_kwargs"), False):
        return NotImplemented
    held = config.attrs.get("__cgx_data__") if isinstance(config, Instance) else config
    if isinstance(held, DictValue) and not held.open and not any(isinstance(one, Unknown) for one in held.items.values()):
        return NotImplemented
    known = {name: one for name, one in held.items.items() if isinstance(name, str)} if isinstance(held, DictValue) else {}
    missing = config if isinstance(config, Unknown) else config.attrs.get("cgx.missing") if isinstance(config, Opaque) else None
    wanted = missing.settle[1] if isinstance(missing, Unknown) and missing.settle else f"config of {site.text}"
    return configured(interp, cls, {**known, **kwargs}, wanted, site)


def host_image(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """An image that a processor makes a tensor of, on the host."""
    return TensorValue(None, "float32", "cpu", pinned=False)


def models_of(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The models that a pipeline has registered, in that order. A part that may not be there is none."""
    owner = args[0]
    held = owner.attrs.items() if isinstance(owner, Instance) else ()
    return DictValue({name: one for name, one in held if isinstance(one, ModuleInstance)})


def models_moved(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``pipe.to("cuda")``: every model that the pipeline has registered, one after the other."""
    device, dtype, _ = to_targets(args[1:], kwargs)
    for role, module in args[0].attrs.items() if isinstance(args[0], Instance) else ():
        if isinstance(module, ModuleInstance):
            move_module(interp, module, device_type(device), dtype_name(dtype), False, site, what=f"weights of {role}")
    return args[0]


def pipeline_device(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Where the pipeline's models lie, the device before the host; asked for where they run: what hooks bring them to."""
    owner, running = args
    held = [(role, one) for role, one in owner.attrs.items() if isinstance(one, ModuleInstance)] if isinstance(owner, Instance) else []
    left_out = owner.cls.lookup("_exclude_from_cpu_offload") if isinstance(owner, Instance) else None
    excluded = left_out.items if isinstance(left_out, ListValue) else []
    hooked = next((one for role, one in held if role not in excluded and HOOK in one.attrs), None)
    if running and hooked is not None and (device := runs_on(hooked)) is not None:
        return device
    lies = [next((tensor.device for tensor in module_tensors(one)), None) for _, one in held]
    found = next((one for one in lies if one not in ("cpu", "meta")), lies[0] if lies else "cpu")
    return Device(found) if found is not None else interp.unknown(site.text, "environment", site)


def auto(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``AutoPipelineForText2Image.from_pretrained``: the class stands in the checkpoint."""
    return diffusers_pipelines.made(interp, f"diffusers.{args[0].name}.from_pretrained", site, args[1:], kwargs)


ENTRIES: dict[str, Any] = {
    f"{HOME}.built_pipeline": built,  # the stand-in's own names
    f"{HOME}.host_image": host_image,
    f"{HOME}.models_of": models_of,
    f"{HOME}.models_moved": models_moved,
    f"{HOME}.pipeline_device": pipeline_device,
    "diffusers.schedulers.scheduling_utils.SchedulerMixin.from_pretrained": scheduler_loaded,
    "diffusers.models.modeling_utils.ModelMixin.from_pretrained": diffusers_models.from_pretrained,
    "diffusers.models.modeling_utils.ModelMixin.to": module_to,  # it only refuses what is quantised, or offloaded in groups
    "diffusers.configuration_utils.ConfigMixin.from_config": from_config,
    "diffusers.models.modeling_utils.LegacyConfigMixin.from_config": from_config,
    f"{BASE}.from_pretrained": built,
    **{f"diffusers.pipelines.auto_pipeline.AutoPipelineFor{task}.from_pretrained": auto for task in ("Text2Image", "Image2Image", "Inpainting")},
}
BASES: dict[str, tuple[str, ...]] = {}
# Where the source is there too, these say it shorter: checks of quantised and mapped weights, which nothing of a job tells, leave them out.
NAMES: tuple[str, ...] = (BASE, f"{HOME}.built_pipeline", f"{HOME}.host_image", f"{HOME}.models_of", f"{HOME}.models_moved", f"{HOME}.pipeline_device",
                          "diffusers.models.modeling_utils.built_from_checkpoint",
                          "diffusers.image_processor.VaeImageProcessor", "diffusers.video_processor.VideoProcessor")
