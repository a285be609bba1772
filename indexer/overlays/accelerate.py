"""Hugging Face accelerate: Accelerator (read from accelerate 1.x). Used where its own source is not given.

``prepare`` moves and wraps the model, makes loaders put batches on the device (blocking, unless ``non_blocking`` is
configured), and makes optimizers and schedulers follow ``accumulate``.
"""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.trace import BranchNode
from cgx.indexer.interpreter.values import (
    ByRank,
    Device,
    DType,
    ModuleInstance,
    Opaque,
    TensorValue,
    Value,
)
from cgx.indexer.overlays.arguments import bind, flag, plain, tensors_in
from cgx.indexer.overlays.data_loader import LOADER
from cgx.indexer.overlays.lifecycle import ddp, is_loss, place_model
from cgx.indexer.overlays.transfer import on_device
from cgx.indexer.overlays.wrappers import inner

AUTHOR = "overlays.accelerate"
ACCELERATOR = "accelerate.Accelerator"
SIGNATURE = (
    "device_placement split_batches mixed_precision gradient_accumulation_steps cpu dataloader_config deepspeed_plugin "
    "fsdp_plugin megatron_lm_plugin rng_types log_with project_dir"
)
PRECISION = {"fp16": "float16", "bf16": "bfloat16"}


def by_rank(interp: Any, test: Any) -> Value:
    """A value for each rank, one where there is one rank."""
    values = tuple(test(rank) for rank in interp.world.ranks)
    return values[0] if len(values) == 1 else ByRank(values)


