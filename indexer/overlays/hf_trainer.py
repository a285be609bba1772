"""Hugging Face Trainer: construction, and what its methods come to. Used without its source.

Read from transformers 4.46-5.24: the constructor moves the model to the device (not for FSDP and DeepSpeed), everything else
happens in ``train`` (:mod:`cgx.indexer.overlays.hf_training`) and ``evaluate`` (:mod:`cgx.indexer.overlays.hf_evaluation`).
"""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.stdlib.support import nothing
from cgx.indexer.interpreter.values import Device, ModuleInstance, Opaque, Value
from cgx.indexer.overlays import hf_evaluation, hf_outside_models, hf_training
from cgx.indexer.overlays.arguments import bind
from cgx.indexer.overlays.hf_arguments import arguments, deepspeed_config, option, sharding
from cgx.indexer.overlays.hf_steps import AUTHOR, attribute, compute_loss, loader_of, own_loader, save, training_step
from cgx.indexer.overlays.lifecycle import moved_batch, place_model
from cgx.indexer.overlays.sourceless import blank
from cgx.indexer.overlays.wrappers import inner

TRAINER = "transformers.trainer.Trainer"
SIGNATURE = (
    "self model args data_collator train_dataset eval_dataset processing_class model_init compute_loss_func compute_metrics "
    "callbacks optimizers optimizer_cls_and_kwargs preprocess_logits_for_metrics"
)


