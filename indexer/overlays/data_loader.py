"""torch.utils.data.DataLoader: its options, what one batch is, and the hops that each batch takes.

The constructor remembers; iterating yields a :class:`Sequence` of batches and a ``fetch`` event that holds the hops. Element
values come from evaluating the data set's own ``__getitem__`` or ``__iter__`` once, inside a ``worker`` scope.
"""

from __future__ import annotations

import math
from typing import Any

from cgx.indexer.interpreter.batches import placed
from cgx.indexer.interpreter.recorder import made_at
from cgx.indexer.interpreter.trace import Event, ScopeNode
from cgx.indexer.interpreter.values import (
    MISSING,
    Alternatives,
    External,
    Instance,
    ListValue,
    Native,
    Opaque,
    Sequence,
    TensorValue,
    Unknown,
    Value,
)
from cgx.indexer.overlays.arguments import bind, flag, items_of
from cgx.indexer.overlays.data_hops import dataset_hops, events_inside, function_anchor
from cgx.indexer.overlays.data_values import collated, fresh, from_host, pinned

AUTHOR = "overlays.data_loader"
LOADER = "torch.utils.data.DataLoader"
ITERATOR = "torch.utils.data.iterator.DataLoader"  # what iterating a loader gives
INNER = "cgx.loader"  # on an instance of a subclass of the loader
ITERABLE = ("IterableDataset", "StreamingDataset")  # classes of libraries
ORDER = {hop: place for place, hop in enumerate(("read", "decode", "transform"))}
WORKER = "torch.utils.data.worker"
SIGNATURE = (
    "dataset batch_size shuffle sampler batch_sampler num_workers collate_fn pin_memory drop_last timeout worker_init_fn "
    "multiprocessing_context generator"
)


