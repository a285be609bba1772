"""Lightning: the life cycle of ``Trainer.fit`` as a literal (read from lightning 2.0-2.6). Used where its source is not given.

One round: batch to the device (non-blocking where it can be), ``training_step`` under the precision's autocast, zero_grad,
backward, clipping, optimizer step at the end of an accumulation; validation every ``check_val_every_n_epoch`` epochs, then
the checkpoint callback; logged values are read on the host every ``log_every_n_steps``.
"""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.values import DictValue, DType, Instance, ListValue, Opaque, TensorValue, Unknown, Value
from cgx.indexer.launch.plan import MAX_RANKS
from cgx.indexer.overlays.arguments import bind, flag, plain
from cgx.indexer.overlays.lifecycle import (
    backward,
    batches,
    ddp,
    every,
    flags,
    loop,
    moved_batch,
    optimizer_step,
    optional,
    place_model,
    set_mode,
    take,
)
from cgx.indexer.overlays.processes import set_world
from cgx.indexer.overlays.transfer import ACCELERATORS

AUTHOR = "overlays.lightning"
TRAINER, MODULE = "lightning.pytorch.Trainer", "lightning.pytorch.LightningModule"
PREFIXES = ("lightning", "lightning.pytorch", "pytorch_lightning", "lightning.pytorch.trainer", "pytorch_lightning.trainer", "lightning.pytorch.trainer.trainer", "lightning.pytorch.core.module",
            "pytorch_lightning.core.module", "lightning.pytorch.core")  # fmt: skip
PRECISIONS = {"16-mixed": "float16", "bf16-mixed": "bfloat16", "16": "float16", "bf16": "bfloat16"}
DEFAULTS: dict[str, Value] = {
    "accumulate_grad_batches": 1, "check_val_every_n_epoch": 1, "log_every_n_steps": 50, "enable_checkpointing": True, "logger": True, "num_nodes": 1,
    "devices": "auto", "strategy": "auto", "precision": "32-true", "accelerator": "auto",
}  # fmt: skip


