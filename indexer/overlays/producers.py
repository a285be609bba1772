"""Processes and threads of a job's own that prepare its batches: what they put into a queue is what the step takes from it.

The target is evaluated once, where the queue is first asked, inside a worker scope: its reads and transforms are hops that run
beside the step.
"""

from __future__ import annotations

import ast
from typing import Any

from cgx.indexer.interpreter.stdlib.support import constant, nothing, unknown
from cgx.indexer.interpreter.trace import CallNode, ModuleCall, ScopeNode
from cgx.indexer.interpreter.values import (
    BoundMethod,
    DictValue,
    FunctionValue,
    Instance,
    ListValue,
    Opaque,
    Partial,
    Value,
)
from cgx.indexer.overlays.arguments import bind
from cgx.indexer.overlays.data_hops import events_inside
from cgx.indexer.overlays.data_loader import WORKER
from cgx.indexer.overlays.data_values import fresh

AUTHOR = "overlays.producers"
QUEUE = "queue.Queue"
PROCESS, THREAD = "torch.multiprocessing.Process", "threading.Thread"
PUT = "cgx.put"  # what was put, while a producer is evaluated
RUNNING = "producing"  # flag: a producer is being evaluated
OTHER = "cgx.no_producer"  # on a process that does something else
DEPTH = 6  # objects between a process and the queue that it fills


