"""What ``self.log`` sets off: a metric stays on the device until somebody needs it as a number (read from lightning 2.0-2.6).

A metric of the progress bar is read after every batch, one for the logger when the logger is due, one that is kept over the epoch at its end.
``sync_dist`` sums a metric over the ranks: at once where it is logged per step, at the end of the epoch else.
What is read stands at the line that logged it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cgx.indexer.interpreter.values import DictValue, Instance, Opaque, TensorValue, Unknown, Value
from cgx.indexer.overlays.arguments import bind, flag, number, plain
from cgx.indexer.overlays.lightning_options import LOGGED, on_cpu
from cgx.indexer.overlays.metric_objects import METRIC, compute
from cgx.indexer.overlays.transfer import ACCELERATORS

AUTHOR = "overlays.lightning"
HELD_BY = "cgx.trainer"  # under which a callback has its trainer
SIGNATURE = "self name value prog_bar logger on_step on_epoch reduce_fx enable_graph sync_dist sync_dist_group add_dataloader_idx batch_size"
STEPWISE = ("training_step", "on_train_batch_start", "on_train_batch_end", "on_before_optimizer_step", "on_after_backward", "optimizer_step")


@dataclass
class Metric:
    """One call of ``log``."""

    name: str
    site: Any
    on_device: bool
    prog_bar: bool
    logger: bool
    on_step: bool
    on_epoch: bool
    sync_dist: bool
    stage: str
    mean: bool = True
    value: Value = None


def trainer_of(module: Value) -> Opaque | None:
    held = module.attrs.get("trainer", module.attrs.get("_trainer", module.attrs.get(HELD_BY))) if isinstance(module, Instance) else None
    return held if isinstance(held, Opaque) else None


def log(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``self.log(name, value, ...)``."""
    bound = bind(SIGNATURE, args, kwargs)
    trainer, value = trainer_of(bound["self"]), bound.get("value")
    if trainer is None:
        return None
    stepwise = trainer.attrs.get("cgx.hook") in STEPWISE
    metric = Metric(
        str(plain(bound.get("name")) or "value"), site, lies_on_device(value, trainer), flag(bound.get("prog_bar"), False) is True,
        flag(bound.get("logger"), True) is not False, flag(bound.get("on_step"), stepwise) is True, flag(bound.get("on_epoch"), not stepwise) is True,
        flag(bound.get("sync_dist"), False) is True and interp.world.size != 1, str(trainer.attrs.get("cgx.stage", "training")),
        bound.get("reduce_fx", "mean") == "mean", value,
    )  # fmt: skip
    if is_number(value) and not on_cpu(trainer):
        interp.event("copy", site, author=AUTHOR, direction="H2D", what=f"logged number {metric.name}", source="pageable", non_blocking=False, blocks_host=True,
                     bytes=4, sync_kind="other", factory=True, phase=metric_phase(metric))  # fmt: skip
    metric.sync_dist = metric.sync_dist and not is_object(value)  # which gathers its own states
    if metric.sync_dist and metric.on_step:
        reduce(interp, metric, 1)
    held = trainer.attrs[LOGGED]
    if not any(one.site.anchor == site.anchor and one.name == metric.name and one.stage == metric.stage for one in held):
        held.append(metric)
    return None


def metric_phase(metric: Metric) -> str:
    return "logging" if metric.stage == "training" else "evaluation"


def lies_on_device(value: Value, trainer: Opaque) -> bool:
    """Tensors where they lie; numbers become tensors of the device, and so do the results of metric objects."""
    if isinstance(value, TensorValue):
        return value.device in ACCELERATORS
    return not on_cpu(trainer) and (is_number(value) or is_object(value))


def is_object(value: Value) -> bool:
    """A metric of torchmetrics: its ``compute`` is called at the end of the epoch."""
    return isinstance(value, Opaque) and "torchmetrics" in value.qname


def is_number(value: Value) -> bool:
    return number(value) is not None or (isinstance(value, Unknown) and value.hint in ("int", "float"))


def reduce(interp: Any, metric: Metric, times: int) -> None:
    """Lightning's reduction of a metric: a barrier, then the sum."""
    for collective in ("barrier", "all_reduce") * times:
        interp.event("collective", metric.site, author=AUTHOR, collective=collective, issued_by="LightningModule.log", blocking=True, parallelism="data",
                     what=metric.site.text, phase=metric_phase(metric))  # fmt: skip


def log_dict(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``self.log_dict(values, ...)``: each of them."""
    bound = bind("self dictionary prog_bar logger on_step on_epoch reduce_fx enable_graph sync_dist", args, kwargs)
    options = {name: value for name, value in bound.items() if name not in ("self", "dictionary")}
    values = bound.get("dictionary")
    if isinstance(values, DictValue):
        for name, value in values.items.items():
            log(interp, site, [bound["self"], name, value], options)
    if not isinstance(values, DictValue) or values.open:
        log(interp, site, [bound["self"], "values", Unknown("values", "data", site.anchor)], options)
    return None


def after_batch(interp: Any, trainer: Opaque) -> None:
    """The progress bar's numbers, after every batch."""
    if flag(trainer.attrs.get("barebones")):
        return
    for metric in trainer.attrs[LOGGED]:
        if metric.on_step and metric.prog_bar and metric.stage == trainer.attrs.get("cgx.stage"):
            item(interp, metric, "progress bar")


def when_due(interp: Any, trainer: Opaque) -> bool:
    """The logger's numbers, every ``log_every_n_steps`` steps. Whether there is anything to write."""
    if trainer.attrs.get("logger") is None:
        return False
    found = [metric for metric in trainer.attrs[LOGGED] if metric.on_step and metric.stage == trainer.attrs.get("cgx.stage")]
    for metric in found:
        if metric.logger:
            item(interp, metric, "logger")
    return any(metric.logger for metric in found)


def at_epoch_end(interp: Any, trainer: Opaque, stage: str) -> bool:
    """Metrics that are kept over the epoch: reduced where asked for, then read by bar and logger. Whether anything was written."""
    found = [metric for metric in trainer.attrs[LOGGED] if metric.on_epoch and metric.stage == stage]
    for metric in found:
        if metric.sync_dist:
            reduce(interp, metric, 2 if metric.mean else 1)
        if isinstance(metric.value, Opaque) and metric.value.qname == METRIC:
            compute(interp, metric.site, [metric.value], {}, metric_phase(metric))
        if metric.prog_bar:
            item(interp, metric, "progress bar")
        if metric.logger and trainer.attrs.get("logger") is not None:
            item(interp, metric, "logger")
    return any(metric.logger for metric in found) and trainer.attrs.get("logger") is not None


def item(interp: Any, metric: Metric, reader: str) -> None:
    if metric.on_device:
        interp.event("sync", metric.site, author=AUTHOR, sync="item", what=f"{reader}: {metric.site.text}", reads=True, phase=metric_phase(metric))


ENTRIES: dict[str, Any] = {}
for _module in ("lightning.pytorch.LightningModule", "lightning.pytorch.core.module.LightningModule", "pytorch_lightning.core.module.LightningModule",
                "lightning.pytorch.callbacks.Callback"):  # fmt: skip
    ENTRIES[f"{_module}.log"] = log
    ENTRIES[f"{_module}.log_dict"] = log_dict
BASES: dict[str, tuple[str, ...]] = {}
