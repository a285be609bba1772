"""diffusers where its source is not given: models whose weights a checkpoint holds, and classes of the source built on its mixins.

``from_pretrained`` makes a model on the host from the folder's ``config.json``. A class of the source is built with what that
file says (``--file``), else with values that are not known; a class of the library is one module that owns weights.
"""

from __future__ import annotations

import json
import re
from typing import Any

from cgx.indexer.interpreter.stdlib.support import nothing
from cgx.indexer.interpreter.values import (
    BoundMethod,
    ClassValue,
    FunctionValue,
    ListValue,
    ModuleInstance,
    Opaque,
    TensorValue,
    Unknown,
    Value,
)
from cgx.indexer.overlays import hub
from cgx.indexer.overlays.arguments import device_type, dtype_name
from cgx.indexer.overlays.sourceless import blank, called, device_of
from cgx.indexer.overlays.transfer import ACCELERATORS, copy, move_module

AUTHOR = "overlays.diffusers_models"
MODEL, OUTPUT, LATENTS = "diffusers.OutsideModel", "diffusers.BaseOutput", "diffusers.DiagonalGaussianDistribution"
NAMED = re.compile(r"diffusers\.(?:[\w.]+\.)?((?:Autoencoder|VQ|Consistency)\w+|[A-Z]\w*(?:Model|Transformer\w*D|UNet\w*))(?:\.(from_pretrained|from_config|from_single_file))?")


