"""The configuration of DeepSpeed as plain data, with its defaults (read from deepspeed 0.15-0.19).

A value that the job's code does not tell stays an ``Unknown`` under its key: it is not the default.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from cgx.indexer.interpreter.values import DictValue, ListValue, Unknown, Value
from cgx.indexer.overlays.arguments import plain

MAX_BYTES = 1_000_000  # of a configuration file that is read
AUTO = "auto"
LOW_PRECISION = (("bf16", "bfloat16"), ("bfloat16", "bfloat16"), ("fp16", "float16"))


@dataclass(slots=True)
class Settings:
    """``data``: the sections. ``missing``: what stands for the whole where it could not be read."""

    data: dict[str, Any] = field(default_factory=dict)
    missing: Unknown | None = None

    def get(self, path: str, default: Any = None) -> Any:
        """``zero_optimization.stage``; Unknown where a part of the way is not known."""
        if self.missing is not None:
            return self.missing
        here: Any = self.data
        for name in path.split("."):
            if isinstance(here, Unknown):
                return here
            if not isinstance(here, dict) or here.get(name) is None:
                return default
            here = here[name]
        return here

    def number(self, path: str, default: Any = None) -> Any:
        """As ``get``; ``auto`` is filled in by whoever starts the engine: not known here."""
        found = self.get(path, default)
        return Unknown(path, "parameter", hint="int") if found == AUTO else found

    def on(self, path: str, default: bool = False) -> bool:
        """A switch that is known to be on."""
        found = self.get(path, default)
        return bool(found) and not isinstance(found, Unknown | str)

    @property
    def stage(self) -> int | Unknown:
        found = self.number("zero_optimization.stage", 0)
        return found if isinstance(found, Unknown) else int(found)

    @property
    def dtype(self) -> str | None:
        """In which the engine holds and computes the model; None for the model's own."""
        return next((dtype for key, dtype in LOW_PRECISION if self.on(f"{key}.enabled")), None)

    @property
    def overlaps(self) -> bool:
        """Gradients are reduced on a stream of their own while the backward goes on."""
        return self.on("zero_optimization.overlap_comm", self.stage == 3)

    def offloads(self, what: str) -> bool:
        """``optimizer`` or ``param`` live on the host."""
        found = self.get(f"zero_optimization.offload_{what}.device")
        return found in ("cpu", "nvme") or (what == "optimizer" and self.on("zero_optimization.cpu_offload"))


def read(interp: Any, given: Value, site: Any) -> Settings:
    """A dict of the code, or a JSON file of the tree."""
    if isinstance(given, DictValue):
        return Settings(as_data(given))
    if isinstance(given, str):
        return from_file(interp, given, site)
    known = given if isinstance(given, Unknown) else interp.unknown("deepspeed config", "parameter", site)
    interp.note_unknown(known)
    return Settings(missing=known)


def from_file(interp: Any, name: str, site: Any) -> Settings:
    data = interp.files.get(name) or interp.tree.read(beside(interp, name))
    if data is None or len(data) > MAX_BYTES:
        missing = Unknown(name, "missing-file", site.anchor, settle=("--file", name))
        interp.note_unknown(missing)
        return Settings(missing=missing)
    try:
        return Settings(dict(json.loads(data)))
    except ValueError:
        missing = interp.unknown(name, "error", site)
        interp.note_unknown(missing)
        return Settings(missing=missing)


def strategy_config(interp: Any, options: dict[str, Value], site: Any) -> DictValue:
    """The configuration of Lightning's DeepSpeed strategy: the given one, else what its options and its name say."""
    given = options.get("config")
    if given is not None:
        settings = read(interp, given, site)
        return DictValue(as_value(settings.data), open=settings.missing is not None)
    name = str(plain(options.get("name")) or "")
    stage = options.get("stage", next((int(char) for char in name if char.isdigit()), 2))
    zero: dict[str, Value] = {
        "stage": stage, "contiguous_gradients": True, "overlap_comm": True, "allgather_partitions": True, "reduce_scatter": True,
        "allgather_bucket_size": 200_000_000, "reduce_bucket_size": 200_000_000, "sub_group_size": 1_000_000_000_000,
    }  # fmt: skip
    for what in ("optimizer", "param"):
        asked = options.get(f"offload_{'parameters' if what == 'param' else what}")
        if asked is True or (asked is None and "offload" in name and (what == "optimizer" or stage == 3)):
            zero[f"offload_{what}"] = DictValue({"device": "cpu"})
    return DictValue({"zero_allow_untested_optimizer": True, "zero_optimization": DictValue(zero)})


def as_value(data: dict[str, Any]) -> dict[Value, Value]:
    """Nested plain data as values of the code."""
    return {key: DictValue(as_value(one)) if isinstance(one, dict) else ListValue(list(one)) if isinstance(one, list) else one for key, one in data.items()}


def beside(interp: Any, name: str) -> str:
    """A path as the job would open it: from the folder it is started in."""
    import posixpath

    plan = getattr(interp.trace, "plan", None)
    return posixpath.normpath(posixpath.join(getattr(plan, "cwd", "") or "", name))


def as_data(value: DictValue) -> dict[str, Any]:
    """Nested dicts and lists as Python's; what is not known stays what it is."""
    return {key: one_value(one) for key, one in value.items.items()}


def one_value(value: Value) -> Any:
    if isinstance(value, DictValue):
        return as_data(value)
    if isinstance(value, ListValue):
        return [one_value(item) for item in value.items]
    return value if isinstance(value, Unknown) else plain(value)


@dataclass(frozen=True, slots=True)
class Batch:
    """Samples of a step, of a micro-step on one rank, and micro-steps of a step; each an int or Unknown."""

    whole: Any
    micro: Any
    steps: Any


def batch_of(settings: Settings, ranks: Any) -> Batch:
    """The three sizes of a batch, worked out as DeepSpeed does it; ``ranks`` hold different data."""
    names = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
    whole, micro, steps = (settings.number(name) for name in names)
    unknown = [Unknown(name, "parameter", hint="int") for name in names]
    if steps is None and (whole is None or micro is None):
        steps = 1
    if not isinstance(ranks, int) or any(isinstance(one, Unknown) for one in (whole, micro, steps)):
        return Batch(*(one if one is not None else unknown[place] for place, one in enumerate((whole, micro, steps))))
    if steps is None:
        steps = max(1, whole // (micro * ranks)) if micro else unknown[2]
    if micro is None:
        micro = max(1, whole // (steps * ranks)) if whole is not None else unknown[1]
    if whole is None:
        whole = micro * steps * ranks if isinstance(micro, int) else unknown[0]
    return Batch(whole, micro, steps)
