"""mmengine's Runner as a literal life cycle (read from mmengine 0.7-0.10), where its source is not given.

Epoch- and iteration-based loops, default hooks, validation and checkpoints. What the framework does stands at the call of
the job that starts it; the job's own methods keep their lines.
"""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.stdlib.support import nothing
from cgx.indexer.interpreter.trace import BranchNode, CallNode
from cgx.indexer.interpreter.values import (
    DictValue,
    DType,
    External,
    FunctionValue,
    Instance,
    ListValue,
    ModuleInstance,
    Opaque,
    TensorValue,
    Value,
)
from cgx.indexer.overlays import mmengine_optim as optim
from cgx.indexer.overlays import mmengine_parts as parts
from cgx.indexer.overlays.arguments import flag
from cgx.indexer.overlays.ddp import DDP
from cgx.indexer.overlays.lifecycle import batches, delivered, every, flags, loop, set_mode, take
from cgx.indexer.overlays.transfer import move_module
from cgx.indexer.overlays.wrappers import inner

AUTHOR = "overlays.mmengine"
RUNNER = "mmengine.runner.Runner"
DEFAULT_HOOKS: dict[str, dict[str, Value]] = {
    "runtime_info": {"type": "RuntimeInfoHook"}, "timer": {"type": "IterTimerHook"}, "sampler_seed": {"type": "DistSamplerSeedHook"},
    "logger": {"type": "LoggerHook"}, "param_scheduler": {"type": "ParamSchedulerHook"}, "checkpoint": {"type": "CheckpointHook", "interval": 1},
}  # fmt: skip
OPTIONS = ["model", "work_dir", "train_dataloader", "val_dataloader", "test_dataloader", "train_cfg", "val_cfg", "test_cfg", "auto_scale_lr", "optim_wrapper", "param_scheduler", "val_evaluator", "test_evaluator", "default_hooks", "custom_hooks", "data_preprocessor", "load_from", "resume", "launcher", "env_cfg", "log_processor", "log_level", "visualizer", "default_scope", "randomness", "experiment_name", "cfg"]


