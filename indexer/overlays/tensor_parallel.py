"""DTensor and ``parallelize_module``: plans of styles, and the collectives each style brings.

A style tells how inputs and outputs are laid out; what moves follows: row-wise layers reduce their output, column-wise
layers gather a sharded input and reduce the input's gradient.
"""

from __future__ import annotations

import fnmatch
from typing import Any

from cgx.indexer.interpreter.values import DictValue, ModuleInstance, Opaque, TensorValue, Value
from cgx.indexer.overlays.arguments import bind, device_type, items_of
from cgx.indexer.overlays.groups import group_purpose

AUTHOR = "overlays.tensor_parallel"
PLACEMENT, STYLE = "torch.distributed.tensor.Placement", "torch.distributed.tensor.parallel.ParallelStyle"
LAYOUT = "cgx.placements"  # on a DTensor: its placement on each dim of the mesh


def placement(kind: str) -> Any:
    def construct(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        dim = args[0] if args else kwargs.get("dim")
        return Opaque(PLACEMENT, {"kind": kind, "dim": dim}, site.anchor)

    return construct


def is_kind(kind: str) -> Any:
    """``placement.is_shard(dim=None)`` and its like."""

    def ask(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        dim = kwargs.get("dim", args[1] if len(args) > 1 else None)
        return args[0].attrs.get("kind") == kind and (dim is None or args[0].attrs.get("dim") == dim)

    return ask


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


Send = tuple[str, str, str]  # phase, collective, what it is for: the gradient of the input, or anything else


def sends(chosen: Opaque, fed: bool = False, linear: bool = True) -> tuple[Send, ...]:
    """What one layer sends under a style. ``fed``: a module round it lays out its input, and reduces its gradient."""
    kind, attrs = chosen.attrs.get("cgx.kind"), chosen.attrs
    have = kind_of(attrs.get("input_layouts"), "shard" if kind == "rowwise" else "replicate")
    if kind == "rowwise":
        rows: list[Send] = [("backward", "all_gather", "input")] if have == "replicate" and linear else []
        if kind_of(attrs.get("output_layouts"), "replicate") == "replicate":
            return (*rows, ("forward", "all_reduce", ""))
        return (*rows, ("forward", "reduce_scatter", ""), ("backward", "all_gather", ""))
    if kind == "colwise":
        rows = []
        if have == "shard":
            rows += [("forward", "all_gather", ""), ("backward", "reduce_scatter", "input")]
        elif not fed:
            rows.append(("backward", "all_reduce", "input"))
        if kind_of(attrs.get("output_layouts"), "shard") == "replicate":
            rows.append(("forward", "all_gather", ""))
        return tuple(rows)
    if kind == "input":
        want = kind_of(attrs.get("desired_input_layouts"), have)
        if (have, want) == ("shard", "replicate"):
            return (("forward", "all_gather", ""), ("backward", "reduce_scatter", "input"))
        return changes((attrs.get("input_layouts"), attrs.get("desired_input_layouts")), (have, want))
    if kind == "output":
        pair = (attrs.get("output_layouts"), attrs.get("desired_output_layouts"))
        return changes(pair, (kind_of(pair[0], "replicate"), kind_of(pair[1], "replicate")))
    return ()


def changes(layouts: tuple[Value, Value], kinds: tuple[str, str]) -> tuple[Send, ...]:
    """What a change of the layout sends; shards of one dim stay where they are."""
    if kinds == ("shard", "shard"):
        return (("forward", "all_to_all", ""), ("backward", "all_to_all", "")) if other_dim(first_of(layouts[0]), first_of(layouts[1])) else ()
    return CHANGES.get(kinds, ())


def first_of(layout: Value) -> Value:
    listed = items_of(layout) if not isinstance(layout, Opaque) else None
    return listed[0] if listed else layout


def other_dim(one: Value, other: Value) -> bool:
    """Surely another dim: numbers of one sign that differ."""
    first, second = (placed.attrs.get("dim") if isinstance(placed, Opaque) else None for placed in (one, other))
    return isinstance(first, int) and isinstance(second, int) and first != second and (first < 0) == (second < 0)


# What a change of the layout sends; the gradient comes in the new layout. From replicate nothing goes forward: each rank takes its
# part, or keeps the value as its share of a sum.
CHANGES: dict[tuple[str, str], tuple[Send, ...]] = {
    ("shard", "replicate"): (("forward", "all_gather", ""),),
    ("replicate", "shard"): (("backward", "all_gather", ""),),
    ("partial", "replicate"): (("forward", "all_reduce", ""),),
    ("partial", "shard"): (("forward", "reduce_scatter", ""), ("backward", "all_gather", "")),
}


def partitioned(interp: Any, module: ModuleInstance, kind: Any, mesh: Value, site: Any) -> None:
    """The first rank of the mesh hands out the shards, and what is replicated; parameters on meta are not sent."""
    if kind not in ("colwise", "rowwise") or interp.world.size == 1:
        return
    for name, tensor in module.parameters.items():
        if isinstance(tensor, TensorValue) and tensor.device != "meta":
            whole = kind == "rowwise" and name == "bias"
            interp.event("collective", site, author=AUTHOR, collective="broadcast" if whole else "scatter", blocking=True,
                         parallelism=group_purpose(mesh) or "tensor", issued_by="parallelize_module", what=name, key="set_up")  # fmt: skip


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
                kind, linear = chosen.attrs.get("cgx.kind"), target.cls.derives("torch.nn.Linear")
                partitioned(interp, target, kind, mesh, site)
                interp.event("wrap", site, author=AUTHOR, wrapper="parallelize_module", module=target, sends=sends(chosen, fed, linear),
                             style=kind, parallelism=group_purpose(mesh) or "tensor", group_value=mesh)  # fmt: skip
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
    placed = [str(one.attrs.get("kind")) for one in tensor.attrs.get(LAYOUT, ()) if isinstance(one, Opaque)] or [tensor.attrs["cgx.placement"]]
    for kind in placed:
        if kind != "replicate":
            interp.event("collective", site, author=AUTHOR, collective="all_reduce" if kind == "partial" else "all_gather",
                         parallelism=tensor.attrs.get("cgx.parallelism", "data"), blocking=True, issued_by="DTensor.full_tensor")  # fmt: skip
    return TensorValue(tensor.shape, tensor.dtype, tensor.device)


def redistribute(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``DTensor.redistribute(mesh, placements)``: what moves follows from the layouts on each dim of the mesh."""
    bound = bind("self device_mesh placements async_op", args, kwargs)
    tensor, wanted = bound.get("self"), items_of(bound.get("placements")) or []
    if not isinstance(tensor, TensorValue) or LAYOUT not in tensor.attrs:
        return tensor
    held = list(tensor.attrs[LAYOUT])
    learns = interp.flags.get("grad", True) and tensor.requires_grad is not False and (tensor.dtype or "float").startswith(("float", "bfloat"))
    for one, other in zip(held, wanted) if len(held) == len(wanted) and interp.world.size != 1 else ():
        for phase, collective, _ in changes((one, other), (kind_of(one, "replicate"), kind_of(other, "replicate"))):
            if phase == "forward" or learns:
                interp.event("collective", site, author=AUTHOR, collective=collective, parallelism=tensor.attrs.get("cgx.parallelism"),
                             blocking=True, issued_by="DTensor.redistribute", **({"pass": phase} if phase == "backward" else {}))  # fmt: skip
    return laid_out(tensor, bound.get("device_mesh"), wanted, tensor.attrs.get("cgx.parallelism"))


def to_local(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return args[0]


def distribute(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``distribute_tensor(tensor, mesh, placements)``: the first rank's value is what the others get, unless told otherwise."""
    bound = bind("tensor device_mesh placements", args, kwargs)
    tensor, mesh = bound.get("tensor"), bound.get("device_mesh")
    placements = items_of(bound.get("placements")) or []
    if not (isinstance(tensor, TensorValue) and tensor.device == "meta") and interp.world.size != 1 and kwargs.get("src_data_rank", 0) is not None:
        for one in placements:
            if isinstance(one, Opaque) and (collective := {"shard": "scatter", "replicate": "broadcast"}.get(str(one.attrs.get("kind")))):
                interp.event("collective", site, author=AUTHOR, collective=collective, blocking=True, parallelism=group_purpose(mesh),
                             issued_by="distribute_tensor", key="set_up")  # fmt: skip
    return laid_out(tensor, mesh, placements)


def from_local(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``DTensor.from_local``: each rank's value as it is."""
    bound = bind("tensor device_mesh placements", args, kwargs)
    return laid_out(bound.get("tensor", kwargs.get("local_tensor")), bound.get("device_mesh"), items_of(bound.get("placements")) or [])


def laid_out(tensor: Value, mesh: Value, placements: list[Value], known_purpose: str | None = None) -> Value:
    """A DTensor on the device of its mesh."""
    known = tensor if isinstance(tensor, TensorValue) else TensorValue()
    kind = kind_of(placements[0], "replicate") if placements else "replicate"
    device = known.device if known.device == "meta" else mesh_device(mesh) or known.device
    return TensorValue(known.shape, known.dtype, device, requires_grad=known.requires_grad, parameter=known.parameter,
                       attrs={**known.attrs, "cgx.placement": kind, LAYOUT: tuple(placements), "cgx.parallelism": group_purpose(mesh) or known_purpose})  # fmt: skip


def mesh_device(mesh: Value) -> str | None:
    kind = mesh.attrs.get("device_type") if isinstance(mesh, Opaque) else None
    return device_type(kind) if kind is not None else "cuda"


ENTRIES: dict[str, Any] = {}
for _prefix in ("torch.distributed.tensor", "torch.distributed._tensor", "torch.distributed.tensor.placement_types"):
    ENTRIES |= {
        f"{_prefix}.Shard": placement("shard"),
        f"{_prefix}.Replicate": placement("replicate"),
        f"{_prefix}.Partial": placement("partial"),
        f"{_prefix}.distribute_tensor": distribute,
        f"{_prefix}.DTensor.from_local": from_local,
    }
ENTRIES |= {
    **{f"{PLACEMENT}.is_{kind}": is_kind(kind) for kind in ("shard", "replicate", "partial")},
    "torch.distributed.tensor.parallel.parallelize_module": parallelize,
    "torch.distributed.tensor.parallel.ColwiseParallel": style("colwise"),
    "torch.distributed.tensor.parallel.RowwiseParallel": style("rowwise"),
    "torch.distributed.tensor.parallel.SequenceParallel": style("sequence"),
    "torch.distributed.tensor.parallel.PrepareModuleInput": style("input"),
    "torch.distributed.tensor.parallel.PrepareModuleOutput": style("output"),
    "torch.distributed.tensor.parallel.PrepareModuleInputOutput": style("input"),
    "torch.Tensor.full_tensor": full_tensor,
    "torch.Tensor.to_local": to_local,
    "torch.Tensor.redistribute": redistribute,
}
BASES: dict[str, tuple[str, ...]] = {}
