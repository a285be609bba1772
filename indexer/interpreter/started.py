"""Processes and threads that the job starts and that run its model, where its own main part runs none.

An engine behind a server is such a job: the main process takes requests, others hold the device. Of several processes with
one target each is a rank: what differs in their arguments differs by rank.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cgx.indexer.interpreter.joins import same
from cgx.indexer.interpreter.signals import Raised, StopRun
from cgx.indexer.interpreter.trace import Event, LoopNode, ModuleCall, Node
from cgx.indexer.interpreter.values import (
    BoundMethod,
    ByRank,
    DictValue,
    Instance,
    ListValue,
    ModuleInstance,
    Opaque,
    Partial,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from cgx.indexer.interpreter.interp import Interp

PROCESS = "torch.multiprocessing.Process"
BUSY = ("sync", "copy", "collective")  # events of a process that holds a device


def run_started(interp: Interp, holder: Node | None = None) -> None:
    """Run what was started, target by target, until one of them runs a model; what they start themselves comes after.

    It stands in ``holder``, else at the end.
    """
    done: set[int] = set()
    while not runs_model(interp):
        group = next((one for one in grouped(interp.started.items) if id(one[0][0]) not in done), None)
        if group is None:
            return
        done |= {id(one) for one, _ in group}
        children = (holder or interp.trace.root).children
        start = len(children)
        first, site = group[0]
        ranks(interp, len(group))
        args = [merged([arguments(one)[place] for one, _ in group]) for place in range(len(arguments(first)))]
        names = first.attrs.get("kwargs")
        kwargs = dict(names.items) if isinstance(names, DictValue) else {}
        to_the_end(interp, lambda args=args, kwargs=kwargs, first=first, site=site: interp.call(first.attrs["target"], args, kwargs, site))  # type: ignore[misc]
        if any(isinstance(node, Event) and node.kind in BUSY for top in children[start:] for node in top.walk()):
            return
        if not runs_model(interp):
            del children[start:]


def join_started(interp: Interp) -> None:
    """The job waits for what it started: that comes before what follows, where nothing ran a model so far.

    It stands beside the loop over the processes, not in it, and what comes later is one process's work again.
    """
    world = interp.world
    size, local_size, ranks = world.size, world.local_size, world.ranks
    with beside(interp) as holder:
        run_started(interp, holder)
    world.size, world.local_size, world.ranks = size, local_size, ranks


@contextmanager
def beside(interp: Interp) -> Iterator[Node]:
    """Outside the loops that are open where the job stands."""
    stack, loops, unknown = list(interp.stack), list(interp.loops), interp.unknown_loops
    first = next((place for place, node in enumerate(stack) if isinstance(node, LoopNode)), len(stack))
    interp.loops[:], interp.unknown_loops = [], 0
    del interp.stack[first:]
    try:
        yield interp.stack[-1]
    finally:
        interp.stack[:], interp.loops[:], interp.unknown_loops = stack, loops, unknown


def as_one_of_them(interp: Interp, func: Value, args: list[Value]) -> list[Value]:
    """The arguments of a call where the job's own process runs what it started in others: it is a rank beside them, the first."""
    if interp.world.size != 1:
        return args
    for group in grouped(interp.started.items):
        first = group[0][0]
        given = [arguments(one) for one, _ in group]
        if first.qname != PROCESS or code_of(first.attrs["target"]) is not code_of(func) or len(given[0]) != len(args):
            continue
        joint = [merged([own, *(others[place] for others in given)]) for place, own in enumerate(args)]
        if not any(isinstance(one, ByRank) for one in joint):
            continue  # nothing tells them apart
        taken = {id(one) for one, _ in group}
        interp.trail.set(interp, "started", ListValue([pair for pair in interp.started.items if id(pair[0]) not in taken]))
        ranks(interp, len(group) + 1)
        return joint
    return args


def to_the_end(interp: Interp, run: Callable[[], Any]) -> None:
    """Run to the end of a process; how it ended early is noted."""
    try:
        run()
    except Raised as error:
        if error.kind != "SystemExit":
            interp.note_raise(error, "the job")
        elif error.fails:
            interp.trace.exit = error
    except StopRun as stop:
        if stop.reason:
            interp.note_unknown(Unknown("the job", stop.reason, None))


def runs_model(interp: Interp) -> bool:
    return bool(interp.trace.model_roots) or any(isinstance(node, ModuleCall) for node in interp.trace.root.walk())


def grouped(started: list[Any]) -> list[list[tuple[Opaque, Any]]]:
    """Those that run one function, in the order in which the first of each was started."""
    groups: list[list[tuple[Opaque, Any]]] = []
    for one, site in started:
        if one.attrs.get("target") is None:
            continue
        for group in groups:
            if code_of(group[0][0].attrs["target"]) is code_of(one.attrs["target"]) and len(arguments(group[0][0])) == len(arguments(one)):
                group.append((one, site))
                break
        else:
            groups.append([(one, site)])
    return groups


def code_of(target: Value) -> Any:
    while isinstance(target, BoundMethod | Partial):
        target = target.func
    return getattr(target, "node", target)


def arguments(process: Opaque) -> list[Value]:
    given = process.attrs.get("args")
    return list(given) if isinstance(given, tuple) else list(given.items) if isinstance(given, ListValue) else []


def ranks(interp: Interp, count: int) -> None:
    """Processes of one target make the world, where the launch line made none."""
    if count > 1 and interp.world.size == 1:
        interp.world.size, interp.world.local_size, interp.world.ranks = count, count, tuple(range(count))
        interp.trace.world_size = count


def merged(values: list[Value]) -> Value:
    """One value for all ranks: what differs is kept by rank, inside tuples and plain objects too."""
    first = values[0]
    if len(values) == 1 or all(same(first, one) for one in values[1:]):
        return first
    if all(isinstance(one, tuple) and len(one) == len(first) for one in values):
        return tuple(merged([one[place] for one in values]) for place in range(len(first)))
    if all(type(one) is Instance and one.cls is first.cls for one in values) and not isinstance(first, ModuleInstance):
        attrs = {name: merged([one.attrs.get(name, value) for one in values]) for name, value in first.attrs.items()}
        return dataclasses.replace(first, attrs=attrs)
    if all(isinstance(one, int | str) for one in values):
        return ByRank(tuple(values))
    return first
