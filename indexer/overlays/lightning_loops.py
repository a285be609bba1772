"""The loops of ``Trainer.fit``, ``validate``, ``test`` and ``predict`` as a literal life cycle (read from lightning 2.0-2.6).

Training, one batch: a word of rank 0 about signals (several processes, since 2.5.2), fetch, copy (non-blocking), ``training_step`` under autocast,
``zero_grad``, backward (in all but the last batch of an accumulation gradients stay local), clipping, optimizer and scheduler; the progress bar's
metrics are read, the logger's when it is due. Validation runs before the first epoch for ``num_sanity_val_steps`` batches, then as
``val_check_interval`` and ``check_val_every_n_epoch`` say; checkpoints follow it, or the epoch.
"""

from __future__ import annotations

import contextlib
import math
from typing import Any

from cgx.indexer.interpreter.trace import BranchNode, CallNode
from cgx.indexer.interpreter.values import (
    DictValue,
    DType,
    Instance,
    ListValue,
    ModuleInstance,
    Native,
    Opaque,
    Sequence,
    TensorValue,
    Unknown,
    Value,
)
from cgx.indexer.overlays.arguments import bind, flag, number, plain
from cgx.indexer.overlays.data_loader import LOADER, iterable
from cgx.indexer.overlays.lifecycle import backward, batches, delivered, every, flags, loop, moved_batch, set_mode, take
from cgx.indexer.overlays.lightning_hooks import attribute, both, call, callbacks
from cgx.indexer.overlays.lightning_logging import HELD_BY, after_batch, at_epoch_end, when_due
from cgx.indexer.overlays.lightning_options import (
    LOGGED,
    autocast_of,
    is_instance,
    limited,
    on_cpu,
    root_device,
    version_of,
)
from cgx.indexer.overlays.lightning_strategies import set_up
from cgx.indexer.overlays.transfer import move_module
from cgx.indexer.overlays.wrappers import inner

AUTHOR = "overlays.lightning"


# ------------------------------------------------------------------ fit


