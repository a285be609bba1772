"""torch.cuda, torch.accelerator and their kind: what is there, synchronisation, streams, events, memory queries.

A cuda device is assumed to be there unless the launch says ``--set device=cpu``; how many, and what they can do, is
the machine's matter.
"""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.stdlib.support import nothing
from cgx.indexer.interpreter.values import ByRank, Device, DictValue, External, Opaque, Unknown, Value
from cgx.indexer.overlays.arguments import bind, device_type, receiver_text

AUTHOR = "overlays.cuda"
STREAM, EVENT = "torch.cuda.Stream", "torch.cuda.Event"


def available(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return interp.flags.get("accelerator", "cuda") == "cuda"


def current(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``torch.accelerator.current_accelerator()``."""
    return Device("cuda") if available(interp, site, args, kwargs) else None


def machine(hint: str) -> Any:
    """A value that depends on the machine: the source text is what ``--set`` takes."""

    def ask(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        return interp.unknown(site.text, "environment", site, hint=hint)

    return ask


def device_count(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The machine's matter, but each process of the node has a device of its own, and one there is in any case."""
    found = interp.unknown(site.text, "environment", site, hint="int")
    if available(interp, site, args, kwargs) and isinstance(found, Unknown):
        local = interp.world.local_size
        found.least = local if isinstance(local, int) else 1
    return found


def memory(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Memory counters: numbers that change as the job runs. No sync."""
    return interp.unknown(site.text, "environment", site, hint="int")


def memory_pair(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return tuple(interp.unknown(f"{site.text}[{index}]", "environment", site, hint="int") for index in range(2))


def memory_table(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return DictValue(open=True)


def current_device(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    known = interp.flags.get("current_device")
    return 0 if known is None else known


def set_device(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    device = args[0] if args else kwargs.get("device")
    interp.trail.set_item(interp.flags, "current_device", device_index(device))
    return None


def device_index(device: Value) -> Value:
    """The index inside ``cuda:1``, a device or a plain number; kept per rank."""
    if isinstance(device, ByRank):
        return ByRank(tuple(device_index(one) for one in device.values))
    if isinstance(device, Device):
        return device.index
    if isinstance(device, str):
        tail = device.partition(":")[2]
        return int(tail) if tail.isdigit() else 0
    return device


def synchronize(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The host waits for all work of the device."""
    interp.event("sync", site, author=AUTHOR, sync="synchronize", what=site.text)
    return None


def empty_cache(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Frees cached blocks with cudaFree, which waits for the device."""
    interp.event("sync", site, author=AUTHOR, sync="other", what=site.text)
    return None


def stream(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    interp.event("stream", site, author=AUTHOR, what="create")
    return Opaque(STREAM, {"side": True}, site.anchor)


def current_stream(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    known = interp.flags.get("stream") or interp.flags.get("set_stream")
    return known if isinstance(known, Opaque) else Opaque(STREAM, {"side": False}, site.anchor)


def set_stream(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """From here on the stream that is current where none is entered."""
    if args and isinstance(args[0], Opaque):
        interp.trail.set_item(interp.flags, "set_stream", args[0])
    return None


def event(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Opaque(EVENT, dict(bind("enable_timing blocking interprocess", args, kwargs)), site.anchor)


def stream_method(what: str) -> Any:
    """``wait_stream``, ``wait_event``, ``record_event``: order between streams, the host goes on."""

    def call(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        other = args[1] if len(args) > 1 else None
        interp.event("stream", site, author=AUTHOR, what=what, receiver=args[0], other=other)
        return Opaque(EVENT, {}, site.anchor) if what == "record_event" else None

    return call


def wait_host(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``stream.synchronize()``, ``event.synchronize()``: the host waits."""
    interp.event(
        "sync", site, author=AUTHOR, sync="synchronize", what=f"{receiver_text(site)}.synchronize()", of=args[0]
    )
    return None


def elapsed(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Needs both events done, but does not wait for them."""
    return interp.unknown(site.text, "time", site, hint="float")


def device_module(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``torch.get_device_module(device)``."""
    kind = device_type(args[0]) if args else "cuda"
    return External(f"torch.{kind or 'cuda'}") if kind != "cpu" else External("torch.cpu")


PLACES = ("torch.cuda", "torch.accelerator", "torch.xpu", "torch.npu")
ENTRIES: dict[str, Any] = {}
for _place in PLACES:
    ENTRIES |= {
        f"{_place}.is_available": available,
        f"{_place}.device_count": device_count,
        f"{_place}.current_device": current_device,
        f"{_place}.current_device_index": current_device,
        f"{_place}.set_device": set_device,
        f"{_place}.set_device_index": set_device,
        f"{_place}.set_device_idx": set_device,
        f"{_place}.synchronize": synchronize,
        f"{_place}.empty_cache": empty_cache,
        f"{_place}.current_stream": current_stream,
        f"{_place}.default_stream": current_stream,
        f"{_place}.set_stream": set_stream,
        f"{_place}.Stream": stream,
        f"{_place}.Event": event,
        f"{_place}.is_bf16_supported": machine("bool"),
        f"{_place}.get_device_capability": memory_pair,
        f"{_place}.get_device_name": machine("str"),
        f"{_place}.get_device_properties": machine(""),
        f"{_place}.mem_get_info": memory_pair,
        f"{_place}.memory_stats": memory_table,
        f"{_place}.reset_peak_memory_stats": nothing,
        f"{_place}.reset_max_memory_allocated": nothing,
        f"{_place}.manual_seed": nothing,
        f"{_place}.manual_seed_all": nothing,
        f"{_place}.ipc_collect": nothing,
        f"{_place}.init": nothing,
        f"{_place}.set_per_process_memory_fraction": nothing,
    }
    for _name in (
        "max_memory_allocated",
        "memory_allocated",
        "max_memory_reserved",
        "memory_reserved",
        "max_memory_cached",
    ):
        ENTRIES[f"{_place}.{_name}"] = memory
ENTRIES |= {
    "torch.accelerator.current_accelerator": current,
    "torch.get_device_module": device_module,
    "torch._utils._get_available_device_type": lambda interp, site, args, kwargs: (
        "cuda" if available(interp, site, args, kwargs) else None
    ),
    "torch._utils._get_device_module": device_module,
    "torch.Stream": stream,
    "torch.Event": event,
    f"{STREAM}.wait_stream": stream_method("wait_stream"),
    f"{STREAM}.wait_event": stream_method("wait_event"),
    f"{STREAM}.record_event": stream_method("record_event"),
    f"{STREAM}.synchronize": wait_host,
    f"{STREAM}.query": machine("bool"),
    f"{EVENT}.record": stream_method("record"),
    f"{EVENT}.wait": stream_method("wait"),
    f"{EVENT}.synchronize": wait_host,
    f"{EVENT}.query": machine("bool"),
    f"{EVENT}.elapsed_time": elapsed,
    "torch.Tensor.record_stream": nothing,
    "torch.cuda.nvtx.range_push": nothing,
    "torch.cuda.nvtx.range_pop": nothing,
    "torch.cuda.nvtx.mark": nothing,
    "torch.cuda.cudart": machine(""),
    "torch.cuda.profiler.start": nothing,
    "torch.cuda.profiler.stop": nothing,
    "torch.backends.mps.is_available": lambda interp, site, args, kwargs: False,
    "torch.xpu.is_available": lambda interp, site, args, kwargs: False,
    "torch.npu.is_available": lambda interp, site, args, kwargs: False,
    "torch.backends.cudnn.is_available": lambda interp, site, args, kwargs: True,
}
CONSTANTS: dict[str, Value] = {"torch.version.hip": None, "torch.version.xpu": None, "torch.version.cuda": "12.8"}
BASES: dict[str, tuple[str, ...]] = {}
