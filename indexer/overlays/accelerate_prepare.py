"""``Accelerator.prepare``: what it makes of models, optimizers, schedulers and loaders (read from accelerate 0.34-1.15).

Alone: the model is moved and its forward put under autocast. Several processes: DistributedDataParallel, or the sharding that the
launcher's variables or a plugin name. Loaders give each process its share and put batches on the device, blocking unless told otherwise.
"""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.stdlib.support import holder, nothing
from cgx.indexer.interpreter.values import DictValue, External, ModuleInstance, Native, Opaque, Unknown, Value
from cgx.indexer.overlays import deepspeed, fsdp
from cgx.indexer.overlays.arguments import bind, flag, items_of, plain, tensors_in
from cgx.indexer.overlays.data_loader import LOADER, iterable
from cgx.indexer.overlays.deepspeed_config import AUTO, Settings, batch_of, read
from cgx.indexer.overlays.lifecycle import ddp, place_model
from cgx.indexer.overlays.schedulers import SCHEDULER
from cgx.indexer.overlays.transfer import module_tensors
from cgx.indexer.overlays.wrappers import inner

AUTHOR = "overlays.accelerate_prepare"
ACCELERATOR = "accelerate.Accelerator"
WRAPPED = "accelerate.utils.DeepSpeedOptimizerWrapper"
PRECISION = {"fp16": "float16", "bf16": "bfloat16"}
TRUE = ("true", "1", "yes", "y", "t", "on")


def option_of(interp: Any, name: str, default: str = "") -> str:
    """A variable that the launcher sets, in lower case."""
    found = interp.env.get(name)
    return found.lower() if isinstance(found, str) else default


def kind_of_run(interp: Any, accelerator: Opaque) -> str:
    """``DistributedType`` as a word."""
    if accelerator.attrs.get("deepspeed_plugin") is not None or option_of(interp, "ACCELERATE_USE_DEEPSPEED") in TRUE:
        return "DEEPSPEED"
    if interp.world.size == 1:
        return "NO"
    if accelerator.attrs.get("fsdp_plugin") is not None or option_of(interp, "ACCELERATE_USE_FSDP") in TRUE:
        return "FSDP"
    return "MULTI_GPU"


def steps_of(interp: Any, bound: dict[str, Value]) -> Value:
    """Micro-steps of a step: the plugin's, the launcher's, else the argument's."""
    plugin = bound.get("gradient_accumulation_plugin")
    if isinstance(plugin, Opaque):
        return plugin.attrs.get("num_steps", 1)
    told = option_of(interp, "ACCELERATE_GRADIENT_ACCUMULATION_STEPS")
    if told.isdigit():
        return int(told)
    given = bound.get("gradient_accumulation_steps", 1)
    return 1 if given is None else given


def configuration_of(interp: Any, accelerator: Opaque) -> dict[str, Any]:
    """FSDP's options: of the plugin, else of the launcher."""
    plugin = accelerator.attrs.get("fsdp_plugin")
    told: dict[str, Value] = plugin.attrs if isinstance(plugin, Opaque) else {}

    def get(name: str, variable: str, default: str) -> str:
        given = told.get(name)
        return str(plain(given)).lower() if given is not None and plain(given) is not None else option_of(interp, variable, default)

    named = told.get("transformer_cls_names_to_wrap")
    layers = [one for one in items_of(named) or [] if isinstance(one, str)] if named is not None else []
    listed = interp.env.get("FSDP_TRANSFORMER_CLS_TO_WRAP")
    layers = layers or ([one.strip() for one in listed.split(",") if one.strip()] if isinstance(listed, str) else [])
    version = get("fsdp_version", "FSDP_VERSION", "1")
    return {
        "version": 2 if version == "2" else 1,
        "strategy": get("sharding_strategy", "FSDP_SHARDING_STRATEGY", "full_shard").upper(),
        "reshard": get("reshard_after_forward", "FSDP_RESHARD_AFTER_FORWARD", "true"),
        "offload": get("cpu_offload", "FSDP_OFFLOAD_PARAMS", "false") in TRUE,
        "sync": get("sync_module_states", "FSDP_SYNC_MODULE_STATES", "true") in TRUE,
        "policy": get("auto_wrap_policy", "FSDP_AUTO_WRAP_POLICY", "no_wrap"),
        "recompute": get("activation_checkpointing", "FSDP_ACTIVATION_CHECKPOINTING", "false") in TRUE,
        "layers": layers,
    }


STRATEGIES = {"1": "FULL_SHARD", "2": "SHARD_GRAD_OP", "3": "NO_SHARD", "4": "HYBRID_SHARD", "5": "HYBRID_SHARD_ZERO2"}


