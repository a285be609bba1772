"""Lightning: names of its packages (``lightning``, ``pytorch_lightning``) and what answers for them (read from lightning 2.0-2.6, with 1.x spellings).

Its trainer decides by the machine and by hundreds of hooks; the loops are a literal life cycle instead, also where its source is given.
"""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.stdlib.support import holder, nothing
from cgx.indexer.interpreter.values import External, Instance, ListValue, Opaque, Value
from cgx.indexer.overlays import lightning_loops as loops
from cgx.indexer.overlays.accelerate import collective
from cgx.indexer.overlays.lifecycle import backward
from cgx.indexer.overlays.lightning_options import DEFAULTS, TRAINER, construct
from cgx.indexer.overlays.transfer import on_device, sync

AUTHOR = "overlays.lightning"
MODULE = "lightning.pytorch.LightningModule"
PREFIXES = ("lightning", "lightning.pytorch", "pytorch_lightning", "lightning.pytorch.trainer", "pytorch_lightning.trainer", "lightning.pytorch.trainer.trainer",
            "pytorch_lightning.trainer.trainer", "lightning.pytorch.core.module", "pytorch_lightning.core.module", "lightning.pytorch.core", "pytorch_lightning.core",
            "pytorch_lightning.core.lightning")  # fmt: skip
CALLBACKS = ("ModelCheckpoint", "LearningRateMonitor", "EarlyStopping", "RichProgressBar", "TQDMProgressBar", "RichModelSummary", "ModelSummary", "DeviceStatsMonitor",
             "Timer", "GradientAccumulationScheduler", "StochasticWeightAveraging", "ThroughputMonitor", "BackboneFinetuning", "BaseFinetuning", "LambdaCallback",
             "BatchSizeFinder", "LearningRateFinder", "ModelPruning", "OnExceptionCheckpoint")  # fmt: skip
LOGGERS = ("WandbLogger", "TensorBoardLogger", "CSVLogger", "MLFlowLogger", "CometLogger", "NeptuneLogger", "TestTubeLogger")
OLD_FLAGS = ("gpus", "auto_select_gpus", "tpu_cores", "progress_bar_refresh_rate", "resume_from_checkpoint", "auto_lr_find", "auto_scale_batch_size", "amp_backend",
             "amp_level", "checkpoint_callback", "replace_sampler_ddp", "weights_summary", "track_grad_norm", "terminate_on_nan", "plugins", "num_processes")  # fmt: skip


def manual_backward(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    backward(interp, args[1] if len(args) > 1 else kwargs.get("loss"), site, AUTHOR)
    return None


def optimizers_of(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``self.optimizers()``: the one, or all of them."""
    return one_or_all(args[0], "cgx.optimizers", interp, site)


def schedulers_of(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return one_or_all(args[0], "cgx.schedulers", interp, site)


def one_or_all(module: Value, name: str, interp: Any, site: Any) -> Value:
    held = module.attrs.get(name) if isinstance(module, Instance) else None
    if not isinstance(held, ListValue):
        return interp.unknown(site.text, "unmodelled", site)
    return held.items[0] if len(held.items) == 1 else held if held.items else None


def printed(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``self.print(...)``: on rank 0."""
    for value in args[1:]:
        if on_device(value):
            sync(interp, "print", value, site)
    interp.event("log", site, author=AUTHOR, what=site.text)
    return None


def add_arguments(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``Trainer.add_argparse_args(parser)`` of versions before 2.0: a flag for every option."""
    parser = next((one for one in (*args, kwargs.get("parent_parser")) if not isinstance(one, External) and one is not None), None)
    add = interp.getattr(parser, "add_argument", site)
    for name in dict.fromkeys((*DEFAULTS, *OLD_FLAGS)):
        interp.call(add, [f"--{name}"], {"default": None}, site)
    return parser


def from_arguments(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``Trainer.from_argparse_args(namespace, **more)``."""
    given = next((one for one in args if isinstance(one, Instance | Opaque)), None)
    table = {str(name): value for name, value in given.attrs.items() if not str(name).startswith("_")} if given is not None else {}
    known = {name: number(value) for name, value in table.items() if name in DEFAULTS or name in OLD_FLAGS}
    return construct(interp, site, [], {**known, **kwargs})


def number(value: Value) -> Value:
    """A word of the command line, as the number or truth value that it writes."""
    if not isinstance(value, str):
        return value
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(value.lower(), value)


def ranked(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``rank_zero_only(function)``: rank 0 is what is followed."""
    return args[0] if args else None




METHODS: dict[str, Any] = {
    "fit": loops.fit,
    "validate": loops.evaluation("validation"),
    "test": loops.evaluation("test"),
    "predict": loops.evaluation("predict"),
    "save_checkpoint": loops.save,
    "add_callback": nothing,
    "print": printed,
}
MODULE_METHODS: dict[str, Any] = {
    "manual_backward": manual_backward,
    "optimizers": optimizers_of,
    "lr_schedulers": schedulers_of,
    "clip_gradients": loops.clip_gradients,
    "transfer_batch_to_device": loops.moved,
    "all_gather": collective("all_gather"),
    "print": printed,
    "toggle_optimizer": nothing,
    "untoggle_optimizer": nothing,
    "freeze": nothing,
    "unfreeze": nothing,
}
ENTRIES: dict[str, Any] = {}
BASES: dict[str, tuple[str, ...]] = {MODULE: ("torch.nn.Module",)}
NAMES: tuple[str, ...] = ()
for _package in PREFIXES:
    ENTRIES[f"{_package}.Trainer"] = construct
    ENTRIES[f"{_package}.Trainer.add_argparse_args"] = add_arguments
    ENTRIES[f"{_package}.Trainer.from_argparse_args"] = from_arguments
    ENTRIES[f"{_package}.seed_everything"] = nothing
    for _name in CALLBACKS:
        ENTRIES[f"{_package}.callbacks.{_name}"] = holder(f"lightning.pytorch.callbacks.{_name}")
    for _name in LOGGERS:
        ENTRIES[f"{_package}.loggers.{_name}"] = holder(f"lightning.pytorch.loggers.{_name}")
    if f"{_package}.LightningModule" != MODULE:
        BASES[f"{_package}.LightningModule"] = (MODULE,)
    NAMES += (f"{_package}.Trainer", f"{_package}.seed_everything")
ENTRIES |= {f"{TRAINER}.{name}": handler for name, handler in METHODS.items()}
for _module in (MODULE, "lightning.pytorch.core.module.LightningModule", "pytorch_lightning.core.module.LightningModule"):
    ENTRIES |= {f"{_module}.{name}": handler for name, handler in MODULE_METHODS.items()}
for _where in ("pytorch_lightning.utilities.distributed", "pytorch_lightning.utilities", "lightning.pytorch.utilities", "pytorch_lightning.utilities.rank_zero",
               "lightning.pytorch.utilities.rank_zero", "lightning.pytorch.utilities.distributed"):  # fmt: skip
    ENTRIES[f"{_where}.rank_zero_only"] = ranked
    ENTRIES[f"{_where}.rank_zero_info"] = nothing
    ENTRIES[f"{_where}.rank_zero_warn"] = nothing
