"""Mixed precision: GradScaler (autocast is a scope, see :mod:`scopes`) and precision switches."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.values import DictValue, Opaque, Value
from cgx.indexer.overlays.arguments import bind, flag

SCALER = "torch.amp.GradScaler"
AUTHOR = "overlays.amp"


def grad_scaler(signature: str) -> Any:
    """Constructor of a scaler; the parameters stand in another order in ``torch.cuda.amp``."""

    def construct(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        bound = bind(signature, args, kwargs)
        enabled = flag(bound.get("enabled"), True)
        if enabled is None:
            interp.note_unknown(bound["enabled"])
        else:
            interp.event("compute", site, author=AUTHOR, key="grad_scaler", value="enabled" if enabled else "disabled", enabled=enabled)
        return Opaque(SCALER, {"enabled": bound.get("enabled", True)}, site.anchor)

    return construct


def scale(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The scaled loss: the identity for a disabled scaler, else a multiplication."""
    outputs = kwargs.get("outputs", args[1] if len(args) > 1 else None)
    if flag(args[0].attrs.get("enabled"), True) is False:
        return outputs
    return interp.op("operator.mul", [outputs, 1.0], {}, site)


def unscale(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return None


def step(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The optimizer's step. An enabled scaler first reads ``found_inf`` on the host, unless the optimizer takes it fused."""
    scaler, optimizer = args[0], kwargs.get("optimizer", args[1] if len(args) > 1 else None)
    enabled = flag(scaler.attrs.get("enabled"), True)
    fused = isinstance(optimizer, Opaque) and optimizer.attrs.get("fused") is True
    if enabled and not fused:
        interp.event("sync", site, author=AUTHOR, sync="item", what="found_inf", internal=True)
    stepper = interp.getattr(optimizer, "step", site)
    return interp.call(stepper, list(args[2:]), {}, site)


def update(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return None


def get_scale(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A host float that reads the device scalar; a plain 1.0 where disabled."""
    enabled = flag(args[0].attrs.get("enabled"), True)
    if enabled is False:
        return 1.0
    if enabled:
        interp.event("sync", site, author=AUTHOR, sync="item", what=site.text)
    return interp.unknown(site.text, "data", site, hint="float")


def is_enabled(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    enabled = flag(args[0].attrs.get("enabled"), True)
    return enabled if enabled is not None else args[0].attrs["enabled"]


def state_dict(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Empty where disabled; else the scale is read from the device for it."""
    enabled = flag(args[0].attrs.get("enabled"), True)
    if enabled is False:
        return DictValue({})
    return DictValue({"scale": get_scale(interp, site, args, kwargs)}, open=True)


def matmul_precision(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``torch.set_float32_matmul_precision``: TF32 is allowed for "high" and "medium"."""
    level = args[0] if args else kwargs.get("precision")
    interp.event(
        "compute",
        site,
        author=AUTHOR,
        key="precision",
        value=f"float32 matmul precision {level}",
        tf32=level != "highest",
    )
    return None


ENTRIES: dict[str, Any] = {
    "torch.amp.GradScaler": grad_scaler("device init_scale growth_factor backoff_factor growth_interval enabled"),
    "torch.amp.grad_scaler.GradScaler": grad_scaler(
        "device init_scale growth_factor backoff_factor growth_interval enabled"
    ),
    "torch.GradScaler": grad_scaler("device init_scale growth_factor backoff_factor growth_interval enabled"),
    "torch.cuda.amp.GradScaler": grad_scaler("init_scale growth_factor backoff_factor growth_interval enabled"),
    "torch.cuda.amp.grad_scaler.GradScaler": grad_scaler(
        "init_scale growth_factor backoff_factor growth_interval enabled"
    ),
    "torch.distributed.fsdp.sharded_grad_scaler.ShardedGradScaler": grad_scaler(
        "device init_scale backoff_factor growth_factor growth_interval enabled"
    ),
    f"{SCALER}.scale": scale,
    f"{SCALER}.unscale_": unscale,
    f"{SCALER}.step": step,
    f"{SCALER}.update": update,
    f"{SCALER}.get_scale": get_scale,
    f"{SCALER}.is_enabled": is_enabled,
    f"{SCALER}.state_dict": state_dict,
    f"{SCALER}.load_state_dict": update,
    "torch.set_float32_matmul_precision": matmul_precision,
}

BASES: dict[str, tuple[str, ...]] = {}
