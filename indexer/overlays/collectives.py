"""Collectives of torch.distributed: one row a function. Names are Chakra's.

Explicit calls (`torch.distributed.X`), functional collectives, the differentiable ones of ``torch.distributed.nn``,
point-to-point and batches of it. A call with ``async_op`` gives a handle; its ``wait`` says where the job waits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cgx.indexer.interpreter.recorder import shown_at
from cgx.indexer.interpreter.stdlib.support import nothing
from cgx.indexer.interpreter.values import Alternatives, ByRank, ListValue, Opaque, TensorValue, Value
from cgx.indexer.ops.rules.factory import LITERAL
from cgx.indexer.overlays.arguments import argument_text, bind, flag, items_of
from cgx.indexer.overlays.groups import group_purpose, purpose
from cgx.indexer.overlays.transfer import tensor_bytes

AUTHOR = "overlays.collectives"
WORK = "torch.distributed.Work"


@dataclass(frozen=True)
class CollectiveRow:
    """``signature``: parameters in order; ``tensor``: the one whose size is moved; ``async_default``: what async_op is."""

    name: str
    collective: str
    signature: str
    tensor: str = "tensor"
    async_default: bool | None = False
    objects: bool = False  # pickled on the host: the sizes and bytes are read back, the host waits


ROWS: tuple[CollectiveRow, ...] = (
    CollectiveRow("all_reduce", "all_reduce", "tensor op group async_op"),
    CollectiveRow("all_reduce_coalesced", "all_reduce", "tensors op group async_op", "tensors"),
    CollectiveRow("all_gather", "all_gather", "tensor_list tensor group async_op"),
    CollectiveRow("all_gather_into_tensor", "all_gather", "output_tensor input_tensor group async_op", "input_tensor"),
    CollectiveRow("_all_gather_base", "all_gather", "output_tensor input_tensor group async_op", "input_tensor"),
    CollectiveRow(
        "all_gather_coalesced",
        "all_gather",
        "output_tensor_lists input_tensor_list group async_op",
        "input_tensor_list",
    ),
    CollectiveRow("all_gather_object", "all_gather", "object_list obj group", "obj", None, True),
    CollectiveRow("reduce_scatter", "reduce_scatter", "output input_list op group async_op", "output"),
    CollectiveRow("reduce_scatter_tensor", "reduce_scatter", "output input op group async_op", "input"),
    CollectiveRow("_reduce_scatter_base", "reduce_scatter", "output input op group async_op", "input"),
    CollectiveRow("broadcast", "broadcast", "tensor src group async_op group_src"),
    CollectiveRow(
        "broadcast_object_list", "broadcast", "object_list src group device group_src", "object_list", None, True
    ),
    CollectiveRow(
        "all_to_all", "all_to_all", "output_tensor_list input_tensor_list group async_op", "input_tensor_list"
    ),
    CollectiveRow(
        "all_to_all_single", "all_to_all", "output input output_split_sizes input_split_sizes group async_op", "input"
    ),
    CollectiveRow("gather", "gather", "tensor gather_list dst group async_op group_dst"),
    CollectiveRow("gather_object", "gather", "obj object_gather_list dst group", "obj", None, True),
    CollectiveRow("scatter", "scatter", "tensor scatter_list src group async_op group_src"),
    CollectiveRow(
        "scatter_object_list",
        "scatter",
        "scatter_object_output_list scatter_object_input_list src group",
        "scatter_object_input_list",
        None,
        True,
    ),
    CollectiveRow("reduce", "reduce", "tensor dst op group async_op group_dst"),
    CollectiveRow("barrier", "barrier", "group async_op device_ids", ""),
    CollectiveRow("monitored_barrier", "barrier", "group timeout wait_all_ranks", "", None),
    CollectiveRow("send", "send", "tensor dst group tag group_dst", "tensor", None),
    CollectiveRow("recv", "recv", "tensor src group tag group_src", "tensor", None),
    CollectiveRow("isend", "send", "tensor dst group tag group_dst", "tensor", True),
    CollectiveRow("irecv", "recv", "tensor src group tag group_src", "tensor", True),
    CollectiveRow("send_object_list", "send", "object_list dst group device", "object_list", None, True),
    CollectiveRow("recv_object_list", "recv", "object_list src group device", "object_list", None, True),
)

FUNCTIONAL: tuple[CollectiveRow, ...] = (
    CollectiveRow("all_reduce", "all_reduce", "self reduceOp group tag", "self", None),
    CollectiveRow("all_gather_tensor", "all_gather", "self gather_dim group tag", "self", None),
    CollectiveRow("all_gather_single", "all_gather", "self gather_dim group tag", "self", None),
    CollectiveRow("all_gather_tensor_autograd", "all_gather", "self gather_dim group tag", "self", None),
    CollectiveRow("reduce_scatter_tensor", "reduce_scatter", "self reduceOp scatter_dim group tag", "self", None),
    CollectiveRow(
        "reduce_scatter_tensor_autograd", "reduce_scatter", "self reduceOp scatter_dim group tag", "self", None
    ),
    CollectiveRow(
        "all_to_all_single", "all_to_all", "self output_split_sizes input_split_sizes group tag", "self", None
    ),
    CollectiveRow(
        "all_to_all_single_autograd", "all_to_all", "self output_split_sizes input_split_sizes group tag", "self", None
    ),
    CollectiveRow("broadcast", "broadcast", "self src group tag", "self", None),
    CollectiveRow("permute_tensor", "send", "self src_dst group tag", "self", None),
    CollectiveRow("all_reduce_coalesced", "all_reduce", "self reduceOp group tag", "self", None),
)

DIFFERENTIABLE: tuple[CollectiveRow, ...] = (
    CollectiveRow("all_reduce", "all_reduce", "tensor op group", "tensor", None),
    CollectiveRow("all_gather", "all_gather", "tensor group", "tensor", None),
    CollectiveRow("reduce_scatter", "reduce_scatter", "output input_list op group", "output", None),
    CollectiveRow("all_to_all", "all_to_all", "output_tensor_list input_tensor_list group", "output_tensor_list", None),
    CollectiveRow(
        "all_to_all_single", "all_to_all", "output input output_split_sizes input_split_sizes group", "input", None
    ),
    CollectiveRow("broadcast", "broadcast", "tensor src group", "tensor", None),
    CollectiveRow("gather", "gather", "tensor dst group", "tensor", None),
    CollectiveRow("scatter", "scatter", "tensors src group", "tensors", None),
    CollectiveRow("reduce", "reduce", "tensor dst op group", "tensor", None),
)


def parallelism_of(group: Value, text: str) -> str | None:
    """From where the group was made, else from the words of the argument; None for the default group."""
    return group_purpose(group) or (purpose(text) if text else None)


def issue(interp: Any, row: CollectiveRow, bound: dict[str, Value], site: Any, **more: Any) -> Any:
    """The event of one collective."""
    group = bound.get("group")
    index = row.signature.split().index("group") if "group" in row.signature.split() else 99
    text = argument_text(site, index, "group")
    tensor = bound.get(row.tensor) if row.tensor else None
    asked = flag(bound.get("async_op"), row.async_default) if row.async_default is not None else None
    return interp.event(
        "collective", site, author=AUTHOR, collective=row.collective, issued_by="call", async_op=asked, group=text or None,
        parallelism=parallelism_of(group, text), blocking=not asked, what=argument_text(site, row.signature.split().index(row.tensor), row.tensor)
        if row.tensor else "", bytes=tensor_bytes(tensor) if isinstance(tensor, TensorValue) else None, default_group=whole_world(interp, group, text), **more,
    )  # fmt: skip


def whole_world(interp: Any, group: Value, text: str) -> bool:
    """No group is given, none is meant by what is given, or one of all ranks."""
    if isinstance(group, Opaque) and group.attrs.get("cgx.default") is True:
        return True
    if group is None:
        return not text or (purpose(text) is None and ("None" in text or text in ("group", "process_group", "pg")))
    listed = items_of(group)
    return listed is not None and len(listed) == interp.world.size


def explicit(row: CollectiveRow) -> Callable[..., Value]:
    def call(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        bound = bind(row.signature, args, kwargs)
        event = issue(interp, row, bound, site)
        fill_output(interp, row, bound)
        if row.objects:
            event.data["blocking"] = True
        return (
            Opaque(WORK, {"event": event}, site.anchor)
            if event.data.get("async_op") is not False and row.async_default is not None
            else None
        )

    return call


def fill_output(interp: Any, row: CollectiveRow, bound: dict[str, Value]) -> None:
    """What a gather of objects leaves in the list of the caller is not known; what a broadcast leaves is the sender's."""
    if row.name == "broadcast_object_list":
        sent(interp, bound.get("object_list"), bound.get("src", 0))
    written = bound.get("tensor" if row.name in IN_PLACE else "output_tensor" if "output_tensor" in bound else "output")
    if isinstance(written, TensorValue) and (written.const is not None or LITERAL in written.attrs):
        # The state is the first rank's: what that rank sends to all is what it had.
        kept = written.attrs.get(LITERAL, written.const) if row.name == "broadcast" and bound.get("src", 0) == interp.world.ranks[0] else None
        interp.trail.set(written, "const", kept)
        interp.trail.del_item(written.attrs, LITERAL)
    held = bound.get("object_list" if row.name == "all_gather_object" else "object_gather_list")
    if row.name in ("all_gather_object", "gather_object"):
        for one in lists_in(held):
            given = bound.get("obj")
            each = list(given.values) if isinstance(given, ByRank) and len(given.values) == len(one.items) else [given] * len(one.items)
            interp.trail.replace(one, each)


