"""accelerate beside the Accelerator: process state, what only some processes do, module-level collectives, launchers, its logger.

Read from accelerate 0.34-1.15. Used where its own source is not given.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from cgx.indexer.interpreter.stdlib.support import nothing
from cgx.indexer.interpreter.trace import BranchNode
from cgx.indexer.interpreter.values import (
    ByRank,
    Device,
    DictValue,
    ListValue,
    Native,
    Opaque,
    TensorValue,
    Unknown,
    Value,
)
from cgx.indexer.launch.plan import MAX_RANKS
from cgx.indexer.overlays.arguments import bind, items_of, tensors_in
from cgx.indexer.overlays.lifecycle import moved_batch
from cgx.indexer.overlays.processes import set_world
from cgx.indexer.overlays.transfer import on_device, sync, tensor_bytes

AUTHOR = "overlays.accelerate_state"
STATE = "accelerate.PartialState"
FIRST, SPLIT, LOGGER = f"{STATE}.goes_first", f"{STATE}.split", "accelerate.logging.MultiProcessAdapter"


def by_rank(interp: Any, test: Any) -> Value:
    """A value for each rank, one where there is one rank."""
    values = tuple(test(rank) for rank in interp.world.ranks)
    return values[0] if len(values) == 1 else ByRank(values)


def rank_attributes(interp: Any) -> dict[str, Value]:
    """What every state object says of its process."""
    world, local = interp.world.size, interp.world.local_size
    here: Any = (lambda rank: rank % local) if isinstance(local, int) and local > 0 else (lambda rank: rank)
    last: Value = by_rank(interp, lambda rank: rank == world - 1) if isinstance(world, int) else Unknown("is_last_process", "environment", hint="bool")
    return {
        "num_processes": world,
        "process_index": by_rank(interp, lambda rank: rank),
        "local_process_index": by_rank(interp, here),
        "is_main_process": by_rank(interp, lambda rank: rank == 0),
        "is_local_main_process": by_rank(interp, lambda rank: here(rank) == 0),
        "is_last_process": last,
    }


def state(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``PartialState()``: joins the processes."""
    if interp.world.size != 1 and not interp.flags.get("dist_initialized"):
        interp.trail.set_item(interp.flags, "dist_initialized", True)
        interp.event("launch", site, author=AUTHOR, what="init_process_group")
    attrs = rank_attributes(interp)
    attrs |= {"device": Device("cuda", attrs["local_process_index"]), "use_distributed": interp.world.size != 1,
              "distributed_type": "MULTI_GPU" if interp.world.size != 1 else "NO"}  # fmt: skip
    return Opaque(STATE, attrs, site.anchor)


# -- what only some processes do ------------------------------------------------------------------------------------


@contextlib.contextmanager
def on_ranks(interp: Any, site: Any, text: str, test: Any) -> Iterator[None]:
    ranks = tuple(interp.world.ranks)
    if len(ranks) == 1:
        yield
        return
    with interp.inside(BranchNode(site.anchor, text, decided=True, ranks=tuple(rank for rank in ranks if test(rank)))):
        yield


def main_only(interp: Any, site: Any) -> contextlib.AbstractContextManager[None]:
    return on_ranks(interp, site, "is_main_process", lambda rank: rank == 0)


def local_main(interp: Any, site: Any) -> contextlib.AbstractContextManager[None]:
    local = interp.world.local_size
    return on_ranks(interp, site, "is_local_main_process", lambda rank: rank % local == 0 if isinstance(local, int) and local > 0 else rank == 0)


