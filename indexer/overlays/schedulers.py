"""torch.optim.lr_scheduler: constructors and step. Host arithmetic only; they write ``lr`` into the groups."""

from __future__ import annotations

import ast
import re
from typing import Any

from cgx.indexer.interpreter.stdlib.support import nothing
from cgx.indexer.interpreter.values import DictValue, Instance, ListValue, Opaque, Value
from cgx.indexer.overlays.arguments import bind, plain

AUTHOR = "overlays.schedulers"
SCHEDULER = "torch.optim.lr_scheduler.LRScheduler"
STEPS = ("step", "step_update")  # the second one is timm's, for each update
NAMED = re.compile(r"sched", re.IGNORECASE)
NAMES: dict[str, str] = {
    "LambdaLR": "optimizer lr_lambda last_epoch",
    "MultiplicativeLR": "optimizer lr_lambda last_epoch",
    "StepLR": "optimizer step_size gamma last_epoch",
    "MultiStepLR": "optimizer milestones gamma last_epoch",
    "ConstantLR": "optimizer factor total_iters last_epoch",
    "LinearLR": "optimizer start_factor end_factor total_iters last_epoch",
    "ExponentialLR": "optimizer gamma last_epoch",
    "PolynomialLR": "optimizer total_iters power last_epoch",
    "CosineAnnealingLR": "optimizer T_max eta_min last_epoch",
    "CosineAnnealingWarmRestarts": "optimizer T_0 T_mult eta_min last_epoch",
    "ReduceLROnPlateau": "optimizer mode factor patience threshold threshold_mode cooldown min_lr eps",
    "CyclicLR": "optimizer base_lr max_lr step_size_up step_size_down mode gamma",
    "OneCycleLR": "optimizer max_lr total_steps epochs steps_per_epoch pct_start anneal_strategy",
    "SequentialLR": "optimizer schedulers milestones last_epoch",
    "ChainedScheduler": "schedulers optimizer",
    "SWALR": "optimizer swa_lr anneal_epochs anneal_strategy last_epoch",
}


def constructor(qname: str, signature: str) -> Any:
    def construct(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        bound = bind(signature, args, kwargs)
        shown = ", ".join(f"{key}={plain(value)}" for key, value in bound.items() if plain(value) is not None)
        interp.event("compute", site, author=AUTHOR, key="lr_schedule", value=f"{qname.rpartition('.')[2]}({shown})")
        note_first_rates(interp, bound.get("optimizer"))
        return Opaque(qname, {"optimizer": bound.get("optimizer")}, site.anchor)

    return construct


def note_first_rates(interp: Any, optimizer: Value) -> None:
    """Every scheduler keeps the rate that it found in a group beside it."""
    groups = optimizer.attrs.get("param_groups") if isinstance(optimizer, Opaque | Instance) else None
    for group in groups.items if isinstance(groups, ListValue) else ():
        if isinstance(group, DictValue) and "initial_lr" not in group.items and "lr" in group.items:
            interp.trail.set_item(group.items, "initial_lr", group.items["lr"])


def step(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    interp.event("compute", site, author=AUTHOR, key="lr_schedule", value="step", at="step")
    return None


def step_by_name(interp: Any, site: Any, qname: str) -> None:
    """``lr_scheduler.step_update(n)`` of an object that nobody knows, in code that learns."""
    func = site.node.func
    if not isinstance(func, ast.Attribute) or func.attr not in STEPS or interp.forward_depth or not interp.flags.get("grad", True):
        return
    if NAMED.search(ast.unparse(func.value)) or NAMED.search(qname):
        step(interp, site, [], {})


def last_lr(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A list of host floats that change at every step."""
    return ListValue([interp.unknown(site.text, "loop-carried", site, hint="float")])


def state_dict(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Opaque(f"{SCHEDULER}.state_dict", {}, site.anchor)


def named(name: str) -> Any:
    """Schedules of transformers and diffusers: a ``LambdaLR`` on the optimizer."""
    signature = "name optimizer num_warmup_steps num_training_steps" if name == "get_scheduler" else "optimizer num_warmup_steps num_training_steps"
    qname = "torch.optim.lr_scheduler.LambdaLR"

    def construct(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        bound = bind(signature, args, kwargs)
        kind = plain(bound.pop("name", None)) or name.removeprefix("get_").partition("_schedule")[0]
        shown = ", ".join(f"{key}={plain(value)}" for key, value in bound.items() if plain(value) is not None)
        interp.event("compute", site, author=AUTHOR, key="lr_schedule", value=f"{kind}({shown})")
        note_first_rates(interp, bound.get("optimizer"))
        return Opaque(qname, {"optimizer": bound.get("optimizer")}, site.anchor)

    return construct


WITH_WARMUP = (
    "get_scheduler", "get_constant_schedule", "get_constant_schedule_with_warmup", "get_linear_schedule_with_warmup", "get_cosine_schedule_with_warmup",
    "get_cosine_with_hard_restarts_schedule_with_warmup", "get_polynomial_decay_schedule_with_warmup", "get_inverse_sqrt_schedule", "get_wsd_schedule",
)  # fmt: skip
ENTRIES: dict[str, Any] = {f"{place}.{name}": named(name) for name in WITH_WARMUP
                           for place in ("transformers", "transformers.optimization", "diffusers.optimization")}  # fmt: skip
BASES: dict[str, tuple[str, ...]] = {}
for _name, _signature in NAMES.items():
    for _prefix in ("torch.optim.lr_scheduler", "torch.optim.swa_utils"):
        ENTRIES[f"{_prefix}.{_name}"] = constructor(f"torch.optim.lr_scheduler.{_name}", _signature)
    BASES[f"torch.optim.lr_scheduler.{_name}"] = (SCHEDULER,)
BASES["torch.optim.lr_scheduler._LRScheduler"] = (SCHEDULER,)
ENTRIES |= {
    f"{SCHEDULER}.step": step,
    f"{SCHEDULER}.get_last_lr": last_lr,
    f"{SCHEDULER}.state_dict": state_dict,
    f"{SCHEDULER}.load_state_dict": nothing,
}
