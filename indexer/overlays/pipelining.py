"""``torch.distributed.pipelining``: stages, schedules, and what a schedule's step does on each rank (torch 2.4 to 2.12).

A step goes through the microbatches. Each stage takes its input from the stage before (not the first), runs forward, hands
the result to the stage after (not the last); with a loss function it takes the gradient of its output from the stage after,
runs backward and hands the gradient of its input back. Stages beside each other on one rank send nothing. The schedules
differ in the order and in what waits: ``Schedule1F1B`` sends and receives in one batch and waits for it, the others wait for
their sends at the end of the step. Once, at the first step, neighbours tell each other what they send.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cgx.indexer.interpreter.stdlib.support import nothing
from cgx.indexer.interpreter.trace import BranchNode, LoopNode
from cgx.indexer.interpreter.values import (
    ByRank,
    DictValue,
    External,
    ListValue,
    LoopContext,
    ModuleInstance,
    Opaque,
    Sequence,
    TensorValue,
    Value,
)
from cgx.indexer.overlays.arguments import bind, flag, items_of
from cgx.indexer.overlays.groups import get_rank, get_world_size
from cgx.indexer.overlays.transfer import all_modules
from cgx.indexer.overlays.wrappers import inner

AUTHOR = "overlays.pipelining"
HOME = "torch.distributed.pipelining"
STAGE, PIPE = f"{HOME}.stage.PipelineStage", f"{HOME}._IR.Pipe"
SCHEDULES = f"{HOME}.schedules"
SINGLE, MULTI, BASE = (f"{SCHEDULES}.{name}" for name in ("PipelineScheduleSingle", "PipelineScheduleMulti", "_PipelineSchedule"))


@dataclass(frozen=True)
class ScheduleRow:
    """``key``: its name for ``get_schedule_class``. ``single``: one stage a rank. ``ahead``: receives are posted before they are
    needed and sends are waited for at the end of the step. ``folded``: stages go back and forth over the ranks."""

    name: str
    key: str
    single: bool = False
    sends_wait: bool = False
    ahead: bool = True
    folded: bool = False


ROWS: tuple[ScheduleRow, ...] = (
    ScheduleRow("ScheduleGPipe", "GPipe", single=True, ahead=False),
    ScheduleRow("Schedule1F1B", "1F1B", single=True, sends_wait=True, ahead=False),
    ScheduleRow("ScheduleInterleaved1F1B", "Interleaved1F1B"),
    ScheduleRow("ScheduleLoopedBFS", "LoopedBFS"),
    ScheduleRow("ScheduleInterleavedZeroBubble", "InterleavedZeroBubble"),
    ScheduleRow("ScheduleZBVZeroBubble", "ZBVZeroBubble", folded=True),
    ScheduleRow("ScheduleDualPipeV", "DualPipeV", folded=True),
    ScheduleRow("_PipelineScheduleRuntime", ""),
)
BY_NAME = {row.name: row for row in ROWS}


def by_rank(interp: Any, value: Value, rule: Any) -> Value:
    """``rule`` of a number that may differ between the ranks; None where it is not known."""
    values = value.values if isinstance(value, ByRank) else (value,) * len(interp.world.ranks)
    if not all(isinstance(one, int) for one in values):
        return None
    answers = tuple(rule(one) for one in values)
    return answers[0] if len(set(answers)) == 1 else ByRank(answers)


# ------------------------------------------------------------------ stages


def stage(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``PipelineStage(submodule, stage_index, num_stages, device, ...)``."""
    return make_stage(interp, bind("submodule stage_index num_stages device input_args output_args", args, kwargs), site)