def fit(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``trainer.fit(model, train_dataloaders, val_dataloaders, datamodule)``."""
    with interp.inside(CallNode(site.anchor, site.text, symbol="lightning.pytorch.Trainer.fit"), keep=True):
        fitted(interp, site, args, kwargs)
    return None


def fitted(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> None:
    bound = bind("self model train_dataloaders val_dataloaders datamodule ckpt_path", args, kwargs)
    trainer, model = bound["self"], inner(bound.get("model"))
    train_given = bound.get("train_dataloaders", bound.get("train_dataloader"))
    datamodule = bound.get("datamodule")
    if is_datamodule(interp, train_given, site):
        datamodule, train_given = train_given, None
    attach(interp, trainer, model, datamodule, "fit", site)
    set_up(interp, trainer, model, site, fitting=True)
    both(interp, trainer, model, "on_fit_start", [], site)
    optimizers, schedulers = configured(interp, trainer, model, site)
    train = loaders(interp, trainer, model, train_given, datamodule, "train_dataloader", site)
    valid = loaders(interp, trainer, model, bound.get("val_dataloaders"), datamodule, "val_dataloader", site)
    validates = valid is not None and attribute(interp, model, "validation_step", site) is not None and trainer.attrs["limit_val_batches"] not in (0, 0.0)
    if autocast_of(trainer) == "float16":
        interp.event("compute", site, author=AUTHOR, key="grad_scaler", value="enabled", enabled=True)
    sanity = trainer.attrs["num_sanity_val_steps"]
    if validates and sanity:
        at_start(interp, trainer, model, 0)
        evaluate(interp, trainer, model, valid, "validation", site, sanity=sanity)
        at_start(interp, trainer, model, None)
    both(interp, trainer, model, "on_train_start", [], site)
    found = batches(interp, combined(train), site)
    epochs, steps = limits(interp, trainer, limited(found.length, trainer.attrs["limit_train_batches"]), site)
    with loop(interp, site, epochs, "trainer.max_epochs", "range", "epoch"):
        epoch(interp, trainer, model, optimizers, schedulers, found, steps, valid if validates else None, site)
    both(interp, trainer, model, "on_train_end", [], site)
    both(interp, trainer, model, "on_fit_end", [], site)
    trainer.attrs["cgx.stage"] = None
    tear_down(interp, trainer, model, site)


def attach(interp: Any, trainer: Opaque, model: Value, datamodule: Value, stage: str, site: Any) -> None:
    """Data is prepared and set up, and module and trainer know each other."""
    trainer.attrs |= {"datamodule": datamodule, "lightning_module": model, "model": model}
    for owner in (datamodule, model):
        if isinstance(owner, Instance):
            interp.trail.set_item(owner.attrs, "trainer", trainer)
            interp.trail.set_item(owner.attrs, "_trainer", trainer)
    if isinstance(model, Instance):
        step = Unknown("self.global_step", "loop-carried", site.anchor, "int")
        held = {"logger": trainer.attrs["logger"], "global_rank": trainer.attrs["global_rank"], "local_rank": trainer.attrs["local_rank"], "global_step": step,
                "current_epoch": Unknown("self.current_epoch", "loop-carried", site.anchor, "int"), "_device": root_device(trainer.attrs), "device": root_device(trainer.attrs),
                "loggers": trainer.attrs["loggers"]}  # fmt: skip
        for name, value in held.items():
            interp.trail.set_item(model.attrs, name, value)
    for owner in (datamodule, model):
        call(interp, trainer, owner, "prepare_data", [], site)
    for owner in (datamodule, model):
        call(interp, trainer, owner, "setup", [stage], site)
    for one in trainer.attrs["callbacks"].items:
        if isinstance(one, Instance):  # a callback logs as its module does
            interp.trail.set_item(one.attrs, HELD_BY, trainer)
    callbacks(interp, trainer, model, "setup", [stage], site)


def at_start(interp: Any, trainer: Opaque, model: Value, count: Value) -> None:
    """Before the first step both counters are 0; later they are not known."""
    for owner in (trainer, model):
        for name in ("global_step", "current_epoch") if isinstance(owner, Opaque | Instance) else ():
            key = f"cgx.{name}"
            owner.attrs.setdefault(key, owner.attrs.get(name))
            interp.trail.set_item(owner.attrs, name, count if count is not None else owner.attrs[key])


def limits(interp: Any, trainer: Opaque, length: Value, site: Any) -> tuple[Value, Value]:
    """Epochs, and batches of one. Without either limit Lightning trains 1000 epochs."""
    epochs, most = trainer.attrs["max_epochs"], trainer.attrs["max_steps"]
    accumulate = trainer.attrs["accumulate_grad_batches"]
    if isinstance(most, int) and most > 0 and not isinstance(epochs, int):
        if isinstance(length, int) and isinstance(accumulate, int) and accumulate > 0:
            per_epoch = math.ceil(length / accumulate)
            return math.ceil(most / per_epoch), min(length, most * accumulate)
        return interp.unknown("epochs", "data", site, hint="int"), length
    if epochs is None:
        return 1000, length
    return (epochs if isinstance(epochs, int) and epochs >= 0 else interp.unknown("trainer.max_epochs", "parameter", site, hint="int")), length


def epoch(interp: Any, trainer: Opaque, model: Value, optimizers: list[Value], schedulers: list[Value], found: Sequence, steps: Value, valid: Value, site: Any) -> None:
    """One epoch: its batches, validation at its end or inside, epoch metrics, checkpoints, schedulers."""
    trainer.attrs |= {"cgx.stage": "training"}
    trainer.attrs[LOGGED].clear()
    set_mode(interp, model, True, site)
    both(interp, trainer, model, "on_train_epoch_start", [], site)
    interval = trainer.attrs["val_check_interval"]
    inside = valid is not None and not (isinstance(interval, float) and interval == 1.0)
    with loop(interp, site, steps, "train_dataloader", "loader", "batch"):
        batch(interp, trainer, model, optimizers, schedulers, found, site)
        if inside:
            with every(interp, site, "batch_idx", batches_between(interp, interval, steps, site), "(batch_idx + 1) % val_check_batch == 0"):
                validated(interp, trainer, model, valid, site)
        stepwise_checkpoints(interp, trainer, site)
    if valid is not None and not inside:
        with every(interp, site, "current_epoch", trainer.attrs["check_val_every_n_epoch"]):
            validated(interp, trainer, model, valid, site)
    ended(interp, trainer, model, "training", trainer.attrs.get("cgx.outputs"), site)
    both(interp, trainer, model, "on_train_epoch_end", [], site)
    if at_epoch_end(interp, trainer, "training"):
        interp.event("log", site, author=AUTHOR, what="logger.log_metrics of the epoch")
    for scheduler, interval_of in schedulers:
        if interval_of != "step":
            stepped(interp, scheduler, site)
    if valid is None:
        epoch_checkpoints(interp, trainer, site)


def batches_between(interp: Any, interval: Value, steps: Value, site: Any) -> Value:
    if isinstance(interval, int) and not isinstance(interval, bool):
        return interval
    if isinstance(interval, float) and isinstance(steps, int):
        return max(1, int(steps * interval))
    return interp.unknown("val_check_batch", "data", site, hint="int")


def batch(interp: Any, trainer: Opaque, model: Value, optimizers: list[Value], schedulers: list[Value], found: Sequence, site: Any) -> None:
    """One batch of training."""
    if trainer.attrs["cgx.signals"] and interp.world.size != 1 and not on_cpu(trainer):
        interp.event("copy", site, author=AUTHOR, direction="H2D", what="signal flag", source="pageable", non_blocking=False, blocks_host=True, bytes=8,
                     sync_kind="other", factory=True)  # fmt: skip
        interp.event("collective", site, author=AUTHOR, collective="broadcast", issued_by="call", blocking=True, parallelism="data", what="signal flag", phase="data")
        interp.event("sync", site, author=AUTHOR, sync="item", what="signal flag", reads=True, phase="data")
    given = to_device(interp, trainer, model, found, site)
    index = interp.unknown("batch_idx", "loop-carried", site, hint="int")
    both(interp, trainer, model, "on_train_batch_start", [given, index], site)
    if flag(model.attrs.get("automatic_optimization") if isinstance(model, Instance) else None, True) is False:
        outputs = training_step(interp, trainer, model, [given, index], site)
        period: Value = 1
    else:
        outputs, period = optimised(interp, trainer, model, optimizers, given, index, site), trainer.attrs["accumulate_grad_batches"]
        with every(interp, site, "batch_idx", period, "(batch_idx + 1) % accumulate_grad_batches == 0"):
            for scheduler, interval in schedulers:
                if interval == "step":
                    stepped(interp, scheduler, site)
    trainer.attrs["cgx.outputs"] = outputs
    both(interp, trainer, model, "on_train_batch_end", [outputs, given, index], site)
    after_batch(interp, trainer)
    if trainer.attrs.get("logger") is None or trainer.attrs["log_every_n_steps"] == 0:
        return
    with every(interp, site, "batch_idx", period, "(batch_idx + 1) % accumulate_grad_batches == 0"), \
         every(interp, site, "global_step", trainer.attrs["log_every_n_steps"]):  # fmt: skip
        if when_due(interp, trainer):
            interp.event("log", site, author=AUTHOR, what="logger.log_metrics")


def optimised(interp: Any, trainer: Opaque, model: Value, optimizers: list[Value], given: Value, index: Value, site: Any) -> Value:
    """Automatic optimization. Before 2.0 each of several optimizers has a training step of its own."""
    outputs: Value = None
    period = trainer.attrs["accumulate_grad_batches"]
    for number_, optimizer in enumerate(optimizers or [None]):
        more = [number_] if len(optimizers) > 1 else []

        def closure(interp_: Any = None, at: Any = None, args: Any = None, kwargs: Any = None, more: list[Value] = more, optimizer: Value = optimizer) -> Value:
            loss = training_step(interp, trainer, model, [given, index, *more], site)
            value = loss.items.get("loss") if isinstance(loss, DictValue) else loss
            call(interp, trainer, model, "on_before_zero_grad", [optimizer], site)
            cleared(interp, model, optimizer, site)
            call(interp, trainer, model, "on_before_backward", [value], site)
            backward(interp, value, site, AUTHOR)
            both(interp, trainer, model, "on_after_backward", [], site)
            return loss

        hook = attribute(interp, model, "optimizer_step", site)
        if hook is not None:
            first = trainer.attrs.get("cgx.hook")
            trainer.attrs["cgx.hook"] = "optimizer_step"
            native = Native("lightning.closure", lambda i, s, a, k, closure=closure: closure())
            interp.call(hook, [trainer.attrs["current_epoch"], index, optimizer, *more, native], {}, site)
            trainer.attrs["cgx.hook"] = first
            continue
        outputs = closure()
        with every(interp, site, "batch_idx", period, "(batch_idx + 1) % accumulate_grad_batches == 0"):
            stepping(interp, trainer, model, optimizer, site)
    if period != 1 and interp.world.size != 1 and trainer.attrs["strategy_name"] != "deepspeed":
        interp.event("compute", site, author=AUTHOR, key="grad_sync", value="no_sync", how="in all batches of an accumulation but the last", module=inner(model))
    return outputs


def cleared(interp: Any, model: Value, optimizer: Value, site: Any) -> None:
    hook = attribute(interp, model, "optimizer_zero_grad", site)
    if hook is not None:
        interp.call(hook, [interp.unknown("epoch", "loop-carried", site), interp.unknown("batch_idx", "loop-carried", site), optimizer], {}, site)
    elif isinstance(optimizer, Opaque | Instance):
        interp.call(interp.getattr(optimizer, "zero_grad", site), [], {}, site)


def stepping(interp: Any, trainer: Opaque, model: Value, optimizer: Value, site: Any) -> None:
    """Clipping and the step."""
    both(interp, trainer, model, "on_before_optimizer_step", [optimizer], site)
    limit = trainer.attrs["gradient_clip_val"]
    how = plain(trainer.attrs["gradient_clip_algorithm"]) or "norm"
    hook = attribute(interp, model, "configure_gradient_clipping", site)
    if hook is not None:
        interp.call(hook, [optimizer, limit, how], {}, site)
    elif plain(limit):
        interp.event("compute", site, author=AUTHOR, key="grad_clip", value=plain(limit), how=how)
    if autocast_of(trainer) == "float16" and not (isinstance(optimizer, Opaque) and flag(optimizer.attrs.get("fused"))):
        interp.event("sync", site, author=AUTHOR, sync="item", what="found_inf", internal=True)
    if isinstance(optimizer, Opaque | Instance):
        interp.call(interp.getattr(optimizer, "step", site), [], {}, site)
    else:
        interp.event("compute", site, author=AUTHOR, key="optimizer_step", value="optimizer.step")


def clip_gradients(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``self.clip_gradients(optimizer, gradient_clip_val, gradient_clip_algorithm)``, by the user or in manual optimization."""
    bound = bind("self optimizer gradient_clip_val gradient_clip_algorithm", args, kwargs)
    interp.event("compute", site, author=AUTHOR, key="grad_clip", value=plain(bound.get("gradient_clip_val")), how=plain(bound.get("gradient_clip_algorithm")) or "norm")
    return None


def training_step(interp: Any, trainer: Opaque, model: Value, args: list[Value], site: Any) -> Value:
    with autocast(interp, trainer, site):
        found = call(interp, trainer, model, "training_step", args, site)
        return after_step(interp, trainer, model, "training", found, site)


def after_step(interp: Any, trainer: Opaque, model: Value, stage: str, outputs: Value, site: Any) -> Value:
    """``*_step_end`` of versions before 2.0: it may give other outputs."""
    changed = call(interp, trainer, model, f"{stage}_step_end", [outputs], site)
    return outputs if changed is None else changed


def ended(interp: Any, trainer: Opaque, model: Value, stage: str, outputs: Value, site: Any) -> None:
    """``*_epoch_end(outputs)`` of versions before 2.0: what each batch of the epoch gave."""
    if attribute(interp, model, f"{stage}_epoch_end", site) is not None:
        length = interp.unknown("len(outputs)", "data", site, hint="int")
        before = trainer.attrs.get("cgx.hook")
        call(interp, trainer, model, f"{stage}_epoch_end", [Sequence(detached(outputs), length, "list", site.anchor)], site)
        trainer.attrs["cgx.hook"] = before


def detached(value: Value) -> Value:
    """A step that gave its loss alone has it under its name."""
    return DictValue({"loss": value}) if isinstance(value, TensorValue) else value


def autocast(interp: Any, trainer: Opaque, site: Any) -> Any:
    dtype = autocast_of(trainer)
    return contextlib.nullcontext() if dtype is None else flags(interp, site, "torch.amp.autocast", autocast=dtype, dtype_value=DType(dtype))


def stepped(interp: Any, scheduler: Value, site: Any) -> None:
    if isinstance(scheduler, Opaque | Instance):
        interp.call(interp.getattr(scheduler, "step", site), [], {}, site)


# ------------------------------------------------------------------ data


def is_datamodule(interp: Any, value: Value, site: Any) -> bool:
    return isinstance(value, Instance) and attribute(interp, value, "train_dataloader", site) is not None


def loaders(interp: Any, trainer: Opaque, model: Value, given: Value, datamodule: Value, name: str, site: Any) -> Value:
    """The loaders given, else those of the hook of data module or model; several processes share their samples."""
    if given is None:
        for owner in (datamodule, model):
            hook = attribute(interp, owner, name, site)
            if hook is not None:
                given = interp.call(hook, [], {}, site)
                break
    if isinstance(given, ListValue) and not given.items and not given.open:
        return None  # a hook that has nothing to give
    return shared(interp, trainer, given)


def shared(interp: Any, trainer: Opaque | None, value: Value) -> Value:
    """``use_distributed_sampler``: a loader without a distributed sampler of its own gets one."""
    if isinstance(value, ListValue):
        return ListValue([shared(interp, trainer, one) for one in value.items], open=value.open)
    if isinstance(value, DictValue):
        return DictValue({key: shared(interp, trainer, one) for key, one in value.items.items()}, open=value.open)
    if interp.world.size == 1 or (trainer is not None and flag(trainer.attrs["use_distributed_sampler"], True) is False):
        return value
    if not isinstance(value, Opaque) or value.qname != LOADER or value.attrs.get("batch_sampler") is not None:
        return value
    dataset, sampler = value.attrs.get("dataset"), value.attrs.get("cgx.sampler")
    if iterable(dataset) or (isinstance(sampler, Opaque) and "cgx.world" in sampler.attrs):
        return value
    named = getattr(sampler, "qname", "").rpartition(".")[2]  # any other sampler is wrapped: its own length is what is divided
    source = dataset if sampler is None or named in ("RandomSampler", "SequentialSampler") else sampler
    made = Opaque("torch.utils.data.distributed.DistributedSampler", {"dataset": source, "cgx.world": interp.world.size}, value.anchor)
    return Opaque(LOADER, {**value.attrs, "sampler": made, "cgx.sampler": made}, value.anchor, value.name)


def combined(value: Value) -> Value:
    """Several training loaders are taken from together; the first one says how long an epoch is."""
    items = value.items if isinstance(value, ListValue) else list(value.items.values()) if isinstance(value, DictValue) else None
    return (items[0] if items else None) if items is not None else value


def to_device(interp: Any, trainer: Opaque, model: Value, found: Sequence, site: Any) -> Value:
    """Hooks before, the copy (the user's own or Lightning's), hooks after."""
    given = take(interp, found, site)
    changed = call(interp, trainer, model, "on_before_batch_transfer", [given, 0], site)
    given = changed if changed is not None else given
    if attribute(interp, model, "transfer_batch_to_device", site) is not None:
        given = call(interp, trainer, model, "transfer_batch_to_device", [given, root_device(trainer.attrs), 0], site)
    elif not on_cpu(trainer):
        given = delivered(interp, found, given, True, site, AUTHOR)
    changed = call(interp, trainer, model, "on_after_batch_transfer", [given, 0], site)
    return changed if changed is not None else given


def moved(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``super().transfer_batch_to_device(batch, device, dataloader_idx)``."""
    return moved_batch(interp, args[1] if len(args) > 1 else kwargs.get("batch"), True, site, AUTHOR)


# ------------------------------------------------------------------ optimizers


def configured(interp: Any, trainer: Opaque, model: Value, site: Any) -> tuple[list[Value], list[Any]]:
    """Optimizers, and (scheduler, interval) pairs, of what ``configure_optimizers`` gives."""
    value = call(interp, trainer, model, "configure_optimizers", [], site)
    optimizers, schedulers = taken_apart(value)
    if isinstance(model, Instance):
        model.attrs["cgx.optimizers"] = ListValue(optimizers)
        model.attrs["cgx.schedulers"] = ListValue([scheduler for scheduler, _ in schedulers])
    trainer.attrs["optimizers"] = ListValue(optimizers)
    return optimizers, schedulers


def taken_apart(value: Value) -> tuple[list[Value], list[Any]]:
    """One optimizer, a list, a dict with a scheduler, a list of such, or (optimizers, schedulers)."""
    if isinstance(value, DictValue):
        return [value.items.get("optimizer")], scheduler_rows(value.items.get("lr_scheduler"))
    if isinstance(value, tuple | ListValue):
        items = list(value.items) if isinstance(value, ListValue) else list(value)
        if len(items) == 2 and isinstance(items[0], ListValue):
            return list(items[0].items), [row for one in listed(items[1]) for row in scheduler_rows(one)]
        parts = [taken_apart(one) for one in items if one is not None]
        return [one for optimizers, _ in parts for one in optimizers], [row for _, rows in parts for row in rows]
    return ([value] if isinstance(value, Opaque | Instance) else []), []


def listed(value: Value) -> list[Value]:
    return list(value.items) if isinstance(value, ListValue) else [value] if value is not None else []


def scheduler_rows(value: Value) -> list[Any]:
    if isinstance(value, DictValue):
        return [(value.items.get("scheduler"), plain(value.items.get("interval")) or "epoch")]
    return [(value, "epoch")] if value is not None else []


# ------------------------------------------------------------------ evaluation


def validated(interp: Any, trainer: Opaque, model: Value, valid: Value, site: Any) -> None:
    """A validation inside ``fit``, and the checkpoint that follows it."""
    evaluate(interp, trainer, model, valid, "validation", site)
    watched(interp, trainer, model, site)
    epoch_checkpoints(interp, trainer, site)
    trainer.attrs |= {"cgx.stage": "training"}


def evaluate(interp: Any, trainer: Opaque, model: Value, loader: Value, stage: str, site: Any, sanity: Value = None) -> None:
    """A loop without gradients, in evaluation mode: ``no_grad`` inside ``fit``, else ``inference_mode``."""
    before = trainer.attrs.get("cgx.stage")
    trainer.attrs |= {"cgx.stage": stage, "sanity_checking": sanity is not None}
    scope = "torch.no_grad" if before is not None or sanity is not None or version_of(interp) < (1, 8) else "torch.inference_mode"
    if flag(trainer.attrs["inference_mode"], True) is False:
        scope = "torch.no_grad"
    short = {"validation": "val"}.get(stage, stage)
    with interp.inside(CallNode(site.anchor, site.text, symbol=f"lightning.pytorch.Trainer.{stage}_loop")):
        set_mode(interp, model, False, site)
        both(interp, trainer, model, f"on_{stage}_start", [], site)
        both(interp, trainer, model, f"on_{stage}_epoch_start", [], site)
        for one in loader.items if isinstance(loader, ListValue) and loader.items else [combined(loader)]:
            found = batches(interp, one, site)
            length = limited(found.length, trainer.attrs[f"limit_{short}_batches"])
            length = min(length, sanity) if isinstance(sanity, int) and sanity > 0 and isinstance(length, int) else sanity if isinstance(sanity, int) and sanity > 0 else length
            with flags(interp, site, scope, grad=False), loop(interp, site, length, f"{short}_dataloader", "loader", "batch"):
                evaluation_batch(interp, trainer, model, found, stage, site)
        with flags(interp, site, scope, grad=False):
            ended(interp, trainer, model, stage, trainer.attrs.get("cgx.outputs"), site)
            both(interp, trainer, model, f"on_{stage}_epoch_end", [], site)
        if sanity is None and at_epoch_end(interp, trainer, stage):
            interp.event("log", site, author=AUTHOR, what="logger.log_metrics of the evaluation", phase="evaluation")
        both(interp, trainer, model, f"on_{stage}_end", [], site)
        set_mode(interp, model, True, site)
    trainer.attrs |= {"cgx.stage": before, "sanity_checking": False}
    held = trainer.attrs[LOGGED]
    held[:] = [metric for metric in held if metric.stage != stage]


def evaluation_batch(interp: Any, trainer: Opaque, model: Value, found: Sequence, stage: str, site: Any) -> None:
    given = to_device(interp, trainer, model, found, site)
    index = interp.unknown("batch_idx", "loop-carried", site, hint="int")
    both(interp, trainer, model, f"on_{stage}_batch_start", [given, index], site)
    with autocast(interp, trainer, site):
        outputs = call(interp, trainer, model, f"{stage}_step", [given, index], site)
        outputs = after_step(interp, trainer, model, stage, outputs, site)
    trainer.attrs["cgx.outputs"] = outputs
    if stage == "predict" and outputs is not None:
        kept_predictions(interp, outputs, site)
    both(interp, trainer, model, f"on_{stage}_batch_end", [outputs, given, index], site)
    after_batch(interp, trainer)


def kept_predictions(interp: Any, outputs: Value, site: Any) -> None:
    """``predict`` returns what every batch gave, on the host."""
    for one in outputs if isinstance(outputs, tuple) else outputs.items if isinstance(outputs, ListValue) else [outputs]:
        if isinstance(one, TensorValue) and one.device == "cuda":
            interp.event("sync", site, author=AUTHOR, sync="cpu", what="predictions", reads=True)


def evaluation(stage: str) -> Any:
    """``trainer.validate``, ``.test``, ``.predict``."""

    def run(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        bound = bind("self model dataloaders", args, kwargs)
        trainer = bound["self"]
        model, given, datamodule = inner(bound.get("model")), bound.get("dataloaders", bound.get("test_dataloaders")), bound.get("datamodule")
        name = {"validation": "val_dataloader"}.get(stage, f"{stage}_dataloader")
        if is_datamodule(interp, given, site):
            datamodule, given = given, None
        if model is None:
            model = trainer.attrs.get("lightning_module")
        if datamodule is None and given is None:
            datamodule = trainer.attrs.get("datamodule")
        if not isinstance(model, ModuleInstance):
            return ListValue(open=True)
        attach(interp, trainer, model, datamodule, {"validation": "validate"}.get(stage, stage), site)
        set_up(interp, trainer, model, site, fitting=False)
        if interp.world.size != 1:
            interp.event("collective", site, author=AUTHOR, collective="broadcast", issued_by="call", blocking=True, parallelism="data", what="parameters and buffers")
        evaluate(interp, trainer, model, loaders(interp, trainer, model, given, datamodule, name, site), stage, site)
        tear_down(interp, trainer, model, site)
        return ListValue(open=True)

    return run


def tear_down(interp: Any, trainer: Opaque, model: Value, site: Any) -> None:
    """At the end the model goes back to the host."""
    if isinstance(model, ModuleInstance) and not on_cpu(trainer) and trainer.attrs["strategy_name"] in ("single", "ddp"):
        move_module(interp, model, "cpu", None, False, site, what="model")
    call(interp, trainer, model, "teardown", ["fit"], site)


# ------------------------------------------------------------------ checkpoints


def checkpointers(trainer: Opaque) -> list[Value]:
    """Every ``ModelCheckpoint``; one with the defaults where none is given."""
    if flag(trainer.attrs["enable_checkpointing"], True) is False:
        return []
    listed_ = trainer.attrs["callbacks"]
    found = [one for one in listed_.items if is_instance(one, "ModelCheckpoint")] if isinstance(listed_, ListValue) else []
    return found or [Opaque("lightning.pytorch.callbacks.ModelCheckpoint", {}, trainer.anchor)]


def epoch_checkpoints(interp: Any, trainer: Opaque, site: Any) -> None:
    """Those that save after an epoch or its validation."""
    for one in checkpointers(trainer):
        if number(one.attrs.get("every_n_train_steps")) or one.attrs.get("train_time_interval") is not None or one.attrs.get("save_top_k") == 0:
            continue
        with every(interp, site, "current_epoch", one.attrs.get("every_n_epochs") or 1):
            monitored(interp, one, site)
            saved(interp, trainer, site)


def stepwise_checkpoints(interp: Any, trainer: Opaque, site: Any) -> None:
    for one in checkpointers(trainer):
        period = one.attrs.get("every_n_train_steps")
        if number(period):
            with every(interp, site, "global_step", period):
                monitored(interp, one, site)
                saved(interp, trainer, site)


def monitored(interp: Any, checkpoint: Value, site: Any) -> None:
    """Whether the monitored metric is better than the kept ones is asked on the device; all ranks agree on it."""
    if plain(checkpoint.attrs.get("monitor")) and checkpoint.attrs.get("save_top_k") != -1:
        interp.event("sync", site, author=AUTHOR, sync="branch", what=f"{plain(checkpoint.attrs['monitor'])} against the kept checkpoints", phase="checkpoint")
        if interp.world.size != 1:
            interp.event("collective", site, author=AUTHOR, collective="all_reduce", issued_by="call", blocking=True, parallelism="data", what="decision to save",
                         phase="checkpoint")  # fmt: skip


def watched(interp: Any, trainer: Opaque, model: Value, site: Any) -> None:
    """``EarlyStopping`` looks at its metric after each validation."""
    listed_ = trainer.attrs["callbacks"]
    for one in listed_.items if isinstance(listed_, ListValue) else ():
        if is_instance(one, "EarlyStopping"):
            interp.event("sync", site, author=AUTHOR, sync="branch", what=f"{plain(one.attrs.get('monitor')) or 'monitored metric'} for early stopping", phase="evaluation")
            if interp.world.size != 1:
                interp.event("collective", site, author=AUTHOR, collective="all_reduce", issued_by="call", blocking=True, parallelism="data", what="decision to stop",
                             phase="evaluation")  # fmt: skip


def saved(interp: Any, trainer: Opaque, site: Any) -> None:
    """State is collected by all ranks (gathered where it is sharded), rank 0 writes it, the others wait."""
    if trainer.attrs["strategy_name"] == "fsdp" and interp.world.size != 1:
        interp.event("collective", site, author=AUTHOR, collective="all_gather", issued_by="FullyShardedDataParallel", blocking=True, parallelism="data",
                     what="full state", carrier="checkpoint")  # fmt: skip
    only = interp.inside(BranchNode(site.anchor, "trainer.is_global_zero", ranks=(0,), decided=True)) if len(interp.world.ranks) > 1 else contextlib.nullcontext()
    with only:
        interp.event("checkpoint", site, author=AUTHOR, what="checkpoint of model and optimizer", action="save")
        interp.event("copy", site, author=AUTHOR, direction="D2H", what="checkpoint of model and optimizer", source="pageable", non_blocking=False,
                     blocks_host=True, sync_kind="other", carrier="checkpoint")  # fmt: skip
    if interp.world.size != 1:
        interp.event("collective", site, author=AUTHOR, collective="barrier", issued_by="call", blocking=True, parallelism="data", what="checkpoint is written",
                     phase="checkpoint")  # fmt: skip


def save(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``trainer.save_checkpoint(path)``."""
    saved(interp, args[0], site)
    return None


