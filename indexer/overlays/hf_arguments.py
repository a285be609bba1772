"""``TrainingArguments``: defaults, spellings of other versions, and what they come to (read from transformers 4.46-5.24)."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.values import MISSING, Device, DictValue, Instance, ListValue, Opaque, Value
from cgx.indexer.overlays.arguments import bind, flag, plain

ARGUMENTS = "transformers.training_args.TrainingArguments"
DEFAULTS: dict[str, Value] = {
    "output_dir": "trainer_output", "per_device_train_batch_size": 8, "per_device_eval_batch_size": 8, "gradient_accumulation_steps": 1, "learning_rate": 5e-5,
    "weight_decay": 0.0, "max_grad_norm": 1.0, "num_train_epochs": 3.0, "max_steps": -1, "lr_scheduler_type": "linear", "warmup_steps": 0, "warmup_ratio": 0.0,
    "logging_strategy": "steps", "logging_steps": 500, "logging_first_step": False, "logging_nan_inf_filter": True, "include_num_input_tokens_seen": False,
    "save_strategy": "steps", "save_steps": 500, "save_total_limit": None, "save_only_model": False, "load_best_model_at_end": False,
    "eval_strategy": "no", "eval_steps": None, "eval_on_start": False, "eval_accumulation_steps": None, "prediction_loss_only": False, "batch_eval_metrics": False,
    "bf16": False, "fp16": False, "bf16_full_eval": False, "fp16_full_eval": False, "tf32": None, "optim": "adamw_torch_fused",
    "dataloader_num_workers": 0, "dataloader_pin_memory": True, "dataloader_drop_last": False, "dataloader_prefetch_factor": None,
    "dataloader_persistent_workers": False, "group_by_length": False, "train_sampling_strategy": "random", "gradient_checkpointing": False,
    "gradient_checkpointing_kwargs": None, "torch_compile": False, "torch_compile_mode": None, "torch_compile_backend": None,
    "average_tokens_across_devices": True, "ddp_find_unused_parameters": None, "seed": 42, "data_seed": None, "do_train": False, "do_eval": False,
    "do_predict": False, "remove_unused_columns": True, "report_to": "none", "deepspeed": None, "fsdp": None, "fsdp_config": None, "local_rank": -1,
    "resume_from_checkpoint": None, "push_to_hub": False, "label_smoothing_factor": 0.0, "use_cpu": False, "overwrite_output_dir": False,
    "full_determinism": False, "accelerator_config": None, "neftune_noise_alpha": None, "run_name": None, "metric_for_best_model": None,
    "greater_is_better": None, "disable_tqdm": None, "use_liger_kernel": False, "label_names": None, "eval_do_concat_batches": True, "hub_model_id": None,
    "hub_token": None, "torch_empty_cache_steps": None, "lr_scheduler_kwargs": None, "n_gpu": 1,
}  # fmt: skip
ALIASES = {  # what another version calls the same option
    "evaluation_strategy": "eval_strategy", "activation_checkpointing": "gradient_checkpointing", "no_cuda": "use_cpu", "torch_compile_options": "torch_compile",
    "activation_checkpointing_kwargs": "gradient_checkpointing_kwargs", "per_gpu_train_batch_size": "per_device_train_batch_size",
}  # fmt: skip
OPTIMIZERS = {
    "adamw_torch": "torch.optim.AdamW", "adamw_torch_fused": "torch.optim.AdamW(fused)", "adamw_hf": "transformers.optimization.AdamW",
    "adamw_apex_fused": "apex.optimizers.FusedAdam", "adafactor": "transformers.optimization.Adafactor", "sgd": "torch.optim.SGD", "adagrad": "torch.optim.Adagrad",
    "rmsprop": "torch.optim.RMSprop", "adamw_bnb_8bit": "bitsandbytes.optim.AdamW8bit", "adamw_8bit": "bitsandbytes.optim.AdamW8bit",
    "paged_adamw_32bit": "bitsandbytes.optim.PagedAdamW", "paged_adamw_8bit": "bitsandbytes.optim.PagedAdamW8bit", "paged_adamw": "bitsandbytes.optim.PagedAdamW",
    "lion_32bit": "bitsandbytes.optim.Lion", "lion_8bit": "bitsandbytes.optim.Lion8bit", "paged_lion_32bit": "bitsandbytes.optim.PagedLion",
    "paged_lion_8bit": "bitsandbytes.optim.PagedLion8bit", "galore_adamw": "galore_torch.GaLoreAdamW", "schedule_free_adamw": "schedulefree.AdamWScheduleFree",
    "muon": "torch.optim.Muon",
}  # fmt: skip


def arguments(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``TrainingArguments(...)``: the given values over the defaults, under today's names."""
    given = renamed(bind("output_dir", args, kwargs))
    derived: dict[str, Value] = {"world_size": interp.world.size, "device": Device("cuda"), "parallel_mode": None}
    batch, many = given.get("per_device_train_batch_size", 8), interp.world.size
    if isinstance(batch, int) and isinstance(many, int):
        derived["train_batch_size"] = batch
    from cgx.indexer.overlays.accelerate_state import by_rank

    ranks = {
        "local_process_index": by_rank(interp, lambda rank: rank),
        "process_index": by_rank(interp, lambda rank: rank),
    }
    ranks["local_rank"] = ranks["process_index"] if many != 1 else given.get("local_rank", -1)
    ranks["should_save"] = ranks["should_log"] = by_rank(interp, lambda rank: rank == 0)
    return Opaque(ARGUMENTS, {**DEFAULTS, **derived, **given, **ranks}, site.anchor)


