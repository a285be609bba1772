"""webdataset's pipelines: stages of a ``DataPipeline``, or chained on a ``WebDataset``; ``WebLoader``.

Stages are steps of the data path, and say what a batch holds. Read in webdataset 1.0.2 (``pipeline.py``, ``compat.py``, ``filters.py``).
"""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.stdlib.support import first
from cgx.indexer.interpreter.values import (
    DictValue,
    FunctionValue,
    Instance,
    Opaque,
    Partial,
    TensorValue,
    Unknown,
    Value,
)
from cgx.indexer.overlays.arguments import items_of
from cgx.indexer.overlays.data_hops import callable_of
from cgx.indexer.overlays.data_loader import LOADER

W = "webdataset"
PIPELINE = f"{W}.DataPipeline.IterableDataset"
STAGES: dict[str, str] = {
    "tarfile_to_samples": "read", "tarfile_samples": "read", "shuffle": "sample", "detshuffle": "sample", "decode": "decode", "map": "transform",
    "map_dict": "transform", "map_tuple": "transform", "batched": "collate", "xdecode": "decode", "WebDataset": "read", "unbatched": "", "listed": "",
    "unlisted": "", "log_keys": "", "rsample": "", "extract_keys": "", "info": "", "SimpleShardList": "", "ResampledShards": "", "split_by_node": "",
    "split_by_worker": "", "select": "", "rename": "", "to_tuple": "", "associate": "", "slice": "", "non_empty": "", "shardlists": "", "rename_keys": "",
}  # fmt: skip
NAMES = (("shuffle", "sample"), ("bucket", "sample"), ("to_samples", "read"), ("decode", "decode"), ("batch", "collate"))  # stages of the job's own


