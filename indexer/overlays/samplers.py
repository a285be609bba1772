"""Samplers, splits and data set combinators of torch.utils.data."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.recorder import made_at
from cgx.indexer.interpreter.stdlib.support import nothing
from cgx.indexer.interpreter.values import ListValue, Opaque, TensorValue, Value
from cgx.indexer.overlays.arguments import bind, items_of
from cgx.indexer.overlays.data_loader import dataset_element, sized

_D = "torch.utils.data"


def sampler(qname: str, signature: str) -> Any:
    def construct(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        return Opaque(qname, dict(bind(signature, args, kwargs)), made_at(interp, site))

    return construct


def distributed(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """One share of the data set for each rank."""
    bound = bind("dataset num_replicas rank shuffle seed drop_last", args, kwargs)
    world = bound.get("num_replicas")
    bound["cgx.world"] = world if world is not None else interp.world.size
    return Opaque(f"{_D}.distributed.DistributedSampler", dict(bound), made_at(interp, site))


def object_length(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    known = sized(interp, args[0], site)
    return known if known is not None else interp.unknown(site.text, "data", site, hint="int")


def object_item(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return dataset_element(interp, args[0], site)


def combined(qname: str) -> Any:
    """``Subset``, ``ConcatDataset``: elements of what they hold."""

    def construct(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        bound = bind("dataset indices" if qname.endswith("Subset") else "datasets", args, kwargs)
        attrs: dict[str, Value] = dict(bound)
        listed = items_of(bound.get("indices")) if "indices" in bound else None
        if listed is not None:
            attrs["cgx.length"] = len(listed)
        elif "datasets" in bound:
            sizes = [sized(interp, one, site) for one in items_of(bound["datasets"]) or []]
            attrs["cgx.length"] = sum(sizes) if sizes and all(isinstance(size, int) for size in sizes) else None
        return Opaque(qname, attrs, site.anchor)

    return construct


def random_split(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A list of subsets; fractions need the length of the whole."""
    bound = bind("dataset lengths generator", args, kwargs)
    lengths = items_of(bound.get("lengths")) or []
    total = sized(interp, bound.get("dataset"), site)
    parts = []
    for one in lengths:
        size = (
            one
            if isinstance(one, int)
            else int(total * one)
            if isinstance(one, float) and isinstance(total, int)
            else None
        )
        parts.append(Opaque(f"{_D}.Subset", {"dataset": bound.get("dataset"), "cgx.length": size}, site.anchor))
    return ListValue(parts)


def tensor_dataset(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Elements are tuples of rows; the length is the first dim."""
    tensors = [one for one in args if isinstance(one, TensorValue)]
    element = tuple(
        TensorValue(one.shape[1:] if one.shape else None, one.dtype, one.device, pinned=one.pinned) for one in tensors
    )
    first = tensors[0].shape[0] if tensors and tensors[0].shape else None
    return Opaque(
        f"{_D}.TensorDataset", {"cgx.element": element, "cgx.length": first, "tensors": tuple(args)}, site.anchor
    )


def default_collate(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    from cgx.indexer.overlays.data_values import collated

    samples = args[0] if args else kwargs.get("batch")
    if isinstance(samples, ListValue) and samples.open and samples.items:  # how many there are is open
        return collated(samples.items[0], None)
    listed = items_of(samples)
    return collated(listed[0], len(listed)) if listed else interp.unknown(site.text, "data", site)


def worker_info(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return interp.unknown(site.text, "environment", site)


SAMPLERS = {
    "RandomSampler": "data_source replacement num_samples generator",
    "SequentialSampler": "data_source",
    "SubsetRandomSampler": "indices generator",
    "WeightedRandomSampler": "weights num_samples replacement generator",
    "BatchSampler": "sampler batch_size drop_last",
}
ENTRIES: dict[str, Any] = {}
BASES: dict[str, tuple[str, ...]] = {}
for _name, _signature in SAMPLERS.items():
    for _prefix in (_D, f"{_D}.sampler"):
        ENTRIES[f"{_prefix}.{_name}"] = sampler(f"{_D}.{_name}", _signature)
    BASES[f"{_D}.{_name}"] = (f"{_D}.Sampler",)
BASES[f"{_D}.distributed.DistributedSampler"] = (f"{_D}.Sampler",)
BASES[f"{_D}.sampler.Sampler"] = (f"{_D}.Sampler",)
for _name in ("TensorDataset", "Subset", "ConcatDataset", "ChainDataset"):
    BASES[f"{_D}.{_name}"] = (f"{_D}.Dataset",)
ENTRIES |= {
    f"{_D}.distributed.DistributedSampler": distributed,
    f"{_D}.DistributedSampler": distributed,
    f"{_D}.Sampler.set_epoch": nothing,
    f"{_D}.Sampler.__len__": object_length,
    f"{_D}.Dataset.__len__": object_length,
    f"{_D}.Dataset.__getitem__": object_item,
    f"{_D}.Subset": combined(f"{_D}.Subset"),
    f"{_D}.dataset.Subset": combined(f"{_D}.Subset"),
    f"{_D}.ConcatDataset": combined(f"{_D}.ConcatDataset"),
    f"{_D}.random_split": random_split,
    f"{_D}.dataset.random_split": random_split,
    f"{_D}.TensorDataset": tensor_dataset,
    f"{_D}.default_collate": default_collate,
    f"{_D}.dataloader.default_collate": default_collate,
    f"{_D}._utils.collate.default_collate": default_collate,
    f"{_D}.get_worker_info": worker_info,
}