def decorator(which: Any) -> Any:
    """``@accelerator.on_main_process``: the function runs there alone."""

    def decorate(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        function = args[1] if len(args) > 1 else kwargs.get("function")
        if function is None:
            return Native("on_process", lambda i, at, a, k: decorate(i, at, [args[0], *a], {}))

        def call(i: Any, at: Any, a: list[Value], k: dict[str, Value]) -> Value:
            with which(i, at):
                return i.call(function, a, k, at)

        return Native("on_process", call)

    return decorate


def goes_first(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Opaque(FIRST, {}, site.anchor)


def enter_first(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The others wait before the block, the main process behind it: one barrier for each."""
    if interp.world.size != 1:
        interp.event("collective", site, author=AUTHOR, collective="barrier", issued_by="call", blocking=True, parallelism="data")
    return None


def split(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``with split_between_processes(inputs) as mine:`` a share for each process."""
    bound = bind("self inputs apply_padding", args, kwargs)
    return Opaque(SPLIT, {"inputs": bound.get("inputs")}, site.anchor)


def share(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    inputs = args[0].attrs.get("inputs")
    world, listed = interp.world.size, items_of(inputs)
    if world == 1:
        return inputs
    if isinstance(inputs, DictValue):
        return DictValue({key: share_of(interp, value, site) for key, value in inputs.items.items()}, open=inputs.open)
    if listed is not None and isinstance(world, int) and listed and len(listed) % world == 0 and world <= MAX_RANKS:
        each = len(listed) // world
        if all(isinstance(one, str | int | float) for one in listed):
            return ListValue([ByRank(tuple(listed[rank * each + place] for rank in interp.world.ranks)) for place in range(each)])
    return share_of(interp, inputs, site)


def share_of(interp: Any, value: Value, site: Any) -> Value:
    if isinstance(value, TensorValue):
        return TensorValue(None if value.shape is None else (None, *value.shape[1:]), value.dtype, value.device, value.pinned)
    listed = items_of(value)
    return ListValue(listed[:1], open=True) if listed else interp.unknown(site.text, "data", site)


# -- collectives of accelerate.utils --------------------------------------------------------------------------------


def collective_call(interp: Any, name: str, value: Value, site: Any, objects: bool = False) -> Value:
    """One for each tensor in the value; what holds no tensor is pickled."""
    if interp.world.size == 1:
        return value
    tensors = tensors_in(value) if not isinstance(value, Opaque) else []
    common: dict[str, Any] = {"collective": name, "issued_by": "call", "blocking": True, "async_op": False, "parallelism": "data"}
    for tensor in tensors if tensors and not objects else [None]:
        interp.event("collective", site, author=AUTHOR, bytes=tensor_bytes(tensor) if isinstance(tensor, TensorValue) else None, **common)
    if isinstance(value, Unknown) and name != "barrier" and not objects:
        return TensorValue(None, None, "cuda")  # of a size that is not known; what is no tensor cannot be sent so
    return value if name in ("barrier", "broadcast") else gathered(value, name)


def gathered(value: Value, name: str = "all_gather") -> Value:
    """The tensors of a value after a gather: as many as there are processes, along the first dim."""
    if isinstance(value, TensorValue):
        shape = value.shape if name == "all_reduce" or value.shape is None else (None, *value.shape[1:])
        return TensorValue(shape, value.dtype, value.device)
    if isinstance(value, tuple):
        return tuple(gathered(one, name) for one in value)
    if isinstance(value, ListValue):
        return ListValue([gathered(one, name) for one in value.items], open=value.open)
    if isinstance(value, DictValue):
        return DictValue({key: gathered(one, name) for key, one in value.items.items()}, open=value.open)
    return value


def of_utils(name: str, objects: bool = False) -> Any:
    def call(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        value = args[0] if args else next(iter(kwargs.values()), None)
        return collective_call(interp, name, value, site, objects)

    return call


def waited(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return collective_call(interp, "barrier", None, site)


def send_to_device(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    bound = bind("tensor device non_blocking skip_keys", args, kwargs)
    return moved_batch(interp, bound.get("tensor"), bool(bound.get("non_blocking", False)), site, AUTHOR, "tensor")


# -- launchers, logger ----------------------------------------------------------------------------------------------


def notebook_launcher(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``notebook_launcher(function, args, num_processes=n)``: starts the processes itself."""
    bound = bind("function args num_processes", args, kwargs)
    count = bound.get("num_processes")
    if isinstance(count, int) and count > 1:
        set_world(interp, count, count, tuple(range(min(count, MAX_RANKS))))
    return interp.call(bound.get("function"), items_of(bound.get("args", ())) or [], {}, site)


def get_logger(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Opaque(LOGGER, {}, site.anchor)


def logged(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The main process logs, unless ``main_process_only=False``."""

    def emit() -> None:
        for tensor in tensors_in(tuple(args[1:])):
            if on_device(tensor):
                sync(interp, "print", tensor, site)
        interp.event("log", site, author=AUTHOR, what=site.text)

    if kwargs.get("main_process_only", True) is False:
        emit()
        return None
    with main_only(interp, site):
        emit()
    return None


ACCELERATOR = "accelerate.Accelerator"
ENTRIES: dict[str, Any] = {
    STATE: state,
    "accelerate.state.PartialState": state,
    "accelerate.state.AcceleratorState": state,
    f"{FIRST}.__enter__": enter_first,
    f"{FIRST}.__exit__": nothing,
    f"{SPLIT}.__enter__": share,
    f"{SPLIT}.__exit__": nothing,
    "accelerate.notebook_launcher": notebook_launcher,
    "accelerate.launchers.notebook_launcher": notebook_launcher,
    "accelerate.logging.get_logger": get_logger,
    "accelerate.utils.set_seed": nothing,
    "accelerate.utils.random.set_seed": nothing,
    "accelerate.utils.send_to_device": send_to_device,
    "accelerate.utils.wait_for_everyone": waited,
    "accelerate.utils.is_torch_xla_available": lambda interp, site, args, kwargs: False,
    "accelerate.utils.is_tpu_available": lambda interp, site, args, kwargs: False,
    "accelerate.utils.is_xpu_available": lambda interp, site, args, kwargs: False,
}
for _owner in (STATE, ACCELERATOR):
    ENTRIES |= {
        f"{_owner}.main_process_first": goes_first,
        f"{_owner}.local_main_process_first": goes_first,
        f"{_owner}.split_between_processes": split,
        f"{_owner}.on_main_process": decorator(main_only),
        f"{_owner}.on_local_main_process": decorator(local_main),
    }
ENTRIES[f"{STATE}.wait_for_everyone"] = waited
ENTRIES[f"{STATE}.destroy_process_group"] = nothing
for _name, _kind, _objects in (
    ("gather", "all_gather", False), ("gather_object", "all_gather", True), ("reduce", "all_reduce", False), ("broadcast", "broadcast", False),
    ("broadcast_object_list", "broadcast", True), ("pad_across_processes", "all_gather", False),
):  # fmt: skip
    ENTRIES[f"accelerate.utils.{_name}"] = ENTRIES[f"accelerate.utils.operations.{_name}"] = of_utils(_kind, _objects)
for _name in ("debug", "info", "warning", "warn", "error", "critical", "exception", "log"):
    ENTRIES[f"{LOGGER}.{_name}"] = logged
for _name in ("setLevel", "addHandler", "warning_once", "isEnabledFor"):
    ENTRIES[f"{LOGGER}.{_name}"] = nothing
CONSTANTS: dict[str, Value] = {}
for _kind in ("NO", "MULTI_CPU", "MULTI_GPU", "MULTI_NPU", "MULTI_MLU", "MULTI_XPU", "MULTI_HPU", "DEEPSPEED", "FSDP", "XLA", "TPU", "MEGATRON_LM", "TP"):
    for _place in ("accelerate", "accelerate.utils", "accelerate.state", "accelerate.utils.dataclasses"):
        CONSTANTS[f"{_place}.DistributedType.{_kind}"] = _kind
BASES: dict[str, tuple[str, ...]] = {}
