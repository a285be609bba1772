"""records/execution_schedule.json: models, and the projection of a job's rows."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from cgx.exporters.records import Anchors, AnchorText, Count, Header, Model, Unresolved

SCHEMA = "cgx/execution_schedule/1"
FILE = "execution_schedule.json"

PhaseName = Literal[
    "startup", "data", "forward", "backward", "optimizer", "evaluation", "checkpoint", "logging", "teardown",
    "schedule", "prefill", "decode", "sample", "respond",
]  # fmt: skip
Repeats = Count | str | None


class Every(Model):
    """The period of a periodic phase."""

    count: Count | str | None = None
    unit: str | None = None
    expr: str | None = None
    guard: str | None = None
    code_anchor: AnchorText | None = None


class Frequency(Model):
    """How often: the innermost unit that holds it, its period in that unit, the guard's text."""

    per: Literal["job", "epoch", "step", "micro-step", "request", "token", "denoising step"] | None = None
    every: int | None = None
    guard: str | None = None


class Place(Model):
    """Where an event stands, and the calls that lead there."""

    code_anchor: AnchorText | None
    changed: list[str] | None = Field(
        None, description="in a record that `cgx moved --rewrite` wrote: the fields whose values differ"
    )
    from_: Literal["launch"] | None = Field(None, alias="from", description="the value stands in the launch line alone")
    called_from: Anchors | None = None


class Phase(Place):
    """A phase of the job."""

    name: PhaseName
    kind: Literal["one-off", "repeated", "periodic"]
    every: Every | None = None
    repeat: Repeats = None
    runs_on: Literal["host", "device", "host and device"]
    ranks: str


class Hop(Place):
    """One hop of the data from storage to the device."""

    hop: Literal["read", "decode", "transform", "sample", "collate", "worker queue", "pin", "prefetch", "copy"]
    by: str
    workers: int | None = None
    asynchronous: bool | None = None
    blocks_step: bool | None = None
    repeat: Repeats = None


class Timed(Place):
    """An event with its place in time and among the ranks."""

    phase: PhaseName | None = None
    frequency: Frequency | None = None
    repeat: Repeats = None
    ranks: str | None = None
    module: str | None = Field(None, description="path of the module whose forward holds it")


class Copy(Timed):
    """A copy between host and device."""

    direction: Literal["H2D", "D2H"]
    what: str
    source: Literal["pinned", "pageable"] | None = None
    non_blocking: bool | None = None
    blocks_host: bool | None = None
    bytes: int | str | None = None


class Sync(Timed):
    """A place where the host waits for the device."""

    kind: Literal[
        "item", "cpu", "numpy", "tolist", "synchronize", "print", "branch", "conversion", "dynamic shape", "other"
    ]
    what: str


class Collective(Timed):
    """A transfer between devices."""

    collective: Literal[
        "all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all", "gather", "scatter", "reduce", "send",
        "recv", "barrier",
    ]  # fmt: skip
    parallelism: Literal["data", "tensor", "pipeline", "expert", "sequence"] | None = None
    group: str | None = None
    blocking: bool | None = None
    async_op: bool | None = None
    issued_by: str
    waited_at: AnchorText | None = None
    bytes: int | str | None = None


class Compute(Model):
    """One statement about the compute; what else is known of it stands beside ``value``."""

    model_config = ConfigDict(extra="allow", populate_by_name=True)

    value: Any = None
    code_anchor: AnchorText | None


class Overlap(Place):
    """What is meant to run at the same time as something else."""

    what: str
    with_: str | None = Field(None, alias="with")
    stream: str | None = None
    mechanism: str
    joined_at: AnchorText | None = None


class Loop(Place):
    """A loop of the job outside a model's forward."""

    unit: str
    count: Count | None
    expr: str | None = None
    inside: str | None = None


class HostDevice(Model):
    """Copies and syncs."""

    copies: list[Copy]
    syncs: list[Sync]


class ExecutionSchedule(Header):
    """records/execution_schedule.json."""

    schema_: Literal["cgx/execution_schedule/1"] = Field(alias="schema")
    phases: list[Phase]
    data_path: list[Hop]
    host_device: HostDevice
    device_device: list[Collective]
    compute: dict[str, Compute | list[Compute]]
    overlap: list[Overlap]
    loops: list[Loop]
    unresolved: list[Unresolved]


ORDER: dict[str, tuple[str, ...]] = {
    "phases": ("name", "kind", "every", "repeat", "runs_on", "ranks", "code_anchor", "from", "called_from"),
    "data_path": ("hop", "by", "workers", "asynchronous", "blocks_step", "repeat", "code_anchor", "from", "called_from"),
    "copies": ("direction", "what", "source", "non_blocking", "blocks_host", "bytes", "phase", "frequency", "repeat",
               "ranks", "module", "code_anchor", "from", "called_from"),
    "syncs": ("kind", "what", "phase", "frequency", "repeat", "ranks", "module", "code_anchor", "from", "called_from"),
    "device_device": ("collective", "parallelism", "group", "blocking", "async_op", "issued_by", "waited_at", "bytes",
                      "phase", "frequency", "repeat", "ranks", "module", "code_anchor", "from", "called_from"),
    "overlap": ("what", "with", "stream", "mechanism", "joined_at", "code_anchor", "from", "called_from"),
    "loops": ("unit", "count", "expr", "inside", "code_anchor", "from", "called_from"),
}  # fmt: skip
"""The order of keys in the entries of each list, as the contract gives it."""


def execution_schedule(
    header: dict[str, Any], sections: dict[str, list[dict[str, Any]]], compute: dict[str, Any]
) -> dict[str, Any]:
    """The record, from a job's header, its entries by section, and its compute object."""

    def of(section: str) -> list[dict[str, Any]]:
        keys = ORDER[section]
        return [{key: entry[key] for key in (*keys, *entry) if key in entry} for entry in sections.get(section, [])]

    data = {
        "schema": SCHEMA,
        **header,
        "phases": of("phases"),
        "data_path": of("data_path"),
        "host_device": {"copies": of("copies"), "syncs": of("syncs")},
        "device_device": of("device_device"),
        "compute": compute,
        "overlap": of("overlap"),
        "loops": of("loops"),
        "unresolved": sections.get("unresolved_schedule", []),
    }
    ExecutionSchedule.model_validate(data)
    return data
