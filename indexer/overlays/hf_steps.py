"""Parts of the Hugging Face Trainer that its training and its evaluation share: loader, forward and loss, checkpoint."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from cgx.indexer.interpreter.trace import BranchNode
from cgx.indexer.interpreter.values import (
    DictValue,
    DType,
    Instance,
    ListValue,
    ModuleInstance,
    Opaque,
    Sequence,
    TensorValue,
    Value,
)
from cgx.indexer.overlays import hf_outside_models
from cgx.indexer.overlays.arguments import bind, flag
from cgx.indexer.overlays.data_loader import LOADER
from cgx.indexer.overlays.hf_arguments import autocast_of, option, sharding, word
from cgx.indexer.overlays.lifecycle import backward, delivered, flags, optional, take
from cgx.indexer.overlays.wrappers import inner

AUTHOR = "overlays.hf_trainer"
SAMPLERS = {"random": "torch.utils.data.RandomSampler", "sequential": "torch.utils.data.SequentialSampler",
            "group_by_length": "transformers.trainer_pt_utils.LengthGroupedSampler", "batch_rebalance": "transformers.trainer_pt_utils.BatchRebalanceSampler"}  # fmt: skip


def attribute(trainer: Value, name: str) -> Value:
    return trainer.attrs.get(name) if isinstance(trainer, Opaque | Instance) else None


def loader_of(interp: Any, trainer: Value, dataset: Value, batch: str, site: Any, hooks: bool = True) -> Value:
    """The loader that the Trainer builds, or the user's override of ``get_train_dataloader``; accelerate moves its batches."""
    name = "get_train_dataloader" if "train" in batch else "get_eval_dataloader"
    hook = optional(interp, trainer, name, site) if hooks else None
    if hook is not None:
        return interp.call(hook, [], {}, site)
    if isinstance(dataset, DictValue) and dataset.items:
        dataset = next(iter(dataset.items.values()))  # a data set for each name: evaluated one after the other
    if dataset is None:
        return None
    kind = (
        (
            "group_by_length"
            if flag(option(trainer, "group_by_length"))
            else word(trainer, "train_sampling_strategy") or "random"
        )
        if "train" in batch
        else "sequential"
    )
    attrs: dict[str, Value] = {
        "dataset": dataset, "batch_size": option(trainer, batch), "num_workers": option(trainer, "dataloader_num_workers"),
        "pin_memory": option(trainer, "dataloader_pin_memory"), "drop_last": option(trainer, "dataloader_drop_last"),
        "prefetch_factor": option(trainer, "dataloader_prefetch_factor"), "collate_fn": attribute(trainer, "data_collator"),
        "cgx.collate": "transformers.data.data_collator.default_data_collator", "sampler": Opaque(SAMPLERS.get(kind, SAMPLERS["random"])),
        "cgx.sampler": None, "shuffle": "train" in batch, "cgx.shards": interp.world.size,
    }  # fmt: skip
    return Opaque(LOADER, attrs, site.anchor)


