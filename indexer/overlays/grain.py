"""Grain (0.2; members as of 0.2.18): pipelines of data sets, evaluated once for an element; threads that prefetch.

A pipeline is an object that remembers its parent and what it adds. Iterating one evaluates the source and every function of
the way once, inside a worker scope where a thread or process runs it, and yields a fetch for each element taken.
"""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.stdlib.support import nothing, unknown
from cgx.indexer.interpreter.trace import Event, ScopeNode
from cgx.indexer.interpreter.values import (
    MISSING,
    DictValue,
    Instance,
    ListValue,
    Native,
    Opaque,
    Sequence,
    TensorValue,
    Value,
)
from cgx.indexer.overlays.arguments import bind, items_of
from cgx.indexer.overlays.data_hops import events_inside, first_statement, function_anchor
from cgx.indexer.overlays.data_loader import WORKER
from cgx.indexer.overlays.data_values import fresh

AUTHOR = "overlays.grain"
ITER, MAP = "grain.IterDataset", "grain.MapDataset"
ITERATOR = "grain.iterator.DatasetIterator"
PREFIXES = ("grain", "grain.python", "grain.experimental", "grain.python.experimental")
THREADS, PROCESSES = ("ThreadPrefetchIterDataset",), ("MultiprocessPrefetchIterDataset",)
PACKERS = ("ConcatThenSplitIterDataset", "FirstFitPackIterDataset", "BestFitPackIterDataset")
SHUFFLES = ("WindowShuffleIterDataset", "WindowShuffleMapDataset", "InterleaveIterDataset")