def construct(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    bound = bind(SIGNATURE, args, kwargs)
    steps = bound.get("gradient_accumulation_steps", 1)
    precision = plain(bound.get("mixed_precision")) or plain(interp.env.get("ACCELERATE_MIXED_PRECISION")) or "no"
    many = interp.world.size != 1
    attrs: dict[str, Value] = {
        **bound,
        "device": Device("cuda"),
        "num_processes": interp.world.size,
        "process_index": by_rank(interp, lambda rank: rank),
        "local_process_index": by_rank(interp, lambda rank: rank),
        "is_main_process": by_rank(interp, lambda rank: rank == 0),
        "is_local_main_process": by_rank(interp, lambda rank: rank == 0),
        "is_last_process": by_rank(interp, lambda rank: rank == interp.world.size - 1),
        "sync_gradients": True
        if steps in (None, 1)
        else interp.unknown("accelerator.sync_gradients", "loop-carried", site, hint="bool"),
        "gradient_accumulation_steps": 1 if steps is None else steps,
        "mixed_precision": precision,
        "use_distributed": many,
        "cgx.autocast": PRECISION.get(str(precision)),
    }
    if many:
        interp.trail.set_item(interp.flags, "dist_initialized", True)
        interp.event("launch", site, author=AUTHOR, what="init_process_group")
    if attrs["cgx.autocast"]:
        interp.event(
            "compute",
            site,
            author=AUTHOR,
            key="precision",
            value=attrs["cgx.autocast"],
            how="autocast by the prepared model",
        )
    return Opaque(ACCELERATOR, attrs, site.anchor)


def prepare(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Each argument in turn; a tuple where there are several."""
    done = [prepare_one(interp, args[0], one, site) for one in args[1:]]
    return done[0] if len(done) == 1 else tuple(done)


def prepare_one(interp: Any, accelerator: Opaque, value: Value, site: Any) -> Value:
    if isinstance(value, ModuleInstance):
        if flag(accelerator.attrs.get("device_placement"), True):
            place_model(interp, value, site)
        return ddp(interp, value, site, AUTHOR)
    if isinstance(value, Opaque) and value.qname == LOADER:
        return prepared_loader(interp, accelerator, value)
    if isinstance(value, Opaque) and "param_groups" in value.attrs:
        interp.trail.set_item(value.attrs, "cgx.accumulate", accelerator.attrs["gradient_accumulation_steps"])
        for group in tensors_in(value.attrs["param_groups"]):
            if group.device == "cuda":
                interp.trail.set_item(value.attrs, "cgx.device", "cuda")
    return value


def prepared_loader(interp: Any, accelerator: Opaque, loader: Opaque) -> Opaque:
    """The same loader, sharded among the processes, whose batches arrive on the device."""
    config = accelerator.attrs.get("dataloader_config")
    non_blocking = flag(config.attrs.get("non_blocking"), False) if isinstance(config, Opaque) else False
    attrs = {**loader.attrs, "cgx.to_device": ("cuda", bool(non_blocking)), "cgx.shards": interp.world.size}
    return Opaque(LOADER, attrs, loader.anchor, loader.name)


def backward(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    loss = args[1] if len(args) > 1 else kwargs.get("loss")
    interp.event("compute", site, author=AUTHOR, key="backward", value="accelerator.backward(loss)", loss=loss)
    is_loss(interp, site, loss)
    return None


def accumulate(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``with accelerator.accumulate(model):`` gradients are synced and optimizers step at the last micro-step only."""
    steps = args[0].attrs.get("gradient_accumulation_steps", 1)
    if steps != 1:
        interp.event("compute", site, author=AUTHOR, key="grad_sync", value="accumulate", guard=f"every {plain(steps) or 'N'} micro-steps",
                     module=inner(args[1]) if len(args) > 1 else None)  # fmt: skip
    return Opaque(f"{ACCELERATOR}.accumulate", {"steps": steps}, site.anchor)


def region(name: str) -> Any:
    def make(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        kind = args[0].attrs.get("cgx.autocast")
        attrs: dict[str, Value] = {"dtype": DType(kind), "enabled": True} if kind else {"enabled": False}
        return Opaque("torch.amp.autocast" if name == "autocast" else f"{ACCELERATOR}.{name}", attrs, site.anchor)

    return make


def clip(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    bound = bind("self parameters max_norm norm_type", args, kwargs)
    interp.event(
        "compute", site, author=AUTHOR, key="grad_clip", value=plain(bound.get("max_norm", bound.get("clip_value")))
    )
    return TensorValue((), "float32", "cuda")


def unwrap(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return inner(args[1] if len(args) > 1 else kwargs.get("model"))


def collective(name: str) -> Any:
    """``gather``, ``reduce``, ``wait_for_everyone``: the value keeps its dtype and device."""

    def call(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        value = args[1] if len(args) > 1 else kwargs.get("tensor", kwargs.get("input_data"))
        if interp.world.size != 1:
            interp.event(
                "collective", site, author=AUTHOR, collective=name, issued_by="call", blocking=True, parallelism="data"
            )
        if isinstance(value, TensorValue):
            shape = value.shape if name == "all_reduce" else None if value.shape is None else (None, *value.shape[1:])
            return TensorValue(shape, value.dtype, value.device)
        return value

    return call


def log(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    from cgx.indexer.overlays.transfer import sync

    for tensor in tensors_in(tuple(args[1:])):
        if on_device(tensor):
            sync(interp, "conversion", tensor, site)
    interp.event("log", site, author=AUTHOR, what=site.text)
    return None


def save(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    interp.event("checkpoint", site, author=AUTHOR, what=site.text, action="save")
    interp.event("copy", site, author=AUTHOR, direction="D2H", what=site.text, source="pageable", non_blocking=False, blocks_host=True,
                 sync_kind="other", carrier="checkpoint")  # fmt: skip
    return None


def load(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    interp.event("checkpoint", site, author=AUTHOR, what=site.text, action="load")
    return None


def printed(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    ranks = tuple(interp.world.ranks)
    with interp.inside(BranchNode(site.anchor, "is_local_main_process", ranks=(0,) if len(ranks) > 1 else None)):
        return log(interp, site, args, kwargs)


def nothing(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return None


def config(qname: str) -> Any:
    def construct(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        return Opaque(qname, dict(kwargs), site.anchor)

    return construct


def seed(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return args[0] if args else None


def state(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return construct(interp, site, [], {})


ENTRIES: dict[str, Any] = {
    ACCELERATOR: construct,
    "accelerate.accelerator.Accelerator": construct,
    f"{ACCELERATOR}.prepare": prepare,
    f"{ACCELERATOR}.prepare_model": prepare,
    f"{ACCELERATOR}.prepare_data_loader": prepare,
    f"{ACCELERATOR}.prepare_optimizer": prepare,
    f"{ACCELERATOR}.backward": backward,
    f"{ACCELERATOR}.accumulate": accumulate,
    f"{ACCELERATOR}.autocast": region("autocast"),
    f"{ACCELERATOR}.no_sync": region("no_sync"),
    f"{ACCELERATOR}.profile": region("profile"),
    f"{ACCELERATOR}.clip_grad_norm_": clip,
    f"{ACCELERATOR}.clip_grad_value_": clip,
    f"{ACCELERATOR}.unwrap_model": unwrap,
    f"{ACCELERATOR}.gather": collective("all_gather"),
    f"{ACCELERATOR}.gather_for_metrics": collective("all_gather"),
    f"{ACCELERATOR}.reduce": collective("all_reduce"),
    f"{ACCELERATOR}.wait_for_everyone": collective("barrier"),
    f"{ACCELERATOR}.log": log,
    f"{ACCELERATOR}.print": printed,
    f"{ACCELERATOR}.save": save,
    f"{ACCELERATOR}.save_state": save,
    f"{ACCELERATOR}.save_model": save,
    f"{ACCELERATOR}.load_state": load,
    f"{ACCELERATOR}.end_training": nothing,
    f"{ACCELERATOR}.init_trackers": nothing,
    f"{ACCELERATOR}.register_for_checkpointing": nothing,
    f"{ACCELERATOR}.free_memory": nothing,
    f"{ACCELERATOR}.get_state_dict": lambda interp, site, args, kwargs: interp.call(
        interp.getattr(inner(args[1]), "state_dict", site), [], {}, site
    ),
    "accelerate.utils.set_seed": seed,
    "accelerate.PartialState": state,
    "accelerate.state.PartialState": state,
}
for _name in ("DataLoaderConfiguration", "DistributedDataParallelKwargs", "ProjectConfiguration", "InitProcessGroupKwargs", "DeepSpeedPlugin",
              "FullyShardedDataParallelPlugin", "GradScalerKwargs", "AutocastKwargs", "GradientAccumulationPlugin"):  # fmt: skip
    ENTRIES[f"accelerate.utils.{_name}"] = ENTRIES[f"accelerate.{_name}"] = config(f"accelerate.utils.{_name}")
BASES: dict[str, tuple[str, ...]] = {}
