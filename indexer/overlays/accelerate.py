"""Hugging Face accelerate: Accelerator (read from accelerate 0.34-1.15). Used in place of its own source.

The launcher's variables decide what ``prepare`` does (:mod:`cgx.indexer.overlays.accelerate_prepare`); ``accumulate`` syncs gradients
and lets prepared optimizers and schedulers step at every N-th micro-step; trackers, ``save`` and ``save_state`` work on the main process.
"""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.stdlib.support import nothing
from cgx.indexer.interpreter.values import (
    Device,
    DictValue,
    DType,
    Instance,
    ListValue,
    Opaque,
    TensorValue,
    Unknown,
    Value,
)
from cgx.indexer.overlays.accelerate_prepare import (
    ACCELERATOR,
    PRECISION,
    configuration_of,
    kind_of_run,
    option_of,
    prepare,
    steps_of,
)
from cgx.indexer.overlays.accelerate_state import (
    by_rank as by_rank,
)
from cgx.indexer.overlays.accelerate_state import (
    collective_call,
    gathered,
    local_main,
    main_only,
    rank_attributes,
)
from cgx.indexer.overlays.arguments import bind, flag, plain, tensors_in
from cgx.indexer.overlays.lifecycle import is_loss
from cgx.indexer.overlays.transfer import on_device, sync
from cgx.indexer.overlays.wrappers import inner

AUTHOR = "overlays.accelerate"
PACKAGES = ("accelerate",)  # its state is shared through __dict__ and its forwards are patched: the table tells more than its source
SIGNATURE = (
    "device_placement split_batches mixed_precision gradient_accumulation_steps cpu dataloader_config deepspeed_plugin "
    "fsdp_plugin torch_tp_plugin megatron_lm_plugin rng_types log_with project_dir"
)