def family(interp: Any, qname: str, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``AutoencoderKL.from_pretrained(name)``: any model class of the package."""
    found = NAMED.fullmatch(qname)
    if found is None:
        return NotImplemented
    return outside(interp, found.group(1), site, args, kwargs)


def outside(interp: Any, name: str, site: Any, args: list[Value], kwargs: dict[str, Value]) -> ModuleInstance:
    """A model of the library: one module that owns weights of unknown size, in evaluation mode."""
    module = blank(interp, f"diffusers.{name}", site, MODEL)
    module.training = False
    for tensor in module.parameters.values():
        tensor.dtype = dtype_name(kwargs.get("torch_dtype")) or tensor.dtype
    module.attrs["config"] = Opaque(hub.CONFIG, {"cgx.missing": missing(args, kwargs, site)}, site.anchor)
    return module


def missing(args: list[Value], kwargs: dict[str, Value], site: Any) -> Unknown:
    wanted = f"config.json of {hub.name_of(args, kwargs, site).rstrip('/')}"
    return Unknown(wanted, "missing-file", site.anchor, settle=("--file", wanted))


def from_pretrained(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A class of the source: built with the values of the folder's file, with unknown ones where it is not there."""
    cls = args[0]
    if not isinstance(cls, ClassValue):
        return NotImplemented
    init = cls.lookup("__init__")
    while isinstance(init, BoundMethod):
        init = init.func
    if isinstance(init, FunctionValue) and isinstance(init.attrs.get("__wrapped__"), FunctionValue):
        init = init.attrs["__wrapped__"]
    if not isinstance(init, FunctionValue):
        return NotImplemented
    table = config_file(interp, args[1:], kwargs, site)
    absent = missing(args[1:], kwargs, site)
    spec = init.node.args
    names = [one.arg for one in [*spec.posonlyargs, *spec.args, *spec.kwonlyargs]][1:]
    if table is None:
        interp.note_unknown(absent)
        values = {name: Unknown(name, "missing-file", site.anchor, settle=absent.settle) for name in names}
    else:
        values = {name: hub.plain(table[name]) for name in names if name in table}
    module = interp.call(cls, [], values, site)
    if isinstance(module, ModuleInstance):
        move_module(interp, module, None, dtype_name(kwargs.get("torch_dtype")), False, site)
        interp.call(interp.getattr(module, "eval", site), [], {}, site)
    return module


def config_file(interp: Any, rest: list[Value], kwargs: dict[str, Value], site: Any) -> dict[str, Any] | None:
    """``config.json`` as given by ``--file``, or in the source."""
    name = hub.name_of(rest, kwargs, site).rstrip("/")
    data = interp.files.get(f"config.json of {name}") or interp.files.get("config.json")
    if data is None and not name.startswith(("/", "~")):
        data = interp.tree.read(f"{name.removeprefix('./')}/config.json")
    try:
        found = json.loads(data) if data is not None else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def run(method: str, result: Any) -> Any:
    """A call of an outside model: one node, and an output on the device of its weights."""

    def call(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        module = args[0]
        if not isinstance(module, ModuleInstance):
            return NotImplemented
        called(interp, site, module, method=method)
        output = result(site, device_of(module))
        if kwargs.get("return_dict") is False:
            return tuple(output.attrs.values())
        return output

    return call


def sample_of(site: Any, device: str | None) -> Opaque:
    return Opaque(OUTPUT, {"sample": TensorValue(None, None, device)}, site.anchor)


def latents_of(site: Any, device: str | None) -> Opaque:
    return Opaque(OUTPUT, {"latent_dist": Opaque(LATENTS, {"device": device}, site.anchor)}, site.anchor)


def recompute(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``model.enable_gradient_checkpointing()``: the blocks' forwards run again in the backward."""
    interp.event("compute", site, author=AUTHOR, key="activation_checkpointing", value="each block", target=args[0])
    return None


def drawn(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return TensorValue(None, None, args[0].attrs.get("device"))


def item(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``output[0]``, ``output["sample"]``."""
    held = list(args[0].attrs.values())
    if isinstance(args[1], str) and args[1] in args[0].attrs:
        return args[0].attrs[args[1]]
    return held[args[1]] if isinstance(args[1], int) and args[1] < len(held) else interp.unknown(site.text, "missing-module", site)


def random(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``randn_tensor(shape, generator, device, dtype)``: a generator of the host draws there, and what it has drawn is moved."""
    names = ("shape", "generator", "device", "dtype", "layout")
    bound = dict(zip(names, args)) | kwargs
    given = {name: bound[name] for name in ("device", "dtype") if name in bound}
    if host_generator(bound.get("generator")) and device_type(bound.get("device")) in ACCELERATORS:
        drawn_there = interp.op("torch.randn", [bound.get("shape")], {**given, "device": "cpu"}, site)
        copy(interp, drawn_there, bound["device"], False, site, what=site.text)
    return interp.op("torch.randn", [bound.get("shape")], given, site)


def host_generator(given: Value) -> bool:
    """A generator of the host, or a list of such."""
    first = given.items[0] if isinstance(given, ListValue) and given.items else given
    return isinstance(first, Opaque) and first.qname == "torch.Generator" and device_type(first.attrs.get("device")) == "cpu"


FAMILIES: tuple[tuple[str, Any], ...] = (("diffusers", family),)
ENTRIES: dict[str, Any] = {
    "diffusers.models.modeling_utils.built_from_checkpoint": from_pretrained,  # the stand-in's own name
    f"{MODEL}.forward": run("forward", sample_of),
    f"{MODEL}.__call__": run("forward", sample_of),
    f"{MODEL}.decode": run("decode", sample_of),
    f"{MODEL}.encode": run("encode", latents_of),
    **{f"{MODEL}.{name}": nothing for name in (
        "enable_tiling", "disable_tiling", "enable_slicing", "disable_slicing", "set_attention_backend",
        "enable_xformers_memory_efficient_attention", "fuse_qkv_projections", "set_attn_processor", "save_pretrained",
    )},
    f"{MODEL}.enable_gradient_checkpointing": recompute,
    f"{LATENTS}.sample": drawn,
    f"{LATENTS}.mode": drawn,
    f"{OUTPUT}.__getitem__": item,
    "diffusers.utils.torch_utils.randn_tensor": random,
    "diffusers.utils.randn_tensor": random,
}  # fmt: skip
BASES: dict[str, tuple[str, ...]] = {MODEL: ("torch.nn.Module",), OUTPUT: (), LATENTS: ()}
