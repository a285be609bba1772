"""Lightning Fabric (read from lightning 2.0-2.6): ``setup`` moves and wraps, loaders put batches on the device, ``backward``.

Fabric's own source decides by what the machine has (accelerators, processes, precision plugins); this table says what it comes to
for one CUDA device a process, so it is used even where the source is given. The number of processes is the launch line's,
or ``devices`` times ``num_nodes`` where these are numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cgx.indexer.interpreter.stdlib.support import nothing
from cgx.indexer.interpreter.trace import BranchNode
from cgx.indexer.interpreter.values import (
    BoundMethod,
    Device,
    DType,
    FunctionValue,
    ListValue,
    ModuleInstance,
    Native,
    Opaque,
    Value,
)
from cgx.indexer.launch.plan import MAX_RANKS
from cgx.indexer.overlays import autograd, fsdp, lightning_loops, lightning_strategies
from cgx.indexer.overlays.accelerate import collective, load, log
from cgx.indexer.overlays.accelerate_state import by_rank, goes_first
from cgx.indexer.overlays.arguments import argument_text, bind, flag, plain
from cgx.indexer.overlays.data_loader import LOADER
from cgx.indexer.overlays.lifecycle import ddp, is_loss, moved_batch
from cgx.indexer.overlays.processes import set_world
from cgx.indexer.overlays.transfer import module_tensors, move_module
from cgx.indexer.overlays.wrappers import inner

AUTHOR = "overlays.lightning_fabric"
PACKAGES = ("lightning.fabric", "lightning_fabric")
FABRIC, LOGGER, STRATEGY = "lightning.fabric.Fabric", "lightning.fabric.loggers.Logger", "lightning.fabric.strategies.Strategy"
SIGNATURE = "accelerator strategy devices num_nodes precision plugins callbacks loggers"
AUTOCAST = {"16-mixed": "float16", "bf16-mixed": "bfloat16", "16": "float16", "bf16": "bfloat16"}
TRUE = {"16-true": "float16", "bf16-true": "bfloat16", "64-true": "float64", "64": "float64"}
Handler = Callable[..., Value]


def construct(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    bound = bind(SIGNATURE, args, kwargs)
    for name in ("accelerator", "strategy", "precision"):  # as `fabric run` said
        if bound.get(name) in (None, "auto") and isinstance(interp.env.get(f"LT_{name.upper()}"), str):
            bound[name] = interp.env[f"LT_{name.upper()}"]
    count, nodes = bound.get("devices", "auto"), bound.get("num_nodes", 1)
    if isinstance(count, ListValue) and not count.open:
        count = len(count.items)
    cpu = bound.get("accelerator") == "cpu"
    if isinstance(count, int) and isinstance(nodes, int) and count * nodes > 1 and not cpu and interp.world.size == 1:
        set_world(interp, count * nodes, count, tuple(range(min(count * nodes, MAX_RANKS))))
    elif not isinstance(count, int | str):
        interp.note_unknown(count)
    precision = str(plain(bound.get("precision")) or "32-true")
    kind = AUTOCAST.get(precision)
    attrs: dict[str, Value] = {
        **bound,
        "device": Device("cpu") if cpu else Device("cuda", by_rank(interp, lambda rank: rank)),
        "global_rank": by_rank(interp, lambda rank: rank),
        "local_rank": by_rank(interp, lambda rank: rank),
        "node_rank": 0,
        "world_size": interp.world.size,
        "is_global_zero": by_rank(interp, lambda rank: rank == 0),
        "strategy": chosen(interp, bound.get("strategy", "auto"), site),
        "logger": first(bound.get("loggers")),
        "loggers": bound.get("loggers", ListValue()),
        "cgx.device": "cpu" if cpu else "cuda",
        "cgx.autocast": kind,
        "cgx.dtype": TRUE.get(precision),
    }
    if kind or attrs["cgx.dtype"]:
        how = "autocast by the forward of what setup gave" if kind else "parameters and inputs"
        interp.event("compute", site, author=AUTHOR, key="precision", value=kind or attrs["cgx.dtype"], how=how)
    return Opaque(FABRIC, attrs, site.anchor)


def chosen(interp: Any, given: Value, site: Any) -> Value:
    """``strategy``: an object as it is; for a name an object of the strategy's class."""
    given = interp.pick(given)
    if isinstance(given, Opaque):
        return given
    name = given if isinstance(given, str) else "auto"
    if name == "auto":
        name = "ddp" if interp.world.size != 1 else "single"
    tail = next((tail for word, tail in NAMES.items() if name.startswith(word)), "Strategy")
    return Opaque(f"lightning.fabric.strategies.{tail}", {"name": name}, site.anchor)


