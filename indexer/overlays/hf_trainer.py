"""Hugging Face Trainer: the life cycle of ``train`` as a literal (read from transformers 4.46-5.x). Used without its source.

One round: batches from its own loader (pinned, blocking copies: ``accelerate`` moves them), forward under autocast, backward
through accelerate, clipping, optimizer and scheduler at the end of an accumulation; the loss is read where it is logged.
"""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.values import (
    MISSING,
    DictValue,
    DType,
    Instance,
    ModuleInstance,
    Opaque,
    TensorValue,
    Value,
)
from cgx.indexer.overlays.arguments import bind, flag, plain
from cgx.indexer.overlays.data_loader import LOADER
from cgx.indexer.overlays.lifecycle import (
    backward,
    batches,
    ddp,
    every,
    flags,
    loop,
    moved_batch,
    optional,
    place_model,
    set_mode,
    take,
)
from cgx.indexer.overlays.wrappers import inner

AUTHOR = "overlays.hf_trainer"
TRAINER, ARGUMENTS = "transformers.trainer.Trainer", "transformers.training_args.TrainingArguments"
SIGNATURE = (
    "self model args data_collator train_dataset eval_dataset processing_class model_init compute_loss_func compute_metrics "
    "callbacks optimizers"
)
DEFAULTS: dict[str, Value] = {
    "output_dir": "trainer_output", "per_device_train_batch_size": 8, "per_device_eval_batch_size": 8, "gradient_accumulation_steps": 1, "learning_rate": 5e-5,
    "weight_decay": 0.0, "max_grad_norm": 1.0, "num_train_epochs": 3.0, "max_steps": -1, "lr_scheduler_type": "linear", "warmup_steps": 0,
    "logging_strategy": "steps", "logging_steps": 500, "logging_first_step": False, "save_strategy": "steps", "save_steps": 500, "eval_strategy": "no",
    "eval_steps": None, "bf16": False, "fp16": False, "tf32": None, "optim": "adamw_torch_fused", "dataloader_num_workers": 0, "dataloader_pin_memory": True,
    "dataloader_drop_last": False, "gradient_checkpointing": False, "torch_compile": False, "seed": 42, "do_train": False, "do_eval": False,
    "remove_unused_columns": True, "report_to": "none", "deepspeed": None, "fsdp": "", "local_rank": -1, "resume_from_checkpoint": None,
}  # fmt: skip
OPTIMIZERS = {"adamw_torch": "torch.optim.AdamW", "adamw_torch_fused": "torch.optim.AdamW(fused)", "adafactor": "transformers.optimization.Adafactor",
              "adamw_bnb_8bit": "bitsandbytes.optim.AdamW8bit", "adamw_8bit": "bitsandbytes.optim.AdamW8bit", "sgd": "torch.optim.SGD",
              "paged_adamw_32bit": "bitsandbytes.optim.PagedAdamW", "paged_adamw_8bit": "bitsandbytes.optim.PagedAdamW8bit"}  # fmt: skip


