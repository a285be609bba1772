"""DTensor and ``parallelize_module``: plans of styles, and the collectives each style brings.

A style tells how inputs and outputs are laid out; what moves follows: row-wise layers reduce their output, column-wise
layers gather a sharded input and reduce the input's gradient.
"""

from __future__ import annotations

import fnmatch
from typing import Any

from cgx.indexer.interpreter.values import DictValue, External, ModuleInstance, Opaque, TensorValue, Value
from cgx.indexer.overlays.arguments import bind, items_of
from cgx.indexer.overlays.groups import group_purpose

AUTHOR = "overlays.tensor_parallel"
PLACEMENT, STYLE = "torch.distributed.tensor.Placement", "torch.distributed.tensor.parallel.ParallelStyle"
DTENSOR = "torch.distributed.tensor.DTensor"


def placement(kind: str) -> Any:
    def construct(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        dim = args[0] if args else kwargs.get("dim")
        return Opaque(PLACEMENT, {"kind": kind, "dim": dim}, site.anchor)

    return construct


def kind_of(value: Value, default: str) -> str:
    """``shard``, ``replicate`` or ``partial``."""
    if isinstance(value, Opaque):
        return str(value.attrs.get("kind", default))
    listed = items_of(value)
    return kind_of(listed[0], default) if listed else default


def style(kind: str) -> Any:
    def construct(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        return Opaque(STYLE, {"cgx.kind": kind, **kwargs}, site.anchor)

    return construct


def sends(chosen: Opaque, fed: bool = False) -> tuple[tuple[str, str], ...]:
    """(phase, collective) of one layer under a style. ``fed``: a module round it lays out its input, and reduces its gradient."""
    kind, attrs = chosen.attrs.get("cgx.kind"), chosen.attrs
    if kind == "rowwise":
        out = kind_of(attrs.get("output_layouts"), "replicate")
        return (
            (("forward", "all_reduce"),)
            if out == "replicate"
            else (("forward", "reduce_scatter"), ("backward", "all_gather"))
        )
    if kind == "colwise":
        rows: list[tuple[str, str]] = []
        if kind_of(attrs.get("input_layouts"), "replicate") == "shard":
            rows += [("forward", "all_gather"), ("backward", "reduce_scatter")]
        elif not fed:
            rows.append(("backward", "all_reduce"))
        if kind_of(attrs.get("output_layouts"), "shard") == "replicate":
            rows.append(("forward", "all_gather"))
        return tuple(rows)
    if kind == "input":
        have = kind_of(attrs.get("input_layouts"), "replicate")
        want = kind_of(attrs.get("desired_input_layouts"), have)
        return (
            (("forward", "all_gather"), ("backward", "reduce_scatter"))
            if (have, want) == ("shard", "replicate")
            else ()
        )
    return ()


def parallelize(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``parallelize_module(module, mesh, plan)``: in place; one wrap event for each module that a key of the plan names."""
    bound = bind("module device_mesh parallelize_plan", args, kwargs)
    module, plan, mesh = bound.get("module"), bound.get("parallelize_plan"), bound.get("device_mesh")
    pairs: list[tuple[str, Value]] = []
    if isinstance(plan, DictValue):
        pairs = [(key, value) for key, value in plan.items.items() if isinstance(key, str)]
    elif isinstance(plan, Opaque):
        pairs = [("", plan)]
    interp.event(
        "compute",
        site,
        author=AUTHOR,
        key="tensor_parallel",
        value=", ".join(f"{key}: {describe(one)}" for key, one in pairs) or "plan",
    )
    gathered = [
        pattern for pattern, chosen in pairs if isinstance(chosen, Opaque) and chosen.attrs.get("cgx.kind") == "input"
    ]
    for pattern, chosen in pairs:
        fed = any(pattern.startswith(f"{one}.") for one in gathered)
        for target in submodules(module, pattern):
            if isinstance(chosen, Opaque):
                interp.event("wrap", site, author=AUTHOR, wrapper="parallelize_module", module=target, sends=sends(chosen, fed),
                             parallelism=group_purpose(mesh) or "tensor", group_value=mesh)  # fmt: skip
    return module


def describe(chosen: Value) -> str:
    return str(chosen.attrs.get("cgx.kind")) if isinstance(chosen, Opaque) else "?"


def submodules(module: Value, pattern: str) -> list[ModuleInstance]:
    """Modules below, by a dotted name whose parts may hold ``*``."""
    found = [module] if isinstance(module, ModuleInstance) else []
    for part in pattern.split(".") if pattern else []:
        found = [
            child for one in found for name, child in one.children.items()
            if isinstance(child, ModuleInstance) and fnmatch.fnmatchcase(name, part)
        ]  # fmt: skip
    return found


def full_tensor(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``DTensor.full_tensor()``: gathers shards, or sums a partial value."""
    tensor = args[0]
    if not isinstance(tensor, TensorValue) or "cgx.placement" not in tensor.attrs:
        return tensor
    kind = tensor.attrs["cgx.placement"]
    interp.event("collective", site, author=AUTHOR, collective="all_reduce" if kind == "partial" else "all_gather",
                 parallelism=tensor.attrs.get("cgx.parallelism", "data"), blocking=True, issued_by="DTensor.full_tensor")  # fmt: skip
    return TensorValue(tensor.shape, tensor.dtype, tensor.device)


def to_local(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return args[0]


def distribute(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    bound = bind("tensor device_mesh placements", args, kwargs)
    tensor = bound.get("tensor")
    if not isinstance(tensor, TensorValue):
        return interp.unknown(site.text, "unmodelled", site, hint="tensor")
    placements = items_of(bound.get("placements")) or []
    kind = kind_of(placements[0], "replicate") if placements else "replicate"
    return TensorValue(tensor.shape, tensor.dtype, tensor.device, requires_grad=tensor.requires_grad, parameter=tensor.parameter,
                       attrs={**tensor.attrs, "cgx.placement": kind, "cgx.parallelism": group_purpose(bound.get("device_mesh"))})  # fmt: skip


def loss_parallel(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return External("contextlib.nullcontext")


ENTRIES: dict[str, Any] = {}
for _prefix in ("torch.distributed.tensor", "torch.distributed._tensor", "torch.distributed.tensor.placement_types"):
    ENTRIES |= {
        f"{_prefix}.Shard": placement("shard"),
        f"{_prefix}.Replicate": placement("replicate"),
        f"{_prefix}.Partial": placement("partial"),
        f"{_prefix}.distribute_tensor": distribute,
        f"{_prefix}.DTensor.from_local": distribute,
    }
ENTRIES |= {
    "torch.distributed.tensor.parallel.parallelize_module": parallelize,
    "torch.distributed.tensor.parallel.ColwiseParallel": style("colwise"),
    "torch.distributed.tensor.parallel.RowwiseParallel": style("rowwise"),
    "torch.distributed.tensor.parallel.SequenceParallel": style("sequence"),
    "torch.distributed.tensor.parallel.PrepareModuleInput": style("input"),
    "torch.distributed.tensor.parallel.PrepareModuleOutput": style("output"),
    "torch.distributed.tensor.parallel.PrepareModuleInputOutput": style("input"),
    "torch.Tensor.full_tensor": full_tensor,
    "torch.Tensor.to_local": to_local,
}
BASES: dict[str, tuple[str, ...]] = {}
