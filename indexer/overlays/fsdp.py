"""Sharded data parallelism: ``fully_shard`` (FSDP2) and ``FullyShardedDataParallel`` (FSDP1).

A unit is one call of ``fully_shard`` or one wrapped module. What it sends is derived by the passes: an all_gather before
its forward, another before its backward where it was resharded, a reduce_scatter of its gradients; a unit whose parameters
all belong to units below it sends nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

from cgx.indexer.interpreter.stdlib.support import nothing
from cgx.indexer.interpreter.trace import LoopNode
from cgx.indexer.interpreter.values import (
    BoundMethod,
    ClassValue,
    External,
    FunctionValue,
    ModuleInstance,
    Opaque,
    Partial,
    TensorValue,
    Value,
)
from cgx.indexer.overlays.arguments import argument_text, bind, dtype_name, flag, items_of
from cgx.indexer.overlays.groups import replicas
from cgx.indexer.overlays.transfer import all_modules, endless, module_tensors, tensor_bytes
from cgx.indexer.overlays.wrappers import inner, proxy_entries

AUTHOR = "overlays.fsdp"
FSDP = "torch.distributed.fsdp.FullyShardedDataParallel"
POLICY = "torch.distributed.fsdp.MixedPrecisionPolicy"


def policy(signature: str) -> Any:
    """Mixed precision policy: remembers its dtypes."""

    def construct(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        bound = bind(signature, args, kwargs)
        return Opaque(POLICY, dict(bound), site.anchor)

    return construct


def precision_event(interp: Any, chosen: Value, site: Any) -> None:
    """The dtypes in which a sharded model computes and reduces."""
    if not isinstance(chosen, Opaque):
        return
    param, reduce = dtype_name(chosen.attrs.get("param_dtype")), dtype_name(chosen.attrs.get("reduce_dtype"))
    if param is None and reduce is None:
        return
    interp.event("compute", site, author=AUTHOR, key="precision", value=param or "float32", reduce_dtype=reduce or param,
                 how="mixed precision policy", anchor_at=chosen.anchor)  # fmt: skip


def fully_shard(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``fully_shard(module or list, mesh=..., reshard_after_forward=..., mp_policy=...)``: in place."""
    module = args[0] if args else kwargs.get("module")
    held = (
        [one for one in (items_of(module) or []) if isinstance(one, ModuleInstance)]
        if not isinstance(module, ModuleInstance)
        else [module]
    )
    mesh = kwargs.get("mesh")
    interp.event(
        "wrap", site, author=AUTHOR, wrapper="fully_shard", module=held[0] if held else None, modules=held,
        reshard_after_forward=kwargs.get("reshard_after_forward"), group_value=mesh, parallelism="data",
        replicated=has_replicas(mesh, kwargs.get("dp_mesh_dims")),
    )  # fmt: skip
    precision_event(interp, kwargs.get("mp_policy"), site)
    interp.trail.set_item(interp.flags, "sharded", True)
    to_device(interp, held, kwargs.get("offload_policy"), site)
    for one in held:
        interp.trail.append(one.wrappers, ("fully_shard", site.anchor))
        if mesh is None or (isinstance(mesh, Opaque) and mesh.attrs.get("cgx.device") != "cpu"):
            for tensor in module_tensors(one):
                if tensor.device == "cpu" and kwargs.get("offload_policy") is None:
                    interp.trail.set(tensor, "device", "cuda")
                distributed(interp, tensor, mesh, site)
    return module


def has_replicas(mesh: Value, dims: Value) -> bool:
    """Shards are replicated over a dim of the mesh: the one that is named so, else the first of two."""
    if dims is not None:
        return isinstance(dims, Opaque) and dims.attrs.get("replicate") is not None
    return isinstance(mesh, Opaque) and mesh.attrs.get("ndim") == 2 and (mesh.attrs.get("shape") or (1,))[0] != 1


def to_device(interp: Any, held: list[ModuleInstance], offload: Value, site: Any) -> None:
    """Units that lie on the host are moved to the device where they are sharded: one copy for all their tensors."""
    tensors = [tensor for one in held for tensor in module_tensors(one) if tensor.device == "cpu"]
    if not tensors or offload is not None:
        return
    sizes = [None] if any(map(endless, held)) else [tensor_bytes(tensor) for tensor in tensors]
    interp.event(
        "copy", site, author=AUTHOR, direction="H2D", what=argument_text(site, 0, "module") or site.text, source="pageable", non_blocking=False,
        blocks_host=True, bytes=sum(size for size in sizes if size) if all(size is not None for size in sizes) else None,
        carrier="module", sync_kind="other", module=held[0], key="set_up",
    )  # fmt: skip


def distributed(interp: Any, tensor: TensorValue, mesh: Value, site: Any) -> None:
    """The parameter is a DTensor from now on, sharded along its first dim."""
    for name, value in (("cgx.placement", "shard"), ("cgx.parallelism", "data"), ("device_mesh", mesh),
                        ("placements", interp.unknown("placements", "environment", site))):  # fmt: skip
        interp.trail.set_item(tensor.attrs, name, value)