IN_PLACE = frozenset({"all_reduce", "broadcast", "reduce"})  # of one tensor, which takes the result


def lists_in(value: Value) -> list[ListValue]:
    """The list of each rank that has one."""
    parts = list(value.values) if isinstance(value, ByRank) else [one for _, one in value.options] if isinstance(value, Alternatives) else [value]
    return [one for one in parts if isinstance(one, ListValue)]


def sent(interp: Any, objects: Value, src: Value) -> None:
    """All ranks hold what the sender's list holds."""
    world = list(interp.world.ranks)
    place = world.index(src) if src in world else None
    if place is None:
        return
    lists = list(objects.values) if isinstance(objects, ByRank) else [objects]
    source = lists[min(place, len(lists) - 1)]
    if not isinstance(source, ListValue):
        return
    items = [one.values[place] if isinstance(one, ByRank) and place < len(one.values) else one for one in source.items]
    for held in lists:
        if isinstance(held, ListValue):
            interp.trail.replace(held, items)


GRADIENTS = {
    "all_reduce": "all_reduce", "all_gather": "reduce_scatter", "reduce_scatter": "all_gather", "all_to_all": "all_to_all",
    "broadcast": "reduce", "reduce": "broadcast", "gather": "scatter", "scatter": "gather",
}  # fmt: skip
"""What the backward of a differentiable collective sends."""