def prepare(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Each argument in turn; a tuple where there are several."""
    accelerator, given = args[0], [*args[1:], *(value for name, value in kwargs.items() if name in ("model", "data_loader", "optimizer", "scheduler"))]
    if accelerator.attrs.get("distributed_type") == "DEEPSPEED" and any(is_model(one) or is_optimizer(one) for one in given):
        done = by_deepspeed(interp, accelerator, given, site)
    else:
        done = [prepare_one(interp, accelerator, one, site, flag(kwargs.get("evaluation_mode"), False) is True) for one in given]
    return done[0] if len(done) == 1 else tuple(done)


def is_model(value: Value) -> bool:
    return isinstance(inner(value), ModuleInstance)


def is_optimizer(value: Value) -> bool:
    return isinstance(value, Opaque) and "param_groups" in value.attrs


def prepare_one(interp: Any, accelerator: Opaque, value: Value, site: Any, evaluates: bool = False) -> Value:
    if is_model(value):
        return prepared_model(interp, accelerator, value, site, evaluates)
    if isinstance(value, Opaque) and value.qname == LOADER:
        return prepared_loader(interp, accelerator, value, site)
    if is_optimizer(value):
        return prepared_optimizer(interp, accelerator, value)
    return value


def prepared_model(interp: Any, accelerator: Opaque, model: Value, site: Any, evaluates: bool) -> Value:
    """Autocast round the forward, the device, then the wrapper; a model that learns nothing is not wrapped."""
    target = inner(model)
    assert isinstance(target, ModuleInstance)
    kind = accelerator.attrs.get("distributed_type")
    remember(interp, accelerator, model)
    if autocast := accelerator.attrs.get("cgx.autocast"):
        interp.trail.set_item(target.attrs, "__cgx_autocast__", autocast)
        interp.event("compute", site, author=AUTHOR, key="precision", value=autocast, how="autocast round the prepared model's forward")
    placed = flag(accelerator.attrs.get("device_placement"), True) and not accelerator.attrs.get("cgx.on_host")
    if kind == "FSDP" and not evaluates:
        result = sharded(interp, accelerator, model, site)
    else:
        if placed:
            place_model(interp, target, site)
        learns = any(tensor.requires_grad is not False for tensor in module_tensors(target) if tensor.parameter)
        result = model if evaluates or not learns else ddp(interp, model, site, AUTHOR)
    return compiled(interp, target, result, site)


def remember(interp: Any, accelerator: Opaque, model: Value) -> None:
    interp.trail.set_item(accelerator.attrs, "cgx.models", (*accelerator.attrs.get("cgx.models", ()), model))


def compiled(interp: Any, target: ModuleInstance, result: Value, site: Any) -> Value:
    """``--dynamo_backend``: compiled last."""
    backend = option_of(interp, "ACCELERATE_DYNAMO_BACKEND", "no")
    if backend in ("", "no"):
        return result
    from cgx.indexer.overlays.compile import mark

    mark(interp, target, site, {"backend": backend, "mode": option_of(interp, "ACCELERATE_DYNAMO_MODE", "default")})
    return result


def sharded(interp: Any, accelerator: Opaque, model: Value, site: Any) -> Value:
    """FSDP 1 or 2, one unit for each layer class that is named."""
    target = inner(model)
    options = configuration_of(interp, accelerator)
    names = options["layers"] if "no_wrap" not in options["policy"] else []
    units = fsdp.module_units(target, names) if names else []
    strategy = STRATEGIES.get(options["strategy"], options["strategy"].rpartition(".")[2])
    two = options["version"] == 2
    wrapper = "fully_shard" if two else "FullyShardedDataParallel"
    if not two and options["sync"]:
        interp.event("collective", site, author=AUTHOR, collective="broadcast", parallelism="data", blocking=True, issued_by=wrapper,
                     what="parameters and buffers", key="set_up")  # fmt: skip
    if not options["offload"]:
        fsdp.to_device(interp, [target], None, site)
        for tensor in module_tensors(target):
            if tensor.device == "cpu":
                interp.trail.set(tensor, "device", "cuda")
    reshard = options["reshard"] in TRUE if two else strategy in ("FULL_SHARD", "HYBRID_SHARD")
    for one in [*units, target]:
        interp.trail.append(one.wrappers, (wrapper, site.anchor))
        interp.event("wrap", site, author=AUTHOR, wrapper=wrapper, module=one, modules=[one], strategy=strategy, reshard_after_forward=reshard,
                     parallelism="data", replicated=strategy.startswith("HYBRID"))  # fmt: skip
    if options["recompute"]:
        interp.event("compute", site, author=AUTHOR, key="activation_checkpointing", value=f"each {', '.join(names) or 'unit'}", target=target)
    interp.trail.set_item(interp.flags, "sharded", True)
    return model if two else Opaque(fsdp.FSDP, {"module": model}, site.anchor)


def prepared_optimizer(interp: Any, accelerator: Opaque, value: Opaque) -> Value:
    """It steps and zeroes at the last micro-step; with float16 through the scaler."""
    interp.trail.set_item(value.attrs, "cgx.accumulate", accelerator.attrs["gradient_accumulation_steps"])
    if accelerator.attrs.get("scaler") is not None:
        interp.trail.set_item(value.attrs, "cgx.scaled", True)
    for group in tensors_in(value.attrs["param_groups"]):
        if group.device == "cuda":
            interp.trail.set_item(value.attrs, "cgx.device", "cuda")
    return value


# -- loaders --------------------------------------------------------------------------------------------------------


def prepared_loader(interp: Any, accelerator: Opaque, loader: Opaque, site: Any) -> Opaque:
    """The same loader, shared among the processes, whose batches arrive on the device."""
    config = accelerator.attrs.get("dataloader_config")
    told: dict[str, Value] = config.attrs if isinstance(config, Opaque) else accelerator.attrs
    placed = flag(accelerator.attrs.get("device_placement"), True) and not accelerator.attrs.get("cgx.on_host")
    attrs: dict[str, Value] = dict(loader.attrs)
    if placed:
        attrs["cgx.to_device"] = ("cuda", bool(flag(told.get("non_blocking"), False)))
    if interp.world.size == 1:
        return Opaque(LOADER, attrs, loader.anchor, loader.name)
    streams = iterable(attrs.get("dataset"))
    dispatches = flag(told.get("dispatch_batches"), streams)
    if flag(told.get("split_batches"), False) and isinstance(attrs.get("batch_size"), int) and isinstance(interp.world.size, int):
        attrs["batch_size"] = max(1, attrs["batch_size"] // interp.world.size)
    attrs["cgx.shards"] = interp.world.size
    if dispatches:
        attrs["cgx.on_batch"] = Native("DataLoaderDispatcher.__iter__", lambda i, at, a, k: dispatched(i, at))
    elif shuffles(attrs) and not streams:
        attrs["cgx.on_start"] = Native("synchronize_rng_states", lambda i, at, a, k: same_random(i, at))
    return Opaque(LOADER, attrs, loader.anchor, loader.name)


def shuffles(attrs: dict[str, Value]) -> bool:
    """Its sampler draws from a generator that all processes must share."""
    sampler = attrs.get("sampler")
    return isinstance(sampler, Opaque) and sampler.qname.endswith(("RandomSampler", "SubsetRandomSampler", "WeightedRandomSampler"))


def same_random(interp: Any, site: Any) -> Value:
    """At the start of each round: rank 0's generator state goes to the device, to the others, and back to the host."""
    interp.event("copy", site, author=AUTHOR, direction="H2D", what="state of the sampler's generator", source="pageable", non_blocking=False,
                 blocks_host=True, sync_kind="other", phase="data", carrier="random state")  # fmt: skip
    interp.event("collective", site, author=AUTHOR, collective="broadcast", issued_by="DataLoaderShard", blocking=True, async_op=False, parallelism="data",
                 what="state of the sampler's generator", phase="data")  # fmt: skip
    interp.event("sync", site, author=AUTHOR, sync="cpu", what="state of the sampler's generator", reads=True, phase="data")
    return None


def dispatched(interp: Any, site: Any) -> Value:
    """The main process reads for all: the structure goes round as objects, then each tensor."""
    for what in ("structure of the batch", "tensors of the batch"):
        interp.event("collective", site, author=AUTHOR, collective="broadcast", issued_by="DataLoaderDispatcher", blocking=True, parallelism="data", what=what,
                     phase="data")  # fmt: skip
    return None


# -- DeepSpeed ------------------------------------------------------------------------------------------------------


def by_deepspeed(interp: Any, accelerator: Opaque, given: list[Value], site: Any) -> list[Value]:
    """One engine for the model; its optimizer's own ``step`` does nothing, ``accelerator.backward`` steps the engine."""
    loaders = [one for one in given if isinstance(one, Opaque) and one.qname == LOADER]
    settings = settings_of(interp, accelerator, loaders, site)
    model = next((one for one in given if is_model(one)), None)
    optimizer = next((one for one in given if is_optimizer(one)), None)
    batch = batch_of(settings, interp.world.size)
    bound: dict[str, Value] = {"model": model, "optimizer": optimizer}
    engine, made, _, _ = deepspeed.start(interp, site, bound, settings, batch, deepspeed.ENGINE)
    interp.trail.set_item(accelerator.attrs, "cgx.engine", engine)
    remember(interp, accelerator, engine)
    stepped = Opaque(WRAPPED, {"param_groups": made.attrs.get("param_groups") if isinstance(made, Opaque) else None, "optimizer": made}, site.anchor)
    found: list[Value] = []
    for one in given:
        if is_model(one):
            found.append(engine)
        elif is_optimizer(one):
            found.append(stepped)
        elif isinstance(one, Opaque) and one.qname == LOADER:
            found.append(prepared_loader(interp, accelerator, one, site))
        elif isinstance(one, Opaque) and one.qname.startswith("torch.optim.lr_scheduler"):
            interp.trail.set_item(engine.attrs, "lr_scheduler", one)
            found.append(Opaque(WRAPPED, {"scheduler": one}, site.anchor))
        else:
            found.append(one)
    return found


def settings_of(interp: Any, accelerator: Opaque, loaders: list[Opaque], site: Any) -> Settings:
    """The plugin's configuration or file, else what the launcher's variables say; ``auto`` is filled in from the job."""
    plugin = accelerator.attrs.get("deepspeed_plugin")
    told: dict[str, Value] = plugin.attrs if isinstance(plugin, Opaque) else {}
    given = told.get("hf_ds_config", interp.env.get("ACCELERATE_DEEPSPEED_CONFIG_FILE"))
    settings = read(interp, given, site) if given is not None else Settings(from_variables(interp, told))
    if settings.missing is None:
        fill(accelerator, settings.data, loaders)
    return settings


def from_variables(interp: Any, told: dict[str, Value]) -> dict[str, Any]:
    def get(name: str, variable: str, default: Any) -> Any:
        given = told.get(name)
        if given is not None:
            return given if isinstance(given, Unknown) else plain(given)
        text = option_of(interp, variable)
        return text or default

    clip = get("gradient_clipping", "ACCELERATE_GRADIENT_CLIPPING", None)
    stage = get("zero_stage", "ACCELERATE_DEEPSPEED_ZERO_STAGE", 2)
    data: dict[str, Any] = {
        "train_micro_batch_size_per_gpu": AUTO, "gradient_accumulation_steps": told.get("gradient_accumulation_steps", AUTO),
        "zero_optimization": {
            "stage": int(stage) if str(stage).isdigit() else stage,
            "offload_optimizer": {"device": get("offload_optimizer_device", "ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_DEVICE", "none")},
            "offload_param": {"device": get("offload_param_device", "ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_DEVICE", "none")},
        },
    }  # fmt: skip
    if clip not in (None, "none"):
        data["gradient_clipping"] = float(clip) if isinstance(clip, str | int | float) else clip
    return data


def fill(accelerator: Opaque, data: dict[str, Any], loaders: list[Opaque]) -> None:
    """``auto``: precision of the Accelerator, batch size of the loaders, clipping at 1."""
    precision = accelerator.attrs.get("mixed_precision")
    for key, word in (("fp16", "fp16"), ("bf16", "bf16")):
        section = data.setdefault(key, {}) if key not in data and precision == word else data.get(key)
        if isinstance(section, dict) and section.get("enabled", AUTO) == AUTO:
            section["enabled"] = precision == word
    if data.get("gradient_accumulation_steps", AUTO) == AUTO:
        data["gradient_accumulation_steps"] = accelerator.attrs.get("gradient_accumulation_steps", 1)
    sizes = [one.attrs.get("batch_size") for one in loaders]
    if data.get("train_micro_batch_size_per_gpu", AUTO) == AUTO and data.get("train_batch_size", AUTO) == AUTO:
        known = [size for size in sizes if isinstance(size, int)]
        data["train_micro_batch_size_per_gpu"] = min(known) if known and len(known) == len(sizes) else Unknown("batch_size", "parameter", hint="int")
        data["train_batch_size"] = None
    if data.get("gradient_clipping") == AUTO:
        data["gradient_clipping"] = 1.0


def dummy(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``DummyOptim``, ``DummyScheduler``: stand in for what the configuration names."""
    bound = bind("params lr weight_decay", args, kwargs)
    return Opaque("accelerate.utils.DummyOptim", {**bound, "param_groups": DictValue(open=True), "cgx.dummy": True}, site.anchor)


ENTRIES: dict[str, Any] = {f"{WRAPPED}.{name}": nothing for name in ("step", "zero_grad", "state_dict", "load_state_dict", "train", "eval")}
ENTRIES |= {
    f"{WRAPPED}.get_last_lr": lambda interp, site, args, kwargs: interp.call(External(f"{SCHEDULER}.get_last_lr"), [args[0]], {}, site),
    "accelerate.utils.DummyOptim": dummy,
    "accelerate.utils.DummyScheduler": holder("torch.optim.lr_scheduler.DummyScheduler"),
}
BASES: dict[str, tuple[str, ...]] = {}
