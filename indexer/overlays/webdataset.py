"""webdataset's pipelines: ``DataPipeline`` of stages, ``WebLoader``. Stages are steps of the data path, and say what a batch holds."""

from __future__ import annotations

from typing import Any

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

W = "webdataset"
PIPELINE = f"{W}.DataPipeline.IterableDataset"
STAGES: dict[str, str] = {
    "tarfile_to_samples": "read", "tarfile_samples": "read", "shuffle": "sample", "detshuffle": "sample", "decode": "decode", "map": "transform",
    "map_dict": "transform", "map_tuple": "transform", "batched": "collate", "SimpleShardList": "", "ResampledShards": "", "split_by_node": "",
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
    stages: list[Value] = [one for arg in args for one in (items_of(arg) or [arg])]
    hops = [row for row in map(hop_of, stages) if row is not None]
    if not any(row["hop"] == "read" for row in hops):
        hops.insert(0, {"hop": "read", "by": f"{W}.DataPipeline", "anchor": site.anchor})
    return Opaque(PIPELINE, {"cgx.hops": tuple(hops), "cgx.element": lambda interp, at: element(interp, stages, at), "stages": tuple(stages)}, site.anchor)


def element(interp: Any, stages: list[Value], site: Any) -> Value:
    """A sample as the stages make it: what ``map_dict`` names, in the order of ``to_tuple``; batched, tensors."""
    made: dict[str, Value] = {}
    order: list[str] | None = None
    batched = False
    for one in stages:
        if not isinstance(one, Opaque):
            continue
        name = one.qname.removeprefix(f"{W}.")
        if name == "map_dict":
            for key, function in one.attrs["kwargs"].items.items():
                made[str(key)] = interp.attempt(lambda function=function: interp.call(function, [Unknown("sample", "data", site.anchor)], {}, site))
        elif name == "to_tuple":
            order = [str(key) for key in one.attrs["args"]]
        elif name == "batched":
            batched = True
    values = {key: tensor_of(value, batched) for key, value in made.items()}
    if order is not None and all(key in values for key in order):
        return tuple(values[key] for key in order)
    if not values or (order is not None):
        return interp.unknown("sample", "data", site, hint="batch")
    return DictValue(dict(values))


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


def loader(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``WebLoader(dataset, ...)``: torch's loader with the same options; each worker goes through its own epoch."""
    data = args[0] if args else kwargs.get("dataset")
    if isinstance(data, Opaque) and data.qname == PIPELINE:
        workers, count = kwargs.get("num_workers", 0), data.attrs.get("cgx.epoch")
        known = isinstance(workers, int) and isinstance(count, int)
        data = Opaque(PIPELINE, {**data.attrs, "cgx.length": count * max(workers, 1) if known else None}, data.anchor)
    return interp.call_external("torch.utils.data.DataLoader", [data, *args[1:]], {key: value for key, value in kwargs.items() if key != "dataset"}, site)


ENTRIES: dict[str, Any] = {f"{prefix}.{name}": stage(name) for name in STAGES for prefix in (W, f"{W}.filters", f"{W}.shardlists", f"{W}.tariterators")}
ENTRIES |= {
    f"{W}.DataPipeline": pipeline,
    f"{W}.pipeline.DataPipeline": pipeline,
    f"{PIPELINE}.with_epoch": with_epoch,
    f"{PIPELINE}.repeat": lambda interp, site, args, kwargs: args[0],
    f"{PIPELINE}.with_length": lambda interp, site, args, kwargs: args[0],
    f"{W}.WebLoader": loader,
}
BASES: dict[str, tuple[str, ...]] = {}