def construct(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Remember the options with Lightning's defaults; several devices make several processes."""
    attrs = {**DEFAULTS, **{key: value for key, value in kwargs.items() if value is not None}}
    trainer = Opaque(TRAINER, attrs, site.anchor)
    count = devices(attrs.get("devices"))
    nodes = attrs.get("num_nodes")
    if isinstance(count, int) and isinstance(nodes, int) and attrs.get("accelerator") != "cpu" and count * nodes > 1:
        set_world(interp, count * nodes, count, tuple(range(min(count * nodes, MAX_RANKS))))
    attrs["global_step"] = Unknown("trainer.global_step", "loop-carried", site.anchor, "int")
    attrs["current_epoch"] = Unknown("trainer.current_epoch", "loop-carried", site.anchor, "int")
    attrs["world_size"] = interp.world.size
    return trainer


def devices(value: Value) -> int | None:
    if isinstance(value, ListValue):
        return len(value.items)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def loaders(interp: Any, model: Value, given: Value, datamodule: Value, name: str, site: Any) -> Value:
    """The loader given to ``fit``, else the hook of the data module or the model."""
    if isinstance(given, Instance) and optional(interp, given, "train_dataloader", site) is not None:
        datamodule, given = given, None
    if given is not None:
        return given
    for owner in (datamodule, model):
        hook = optional(interp, owner, name, site)
        if hook is not None:
            return interp.call(hook, [], {}, site)
    return None


def fit(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``trainer.fit(model, train_dataloaders, val_dataloaders, datamodule)``."""
    bound = bind("self model train_dataloaders val_dataloaders datamodule ckpt_path", args, kwargs)
    trainer, model = bound["self"], bound.get("model")
    datamodule = bound.get("datamodule", bound.get("train_dataloaders"))
    for owner in (datamodule, model):
        for name in ("prepare_data", "setup"):
            hook = optional(interp, owner, name, site)
            if hook is not None:
                interp.call(hook, ["fit"] if name == "setup" else [], {}, site)
    interp.setattr(model, "trainer", trainer, site)
    if trainer.attrs.get("accelerator") != "cpu":
        place_model(interp, model, site)
    if "fsdp" in str(plain(trainer.attrs.get("strategy"))):
        interp.event(
            "wrap",
            site,
            author=AUTHOR,
            wrapper="FullyShardedDataParallel",
            module=model,
            modules=[model],
            parallelism="data",
        )
    else:
        ddp(interp, model, site, AUTHOR)
    optimizers = the_optimizers(interp, model, site)
    train = loaders(interp, model, bound.get("train_dataloaders"), datamodule, "train_dataloader", site)
    valid = loaders(interp, model, bound.get("val_dataloaders"), datamodule, "val_dataloader", site)
    if plain(trainer.attrs.get("precision")) in ("16-mixed", "16", 16):
        interp.event("compute", site, author=AUTHOR, key="grad_scaler", value="enabled", enabled=True)
    epochs = trainer.attrs.get("max_epochs")
    count = (
        epochs
        if isinstance(epochs, int) and epochs >= 0
        else interp.unknown("max_epochs", "parameter", site, hint="int")
    )
    with loop(interp, site, count, "trainer.max_epochs", "range", "epoch"):
        call_hook(interp, model, "on_train_epoch_start", [], site)
        train_epoch(interp, trainer, model, optimizers, train, site)
        if valid is not None and optional(interp, model, "validation_step", site) is not None:
            with every(interp, site, "current_epoch", trainer.attrs.get("check_val_every_n_epoch")):
                evaluate(interp, trainer, model, valid, "validation", site)
        call_hook(interp, model, "on_train_epoch_end", [], site)
        if flag(trainer.attrs.get("enable_checkpointing"), True) is not False:
            save(interp, site, [trainer], {})
    call_hook(interp, model, "on_train_end", [], site)
    return None


def the_optimizers(interp: Any, model: Value, site: Any) -> Value:
    """What ``configure_optimizers`` gives, without schedulers."""
    hook = optional(interp, model, "configure_optimizers", site)
    value = interp.call(hook, [], {}, site) if hook is not None else None
    if isinstance(value, DictValue):
        return value.items.get("optimizer")
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], ListValue):
        return value[0]
    return value


def call_hook(interp: Any, owner: Value, name: str, args: list[Value], site: Any) -> Value:
    hook = optional(interp, owner, name, site)
    return interp.call(hook, args, {}, site) if hook is not None else None


def autocast_of(trainer: Opaque) -> str | None:
    return PRECISIONS.get(str(plain(trainer.attrs.get("precision"))))


def train_epoch(interp: Any, trainer: Opaque, model: Value, optimizers: Value, train: Value, site: Any) -> None:
    found = batches(interp, train, site)
    set_mode(interp, model, True, site)
    with loop(interp, site, found.length, "train_dataloader", "loader", "batch"):
        batch = to_device(interp, trainer, model, take(interp, found, site), site)
        index = interp.unknown("batch_idx", "loop-carried", site, hint="int")
        loss = one_step(interp, trainer, model, "training_step", batch, index, site)
        if manual(model):
            return
        if isinstance(loss, DictValue):
            loss = loss.items.get("loss")
        backward(interp, loss, site, AUTHOR)
        with every(interp, site, "batch_idx", trainer.attrs.get("accumulate_grad_batches")):
            clip = plain(trainer.attrs.get("gradient_clip_val"))
            if clip:
                interp.event("compute", site, author=AUTHOR, key="grad_clip", value=clip)
            if autocast_of(trainer) == "float16":
                interp.event("sync", site, author=AUTHOR, sync="item", what="found_inf", internal=True)
            optimizer_step(interp, optimizers, site)
        if flag(trainer.attrs.get("logger"), True) is not False:
            with every(interp, site, "global_step", trainer.attrs.get("log_every_n_steps")):
                read_logged(interp, trainer, site)


def read_logged(interp: Any, trainer: Opaque, site: Any) -> None:
    """The logger connector turns each logged device scalar into a number."""
    for name, value in trainer.attrs.get("cgx.logged", ()):
        if isinstance(value, TensorValue) and value.device in ACCELERATORS:
            interp.event("sync", site, author=AUTHOR, sync="item", what=f"logged {name}", reads=True)
    interp.event("log", site, author=AUTHOR, what="logger.log_metrics")


def manual(model: Value) -> bool:
    return isinstance(model, Instance) and flag(model.attrs.get("automatic_optimization"), True) is False


def to_device(interp: Any, trainer: Opaque, model: Value, batch: Value, site: Any) -> Value:
    hook = optional(interp, model, "transfer_batch_to_device", site)
    if hook is not None:
        return interp.call(hook, [batch, "cuda", 0], {}, site)
    if trainer.attrs.get("accelerator") == "cpu":
        return batch
    return moved_batch(interp, batch, True, site, AUTHOR)


def one_step(interp: Any, trainer: Opaque, model: Value, name: str, batch: Value, index: Value, site: Any) -> Value:
    hook = optional(interp, model, name, site)
    if hook is None:
        return None
    args = [batch, index] if takes_index(hook) else [batch]
    dtype = autocast_of(trainer)
    if dtype is None:
        return interp.call(hook, args, {}, site)
    with flags(interp, site, "torch.amp.autocast", autocast=dtype, dtype_value=DType(dtype)):
        return interp.call(hook, args, {}, site)


def takes_index(hook: Value) -> bool:
    """``training_step(self, batch)`` is allowed too."""
    func = getattr(hook, "func", hook)
    node = getattr(func, "node", None)
    return node is None or len(node.args.args) > 2 or node.args.vararg is not None


def evaluate(interp: Any, trainer: Opaque, model: Value, loader: Value, stage: str, site: Any) -> None:
    """A loop without gradients, in evaluation mode."""
    found = batches(interp, loader.items[0] if isinstance(loader, ListValue) and loader.items else loader, site)
    set_mode(interp, model, False, site)
    with (
        flags(interp, site, "torch.inference_mode", grad=False),
        loop(interp, site, found.length, f"{stage} dataloader", "loader", "batch"),
    ):
        batch = to_device(interp, trainer, model, take(interp, found, site), site)
        one_step(
            interp,
            trainer,
            model,
            f"{stage}_step",
            batch,
            interp.unknown("batch_idx", "loop-carried", site, hint="int"),
            site,
        )
    call_hook(interp, model, f"on_{stage}_epoch_end", [], site)
    set_mode(interp, model, True, site)


def evaluation(stage: str) -> Any:
    """``trainer.validate``, ``.test``, ``.predict``."""

    def run(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        bound = bind("self model dataloaders", args, kwargs)
        trainer, model = bound["self"], bound.get("model")
        name = {"validation": "val_dataloader"}.get(stage, f"{stage}_dataloader")
        loader = loaders(interp, model, bound.get("dataloaders"), bound.get("datamodule"), name, site)
        place_model(interp, model, site)
        evaluate(interp, trainer, model, loader, stage, site)
        return ListValue(open=True)

    return run


def save(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    interp.event("checkpoint", site, author=AUTHOR, what="checkpoint of model and optimizer", action="save")
    interp.event("copy", site, author=AUTHOR, direction="D2H", what="checkpoint of model and optimizer", source="pageable", non_blocking=False,
                 blocks_host=True, sync_kind="other", carrier="checkpoint")  # fmt: skip
    return None


def log(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``self.log(name, value)``: kept on the device, read when the logger runs."""
    bound = bind("self name value prog_bar logger on_step on_epoch", args, kwargs)
    trainer = bound["self"].attrs.get("trainer") if isinstance(bound["self"], Instance) else None
    if isinstance(trainer, Opaque):
        interp.trail.set_item(
            trainer.attrs,
            "cgx.logged",
            (*trainer.attrs.get("cgx.logged", ()), (plain(bound.get("name")) or "value", bound.get("value"))),
        )
    if flag(bound.get("sync_dist"), False) and interp.world.size != 1:
        interp.event(
            "collective",
            site,
            author=AUTHOR,
            collective="all_reduce",
            issued_by="LightningModule.log",
            blocking=True,
            parallelism="data",
        )
    return None


def log_dict(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    values = args[1] if len(args) > 1 else kwargs.get("dictionary")
    for name, value in values.items.items() if isinstance(values, DictValue) else ():
        log(interp, site, [args[0], name, value], {})
    return None


def manual_backward(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    backward(interp, args[1] if len(args) > 1 else kwargs.get("loss"), site, AUTHOR)
    return None


def optimizers_of(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return the_optimizers(interp, args[0], site)


def nothing(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return None


def callback(qname: str) -> Any:
    return lambda interp, site, args, kwargs: Opaque(qname, dict(kwargs), site.anchor)


ENTRIES: dict[str, Any] = {}
BASES: dict[str, tuple[str, ...]] = {MODULE: ("torch.nn.Module",)}
for _package in PREFIXES:
    ENTRIES[f"{_package}.Trainer"] = construct
    ENTRIES[f"{_package}.seed_everything"] = nothing
    for _name in ("ModelCheckpoint", "LearningRateMonitor", "EarlyStopping", "RichProgressBar", "TQDMProgressBar"):
        ENTRIES[f"{_package}.callbacks.{_name}"] = callback(f"lightning.pytorch.callbacks.{_name}")
    for _name in ("WandbLogger", "TensorBoardLogger", "CSVLogger"):
        ENTRIES[f"{_package}.loggers.{_name}"] = callback(f"lightning.pytorch.loggers.{_name}")
    if f"{_package}.LightningModule" != MODULE:
        BASES[f"{_package}.LightningModule"] = (MODULE,)
ENTRIES |= {
    f"{TRAINER}.fit": fit,
    f"{TRAINER}.validate": evaluation("validation"),
    f"{TRAINER}.test": evaluation("test"),
    f"{TRAINER}.predict": evaluation("predict"),
    f"{TRAINER}.save_checkpoint": save,
    f"{MODULE}.log": log,
    f"{MODULE}.log_dict": log_dict,
    f"{MODULE}.manual_backward": manual_backward,
    f"{MODULE}.optimizers": optimizers_of,
    f"{MODULE}.print": nothing,
}
