"""DeepSpeed: ``initialize`` and the engine it gives (read from deepspeed 0.15-0.19).

The engine casts the model, moves it to the device and broadcasts it; what it sends afterwards is told by its configuration
(:mod:`cgx.indexer.overlays.deepspeed_zero`). Its throughput timer waits for the device twice in every micro-step unless that is
switched off. Its own loader pins, with two workers.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from cgx.indexer.interpreter.stdlib.support import nothing
from cgx.indexer.interpreter.trace import BranchNode
from cgx.indexer.interpreter.values import (
    MISSING,
    Device,
    DictValue,
    External,
    Instance,
    ListValue,
    ModuleInstance,
    Native,
    Opaque,
    Unknown,
    Value,
)
from cgx.indexer.overlays import deepspeed_zero
from cgx.indexer.overlays.arguments import argument_text, bind, plain
from cgx.indexer.overlays.data_loader import LOADER
from cgx.indexer.overlays.deepspeed_config import AUTO, Batch, Settings, batch_of, read
from cgx.indexer.overlays.deepspeed_runtime import NAMED
from cgx.indexer.overlays.groups import ranks_of
from cgx.indexer.overlays.lifecycle import is_loss
from cgx.indexer.overlays.schedulers import SCHEDULER, last_lr
from cgx.indexer.overlays.transfer import move_module
from cgx.indexer.overlays.wrappers import inner, proxy_entries

AUTHOR = "overlays.deepspeed"
NAMES = ("deepspeed.initialize", "deepspeed.init_distributed", "deepspeed.add_config_arguments")
ENGINE = "deepspeed.DeepSpeedEngine"
SIGNATURE = (
    "args model optimizer model_parameters training_data lr_scheduler distributed_port mpu dist_init_required collate_fn config "
    "mesh_param config_params"
)
WORKERS = 2  # of the loader that the engine makes


def initialize(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """(engine, optimizer, loader, scheduler)."""
    from cgx.indexer.overlays import deepspeed_pipe

    bound = bind(SIGNATURE, args, kwargs)
    if deepspeed_pipe.is_pipeline(bound.get("model")):
        return deepspeed_pipe.initialize(interp, site, bound)
    settings = settings_of(interp, bound, site)
    return start(interp, site, bound, settings, batch_of(settings, interp.world.size), ENGINE)


def settings_of(interp: Any, bound: dict[str, Value], site: Any) -> Settings:
    given = bound.get("config", bound.get("config_params"))
    held = bound.get("args")
    if given is None and held is not None:
        given = interp.getattr(held, "deepspeed_config", site)
    return read(interp, given, site)


def start(interp: Any, site: Any, bound: dict[str, Value], settings: Settings, batch: Batch, qname: str) -> Value:
    """The engine with its optimizer, loader and scheduler."""
    model = bound.get("model")
    interp.trail.set_item(interp.flags, "dist_initialized", True)
    if settings.stage == 3:
        interp.trail.set_item(interp.flags, "zero3", True)
    place(interp, inner(model), settings, site)
    optimizer = engine_optimizer(interp, bound, settings, site)
    engine = Opaque(qname, {
        "module": model, "optimizer": optimizer, "lr_scheduler": the_scheduler(interp, bound, settings, site), "device": Device("cuda", ranks_of(interp)),
        "local_rank": ranks_of(interp), "global_rank": ranks_of(interp), "world_size": interp.world.size, "dp_world_size": interp.world.size,
        "cgx.settings": settings, "cgx.batch": batch, "cgx.loads": bound.get("training_data") is not None,
    }, site.anchor)  # fmt: skip
    precision(interp, settings, site)
    wrap_module(interp, inner(model), settings, site)
    data = bound.get("training_data")
    loader = None if data is None else make_loader(interp, engine, data, site, collate=bound.get("collate_fn"))
    return (engine, optimizer, loader, engine.attrs["lr_scheduler"])


def place(interp: Any, model: Value, settings: Settings, site: Any) -> None:
    """Cast on the host, moved, then the same on all ranks."""
    if not isinstance(model, ModuleInstance):  # whatever it is, it is moved
        interp.event("copy", site, author=AUTHOR, direction="H2D", what=argument_text(site, 1, "model") or "model", source="pageable", non_blocking=False,
                     blocks_host=True, carrier="module", sync_kind="other")  # fmt: skip
        broadcast(interp, site)
        return
    split = bool(interp.flags.get("zero3")) and settings.stage == 3 and any(name == "zero.Init" for name, _ in model.wrappers)
    move_module(interp, model, None, settings.dtype, False, site)
    move_module(interp, model, "cuda", None, False, site, what=argument_text(site, 1, "model") or "model")
    if not split:
        broadcast(interp, site)


def broadcast(interp: Any, site: Any) -> None:
    if interp.world.size != 1:
        interp.event("collective", site, author=AUTHOR, collective="broadcast", issued_by="DeepSpeedEngine", blocking=True, parallelism="data",
                     what="parameters")  # fmt: skip


def precision(interp: Any, settings: Settings, site: Any) -> None:
    """Half precision without autocast: the weights themselves are cast. In float16 the loss is scaled."""
    if settings.dtype is None:
        return
    interp.event("compute", site, author=AUTHOR, key="precision", value=settings.dtype, how="parameters cast by DeepSpeed; no autocast")
    if settings.dtype == "float16":
        scale = settings.get("fp16.loss_scale", 0)
        interp.event("compute", site, author=AUTHOR, key="grad_scaler", value="dynamic" if scale == 0 else plain(scale) or "enabled", enabled=True,
                     how="DeepSpeed loss scale")  # fmt: skip


def engine_optimizer(interp: Any, bound: dict[str, Value], settings: Settings, site: Any) -> Value:
    """The given one (or what the given function makes), else the one that the configuration names."""
    given = bound.get("optimizer")
    if isinstance(given, Opaque | Instance):
        return given
    if given is not None and not isinstance(given, Unknown):
        return interp.call(given, [bound.get("model_parameters")], {}, site)
    name = settings.get("optimizer.type")
    if not isinstance(name, str):
        return given
    on_device, on_host = NAMED.get(name.lower(), (f"torch.optim.{name}", ""))
    if settings.on("optimizer.params.torch_adam") and name.lower() in ("adam", "adamw"):
        on_device = on_host = f"torch.optim.{'AdamW' if name.lower() == 'adamw' else 'Adam'}"
    qname = on_host if on_host and settings.offloads("optimizer") else on_device
    options = {key: value for key, value in (settings.get("optimizer.params") or {}).items() if isinstance(value, int | float | bool)}
    options.pop("torch_adam", None)
    params = bound.get("model_parameters")
    if params is None and isinstance(inner(bound.get("model")), ModuleInstance):
        params = interp.call(interp.getattr(inner(bound["model"]), "parameters", site), [], {}, site)
    return interp.call(External(qname), [ListValue(open=True) if params is None else params], options, site)


def the_scheduler(interp: Any, bound: dict[str, Value], settings: Settings, site: Any) -> Value:
    """The given one, which the engine steps, else the one that the configuration names."""
    given = bound.get("lr_scheduler")
    name = settings.get("scheduler.type")
    if given is not None or not isinstance(name, str):
        return given
    options = settings.get("scheduler.params", {})
    shown = ", ".join(f"{key}={value}" for key, value in options.items() if isinstance(value, int | float) or value == AUTO) if isinstance(options, dict) else ""
    interp.event("compute", site, author=AUTHOR, key="lr_schedule", value=f"{name}({shown})")
    return Opaque(SCHEDULER, {}, site.anchor)


def wrap_module(interp: Any, module: Value, settings: Settings, site: Any) -> None:
    known = module if isinstance(module, ModuleInstance) else None
    if known is not None:
        interp.trail.append(known.wrappers, ("DeepSpeedEngine", site.anchor))
    interp.event("wrap", site, author=AUTHOR, wrapper="DeepSpeedEngine", module=known, sends=deepspeed_zero.sends(settings),
                 overlaps=deepspeed_zero.overlap(settings), parallelism="data")  # fmt: skip


def configuration(interp: Any, bound: dict[str, Value], site: Any) -> dict[str, Any] | Unknown:
    """For trainers that start an engine themselves: the configuration as plain data."""
    settings = settings_of(interp, bound, site)
    return settings.data if settings.missing is None else settings.missing


def the_optimizer(interp: Any, given: Value, config: dict[str, Any], site: Any) -> Value:
    return engine_optimizer(interp, {"optimizer": given}, Settings(config), site)


def wrap(interp: Any, module: Value, config: dict[str, Any], stage: Any, site: Any) -> None:
    wrap_module(interp, module, Settings(config), site)


def make_loader(interp: Any, engine: Opaque, data: Value, site: Any, **given: Value) -> Opaque:
    """``deepspeed_io``: shares for the ranks, pinned, with workers."""
    sampler = given.get("sampler") or interp.call(External("torch.utils.data.distributed.DistributedSampler"), [data], {}, site)
    workers, pin = given.get("workers"), given.get("pin")
    return Opaque(LOADER, {
        "dataset": data, "batch_size": engine.attrs["cgx.batch"].micro, "num_workers": WORKERS if workers is None else workers,
        "pin_memory": True if pin is None else pin, "drop_last": engine.attrs["cgx.settings"].on("dataloader_drop_last"), "sampler": sampler, "cgx.sampler": sampler,
        "collate_fn": given.get("collate"), "cgx.on_batch": Native("ThroughputTimer.start", lambda i, at, a, k: timed(i, engine, at, "data")),
    }, site.anchor)  # fmt: skip


def deepspeed_io(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    bound = bind("self dataset batch_size route pin_memory data_sampler collate_fn num_local_io_workers", args, kwargs)
    loader = make_loader(interp, bound["self"], bound.get("dataset"), site, sampler=bound.get("data_sampler"), collate=bound.get("collate_fn"),
                         workers=bound.get("num_local_io_workers"), pin=bound.get("pin_memory"))  # fmt: skip
    if bound.get("batch_size") is not None:
        loader.attrs["batch_size"] = bound["batch_size"]
    return loader


# -- one micro-step -------------------------------------------------------------------------------------------------


def timed(interp: Any, engine: Opaque, site: Any, phase: str) -> None:
    """The throughput timer waits for the device where it starts and where it stops, from the third step on."""
    settings = engine.attrs["cgx.settings"]
    if settings.missing is None and settings.on("timers.throughput.enabled", True) and settings.on("timers.throughput.synchronized", True):
        interp.event("sync", site, author=AUTHOR, sync="synchronize", what="DeepSpeed's throughput timer", phase=phase)


def call(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if not args[0].attrs.get("cgx.loads"):  # else the loader starts the timer
        timed(interp, args[0], site, "forward")
    if not isinstance(inner(args[0]), ModuleInstance):  # a model whose source is not there
        interp.note_unknown(inner(args[0]))
        interp.event("compute", site, author=AUTHOR, key="forward", value=site.text)
        return interp.unknown(site.text, "missing-module", site)
    return interp.call(args[0].attrs["module"], list(args[1:]), kwargs, site)


@contextlib.contextmanager
def at_boundary(interp: Any, engine: Opaque, site: Any) -> Iterator[None]:
    """At the last micro-step of a step."""
    steps = engine.attrs["cgx.batch"].steps
    if steps == 1:
        yield
        return
    node = BranchNode(site.anchor, "is_gradient_accumulation_boundary()", period=("micro-step", steps), decided=True)
    with interp.inside(node):
        yield


def backward(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    loss = args[1] if len(args) > 1 else kwargs.get("loss")
    interp.event("compute", site, author=AUTHOR, key="backward", value="engine.backward(loss)", loss=loss)
    is_loss(interp, site, loss)
    settings = args[0].attrs["cgx.settings"]
    for row in deepspeed_zero.offloaded(settings):
        if row["phase"] == "backward":
            interp.event("copy", site, author=AUTHOR, carrier="offload", **row)
    waits = deepspeed_zero.waits_in_backward(settings)
    if waits is not None and interp.world.size != 1:
        with at_boundary(interp, args[0], site) if waits[1] else contextlib.nullcontext():
            interp.event("sync", site, author=AUTHOR, sync="synchronize", what=waits[0], phase="backward")
    return loss


def step(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Clips, steps and zeroes at the end of an accumulation."""
    engine = args[0]
    with at_boundary(interp, engine, site):
        taken(interp, engine, site)
    timed_out(interp, engine, site)
    return None


