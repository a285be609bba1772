"""``lightning.pytorch.Trainer``: its options with their defaults, and what they come to (read from lightning 2.0-2.6).

Options of versions before 2.0 (``gpus``, ``accelerator="ddp"``, ``progress_bar_refresh_rate``, ...) are read as what replaced them.
"""

from __future__ import annotations

import re
from typing import Any

from cgx.indexer.interpreter.values import Device, DictValue, Instance, ListValue, Opaque, Unknown, Value
from cgx.indexer.launch.plan import MAX_RANKS, UNKNOWN_RANKS
from cgx.indexer.overlays import deepspeed_config
from cgx.indexer.overlays.accelerate_state import by_rank
from cgx.indexer.overlays.arguments import flag, number, plain
from cgx.indexer.overlays.processes import set_world

TRAINER, STRATEGY = "lightning.pytorch.Trainer", "lightning.pytorch.strategies.Strategy"
CLASSES = {"ddp": "DDPStrategy", "fsdp": "FSDPStrategy", "deepspeed": "DeepSpeedStrategy", "model_parallel": "ModelParallelStrategy", "single": "SingleDeviceStrategy"}
LOGGED = "cgx.logged"  # what the running stage has logged: plain rows, see lightning_logging
PRECISIONS = {"16-mixed": "float16", "bf16-mixed": "bfloat16", "16": "float16", "bf16": "bfloat16"}
TRUE = {"16-true": "float16", "bf16-true": "bfloat16", "64-true": "float64", "64": "float64"}
DEFAULTS: dict[str, Value] = {
    "accelerator": "auto", "strategy": "auto", "devices": "auto", "num_nodes": 1, "precision": "32-true", "logger": True, "callbacks": None,
    "fast_dev_run": False, "max_epochs": None, "min_epochs": None, "max_steps": -1, "limit_train_batches": 1.0, "limit_val_batches": 1.0, "limit_test_batches": 1.0,
    "limit_predict_batches": 1.0, "overfit_batches": 0.0, "val_check_interval": 1.0, "check_val_every_n_epoch": 1, "num_sanity_val_steps": 2,
    "log_every_n_steps": 50, "enable_checkpointing": True, "enable_progress_bar": True, "accumulate_grad_batches": 1, "gradient_clip_val": None,
    "gradient_clip_algorithm": None, "inference_mode": True, "use_distributed_sampler": True, "sync_batchnorm": False, "barebones": False, "profiler": None,
    "benchmark": None, "deterministic": None, "reload_dataloaders_every_n_epochs": 0, "default_root_dir": None, "detect_anomaly": False,
}  # fmt: skip
RENAMED = {"checkpoint_callback": "enable_checkpointing", "replace_sampler_ddp": "use_distributed_sampler", "training_type_plugin": "strategy",
           "amp_precision": "precision", "distributed_backend": "strategy"}  # fmt: skip
OLD_STRATEGIES = ("ddp", "dp", "ddp_spawn", "ddp2", "ddp_sharded", "horovod")
FIRST_WITH_SIGNALS = (2, 5, 2)  # since then each batch of several processes begins with a word of rank 0


def read(interp: Any, given: dict[str, Value], site: Any) -> dict[str, Value]:
    """The options in today's words over the defaults; what is None is the default."""
    options = {name: value for name, value in given.items() if value is not None}
    for old, new in RENAMED.items():
        if old in options:
            options.setdefault(new, options.pop(old))
    if options.get("accelerator") in OLD_STRATEGIES:
        options.setdefault("strategy", options["accelerator"])
        options["accelerator"] = "gpu"
    gpus = options.pop("gpus", None)
    if gpus not in (None, 0, "0", ""):
        options.setdefault("devices", gpus)
        options["accelerator"] = "gpu"
    if flag(options.get("fast_dev_run")):
        options |= {"max_epochs": 1, "limit_train_batches": 1, "limit_val_batches": 1, "limit_test_batches": 1, "num_sanity_val_steps": 0, "logger": False,
                    "enable_checkpointing": False, "log_every_n_steps": 1, "val_check_interval": 1.0, "check_val_every_n_epoch": 1}  # fmt: skip
    if flag(options.get("barebones")):
        options |= {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "num_sanity_val_steps": 0, "log_every_n_steps": 0}
    return {**DEFAULTS, **options}