def make_stage(interp: Any, bound: dict[str, Value], site: Any) -> Opaque:
    index, count, group = bound.get("stage_index"), bound.get("num_stages"), bound.get("group")
    last = count - 1 if isinstance(count, int) else None
    unknown = interp.unknown(f"{site.text}.is_first", "environment", site, hint="bool")
    first_of = by_rank(interp, index, lambda one: one == 0)
    last_of = by_rank(interp, index, lambda one: one == last) if last is not None else None
    attrs: dict[str, Value] = {
        "submod": bound.get("submodule"),
        "stage_index": index,
        "num_stages": count,
        "device": bound.get("device"),
        "group": group,
        "input_args": bound.get("input_args"),
        "has_backward": False,
        "is_first": unknown if first_of is None else first_of,
        "is_last": unknown if last_of is None else last_of,
        "group_rank": get_rank(interp, site, [group], {}),
        "group_size": get_world_size(interp, site, [group], {}),
    }
    return Opaque(STAGE, attrs, site.anchor)


def pipeline(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``pipeline(module, mb_args, mb_kwargs, split_spec)``: traced, and cut where the spec says; all stages are one module here."""
    bound = bind("module mb_args mb_kwargs split_spec split_policy", args, kwargs)
    spec = bound.get("split_spec")
    cuts = len(spec.items) if isinstance(spec, DictValue) and not spec.open else None
    count = cuts + 1 if cuts is not None else interp.unknown(f"{site.text}.num_stages", "data", site, hint="int")
    return Opaque(PIPE, {"module": bound.get("module"), "num_stages": count, "input_args": bound.get("mb_args")}, site.anchor)


def build_stage(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``pipe.build_stage(stage_index, device, group)``."""
    bound = bind("self stage_index device group", args, kwargs)
    pipe = bound["self"].attrs
    return make_stage(interp, {**bound, "submodule": pipe["module"], "num_stages": pipe["num_stages"], "input_args": pipe["input_args"]}, site)


def stage_module(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return args[0].attrs["module"]


# ------------------------------------------------------------------ schedules


def constructor(row: ScheduleRow) -> Any:
    def construct(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        names = "stage n_microbatches loss_fn" if row.single else "stages n_microbatches loss_fn"
        bound = bind(names, args, kwargs)
        held = [bound.get("stage")] if row.single else items_of(bound.get("stages")) or []
        attrs: dict[str, Value] = {
            "cgx.stages": ListValue(held),
            "cgx.row": row.name,
            "_n_microbatches": bound.get("n_microbatches"),
            "_loss_fn": bound.get("loss_fn"),
            "_has_backward": bound.get("loss_fn") is not None,
            "_stage": held[0] if held else None,
            "_stages": ListValue(list(held)),
        }
        return Opaque(f"{SCHEDULES}.{row.name}", attrs, site.anchor)

    return construct


def schedule_class(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``get_schedule_class(name)``, whatever the case of its letters."""
    name = args[0] if args else kwargs.get("schedule_name")
    for row in ROWS:
        if isinstance(name, str) and row.key and row.key.lower() == name.lower():
            return External(f"{SCHEDULES}.{row.name}")
    return NotImplemented


def step(backward: bool) -> Any:
    """``schedule.step(*args, target=..., losses=..., **kwargs)``, and ``eval``, which goes forward only."""

    def call(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        schedule = args[0]
        row = BY_NAME[schedule.attrs["cgx.row"]]
        stages = [one for one in items_of(schedule.attrs["cgx.stages"]) or [] if isinstance(one, Opaque)]
        trains = backward and flag(schedule.attrs.get("_has_backward"), True) is not False
        count = schedule.attrs.get("_n_microbatches")
        rest = dict(kwargs)
        target, losses = rest.pop("target", None), rest.pop("losses", None)
        rest.pop("return_outputs", None)
        extra = rest.pop("loss_kwargs", None)
        given, named, target = microbatch(interp, count, list(args[1:]), rest, target)
        if trains and any(synced(one.attrs["submod"]) for one in stages):
            interp.event("compute", site, author=AUTHOR, key="grad_sync", value="no_sync", how="with the backward of the last microbatch")
        metadata(interp, stages, row, trains, site)
        loop = LoopNode(site.anchor, site.text, count=count, expr="n_microbatches", target="microbatch", over="range")
        with interp.inside(loop, keep=True), interp.loop(LoopContext("n_microbatches", count, site.anchor)):
            outputs, found = rounds(interp, schedule, row, stages, (given, named, target, extra), trains, site)
        if isinstance(losses, ListValue):
            interp.trail.replace(losses.items, [found] * count if found is not None and isinstance(count, int) else [])
        return outputs

    return call


def synced(module: Value) -> bool:
    """Wrapped so that its backward reduces gradients: a schedule puts that off to the last microbatch."""
    held = list(all_modules(inner(module))) if isinstance(inner(module), ModuleInstance) else []
    return module is not inner(module) or any(name == "fully_shard" for one in held for name, _ in one.wrappers)


def microbatch(interp: Any, count: Value, args: list[Value], kwargs: dict[str, Value], target: Value) -> tuple[list[Value], dict[str, Value], Value]:
    """The arguments of one microbatch: a part of the batch, or one of those that are given ready."""
    given = [part(one, count) for one in args]
    named = {name: part(one, count) for name, one in kwargs.items() if name not in READY}
    ready = {name: one_of(kwargs[name]) for name in READY if name in kwargs}
    if (first := ready.get("arg_mbs")) is not None:
        given = items_of(first) or [first]
    if isinstance(first := ready.get("kwarg_mbs"), DictValue):
        named = {str(name): one for name, one in first.items.items()}
    return given, named, ready["target_mbs"] if ready.get("target_mbs") is not None else part(target, count)


READY = ("arg_mbs", "kwarg_mbs", "target_mbs")  # arguments that are lists of microbatches


def one_of(value: Value) -> Value:
    """One of a list, as this rank has it; None where it has none."""
    if isinstance(value, ByRank):
        value = value.values[0]
    if isinstance(value, ListValue):
        return value.items[0] if value.items else None
    if isinstance(value, Sequence):
        return value.element
    return value[0] if isinstance(value, tuple) and value else None


def part(value: Value, count: Value) -> Value:
    """A batch is cut along its first dim."""
    if not isinstance(value, TensorValue) or not value.shape:
        return value
    first = value.shape[0]
    size = first // count if isinstance(first, int) and isinstance(count, int) and count > 0 and first % count == 0 else None
    return TensorValue((size, *value.shape[1:]), value.dtype, value.device, value.pinned, value.library, requires_grad=value.requires_grad)


def rounds(interp: Any, schedule: Opaque, row: ScheduleRow, stages: list[Opaque], given: tuple[Any, ...], trains: bool, site: Any) -> tuple[Value, Value]:
    """One microbatch, through all stages of this rank and back: the last stage's output and loss, None on other ranks."""
    args, named, target, extra = given
    told = {str(name): one for name, one in extra.items.items()} if isinstance(extra, DictValue) else {}
    output: Value = None
    loss: Value = None
    for index, one in enumerate(stages):
        apart = edges(stages, index, row)
        if apart[0]:
            move(interp, one, "recv", "forward", row, site)
        first = first_rank(one.attrs["is_first"])
        inputs = args if first is not False else items_of(one.attrs.get("input_args")) or [TensorValue(None, None, "cuda", requires_grad=True)]
        output = interp.call(one.attrs["submod"], inputs, named, site)
        if apart[1]:
            move(interp, one, "send", "forward", row, site)
        if first_rank(one.attrs["is_last"]) is True and schedule.attrs.get("_loss_fn") is not None and target is not None:
            loss = interp.call(schedule.attrs["_loss_fn"], [output, target], told, site)
    for index, one in reversed(list(enumerate(stages))) if trains else ():
        apart = edges(stages, index, row)
        if apart[1]:
            move(interp, one, "recv", "backward", row, site)
        interp.event("compute", site, author=AUTHOR, key="backward", value=f"{row.name}: backward of one microbatch", loss=loss)
        if apart[0]:
            move(interp, one, "send", "backward", row, site)
    ends = any(first_rank(one.attrs["is_last"]) is True for one in stages)
    return (output if ends else None), loss


def first_rank(value: Value) -> bool | None:
    return flag(value.values[0] if isinstance(value, ByRank) else value)


def edges(stages: list[Opaque], index: int, row: ScheduleRow) -> tuple[bool, bool]:
    """Whether the stages before and after are other ranks' (where stages are folded, the two in the middle are one rank's)."""
    numbers = [one.attrs["stage_index"] for one in stages]
    known = [number.values[0] if isinstance(number, ByRank) else number for number in numbers]
    here = known[index]
    if not isinstance(here, int):
        return True, True
    return here - 1 not in known, here + 1 not in known


def move(interp: Any, one: Opaque, collective: str, phase: str, row: ScheduleRow, site: Any, **more: Any) -> None:
    """One transfer to or from a neighbour, under the ranks that have one."""
    before = (collective == "recv") is (phase == "forward")
    at_edge = one.attrs["is_first" if before else "is_last"]
    here = set(interp.world.ranks)
    for node in interp.stack:
        if isinstance(node, BranchNode) and node.ranks is not None:
            here &= set(node.ranks)
    if isinstance(at_edge, ByRank):
        alone = {bool(at_edge.values[rank]) for rank in here if rank < len(at_edge.values)}
        at_edge = alone.pop() if len(alone) == 1 else at_edge  # under a condition on the rank some have no such neighbour at all
    if at_edge is True:
        return
    name = "stage.is_first" if before else "stage.is_last"
    waits = row.sends_wait if collective == "send" else not row.ahead
    data = {
        "collective": collective, "parallelism": "pipeline", "issued_by": row.name, "blocking": waits, "async_op": None if waits else True, "waited_at": None if waits else site.anchor,
        "group": None, "group_value": one.attrs.get("group"), "pass": phase, "what": "activations" if phase == "forward" else "gradients of activations", **more,
    }  # fmt: skip
    if at_edge is False:
        interp.event("collective", site, author=AUTHOR, **data)
        return
    ranks = tuple(rank for rank, value in enumerate(at_edge.values) if value is False) if isinstance(at_edge, ByRank) else None
    with interp.inside(BranchNode(site.anchor, f"not {name}", decided=True, ranks=ranks)):
        interp.event("collective", site, author=AUTHOR, **data)


def metadata(interp: Any, stages: list[Opaque], row: ScheduleRow, trains: bool, site: Any) -> None:
    """At the first step neighbours tell each other shapes and dtypes: objects, which are read on the host."""
    loops = [node for node in interp.stack if isinstance(node, LoopNode)]
    if not loops:
        return
    with interp.inside(BranchNode(site.anchor, "not self._stage_forward_initialized", decided=True, first=loops[0].anchor)):
        for index, one in enumerate(stages):
            apart = edges(stages, index, row)
            for there, collective in ((0, "recv"), (1, "send")):
                if apart[there]:
                    move(interp, one, collective, "forward", row, site, blocking=True, async_op=None, waited_at=None, issued_by="PipelineStage", what="metadata")


ENTRIES: dict[str, Any] = {
    f"{PIPE}.build_stage": build_stage,
    f"{PIPE}.get_stage_module": stage_module,
    f"{BASE}.step": step(True),
    f"{BASE}.eval": step(False),
    f"{BASE}._load_csv": nothing,
}
BASES: dict[str, tuple[str, ...]] = {SINGLE: (BASE,), MULTI: (BASE,)}
for _row in ROWS:
    BASES[f"{SCHEDULES}.{_row.name}"] = (SINGLE if _row.single else MULTI,)
    for _place in (HOME, SCHEDULES):
        ENTRIES[f"{_place}.{_row.name}"] = constructor(_row)
    BASES[f"{HOME}.{_row.name}"] = (f"{SCHEDULES}.{_row.name}",)
for _name in ("PipelineScheduleSingle", "PipelineScheduleMulti"):
    BASES[f"{HOME}.{_name}"] = (f"{SCHEDULES}.{_name}",)
for _place in (HOME, f"{HOME}.stage", f"{HOME}._IR", SCHEDULES):
    ENTRIES[f"{_place}.PipelineStage"] = stage
    ENTRIES[f"{_place}.pipeline"] = pipeline
    ENTRIES[f"{_place}.pipe_split"] = ENTRIES[f"{_place}.annotate_split_points"] = nothing
    ENTRIES[f"{_place}.get_schedule_class"] = schedule_class
    if _place != HOME:
        continue
    BASES[f"{_place}.PipelineStage"] = (STAGE,)