def timed_out(interp: Any, engine: Opaque, site: Any) -> None:
    timed(interp, engine, site, "optimizer")
    if engine.attrs["cgx.settings"].on("wall_clock_breakdown"):
        interp.event("sync", site, author=AUTHOR, sync="synchronize", what="events of wall_clock_breakdown", phase="logging")


def taken(interp: Any, engine: Opaque, site: Any) -> None:
    optimizer, settings = engine.attrs.get("optimizer"), engine.attrs["cgx.settings"]
    for kind, what in deepspeed_zero.waits(settings):
        interp.event("sync", site, author=AUTHOR, sync=kind, what=what, internal=True)
    clip = settings.get("gradient_clipping", 0)
    if isinstance(clip, int | float) and clip > 0:
        interp.event("compute", site, author=AUTHOR, key="grad_clip", value=clip, how="norm")
    interp.event("compute", site, author=AUTHOR, key="optimizer_step", value=getattr(optimizer, "qname", "") or "optimizer.step")
    for row in deepspeed_zero.offloaded(settings):
        if row["phase"] == "optimizer":
            interp.event("copy", site, author=AUTHOR, carrier="offload", **row)
    interp.event("compute", site, author=AUTHOR, key="zero_grad", value={"set_to_none": True})
    if engine.attrs.get("lr_scheduler") is not None:
        interp.event("compute", site, author=AUTHOR, key="lr_schedule", value="step", at="step")


