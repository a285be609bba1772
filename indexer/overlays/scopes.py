"""Regions opened by ``with``: autocast, no_grad, streams, ... One row a class; the protocol handlers come from the rows.

A row says which interpreter flags hold inside. The handlers ``QNAME.__enter__`` and ``QNAME.__exit__`` push and pop a
:class:`ScopeNode`; used as a decorator, the scope hangs on the function (``attrs["cgx.scopes"]``) and opens at each call.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cgx.indexer.interpreter.trace import ScopeNode
from cgx.indexer.interpreter.values import FunctionValue, Opaque, Value
from cgx.indexer.overlays.arguments import bind, dtype_name, flag

Flags = Callable[[Opaque], dict[str, Value]]


@dataclass(frozen=True)
class ScopeRow:
    """``qname``: class; ``signature``: its positional parameters; ``flags``: interpreter flags set inside."""

    qname: str
    signature: str = ""
    flags: Flags = lambda _scope: {}
    data: tuple[str, ...] = ()  # attributes copied onto the node


AUTOCAST_DEFAULT = {"cuda": "float16", "cpu": "bfloat16"}


def autocast_flags(scope: Opaque) -> dict[str, Value]:
    enabled = flag(scope.attrs.get("enabled"), True)
    if enabled is False:
        return {"autocast": None}
    device = scope.attrs.get("device_type") or "cuda"
    return {"autocast": dtype_name(scope.attrs.get("dtype")) or AUTOCAST_DEFAULT.get(str(device))}


def grad_flag(value: bool) -> Flags:
    return lambda _scope: {"grad": value}


def set_grad_flags(scope: Opaque) -> dict[str, Value]:
    value = flag(scope.attrs.get("mode"), True)
    return {} if value is None else {"grad": value}


def stream_flags(scope: Opaque) -> dict[str, Value]:
    return {"stream": scope.attrs.get("stream")}


ROWS: tuple[ScopeRow, ...] = (
    ScopeRow("torch.amp.autocast", "device_type dtype enabled cache_enabled", autocast_flags, ("dtype", "enabled")),
    ScopeRow("torch.cuda.amp.autocast", "enabled dtype cache_enabled", autocast_flags, ("dtype", "enabled")),
    ScopeRow("torch.cpu.amp.autocast", "enabled dtype cache_enabled", lambda _scope: {}, ("dtype", "enabled")),
    ScopeRow("torch.no_grad", "", grad_flag(False)),
    ScopeRow("torch.inference_mode", "mode", lambda scope: {"grad": flag(scope.attrs.get("mode"), True) is False}),
    ScopeRow("torch.enable_grad", "", grad_flag(True)),
    ScopeRow("torch.set_grad_enabled", "mode", set_grad_flags, ("mode",)),
    ScopeRow("torch.autograd.set_detect_anomaly", "mode"),
    ScopeRow("torch.autograd.profiler.record_function", "name"),
    ScopeRow("torch.cuda.StreamContext", "stream", stream_flags, ("stream",)),
    ScopeRow("torch.cuda.graph", "cuda_graph pool stream capture_error_mode", stream_flags, ("cuda_graph",)),
    ScopeRow("torch.cuda.device", "device"),
    ScopeRow("torch.nn.parallel.DistributedDataParallel.no_sync"),
    ScopeRow("torch.distributed.fsdp.FullyShardedDataParallel.no_sync"),
    ScopeRow("torch.distributed.fsdp.FullyShardedDataParallel.summon_full_params"),
    ScopeRow("torch.distributed.algorithms.join.Join", "joinables"),
    ScopeRow("torch.nn.attention.sdpa_kernel", "backends", data=("backends",)),
    ScopeRow("torch.backends.cuda.sdp_kernel", "enable_flash enable_math enable_mem_efficient"),
    ScopeRow("torch.autograd.graph.save_on_cpu", "pin_memory"),
    ScopeRow("torch.autograd.graph.saved_tensors_hooks", "pack_hook unpack_hook"),
    ScopeRow("torch.random.fork_rng", "devices"),
    ScopeRow("torch.overrides.TorchFunctionMode"),
    ScopeRow("torch.distributed._functional_collectives.allow_inflight_collective_as_graph_input_ctx"),
    ScopeRow("accelerate.Accelerator.accumulate", "model"),
    ScopeRow("accelerate.Accelerator.autocast", "autocast_handler"),
    ScopeRow("accelerate.Accelerator.no_sync", "model"),
    ScopeRow("accelerate.Accelerator.profile", "profile_handler"),
    ScopeRow("lightning.Fabric.autocast"),
    ScopeRow("lightning.Fabric.no_backward_sync", "module enabled", data=("enabled",)),
)

ALIASES: dict[str, str] = {
    "torch.autocast": "torch.amp.autocast",
    "torch.amp.autocast_mode.autocast": "torch.amp.autocast",
    "torch.cuda.amp.autocast_mode.autocast": "torch.cuda.amp.autocast",
    "torch.autograd.no_grad": "torch.no_grad",
    "torch.autograd.grad_mode.no_grad": "torch.no_grad",
    "torch.autograd.grad_mode.inference_mode": "torch.inference_mode",
    "torch.autograd.grad_mode.enable_grad": "torch.enable_grad",
    "torch.autograd.grad_mode.set_grad_enabled": "torch.set_grad_enabled",
    "torch.autograd.enable_grad": "torch.enable_grad",
    "torch.autograd.set_grad_enabled": "torch.set_grad_enabled",
    "torch.autograd.detect_anomaly": "torch.autograd.set_detect_anomaly",
    "torch.cuda.stream": "torch.cuda.StreamContext",
    "torch.accelerator.stream": "torch.cuda.StreamContext",
    "torch.profiler.record_function": "torch.autograd.profiler.record_function",
    "torch.cuda.nvtx.range": "torch.autograd.profiler.record_function",
}

SCOPES: dict[str, ScopeRow] = {row.qname: row for row in ROWS}


def open_scope(row: ScopeRow) -> Callable[..., Value]:
    """Constructor: an object that remembers its arguments. ``no_grad(func)`` decorates at once."""

    def construct(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        if args and isinstance(args[0], FunctionValue) and row.qname in DECORATES_AT_ONCE:
            return decorated(args[0], Opaque(row.qname, {}, site.anchor))
        scope = Opaque(row.qname, dict(bind(row.signature, args, kwargs)), site.anchor)
        if row.qname == "torch.set_grad_enabled":  # takes effect at once, `with` only restores it
            for name, value in row.flags(scope).items():
                interp.trail.set_item(interp.flags, name, value)
        return scope

    return construct


DECORATES_AT_ONCE = frozenset({"torch.no_grad", "torch.inference_mode", "torch.enable_grad"})


def decorated(func: FunctionValue, scope: Opaque) -> FunctionValue:
    """The function with a scope that opens at each call."""
    scopes = (scope, *func.attrs.get("cgx.scopes", ()))
    return dataclasses.replace(func, attrs={**func.attrs, "cgx.scopes": scopes})


def call_scope(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``scope(function)``: a decorator. Anything else that is callable passes through unchanged."""
    if len(args) < 2:
        return NotImplemented
    return decorated(args[1], args[0]) if isinstance(args[1], FunctionValue) else args[1]


