"""Starting processes from Python: ``torch.multiprocessing.spawn`` makes the ranks of the job."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.started import join_started
from cgx.indexer.interpreter.stdlib.support import nothing
from cgx.indexer.interpreter.values import ByRank, Opaque, Unknown, Value
from cgx.indexer.launch.plan import MAX_RANKS, UNKNOWN_RANKS
from cgx.indexer.overlays.arguments import bind, items_of

AUTHOR = "overlays.processes"


def set_world(interp: Any, size: int | Unknown, local: int | Unknown, ranks: tuple[int, ...]) -> None:
    """The job turns out to have more processes than its launch line says."""
    for name, value in (("size", size), ("local_size", local), ("ranks", ranks)):
        interp.trail.set(interp.world, name, value)
    interp.trace.world_size = size


def spawn(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``spawn(fn, args, nprocs)``: runs ``fn(i, *args)``, with ``i`` the index of the process on this node."""
    bound = bind("fn args nprocs join daemon start_method", args, kwargs)
    count = bound.get("nprocs", 1)
    rest = items_of(bound.get("args", ())) or []
    interp.event("launch", site, author=AUTHOR, what="spawn", count=count)
    if isinstance(count, Unknown):
        set_world(interp, count, count, tuple(range(UNKNOWN_RANKS)))
        index: Value = ByRank(tuple(range(UNKNOWN_RANKS)))
    elif not isinstance(count, int):
        index = interp.unknown("rank", "environment", site, hint="int")
    else:
        modelled = tuple(range(min(count, MAX_RANKS)))
        index = modelled[0] if len(modelled) == 1 else ByRank(modelled)
        nodes = interp.world.nnodes
        set_world(interp, nodes if isinstance(nodes, Unknown) else count * nodes, count, modelled)
    interp.call(bound.get("fn"), [index, *rest], {}, site)
    return None


def process(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A process object; what it runs is another process's work."""
    return Opaque(
        "torch.multiprocessing.Process", dict(bind("group target name args kwargs", args, kwargs)), site.anchor
    )


def thread(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Opaque("threading.Thread", dict(bind("group target name args kwargs", args, kwargs)), site.anchor)


def start(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """It runs beside the step; noted for jobs whose main part runs no model."""
    interp.trail.append(interp.started, (args[0], site))
    return None


def join(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    join_started(interp)
    return None


def context(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Opaque("torch.multiprocessing.Context", {}, site.anchor)


def shared(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Opaque("torch.multiprocessing.Event", {}, site.anchor)


def local(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``threading.local()``: an object without attributes; the step's thread is the one that is read."""
    return Opaque("threading.local", {}, site.anchor)


def no_attribute(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return interp.raise_("AttributeError", f"'_thread._local' object has no attribute {args[1]!r}", site)


ENTRIES: dict[str, Any] = {
    "threading.local": local,
    "threading.local.__getattr__": no_attribute,
    "torch.multiprocessing.spawn": spawn,
    "torch.multiprocessing.spawn.spawn": spawn,
    "torch.multiprocessing.start_processes": spawn,
    "torch.multiprocessing.set_start_method": nothing,
    "torch.multiprocessing.set_sharing_strategy": nothing,
    "torch.multiprocessing.get_context": context,
    "torch.multiprocessing.Process": process,
    "torch.multiprocessing.Process.start": start,
    "multiprocessing.Process": process,
    "multiprocessing.context.Process": process,
    "multiprocessing.get_context": context,
    "multiprocessing.set_start_method": nothing,
    "threading.Thread": thread,
    "threading.Thread.start": start,
    "threading.Thread.join": nothing,
    "torch.multiprocessing.Process.join": join,
    "torch.multiprocessing.Context.Process": process,
    "torch.multiprocessing.Context.Event": shared,
    "torch.multiprocessing.Event.set": nothing,
    "torch.multiprocessing.Event.wait": nothing,
    "torch.multiprocessing.Event.clear": nothing,
    "torch.distributed.elastic.multiprocessing.errors.record": lambda interp, site, args, kwargs: (
        args[0] if args else None
    ),
}
BASES: dict[str, tuple[str, ...]] = {}
