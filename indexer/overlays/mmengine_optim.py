"""mmengine's optimizer wrappers: what ``optim_context`` enters and what ``update_params`` does (read from mmengine 0.7-0.10)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from cgx.indexer.interpreter.trace import BranchNode, ScopeNode
from cgx.indexer.interpreter.values import DictValue, DType, External, ListValue, Opaque, TensorValue, Value
from cgx.indexer.overlays import mmengine_parts as parts
from cgx.indexer.overlays.arguments import flag, number
from cgx.indexer.overlays.lifecycle import backward, flags

AUTHOR = "overlays.mmengine"
WRAPPER = "mmengine.optim.OptimWrapper"
SCALER = "torch.amp.GradScaler"


def build(interp: Any, model: Value, config: Value, site: Any) -> Value:
    """The wrapper that a configuration (or an object) stands for."""
    if isinstance(config, Opaque) and config.qname == WRAPPER:
        return config
    rows = parts.rows(config)
    if rows is None:
        return interp.unknown("optim_wrapper", "unmodelled", site)
    chosen = parts.rows(rows.get("optimizer"))
    optimizer = rows.get("optimizer")
    if chosen is not None:
        kind = chosen.pop("type", None)
        cls = External(f"torch.optim.{kind}") if isinstance(kind, str) else kind
        optimizer = interp.call(cls, [interp.call(interp.getattr(model, "parameters", site), [], {}, site)], chosen, site)
    return wrapper(interp, optimizer, {**rows, "type": rows.get("type", "OptimWrapper")}, site)


def wrapper(interp: Any, optimizer: Value, rows: dict[Any, Value], site: Any) -> Opaque:
    name = parts.name_of(rows.get("type")) or "OptimWrapper"
    attrs: dict[str, Value] = {"optimizer": optimizer, "cgx.accumulate": rows.get("accumulative_counts", 1), "cgx.clip": rows.get("clip_grad")}
    if name == "AmpOptimWrapper":
        interp.event("compute", site, author=AUTHOR, key="grad_scaler", value="enabled", enabled=True)
        attrs |= {"loss_scaler": Opaque(SCALER, {"enabled": True}, site.anchor), "cgx.dtype": dtype(rows.get("dtype"))}
    return Opaque(WRAPPER, attrs, site.anchor)


def construct(name: str) -> Any:
    def make(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        optimizer = kwargs.get("optimizer", args[0] if args else None)
        return wrapper(interp, optimizer, {**kwargs, "type": name}, site)

    return make


def dtype(value: Value) -> str:
    return value.name if isinstance(value, DType) else value if isinstance(value, str) else "float16"


@contextlib.contextmanager
def context(interp: Any, wrapped: Value, model: Value, site: Any) -> Iterator[None]:
    """``optim_context``: autocast for the wrapper with a scaler; gradients stay local in all but the last micro-step."""
    attrs = wrapped.attrs if isinstance(wrapped, Opaque) else {}
    count = attrs.get("cgx.accumulate", 1)
    if isinstance(count, int) and count > 1 and interp.world.size != 1:
        interp.event("compute", site, author=AUTHOR, key="grad_sync", value="no_sync")
    if "cgx.dtype" in attrs:
        with flags(interp, site, "torch.autocast", autocast=attrs["cgx.dtype"], dtype_value=DType(attrs["cgx.dtype"])):
            yield
    else:
        yield


def update_params(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Scale, backward; with the last micro-step: clip, step, zero_grad."""
    wrapped = args[0]
    loss = kwargs.get("loss", args[1] if len(args) > 1 else None)
    backward(interp, loss if isinstance(loss, TensorValue) else TensorValue((), "float32", "cuda", requires_grad=True), site, AUTHOR)
    count = wrapped.attrs.get("cgx.accumulate", 1)
    if count == 1:
        step(interp, site, [wrapped], {})
        zero_grad(interp, site, [wrapped], {})
        return None
    with interp.inside(BranchNode(site.anchor, f"iter % {count} == 0", period=("iter", count), decided=True)):
        step(interp, site, [wrapped], {})
        zero_grad(interp, site, [wrapped], {})
    return None


def step(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The norm of clipped gradients is shown: ``float(grad)`` waits for it in every step."""
    wrapped = args[0]
    clip = parts.rows(wrapped.attrs.get("cgx.clip"))
    if clip:
        limit = clip.get("max_norm", clip.get("clip_value"))
        how = "norm" if clip.get("type", "norm") == "norm" else "value"
        interp.event("compute", site, author=AUTHOR, key="grad_clip", value=number(limit), how=how)
        if how == "norm":
            interp.event("sync", site, author=AUTHOR, sync="conversion", what="float(grad_norm)", reads=True, bytes=4)
    scaler, optimizer = wrapped.attrs.get("loss_scaler"), wrapped.attrs.get("optimizer")
    if scaler is not None:
        interp.call(interp.getattr(scaler, "step", site), [optimizer], {}, site)
    elif optimizer is not None:
        interp.call(interp.getattr(optimizer, "step", site), [], {}, site)
    return None


def zero_grad(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    optimizer = args[0].attrs.get("optimizer")
    return interp.call(interp.getattr(optimizer, "zero_grad", site), [], {}, site) if optimizer is not None else None


def backward_call(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    backward(interp, args[1] if len(args) > 1 else kwargs.get("loss"), site, AUTHOR)
    return None


def context_call(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Opaque(f"{WRAPPER}.optim_context", {"wrapper": args[0]}, site.anchor)


def enter(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    dtype_name = args[0].attrs["wrapper"].attrs.get("cgx.dtype")
    node = ScopeNode(site.anchor, site.text, qname="torch.autocast" if dtype_name else "optim_context", data={"dtype": DType(dtype_name)} if dtype_name else {})
    interp.push(node)
    args[0].attrs["cgx.before"] = interp.flags.get("autocast")
    if dtype_name:
        interp.trail.set_item(interp.flags, "autocast", dtype_name)
    return None


def leave(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    interp.trail.set_item(interp.flags, "autocast", args[0].attrs.get("cgx.before"))
    interp.pop()
    return None


def get_lr(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return DictValue({"lr": ListValue([interp.unknown("lr", "loop-carried", site, "float")])})


def enabled(value: Value) -> bool:
    return bool(flag(value, True))