def enter(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Open the region: its node takes what follows, its flags hold."""
    scope = args[0]
    row = SCOPES[scope.qname]
    data = {name: scope.attrs[name] for name in row.data if name in scope.attrs}
    data["constructed_at"] = scope.anchor
    interp.push(ScopeNode(anchor=site.anchor, text=site.text, qname=scope.qname, data=data))
    flags: Mapping[str, Value] = row.flags(scope)
    saved = {name: interp.flags.get(name) for name in flags}
    interp.trail.set_item(scope.attrs, "cgx.saved", (*scope.attrs.get("cgx.saved", ()), saved))
    for name, value in flags.items():
        interp.trail.set_item(interp.flags, name, value)
    return scope


def leave(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Close it and give the flags their former values."""
    scope = args[0]
    stack = scope.attrs.get("cgx.saved", ())
    if stack:
        for name, value in stack[-1].items():
            interp.trail.set_item(interp.flags, name, value)
        interp.trail.set_item(scope.attrs, "cgx.saved", stack[:-1])
    interp.pop()
    return None


ENTRIES: dict[str, Any] = {}
for _row in ROWS:
    if not _row.qname.endswith(("no_sync", "accumulate", "no_backward_sync", "summon_full_params")) and not (
        _row.qname.startswith(("accelerate.", "lightning."))
    ):
        ENTRIES[_row.qname] = open_scope(_row)
    ENTRIES[f"{_row.qname}.__enter__"] = enter
    ENTRIES[f"{_row.qname}.__exit__"] = leave
    ENTRIES[f"{_row.qname}.__call__"] = call_scope
for _alias, _name in ALIASES.items():
    ENTRIES[_alias] = ENTRIES[_name]

BASES: dict[str, tuple[str, ...]] = {}