def setter(key: str) -> Any:
    """``set_requires_gradient_sync`` and its kind."""

    def call(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        if not isinstance(args[0], ModuleInstance | Opaque):
            return NotImplemented
        value = args[1] if len(args) > 1 else next(iter(kwargs.values()), None)
        if key == "grad_sync":
            interp.event(
                "compute",
                site,
                author=AUTHOR,
                key="grad_sync",
                value=site.text,
                known=flag(value),
                module=inner(args[0]),
            )
        elif key == "unshard":
            interp.event("wrap", site, author=AUTHOR, wrapper="set_unshard_in_backward", modules=[inner(args[0])], unshard_in_backward=value)
        elif key == "reshard":
            recurse = flag(args[2] if len(args) > 2 else kwargs.get("recurse"), True)
            module = inner(args[0])
            held = list(all_modules(module)) if recurse and isinstance(module, ModuleInstance) else [module]
            interp.event("wrap", site, author=AUTHOR, wrapper="set_reshard_after_forward", modules=held, reshard_after_forward=value)
        elif key == "prefetch":
            interp.event("overlap", site, author=AUTHOR, what="all_gather of the next units' parameters", with_="compute of this unit",
                         mechanism="prefetched all_gather", stream="all-gather stream")  # fmt: skip
        return None

    return call


def policy_units(interp: Any, module: ModuleInstance, wrap: Value, site: Any) -> list[ModuleInstance]:
    """Submodules that an auto-wrap policy picks: by class, or as a user's predicate says."""
    if isinstance(wrap, FunctionValue | BoundMethod) or (isinstance(wrap, Partial) and isinstance(wrap.func, FunctionValue)):  # the job's own
        asked = {"recurse": False, "nonwrapped_numel": interp.unknown("nonwrapped_numel", "data", site, "int")}
        return predicted(interp, module, lambda held: interp.call(wrap, [], {"module": held, **asked}, site))
    if not isinstance(wrap, Opaque | Partial):
        return []
    attrs = wrap.attrs if isinstance(wrap, Opaque) else wrap.kwargs
    if callable_value := attrs.get("lambda_fn"):
        return predicted(interp, module, lambda held: interp.call(callable_value, [held], {}, site))
    classes = items_of(attrs.get("transformer_layer_cls", attrs.get("module_classes"))) or []
    return [one for one in all_modules(module) if one is not module and any(is_kind(one, cls) for cls in classes)]


def predicted(interp: Any, module: ModuleInstance, says: Callable[[ModuleInstance], Value]) -> list[ModuleInstance]:
    """The submodules for which a predicate surely holds."""
    return [one for one in all_modules(module) if one is not module and interp.truth(interp.attempt(partial(says, one))) is True]


def module_units(module: ModuleInstance, names: list[str]) -> list[ModuleInstance]:
    """Submodules whose class has one of the names: how Hugging Face's options say which layers are units."""
    return [one for one in all_modules(module) if one is not module and any(getattr(cls, "name", "") in names for cls in one.cls.mro[:1])]


def is_kind(module: ModuleInstance, cls: Value) -> bool:
    if isinstance(cls, ClassValue):
        return cls in module.cls.mro
    return isinstance(cls, External) and module.cls.derives(cls.qname)


def wrap(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``FullyShardedDataParallel(module, ...)``: a proxy, with one unit for the module and one for each that the policy picks."""
    bound = bind(
        "module process_group sharding_strategy cpu_offload auto_wrap_policy backward_prefetch mixed_precision",
        args,
        kwargs,
    )
    module = inner(bound.get("module"))
    strategy = getattr(bound.get("sharding_strategy"), "qname", "").rpartition(".")[2] or "FULL_SHARD"
    if isinstance(module, ModuleInstance):
        units = policy_units(interp, module, bound.get("auto_wrap_policy"), site)
        for one in [*units, module]:
            interp.trail.append(one.wrappers, ("FullyShardedDataParallel", site.anchor))
            interp.event("wrap", site, author=AUTHOR, wrapper="FullyShardedDataParallel", module=one, modules=[one], strategy=strategy,
                         reshard_after_forward=strategy in ("FULL_SHARD", "HYBRID_SHARD"), parallelism="data",
                         replicated=strategy in ("HYBRID_SHARD", "_HYBRID_SHARD_ZERO2"), group_value=bound.get("process_group"))  # fmt: skip
        if bound.get("device_id") is not None:
            to_device(interp, [module], None, site)
        if flag(bound.get("sync_module_states"), False) and interp.world.size != 1:
            for one in [*units, module]:
                with several(interp, module, one, site):
                    interp.event("collective", site, author=AUTHOR, collective="broadcast", parallelism="data", blocking=True,
                                 issued_by="FullyShardedDataParallel", what="parameters and buffers", key="set_up")  # fmt: skip
        for tensor in module_tensors(module):
            if tensor.device == "cpu" and bound.get("device_id") is not None:
                interp.trail.set(tensor, "device", "cuda")
            if not flag(bound.get("use_orig_params"), False):
                interp.trail.set_item(tensor.attrs, "cgx.flat", True)
    precision_event(interp, bound.get("mixed_precision"), site)
    held = {"module": bound.get("module"), "_fsdp_wrapped_module": bound.get("module"), "world_size": interp.world.size}
    if "HYBRID" not in strategy:
        held["process_group"] = bound.get("process_group") or replicas(interp)
    return Opaque(FSDP, held, site.anchor)


def several(interp: Any, module: ModuleInstance, unit: ModuleInstance, site: Any) -> Any:
    """Round what is done for a unit that stands for a list of unknown length: a loop over them."""
    if any(key == "*" and child is unit for one in all_modules(module) for key, child in one.children.items()):
        return interp.inside(LoopNode(site.anchor, site.text, count=interp.unknown("units", "data", site, hint="int"), expr=site.text, over="container"))
    return nullcontext()


def no_sync(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    interp.event("compute", site, author=AUTHOR, key="grad_sync", value="no_sync", module=inner(args[0]))
    return Opaque(f"{FSDP}.no_sync", {"module": inner(args[0])}, site.anchor)


def clip_grad_norm(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """FSDP1's own clipping: the norm is reduced over the shards."""
    from cgx.indexer.overlays.arguments import plain

    bound = bind("self max_norm norm_type", args, kwargs)
    interp.event("compute", site, author=AUTHOR, key="grad_clip", value=plain(bound.get("max_norm")), how="norm")
    interp.event("collective", site, author=AUTHOR, collective="all_reduce", parallelism="data", blocking=True, issued_by="FullyShardedDataParallel",
                 what="gradient norm")  # fmt: skip
    return TensorValue((), "float32", "cuda")


def auto_policy(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Opaque("torch.distributed.fsdp.wrap.policy", dict(bind("module_classes", args, kwargs)), site.anchor)


def custom_policy(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``CustomPolicy(lambda_fn)``: the units are those that the function picks."""
    return Opaque("torch.distributed.fsdp.wrap.policy", dict(bind("lambda_fn", args, kwargs)), site.anchor)


_F = "torch.distributed.fsdp"
ENTRIES: dict[str, Any] = {
    f"{_F}.fully_shard": fully_shard,
    "torch.distributed._composable.fsdp.fully_shard": fully_shard,
    "torch.distributed._composable.fully_shard": fully_shard,
    "torch.distributed._composable.fsdp.fully_shard.fully_shard": fully_shard,
    f"{_F}._fully_shard.fully_shard": fully_shard,
    POLICY: policy("param_dtype reduce_dtype output_dtype cast_forward_inputs"),
    "torch.distributed._composable.fsdp.MixedPrecisionPolicy": policy(
        "param_dtype reduce_dtype output_dtype cast_forward_inputs"
    ),
    f"{_F}.MixedPrecision": policy("param_dtype reduce_dtype buffer_dtype keep_low_precision_grads"),
    f"{_F}.DataParallelMeshDims": policy("shard replicate"),
    f"{_F}._fully_shard.DataParallelMeshDims": policy("shard replicate"),
    f"{_F}.CPUOffloadPolicy": policy("pin_memory"),
    f"{_F}.CPUOffload": policy("offload_params"),
    f"{_F}.wrap.ModuleWrapPolicy": auto_policy,
    f"{_F}.wrap.CustomPolicy": custom_policy,
    FSDP: wrap,
    f"{_F}.fully_sharded_data_parallel.FullyShardedDataParallel": wrap,
    **proxy_entries(FSDP, hands_on=True),
    f"{FSDP}.no_sync": no_sync,
    f"{FSDP}.clip_grad_norm_": clip_grad_norm,
    f"{FSDP}.set_state_dict_type": nothing,
}
for _name, _key in (
    ("set_requires_gradient_sync", "grad_sync"), ("set_is_last_backward", "grad_sync"), ("set_reshard_after_backward", ""),
    ("set_reshard_after_forward", "reshard"), ("set_modules_to_forward_prefetch", "prefetch"), ("set_modules_to_backward_prefetch", "prefetch"),
    ("set_requires_all_reduce", "grad_sync"), ("set_reduce_scatter_divide_factor", ""), ("set_gradient_divide_factor", ""),
    ("set_unshard_in_backward", "unshard"), ("set_force_sum_reduction_for_comms", ""), ("unshard", ""), ("reshard", ""),
    ("set_allocate_memory_from_process_group_for_comm", ""),
):  # fmt: skip
    ENTRIES[f"{_F}.FSDPModule.{_name}"] = ENTRIES[f"torch.nn.Module.{_name}"] = setter(_key)
BASES: dict[str, tuple[str, ...]] = {FSDP: ("torch.nn.Module",)}
