"""Lightning's strategies: how the model gets to the device and what is wrapped round it (read from lightning 2.0-2.6)."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.stdlib.support import holder
from cgx.indexer.interpreter.values import DictValue, ListValue, ModuleInstance, Opaque, SetValue, Value
from cgx.indexer.overlays import deepspeed, deepspeed_config, fsdp, sync_batchnorm
from cgx.indexer.overlays.arguments import flag, items_of
from cgx.indexer.overlays.ddp import construct as wrap_ddp
from cgx.indexer.overlays.lifecycle import optional, place_model
from cgx.indexer.overlays.lightning_options import PRECISIONS, TRUE, on_cpu, precision_of
from cgx.indexer.overlays.transfer import move_module
from cgx.indexer.overlays.wrappers import inner

AUTHOR = "overlays.lightning"
FSDP1 = "torch.distributed.fsdp.FullyShardedDataParallel"
DDP_OPTIONS = ("find_unused_parameters", "static_graph", "gradient_as_bucket_view", "broadcast_buffers", "bucket_cap_mb")


def options_of(strategy: Value) -> dict[str, Value]:
    return {name: value for name, value in strategy.attrs.items() if not name.startswith("cgx.")} if isinstance(strategy, Opaque) else {}


def set_up(interp: Any, trainer: Opaque, model: Value, site: Any, fitting: bool) -> None:
    """``strategy.setup``: the true precisions first, then the move, then the wrapper (for training only)."""
    kind = trainer.attrs["strategy_name"]
    hook = optional(interp, model, "configure_model", site) or optional(interp, model, "configure_sharded_model", site)
    if kind == "model_parallel" and isinstance(model, ModuleInstance):
        interp.setattr(model, "device_mesh", mesh(interp, trainer, site), site)
    if hook is not None:
        interp.call(hook, [], {}, site)
    target = inner(model)
    dtype = TRUE.get(precision_of(trainer))
    if dtype is not None and isinstance(target, ModuleInstance):
        move_module(interp, target, None, dtype, False, site, what="model")
        interp.event("compute", site, author=AUTHOR, key="precision", value=dtype, how="parameters and inputs")
    if on_cpu(trainer):
        return
    if kind == "fsdp" and interp.world.size != 1:
        shard(interp, model, options_of(trainer.attrs["strategy"]), site)
        return
    if kind == "deepspeed":
        by_deepspeed(interp, trainer, model, site)
        return
    if flag(trainer.attrs["sync_batchnorm"]) and fitting:
        sync_batchnorm.convert(interp, site, [target], {})
    place_model(interp, target, site)
    if kind == "ddp" and fitting and isinstance(target, ModuleInstance):
        given = {name: value for name, value in options_of(trainer.attrs["strategy"]).items() if name in DDP_OPTIONS}
        wrap_ddp(interp, site, [model], given)


def shard(interp: Any, model: Value, options: dict[str, Value], site: Any) -> Value:
    """FSDP with the units of ``auto_wrap_policy`` (a policy, or a set of classes), moved to the device as it is wrapped."""
    place_model(interp, inner(model), site)
    policy = options.get("auto_wrap_policy")
    classes = items_of(policy) if isinstance(policy, SetValue | ListValue | tuple) else None
    if classes is not None:
        policy = Opaque("torch.distributed.fsdp.wrap.policy", {"module_classes": ListValue(list(classes))}, site.anchor)
    given: dict[str, Value] = {"auto_wrap_policy": policy, "mixed_precision": options.get("mixed_precision"),
                               "use_orig_params": options.get("use_orig_params", True)}  # fmt: skip
    if options.get("sharding_strategy") is not None:
        given["sharding_strategy"] = strategy_value(options["sharding_strategy"])
    again = options.get("activation_checkpointing_policy", options.get("activation_checkpointing"))
    if again is not None:
        interp.event("compute", site, author=AUTHOR, key="activation_checkpointing", value=f"each {classes_of(again)}", target=inner(model))
    return fsdp.ENTRIES[FSDP1](interp, site, [model], {name: value for name, value in given.items() if value is not None})


def strategy_value(value: Value) -> Value:
    return Opaque(f"torch.distributed.fsdp.ShardingStrategy.{value}") if isinstance(value, str) else value


def classes_of(value: Value) -> str:
    names = [getattr(one, "name", "") or getattr(one, "tail", "") for one in items_of(value) or [value]]
    return ", ".join(name for name in names if name) or "layer that the policy picks"


def by_deepspeed(interp: Any, trainer: Opaque, model: Value, site: Any) -> None:
    """The engine: the stage is in the strategy's name or options, or in its configuration."""
    options = options_of(trainer.attrs["strategy"])
    given = options.get("config")
    given = given if isinstance(given, DictValue) else deepspeed_config.strategy_config(interp, options, site)
    missing = interp.unknown("deepspeed config", "missing-file", site) if given.open else None
    settings = deepspeed_config.Settings(deepspeed_config.as_data(given), missing)
    precision = PRECISIONS.get(precision_of(trainer)) or TRUE.get(precision_of(trainer))
    for name, dtype in deepspeed_config.LOW_PRECISION:
        if dtype == precision and name != "bfloat16":
            settings.data.setdefault(name, {}).setdefault("enabled", True)
    if isinstance(inner(model), ModuleInstance):
        move_module(interp, inner(model), None, settings.dtype, False, site)
    place_model(interp, inner(model), site)
    deepspeed.broadcast(interp, site)
    deepspeed.precision(interp, settings, site)
    deepspeed.wrap(interp, inner(model), settings.data, settings.stage, site)


def mesh(interp: Any, trainer: Opaque, site: Any) -> Value:
    """The mesh of ``ModelParallelStrategy``: data parallel by tensor parallel size, by default nodes by devices of a node."""
    options = options_of(trainer.attrs["strategy"])
    sizes = [options.get("data_parallel_size", "auto"), options.get("tensor_parallel_size", "auto")]
    defaults = (trainer.attrs.get("num_nodes", 1), interp.world.local_size)
    shape = tuple(default if size == "auto" else size for size, default in zip(sizes, defaults))
    make = next(iter(interp.handlers("torch.distributed.device_mesh.init_device_mesh")))
    return make(interp, site, ["cuda", shape], {"mesh_dim_names": ("data_parallel", "tensor_parallel")})


ENTRIES: dict[str, Any] = {}
BASES: dict[str, tuple[str, ...]] = {}
NAMES: tuple[str, ...] = ()
for _name in ("DDPStrategy", "FSDPStrategy", "DeepSpeedStrategy", "ModelParallelStrategy", "SingleDeviceStrategy", "DDPPlugin", "DDPFullyShardedNativeStrategy"):
    for _package in ("lightning.pytorch.strategies", "pytorch_lightning.strategies", "pytorch_lightning.plugins", "lightning.pytorch.plugins"):
        for _prefix in (_package, f"{_package}.{_name.removesuffix('Strategy').lower()}"):
            ENTRIES[f"{_prefix}.{_name}"] = holder(f"lightning.pytorch.strategies.{_name}")
    BASES[f"lightning.pytorch.strategies.{_name}"] = ("lightning.pytorch.strategies.Strategy", f"pytorch_lightning.strategies.{_name}")