def stage(name: str) -> Any:
    def make(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        return Opaque(f"{W}.{name}", {"args": tuple(args), "kwargs": DictValue(dict(kwargs))}, site.anchor)

    return make


def own_name(value: Value) -> str:
    """What a stage of the job's own is called."""
    if isinstance(value, Instance):
        return value.cls.name
    while isinstance(value, Partial):
        value = value.func
    return value.name if isinstance(value, FunctionValue) else ""


def hop_of(one: Value) -> dict[str, Any] | None:
    if isinstance(one, Opaque) and one.qname.startswith(f"{W}."):
        hop = STAGES.get(one.qname.removeprefix(f"{W}."))
        return {"hop": hop, "by": one.qname, "anchor": one.anchor} if hop else None
    name = own_name(one)
    hop = next((hop for word, hop in NAMES if word in name.lower()), None)
    found = callable_of(one)
    anchor = one.constructed_at if isinstance(one, Instance) else None
    if hop is None or (anchor is None and found is None):
        return None
    return {"hop": hop, "by": name, "anchor": anchor} if anchor is not None or found is None else {"hop": hop, "by": name, "anchor": anchor_of(found)}


def anchor_of(function: FunctionValue) -> Any:
    from cgx.model.anchors import Anchor

    return Anchor(function.path, function.symbol, function.node.lineno)


def pipeline(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``DataPipeline(*stages)``."""
    return of_stages([one for arg in args for one in (items_of(arg) or [arg])], site.anchor)


def of_stages(stages: list[Value], anchor: Any, attrs: dict[str, Value] | None = None) -> Opaque:
    hops = [row for row in map(hop_of, stages) if row is not None]
    if not any(row["hop"] == "read" for row in hops):
        hops.insert(0, {"hop": "read", "by": f"{W}.DataPipeline", "anchor": anchor})
    return Opaque(PIPELINE, {**(attrs or {}), "cgx.hops": tuple(hops), "cgx.element": lambda interp, at: element(interp, stages, at), "stages": tuple(stages)}, anchor)


def web(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``WebDataset(urls)``: a pipeline that begins with reading the shards, to which methods add stages."""
    return of_stages([stage("WebDataset")(interp, site, args, kwargs)], site.anchor)


def chained(name: str) -> Any:
    """``data.decode("rgb")``: the pipeline with one stage more."""

    def call(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        before = args[0]
        added = args[1:] if name == "compose" else [stage(name)(interp, site, args[1:], kwargs)]
        return of_stages([*before.attrs["stages"], *added], before.anchor, before.attrs)

    return call


def element(interp: Any, stages: list[Value], site: Any) -> Value:
    """A sample as the stages make it: what ``map_dict`` names, in the order of ``to_tuple``, as ``map_tuple`` turns it; batched, tensors."""
    made: dict[str, Value] = {}
    listed: list[Value] | None = None
    known = batched = False
    sample = Unknown("sample", "data", site.anchor)
    for one in stages:
        if not isinstance(one, Opaque):
            continue
        name, given = one.qname.removeprefix(f"{W}."), list(one.attrs.get("args", ()))
        if name == "map_dict":
            for key, function in one.attrs["kwargs"].items.items():
                made[str(key)] = interp.attempt(lambda function=function: interp.call(function, [sample], {}, site))
        elif name == "to_tuple":
            keys = [key for arg in given for key in str(arg).split()]
            listed, known = [made.get(key, sample) for key in keys], all(key in made for key in keys)
        elif name == "map_tuple" and listed is not None:
            for place, function in enumerate(given[: len(listed)]):
                if function is not None:
                    listed[place] = interp.attempt(lambda function=function, held=listed[place]: interp.call(function, [held], {}, site))
            known = known or any(isinstance(value, TensorValue) for value in listed)
        elif name == "batched":
            batched = True
    if listed is not None and known:
        return tuple(tensor_of(value, batched) for value in listed)
    if not made or listed is not None:
        return interp.unknown("sample", "data", site, hint="batch")
    return DictValue({key: tensor_of(value, batched) for key, value in made.items()})


def tensor_of(value: Value, batched: bool) -> Value:
    if isinstance(value, TensorValue) and value.shape is not None and batched:
        return TensorValue((None, *value.shape), value.dtype, "cpu", pinned=False)
    if isinstance(value, TensorValue):
        return TensorValue(None, value.dtype, "cpu", pinned=False)
    return TensorValue(None, None, "cpu", pinned=False) if batched else value


def with_epoch(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """So many samples of a worker are an epoch."""
    count = args[1] if len(args) > 1 else kwargs.get("nsamples")
    return Opaque(args[0].qname, {**args[0].attrs, "cgx.epoch": count}, args[0].anchor)


def loader_epoch(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """So many batches of the loader are an epoch."""
    data, count = args[0].attrs.get("dataset"), args[1] if len(args) > 1 else kwargs.get("nsamples", kwargs.get("nbatches"))
    if not isinstance(data, Opaque) or data.qname != PIPELINE or args[0].attrs.get("batch_size") is not None:
        return args[0]
    data = Opaque(PIPELINE, {**data.attrs, "cgx.length": count if isinstance(count, int) else None}, data.anchor)
    return Opaque(args[0].qname, {**args[0].attrs, "dataset": data}, args[0].anchor, args[0].name)


def loader(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``WebLoader(dataset, ...)``: torch's loader with the same options; each worker goes through its own epoch."""
    data = args[0] if args else kwargs.get("dataset")
    if isinstance(data, Opaque) and data.qname == PIPELINE:
        workers, count = kwargs.get("num_workers", 0), data.attrs.get("cgx.epoch")
        known = isinstance(workers, int) and isinstance(count, int)
        data = Opaque(PIPELINE, {**data.attrs, "cgx.length": count * max(workers, 1) if known else None}, data.anchor)
    made = interp.call_external(LOADER, [data, *args[1:]], {key: value for key, value in kwargs.items() if key != "dataset"}, site)
    if isinstance(made, Opaque):
        made.attrs.pop("shuffle", None)  # a method here, no option
    return made


ENTRIES: dict[str, Any] = {f"{prefix}.{name}": stage(name) for name in STAGES for prefix in (W, f"{W}.filters", f"{W}.shardlists", f"{W}.tariterators")}
ENTRIES |= {
    f"{W}.DataPipeline": pipeline,
    f"{W}.pipeline.DataPipeline": pipeline,
    f"{PIPELINE}.with_epoch": with_epoch,
    f"{PIPELINE}.repeat": first,
    f"{PIPELINE}.with_length": first,
    f"{W}.WebLoader": loader,
    **{f"{prefix}.WebDataset": web for prefix in (W, f"{W}.compat")},
    **{f"{PIPELINE}.{name}": chained(name) for name in (*STAGES, "compose")},
    # a loader's own stages, which bring back its batches in other numbers
    **{f"{LOADER}.{name}": first for name in ("unbatched", "batched", "shuffle", "with_length", "repeat")},
    f"{LOADER}.with_epoch": loader_epoch,
}
BASES: dict[str, tuple[str, ...]] = {}
