"""DeepSpeed beside the engine: accelerator, communication, optimizers, ``zero`` contexts, checkpointing (deepspeed 0.15-0.19)."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.stdlib.support import first, nothing
from cgx.indexer.interpreter.trace import BranchNode
from cgx.indexer.interpreter.values import ByRank, DictValue, External, ListValue, Opaque, Sequence, Value
from cgx.indexer.overlays import autograd, collectives, groups
from cgx.indexer.overlays.arguments import bind, flag, plain
from cgx.indexer.overlays.optimizers import OPTIMIZER, param_groups

AUTHOR = "overlays.deepspeed_runtime"
PACKAGES = (  # of which the table tells more than their source: engines, kernels, hooks on parameters
    "deepspeed.accelerator", "deepspeed.checkpointing", "deepspeed.comm", "deepspeed.ops.adam", "deepspeed.ops.adagrad", "deepspeed.ops.lamb",
    "deepspeed.ops.lion", "deepspeed.pipe", "deepspeed.runtime.activation_checkpointing", "deepspeed.runtime.dataloader", "deepspeed.runtime.pipe",
    "deepspeed.runtime.zero", "deepspeed.utils.logging", "deepspeed.zero",
)  # fmt: skip
NAMES = ("deepspeed.utils.RepeatingLoader", "deepspeed.utils.log_dist", "deepspeed.get_accelerator")
ACCELERATOR = "deepspeed.accelerator.Accelerator"
GATHERED, INIT = "deepspeed.zero.GatheredParameters", "deepspeed.zero.Init"
REPEATING = "deepspeed.utils.RepeatingLoader"


def accelerator(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``get_accelerator()``: on CUDA, ``torch.cuda`` under other names."""
    return Opaque(ACCELERATOR, {}, site.anchor)