def added(op: str, qname: str, signature: str) -> Any:
    """A step of a pipeline: the parent, what it does, where."""

    def make(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        return Opaque(qname, {**bind(signature, args, kwargs), "cgx.op": op}, site.anchor)

    return make


def source(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Opaque(MAP, {"parent": args[-1] if args else kwargs.get("source"), "cgx.op": "source"}, site.anchor)


def parent_of(node: Opaque) -> Value:
    held = node.attrs.get("parent")
    listed = items_of(held) if not isinstance(held, Opaque | Instance) else None
    return listed[0] if listed else held


def element_of(interp: Any, node: Value, site: Any) -> Value:
    """One element, by evaluating the way from the source."""
    if isinstance(node, Instance):
        return element_of_source(interp, node, site)
    if not isinstance(node, Opaque) or "cgx.op" not in node.attrs:
        return interp.unknown("an element of the data set", "data", site)
    op, before = node.attrs["cgx.op"], element_of(interp, parent_of(node), site)
    function = node.attrs.get("fn", node.attrs.get("batch_fn"))
    if op in ("map", "random_map") and function is not None:
        extra = [interp.unknown("rng", "random", site)] if op == "random_map" else []
        return interp.attempt(lambda: interp.call(function, [before, *extra], {}, site))
    if op == "batch":
        size = node.attrs.get("batch_size")
        rows = ListValue(
            [before] * (size if isinstance(size, int) and size <= 4 else 1), open=not isinstance(size, int) or size > 4
        )
        return interp.attempt(lambda: interp.call(function, [rows], {}, site)) if function is not None else rows
    if op == "pack":
        return packed(node)
    return before


def element_of_source(interp: Any, node: Instance, site: Any) -> Value:
    if node.cls.lookup("__iter__") is not MISSING:
        iterator = interp.call(interp.getattr(node, "__iter__", site), [], {}, site)
        return interp.attempt(lambda: interp.next(iterator, site))
    return interp.attempt(
        lambda: interp.call(
            interp.getattr(node, "__getitem__", site), [interp.unknown("index", "data", site, hint="int")], {}, site
        )
    )


def packed(node: Opaque) -> Value:
    """Rows of fixed length with segment ids and positions, as NumPy arrays."""
    lengths = node.attrs.get("length_struct")
    if not isinstance(lengths, DictValue):
        return DictValue(open=True)
    items: dict[Any, Value] = {}
    for key, length in lengths.items.items():
        for name in (key, f"{key}_segment_ids", f"{key}_positions"):
            items.setdefault(
                name, TensorValue((length if isinstance(length, int) else None,), "int64", "cpu", library="numpy")
            )
    return DictValue(items)


def chain(node: Value) -> list[Opaque]:
    """Steps of a pipeline from the source on."""
    found: list[Opaque] = []
    while isinstance(node, Opaque) and "cgx.op" in node.attrs:
        found.append(node)
        node = parent_of(node)
    return found[::-1]


def hops(node: Opaque, inside: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The data path of one element: what was seen inside, and what each step is."""
    rows = list(inside)
    for step in chain(node):
        op, function = step.attrs["cgx.op"], step.attrs.get("fn")
        if op in ("map", "random_map") and function_anchor(function) is not None:
            rows.append(
                {"hop": "transform", "by": getattr(function, "qname", "") or "map", "anchor": first_statement(function)}
            )
        elif op == "pack":
            rows.append(
                {
                    "hop": "transform",
                    "by": step.qname if step.qname not in (ITER, MAP) else "packing",
                    "anchor": step.anchor,
                }
            )
        elif op == "shuffle":
            rows.append({"hop": "sample", "by": "shuffle", "anchor": step.anchor})
        elif op == "batch":
            rows.append({"hop": "collate", "by": "grain.IterDataset.batch", "anchor": step.anchor})
        elif op in ("thread", "process"):
            rows.append({"hop": "prefetch", "by": f"grain {op} prefetch", "anchor": step.anchor})
    return rows


def iterate(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``iter(pipeline)``."""
    node = args[0]
    if not isinstance(node, Opaque):
        return NotImplemented
    ahead = [step for step in chain(node) if step.attrs["cgx.op"] in ("thread", "process")]
    workers = 1 if ahead else 0
    scope = ScopeNode(anchor=site.anchor, text=site.text, qname=WORKER, data={"workers": workers})
    with interp.inside(scope):
        element = element_of(interp, node, site)
    rows = [
        {**row, "workers": workers, "asynchronous": bool(ahead), "blocks_step": not ahead}
        for row in hops(node, events_inside(scope))
    ]
    mechanism = "prefetch thread" if ahead and ahead[-1].attrs["cgx.op"] == "thread" else "worker processes"
    data = {
        "loader": node,
        "hops": rows,
        "workers": workers,
        "mechanism": mechanism,
        "prefetch": ahead[-1].anchor if ahead else None,
    }

    def advance(i: Any, at: Any, a: list[Value], k: dict[str, Value]) -> Value:
        i.emit(Event(at.anchor, at.text, kind="fetch", author=AUTHOR, data=dict(data)))
        return fresh(element)

    length = interp.unknown("len(dataset)", "data", site, hint="int")
    return Sequence(
        element, length, ITERATOR, site.anchor, {"loader": node, "on_next": Native(f"{ITERATOR}.__next__", advance)}
    )


def options(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Opaque("grain.ReadOptions", dict(kwargs), site.anchor)


METHODS = {
    "map": ("map", "parent fn"), "random_map": ("random_map", "parent fn"), "map_with_index": ("random_map", "parent fn"), "filter": ("filter", "parent fn"),
    "batch": ("batch", "parent batch_size"), "shuffle": ("shuffle", "parent"), "repeat": ("repeat", "parent"), "seed": ("seed", "parent"),
    "slice": ("slice", "parent"), "__getitem__": ("slice", "parent key"), "mp_prefetch": ("process", "parent"), "to_iter_dataset": ("iter", "parent"),
}  # fmt: skip
ENTRIES: dict[str, Any] = {}
for _kind in (ITER, MAP):
    for _name, (_op, _signature) in METHODS.items():
        ENTRIES[f"{_kind}.{_name}"] = added(_op, ITER if _name == "to_iter_dataset" else _kind, _signature)
    ENTRIES[f"{_kind}.__init__"] = nothing
    ENTRIES[f"{_kind}.__iter__"] = iterate
ENTRIES[f"{MAP}.__len__"] = unknown("data", "int")
del ENTRIES[f"{ITER}.__getitem__"]
for _prefix in PREFIXES:
    ENTRIES[f"{_prefix}.MapDataset.source"] = source
    ENTRIES[f"{_prefix}.MapDataset.mix"] = ENTRIES[f"{_prefix}.MapDataset.concatenate"] = added(
        "mix", MAP, "parent weights"
    )
    ENTRIES[f"{_prefix}.IterDataset.mix"] = added("mix", ITER, "parent weights")
    ENTRIES[f"{_prefix}.ReadOptions"] = options
    ENTRIES[f"{_prefix}.DatasetIterator.__init__"] = nothing
    for _name in THREADS:
        ENTRIES[f"{_prefix}.{_name}"] = added("thread", ITER, "parent")
    for _name in PROCESSES:
        ENTRIES[f"{_prefix}.{_name}"] = added("process", ITER, "parent")
    for _name in PACKERS:
        ENTRIES[f"{_prefix}.{_name}"] = added("pack", ITER, "parent")
    for _name in SHUFFLES:
        ENTRIES[f"{_prefix}.{_name}"] = added("shuffle", ITER, "parent")
ENTRIES[f"{ITERATOR}.close"] = ENTRIES[f"{ITERATOR}.get_state"] = ENTRIES[f"{ITERATOR}.set_state"] = nothing
BASES: dict[str, tuple[str, ...]] = {
    "grain.python.IterDataset": (ITER,),
    "grain.python.MapDataset": (MAP,),
    ITER: ("grain.python.IterDataset",),
    MAP: ("grain.python.MapDataset",),
}
MEMBERS: dict[str, frozenset[str]] = {  # what an IterDataset has: it is addressed by no index
    ITER: frozenset((*(name for name in METHODS if name != "__getitem__"), "__init__", "__iter__", "__init_subclass__", "apply", "mix", "parents", "pipe", "prefetch",
                     "_parent", "_default_seed", "_element_spec"))
}  # fmt: skip
