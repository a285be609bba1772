"""Data sets that are streamed in shards, and their loaders: litdata and MosaicML's ``streaming``.

Read in litdata 0.2.76 (``streaming/dataset.py``, ``combined.py``, ``dataloader.py``, ``item_loader.py``) and mosaicml-streaming 0.13.0
(``streaming/base/dataset.py``, ``dataloader.py``): both data sets are torch's ``IterableDataset``, both loaders torch's ``DataLoader``,
and the order is the data set's own, so that there is no sampler. Shards are fetched ahead by threads of the process that reads.
"""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.values import DictValue, Opaque, TensorValue, Value
from cgx.indexer.overlays.arguments import bind, flag, items_of
from cgx.indexer.overlays.data_loader import LOADER

AUTHOR = "overlays.streaming_datasets"
TORCH = "torch.utils.data.IterableDataset"
LITDATA = {"": "StreamingDataset CombinedStreamingDataset ParallelStreamingDataset StreamingDataLoader TokensLoader"}
LITDATA |= {"streaming": LITDATA[""], "streaming.dataset": "StreamingDataset", "streaming.combined": "CombinedStreamingDataset",
            "streaming.parallel": "ParallelStreamingDataset", "streaming.dataloader": "StreamingDataLoader", "streaming.item_loader": "TokensLoader"}  # fmt: skip
MOSAIC = {"": "StreamingDataset StreamingDataLoader"}
MOSAIC |= {"base": MOSAIC[""], "base.dataset": "StreamingDataset", "base.dataloader": "StreamingDataLoader"}
STREAMED = "input_dir cache_dir item_loader shuffle"


def streamed(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """litdata's ``StreamingDataset(input_dir, cache_dir, item_loader, shuffle, ...)``: blocks of tokens where its loader cuts them."""
    bound = bind(STREAMED, args, kwargs)
    cut = bound.get("item_loader")
    shape = (cut.attrs.get("block_size"),) if isinstance(cut, Opaque) else None
    return dataset("litdata.StreamingDataset", flag(bound.get("shuffle"), False), TensorValue(shape, None, "cpu", pinned=False) if shape else None, site)


def dataset(name: str, shuffles: bool | None, element: Value, site: Any) -> Opaque:
    hops = [{"hop": "read", "by": name, "anchor": site.anchor}]
    if shuffles:
        hops.append({"hop": "sample", "by": f"{name} shuffle", "anchor": site.anchor})
    return Opaque(f"{name}.IterableDataset", {"cgx.hops": hops, "cgx.element": element if element is not None else open_sample}, site.anchor)


def open_sample(interp: Any, site: Any) -> Value:
    """Its fields are what was written when the shards were made."""
    return DictValue(open=True)


def combined(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``CombinedStreamingDataset(datasets, ...)``: an element of one of them each time."""
    parts = [one for one in items_of(bind("datasets", args, kwargs).get("datasets")) or [] if isinstance(one, Opaque)]
    hops = [row for one in parts for row in one.attrs.get("cgx.hops", ())]
    element = parts[0].attrs["cgx.element"] if parts and all("cgx.element" in one.attrs for one in parts) else open_sample
    return Opaque("litdata.CombinedStreamingDataset.IterableDataset", {"cgx.hops": hops, "cgx.element": element}, site.anchor)


def cut(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``TokensLoader(block_size)``: an element is so many tokens, in one row."""
    return Opaque("litdata.TokensLoader", {"block_size": bind("block_size", args, kwargs).get("block_size")}, site.anchor)


def loader(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """torch's loader. litdata's hands ``shuffle`` and ``drop_last`` to the data set."""
    options = {key: value for key, value in kwargs.items() if key != "shuffle"}
    return interp.call_external(LOADER, args, options, site)


def mosaic(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """MosaicML's ``StreamingDataset(..., shuffle=False, ...)``."""
    return dataset("streaming.StreamingDataset", flag(kwargs.get("shuffle"), False), None, site)


def read(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``super().__getitem__(index)`` in a data set of the job's own."""
    interp.event("data", site, author=AUTHOR, hop="read", by="streaming.StreamingDataset")
    return open_sample(interp, site)


def named(package: str, places: dict[str, str], **handlers: Any) -> dict[str, Any]:
    """The handlers under every name that the package gives them."""
    return {
        f"{package}.{place}.{name}".replace("..", "."): handlers[name] for place, names in places.items() for name in names.split()
    }


ENTRIES: dict[str, Any] = {
    **named("litdata", LITDATA, StreamingDataset=streamed, CombinedStreamingDataset=combined, ParallelStreamingDataset=combined,
            StreamingDataLoader=loader, TokensLoader=cut),
    **named("streaming", MOSAIC, StreamingDataset=mosaic, StreamingDataLoader=loader),
    "streaming.StreamingDataset.__getitem__": read,
}  # fmt: skip
BASES: dict[str, tuple[str, ...]] = {
    "litdata.StreamingDataset": (TORCH,),
    "litdata.streaming.StreamingDataset": ("litdata.StreamingDataset",),
    "streaming.StreamingDataset": (TORCH,),
    "streaming.base.StreamingDataset": ("streaming.StreamingDataset",),
}