def construct(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``Trainer(...)``: several devices make several processes."""
    attrs = read(interp, kwargs, site)
    trainer = Opaque(TRAINER, attrs, site.anchor)
    processes(interp, attrs, site)
    held = attrs["callbacks"]
    attrs["callbacks"] = held if isinstance(held, ListValue) else ListValue([] if held is None else [held])
    loggers = attrs["logger"]
    loggers = loggers.items if isinstance(loggers, ListValue) else [] if flag(loggers, True) is False else [loggers]
    attrs["logger"] = next((one for one in loggers if not isinstance(one, bool)), Opaque("lightning.pytorch.loggers.Logger", {}, site.anchor) if loggers else None)
    for name in ("global_step", "current_epoch"):
        attrs[name] = interp.unknown(f"trainer.{name}", "loop-carried", site, hint="int")
    first = by_rank(interp, lambda rank: rank == 0)
    attrs |= {
        "loggers": ListValue(list(loggers)), "world_size": interp.world.size, "is_global_zero": first, "global_rank": by_rank(interp, lambda rank: rank),
        "local_rank": by_rank(interp, lambda rank: rank), "node_rank": 0, "interrupted": False, "sanity_checking": False, "callback_metrics": DictValue(open=True),
        "logged_metrics": DictValue(open=True), "datamodule": None, "training": True, "should_stop": False, "progress_bar_metrics": DictValue(open=True),
        "num_devices": interp.world.local_size, "strategy_name": strategy_name(interp, attrs), "checkpoint_callback": checkpoint_of(attrs), LOGGED: [],
        "cgx.signals": version_of(interp) >= FIRST_WITH_SIGNALS,
    }  # fmt: skip
    attrs["strategy"] = strategy_object(interp, attrs, site)
    if interp.world.size != 1:
        interp.trail.set_item(interp.flags, "dist_initialized", True)
    return trainer


def processes(interp: Any, attrs: dict[str, Value], site: Any) -> None:
    """``devices`` times ``num_nodes``, where the launch line did not start them already."""
    count, nodes = devices(attrs["devices"]), attrs["num_nodes"]
    if attrs["accelerator"] == "cpu" or interp.world.size != 1 or not isinstance(nodes, int):
        return
    if count is None and attrs["devices"] in (None, "auto", "-1", -1) and named(attrs["strategy"]) in CLASSES:
        # as many as the machine has: which ranks there are beside the first is not known
        open_count = interp.unknown("trainer.devices", "environment", site, hint="int")
        interp.note_unknown(open_count)
        set_world(interp, open_count, open_count, tuple(range(UNKNOWN_RANKS)))
    elif count is not None and count * nodes > 1:
        set_world(interp, count * nodes, count, tuple(range(min(count * nodes, MAX_RANKS))))
    elif isinstance(attrs["devices"], Unknown):
        interp.note_unknown(attrs["devices"])


def devices(value: Value) -> int | None:
    """How many a word says: a number, a list of indexes (``"0,1,"``); None where the machine decides."""
    if isinstance(value, ListValue | tuple):
        return len(value.items if isinstance(value, ListValue) else value)
    if isinstance(value, str):
        if "," in value:
            return len([one for one in value.split(",") if one.strip()])
        return int(value) if value.isdigit() else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def strategy_name(interp: Any, attrs: dict[str, Value]) -> str:
    """``ddp``, ``fsdp``, ``deepspeed``, ``model_parallel`` or ``single``."""
    found = named(attrs["strategy"])
    return found if found and found != "ddp" else "ddp" if interp.world.size != 1 else "single"


def named(given: Value) -> str:
    """The strategy that a word or an object asks for; empty where it leaves the choice open."""
    text = given.qname.rpartition(".")[2] if isinstance(given, Opaque) else str(plain(given) or "auto")
    text = text.lower().removesuffix("strategy").removesuffix("plugin")
    for word in ("fsdp", "deepspeed", "modelparallel", "model_parallel", "ddp"):
        if word in text:
            return word.replace("modelparallel", "model_parallel")
    return ""


def strategy_object(interp: Any, attrs: dict[str, Value], site: Any) -> Value:
    """``trainer.strategy``: the given object, or one of the class that a word names. DeepSpeed's has a configuration, which jobs change."""
    given, name = attrs["strategy"], attrs["strategy_name"]
    made = given if isinstance(given, Opaque) else Opaque(f"lightning.pytorch.strategies.{CLASSES.get(name, 'Strategy')}", {"name": given}, site.anchor)
    if name == "deepspeed" and not isinstance(made.attrs.get("config"), DictValue):
        made.attrs["config"] = deepspeed_config.strategy_config(interp, made.attrs, site)
    for kept in ("root_device", "global_rank", "local_rank", "world_size"):
        made.attrs.setdefault(kept, root_device(attrs) if kept == "root_device" else attrs[kept])
    return made


def checkpoint_of(attrs: dict[str, Value]) -> Value:
    """The first ``ModelCheckpoint`` among the callbacks."""
    listed = attrs["callbacks"].items if isinstance(attrs["callbacks"], ListValue) else []
    return next((one for one in listed if isinstance(one, Opaque) and one.qname.endswith("ModelCheckpoint")), None)


def precision_of(trainer: Opaque) -> str:
    return str(plain(trainer.attrs.get("precision")) or "32-true")


def autocast_of(trainer: Opaque) -> str | None:
    """The dtype of autocast; DeepSpeed's engine casts the weights instead."""
    return None if trainer.attrs["strategy_name"] == "deepspeed" else PRECISIONS.get(precision_of(trainer))


def on_cpu(trainer: Opaque) -> bool:
    return trainer.attrs.get("accelerator") == "cpu"


def root_device(attrs: dict[str, Value]) -> Device:
    """Of a trainer with these options."""
    return Device("cpu") if attrs.get("accelerator") == "cpu" else Device("cuda", attrs.get("local_rank"))


def limited(length: Value, limit: Value) -> Value:
    """``limit_*_batches``: a number of batches, or a fraction of them."""
    if isinstance(limit, bool) or number(limit) is None or (isinstance(limit, float) and limit == 1.0):
        return length
    if isinstance(limit, int):
        return min(length, limit) if isinstance(length, int) else limit
    return int(length * limit) if isinstance(length, int) else length


PIN = re.compile(rb"(?:pytorch[-_]lightning|lightning)\s*(?:\[[^\]]*\])?\s*(==|<=|<|~=)\s*['\"]?(\d+(?:\.\d+)*)", re.IGNORECASE)
REQUIREMENTS = ("requirements.txt", "environment.yaml", "environment.yml", "pyproject.toml", "setup.py", "setup.cfg", "requirements/requirements.txt")


def version_of(interp: Any) -> tuple[int, ...]:
    """The version that the repository pins, else the newest that this table was read from."""
    for name in REQUIREMENTS:
        found = PIN.search(interp.tree.read(name) or b"")
        if found is not None:
            numbers = tuple(int(part) for part in found[2].decode().split("."))
            return numbers if found[1] in (b"==", b"~=", b"<=") else (*numbers[:-1], numbers[-1] - 1)
    return (2, 6)


def is_instance(value: Value, tail: str) -> bool:
    """A modelled callback by the last part of its class."""
    return (isinstance(value, Opaque) and value.qname.endswith(tail)) or (isinstance(value, Instance) and any(getattr(cls, "qname", "").endswith(tail) for cls in value.cls.mro))
