"""Backward, gradients, activation checkpointing, gradient clipping."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.stdlib.support import nothing
from cgx.indexer.interpreter.trace import ScopeNode
from cgx.indexer.interpreter.values import (
    Alternatives,
    ListValue,
    ModuleInstance,
    Sequence,
    TensorValue,
    Value,
)
from cgx.indexer.overlays.arguments import bind, flag, plain, receiver_text

AUTHOR = "overlays.autograd"


def backward(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``loss.backward()``."""
    interp.event(
        "compute",
        site,
        author=AUTHOR,
        key="backward",
        value=f"{receiver_text(site)}.backward()",
        loss=args[0] if args else None,
    )
    fill_gradients(interp)
    return None


def fill_gradients(interp: Any) -> None:
    """What a job set to None is there again behind a backward."""
    for module in interp.trace.modules:
        for parameter in module.parameters.values():
            if isinstance(parameter, TensorValue) and "grad" in parameter.attrs:
                held = parameter.attrs["grad"]
                if held is None or (isinstance(held, Alternatives) and any(option is None for _, option in held.options)):
                    interp.trail.del_item(parameter.attrs, "grad")


def autograd_backward(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``torch.autograd.backward(tensors)``, also the engine under it that some jobs call themselves."""
    loss = args[0] if args else kwargs.get("tensors")
    interp.event("compute", site, author=AUTHOR, key="backward", value=site.text, loss=loss[0] if isinstance(loss, tuple) and loss else loss)
    fill_gradients(interp)
    return None


def grad(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``torch.autograd.grad``: one gradient for each input, of its shape."""
    bound = bind("outputs inputs", args, kwargs)
    interp.event("compute", site, author=AUTHOR, key="backward", value="torch.autograd.grad")
    inputs = bound.get("inputs")
    items = inputs.items if isinstance(inputs, ListValue) else inputs if isinstance(inputs, tuple) else [inputs]
    return tuple(
        TensorValue(one.shape, one.dtype, one.device)
        if isinstance(one, TensorValue)
        else interp.unknown(site.text, "unmodelled", site)
        for one in items
    )


def checkpoint(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``checkpoint(function, *args)``: the function runs, and again in the backward."""
    if not args and "function" not in kwargs:
        return NotImplemented
    function = args[0] if args else kwargs["function"]
    rest = args[1:] if args else []
    own = {"function", "use_reentrant", "preserve_rng_state", "determinism_check", "debug", "context_fn", "early_stop"}
    passed = {name: value for name, value in kwargs.items() if name not in own}
    interp.event("compute", site, author=AUTHOR, key="activation_checkpointing", value="checkpoint",
                 use_reentrant=plain(kwargs.get("use_reentrant")), selective="context_fn" in kwargs, target=function)  # fmt: skip
    node = ScopeNode(
        anchor=site.anchor, text=site.text, qname="torch.utils.checkpoint.checkpoint", data={"recompute": True}
    )
    with interp.inside(node):
        return interp.call(function, list(rest), passed, site)


def checkpoint_sequential(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    bound = bind("functions segments input", args, kwargs)
    interp.event(
        "compute",
        site,
        author=AUTHOR,
        key="activation_checkpointing",
        value="checkpoint_sequential",
        target=bound.get("functions"),
    )
    functions = bound.get("functions")
    steps = interp.iterate(functions, site)
    value = bound.get("input")
    node = ScopeNode(
        anchor=site.anchor, text=site.text, qname="torch.utils.checkpoint.checkpoint", data={"recompute": True}
    )
    with interp.inside(node):
        for one in steps if isinstance(steps, list) else []:
            value = interp.call(one, [value], {}, site)
    return value


def checkpoint_wrapper(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``checkpoint_wrapper(module)``: the module keeps its place, its forward runs again in the backward."""
    module = args[0] if args else kwargs.get("module")
    interp.event("compute", site, author=AUTHOR, key="activation_checkpointing", value="checkpoint_wrapper",
                 selective="context_fn" in kwargs, target=module)  # fmt: skip
    if isinstance(module, ModuleInstance):
        interp.trail.append(module.wrappers, ("checkpoint_wrapper", site.anchor))
    return module


def apply_checkpointing(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``apply_activation_checkpointing(model, checkpoint_wrapper_fn, check_fn)``."""
    bound = bind("model checkpoint_wrapper_fn check_fn", args, kwargs)
    model, check = bound.get("model"), bound.get("check_fn")
    from cgx.indexer.overlays.transfer import all_modules

    if isinstance(model, ModuleInstance):
        for one in list(all_modules(model)):
            if check is None or flag(interp.call(check, [one], {}, site)):
                interp.trail.append(one.wrappers, ("checkpoint_wrapper", site.anchor))
    interp.event(
        "compute",
        site,
        author=AUTHOR,
        key="activation_checkpointing",
        value="apply_activation_checkpointing",
        target=model,
    )
    return None


def clip_grad_norm(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The norm stays on the device unless ``error_if_nonfinite`` asks to look at it."""
    bound = bind("parameters max_norm norm_type error_if_nonfinite foreach", args, kwargs)
    interp.event("compute", site, author=AUTHOR, key="grad_clip", value=plain(bound.get("max_norm")), how="norm")
    if flag(bound.get("error_if_nonfinite"), False):
        interp.event(
            "sync", site, author=AUTHOR, sync="branch", what="total_norm.isnan() or total_norm.isinf()", internal=True
        )
    norm = norm_value(interp, bound.get("parameters"), site)
    if norm.attrs.get("cgx.placement") == "partial" and interp.world.size != 1:  # the coefficient needs the whole norm
        interp.event("collective", site, author=AUTHOR, collective="all_reduce", parallelism=norm.attrs["cgx.parallelism"], blocking=True,
                     issued_by="DTensor", what="gradient norm")  # fmt: skip
    return norm


def norm_value(interp: Any, tensors: Value, site: Any) -> TensorValue:
    """A gradient norm: of sharded gradients each rank has its part, until it is summed."""
    attrs = {"cgx.placement": "partial", "cgx.parallelism": "data"} if interp.flags.get("sharded") else {}
    device = parameters_device(interp, tensors, site) or ("cuda" if attrs else None)
    return TensorValue((), "float32", device, attrs=dict(attrs))


def clip_grad_value(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    bound = bind("parameters clip_value foreach", args, kwargs)
    interp.event("compute", site, author=AUTHOR, key="grad_clip", value=plain(bound.get("clip_value")), how="value")
    return None


def clip_grads_with_norm(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    bound = bind("parameters max_norm total_norm foreach", args, kwargs)
    interp.event("compute", site, author=AUTHOR, key="grad_clip", value=plain(bound.get("max_norm")), how="norm")
    return None


def total_norm(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    bound = bind("tensors norm_type error_if_nonfinite foreach", args, kwargs)
    if flag(bound.get("error_if_nonfinite"), False):
        interp.event(
            "sync", site, author=AUTHOR, sync="branch", what="total_norm.isnan() or total_norm.isinf()", internal=True
        )
    return norm_value(interp, bound.get("tensors"), site)


def parameters_device(interp: Any, parameters: Value, site: Any) -> str | None:
    """Where the gradients lie: the device of the first known parameter."""
    if isinstance(parameters, TensorValue):
        return parameters.device
    listed = interp.iterate(parameters, site) if parameters is not None else None
    items = listed if isinstance(listed, list) else [listed.element] if isinstance(listed, Sequence) else []
    for item in items:
        if isinstance(item, TensorValue) and item.device is not None:
            return item.device
    return None


def requires_grad(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``p.requires_grad_(flag)``: kept on the tensor; the op itself is the table's."""
    flag = kwargs.get("requires_grad", args[1] if len(args) > 1 else True)
    if args and isinstance(args[0], TensorValue) and isinstance(flag, bool):
        interp.trail.set(args[0], "requires_grad", flag)
    return NotImplemented


CONTEXT = "torch.autograd.function.FunctionCtx"
ENGINES = tuple(f"torch.autograd.{owner}._execution_engine.run_backward" for owner in ("Variable", "variable.Variable"))
ENTRIES: dict[str, Any] = {
    "torch.Tensor.backward": backward,
    "torch.Tensor.requires_grad_": requires_grad,
    "torch.autograd.backward": autograd_backward,
    **dict.fromkeys(ENGINES, autograd_backward),
    "torch.autograd.grad": grad,
    "torch.utils.checkpoint.checkpoint": checkpoint,
    "torch.utils.checkpoint.checkpoint_sequential": checkpoint_sequential,
    "torch.distributed.algorithms._checkpoint.checkpoint_wrapper.checkpoint_wrapper": checkpoint_wrapper,
    "torch.distributed.algorithms._checkpoint.checkpoint_wrapper.apply_activation_checkpointing": apply_checkpointing,
    "torch.nn.utils.clip_grad_norm_": clip_grad_norm,
    "torch.nn.utils.clip_grad.clip_grad_norm_": clip_grad_norm,
    "torch.nn.utils.clip_grad_norm": clip_grad_norm,
    "torch.nn.utils.clip_grad_value_": clip_grad_value,
    "torch.nn.utils.clip_grad.clip_grad_value_": clip_grad_value,
    "torch.nn.utils.clip_grads_with_norm_": clip_grads_with_norm,
    "torch.nn.utils.clip_grad.clip_grads_with_norm_": clip_grads_with_norm,
    "torch.nn.utils.get_total_norm": total_norm,
    "torch.nn.utils.clip_grad.get_total_norm": total_norm,
    f"{CONTEXT}.mark_dirty": nothing,
    f"{CONTEXT}.mark_non_differentiable": nothing,
    f"{CONTEXT}.set_materialize_grads": nothing,
}
BASES: dict[str, tuple[str, ...]] = {}