def construct(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Remember the options with torch's defaults."""
    bound = bind(SIGNATURE, args, kwargs)
    attrs = {"batch_size": 1, "shuffle": False, "num_workers": 0, "pin_memory": False, "drop_last": False, **bound}
    if isinstance(attrs["num_workers"], Unknown):
        interp.note_unknown(attrs["num_workers"])  # how many processes fetch
    attrs.setdefault("sampler", None)
    attrs["cgx.sampler"] = attrs["sampler"]
    if attrs["sampler"] is None and attrs.get("batch_sampler") is None:
        name = "RandomSampler" if flag(attrs["shuffle"]) else "SequentialSampler"
        attrs["sampler"] = Opaque(f"torch.utils.data.{name}", {"data_source": attrs.get("dataset")}, None)
    return Opaque(LOADER, attrs, made_at(interp, site))


def initialise(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``super().__init__(dataset, ...)`` in a subclass: what a loader of its own would be is kept on the instance."""
    loader = construct(interp, site, args[1:], kwargs)
    interp.trail.set_item(args[0].attrs, INNER, loader)
    for name in (
        "dataset",
        "batch_size",
        "num_workers",
        "pin_memory",
        "drop_last",
        "collate_fn",
        "sampler",
        "batch_sampler",
    ):
        interp.trail.set_item(args[0].attrs, name, loader.attrs.get(name))
    interp.trail.set_item(args[0].attrs, "_iterator", None)
    return None


def inner(loader: Value) -> Value:
    """The loader behind an instance of a subclass; others stay."""
    return loader.attrs.get(INNER, loader) if isinstance(loader, Instance) else loader


def workers_of(loader: Opaque) -> int | None:
    count = loader.attrs.get("num_workers", 0)
    return count if isinstance(count, int) else 0 if count is None else None


def has_workers(loader: Opaque) -> bool | None:
    """Whether other processes fetch: their number need not be known (``num_workers=os.cpu_count()``)."""
    count = loader.attrs.get("num_workers", 0)
    if isinstance(count, Unknown) and count.least:
        return True
    workers = workers_of(loader)
    return None if workers is None else workers > 0


def iterate(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``iter(loader)`` or ``for batch in loader``."""
    loader = inner(args[0])
    if not isinstance(loader, Opaque):
        return loader  # an iterator already
    workers = workers_of(loader)
    scope = ScopeNode(
        anchor=site.anchor, text=site.text, qname=WORKER, data={"workers": workers, "loader": loader.anchor}
    )
    with interp.inside(scope):
        batch = one_batch(interp, loader, site)
    loader.attrs["cgx.seen"] = events_inside(scope)
    from_host(batch)
    pin = flag(loader.attrs.get("pin_memory"))
    if pin and interp.flags.get("accelerator", "cuda") == "cuda":
        pinned(batch)
    if loader.attrs.get("cgx.on_start") is not None:
        interp.call(loader.attrs["cgx.on_start"], [], {}, site)
    interp.emit(fetch_event(loader, site, opened=True))
    found = Sequence(batch, length(interp, site, [loader], {}), ITERATOR, site.anchor, {"loader": loader})
    found.attrs["on_next"] = Native(
        f"{LOADER}.__next__", lambda interp, at, args, kwargs: advance(interp, at, [found], {})
    )
    return found


def fetch_event(loader: Opaque, site: Any, opened: bool = False) -> Event:
    """One batch is taken (or, ``opened``, the loader is set to work): its hops, and how many workers take them."""
    data = {"loader": loader, "hops": hops(loader), "workers": workers_of(loader), "opened": opened}
    return Event(site.anchor, site.text, kind="fetch", author=AUTHOR, data=data)


def delivered(interp: Any, loader: Opaque, batch: Value, site: Any) -> Value:
    """A framework's loader puts its batches on the device itself: the copies hang below the fetch, once a batch."""
    target = loader.attrs.get("cgx.to_device")
    if target is None:
        return batch
    from cgx.indexer.overlays.lifecycle import delivered as moved

    arrived = moved(interp, Sequence(batch, None, attrs={"loader": loader}), batch, target[1], site, AUTHOR)
    return placed(arrived) if isinstance(arrived, Unknown) else arrived


def one_batch(interp: Any, loader: Opaque, site: Any) -> Value:
    element = likely(dataset_element(interp, loader.attrs.get("dataset"), site), loader.attrs.get("collate_fn") is None)
    batch = loader.attrs.get("batch_size")
    custom = loader.attrs.get("collate_fn")
    if batch is None and loader.attrs.get("batch_sampler") is None:
        return element if custom is None else interp.call(custom, [element], {}, site)
    sampler = loader.attrs.get("batch_sampler")
    if isinstance(sampler, Opaque):
        batch = sampler.attrs.get("batch_size", batch)
    if custom is None:
        return collated(element, batch)
    count = batch if isinstance(batch, int) and batch <= 8 else 2
    listed = ListValue([element] * count, open=count != batch)
    return interp.call(custom, [listed], {}, site)


def likely(element: Value, by_default: bool) -> Value:
    """Of a data set that may give an element from its cache, the one that it makes; None can not be collated by default."""
    if not isinstance(element, Alternatives):
        return element
    known = [(text, one) for text, one in element.options if not isinstance(one, Unknown) and not (by_default and one is None)]
    if not known or len(known) == len(element.options):
        return element
    return known[0][1] if len(known) == 1 else Alternatives(tuple(known), element.anchor)


def dataset_element(interp: Any, dataset: Value, site: Any) -> Value:
    """One element: a modelled data set knows it, a user's is evaluated with an unknown index."""
    if isinstance(dataset, Opaque):
        known = dataset.attrs.get("cgx.element", MISSING)
        if known is not MISSING:
            return known(interp, site) if callable(known) else known
        inside = dataset.attrs.get("dataset", dataset.attrs.get("datasets"))
        if inside is not None:
            first = (items_of(inside) or [inside])[0]
            return dataset_element(interp, first, site)
    if isinstance(dataset, Instance):
        getter = dataset.cls.lookup("__getitem__")
        if getter is not MISSING:
            index = interp.unknown("index", "data", site, hint="int")
            return interp.call(interp.getattr(dataset, "__getitem__", site), [index], {}, site)
        if dataset.cls.lookup("__iter__") is not MISSING:
            return first_of(interp.iterate(dataset, site), interp, site)
    if dataset is not None and not isinstance(dataset, Opaque | Instance | Unknown):
        return first_of(interp.iterate(dataset, site), interp, site)
    return interp.unknown(f"elements of {getattr(dataset, 'name', '') or 'the data set'}", "data", site)


def first_of(listed: Value, interp: Any, site: Any) -> Value:
    if isinstance(listed, list) and listed:
        return listed[0]
    if isinstance(listed, Sequence):
        return listed.element
    return interp.unknown("an element of the data set", "data", site)


def length(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Batches of an epoch: samples, divided among the ranks by a distributed sampler, over the batch size."""
    loader = inner(args[0])
    if isinstance(loader, Sequence):
        return loader.length
    batch, drop = loader.attrs.get("batch_size"), flag(loader.attrs.get("drop_last"), False)
    sampler = loader.attrs.get("cgx.sampler")
    samples = sized(interp, sampler if sampler is not None else loader.attrs.get("dataset"), site)
    if not isinstance(samples, int):
        return interp.unknown(
            site.text if site.text.startswith("len(") else f"len({loader.name or 'loader'})", "data", site, hint="int"
        )
    shards = loader.attrs.get("cgx.shards", 1)
    if isinstance(shards, int) and shards > 1:
        samples = math.ceil(samples / shards)
    if batch is None:
        return samples
    if not isinstance(batch, int) or batch < 1 or drop is None:
        return interp.unknown(site.text, "data", site, hint="int")
    return samples // batch if drop else math.ceil(samples / batch)


def sized(interp: Any, value: Value, site: Any) -> Value:
    """``len`` of a data set or sampler; None where it is not known. Asks the object's own ``__len__``."""
    if isinstance(value, Opaque):
        known = value.attrs.get("cgx.length")
        if isinstance(known, int):
            return known
        if "cgx.world" in value.attrs:
            total = sized(interp, value.attrs.get("dataset"), site)
            world = value.attrs["cgx.world"]
            if isinstance(total, int) and isinstance(world, int) and world > 0:
                return total // world if value.attrs.get("drop_last") is True else math.ceil(total / world)
            return None
        inside = value.attrs.get("data_source", value.attrs.get("dataset", value.attrs.get("indices")))
        return sized(interp, inside, site) if inside is not None else None
    if isinstance(value, Instance) and value.cls.lookup("__len__") is not MISSING:
        return interp.call(interp.getattr(value, "__len__", site), [], {}, site)
    if isinstance(value, TensorValue):
        return value.shape[0] if value.shape and isinstance(value.shape[0], int) else None
    listed = items_of(value)
    return len(listed) if listed is not None else None


def hops(loader: Opaque) -> list[dict[str, Any]]:
    """The hops of one batch in order, as rows of ``data_path`` without anchors' text (``anchor`` is an Anchor)."""
    attrs, apart = loader.attrs, has_workers(loader)
    runs: dict[str, Any] = {"workers": workers_of(loader), "asynchronous": apart, "blocks_step": None if apart is None else not apart}
    sampler = attrs.get("cgx.sampler") or attrs.get("batch_sampler")
    chosen = sampler if sampler is not None else attrs.get("sampler")
    rows: list[dict[str, Any]] = [
        {"hop": "sample", "by": getattr(chosen, "qname", "") or getattr(getattr(chosen, "cls", None), "qname", "sampler"),
         "anchor": getattr(sampler, "anchor", None) or getattr(sampler, "constructed_at", None) or loader.anchor,
         "workers": 0, "asynchronous": False, "blocks_step": runs["blocks_step"]},
    ]  # fmt: skip
    drawn = sampler.attrs.get("sampler") if isinstance(sampler, Opaque) else None  # what a batch sampler groups
    if isinstance(drawn, Opaque | Instance):
        rows.insert(0, {**rows[0], "by": drawn.qname if isinstance(drawn, Opaque) else drawn.cls.qname,
                        "anchor": (drawn.anchor if isinstance(drawn, Opaque) else drawn.constructed_at) or rows[0]["anchor"]})  # fmt: skip
    if iterable(attrs.get("dataset")):
        rows = []
    seen = attrs.get("cgx.seen") or []
    inside = dataset_hops(attrs.get("dataset"), loader.anchor)
    if any(row["hop"] == "read" for row in seen):  # the data set's own reads stand for the guess that it reads
        inside = [row for row in inside if row["hop"] != "read"]
    inside = sorted([*seen, *inside], key=lambda row: ORDER.get(row["hop"], len(ORDER)))
    rows += [{**row, **runs} for row in inside]
    if attrs.get("batch_size") is not None or attrs.get("batch_sampler") is not None or attrs.get("collate_fn") is not None:
        rows.append({"hop": "collate", **collator(loader), **runs})  # else the data set gives whole batches
    if apart is not False:
        rows.append({"hop": "worker queue", "by": LOADER, "anchor": loader.anchor, **runs})
        factor = attrs.get("prefetch_factor") or 2
        rows.append({"hop": "prefetch", "by": f"DataLoader prefetch_factor{f'={factor}' if isinstance(factor, int) else ''}", "anchor": loader.anchor, **runs})
    if flag(attrs.get("pin_memory")):
        threaded = apart is not False
        rows.append({"hop": "pin", "by": "DataLoader pin_memory thread" if threaded else "DataLoader pin_memory", "anchor": loader.anchor,
                     "workers": 1 if threaded else 0, "asynchronous": threaded, "blocks_step": not threaded})  # fmt: skip
    return rows


def iterable(dataset: Value) -> bool:
    """A data set that says itself what comes next: no sampler does."""
    if isinstance(dataset, Opaque):
        return dataset.qname.endswith("IterableDataset") or bool(dataset.attrs.get("streaming"))
    return isinstance(dataset, Instance) and any(isinstance(cls, External) and cls.tail in ITERABLE for cls in dataset.cls.mro)


def collator(loader: Opaque) -> dict[str, Any]:
    """Who makes batches of samples. A trainer's loader stands at the trainer's line: there the user's own collator says more."""
    custom, default = loader.attrs.get("collate_fn"), loader.attrs.get("cgx.collate")
    if custom is None:
        return {"by": default or "default_collate", "anchor": loader.anchor}
    held = custom.attrs.get("cgx.name") if isinstance(custom, Opaque) else None
    name = held or getattr(custom, "qname", "") or getattr(getattr(custom, "cls", None), "qname", "") or "collate_fn"
    return {"by": name, "anchor": (function_anchor(custom) if default else None) or loader.anchor}


def advance(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``next(iterator)``, or one round of a loop: one batch, taken here."""
    found = args[0]
    loader = found.attrs["loader"]
    if loader.attrs.get("cgx.on_batch") is not None:
        interp.call(loader.attrs["cgx.on_batch"], [], {}, site)
    with interp.inside(fetch_event(loader, site), keep=True):
        return delivered(interp, loader, fresh(found.element), site)


ENTRIES: dict[str, Any] = {
    LOADER: construct,
    "torch.utils.data.dataloader.DataLoader": construct,
    "torchdata.stateful_dataloader.StatefulDataLoader": construct,
    f"{LOADER}.__init__": initialise,
    f"{LOADER}.__iter__": iterate,
    f"{LOADER}._get_iterator": iterate,
    f"{LOADER}.__len__": length,
    f"{LOADER}.state_dict": lambda interp, site, args, kwargs: Opaque(f"{LOADER}.state_dict", {}, site.anchor),
}
STATEFUL = "torchdata.stateful_dataloader.StatefulDataLoader"
BASES: dict[str, tuple[str, ...]] = {STATEFUL: (LOADER,), "torch.utils.data.dataloader.DataLoader": (LOADER,)}
SIGNATURES: dict[str, str] = dict.fromkeys((LOADER, f"{LOADER}.__init__"), f"{SIGNATURE} prefetch_factor persistent_workers pin_memory_device in_order")
SIGNATURES |= dict.fromkeys((STATEFUL, f"{STATEFUL}.__init__"), f"{SIGNATURES[LOADER]} snapshot_every_n_steps")