# -- what else an engine answers ------------------------------------------------------------------------------------


def save(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Every rank writes its part; with stage 3 the 16-bit model is gathered first."""
    interp.event("checkpoint", site, author=AUTHOR, what=site.text, action="save")
    interp.event("copy", site, author=AUTHOR, direction="D2H", what=site.text, source="pageable", non_blocking=False, blocks_host=True,
                 sync_kind="other", carrier="checkpoint")  # fmt: skip
    if interp.world.size != 1 and isinstance(args[0], Opaque):
        interp.event("collective", site, author=AUTHOR, collective="barrier", issued_by="DeepSpeedEngine", blocking=True, parallelism="data")
    return True


def save_whole(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``save_16bit_model``: stage 3 gathers the parameters on rank 0."""
    settings = args[0].attrs["cgx.settings"]
    if settings.stage == 3 and interp.world.size != 1:
        interp.event("collective", site, author=AUTHOR, collective="all_gather", issued_by="DeepSpeedEngine", blocking=True, parallelism="data",
                     what="parameters")  # fmt: skip
    return save(interp, site, args, kwargs)


def load(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """(path, client state)."""
    interp.event("checkpoint", site, author=AUTHOR, what=site.text, action="load")
    return (interp.unknown(site.text, "missing-file", site, hint="str"), DictValue(open=True))


def constant(value: Any) -> Any:
    return lambda interp, site, args, kwargs: value


def boundary(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    steps = args[0].attrs["cgx.batch"].steps
    return True if steps == 1 else interp.unknown(site.text, "loop-carried", site, hint="bool")


def size(name: str) -> Any:
    return lambda interp, site, args, kwargs: getattr(args[0].attrs["cgx.batch"], name)


def setting(path: str, default: Value = None) -> Any:
    """A method that gives a value of the configuration."""

    def ask(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        found = args[0].attrs["cgx.settings"].number(path, default)
        return found if isinstance(found, bool | int | float | str | Unknown) or found is None else interp.unknown(site.text, "parameter", site)

    return ask


def is_dtype(dtype: str) -> Any:
    return lambda interp, site, args, kwargs: args[0].attrs["cgx.settings"].dtype == dtype


def changing(hint: str) -> Any:
    return lambda interp, site, args, kwargs: interp.unknown(site.text, "loop-carried", site, hint=hint)


def no_sync(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    interp.event("compute", site, author=AUTHOR, key="grad_sync", value="no_sync", module=inner(args[0]))
    return Opaque(f"{ENGINE}.no_sync", {"module": inner(args[0])}, site.anchor)


def attribute(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The module's where it has it; counters of the engine change, the rest is not known."""
    engine, name = args[0], args[1]
    if name in COUNTERS:
        return interp.unknown(site.text, "loop-carried", site, hint="int")
    module = engine.attrs.get("module")
    if name == "module" or module is None:
        return MISSING
    if isinstance(inner(module), ModuleInstance) and interp.truth(interp.call(External("hasattr"), [module, name], {}, site)) is True:
        return interp.getattr(module, name, site)
    return interp.unknown(site.text, "unmodelled", site)


COUNTERS = frozenset({"global_steps", "micro_steps", "global_samples", "skipped_steps"})


def add_arguments(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``add_config_arguments(parser)``: ``--deepspeed``, ``--deepspeed_config`` and two more."""
    parser = args[0] if args else kwargs.get("parser")
    add = interp.getattr(parser, "add_argument", site)
    interp.call(add, ["--deepspeed"], {"default": False, "action": "store_true"}, site)
    interp.call(add, ["--deepspeed_config"], {"default": None, "type": External("str")}, site)
    interp.call(add, ["--deepscale"], {"default": False, "action": "store_true"}, site)
    interp.call(add, ["--deepscale_config"], {"default": None, "type": External("str")}, site)
    return parser


METHODS: dict[str, Any] = {
    "backward": backward,
    "step": step,
    "deepspeed_io": deepspeed_io,
    "no_sync": no_sync,
    "save_checkpoint": save,
    "save_16bit_model": save_whole,
    "save_fp16_model": save_whole,
    "load_checkpoint": load,
    "is_gradient_accumulation_boundary": boundary,
    "gradient_accumulation_steps": size("steps"),
    "train_batch_size": size("whole"),
    "train_micro_batch_size_per_gpu": size("micro"),
    "zero_optimization_stage": setting("zero_optimization.stage", 0),
    "zero_optimization": lambda interp, site, args, kwargs: args[0].attrs["cgx.settings"].stage != 0,
    "zero_optimization_partition_weights": lambda interp, site, args, kwargs: args[0].attrs["cgx.settings"].stage == 3,
    "gradient_clipping": setting("gradient_clipping", 0),
    "steps_per_print": setting("steps_per_print", 10),
    "bfloat16_enabled": is_dtype("bfloat16"),
    "fp16_enabled": is_dtype("float16"),
    "get_lr": last_lr,
    "get_mom": last_lr,
    "get_global_grad_norm": changing("float"),
    "was_step_applied": constant(True),
    "set_gradient_accumulation_boundary": nothing,
    "set_dataloader": nothing,
    "destroy": nothing,
    "compile": lambda interp, site, args, kwargs: interp.call(interp.getattr(args[0].attrs["module"], "compile", site), [], {}, site),
}
ENTRIES: dict[str, Any] = {
    "deepspeed.initialize": initialize,
    "deepspeed.add_config_arguments": add_arguments,
    **proxy_entries(ENGINE, hands_on=True),
    f"{ENGINE}.__getattr__": attribute,
    f"{ENGINE}.__call__": call,
    f"{ENGINE}.forward": call,
    **{f"{ENGINE}.{name}": handler for name, handler in METHODS.items()},
}
BASES: dict[str, tuple[str, ...]] = {ENGINE: ("torch.nn.Module",)}
