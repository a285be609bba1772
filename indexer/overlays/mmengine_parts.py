"""Building by configuration in mmengine: registries, ``dict(type=...)``, loaders, samplers, data preprocessors."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.batches import BATCH, PINNED
from cgx.indexer.interpreter.values import (
    ClassValue,
    DictValue,
    External,
    Instance,
    ListValue,
    ModuleInstance,
    Native,
    Opaque,
    Sequence,
    TensorValue,
    Unknown,
    Value,
)
from cgx.indexer.overlays.arguments import flag
from cgx.indexer.overlays.config_nodes import ITEMS, is_node
from cgx.indexer.overlays.config_registries import LISTED, TABLE, find
from cgx.indexer.overlays.config_registries import MMENGINE as REGISTRY
from cgx.indexer.overlays.data_loader import LOADER
from cgx.indexer.overlays.lifecycle import moved_batch
from cgx.indexer.overlays.transfer import blocks

AUTHOR = "overlays.mmengine"
MODEL, PREPROCESSOR = "mmengine.model.BaseModel", "mmengine.model.BaseDataPreprocessor"
SAMPLER, ENDLESS = "mmengine.dataset.DefaultSampler", "mmengine.dataset.InfiniteSampler"
NAMES = (
    "RUNNERS", "RUNNER_CONSTRUCTORS", "LOOPS", "HOOKS", "LOG_PROCESSORS", "OPTIMIZERS", "OPTIM_WRAPPERS", "OPTIM_WRAPPER_CONSTRUCTORS", "PARAM_SCHEDULERS",
    "DATASETS", "DATA_SAMPLERS", "TRANSFORMS", "MODELS", "MODEL_WRAPPERS", "WEIGHT_INITIALIZERS", "BATCH_AUGMENTS", "TASK_UTILS", "METRICS", "EVALUATOR",
    "VISUALIZERS", "VISBACKENDS", "STRATEGIES", "INFERENCERS", "FUNCTIONS",
)  # fmt: skip


def registry(name: str) -> Any:
    def make(interp: Any) -> Value:
        return Opaque(REGISTRY, {TABLE: DictValue(), "name": name.lower(), "_name": name.lower(), "parent": None})

    return make


def rows(config: Value) -> dict[Any, Value] | None:
    """A configuration's own rows as a fresh dict; None where it is no mapping."""
    if is_node(config):
        return dict(config.attrs[ITEMS].items)
    return dict(config.items) if isinstance(config, DictValue) else None


def name_of(kind: Value) -> str | None:
    """The class's bare name: from text, a class, or an outside name."""
    if isinstance(kind, str):
        return kind.rpartition(".")[2]
    return kind.name if isinstance(kind, ClassValue) else kind.tail if isinstance(kind, External) else None


def build(interp: Any, config: Value, names: tuple[str, ...], site: Any, **defaults: Value) -> Value:
    """``REGISTRY.build(dict(type="X", ...))``; anything but a mapping stays as it is."""
    held = rows(config)
    if held is None:
        return config
    kind = held.pop("type", None)
    target = resolve(interp, kind, names, site) if isinstance(kind, str) else kind
    if target is None:
        return interp.unknown(str(kind), "missing-module", site)
    return interp.call(target, [], {**defaults, **{str(key): value for key, value in held.items()}}, site)


def resolve(interp: Any, kind: str, names: tuple[str, ...], site: Any) -> Value:
    """The class of that name: in mmengine's own registries, or in those of the job that have them for parent."""
    bare = kind.rpartition(".")[2]
    for name in names:
        root = interp.external(f"mmengine.registry.{name}", site)
        found = find(root, kind)
        if found is not None:
            return found
    for one in interp.flags.get(LISTED, ()):
        found = find(one, kind)
        if found is not None:
            return found
    known = KNOWN.get(bare)
    return External(known) if known else None


KNOWN = {
    "DefaultSampler": SAMPLER, "InfiniteSampler": ENDLESS, "BaseDataPreprocessor": PREPROCESSOR, "ImgDataPreprocessor": "mmengine.model.ImgDataPreprocessor",
}  # fmt: skip