def arguments(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``TrainingArguments`` with its defaults."""
    given = {**bind("output_dir", args, kwargs)}
    return Opaque(ARGUMENTS, {**DEFAULTS, "world_size": interp.world.size, "device": "cuda", **given}, site.anchor)


def construct(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    trainer = Opaque(TRAINER, {}, site.anchor)
    initialise(interp, site, [trainer, *args], kwargs)
    return trainer


def initialise(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``Trainer.__init__``, also called by a user's subclass: the model goes to the device here."""
    bound = bind(SIGNATURE, args, kwargs)
    trainer = bound.pop("self")
    for name in SIGNATURE.split()[1:]:
        interp.setattr(trainer, name, bound.get(name), site)
    if bound.get("model") is None and bound.get("model_init") is not None:
        interp.setattr(trainer, "model", interp.call(bound["model_init"], [], {}, site), site)
    if bound.get("args") is None:
        interp.setattr(trainer, "args", arguments(interp, site, [], {}), site)
    place_model(interp, inner(bound.get("model")), site)
    return None


def option(trainer: Value, name: str) -> Value:
    """A training argument: of the modelled class, or of a user's dataclass that derives from it."""
    held = trainer.attrs.get("args") if isinstance(trainer, Opaque | Instance) else None
    if isinstance(held, Opaque | Instance) and name in held.attrs:
        return held.attrs[name]
    if isinstance(held, Instance):
        known = held.cls.lookup(name)
        if known is not MISSING:
            return known
    return DEFAULTS.get(name)


def attribute(trainer: Value, name: str) -> Value:
    return trainer.attrs.get(name) if isinstance(trainer, Opaque | Instance) else None


def autocast_of(trainer: Value) -> str | None:
    return "bfloat16" if flag(option(trainer, "bf16")) else "float16" if flag(option(trainer, "fp16")) else None


def loader_of(interp: Any, trainer: Value, dataset: Value, batch: str, site: Any) -> Value:
    """The loader that the Trainer builds, or the user's override of ``get_train_dataloader``."""
    name = "get_train_dataloader" if "train" in batch else "get_eval_dataloader"
    hook = optional(interp, trainer, name, site)
    if hook is not None:
        return interp.call(hook, [], {}, site)
    if dataset is None:
        return None
    attrs: dict[str, Value] = {
        "dataset": dataset, "batch_size": option(trainer, batch), "num_workers": option(trainer, "dataloader_num_workers"),
        "pin_memory": option(trainer, "dataloader_pin_memory"), "drop_last": option(trainer, "dataloader_drop_last"),
        "collate_fn": attribute(trainer, "data_collator"), "sampler": None, "cgx.sampler": None, "shuffle": "train" in batch,
        "cgx.shards": interp.world.size,
    }  # fmt: skip
    return Opaque(LOADER, attrs, site.anchor)


def train(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``trainer.train()``."""
    trainer = args[0]
    model = attribute(trainer, "model")
    dtype = autocast_of(trainer)
    setup(interp, trainer, model, dtype, site)
    wrapped = ddp(interp, model, site, AUTHOR)
    loader = loader_of(interp, trainer, attribute(trainer, "train_dataset"), "per_device_train_batch_size", site)
    epochs = option(trainer, "num_train_epochs")
    count = (
        int(epochs)
        if isinstance(epochs, int | float) and not isinstance(epochs, bool)
        else interp.unknown("num_train_epochs", "parameter", site)
    )
    found = batches(interp, loader, site)
    set_mode(interp, model, True, site)
    steps = option(trainer, "max_steps")
    if isinstance(steps, int) and steps > 0:
        accumulate = option(trainer, "gradient_accumulation_steps")
        found.length = steps * accumulate if isinstance(accumulate, int) else found.length
        count = 1
    with (
        loop(interp, site, count, "num_train_epochs", "range", "epoch"),
        loop(interp, site, found.length, "train dataloader", "loader", "inputs"),
    ):
        one_round(interp, trainer, wrapped, take(interp, found, site), dtype, site)
    return Opaque("transformers.trainer_utils.TrainOutput", {}, site.anchor)


def setup(interp: Any, trainer: Value, model: Value, dtype: str | None, site: Any) -> None:
    """What the arguments switch on: optimizer, precision, recompute, compile."""
    given = attribute(trainer, "optimizers")
    if not (isinstance(given, tuple) and given and given[0] is not None):
        name = plain(option(trainer, "optim")) or "adamw_torch"
        interp.event("compute", site, author=AUTHOR, key="optimizer", value=OPTIMIZERS.get(str(name), str(name)), option_lr=plain(option(trainer, "learning_rate")),
                     groups=2)  # fmt: skip
        interp.event(
            "compute", site, author=AUTHOR, key="lr_schedule", value=str(plain(option(trainer, "lr_scheduler_type")))
        )
    if dtype == "float16":
        interp.event("compute", site, author=AUTHOR, key="grad_scaler", value="enabled", enabled=True)
    if flag(option(trainer, "gradient_checkpointing")):
        interp.event(
            "compute",
            site,
            author=AUTHOR,
            key="activation_checkpointing",
            value="gradient_checkpointing=True: each layer",
            target=model,
        )
    if flag(option(trainer, "torch_compile")):
        interp.event("compute", site, author=AUTHOR, key="compile", value="whole model", target=model)


def one_round(interp: Any, trainer: Value, model: Value, inputs: Value, dtype: str | None, site: Any) -> None:
    hook = optional(interp, trainer, "training_step", site)
    batch = moved_batch(interp, inputs, False, site, AUTHOR, "inputs")
    if hook is not None:
        loss = interp.call(hook, [attribute(trainer, "model"), batch], {}, site)
    else:
        loss = forward(interp, trainer, model, batch, dtype, site)
        backward(interp, loss, site, AUTHOR)
    with every(
        interp,
        site,
        "step",
        option(trainer, "gradient_accumulation_steps"),
        "(step + 1) % gradient_accumulation_steps == 0",
    ):
        clip = plain(option(trainer, "max_grad_norm"))
        if clip:
            interp.event("compute", site, author=AUTHOR, key="grad_clip", value=clip)
        if dtype == "float16":
            interp.event("sync", site, author=AUTHOR, sync="item", what="found_inf", internal=True)
        interp.event("compute", site, author=AUTHOR, key="optimizer_step", value="optimizer.step")
        interp.event("compute", site, author=AUTHOR, key="lr_schedule", value="step", at="step")
        interp.event("compute", site, author=AUTHOR, key="zero_grad", value={"set_to_none": True})
        periodic(interp, trainer, model, dtype, site)


def forward(interp: Any, trainer: Value, model: Value, batch: Value, dtype: str | None, site: Any) -> Value:
    """``compute_loss``: the user's override, or the model's own loss."""

    def run() -> Value:
        hook = optional(interp, trainer, "compute_loss", site)
        if hook is not None:
            return interp.call(hook, [model, batch], {}, site)
        if not isinstance(inner(model), ModuleInstance):
            interp.event("compute", site, author=AUTHOR, key="forward", value="model(**inputs)")
            return TensorValue((), "float32", "cuda")
        named = (
            {key: value for key, value in batch.items.items() if isinstance(key, str)}
            if isinstance(batch, DictValue)
            else {}
        )
        outputs = interp.call(model, [] if named else [batch], named, site)
        return loss_of(interp, outputs, site)

    if dtype is None:
        return run()
    with flags(interp, site, "torch.amp.autocast", autocast=dtype, dtype_value=DType(dtype)):
        return run()


def loss_of(interp: Any, outputs: Value, site: Any) -> Value:
    if isinstance(outputs, DictValue):
        return outputs.items.get("loss")
    if isinstance(outputs, tuple):
        return outputs[0]
    if isinstance(outputs, Instance | Opaque):
        return interp.getattr(outputs, "loss", site)
    return outputs


def periodic(interp: Any, trainer: Value, model: Value, dtype: str | None, site: Any) -> None:
    """Logging, evaluation and saving, each by its strategy."""
    if plain(option(trainer, "logging_strategy")) != "no":
        with every(interp, site, "global_step", option(trainer, "logging_steps")):
            interp.event("sync", site, author=AUTHOR, sync="item", what="tr_loss", reads=True)
            interp.event("log", site, author=AUTHOR, what="trainer.log")
    strategy = plain(option(trainer, "eval_strategy"))
    if strategy == "steps":
        with every(interp, site, "global_step", option(trainer, "eval_steps") or option(trainer, "logging_steps")):
            evaluate(interp, site, [trainer], {})
    if plain(option(trainer, "save_strategy")) == "steps":
        with every(interp, site, "global_step", option(trainer, "save_steps")):
            save(interp, site, [trainer], {})


def evaluate(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``trainer.evaluate()``: predictions are gathered and moved to the host."""
    trainer = args[0]
    model = attribute(trainer, "model")
    loader = loader_of(interp, trainer, attribute(trainer, "eval_dataset"), "per_device_eval_batch_size", site)
    if loader is None:
        return DictValue(open=True)
    found = batches(interp, loader, site)
    set_mode(interp, model, False, site)
    with (
        flags(interp, site, "torch.no_grad", grad=False),
        loop(interp, site, found.length, "eval dataloader", "loader", "inputs"),
    ):
        batch = moved_batch(interp, take(interp, found, site), False, site, AUTHOR, "inputs")
        forward(interp, trainer, model, batch, autocast_of(trainer), site)
    set_mode(interp, model, True, site)
    return DictValue(open=True)


def save(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    interp.event("checkpoint", site, author=AUTHOR, what="model and optimizer state", action="save")
    interp.event("copy", site, author=AUTHOR, direction="D2H", what="model and optimizer state", source="pageable", non_blocking=False, blocks_host=True,
                 sync_kind="other", carrier="checkpoint")  # fmt: skip
    return None


def nothing(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return None


def main_process(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    from cgx.indexer.overlays.accelerate import by_rank

    return by_rank(interp, lambda rank: rank == 0)


ENTRIES: dict[str, Any] = {
    "transformers.Trainer": construct,
    TRAINER: construct,
    "transformers.TrainingArguments": arguments,
    ARGUMENTS: arguments,
    f"{TRAINER}.__init__": initialise,
    f"{TRAINER}.train": train,
    f"{TRAINER}.evaluate": evaluate,
    f"{TRAINER}.save_model": save,
    f"{TRAINER}.save_state": nothing,
    f"{TRAINER}.log_metrics": nothing,
    f"{TRAINER}.save_metrics": nothing,
    f"{TRAINER}.push_to_hub": nothing,
    f"{TRAINER}.add_callback": nothing,
    f"{TRAINER}.is_world_process_zero": main_process,
}
BASES: dict[str, tuple[str, ...]] = {
    "transformers.Trainer": (TRAINER,),
    "transformers.TrainingArguments": (ARGUMENTS,),
    "transformers.Seq2SeqTrainer": (TRAINER,),
    "transformers.Seq2SeqTrainingArguments": (ARGUMENTS,),
    "trl.SFTTrainer": (TRAINER,),
}