def construct(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Joins the processes, and remembers what the arguments and the launcher's variables say."""
    bound = bind(SIGNATURE, args, kwargs)
    many = interp.world.size != 1
    on_host = flag(bound.get("cpu")) or option_of(interp, "ACCELERATE_USE_CPU") == "true"
    given = bound.get("mixed_precision")
    precision = plain(given if given is not None else interp.env.get("ACCELERATE_MIXED_PRECISION")) or "no"
    accelerator = Opaque(ACCELERATOR, {**bound, **rank_attributes(interp)}, site.anchor)
    attrs = accelerator.attrs
    kind = kind_of_run(interp, accelerator)
    steps = steps_of(interp, bound)
    attrs |= {
        "device": Device("cpu") if on_host else Device("cuda", attrs["local_process_index"]),
        "gradient_accumulation_steps": steps,
        "sync_gradients": syncing(steps, site),
        "mixed_precision": precision,
        "distributed_type": kind,
        "use_distributed": many,
        "is_fsdp2": kind == "FSDP" and configuration_of(interp, accelerator).get("version") == 2,
        "native_amp": precision in PRECISION,
        "optimizer_step_was_skipped": Unknown("accelerator.optimizer_step_was_skipped", "loop-carried", site.anchor, "bool"),
        "trackers": ListValue(open=True),
        "scaler": Opaque("torch.amp.GradScaler", {"enabled": True}, site.anchor) if precision == "fp16" and not on_host and kind != "DEEPSPEED" else None,
        "cgx.autocast": PRECISION.get(str(precision)) if kind != "DEEPSPEED" else None,
        "cgx.on_host": on_host,
    }  # fmt: skip
    if many:
        interp.trail.set_item(interp.flags, "dist_initialized", True)
        interp.event("launch", site, author=AUTHOR, what="init_process_group")
    if attrs["scaler"] is not None:
        interp.event("compute", site, author=AUTHOR, key="grad_scaler", value="enabled", enabled=True)
    return accelerator


def syncing(steps: Value, site: Any) -> Value:
    """``accelerator.sync_gradients``: true in every N-th micro-step."""
    if steps == 1:
        return True
    period = f"%{steps}%micro-step" if isinstance(steps, int) else ""
    return Unknown("accelerator.sync_gradients", "loop-carried", site.anchor, "bool", guard=period)


def backward(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    loss = args[1] if len(args) > 1 else kwargs.get("loss")
    engine = args[0].attrs.get("cgx.engine")
    if isinstance(engine, Opaque):
        return engine_backward(interp, engine, loss, site)
    interp.event("compute", site, author=AUTHOR, key="backward", value="accelerator.backward(loss)", loss=loss)
    is_loss(interp, site, loss)
    return None


def engine_backward(interp: Any, engine: Opaque, loss: Value, site: Any) -> Value:
    """With DeepSpeed ``backward`` also steps the engine, at the end of an accumulation."""
    from cgx.indexer.overlays import deepspeed

    deepspeed.backward(interp, site, [engine, loss], {})
    with deepspeed.at_boundary(interp, engine, site):
        deepspeed.taken(interp, engine, site)
        deepspeed.timed_out(interp, engine, site)
    return None


def accumulate(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``with accelerator.accumulate(model):`` gradients are synced and optimizers step at the last micro-step only."""
    steps = args[0].attrs.get("gradient_accumulation_steps", 1)
    if steps != 1 and interp.world.size != 1 and args[0].attrs.get("distributed_type") != "DEEPSPEED":
        interp.event("compute", site, author=AUTHOR, key="grad_sync", value="accumulate", guard=f"every {plain(steps) or 'N'} micro-steps",
                     module=inner(args[1]) if len(args) > 1 else None)  # fmt: skip
    return Opaque(f"{ACCELERATOR}.accumulate", {"steps": steps}, site.anchor)


def region(name: str) -> Any:
    def make(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        kind = args[0].attrs.get("cgx.autocast")
        if name == "autocast" and kind:
            attrs: dict[str, Value] = {"dtype": DType(kind), "enabled": True}
            return Opaque("torch.amp.autocast", attrs, site.anchor)
        return Opaque(f"{ACCELERATOR}.{'profile' if name == 'autocast' else name}", {}, site.anchor)

    return make


def clip(how: str) -> Any:
    """DeepSpeed clips by itself; FSDP sums the norm over the shards."""

    def call(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        bound = bind("self parameters max_norm norm_type", args, kwargs)
        kind = args[0].attrs.get("distributed_type")
        if kind != "DEEPSPEED":
            interp.event("compute", site, author=AUTHOR, key="grad_clip", value=plain(bound.get("max_norm", bound.get("clip_value"))), how=how)
        if kind == "FSDP" and how == "norm" and interp.world.size != 1:
            interp.event("collective", site, author=AUTHOR, collective="all_reduce", issued_by="FullyShardedDataParallel", blocking=True, parallelism="data",
                         what="gradient norm")  # fmt: skip
        return TensorValue((), "float32", "cuda") if how == "norm" else None

    return call


def unwrap(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return inner(args[1] if len(args) > 1 else kwargs.get("model"))


def collective(name: str) -> Any:
    """``gather``, ``reduce``, ``wait_for_everyone``: one for each tensor; a value keeps its dtype and device."""

    def call(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        value = args[1] if len(args) > 1 else kwargs.get("tensor", kwargs.get("input_data"))
        return collective_call(interp, name, value, site, objects=bool(flag(kwargs.get("use_gather_object"))))

    return call


def gather_for_metrics(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """What is known to be no tensor is pickled and gathered as objects."""
    value = args[1] if len(args) > 1 else kwargs.get("input_data")
    return collective_call(interp, "all_gather", value, site, objects=bool(flag(kwargs.get("use_gather_object"))))


def pad(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``pad_across_processes``: the sizes are gathered and read by the host first."""
    value = args[1] if len(args) > 1 else kwargs.get("tensor")
    if interp.world.size == 1:
        return value
    interp.event("copy", site, author=AUTHOR, direction="H2D", what="shape of the tensor", source="pageable", non_blocking=False, blocks_host=True,
                 sync_kind="other", factory=True)  # fmt: skip
    interp.event("collective", site, author=AUTHOR, collective="all_gather", issued_by="call", blocking=True, parallelism="data", what="shapes")
    interp.event("sync", site, author=AUTHOR, sync="cpu", what="shapes", reads=True)
    return gathered(value)


def log(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    for tensor in tensors_in(tuple(args[1:])):
        if on_device(tensor):
            sync(interp, "conversion", tensor, site)
    interp.event("log", site, author=AUTHOR, what=site.text)
    return None


def tracked(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``accelerator.log(values)``: trackers live on the main process."""
    with main_only(interp, site):
        return log(interp, site, [*args, *kwargs.values()], {})


def printed(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Each value is turned into text by the one process that prints."""
    with local_main(interp, site):
        for tensor in tensors_in(tuple(args[1:])):
            if on_device(tensor):
                sync(interp, "print", tensor, site)
        interp.event("log", site, author=AUTHOR, what=site.text)
    return None


def written(interp: Any, site: Any) -> None:
    interp.event("copy", site, author=AUTHOR, direction="D2H", what=site.text, source="pageable", non_blocking=False, blocks_host=True,
                 sync_kind="other", carrier="checkpoint")  # fmt: skip


def save(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``save``, ``save_model``: the main process writes."""
    with main_only(interp, site):
        interp.event("checkpoint", site, author=AUTHOR, what=site.text, action="save")
        if site.text.partition("(")[0].endswith("save_model") or any(on_device(one) for one in tensors_in(tuple(args[1:]))):
            written(interp, site)
    return None


def save_state(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Model and optimizer by the main process (all where they are sharded), the random states of each; the user's hooks first."""
    accelerator = args[0]
    kind, project = accelerator.attrs.get("distributed_type"), accelerator.attrs.get("project_config")
    if isinstance(project, Opaque) and flag(project.attrs.get("automatic_checkpoint_naming"), False):
        collective_call(interp, "barrier", None, site)
    interp.event("checkpoint", site, author=AUTHOR, what=site.text, action="save")
    hook = accelerator.attrs.get("cgx.save_hook")
    if hook is not None:
        models = ListValue(list(accelerator.attrs.get("cgx.models", ())))
        interp.attempt(lambda: interp.call(hook, [models, ListValue([]), interp.unknown("output_dir", "parameter", site, hint="str")], {}, site))
    if kind == "DEEPSPEED" and interp.world.size != 1:
        interp.event("collective", site, author=AUTHOR, collective="barrier", issued_by="DeepSpeedEngine", blocking=True, parallelism="data")
    if kind in ("DEEPSPEED", "FSDP"):
        written(interp, site)
        return None
    if not accelerator.attrs.get("cgx.on_host"):
        with main_only(interp, site):
            written(interp, site)
    return None


def load(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    interp.event("checkpoint", site, author=AUTHOR, what=site.text, action="load")
    return None


def save_hook(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``register_save_state_pre_hook(hook)``."""
    interp.trail.set_item(args[0].attrs, "cgx.save_hook", args[1] if len(args) > 1 else kwargs.get("hook"))
    return Opaque("torch.utils.hooks.RemovableHandle", {}, site.anchor)


def get_state_dict(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The model's own; gathered from all ranks where parameters are split."""
    kind, model = args[0].attrs.get("distributed_type"), inner(args[1] if len(args) > 1 else kwargs.get("model"))
    if interp.world.size != 1 and (kind == "FSDP" or (kind == "DEEPSPEED" and interp.flags.get("zero3"))):
        interp.event("collective", site, author=AUTHOR, collective="all_gather", issued_by="call", blocking=True, parallelism="data", what="parameters")
    if not isinstance(model, Instance):
        return DictValue(open=True)
    return interp.call(interp.getattr(model, "state_dict", site), [], {}, site)


def end_training(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Trackers are closed and the processes part."""
    if interp.world.size != 1:
        interp.event("launch", site, author=AUTHOR, what="destroy_process_group")
    return None


def set_trigger(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    interp.event("copy", site, author=AUTHOR, direction="H2D", what="flag", source="pageable", non_blocking=False, blocks_host=True, sync_kind="other",
                 factory=True)  # fmt: skip
    return None


def check_trigger(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The flags of all processes are summed and read."""
    if interp.world.size != 1:
        interp.event("collective", site, author=AUTHOR, collective="all_reduce", issued_by="call", blocking=True, parallelism="data", what="flag")
    interp.event("sync", site, author=AUTHOR, sync="item", what="flag", reads=True)
    return interp.unknown(site.text, "loop-carried", site, hint="bool")


def tracker(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Opaque("wandb.Run", {}, site.anchor)


def set_attribute(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``accelerator.gradient_accumulation_steps = n`` changes when gradients are synced."""
    owner, name, value = args[0], args[1], args[2]
    interp.trail.set_item(owner.attrs, name, value)
    if name == "gradient_accumulation_steps":
        interp.trail.set_item(owner.attrs, "sync_gradients", syncing(value, site))
    return None


def skip(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return args[1] if len(args) > 1 else kwargs.get("dataloader")


# -- around the Accelerator -----------------------------------------------------------------------------------------


def config(qname: str) -> Any:
    def construct(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        names = {"GradientAccumulationPlugin": "num_steps adjust_scheduler sync_with_dataloader sync_each_batch"}.get(qname.rpartition(".")[2], "")
        return Opaque(qname, dict(bind(names, args, kwargs)), site.anchor)

    return construct


def memory_search(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``@find_executable_batch_size(starting_batch_size=n)``: the function gets the first size that fits; the first one is read."""
    from cgx.indexer.interpreter.values import FunctionValue, Native

    size = kwargs.get("starting_batch_size", 128)

    def decorate(function: Value) -> Value:
        return Native("find_executable_batch_size", lambda i, at, a, k: i.call(function, [size, *a], k, at))

    given = args[0] if args else kwargs.get("function")
    return decorate(given) if isinstance(given, FunctionValue) else Native("find_executable_batch_size", lambda i, at, a, k: decorate(a[0]))


LOCAL_SGD = "accelerate.local_sgd.LocalSGD"


def local_sgd(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``with LocalSGD(accelerator, model, local_sgd_steps=n)``: gradients stay local, parameters are averaged every n steps."""
    bound = bind("accelerator model local_sgd_steps enabled", args, kwargs)
    return Opaque(LOCAL_SGD, {**bound, "module": inner(bound.get("model"))}, site.anchor)


def enter_local_sgd(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    from cgx.indexer.interpreter.trace import ScopeNode

    on = flag(args[0].attrs.get("enabled"), True) and interp.world.size != 1
    name = "torch.nn.parallel.DistributedDataParallel.no_sync" if on else "accelerate.Accelerator.profile"
    interp.push(ScopeNode(anchor=site.anchor, text=site.text, qname=name))
    return args[0]


def leave_local_sgd(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    interp.pop()
    return None


def local_sgd_step(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    from cgx.indexer.interpreter.trace import BranchNode

    steps = args[0].attrs.get("local_sgd_steps", 8)
    if interp.world.size == 1 or not flag(args[0].attrs.get("enabled"), True):
        return None
    with interp.inside(BranchNode(site.anchor, "num_steps % local_sgd_steps == 0", period=("step", steps), decided=True)):
        interp.event("collective", site, author=AUTHOR, collective="barrier", issued_by="LocalSGD", blocking=True, parallelism="data")
        interp.event("collective", site, author=AUTHOR, collective="all_reduce", issued_by="LocalSGD", blocking=True, parallelism="data", what="each parameter")
    return None


ENTRIES: dict[str, Any] = {
    ACCELERATOR: construct,
    "accelerate.accelerator.Accelerator": construct,
    f"{ACCELERATOR}.prepare": prepare,
    f"{ACCELERATOR}.prepare_model": prepare,
    f"{ACCELERATOR}.prepare_data_loader": prepare,
    f"{ACCELERATOR}.prepare_optimizer": prepare,
    f"{ACCELERATOR}.prepare_scheduler": prepare,
    f"{ACCELERATOR}.backward": backward,
    f"{ACCELERATOR}.accumulate": accumulate,
    f"{ACCELERATOR}.autocast": region("autocast"),
    f"{ACCELERATOR}.no_sync": region("no_sync"),
    f"{ACCELERATOR}.profile": region("profile"),
    f"{ACCELERATOR}.join_uneven_inputs": region("profile"),
    f"{ACCELERATOR}.clip_grad_norm_": clip("norm"),
    f"{ACCELERATOR}.clip_grad_value_": clip("value"),
    f"{ACCELERATOR}.unscale_gradients": nothing,
    f"{ACCELERATOR}.unwrap_model": unwrap,
    f"{ACCELERATOR}.gather": collective("all_gather"),
    f"{ACCELERATOR}.gather_for_metrics": gather_for_metrics,
    f"{ACCELERATOR}.reduce": collective("all_reduce"),
    f"{ACCELERATOR}.pad_across_processes": pad,
    f"{ACCELERATOR}.wait_for_everyone": collective("barrier"),
    f"{ACCELERATOR}.log": tracked,
    f"{ACCELERATOR}.print": printed,
    f"{ACCELERATOR}.save": save,
    f"{ACCELERATOR}.save_model": save,
    f"{ACCELERATOR}.save_state": save_state,
    f"{ACCELERATOR}.load_state": load,
    f"{ACCELERATOR}.register_save_state_pre_hook": save_hook,
    f"{ACCELERATOR}.register_load_state_pre_hook": nothing,
    f"{ACCELERATOR}.set_trigger": set_trigger,
    f"{ACCELERATOR}.check_trigger": check_trigger,
    f"{ACCELERATOR}.skip_first_batches": skip,
    f"{ACCELERATOR}.get_tracker": tracker,
    f"{ACCELERATOR}.end_training": end_training,
    f"{ACCELERATOR}.init_trackers": nothing,
    f"{ACCELERATOR}.register_for_checkpointing": nothing,
    f"{ACCELERATOR}.free_memory": nothing,
    f"{ACCELERATOR}.clear": nothing,
    f"{ACCELERATOR}.get_state_dict": get_state_dict,
    f"{ACCELERATOR}.__setattr__": set_attribute,
    "accelerate.skip_first_batches": lambda interp, site, args, kwargs: args[0] if args else kwargs.get("dataloader"),
    "accelerate.data_loader.skip_first_batches": lambda interp, site, args, kwargs: args[0] if args else kwargs.get("dataloader"),
    "accelerate.utils.find_executable_batch_size": memory_search,
    "accelerate.memory_utils.find_executable_batch_size": memory_search,
    LOCAL_SGD: local_sgd,
    f"{LOCAL_SGD}.__enter__": enter_local_sgd,
    f"{LOCAL_SGD}.__exit__": leave_local_sgd,
    f"{LOCAL_SGD}.step": local_sgd_step,
}
for _name in ("DataLoaderConfiguration", "DistributedDataParallelKwargs", "ProjectConfiguration", "InitProcessGroupKwargs", "DeepSpeedPlugin", "ProfileKwargs",
              "FullyShardedDataParallelPlugin", "GradScalerKwargs", "AutocastKwargs", "GradientAccumulationPlugin", "TorchDynamoPlugin", "ParallelismConfig"):  # fmt: skip
    for _place in ("accelerate", "accelerate.utils", "accelerate.utils.dataclasses"):
        ENTRIES[f"{_place}.{_name}"] = config(f"accelerate.utils.{_name}")
BASES: dict[str, tuple[str, ...]] = {}