def own_loader(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``_get_dataloader``, called by a user's ``get_train_dataloader``: its batch size, and the sampler that is made there."""
    bound = bind("self dataset description batch_size sampler_fn is_training dataloader_key", args, kwargs)
    training = flag(bound.get("is_training"), False)
    loader = loader_of(interp, bound["self"], bound.get("dataset"), f"per_device_{'train' if training else 'eval'}_batch_size", site, hooks=False)
    if isinstance(loader, Opaque):
        interp.trail.set_item(loader.attrs, "batch_size", bound.get("batch_size"))
        if bound.get("sampler_fn") is not None:
            interp.trail.set_item(loader.attrs, "sampler", interp.call(bound["sampler_fn"], [bound.get("dataset")], {}, site))
    return loader


def next_batch(interp: Any, trainer: Value, found: Sequence, site: Any) -> Value:
    """A batch on the device: accelerate's loader copies it, blocking unless ``accelerator_config`` says otherwise."""
    config = option(trainer, "accelerator_config")
    non_blocking = flag(config.items.get("non_blocking"), False) if isinstance(config, DictValue) else False
    return delivered(interp, found, take(interp, found, site), bool(non_blocking), site, AUTHOR, "inputs")


def precision(interp: Any, trainer: Value, site: Any) -> Any:
    """The autocast that accelerate puts round the model's forward."""
    dtype = autocast_of(trainer)
    if dtype is None:
        return contextlib.nullcontext()
    return flags(interp, site, "torch.amp.autocast", autocast=dtype, dtype_value=DType(dtype))


def training_step(interp: Any, trainer: Value, model: Value, inputs: Value, site: Any, hooks: bool = True) -> Value:
    """``Trainer.training_step``: the loss under autocast, then backward. A user's override may call it by ``super()``."""
    hook = optional(interp, trainer, "training_step", site) if hooks else None
    if hook is not None:
        counted = [interp.unknown("num_items_in_batch", "data", site)] if takes_another(hook, 2) else []
        return interp.call(hook, [model, inputs, *counted], {}, site)
    prepared = optional(interp, trainer, "_prepare_inputs", site)
    if prepared is not None:
        inputs = interp.call(prepared, [inputs], {}, site)
    loss = user_loss(interp, trainer, model, inputs, site)
    backward(interp, loss, site, AUTHOR)
    return TensorValue((), "float32", "cuda")


def takes_another(hook: Value, given: int) -> bool:
    """Whether a method that a user overrides names a further argument by place."""
    node = getattr(getattr(hook, "func", hook), "node", None)
    return node is not None and len(node.args.posonlyargs) + len(node.args.args) > given + 1  # and itself


def user_loss(interp: Any, trainer: Value, model: Value, inputs: Value, site: Any) -> Value:
    """``compute_loss``: the user's override, else the Trainer's own."""
    hook = optional(interp, trainer, "compute_loss", site)
    with precision(interp, trainer, site):
        if hook is not None:
            found = interp.call(hook, [model, inputs], {}, site)
            return found[0] if isinstance(found, tuple) and found else found
        return compute_loss(interp, trainer, model, inputs, site, False)


def compute_loss(interp: Any, trainer: Value, model: Value, inputs: Value, site: Any, outputs_too: bool) -> Value:
    """``Trainer.compute_loss``: the model's own loss, or ``compute_loss_func`` of what it gave."""
    target = inner(model)
    if not isinstance(target, ModuleInstance):
        interp.event("compute", site, author=AUTHOR, key="forward", value="model(**inputs)")
        loss: Value = TensorValue((), "float32", "cuda")
        return (loss, interp.unknown("outputs", "missing-module", site)) if outputs_too else loss
    items = (
        inputs.items
        if isinstance(inputs, DictValue)
        else inputs.attrs["data"].items
        if batch_encoding(inputs)
        else None
    )
    words = {key: value for key, value in (items or {}).items() if isinstance(key, str)}
    if isinstance(inputs, DictValue) and inputs.open and not hf_outside_models.is_outside(target):
        words["*"] = interp.unknown("inputs", "data", site)
    given = [] if items is not None else [inputs]
    outputs = interp.call(model, given, words, site)
    custom = attribute(trainer, "compute_loss_func")
    if custom is not None:
        loss = interp.call(
            custom, [outputs, words.get("labels"), interp.unknown("num_items_in_batch", "data", site)], {}, site
        )
    else:
        loss = loss_of(interp, outputs, site)
    return (loss, outputs) if outputs_too else loss


def batch_encoding(value: Value) -> bool:
    return isinstance(value, Opaque) and isinstance(value.attrs.get("data"), DictValue)


def loss_of(interp: Any, outputs: Value, site: Any) -> Value:
    if isinstance(outputs, DictValue):
        return outputs.items.get("loss")
    if isinstance(outputs, tuple):
        return outputs[0] if outputs else None
    if isinstance(outputs, ListValue):
        return outputs.items[0] if outputs.items else None
    if isinstance(outputs, Instance | Opaque):
        return interp.getattr(outputs, "loss", site)
    return outputs


@contextlib.contextmanager
def first_rank(interp: Any, site: Any, text: str = "args.should_save") -> Iterator[None]:
    """Only rank 0, where there are several."""
    if len(interp.world.ranks) == 1:
        yield
        return
    with interp.inside(BranchNode(site.anchor, text, ranks=(0,), decided=True)):
        yield


def save(interp: Any, site: Any, trainer: Value, optimizer: bool = True) -> None:
    """Weights, and in a checkpoint the optimizer's state: sharded ones are gathered by all ranks, rank 0 writes."""
    what = "model and optimizer state" if optimizer else "model weights"
    if sharding(interp, trainer) is not None:
        interp.event("collective", site, author=AUTHOR, collective="all_gather", issued_by=sharding(interp, trainer), blocking=True, parallelism="data",
                     carrier="checkpoint")  # fmt: skip
    with first_rank(interp, site):
        interp.event("checkpoint", site, author=AUTHOR, what=what, action="save")
        interp.event("copy", site, author=AUTHOR, direction="D2H", what=what, source="pageable", non_blocking=False, blocks_host=True, sync_kind="other",
                     carrier="checkpoint")  # fmt: skip


def gather(interp: Any, site: Any, what: str, collective: str = "all_gather") -> None:
    """A small tensor of every rank, waited for."""
    if interp.world.size != 1:
        interp.event(
            "collective",
            site,
            author=AUTHOR,
            collective=collective,
            issued_by="call",
            blocking=True,
            parallelism="data",
            what=what,
        )


def read(interp: Any, site: Any, what: str, kind: str = "item") -> None:
    """A device value is read on the host."""
    interp.event("sync", site, author=AUTHOR, sync=kind, what=what, reads=True)