NAMES = {"model_parallel": "ModelParallelStrategy", "ddp": "DDPStrategy", "fsdp": "FSDPStrategy", "deepspeed": "DeepSpeedStrategy", "single": "SingleDeviceStrategy", "dp": "DataParallelStrategy"}


def first(value: Value) -> Value:
    if isinstance(value, ListValue):
        return value.items[0] if value.items else None
    return value


def launch(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``fabric.launch(function, ...)``: the function gets the Fabric object first."""
    if interp.world.size != 1:
        interp.trail.set_item(interp.flags, "dist_initialized", True)
        interp.event("launch", site, author=AUTHOR, what="init_process_group")
    function = args[1] if len(args) > 1 else kwargs.pop("function", None)
    if isinstance(function, FunctionValue | BoundMethod):
        return interp.call(function, [args[0], *args[2:]], kwargs, site)
    return None


def setup(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``setup(module, *optimizers, move_to_device=True)``: the same objects, moved and wrapped."""
    fabric, given = args[0], args[1:]
    module = given[0] if given else kwargs.get("module")
    wrapped = set_up(interp, fabric, module, flag(kwargs.get("move_to_device"), True), site)
    return wrapped if len(given) < 2 else (wrapped, *given[1:])


def set_up(interp: Any, fabric: Opaque, module: Value, move: bool | None, site: Any) -> Value:
    """A true precision converts first; ``strategy.module_to_device`` moves (not for shards), ``strategy.setup_module`` wraps."""
    target, kind = inner(module), kind_of(fabric)
    if isinstance(target, ModuleInstance):
        goes = move and kind not in ("FSDP", "ModelParallel")
        what = argument_text(site, 0, "module") or "model"
        if goes or fabric.attrs["cgx.dtype"]:
            move_module(interp, target, fabric.attrs["cgx.device"] if goes else None, fabric.attrs["cgx.dtype"], False, site, what=what)
        interp.trail.append(target.wrappers, ("_FabricModule", site.anchor))
        if fabric.attrs["cgx.autocast"]:
            interp.trail.set_item(target.attrs, "__cgx_autocast__", fabric.attrs["cgx.autocast"])
    if fabric.attrs["cgx.device"] == "cpu":
        return ddp(interp, module, site, AUTHOR)
    options = lightning_strategies.options_of(fabric.attrs["strategy"])
    if kind in ("FSDP", "ModelParallel", "DeepSpeed") and isinstance(target, ModuleInstance):
        for tensor in module_tensors(target):
            if tensor.device == "meta":  # filled on the device as it is sharded
                interp.trail.set(tensor, "device", "cuda")
    if kind == "FSDP":
        dtype = fabric.attrs["cgx.autocast"] or fabric.attrs["cgx.dtype"]
        if options.get("mixed_precision") is None and dtype is not None:
            each: dict[str, Value] = {f"{name}_dtype": DType(dtype) for name in ("param", "reduce", "buffer")}
            options["mixed_precision"] = Opaque(fsdp.POLICY, each, site.anchor)
        return module if interp.world.size == 1 else lightning_strategies.shard(interp, module, options, site)
    if kind == "ModelParallel" and options.get("parallelize_fn") is not None:
        found = interp.call(options["parallelize_fn"], [module, lightning_strategies.mesh(interp, fabric, site)], {}, site)
        return found if isinstance(inner(found), ModuleInstance) else module
    if kind == "DeepSpeed":
        lightning_strategies.by_deepspeed(interp, fabric, module, site)
        return module
    return ddp(interp, module, site, AUTHOR)


def kind_of(fabric: Opaque) -> str:
    """The strategy: DDP, FSDP, DeepSpeed, ModelParallel, SingleDevice."""
    strategy = fabric.attrs.get("strategy")
    return strategy.qname.rpartition(".")[2].removesuffix("Strategy") if isinstance(strategy, Opaque) else ""


def setup_loaders(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The same loaders, sharded among the processes, whose batches arrive on the device (non-blocking, as Lightning moves them)."""
    move, share = flag(kwargs.get("move_to_device"), True), flag(kwargs.get("use_distributed_sampler"), True)
    found = [setup_loader(interp, args[0], one if share is False else lightning_loops.shared(interp, None, one), move) for one in args[1:]]
    return found[0] if len(found) == 1 else ListValue(found)


def setup_loader(interp: Any, fabric: Opaque, loader: Value, move: bool | None) -> Value:
    if isinstance(loader, Opaque) and loader.qname == LOADER:
        target = {"cgx.to_device": ("cuda", True)} if move and fabric.attrs["cgx.device"] == "cuda" else {}
        return Opaque(LOADER, {**loader.attrs, **target}, loader.anchor, loader.name)
    return loader


def to_device(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    value = args[1] if len(args) > 1 else kwargs.get("obj")
    if isinstance(value, ModuleInstance):
        return move_module(interp, value, args[0].attrs["cgx.device"], None, False, site)
    return moved_batch(interp, value, True, site, AUTHOR, site.text)


def backward(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    loss = args[1] if len(args) > 1 else kwargs.get("tensor")
    interp.event("compute", site, author=AUTHOR, key="backward", value="fabric.backward(loss)", loss=loss)
    is_loss(interp, site, loss)
    return None


def clip(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """By torch's functions over the optimizer's parameters (``error_if_nonfinite=True`` looks at the norm), by the module where it is FSDP."""
    bound = bind("self module optimizer clip_val max_norm norm_type error_if_nonfinite", args, kwargs)
    module, limit = bound.get("module"), bound.get("max_norm")
    if limit is None:
        return autograd.clip_grad_value(interp, site, [module, bound.get("clip_val")], {})
    if kind_of(args[0]) == "FSDP" and interp.world.size != 1:
        return fsdp.clip_grad_norm(interp, site, [module, limit], {})
    return autograd.clip_grad_norm(interp, site, [module, limit], {"error_if_nonfinite": bound.get("error_if_nonfinite", True)})


def no_backward_sync(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    bound = bind("self module enabled", args, kwargs)
    enabled = bound.get("enabled", True)
    if interp.world.size != 1 and enabled is not False:
        interp.event("compute", site, author=AUTHOR, key="grad_sync", value="no_backward_sync", guard=plain(enabled), module=inner(bound.get("module")))
    return Opaque("contextlib.nullcontext", {"enter_result": None})


def region(qname: str) -> Handler:
    def make(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        kind = args[0].attrs.get("cgx.autocast")
        if qname == "autocast":
            return Opaque("torch.amp.autocast", {"dtype": DType(kind), "enabled": True} if kind else {"enabled": False}, site.anchor)
        if qname in ("init_module", "init_tensor", "sharded_model") and args[0].attrs["cgx.device"] == "cuda":
            return initial(args[0], flag(kwargs.get("empty_init", args[1] if len(args) > 1 else None)), site)
        return Opaque("contextlib.nullcontext", {"enter_result": None}, site.anchor)

    return make


def initial(fabric: Opaque, empty: bool | None, site: Any) -> Value:
    """``init_module(empty_init)``: made on the device; where shards follow on the host, or on meta if nothing need be filled."""
    if kind_of(fabric) in ("FSDP", "ModelParallel", "DeepSpeed"):
        return Device("meta") if empty else Opaque("contextlib.nullcontext", {"enter_result": None}, site.anchor)
    return fabric.attrs["device"]


def on_rank_0(interp: Any, site: Any, text: str, handler: Handler, args: list[Value]) -> Value:
    if len(interp.world.ranks) == 1:
        return handler(interp, site, args, {})
    with interp.inside(BranchNode(site.anchor, text, ranks=(0,))):
        return handler(interp, site, args, {})


def printed(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return on_rank_0(interp, site, "fabric.local_rank == 0", log, args)


def logged(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Loggers write on rank 0 only, and read each tensor there; without a logger nothing is read."""
    loggers = args[0].attrs.get("loggers")
    if loggers is None or (isinstance(loggers, ListValue) and not loggers.items and not loggers.open):
        return None
    return on_rank_0(interp, site, "rank_zero_only", log, [*args, *kwargs.values()])


def written(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    interp.event("checkpoint", site, author=AUTHOR, what=site.text, action="save")
    interp.event("copy", site, author=AUTHOR, direction="D2H", what=site.text, source="pageable", non_blocking=False, blocks_host=True,
                 sync_kind="other", carrier="checkpoint")  # fmt: skip
    return None


def save(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Rank 0 writes (of a sharded model every rank its shards, unless one full state is asked for); then a barrier."""
    kind = kind_of(args[0])
    options = lightning_strategies.options_of(args[0].attrs["strategy"])
    whole = kind == "FSDP" and options.get("state_dict_type", "sharded") == "full"
    shards = interp.world.size != 1 and kind in ("FSDP", "ModelParallel", "DeepSpeed")
    if whole and shards:
        interp.event("collective", site, author=AUTHOR, collective="all_gather", issued_by="call", blocking=True, parallelism="data",
                     phase="checkpoint", what="full state")  # fmt: skip
    if shards and not whole:
        written(interp, site, args, kwargs)
    else:
        on_rank_0(interp, site, "fabric.is_global_zero", written, args)
    if interp.world.size != 1:
        interp.event("collective", site, author=AUTHOR, collective="barrier", issued_by="call", blocking=True, parallelism="data", phase="checkpoint")
    return None


def same(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return args[1] if len(args) > 1 else None


def made(qname: str, base: str, names: str = "") -> Handler:
    """An object that only remembers its options."""

    def construct(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        return Opaque(qname, {**bind(names, args, kwargs), "cgx.kind": base}, site.anchor)

    return construct


def ranked(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``rank_zero_only(function)`` leaves the function as it is: rank 0 is what is followed."""
    return args[0] if args else Native("rank_zero_only", lambda i, s, a, k: a[0])


def devices_of(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return interp.unknown("torch.cuda.device_count()", "environment", site, "int")


METHODS: dict[str, Handler] = {
    "launch": launch,
    "setup": setup,
    "setup_module": setup,
    "setup_optimizers": same,
    "setup_dataloaders": setup_loaders,
    "to_device": to_device,
    "backward": backward,
    "clip_gradients": clip,
    "no_backward_sync": no_backward_sync,
    "autocast": region("autocast"),
    "init_module": region("init_module"),
    "init_tensor": region("init_tensor"),
    "sharded_model": region("sharded_model"),
    "rank_zero_first": goes_first,
    "all_gather": collective("all_gather"),
    "all_reduce": collective("all_reduce"),
    "broadcast": collective("broadcast"),
    "barrier": collective("barrier"),
    "log": logged,
    "log_dict": logged,
    "print": printed,
    "save": save,
    "load": load,
    "load_raw": load,
    "seed_everything": nothing,
    "call": nothing,
}
ENTRIES: dict[str, Handler] = {
    **{f"{package}.Fabric": construct for package in ("lightning", "lightning.fabric", "lightning.fabric.fabric", "lightning_fabric")},
    **{f"{FABRIC}.{name}": handler for name, handler in METHODS.items()},
    "lightning.fabric.seed_everything": nothing,
    "lightning.fabric.utilities.seed.seed_everything": nothing,
    "lightning.fabric.utilities.rank_zero.rank_zero_only": ranked,
    "lightning.fabric.utilities.rank_zero_only": ranked,
    "lightning.fabric.accelerators.CUDAAccelerator.auto_device_count": devices_of,
}
BASES: dict[str, tuple[str, ...]] = {}
for _name in ("FSDPStrategy", "DDPStrategy", "DeepSpeedStrategy", "ModelParallelStrategy", "SingleDeviceStrategy", "DataParallelStrategy", "SingleDeviceXLAStrategy"):
    BASES[f"lightning.fabric.strategies.{_name}"] = (STRATEGY,)
    ENTRIES[f"lightning.fabric.strategies.{_name}"] = made(
        f"lightning.fabric.strategies.{_name}", STRATEGY, "parallelize_fn data_parallel_size tensor_parallel_size" if _name == "ModelParallelStrategy" else ""
    )
for _name in ("TensorBoardLogger", "CSVLogger"):
    BASES[f"lightning.fabric.loggers.{_name}"] = (LOGGER,)
    ENTRIES[f"lightning.fabric.loggers.{_name}"] = made(f"lightning.fabric.loggers.{_name}", LOGGER)
ENTRIES[f"{LOGGER}.log_hyperparams"] = nothing
ENTRIES[f"{LOGGER}.log_metrics"] = nothing
ENTRIES[f"{LOGGER}.finalize"] = nothing