def sampler(qname: str, endless: bool) -> Any:
    """Ranks take every so many-th index; the endless one never ends an epoch."""

    def make(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        dataset = kwargs.get("dataset", args[0] if args else None)
        attrs: dict[str, Value] = {"dataset": dataset, "shuffle": kwargs.get("shuffle", True), "cgx.world": interp.world.size, "drop_last": False}
        return Opaque(qname, {**attrs, "cgx.endless": endless}, site.anchor)

    return make


def loader(interp: Any, config: Value, site: Any) -> Value:
    """``Runner.build_dataloader``: no pinning and no workers unless asked for; samples are put in lists, not stacked."""
    held = rows(config)
    if held is None:
        return config
    dataset = build(interp, held.pop("dataset", None), ("DATASETS",), site)
    chosen = build(interp, held.pop("sampler", None), ("DATA_SAMPLERS",), site, dataset=dataset)
    batch_sampler = held.pop("batch_sampler", None)
    for name in ("num_batch_per_epoch", "worker_init_fn", "disable_subprocess_warning"):
        held.pop(name, None)
    collate = held.pop("collate_fn", None)
    how = name_of((rows(collate) or {"type": collate}).get("type"))
    function: Value = None if how == "default_collate" else pseudo_collate() if collate is None or how == "pseudo_collate" else build(interp, collate, ("FUNCTIONS",), site)
    options = {str(key): value for key, value in held.items()}
    made = interp.call(External(LOADER), [dataset], {**options, "sampler": chosen, "collate_fn": function}, site)
    if isinstance(made, Opaque) and batch_sampler is not None:
        made.attrs["cgx.batch_sampler"] = name_of((rows(batch_sampler) or {}).get("type"))
    return made


def pseudo_collate() -> Native:
    return Native("mmengine.dataset.pseudo_collate", lambda interp, site, args, kwargs: gathered(args[0] if args else None))


def gathered(samples: Value) -> Value:
    """Samples side by side: a dict of lists for dicts, lists of what each place holds for tuples."""
    items = samples.items if isinstance(samples, ListValue) else []
    first = items[0] if items else None
    if isinstance(first, Unknown):
        return Unknown(first.name, first.reason, first.anchor, BATCH, first.settle)
    if isinstance(first, DictValue):
        return DictValue({key: ListValue([one.items.get(key) for one in items if isinstance(one, DictValue)], open=samples.open) for key in first.items})
    if isinstance(first, tuple):
        return ListValue([ListValue([one[place] for one in items if isinstance(one, tuple)], open=samples.open) for place in range(len(first))])
    return samples


# -- data preprocessors ---------------------------------------------------------------------------------------------------


def init_model(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``BaseModel.__init__(data_preprocessor=None, init_cfg=None)``."""
    given = kwargs.get("data_preprocessor", args[1] if len(args) > 1 else None)
    if given is None or rows(given) is not None:
        held = {"type": "BaseDataPreprocessor", **(rows(given) or {})}
        given = build(interp, DictValue(held), ("MODELS",), site)
    interp.setattr(args[0], "data_preprocessor", given, site)
    return None


def init_preprocessor(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``BaseDataPreprocessor.__init__(non_blocking=False)`` in a subclass."""
    interp.trail.set_item(args[0].attrs, "_non_blocking", kwargs.get("non_blocking", False))
    return None


def make_preprocessor(qname: str) -> Any:
    return lambda interp, site, args, kwargs: Opaque(qname, {"_non_blocking": kwargs.get("non_blocking", False)}, site.anchor)


def cast(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``cast_data``: every tensor of the batch goes to the device, one ``.to`` each."""
    data = kwargs.get("data", args[1] if len(args) > 1 else None)
    asked = args[0].attrs.get("_non_blocking") if isinstance(args[0], Instance | Opaque) else False
    if isinstance(data, Unknown):
        return unknown_batch(interp, data, bool(flag(asked, False)), site)
    return moved_batch(interp, data, bool(flag(asked, False)), site, AUTHOR)


def unknown_batch(interp: Any, data: Unknown, non_blocking: bool, site: Any) -> Value:
    """What mmengine's data sets give: images under ``inputs``, what is known of them under ``data_samples``."""
    source = "pinned" if data.hint == PINNED else "pageable"
    interp.event("copy", site, author=AUTHOR, direction="H2D", what="data", source=source, non_blocking=non_blocking,
                 blocks_host=blocks("H2D", source == "pinned", non_blocking), sync_kind=None)  # fmt: skip
    images = Sequence(TensorValue((None, None, None), None, "cuda"), interp.unknown("len(data['inputs'])", "data", site, "int"))
    return DictValue({"inputs": images, "data_samples": interp.unknown("data['data_samples']", "data", site, BATCH)}, open=True)


def image_batch(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``ImgDataPreprocessor.forward``: cast, normalise, pad and stack on the device."""
    data = cast(interp, site, args, kwargs)
    if isinstance(data, DictValue) and "inputs" in data.items:
        stacked = TensorValue(None, "float32", "cuda")
        return DictValue({"data_samples": None, **data.items, "inputs": stacked}, open=data.open)
    return data


def preprocess(interp: Any, model: Value, data: Value, training: bool, site: Any) -> Value:
    """``model.data_preprocessor(data, training)``."""
    held = interp.getattr(model, "data_preprocessor", site) if isinstance(model, ModuleInstance) else None
    if isinstance(held, ModuleInstance):
        return interp.call(held, [data, training], {}, site)
    if isinstance(held, Instance):
        return interp.call(interp.getattr(held, "forward", site), [data, training], {}, site)
    kind = held.qname if isinstance(held, Opaque) else ""
    return (image_batch if kind.endswith("ImgDataPreprocessor") else cast)(interp, site, [held, data], {})