def device_name(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``cuda``, or ``cuda:N`` for an index."""
    index = args[1] if len(args) > 1 else kwargs.get("device_index")
    if isinstance(index, ByRank):
        return ByRank(tuple(f"cuda:{one}" for one in index.values))
    return "cuda" if index is None or not isinstance(index, int) else f"cuda:{index}"


def current_device_name(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return device_name(interp, site, [args[0], interp.flags.get("current_device")], {})


def constant(value: Value) -> Any:
    return lambda interp, site, args, kwargs: value


def of_cuda(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return External(f"torch.cuda.{args[1]}")


def pinned(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return interp.call(interp.getattr(args[1], "pin_memory", site), [], {}, site)


def init_distributed(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    interp.trail.set_item(interp.flags, "dist_initialized", True)
    interp.event("launch", site, author=AUTHOR, what="init_process_group")
    return None


# -- optimizers -----------------------------------------------------------------------------------------------------

OPTIMIZERS: dict[str, tuple[str, bool]] = {  # qualified name -> its signature, whether it steps on the host
    "deepspeed.ops.adam.FusedAdam": ("params lr bias_correction betas eps adam_w_mode weight_decay amsgrad set_grad_none", False),
    "deepspeed.ops.adam.DeepSpeedCPUAdam": ("model_params lr bias_correction betas eps weight_decay amsgrad adamw_mode fp32_optimizer_states", True),
    "deepspeed.ops.adagrad.DeepSpeedCPUAdagrad": ("model_params lr eps weight_decay amsgrad fp32_optimizer_states", True),
    "deepspeed.ops.lamb.FusedLamb": ("params lr bias_correction betas eps eps_inside_sqrt weight_decay max_grad_norm max_coeff min_coeff amsgrad", False),
    "deepspeed.ops.lion.FusedLion": ("params lr betas weight_decay set_grad_none", False),
    "deepspeed.ops.lion.DeepSpeedCPULion": ("model_params lr betas weight_decay fp32_optimizer_states", True),
    "deepspeed.runtime.fp16.onebit.OnebitAdam": ("params", False),
    "deepspeed.runtime.fp16.onebit.ZeroOneAdam": ("params", False),
    "deepspeed.runtime.fp16.onebit.OnebitLamb": ("params", False),
    "deepspeed.runtime.zero.muon.MuonWithAuxAdam": ("params", False),
}  # fmt: skip
NAMED: dict[str, tuple[str, str]] = {  # of the configuration, in lower case -> on the device, on the host
    "adam": ("deepspeed.ops.adam.FusedAdam", "deepspeed.ops.adam.DeepSpeedCPUAdam"),
    "adamw": ("deepspeed.ops.adam.FusedAdam", "deepspeed.ops.adam.DeepSpeedCPUAdam"),
    "adagrad": ("torch.optim.Adagrad", "deepspeed.ops.adagrad.DeepSpeedCPUAdagrad"),
    "lamb": ("deepspeed.ops.lamb.FusedLamb", ""),
    "lion": ("deepspeed.ops.lion.FusedLion", "deepspeed.ops.lion.DeepSpeedCPULion"),
    "onebitadam": ("deepspeed.runtime.fp16.onebit.OnebitAdam", ""),
    "zerooneadam": ("deepspeed.runtime.fp16.onebit.ZeroOneAdam", ""),
    "onebitlamb": ("deepspeed.runtime.fp16.onebit.OnebitLamb", ""),
    "muon": ("deepspeed.runtime.zero.muon.MuonWithAuxAdam", ""),
}


def optimizer(qname: str) -> Any:
    """One kernel for all parameters: fused on the device, or vectorised on the host."""
    signature, on_host = OPTIMIZERS[qname]

    def construct(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        bound = bind(signature, args, kwargs)
        params = bound.pop("params", bound.pop("model_params", None))
        defaults = dict(bound)
        groups_, _ = param_groups(interp, params, defaults, site)
        options = {f"option_{key}": plain(value) for key, value in bound.items() if plain(value) is not None}
        interp.event("compute", site, author=AUTHOR, key="optimizer", value=qname, implementation="host" if on_host else "fused",
                     groups=len(groups_.items), **options)  # fmt: skip
        attrs: dict[str, Value] = {"param_groups": groups_, "defaults": DictValue(dict(defaults)), "state": DictValue(open=True, kind="defaultdict"),
                                   "cgx.device": "cpu" if on_host else "cuda"}  # fmt: skip
        return Opaque(qname, attrs, site.anchor)

    return construct


# -- parameters of stage 3 ------------------------------------------------------------------------------------------


def zero_init(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``with deepspeed.zero.Init():`` each module's parameters are broadcast and split as it is made."""
    on = flag(kwargs.get("enabled"), True)
    if on:
        interp.trail.set_item(interp.flags, "zero3", True)
        if interp.world.size != 1:
            interp.event("collective", site, author=AUTHOR, collective="broadcast", issued_by=INIT, blocking=True, parallelism="data",
                         what="parameters of each module as it is made")  # fmt: skip
    return Opaque(INIT, {"enabled": on}, site.anchor)


def gather_parameters(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Opaque(GATHERED, dict(bind("params modifier_rank fwd_module enabled", args, kwargs)), site.anchor)


def enter_gathered(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Whole inside; only where parameters are split at all."""
    if works(interp, args[0]):
        interp.event("collective", site, author=AUTHOR, collective="all_gather", issued_by=GATHERED, blocking=True, parallelism="data",
                     what="parameters")  # fmt: skip
    return args[0]


def leave_gathered(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """What one rank changed goes to the others."""
    if works(interp, args[0]) and args[0].attrs.get("modifier_rank") is not None:
        interp.event("collective", site, author=AUTHOR, collective="broadcast", issued_by=GATHERED, blocking=True, parallelism="data",
                     what="changed parameters")  # fmt: skip
    return None


def works(interp: Any, context: Opaque) -> bool:
    return bool(interp.flags.get("zero3")) and bool(flag(context.attrs.get("enabled"), True)) and interp.world.size != 1


# -- loaders, logs --------------------------------------------------------------------------------------------------


def repeating(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``RepeatingLoader(loader)``: its batches without end."""
    return Opaque(REPEATING, {"loader": args[0] if args else kwargs.get("loader")}, site.anchor)


def repeat(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    found = interp.iterate(args[0].attrs["loader"], site)
    if isinstance(found, Sequence):
        return Sequence(found.element, interp.unknown("batches of a RepeatingLoader", "data", site, hint="int"), found.qname, found.anchor, found.attrs)
    return found


def next_repeated(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    held = args[0].attrs.get("cgx.iterator")
    if held is None:
        held = repeat(interp, site, args, {})
        interp.trail.set_item(args[0].attrs, "cgx.iterator", held)
    return interp.call(External("next"), [held], {}, site)


def log_dist(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``log_dist(message, ranks=[0])``: only those ranks print."""
    listed = kwargs.get("ranks", args[1] if len(args) > 1 else None)
    ranks = tuple(one for one in listed.items if isinstance(one, int)) if isinstance(listed, ListValue) else None
    if not ranks or -1 in ranks or interp.world.size == 1:
        interp.event("log", site, author=AUTHOR, what=site.text)
        return None
    with interp.inside(BranchNode(site.anchor, f"rank in {list(ranks)}", ranks=ranks, decided=True)):
        interp.event("log", site, author=AUTHOR, what=site.text)
    return None


ENTRIES: dict[str, Any] = {
    "deepspeed.init_distributed": init_distributed,
    "deepspeed.comm.init_distributed": init_distributed,
    "deepspeed.comm.comm.init_distributed": init_distributed,
    **{f"deepspeed.{name}": accelerator for name in ("accelerator.get_accelerator", "get_accelerator", "accelerator.real_accelerator.get_accelerator")},
    f"{ACCELERATOR}.device_name": device_name,
    f"{ACCELERATOR}.current_device_name": current_device_name,
    f"{ACCELERATOR}.communication_backend_name": constant("nccl"),
    f"{ACCELERATOR}.is_synchronized_device": constant(False),
    f"{ACCELERATOR}.use_host_timers": constant(False),
    f"{ACCELERATOR}.resolves_data_dependency": constant(False),
    f"{ACCELERATOR}.is_bf16_supported": constant(True),
    f"{ACCELERATOR}.is_fp16_supported": constant(True),
    f"{ACCELERATOR}.pin_memory": pinned,
    f"{ACCELERATOR}.__getattr__": of_cuda,
    INIT: zero_init,
    f"{INIT}.__enter__": first,
    f"{INIT}.__exit__": nothing,
    GATHERED: gather_parameters,
    f"{GATHERED}.__enter__": enter_gathered,
    f"{GATHERED}.__exit__": leave_gathered,
    "deepspeed.zero.register_external_parameter": nothing,
    "deepspeed.checkpointing.configure": nothing,
    "deepspeed.runtime.utils.set_random_seed": nothing,
    "deepspeed.utils.set_random_seed": nothing,
    "deepspeed.utils.groups.initialize": nothing,
    "deepspeed.runtime.utils.see_memory_usage": nothing,
    **{f"{place}.log_dist": log_dist for place in ("deepspeed.utils", "deepspeed.utils.logging")},
    **{f"{place}.RepeatingLoader": repeating for place in ("deepspeed.utils", "deepspeed.runtime.dataloader")},
    f"{REPEATING}.__iter__": repeat,
    f"{REPEATING}.__next__": next_repeated,
    "transformers.integrations.HfDeepSpeedConfig": constant(None),
    "transformers.deepspeed.HfDeepSpeedConfig": constant(None),
    "transformers.integrations.deepspeed.HfDeepSpeedConfig": constant(None),
}
for _name in OPTIMIZERS:
    ENTRIES[_name] = optimizer(_name)
    ENTRIES[f"deepspeed.ops.{_name.rpartition('.')[2]}"] = optimizer(_name)
for _table in (collectives.ENTRIES, groups.ENTRIES):  # the same calls under another name
    for _name, _handler in _table.items():
        if _name.startswith("torch.distributed.") and _name.count(".") == 2:
            for _place in ("deepspeed.comm", "deepspeed.comm.comm"):
                ENTRIES.setdefault(f"{_place}.{_name.rpartition('.')[2]}", _handler)
for _place in ("deepspeed.checkpointing", "deepspeed.runtime.activation_checkpointing.checkpointing"):
    ENTRIES[f"{_place}.checkpoint"] = ENTRIES[f"{_place}.non_reentrant_checkpoint"] = autograd.checkpoint
BASES: dict[str, tuple[str, ...]] = dict.fromkeys(OPTIMIZERS, (OPTIMIZER,))
BASES["deepspeed.runtime.dataloader.RepeatingLoader"] = (REPEATING,)