def gradient(interp: Any, event: Any, collective: str, site: Any) -> None:
    """The collective in the backward of the one of ``event``; none without gradients."""
    if interp.flags.get("grad", True):
        data = {name: value for name, value in event.data.items() if name not in ("collective", "what")}
        interp.event("collective", site, author=AUTHOR, **{**data, "collective": collective, "pass": "backward", "overlapped": False})


def functional(row: CollectiveRow, differentiable: bool = False) -> Callable[..., Value]:
    """Functional collectives give a new tensor that is waited for at its first use."""

    def call(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        bound = bind(row.signature, args, kwargs)
        event = issue(interp, row, bound, site, functional=True)
        tensor = bound.get(row.tensor)
        if not isinstance(tensor, TensorValue):
            return interp.unknown(site.text, "unmodelled", site, hint="tensor")
        if differentiable and (tensor.dtype or "float").startswith(("float", "bfloat")):
            gradient(interp, event, GRADIENTS[row.collective], site)
        shape = tensor.shape if row.collective in ("all_reduce", "broadcast") else gathered(interp, row, tensor, bound)
        return TensorValue(
            shape, tensor.dtype, tensor.device, requires_grad=tensor.requires_grad, attrs={"cgx.collective": event}
        )

    return call


def gathered(interp: Any, row: CollectiveRow, tensor: TensorValue, bound: dict[str, Value]) -> tuple[Any, ...] | None:
    """Shape after a gather or scatter along a dim, for the group's size where it is known."""
    dim = bound.get("gather_dim", bound.get("scatter_dim"))
    group = bound.get("group")
    size = group.attrs.get("cgx.size") if isinstance(group, Opaque) else len(items_of(group) or []) or None
    if tensor.shape is None or not isinstance(dim, int) or not isinstance(size, int) or dim >= len(tensor.shape):
        return None if tensor.shape is None else tuple(None for _ in tensor.shape)
    old = tensor.shape[dim]
    if not isinstance(old, int):
        return tuple(None if index == dim % len(tensor.shape) else one for index, one in enumerate(tensor.shape))
    new = old * size if row.collective == "all_gather" else old // size
    return tuple(new if index == dim % len(tensor.shape) else one for index, one in enumerate(tensor.shape))


def wait(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``work.wait()``: the current stream, and for gloo the host, waits."""
    for event in events_of(args[0]) or [None]:
        if event is not None and "waited_at" not in event.data:
            event.data["waited_at"] = shown_at(interp, site.anchor)
        interp.event("wait", site, author=AUTHOR, of=event)
    return True


def events_of(work: Value) -> list[Any]:
    """The collectives behind a handle, or behind several that were joined."""
    if isinstance(work, ListValue | tuple):
        return [event for one in items_of(work) or [] for event in events_of(one)]
    if not isinstance(work, Opaque):
        return []
    return list(work.attrs["events"]) if "events" in work.attrs else [work.attrs["event"]] if work.attrs.get("event") is not None else []


def same_handle(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``work.get_future()``, ``future.then(...)``: waiting for it waits for the collective."""
    return args[0]


def collect_all(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``torch.futures.collect_all(futures)``."""
    return Opaque(WORK, {"events": tuple(events_of(args[0] if args else kwargs.get("futures")))}, site.anchor)


def wait_tensor(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    tensor = args[0] if args else kwargs.get("tensor")
    event = tensor.attrs.get("cgx.collective") if isinstance(tensor, TensorValue) else None
    if event is not None and "waited_at" not in event.data:
        event.data["waited_at"] = shown_at(interp, site.anchor)
    return tensor


def wait_all(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``torch.futures.wait_all(futures)``: their values, in order."""
    futures = items_of(args[0] if args else kwargs.get("futures")) or []
    if events_of(ListValue(list(futures))):
        wait(interp, site, [collect_all(interp, site, args, kwargs)], {})
    return ListValue([one.attrs.get("value") if isinstance(one, Opaque) else one for one in futures])


def p2p_op(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Opaque("torch.distributed.P2POp", {**bind("op tensor peer group tag", args, kwargs), "cgx.group": argument_text(site, 3, "group")}, site.anchor)


def batch_p2p(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``batch_isend_irecv``: each op of the list, issued here."""
    works = []
    for one in items_of(args[0] if args else kwargs.get("p2p_op_list")) or []:
        if not isinstance(one, Opaque):
            continue
        tail = getattr(one.attrs.get("op"), "qname", "").rpartition(".")[2]
        tensor, group = one.attrs.get("tensor"), str(one.attrs.get("cgx.group", ""))
        event = interp.event(
            "collective", site, author=AUTHOR, collective="recv" if "recv" in tail else "send", issued_by="call", async_op=True,
            group=group or None, parallelism=parallelism_of(one.attrs.get("group"), group), blocking=False, p2p=True,
            bytes=tensor_bytes(tensor) if isinstance(tensor, TensorValue) else None,
        )  # fmt: skip
        works.append(Opaque(WORK, {"event": event}, site.anchor))
    return ListValue(works)


_D = "torch.distributed"
ENTRIES: dict[str, Any] = {}
for _row in ROWS:
    ENTRIES[f"{_D}.{_row.name}"] = ENTRIES[f"{_D}.distributed_c10d.{_row.name}"] = explicit(_row)
for _row in FUNCTIONAL:
    ENTRIES[f"{_D}._functional_collectives.{_row.name}"] = functional(_row, _row.name.endswith("_autograd"))
for _row in DIFFERENTIABLE:
    ENTRIES[f"{_D}.nn.{_row.name}"] = ENTRIES[f"{_D}.nn.functional.{_row.name}"] = functional(_row, True)
ENTRIES |= {
    f"{_D}._functional_collectives.wait_tensor": wait_tensor,
    f"{_D}.P2POp": p2p_op,
    f"{_D}.distributed_c10d.P2POp": p2p_op,
    f"{_D}.batch_isend_irecv": batch_p2p,
    f"{_D}.distributed_c10d.batch_isend_irecv": batch_p2p,
    f"{WORK}.wait": wait,
    f"{WORK}.get_future": same_handle,
    f"{WORK}.then": same_handle,
    "torch.futures.collect_all": collect_all,
    "torch.futures.wait_all": wait_all,
    f"{WORK}.is_completed": nothing,
}
BASES: dict[str, tuple[str, ...]] = {}