def queue(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Opaque(QUEUE, {PUT: ListValue()}, site.anchor)


def put(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    held = args[0].attrs.get(PUT)
    if isinstance(held, ListValue) and len(args) + len(kwargs) > 1:
        interp.trail.append(held, args[1] if len(args) > 1 else bind("self item", args, kwargs).get("item"))
    return None


def get(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """One element: of the producer that fills the queue, else of what was put there before."""
    held = args[0].attrs.get(PUT)
    sources = [(one, end) for one, _ in interp.started.items if not one.attrs.get(OTHER) and (end := own_end(one, args[0])) is not None]
    if sources and not interp.flags.get(RUNNING):
        element = produced(interp, sources[0][1], [one for one, _ in sources], site)
        if element is not NotImplemented:
            return element
    found = telling(held)
    return found[0] if len(found) == 1 else interp.unknown(site.text, "data", site)


def telling(held: Value) -> list[Value]:
    """What was put, without words such as None, a bare object or an exception, that only end the rounds."""
    return [one for one in held.items if not word(one)] if isinstance(held, ListValue) else []


def word(value: Value) -> bool:
    if value is None or isinstance(value, str):
        return True
    if isinstance(value, Opaque):
        return value.qname in ("object", "builtins.object") or value.qname.endswith(("Error", "Exception"))
    return isinstance(value, Instance) and not value.attrs


def produced(interp: Any, filled: Opaque, sources: list[Opaque], site: Any) -> Value:
    """Evaluate the producer, and take what it puts; its hops run in its process. NotImplemented for one that runs a model, or puts nothing."""
    first = sources[0]
    scope = ScopeNode(anchor=first.anchor or site.anchor, text=site.text, qname=WORKER, data={"workers": len(sources)})
    siblings, mark, roots = interp.stack[-1].children, interp.mark(), len(interp.trace.model_roots)
    place = len(siblings)
    interp.trail.begin()
    try:
        interp.trail.replace(filled.attrs[PUT], [])
        interp.trail.set_item(interp.flags, RUNNING, True)
        with interp.inside(scope):
            interp.attempt(lambda: interp.call(first.attrs["target"], *given(first), site))
        found = telling(filled.attrs[PUT])
    except BaseException:
        interp.trail.commit()
        raise
    if not found or any(isinstance(node, ModuleCall) for node in scope.walk()):
        interp.trail.rollback()
        interp.reset(mark)
        del siblings[place:], interp.trace.model_roots[roots:]
        first.attrs[OTHER] = True
        return NotImplemented
    interp.trail.set_item(interp.flags, RUNNING, False)
    interp.trail.commit()
    runs = {"workers": len(sources), "asynchronous": True, "blocks_step": False}
    rows = [{**row, **runs} for row in [*events_inside(scope), *encoders(scope)]]
    rows.append({"hop": "prefetch", "by": first.qname.replace("torch.", ""), "anchor": first.anchor or site.anchor, **runs})
    data = {"loader": first, "hops": unique(rows), "workers": len(sources), "prefetch": first.anchor,
            "mechanism": "prefetch thread" if first.qname == THREAD else "worker processes"}  # fmt: skip
    interp.event("fetch", site, author=AUTHOR, **data)
    return fresh(found[0])


def unique(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row for each hop at a line, whichever of several objects takes it."""
    kept: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        kept.setdefault((row["hop"], row["anchor"]), row)
    return list(kept.values())


def encoders(scope: ScopeNode) -> list[dict[str, Any]]:
    """Calls of a tokenizer of the job's own, where they stand."""
    rows: list[dict[str, Any]] = []
    stack = [*scope.children]
    while stack:
        node = stack.pop(0)
        if isinstance(node, CallNode) and node.prepares:
            rows.append({"hop": "transform", "by": node.symbol, "anchor": node.anchor})
        else:
            stack[:0] = node.children
    return rows


def given(process: Opaque) -> tuple[list[Value], dict[str, Value]]:
    """What the target is called with."""
    args, names = process.attrs.get("args"), process.attrs.get("kwargs")
    listed = list(args) if isinstance(args, tuple) else list(args.items) if isinstance(args, ListValue) else []
    return listed, dict(names.items) if isinstance(names, DictValue) else {}


def own_end(process: Value, asked: Opaque) -> Opaque | None:
    """The queue as the target of a process holds it; None where it cannot lay hands on it. One line makes one queue."""
    if not isinstance(process, Opaque) or process.attrs.get("target") is None:
        return None
    seen: set[int] = set()
    front: list[Value] = [process.attrs["target"], process.attrs.get("args"), process.attrs.get("kwargs")]
    for _ in range(DEPTH):
        following: list[Value] = []
        for value in front:
            if value is asked or (isinstance(value, Opaque) and value.qname == QUEUE and value.anchor == asked.anchor):
                return value
            if id(value) not in seen:
                seen.add(id(value))
                following += parts(value)
        front = following
    return None


def parts(value: Value) -> list[Value]:
    """What a value holds that its code can use."""
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, ListValue):
        return list(value.items)
    if isinstance(value, DictValue):
        return list(value.items.values())
    if isinstance(value, BoundMethod):
        return [value.self, value.func]
    if isinstance(value, Partial):
        return [value.func, *value.args, *value.kwargs.values()]
    if isinstance(value, Instance):
        return list(value.attrs.values())
    if isinstance(value, FunctionValue):
        names = sorted({node.id for node in ast.walk(value.node) if isinstance(node, ast.Name)})
        return [scope.vars[name] for name in names if (scope := value.closure.find(name)) is not None and name in scope.vars]
    return []


def attribute(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``process.exitcode`` while it runs is None; its pid and name are its own."""
    if args[1] == "exitcode":
        return None
    if args[1] in ("pid", "ident", "native_id"):
        return interp.unknown(site.text, "environment", site, hint="int")
    return NotImplemented


NAMES = ("Queue", "SimpleQueue", "JoinableQueue", "LifoQueue", "PriorityQueue")
ENTRIES: dict[str, Any] = {f"{QUEUE}.{name}": handler for names, handler in (
    (("put", "put_nowait"), put), (("get", "get_nowait"), get), (("task_done", "join", "close", "join_thread", "cancel_join_thread"), nothing),
    (("qsize",), unknown("data", "int")), (("empty", "full"), unknown("data", "bool"))) for name in names}  # fmt: skip
for _package in ("queue", "multiprocessing", "torch.multiprocessing", "multiprocessing.queues", "torch.multiprocessing.Context"):
    ENTRIES |= {f"{_package}.{name}": queue for name in NAMES}
for _kind in (PROCESS, THREAD):
    ENTRIES[f"{_kind}.is_alive"] = constant(True)
    ENTRIES[f"{_kind}.__getattr__"] = attribute
BASES: dict[str, tuple[str, ...]] = {}
