"""Moving averages of weights: torch's ``AveragedModel``, and functions and classes of a job that are named for one."""

from __future__ import annotations

import re
from typing import Any

from cgx.indexer.interpreter.values import FunctionValue, ModuleInstance, Opaque, Value

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


def note(interp: Any, func: FunctionValue, site: Any) -> None:
    """An event where the job's loop calls such a function."""
    if interp.loops and not interp.in_model and updates(func):
        interp.event("compute", site, author=AUTHOR, basis="likely", key="ema", value=func.name)


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


OF_TIMM = {f"timm.utils.{home}{name}": member for home in ("", "model_ema.") for name, member in TIMM.items()}
ENTRIES: dict[str, Any] = {
    f"{AVERAGED}.update_parameters": update_parameters,
    **{qname: copied(qname, member) for qname, member in OF_TIMM.items()},
    **{f"{qname}.{name}": average(qname) for qname in OF_TIMM for name in ("update", "__call__")},
}
BASES: dict[str, tuple[str, ...]] = {}
