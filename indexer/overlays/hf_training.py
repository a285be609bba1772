"""``Trainer.train`` of Hugging Face as a literal life cycle (read from transformers 4.46-5.24).

``_prepare_for_training``: optimizer, wrapping by accelerate, scheduler. One step of ``_run_epoch``: the batches of an accumulation,
for each of them forward, backward (gradients stay local but in the last) and a look at the loss for NaN; then clipping, optimizer,
scheduler, ``zero_grad``; then what ``_maybe_log_save_evaluate`` finds due.
"""

from __future__ import annotations

import math
from typing import Any

from cgx.indexer.interpreter.trace import CallNode, LoopNode
from cgx.indexer.interpreter.values import DictValue, Instance, ListValue, ModuleInstance, Opaque, Unknown, Value
from cgx.indexer.overlays import deepspeed
from cgx.indexer.overlays.arguments import flag, plain
from cgx.indexer.overlays.fsdp import module_units
from cgx.indexer.overlays.hf_arguments import (
    OPTIMIZERS,
    autocast_of,
    deepspeed_config,
    layer_names,
    option,
    sharding,
    sharding_words,
    word,
)
from cgx.indexer.overlays.hf_evaluation import evaluation
from cgx.indexer.overlays.hf_outside_models import is_outside
from cgx.indexer.overlays.hf_steps import AUTHOR, attribute, gather, loader_of, next_batch, read, save, training_step
from cgx.indexer.overlays.lifecycle import batches, ddp, every, loop, optimizer_step, optional, place_model, set_mode
from cgx.indexer.overlays.wrappers import inner