def renamed(given: dict[str, Value]) -> dict[str, Value]:
    """Values under today's names; a name that only another version has stands for today's where that is not given."""
    found = dict(given)
    for old, new in ALIASES.items():
        if old in found and found[old] is not None:
            found.setdefault(new, found[old])
    return found


def option(trainer: Value, name: str) -> Value:
    """A training argument: of the modelled class, or of a user's dataclass that derives from it."""
    held = trainer.attrs.get("args") if isinstance(trainer, Opaque | Instance) else None
    for one in (name, *(old for old, new in ALIASES.items() if new == name)):
        if isinstance(held, Opaque | Instance) and one in held.attrs:
            if held.attrs[one] is not None or one == name:
                return held.attrs[one]
        if isinstance(held, Instance):
            known = held.cls.lookup(one)
            if known is not MISSING and not isinstance(known, Opaque):
                return known
    return DEFAULTS.get(name)


def word(trainer: Value, name: str) -> str:
    """An option that is a word, or an enum's member."""
    value = option(trainer, name)
    if isinstance(value, Instance):
        value = value.attrs.get("value")
    text = plain(value)
    return str(text).rpartition(".")[2].lower() if text is not None else ""


def autocast_of(trainer: Value) -> str | None:
    return "bfloat16" if flag(option(trainer, "bf16")) else "float16" if flag(option(trainer, "fp16")) else None


def deepspeed_config(interp: Any, trainer: Value) -> Value:
    """``--deepspeed FILE``, or what accelerate's launcher exports."""
    given = option(trainer, "deepspeed")
    if given is None and interp.env.get("ACCELERATE_USE_DEEPSPEED"):
        given = interp.env.get("ACCELERATE_DEEPSPEED_CONFIG_FILE")
        if given is None:
            stage = str(interp.env.get("ACCELERATE_DEEPSPEED_ZERO_STAGE", "2"))
            return DictValue({"zero_optimization": DictValue({"stage": int(stage) if stage.isdigit() else 2})})
    return given


def sharding(interp: Any, trainer: Value) -> str | None:
    """FSDP, and which: words of sharding strategies are the first version's spelling, a bare switch the second's."""
    if interp.world.size == 1:
        return None
    given = option(trainer, "fsdp")
    words = sharding_words(given)
    version = fsdp_setting(interp, trainer, "version")
    if not words and given is not True:
        if not interp.env.get("ACCELERATE_USE_FSDP"):
            return None
        version = version if version is not None else interp.env.get("FSDP_VERSION", "1")
    if version is None:
        version = 2 if given is True or words == ["true"] else 1
    return "fully_shard" if str(version) == "2" else "FullyShardedDataParallel"


def sharding_words(given: Value) -> list[str]:
    if isinstance(given, ListValue):
        return [str(one) for one in given.items if isinstance(one, str)]
    return given.lower().split() if isinstance(given, str) and given.lower() not in ("", "false", "none") else []


def fsdp_setting(interp: Any, trainer: Value, name: str) -> Value:
    """A key of ``fsdp_config`` (a dict, or a JSON file of the tree), under both spellings."""
    held = option(trainer, "fsdp_config")
    if isinstance(held, str):
        held = read_json(interp, held)
    if isinstance(held, DictValue):
        held = held.items
    if not isinstance(held, dict):
        return None
    found = held.get(name, held.get(f"fsdp_{name}"))
    return found.items[0] if isinstance(found, ListValue) and len(found.items) == 1 else found


def read_json(interp: Any, path: str) -> dict[str, Any] | None:
    import json

    data = interp.tree.read(path)
    try:
        loaded = json.loads(data) if data is not None else None
    except ValueError:
        return None
    return loaded if isinstance(loaded, dict) else None


def layer_names(interp: Any, trainer: Value) -> list[str]:
    """Class names of the units that FSDP wraps."""
    given = option(trainer, "fsdp_transformer_layer_cls_to_wrap")
    if given is None:
        given = fsdp_setting(interp, trainer, "transformer_layer_cls_to_wrap") or interp.env.get(
            "FSDP_TRANSFORMER_CLS_TO_WRAP"
        )
    if isinstance(given, ListValue):
        return [str(one) for one in given.items]
    if isinstance(given, list):
        return [str(one) for one in given]
    return [one.strip() for one in given.split(",")] if isinstance(given, str) else []


ENTRIES: dict[str, Any] = {
    "transformers.TrainingArguments": arguments,
    ARGUMENTS: arguments,
    "transformers.Seq2SeqTrainingArguments": arguments,
    f"{ARGUMENTS}.__cgx_fields__": lambda interp, site, args, kwargs: arguments(interp, site, [], {}).attrs,
    f"{ARGUMENTS}.get_process_log_level": lambda interp, site, args, kwargs: 30,
    f"{ARGUMENTS}.main_process_first": lambda interp, site, args, kwargs: Opaque(
        "contextlib.nullcontext", {"enter_result": None}, site.anchor
    ),
    f"{ARGUMENTS}.to_dict": lambda interp, site, args, kwargs: (
        DictValue(dict(args[0].attrs), open=True) if isinstance(args[0], Opaque) else NotImplemented
    ),
    f"{ARGUMENTS}.get_warmup_steps": lambda interp, site, args, kwargs: interp.unknown(
        site.text, "data", site, hint="int"
    ),
}
BASES: dict[str, tuple[str, ...]] = {
    "transformers.TrainingArguments": (ARGUMENTS,),
    "transformers.Seq2SeqTrainingArguments": (ARGUMENTS,),
}