def construct(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Processes are joined, the seed and the time are agreed on, the model is built, moved and wrapped."""
    given: dict[str, Value] = {**dict(zip(OPTIONS, args)), **kwargs}
    runner = Opaque(RUNNER, dict(given), site.anchor)
    if given.get("launcher") not in (None, "none") and interp.world.size != 1:
        interp.call(External("torch.distributed.init_process_group"), ["nccl"], {}, site)
        agreed(interp, site, "seed", parts.rows(given.get("randomness")) or {})
        collective(interp, site, "broadcast", "timestamp")
    model = built_model(interp, given, site)
    runner.attrs["model"] = wrapped(interp, model, given, site)
    runner.attrs["cgx.hooks"] = hooks(interp, given, site)
    return runner


def from_cfg(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``Runner.from_cfg(cfg)``."""
    config = args[-1] if args else kwargs.get("cfg")
    held = parts.rows(config)
    if held is None:
        return interp.unknown(site.text, "unmodelled", site)
    scope = held.get("default_scope")
    if isinstance(scope, str):
        for part in ("models", "datasets", "engine", "evaluation", "visualization"):
            interp.attempt(lambda part=part: interp.import_module(f"{scope}.{part}", site))
    return construct(interp, site, [], {name: held[name] for name in OPTIONS if name in held} | {"cfg": config})


def collective(interp: Any, site: Any, name: str, what: str, blocking: bool = True) -> None:
    if interp.world.size != 1:
        interp.event("collective", site, author=AUTHOR, collective=name, issued_by="call", parallelism="data", blocking=blocking, async_op=False, what=what)


def agreed(interp: Any, site: Any, what: str, randomness: dict[Any, Value]) -> None:
    """Rank 0's number for all: made on the device, broadcast, read back. Not where a seed is given."""
    if randomness.get("seed") is not None:
        return
    interp.event("copy", site, author=AUTHOR, direction="H2D", what=what, source="pageable", non_blocking=False, blocks_host=True, bytes=4, sync_kind="other", factory=True)
    collective(interp, site, "broadcast", what)
    interp.event("sync", site, author=AUTHOR, sync="item", what=what, reads=True, bytes=4)


def built_model(interp: Any, given: dict[str, Value], site: Any) -> Value:
    config = given.get("model")
    held = parts.rows(config)
    if held is not None and "data_preprocessor" not in held and given.get("data_preprocessor") is not None:
        config = DictValue({**held, "data_preprocessor": given["data_preprocessor"]})
    return parts.build(interp, config, ("MODELS",), site)


def wrapped(interp: Any, model: Value, given: dict[str, Value], site: Any) -> Value:
    """``wrap_model``: moved to the device; in several processes MMDistributedDataParallel, without broadcasts of buffers."""
    if not isinstance(model, ModuleInstance):
        return model
    move_module(interp, model, "cuda", None, False, site, what="model")
    config = parts.rows(given.get("cfg")) or {}
    if interp.world.size == 1 or given.get("launcher") in (None, "none"):
        return model
    if config.get("sync_bn") == "torch":
        model = interp.call(External("torch.nn.SyncBatchNorm.convert_sync_batchnorm"), [model], {}, site)
    options = parts.rows(config.get("model_wrapper_cfg")) or {}
    buffers = options.get("broadcast_buffers", bool(options))
    return interp.call(External(DDP), [model], {"broadcast_buffers": buffers}, site)


def hooks(interp: Any, given: dict[str, Value], site: Any) -> dict[str, Any]:
    """Default hooks over their defaults, and the custom ones: rows by name, objects of the job's own classes."""
    default: dict[str, Any] = {name: dict(row) for name, row in DEFAULT_HOOKS.items()}
    for name, value in (parts.rows(given.get("default_hooks")) or {}).items():
        default[str(name)] = None if value is None else {**default.get(str(name), {}), **(parts.rows(value) or {"object": value})}
    own, named = [], []
    for value in listed(given.get("custom_hooks")):
        row = parts.rows(value)
        built = parts.build(interp, value, ("HOOKS",), site) if row is None or not isinstance(row.get("type"), str) or parts.resolve(interp, row["type"], ("HOOKS",), site) else None
        (own.append(built) if isinstance(built, Instance) else named.append(row or {}))
    return {"default": default, "own": own, "named": named}


def listed(value: Value) -> list[Value]:
    return list(value.items) if isinstance(value, ListValue) else list(value) if isinstance(value, tuple) else [] if value is None else [value]


def told(interp: Any, runner: Opaque, name: str, site: Any, **kwargs: Value) -> None:
    """The job's own hooks."""
    for hook in runner.attrs["cgx.hooks"]["own"]:
        method = hook.cls.lookup(name)
        if isinstance(method, FunctionValue):
            interp.attempt(lambda hook=hook: interp.call(interp.getattr(hook, name, site), [runner], kwargs, site))


# -- training -------------------------------------------------------------------------------------------------------------


def train(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    runner = args[0]
    config = parts.rows(runner.attrs.get("train_cfg")) or {}
    by_epoch = by_epochs(config)
    loader = parts.loader(interp, runner.attrs.get("train_dataloader"), site)
    wrapper = optim.build(interp, inner(runner.attrs["model"]), runner.attrs.get("optim_wrapper"), site)
    schedulers = [parts.rows(one) or {} for one in listed(runner.attrs.get("param_scheduler"))]
    for one in schedulers:
        interp.event("compute", site, author=AUTHOR, key="lr_schedule", value=parts.name_of(one.get("type")))
    val = parts.loader(interp, runner.attrs.get("val_dataloader"), site) if runner.attrs.get("val_cfg") is not None else None
    metrics = [parts.build(interp, one, ("METRICS",), site) for one in listed(runner.attrs.get("val_evaluator"))] if val is not None else []
    runner.attrs |= {"optim_wrapper": wrapper, "train_dataloader": loader, "val_dataloader": val, "cgx.metrics": metrics, "cgx.schedulers": schedulers}
    told(interp, runner, "before_train", site)
    if by_epoch:
        epochs(interp, runner, config, loader, site)
    else:
        iterations(interp, runner, config, loader, site)
    told(interp, runner, "after_train", site)
    return runner.attrs["model"]


def by_epochs(config: dict[Any, Value]) -> bool:
    name = parts.name_of(config.get("type"))
    return name == "EpochBasedTrainLoop" if name else flag(config.get("by_epoch"), True) is not False


def epochs(interp: Any, runner: Opaque, config: dict[Any, Value], loader: Value, site: Any) -> None:
    """``EpochBasedTrainLoop``."""
    found = batches(interp, loader, site)
    with loop(interp, site, config.get("max_epochs"), "train_cfg.max_epochs", "range", "epoch"):
        told(interp, runner, "before_train_epoch", site)
        set_mode(interp, runner.attrs["model"], True, site)
        with loop(interp, site, found.length, "train_dataloader", "loader", "idx"):
            iteration(interp, runner, found, site, inner_count="idx")
        told(interp, runner, "after_train_epoch", site)
        scheduled(interp, runner, site, by_epoch=True)
        named_epoch_hooks(interp, runner, site)
        saved(interp, runner, site, by_epoch=True)
        if runner.attrs["val_dataloader"] is not None:
            with every(interp, site, "epoch", config.get("val_interval", 1), f"epoch % {config.get('val_interval', 1)} == 0"):
                validate(interp, runner, site)


def iterations(interp: Any, runner: Opaque, config: dict[Any, Value], loader: Value, site: Any) -> None:
    """``IterBasedTrainLoop``."""
    found = batches(interp, loader, site)
    set_mode(interp, runner.attrs["model"], True, site)
    with loop(interp, site, config.get("max_iters"), "train_cfg.max_iters", "range", "iter"):
        set_mode(interp, runner.attrs["model"], True, site)
        iteration(interp, runner, found, site, inner_count="iter")
        saved(interp, runner, site, by_epoch=False)
        if runner.attrs["val_dataloader"] is not None:
            with every(interp, site, "iter", config.get("val_interval", 1000)):
                validate(interp, runner, site)


def iteration(interp: Any, runner: Opaque, found: Any, site: Any, inner_count: str) -> None:
    """``run_iter``: train_step between the hooks."""
    model, wrapper = runner.attrs["model"], runner.attrs["optim_wrapper"]
    batch = take(interp, found, site)
    told(interp, runner, "before_train_iter", site, batch_idx=interp.unknown("batch_idx", "loop-carried", site, "int"), data_batch=batch)
    target = inner(model)
    own = target.cls.lookup("train_step") if isinstance(target, ModuleInstance) else None
    if isinstance(own, FunctionValue):
        outputs = interp.call(interp.getattr(target, "train_step", site), [batch], {"optim_wrapper": wrapper}, site)
    else:
        outputs = train_step(interp, runner, found, batch, site)
    told(interp, runner, "after_train_iter", site, batch_idx=interp.unknown("batch_idx", "loop-carried", site, "int"), data_batch=batch, outputs=outputs)
    reported(interp, runner, outputs, site, inner_count)
    scheduled(interp, runner, site, by_epoch=False)


def train_step(interp: Any, runner: Opaque, found: Any, batch: Value, site: Any) -> Value:
    """``BaseModel.train_step``; what it gives is what is logged."""
    model, wrapper = runner.attrs["model"], runner.attrs["optim_wrapper"]
    with optim.context(interp, wrapper, model, site):
        losses = forward(interp, model, preprocessed(interp, model, found, batch, True, site), "loss", site)
    own = inner(model).cls.lookup("parse_losses") if isinstance(inner(model), ModuleInstance) else None
    if isinstance(own, FunctionValue):
        parsed = interp.call(interp.getattr(inner(model), "parse_losses", site), [losses], {}, site)
        loss, log = parsed if isinstance(parsed, tuple) and len(parsed) == 2 else (parsed, losses)
    else:
        loss, log = parse_losses(losses)
    optim.update_params(interp, site, [wrapper, loss], {})
    return log


def preprocessed(interp: Any, model: Value, found: Any, batch: Value, training: bool, site: Any) -> Value:
    ready = parts.preprocess(interp, inner(model), batch, training, site)
    return delivered(interp, found, batch, False, site, AUTHOR) if ready is batch and not isinstance(batch, TensorValue) else ready


def forward(interp: Any, model: Value, data: Value, mode: str, site: Any) -> Value:
    """``_run_forward``: the batch spread over the model's own ``forward``."""
    if isinstance(data, DictValue) and data.items:
        return interp.call(model, [], {**{str(key): value for key, value in data.items.items()}, "mode": mode}, site)
    if isinstance(data, tuple | ListValue):
        return interp.call(model, listed(data), {"mode": mode}, site)
    return interp.call(model, [data], {"mode": mode}, site)


def parse_losses(losses: Value) -> tuple[Value, Value]:
    """The sum of what is named a loss, and every entry's mean: all of them on the device."""
    total = TensorValue((), "float32", "cuda", requires_grad=True)
    if not isinstance(losses, DictValue):
        return total, DictValue({"loss": total}, open=True)
    means = {key: TensorValue((), "float32", "cuda") for key in losses.items}
    return total, DictValue({"loss": total, **means}, open=losses.open)


def reported(interp: Any, runner: Opaque, outputs: Value, site: Any, counter: str) -> None:
    """Each entry of the log is read in each iteration; they are shown, with the memory's peak, every so many."""
    values = outputs.items.values() if isinstance(outputs, DictValue) else ()
    for value in values:
        if isinstance(value, TensorValue) and value.device == "cuda":
            interp.event("sync", site, author=AUTHOR, sync="item", what="log_vars", reads=True, bytes=4)
    hook = runner.attrs["cgx.hooks"]["default"].get("logger")
    if hook is None:
        return
    with every(interp, site, counter, hook.get("interval", 10), f"({counter} + 1) % {hook.get('interval', 10)} == 0"):
        if inner(runner.attrs["model"]) is not runner.attrs["model"]:
            interp.event("copy", site, author=AUTHOR, direction="H2D", what="max_memory_allocated", source="pageable", non_blocking=False, blocks_host=True,
                         bytes=4, sync_kind="other", factory=True)  # fmt: skip
            interp.event("sync", site, author=AUTHOR, sync="item", what="max_memory_allocated", reads=True, bytes=4)
        interp.event("log", site, author=AUTHOR, what="LoggerHook")


def scheduled(interp: Any, runner: Opaque, site: Any, by_epoch: bool) -> None:
    for one in runner.attrs["cgx.schedulers"]:
        if (flag(one.get("by_epoch"), True) is not False and not flag(one.get("convert_to_iter_based"), False)) is by_epoch:
            interp.event("compute", site, author=AUTHOR, key="lr_schedule", value="step", at="epoch" if by_epoch else "step")
    if not by_epoch and any(parts.name_of(row.get("type")) == "EMAHook" for row in runner.attrs["cgx.hooks"]["named"]):
        interp.event("compute", site, author=AUTHOR, key="ema", value="EMAHook")


def named_epoch_hooks(interp: Any, runner: Opaque, site: Any) -> None:
    """``SyncBuffersHook``: buffers are averaged at the end of each epoch."""
    if any(parts.name_of(row.get("type")) == "SyncBuffersHook" for row in runner.attrs["cgx.hooks"]["named"]):
        collective(interp, site, "all_reduce", "buffers")


def saved(interp: Any, runner: Opaque, site: Any, by_epoch: bool) -> None:
    """``CheckpointHook``: rank 0 takes weights and optimizer state to the host and writes them."""
    hook = runner.attrs["cgx.hooks"]["default"].get("checkpoint")
    if hook is None or (flag(hook.get("by_epoch"), True) is not False) is not by_epoch:
        return
    interval = hook.get("interval", -1)
    if not isinstance(interval, int) or interval < 1:
        return
    main = BranchNode(site.anchor, "is_main_process()", decided=True, ranks=(0,) if interp.world.size != 1 else None)
    with every(interp, site, "epoch" if by_epoch else "iter", interval), interp.inside(main):
        interp.event("checkpoint", site, author=AUTHOR, what="checkpoint", action="save")
        interp.event("copy", site, author=AUTHOR, direction="D2H", what="weights_to_cpu(model.state_dict()), optimizer state", source="pageable",
                     non_blocking=False, blocks_host=True, sync_kind="other", carrier="checkpoint")  # fmt: skip


# -- validation -----------------------------------------------------------------------------------------------------------


def validate(interp: Any, runner: Opaque, site: Any) -> None:
    """``ValLoop.run``, one region with all that it reports."""
    with interp.inside(CallNode(site.anchor, site.text, symbol="mmengine.runner.ValLoop.run")):
        val_loop(interp, runner, site)


def val_loop(interp: Any, runner: Opaque, site: Any) -> None:
    """Predictions batch by batch, results gathered through files, metrics on rank 0 for all."""
    model = runner.attrs["model"]
    told(interp, runner, "before_val_epoch", site)
    set_mode(interp, model, False, site)
    found = batches(interp, runner.attrs["val_dataloader"], site)
    config = parts.rows(runner.attrs.get("val_cfg")) or {}
    with loop(interp, site, found.length, "val_dataloader", "loader", "idx"), flags(interp, site, "torch.no_grad", grad=False):
        batch = take(interp, found, site)
        half = {"autocast": "float16"} if flag(config.get("fp16"), False) else {}
        if half:
            with flags(interp, site, "torch.autocast", dtype_value=DType("float16"), **half):
                outputs = predicted(interp, model, found, batch, site)
        else:
            outputs = predicted(interp, model, found, batch, site)
        for metric in runner.attrs["cgx.metrics"]:
            if isinstance(metric, Instance) and isinstance(metric.cls.lookup("process"), FunctionValue):
                interp.attempt(lambda metric=metric: interp.call(interp.getattr(metric, "process", site), [batch, outputs], {}, site))
    for _ in runner.attrs["cgx.metrics"]:
        collective(interp, site, "broadcast", "folder of the results")
        collective(interp, site, "barrier", "results are written")
        collective(interp, site, "broadcast", "metrics")
    interp.event("log", site, author=AUTHOR, what="LoggerHook")
    told(interp, runner, "after_val_epoch", site, metrics=DictValue(open=True))
    set_mode(interp, model, True, site)


def predicted(interp: Any, model: Value, found: Any, batch: Value, site: Any) -> Value:
    """``val_step``; DDP hands it to the module it holds."""
    target = inner(model)
    own = target.cls.lookup("val_step") if isinstance(target, ModuleInstance) else None
    if isinstance(own, FunctionValue):
        return interp.call(interp.getattr(target, "val_step", site), [batch], {}, site)
    return forward(interp, target, preprocessed(interp, model, found, batch, False, site), "predict", site)


def evaluate(name: str) -> Any:
    """``runner.val()`` and ``runner.test()``."""

    def run(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        runner = args[0]
        runner.attrs["val_dataloader"] = parts.loader(interp, runner.attrs.get(f"{name}_dataloader"), site)
        runner.attrs["cgx.metrics"] = [parts.build(interp, one, ("METRICS",), site) for one in listed(runner.attrs.get(f"{name}_evaluator"))]
        validate(interp, runner, site)
        return DictValue(open=True)

    return run


METHODS: dict[str, Any] = {
    "train": train, "val": evaluate("val"), "test": evaluate("test"), "register_hook": nothing, "load_checkpoint": nothing, "load_or_resume": nothing,
    "dump_config": nothing,
}  # fmt: skip
ENTRIES: dict[str, Any] = {f"{RUNNER}.{name}": handler for name, handler in METHODS.items()}
BASES: dict[str, tuple[str, ...]] = {parts.MODEL: ("torch.nn.Module",), parts.PREPROCESSOR: ("torch.nn.Module",)}
MAKERS: dict[str, Any] = {}
for _where in ("mmengine.runner", "mmengine"):  # as people import them: where classes stand, their source would be answered for too
    ENTRIES[f"{_where}.Runner"] = construct
    ENTRIES[f"{_where}.Runner.from_cfg"] = from_cfg
for _where in ("mmengine.model", "mmengine.model.base_model"):
    for _name in ("BaseModel", "BaseDataPreprocessor", "ImgDataPreprocessor"):
        if f"{_where}.{_name}" not in BASES:
            BASES[f"{_where}.{_name}"] = (parts.MODEL if _name == "BaseModel" else parts.PREPROCESSOR,)
    for _name in ("BaseDataPreprocessor", "ImgDataPreprocessor"):
        ENTRIES[f"{_where}.{_name}"] = parts.make_preprocessor(f"mmengine.model.{_name}")
        ENTRIES[f"{_where}.{_name}.__init__"] = parts.init_preprocessor
        ENTRIES[f"{_where}.{_name}.cast_data"] = parts.cast
        ENTRIES[f"{_where}.{_name}.forward"] = parts.image_batch if _name == "ImgDataPreprocessor" else parts.cast
    ENTRIES[f"{_where}.BaseModel.__init__"] = parts.init_model
for _name in ("BaseModule", "ModuleList", "Sequential", "ModuleDict"):
    BASES[f"mmengine.model.{_name}"] = (f"torch.nn.{'Module' if _name == 'BaseModule' else _name}",)
for _where in ("mmengine.optim", "mmengine.optim.optimizer"):
    for _name in ("OptimWrapper", "AmpOptimWrapper"):
        ENTRIES[f"{_where}.{_name}"] = optim.construct(_name)
ENTRIES |= {
    f"{optim.WRAPPER}.update_params": optim.update_params,
    f"{optim.WRAPPER}.backward": optim.backward_call,
    f"{optim.WRAPPER}.step": optim.step,
    f"{optim.WRAPPER}.zero_grad": optim.zero_grad,
    f"{optim.WRAPPER}.get_lr": optim.get_lr,
    f"{optim.WRAPPER}.optim_context": optim.context_call,
    f"{optim.WRAPPER}.optim_context.__enter__": optim.enter,
    f"{optim.WRAPPER}.optim_context.__exit__": optim.leave,
    "mmengine.dataset.DefaultSampler": parts.sampler(parts.SAMPLER, False),
    "mmengine.dataset.InfiniteSampler": parts.sampler(parts.ENDLESS, True),
    "mmengine.dataset.pseudo_collate": lambda interp, site, args, kwargs: parts.gathered(args[0] if args else None),
}
for _name in parts.NAMES:
    for _where in ("mmengine.registry", "mmengine"):
        MAKERS[f"{_where}.{_name}"] = parts.registry(_name)