def train(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``trainer.train()``."""
    with interp.inside(CallNode(site.anchor, site.text, symbol="transformers.trainer.Trainer.train"), keep=True):
        interp.setattr(args[0], "is_in_train", True, site)
        trained(interp, site, args[0])
        interp.setattr(args[0], "is_in_train", False, site)
    return Opaque("transformers.trainer_utils.TrainOutput", {"metrics": DictValue(open=True)}, site.anchor)


def trained(interp: Any, site: Any, trainer: Value) -> None:
    model = attribute(trainer, "model")
    optimizer = the_optimizer(interp, trainer, site)
    switches(interp, trainer, model, site)
    wrapped = wrap(interp, trainer, model, site)
    loader = loader_of(interp, trainer, attribute(trainer, "train_dataset"), "per_device_train_batch_size", site)
    found = batches(interp, loader, site)
    set_mode(interp, model, True, site)
    epochs, steps = counts(interp, trainer, found.length, site)
    callbacks(interp, trainer, "on_train_begin", site)
    if flag(option(trainer, "eval_on_start")):
        evaluation(interp, trainer, site)
    with loop(interp, site, epochs, "num_train_epochs", "range", "epoch"):
        callbacks(interp, trainer, "on_epoch_begin", site)
        with loop(interp, site, steps, "num_update_steps_per_epoch", "loader", "update_step"):
            one_step(interp, trainer, wrapped, optimizer, found, site)
        callbacks(interp, trainer, "on_epoch_end", site)
        due(interp, trainer, "epoch", site)
    read(interp, site, "tr_loss at the end of training")
    callbacks(interp, trainer, "on_train_end", site)


def counts(interp: Any, trainer: Value, batches_: Value, site: Any) -> tuple[Value, Value]:
    """Epochs, and optimizer steps of one; ``max_steps`` wins over the epochs."""
    accumulate, limit, epochs = (
        option(trainer, "gradient_accumulation_steps"),
        option(trainer, "max_steps"),
        option(trainer, "num_train_epochs"),
    )
    known = isinstance(batches_, int) and isinstance(accumulate, int) and accumulate > 0
    steps: Value = max(1, math.ceil(batches_ / accumulate)) if known else None
    if isinstance(limit, int) and limit > 0:
        return (
            (math.ceil(limit / steps), min(steps, limit))
            if steps is not None
            else (interp.unknown("epochs", "data", site, hint="int"), limit)
        )
    if steps is None:
        steps = (
            batches_
            if accumulate == 1
            else Unknown("len(train_dataloader) // gradient_accumulation_steps", "data", site.anchor, "int")
        )
    number = isinstance(epochs, int | float) and not isinstance(epochs, bool)
    return (math.ceil(epochs) if number else interp.unknown("num_train_epochs", "parameter", site, hint="int"), steps)


def the_optimizer(interp: Any, trainer: Value, site: Any) -> Value:
    """The one that was given or that a user's ``create_optimizer`` makes, else what ``optim`` names; its kind as a row."""
    given = attribute(trainer, "optimizers")
    if isinstance(given, tuple) and given and given[0] is not None:
        return given[0]
    hook = optional(interp, trainer, "create_optimizer", site)
    if hook is not None:
        made = interp.call(hook, [], {}, site)
        if isinstance(made, Opaque | Instance):
            return made
    if isinstance(config := deepspeed_config(interp, trainer), str | DictValue) and "optimizer" in deepspeed_table(
        interp, config, site
    ):
        return None
    name = word(trainer, "optim") or "adamw_torch"
    qname = OPTIMIZERS.get(name, name)
    how = "fused" if qname.endswith("(fused)") else "foreach" if qname.startswith("torch.optim.") else None
    interp.event("compute", site, author=AUTHOR, key="optimizer", value=qname, implementation=how, option_lr=plain(option(trainer, "learning_rate")),
                 option_weight_decay=plain(option(trainer, "weight_decay")), groups=2)  # fmt: skip
    return None


def deepspeed_table(interp: Any, config: Value, site: Any) -> dict[str, Any]:
    found = deepspeed.configuration(interp, {"config": config}, site)
    return {} if isinstance(found, Unknown) else found


def switches(interp: Any, trainer: Value, model: Value, site: Any) -> None:
    """What the arguments switch on before the first step."""
    if autocast_of(trainer) == "float16":
        interp.event("compute", site, author=AUTHOR, key="grad_scaler", value="enabled", enabled=True)
    if flag(option(trainer, "tf32")):
        interp.event(
            "compute", site, author=AUTHOR, key="precision", value="tf32", how="torch.backends.cuda.matmul.allow_tf32"
        )
    if flag(option(trainer, "gradient_checkpointing")):
        hook = optional(interp, inner(model), "gradient_checkpointing_enable", site)
        if hook is not None:
            interp.attempt(lambda: interp.call(hook, [], {}, site))
        interp.event(
            "compute",
            site,
            author=AUTHOR,
            key="activation_checkpointing",
            value="each layer, by gradient_checkpointing",
            target=model,
        )
    if (
        flag(option(trainer, "torch_compile"))
        or option(trainer, "torch_compile_backend")
        or option(trainer, "torch_compile_mode")
    ):
        from cgx.indexer.overlays.compile import mark

        options = {"backend": option(trainer, "torch_compile_backend"), "mode": option(trainer, "torch_compile_mode")}
        mark(interp, inner(model), site, {name: value for name, value in options.items() if value is not None})


def wrap(interp: Any, trainer: Value, model: Value, site: Any) -> Value:
    """``accelerator.prepare``: DeepSpeed, FSDP or DDP; gradients stay local in all but the last micro-step."""
    config = deepspeed_config(interp, trainer)
    if config is not None:
        by_deepspeed(interp, trainer, model, config, site)
        return model
    kind = sharding(interp, trainer)
    if interp.world.size != 1 and option(trainer, "gradient_accumulation_steps") != 1:
        interp.event(
            "compute",
            site,
            author=AUTHOR,
            key="grad_sync",
            value="no_sync",
            how="in all micro-steps but the last",
            module=inner(model),
        )
    if kind is None:
        return ddp(interp, model, site, AUTHOR)
    shard(interp, trainer, model, kind, site)
    return model


def shard(interp: Any, trainer: Value, model: Value, kind: str, site: Any) -> None:
    """One unit for each layer class that the arguments name, and one for the rest."""
    place_model(interp, inner(model), site)
    if kind == "FullyShardedDataParallel":
        interp.event(
            "collective",
            site,
            author=AUTHOR,
            collective="broadcast",
            issued_by=kind,
            blocking=True,
            parallelism="data",
            what="module states",
        )
    words = sharding_words(option(trainer, "fsdp"))
    strategy = "SHARD_GRAD_OP" if "shard_grad_op" in words else "FULL_SHARD"
    target = inner(model)
    units = (
        module_units(target, layer_names(interp, trainer) or own_names(target))
        if isinstance(target, ModuleInstance)
        else []
    )
    for unit in [*units, target]:
        if isinstance(unit, ModuleInstance):
            interp.trail.append(unit.wrappers, (kind, site.anchor))
        interp.event("wrap", site, author=AUTHOR, wrapper=kind, module=unit, modules=[unit] if isinstance(unit, ModuleInstance) else [], strategy=strategy,
                     reshard_after_forward=strategy == "FULL_SHARD", parallelism="data", inner=is_outside(unit))  # fmt: skip


def own_names(model: ModuleInstance) -> list[str]:
    """The layer classes that the model itself says must not be split: what is wrapped where no class is named."""
    found = model.cls.lookup("_no_split_modules")
    return [str(one) for one in found.items] if isinstance(found, ListValue) else []


def by_deepspeed(interp: Any, trainer: Value, model: Value, config: Value, site: Any) -> None:
    """The engine: precision, optimizer and traffic are those of its configuration; ``auto`` stands for the arguments."""
    table = deepspeed_table(interp, config, site)
    stage = table.get("zero_optimization", {}).get("stage", 0)
    place_model(interp, inner(model), site)
    for key, dtype in (("bf16", "bfloat16"), ("fp16", "float16")):
        enabled = table.get(key, {}).get("enabled")
        if enabled is True or (enabled == "auto" and autocast_of(trainer) == dtype):
            interp.event("compute", site, author=AUTHOR, key="precision", value=dtype, how=f"DeepSpeed {key}")
    if "optimizer" in table:
        deepspeed.the_optimizer(interp, None, table, site)
    deepspeed.wrap(interp, inner(model), table, stage, site)


def one_step(interp: Any, trainer: Value, model: Value, optimizer: Value, found: Any, site: Any) -> None:
    """One optimizer step."""
    if flag(attribute(trainer, "model_accepts_loss_kwargs")) and flag(option(trainer, "average_tokens_across_devices")):
        gather(interp, site, "num_items_in_batch")
    accumulate = option(trainer, "gradient_accumulation_steps")
    if accumulate == 1:
        micro_step(interp, trainer, model, found, site)
    else:
        node = LoopNode(
            site.anchor,
            site.text,
            count=accumulate,
            expr="gradient_accumulation_steps",
            over="range",
            target="i",
            bound=site.anchor,
        )
        with interp.inside(node):
            micro_step(interp, trainer, model, found, site)
    clip(interp, trainer, site)
    fused = optimizer is None and word(trainer, "optim").endswith("fused")
    if autocast_of(trainer) == "float16" and not fused:
        interp.event("sync", site, author=AUTHOR, sync="item", what="found_inf", internal=True)
    if optimizer is not None:
        optimizer_step(interp, optimizer, site)
    else:
        interp.event("compute", site, author=AUTHOR, key="optimizer_step", value="optimizer.step")
        interp.event("compute", site, author=AUTHOR, key="zero_grad", value={"set_to_none": True})
    interp.event(
        "compute",
        site,
        author=AUTHOR,
        key="lr_schedule",
        value=word(trainer, "lr_scheduler_type") or "linear",
        at="each step",
    )
    callbacks(interp, trainer, "on_step_end", site)
    due(interp, trainer, "steps", site)


def micro_step(interp: Any, trainer: Value, model: Value, found: Any, site: Any) -> None:
    batch = next_batch(interp, trainer, found, site)
    training_step(interp, trainer, model, batch, site)
    if flag(option(trainer, "logging_nan_inf_filter"), True):
        for test in ("torch.isnan(tr_loss_step)", "torch.isinf(tr_loss_step)"):
            interp.event("sync", site, author=AUTHOR, sync="branch", what=test, reads=False, phase="logging")
    if option(trainer, "include_num_input_tokens_seen") not in (False, None, "no"):
        gather(interp, site, "number of input tokens")
        read(interp, site, "number of input tokens")


def clip(interp: Any, trainer: Value, site: Any) -> None:
    """``accelerator.clip_grad_norm_``: a sharded model sums the norm over its ranks."""
    limit = plain(option(trainer, "max_grad_norm"))
    if not limit:
        return
    interp.event("compute", site, author=AUTHOR, key="grad_clip", value=limit, how="norm")
    kind = sharding(interp, trainer)
    if kind is not None:
        interp.event("collective", site, author=AUTHOR, collective="all_reduce", issued_by=kind, blocking=True, parallelism="data", what="gradient norm",
                     phase="optimizer")  # fmt: skip


def due(interp: Any, trainer: Value, unit: str, site: Any) -> None:
    """``_maybe_log_save_evaluate``: logging, evaluation and saving, each by its own strategy."""
    if word(trainer, "logging_strategy") == unit:
        with every(
            interp, site, "global_step", period(interp, trainer, "logging_steps", site) if unit == "steps" else 1
        ):
            report(interp, trainer, site)
    if word(trainer, "eval_strategy") == unit and attribute(trainer, "eval_dataset") is not None:
        steps = "eval_steps" if option(trainer, "eval_steps") else "logging_steps"
        with every(interp, site, "global_step", period(interp, trainer, steps, site) if unit == "steps" else 1):
            evaluation(interp, trainer, site)
            callbacks(interp, trainer, "on_evaluate", site)
    if word(trainer, "save_strategy") == unit:
        with every(interp, site, "global_step", period(interp, trainer, "save_steps", site) if unit == "steps" else 1):
            hook = optional(interp, trainer, "_save_checkpoint", site)
            if hook is not None:
                interp.call(hook, [attribute(trainer, "model"), None], {}, site)
            else:
                save(interp, site, trainer)
            callbacks(interp, trainer, "on_save", site)


def period(interp: Any, trainer: Value, name: str, site: Any) -> Value:
    """A number of steps; a fraction is one of all steps, which are not known."""
    value = option(trainer, name)
    if isinstance(value, float) and not isinstance(value, bool):
        return int(value) if value >= 1 else interp.unknown(f"{name} of max_steps", "data", site, hint="int")
    return value


def report(interp: Any, trainer: Value, site: Any) -> None:
    """The loss is averaged over the ranks and read, the gradient norm is read, floating point operations are summed up."""
    gather(interp, site, "tr_loss")
    read(interp, site, "tr_loss")
    if plain(option(trainer, "max_grad_norm")) and deepspeed_config(interp, trainer) is None:
        read(interp, site, "grad_norm")
    if interp.world.size != 1:
        gather(interp, site, "floating point operations")
        read(interp, site, "floating point operations")
    hook = optional(interp, trainer, "log", site)
    if hook is not None:
        interp.call(hook, [DictValue({"loss": 0.0}, open=True)], {}, site)
    else:
        interp.event("log", site, author=AUTHOR, what="trainer.log")
    callbacks(interp, trainer, "on_log", site)


def callbacks(interp: Any, trainer: Value, name: str, site: Any) -> None:
    """A user's own callbacks."""
    listed = attribute(trainer, "callbacks")
    for one in listed.items if isinstance(listed, ListValue) else ():
        hook = optional(interp, one, name, site)
        if hook is not None:
            interp.call(hook, [attribute(trainer, "args"), state(interp, site), Opaque("transformers.TrainerControl", {}, site.anchor)],
                        {"model": attribute(trainer, "model")} if takes_rest(hook) else {}, site)  # fmt: skip


def takes_rest(hook: Value) -> bool:
    node = getattr(getattr(hook, "func", hook), "node", None)
    return node is not None and (
        node.args.kwarg is not None or any(arg.arg == "model" for arg in [*node.args.args, *node.args.kwonlyargs])
    )


def state(interp: Any, site: Any) -> Value:
    from cgx.indexer.overlays.accelerate_state import by_rank

    first = by_rank(interp, lambda rank: rank == 0)
    return Opaque("transformers.TrainerState", {
        "global_step": interp.unknown("state.global_step", "loop-carried", site, hint="int"), "epoch": interp.unknown("state.epoch", "loop-carried", site, hint="float"),
        "is_world_process_zero": first, "is_local_process_zero": first,
        "num_input_tokens_seen": interp.unknown("state.num_input_tokens_seen", "loop-carried", site, hint="int"), "log_history": ListValue(open=True),
    }, site.anchor)  # fmt: skip
