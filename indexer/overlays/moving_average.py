"""Moving averages of weights: torch's ``AveragedModel``, and functions and classes of a job that are named for one."""

from __future__ import annotations

import re
from typing import Any

from cgx.indexer.interpreter.values import FunctionValue, Value

AUTHOR = "overlays.moving_average"
AVERAGED = "torch.optim.swa_utils.AveragedModel"
FUNCTION = re.compile(r"^_?(update|step|accumulate)_(\w+_)?(ema|moving_average)|^_?ema_(update|step)|^_?(ema|moving_average)_(\w+_)?(update|step)$", re.IGNORECASE)
CLASS = re.compile(r"ema$|^ema|movingaverage", re.IGNORECASE)
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


ENTRIES: dict[str, Any] = {f"{AVERAGED}.update_parameters": update_parameters}
BASES: dict[str, tuple[str, ...]] = {}