def construct(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    trainer = Opaque(TRAINER, {}, site.anchor)
    initialise(interp, site, [trainer, *args], kwargs)
    return trainer


def initialise(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``Trainer.__init__``, also called by a user's subclass: the model goes to the device here."""
    bound = bind(SIGNATURE, args, kwargs)
    trainer = bound.pop("self")
    bound.setdefault("processing_class", bound.get("tokenizer"))
    for name in SIGNATURE.split()[1:]:
        interp.setattr(trainer, name, bound.get(name), site)
    if bound.get("args") is None:
        interp.setattr(trainer, "args", arguments(interp, site, [], {}), site)
    model = bound.get("model")
    if model is None and bound.get("model_init") is not None:
        model = interp.call(bound["model_init"], [], {}, site)
    elif isinstance(model, str):
        model = hf_outside_models.made(interp, "AutoModelForCausalLM", site, [model], {}, loaded=True)
    elif model is not None and not isinstance(
        inner(interp.pick(model)), ModuleInstance
    ):  # whatever it is, it is a module
        interp.note_unknown(model)
        model = blank(interp, hf_outside_models.MODEL, site, hf_outside_models.MODEL)
    for name, value in (("model", model), ("model_wrapped", model), ("is_fsdp_enabled", sharding(interp, trainer) is not None),
                        ("is_deepspeed_enabled", deepspeed_config(interp, trainer) is not None), ("model_accepts_loss_kwargs", accepts_counts(model)),
                        ("accelerator", the_accelerator(interp, site)), ("tokenizer", bound.get("processing_class")), *kept(interp, trainer, site).items()):  # fmt: skip
        interp.setattr(trainer, name, value, site)
    if sharding(interp, trainer) is None and deepspeed_config(interp, trainer) is None:
        place_model(interp, inner(model), site)
    return None


def kept(interp: Any, trainer: Value, site: Any) -> dict[str, Value]:
    """What the constructor leaves on the trainer for those that build on it."""
    optimizers = attribute(trainer, "optimizers")
    optimizer, scheduler = optimizers if isinstance(optimizers, tuple) and len(optimizers) == 2 else (None, None)
    return {
        "state": hf_training.state(interp, site),
        "control": Opaque("transformers.TrainerControl", {}, site.anchor),
        "optimizer": optimizer,
        "lr_scheduler": scheduler,
        "hub_model_id": None,
        "is_in_train": False,
        "current_flos": 0,
        "label_smoother": interp.unknown("label_smoother", "unmodelled", site) if option(trainer, "label_smoothing_factor") else None,
        "_signature_columns": None,
        "_train_batch_size": option(trainer, "per_device_train_batch_size"),
        "current_gradient_accumulation_steps": option(trainer, "gradient_accumulation_steps"),
    }


def accepts_counts(model: Value) -> Value:
    """Whether the forward takes any keyword: only then the items of a step are counted over all processes."""
    target = inner(model)
    forward = target.cls.lookup("forward") if isinstance(target, ModuleInstance) else None
    node = getattr(forward, "node", None)
    return node.args.kwarg is not None if node is not None else None


def the_accelerator(interp: Any, site: Any) -> Value:
    """The trainer's own Accelerator; what it does at its making belongs to the trainer's rows."""
    from cgx.indexer.overlays.accelerate_state import ACCELERATOR, rank_attributes

    attrs = rank_attributes(interp)
    attrs |= {"gradient_accumulation_steps": 1, "device": Device("cuda", attrs["local_process_index"]), "sync_gradients": True}
    return Opaque(ACCELERATOR, attrs, site.anchor)


def loader(batch: str, dataset: str) -> Any:
    """``get_train_dataloader`` and its kind, as called by the user or by ``super()``."""

    def call(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        given = args[1] if len(args) > 1 else next(iter(kwargs.values()), None)
        return loader_of(
            interp, args[0], given if given is not None else attribute(args[0], dataset), batch, site, hooks=False
        )

    return call


def step(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    bound = bind("self model inputs num_items_in_batch", args, kwargs)
    return training_step(interp, bound["self"], bound.get("model"), bound.get("inputs"), site, hooks=False)


def loss(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    bound = bind("self model inputs return_outputs num_items_in_batch", args, kwargs)
    return compute_loss(
        interp, bound["self"], bound.get("model"), bound.get("inputs"), site, bound.get("return_outputs") is True
    )


def log(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    interp.event("log", site, author="overlays.hf_trainer", what="trainer.log")
    return None


def main_process(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    from cgx.indexer.overlays.accelerate_state import by_rank

    return by_rank(interp, lambda rank: rank == 0)


def save_final(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    save(interp, site, args[0], optimizer=False)
    return None


def checkpoint(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``_save_checkpoint``, called by a user's override."""
    save(interp, site, args[0])
    return None


def inputs_moved(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``_prepare_inputs``: what is not on the device yet goes there; a loader's batches are."""
    return moved_batch(interp, args[1] if len(args) > 1 else kwargs.get("inputs"), False, site, AUTHOR, "inputs")


QUIET = ("save_state", "log_metrics", "save_metrics", "push_to_hub", "create_model_card", "add_callback", "remove_callback", "pop_callback",
         "create_optimizer_and_scheduler", "create_scheduler", "create_optimizer", "store_flos", "_save_rng_state", "_load_from_checkpoint",
         "_set_signature_columns_if_needed", "_move_model_to_device")  # fmt: skip
ENTRIES: dict[str, Any] = {
    "transformers.Trainer": construct,
    TRAINER: construct,
    "transformers.Seq2SeqTrainer": construct,
    "transformers.trainer_seq2seq.Seq2SeqTrainer": construct,
    f"{TRAINER}.__init__": initialise,
    f"{TRAINER}.train": hf_training.train,
    f"{TRAINER}.evaluate": hf_evaluation.evaluate,
    f"{TRAINER}.predict": hf_evaluation.predict,
    f"{TRAINER}.prediction_step": hf_evaluation.prediction_step,
    f"{TRAINER}.training_step": step,
    f"{TRAINER}.compute_loss": loss,
    f"{TRAINER}.get_train_dataloader": loader("per_device_train_batch_size", "train_dataset"),
    f"{TRAINER}._get_dataloader": own_loader,
    f"{TRAINER}.get_eval_dataloader": loader("per_device_eval_batch_size", "eval_dataset"),
    f"{TRAINER}.get_test_dataloader": loader("per_device_eval_batch_size", "eval_dataset"),
    f"{TRAINER}.save_model": save_final,
    f"{TRAINER}.log": log,
    f"{TRAINER}._save_checkpoint": checkpoint,
    f"{TRAINER}._prepare_inputs": inputs_moved,
    f"{TRAINER}.is_world_process_zero": main_process,
    f"{TRAINER}.is_local_process_zero": main_process,
    **{f"{TRAINER}.{name}": nothing for name in QUIET},
    "transformers.set_seed": nothing,
    "transformers.trainer_utils.get_last_checkpoint": lambda interp, site, args, kwargs: interp.unknown(
        site.text, "missing-file", site
    ),
}
BASES: dict[str, tuple[str, ...]] = {
    "transformers.Trainer": (TRAINER,),
    "transformers.Seq2SeqTrainer": (TRAINER,),
    "transformers.trainer_seq2seq.Seq2SeqTrainer": (TRAINER,),
}
