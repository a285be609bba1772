"""Moving averages of weights: torch's ``AveragedModel``, and functions and classes of a job that are named for one."""

from __future__ import annotations

import re
from typing import Any

from cgx.indexer.interpreter.values import FunctionValue, ModuleInstance, Opaque, TensorValue, Unknown, Value
from cgx.indexer.overlays.arguments import receiver_text
from cgx.indexer.overlays.transfer import ACCELERATORS

AUTHOR = "overlays.moving_average"
AVERAGED = "torch.optim.swa_utils.AveragedModel"
FUNCTION = re.compile(r"^_?(update|step|accumulate)_(\w+_)?(ema|moving_average)|^_?ema_(update|step)|^_?(ema|moving_average)_(\w+_)?(update|step)$", re.IGNORECASE)
CLASS = re.compile(r"ema$|^ema|movingaverage", re.IGNORECASE)
TIMM = {"ModelEma": "ema", "ModelEmaV2": "module", "ModelEmaV3": "module"}  # the member that holds the averaged copy
METHODS = frozenset({"update", "step", "update_parameters", "accumulate", "update_model_average", "__call__"})


def updates(func: FunctionValue) -> bool:
    """Whether the function moves an average, by its name and its class's."""
    owner, _, name = func.qname.rpartition(".")
    if FUNCTION.search(name):
        return True
    return func.owner is not None and name in METHODS and bool(CLASS.search(owner.rpartition(".")[2]))


def note(interp: Any, func: FunctionValue, site: Any, args: list[Value]) -> None:
    """An event where the job's loop calls such a function. One that is given numbers alone smooths a figure, no weights."""
    if interp.loops and not interp.in_model and updates(func) and not (args[1:] and all(is_figure(one) for one in args[1:])):
        interp.event("compute", site, author=AUTHOR, basis="likely", key="ema", value=func.name)


def is_figure(value: Value) -> bool:
    """A number, or a tensor of one number."""
    return isinstance(value, int | float | str) or (isinstance(value, TensorValue) and value.shape == ()) or (isinstance(value, Unknown) and value.hint in ("int", "float"))


def update_parameters(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    interp.event("compute", site, author=AUTHOR, key="ema", value=AVERAGED)
    return None


def copied(qname: str, member: str) -> Any:
    """timm's averages hold a copy of the model in evaluation mode, as a member."""

    def make(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        model = args[0] if args else kwargs.get("model")
        if not isinstance(model, ModuleInstance):
            return NotImplemented
        copy = interp.call_external("copy.deepcopy", [model], {}, site)
        interp.call(interp.getattr(copy, "eval", site), [], {}, site)
        if kwargs.get("device") is not None:
            interp.call(interp.getattr(copy, "to", site), [], {"device": kwargs["device"]}, site)
        return Opaque(qname, {member: copy}, site.anchor)

    return make


def average(qname: str) -> Any:
    def update(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        interp.event("compute", site, author=AUTHOR, key="ema", value=qname)
        return None

    return update


def with_copy(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``ema_pytorch.EMA(model, ...)``: a module that holds the model and a copy of it."""
    model, copy = args[0] if args else kwargs.get("model"), kwargs.get("ema_model", args[1] if len(args) > 1 else None)
    if not isinstance(model, ModuleInstance):
        return NotImplemented
    if not isinstance(copy, ModuleInstance):
        copy = interp.call_external("copy.deepcopy", [model], {}, site)
    return Opaque(WITH_COPY, {"ema_model": copy, "online_model": model, "model": model}, site.anchor)


def passed(name: str, answers: bool = False) -> Any:
    """A method of the average that its copy carries out; ``answers``: what the copy gives is the result, not the average."""

    def call(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        result = interp.call(interp.getattr(args[0].attrs["ema_model"], name, site), list(args[1:]), kwargs, site)
        return result if answers else args[0]

    return call


def update_copy(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``EMA.update``: its count and whether it has begun are buffers, and are read where they lie."""
    interp.event("compute", site, author=AUTHOR, key="ema", value=WITH_COPY)
    if getattr(args[0].attrs["ema_model"], "device", None) in ACCELERATORS:
        for what, size in (("step.item()", 8), ("initted.item()", 1)):
            interp.event("sync", site, author=AUTHOR, sync="item", what=f"{what} of {receiver_text(site)}", reads=True, bytes=size, phase="optimizer")
    return None


WITH_COPY = "ema_pytorch.EMA"
OF_TIMM = {f"timm.utils.{home}{name}": member for home in ("", "model_ema.") for name, member in TIMM.items()}
ENTRIES: dict[str, Any] = {
    f"{AVERAGED}.update_parameters": update_parameters,
    **{qname: copied(qname, member) for qname, member in OF_TIMM.items()},
    WITH_COPY: with_copy,
    f"{WITH_COPY}.update": update_copy,
    **{f"{WITH_COPY}.{name}": passed(name) for name in ("to", "cuda", "cpu", "train")},
    **{f"{WITH_COPY}.{name}": passed(name, True) for name in ("eval", "state_dict", "load_state_dict", "parameters", "__call__")},
    **{f"{qname}.{name}": average(qname) for qname in OF_TIMM for name in ("update", "__call__")},
}
BASES: dict[str, tuple[str, ...]] = {}
