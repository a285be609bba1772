"""Hugging Face datasets: reading, mapping, streaming. Elements are dicts that are not known key by key."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.stdlib.support import first, unknown
from cgx.indexer.interpreter.values import DictValue, Native, Opaque, Sequence, Value
from cgx.indexer.overlays.arguments import argument_text, bind, flag

AUTHOR = "overlays.hf_datasets"
DATASET, STREAM = "datasets.Dataset", "datasets.IterableDataset"


def element(interp: Any, site: Any) -> Value:
    return DictValue(open=True)


def load(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``load_dataset``: with a split one data set, else a dict of them."""
    bound = bind("path name data_dir data_files split", args, kwargs)
    streaming = flag(bound.get("streaming"), False)
    qname = STREAM if streaming else DATASET
    reader = "datasets.IterableDataset (streaming)" if streaming else "datasets.Dataset (memory-mapped Arrow)"
    attrs: dict[str, Value] = {
        "cgx.element": element,
        "cgx.hops": [{"hop": "read", "by": reader}],
        "name": bound.get("path"),
    }
    if bound.get("split") is not None:
        return Opaque(qname, attrs, site.anchor)
    return Opaque("datasets.DatasetDict", {**attrs, "cgx.kind": qname}, site.anchor)


def split(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    whole = args[0]
    if isinstance(args[1] if len(args) > 1 else None, str):
        return Opaque(str(whole.attrs.get("cgx.kind", DATASET)), dict(whole.attrs), whole.anchor)
    return element(interp, site)


def mapped(name: str) -> Any:
    """``map``, ``filter``, ``shuffle``: for a stream a hop of each element, for a table work done once before the job."""

    def call(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        held = args[0]
        rows = list(held.attrs.get("cgx.hops", ()))
        streams = held.qname == STREAM or held.attrs.get("cgx.kind") == STREAM
        if name in ("map", "with_transform", "set_transform") and (streams or name != "map"):
            rows.append({"hop": "transform", "by": argument_text(site, 0, "function") or name, "anchor": site.anchor})
        elif name == "shuffle" and streams:
            rows.append({"hop": "sample", "by": "datasets.IterableDataset.shuffle", "anchor": site.anchor})
        return Opaque(held.qname, {**held.attrs, "cgx.hops": rows}, held.anchor)

    return call


def two(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Opaque("datasets.DatasetDict", {**args[0].attrs, "cgx.kind": args[0].qname}, args[0].anchor)


def iterate(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    held = args[0]
    if not isinstance(held, Opaque):
        return held
    by = held.attrs["cgx.hops"][0]["by"] if held.attrs.get("cgx.hops") else held.qname

    def advance(i: Any, at: Any, a: list[Value], k: dict[str, Value]) -> Value:
        i.event("data", at, author=AUTHOR, hop="read", by=by)
        return element(i, at)

    count = interp.unknown(f"len({held.name or 'dataset'})", "data", site, hint="int")
    return Sequence(
        element(interp, site),
        count,
        "datasets.iterator",
        site.anchor,
        {"on_next": Native("datasets.iterator.__next__", advance)},
    )


def item(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``data[i]``: a row is read; ``data["text"]`` is a column."""
    key = args[1] if len(args) > 1 else None
    if isinstance(key, str):
        return interp.unknown(site.text, "data", site)
    hops = args[0].attrs.get("cgx.hops") if isinstance(args[0], Opaque) else None
    interp.event("data", site, author=AUTHOR, hop="read", by=hops[0]["by"] if hops else DATASET)
    return element(interp, site)


ENTRIES: dict[str, Any] = {
    "datasets.load_dataset": load,
    "datasets.load.load_dataset": load,
    "datasets.load_from_disk": load,
    "datasets.DatasetDict.__getitem__": split,
    "datasets.DatasetDict.map": mapped("map"),
    "datasets.DatasetDict.filter": mapped("filter"),
    "datasets.DatasetDict.shuffle": mapped("shuffle"),
    f"{DATASET}.train_test_split": two,
    "datasets.distributed.split_dataset_by_node": first,
    f"{STREAM}.set_epoch": lambda interp, site, args, kwargs: None,
    f"{STREAM}.state_dict": lambda interp, site, args, kwargs: Opaque("datasets.state", {}, site.anchor),
    f"{STREAM}.load_state_dict": lambda interp, site, args, kwargs: None,
}
for _kind in (DATASET, STREAM):
    for _name in ("map", "filter", "shuffle", "with_transform", "set_transform"):
        ENTRIES[f"{_kind}.{_name}"] = mapped(_name)
    for _name in (
        "select",
        "rename_column",
        "remove_columns",
        "with_format",
        "set_format",
        "take",
        "skip",
        "cast_column",
        "select_columns",
        "shard",
    ):
        ENTRIES[f"{_kind}.{_name}"] = first
    ENTRIES[f"{_kind}.__iter__"] = iterate
    ENTRIES[f"{_kind}.__len__"] = unknown("data", "int")
ENTRIES[f"{DATASET}.__getitem__"] = item
BASES: dict[str, tuple[str, ...]] = {}
