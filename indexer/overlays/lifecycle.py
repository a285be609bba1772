"""What the trainers of frameworks share: loops, periods, moving a batch, wrapping a model, one optimizer step.

Everything is anchored at the call of the user's code that starts the trainer; the user's own methods keep their lines.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator
from typing import Any

from cgx.indexer.interpreter import open_dicts
from cgx.indexer.interpreter.items import opened
from cgx.indexer.interpreter.trace import BranchNode, Event, LoopNode, ScopeNode
from cgx.indexer.interpreter.values import (
    MISSING,
    Alternatives,
    DictValue,
    External,
    GeneratorValue,
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
from cgx.indexer.overlays.ddp import DDP
from cgx.indexer.overlays.tensor_mappings import MAPPING
from cgx.indexer.overlays.transfer import ACCELERATORS, all_modules, blocks, move_module, tensor_bytes
from cgx.indexer.overlays.wrappers import has_buffers, inner

FRAMEWORKS = (
    "transformers.trainer",
    "lightning.",
    "pytorch_lightning.",
)  # modules whose classes are the trainers themselves


@contextlib.contextmanager
def loop(interp: Any, site: Any, count: Value, expr: str, over: str, target: str = "") -> Iterator[None]:
    """A loop of the framework, its body evaluated once."""
    node = LoopNode(site.anchor, site.text, count=count, expr=expr, over=over, target=target, bound=site.anchor)
    with interp.inside(node):
        yield


@contextlib.contextmanager
def every(interp: Any, site: Any, counter: str, period: Value, text: str = "") -> Iterator[None]:
    """What runs only each ``period`` rounds; nothing round it where the period is 1."""
    if period in (None, 1):
        yield
        return
    node = BranchNode(site.anchor, text or f"{counter} % {period} == 0", period=(counter, period), decided=True)
    with interp.inside(node):
        yield


@contextlib.contextmanager
def flags(interp: Any, site: Any, qname: str, **values: Value) -> Iterator[None]:
    """A scope with interpreter flags: no_grad, autocast."""
    saved = {name: interp.flags.get(name) for name in values}
    data = {"dtype": values.get("dtype_value")} if "dtype_value" in values else {}
    values.pop("dtype_value", None)
    with interp.inside(ScopeNode(site.anchor, site.text, qname=qname, data=data)):
        for name, value in values.items():
            interp.trail.set_item(interp.flags, name, value)
        yield
        for name in values:
            interp.trail.set_item(interp.flags, name, saved[name])


def moved_batch(interp: Any, batch: Value, non_blocking: bool, site: Any, author: str, what: str = "batch") -> Value:
    """The batch on the device, with one copy event for each host tensor."""
    if isinstance(batch, TensorValue):
        if batch.device in ACCELERATORS or batch.library != "torch":
            return batch
        source = "pinned" if batch.pinned else "pageable"
        interp.event("copy", site, author=author, direction="H2D", what=what, source=source, non_blocking=non_blocking,
                     blocks_host=blocks("H2D", bool(batch.pinned), non_blocking), bytes=tensor_bytes(batch), sync_kind=None)  # fmt: skip
        return TensorValue(batch.shape, batch.dtype, "cuda", name=batch.name)
    if isinstance(batch, tuple):
        return tuple(
            moved_batch(interp, one, non_blocking, site, author, f"{what}[{index}]") for index, one in enumerate(batch)
        )
    if isinstance(batch, ListValue):
        return ListValue(
            [
                moved_batch(interp, one, non_blocking, site, author, f"{what}[{index}]")
                for index, one in enumerate(batch.items)
            ],
            open=batch.open,
        )
    if isinstance(batch, DictValue):
        items = {
            key: moved_batch(interp, one, non_blocking, site, author, f"{what}[{key!r}]")
            for key, one in batch.items.items()
        }
        rest = None if (one := open_dicts.standing(batch)) is None else moved_batch(interp, one, non_blocking, site, author, what)
        return DictValue(items, open=batch.open, kind=batch.kind, other=rest)
    if isinstance(batch, Opaque) and batch.qname == MAPPING:
        value = moved_batch(interp, batch.attrs["cgx.value"], non_blocking, site, author, what)
        return Opaque(MAPPING, {**batch.attrs, "cgx.value": value}, batch.anchor)
    if isinstance(batch, Opaque) and isinstance(batch.attrs.get("data"), DictValue):  # transformers.BatchEncoding
        data = moved_batch(interp, batch.attrs["data"], non_blocking, site, author, what)
        return Opaque(batch.qname, {**batch.attrs, **data.items, "data": data}, batch.anchor)
    if isinstance(batch, Alternatives):
        return one_of_batches(interp, batch, non_blocking, site, author, what)
    return batch


def one_of_batches(interp: Any, batch: Alternatives, non_blocking: bool, site: Any, author: str, what: str) -> Value:
    """A batch that a collator makes in one of several ways: each way's tensors in its own branch, once where they are alike."""
    options = list(interp.options_of(batch))
    names = [keys_of(option) for _, option in options]
    if names[0] is not None and all(one == names[0] for one in names):
        return moved_batch(interp, options[0][1], non_blocking, site, author, what)
    moved = []
    for condition, option in options:
        with interp.inside(BranchNode(batch.anchor or site.anchor, condition, test=batch)):
            moved.append((condition, moved_batch(interp, option, non_blocking, site, author, what)))
    return Alternatives(tuple(moved), batch.anchor)


def keys_of(batch: Value) -> list[Any] | None:
    data = batch.attrs.get("data") if isinstance(batch, Opaque) else batch
    return sorted(map(str, data.items)) if isinstance(data, DictValue) and not data.open else None


def delivered(
    interp: Any, found: Sequence, batch: Value, non_blocking: bool, site: Any, author: str, what: str = "batch"
) -> Value:
    """The batch that a trainer took from ``found``, on the device. One whose tensors are not known one by one is one copy."""
    moved = moved_batch(interp, batch, non_blocking, site, author, what)
    loader = found.attrs.get("loader")
    if not isinstance(loader, Opaque) or not (
        isinstance(batch, Unknown) or (isinstance(batch, DictValue) and batch.open and not batch.items)
    ):
        return moved
    pinned = flag(loader.attrs.get("pin_memory"), False)
    source = None if pinned is None else "pinned" if pinned else "pageable"
    interp.event("copy", site, author=author, direction="H2D", what=what, source=source, non_blocking=non_blocking,
                 blocks_host=blocks("H2D", pinned, non_blocking), sync_kind=None)  # fmt: skip
    if isinstance(moved, DictValue):  # whatever is asked of it lies on the device
        return DictValue(
            open=True,
            kind="defaultdict",
            default=Native("batch.__getitem__", lambda *_: TensorValue(None, None, "cuda")),
        )
    return moved


def place_model(interp: Any, model: Value, site: Any) -> None:
    """The framework moves the model to the device."""
    if isinstance(model, ModuleInstance):
        move_module(interp, model, "cuda", None, False, site, what="model")


def ddp(interp: Any, module: Value, site: Any, author: str) -> Value:
    """Wrap in DistributedDataParallel where there are several processes; the proxy, else the module."""
    target = inner(module)
    if interp.world.size == 1 or not isinstance(target, ModuleInstance):
        return module
    common: dict[str, Any] = {"issued_by": "DistributedDataParallel", "blocking": True, "parallelism": "data"}
    interp.event("collective", site, author=author, collective="all_gather", what="parameter shapes", **common)
    interp.event("collective", site, author=author, collective="broadcast", what="parameters and buffers", **common)
    interp.trail.append(target.wrappers, ("DistributedDataParallel", site.anchor))
    interp.event(
        "wrap",
        site,
        author=author,
        wrapper="DistributedDataParallel",
        module=target,
        broadcast_buffers=bool(has_buffers(target)),
    )
    return Opaque(DDP, {"module": module, "require_backward_grad_sync": True}, site.anchor)


def batches(interp: Any, loader: Value, site: Any) -> Sequence:
    """One element and the length of what yields batches; unknown ones where it is no known loader."""
    if loader is None:
        return Sequence(
            interp.unknown("batch", "data", site), interp.unknown("len(dataloader)", "data", site, hint="int")
        )
    if isinstance(loader, Instance) and isinstance(generator := opened(interp, loader, site), GeneratorValue):
        return rounds_of(interp, loader, generator, site)
    listed = interp.iterate(loader, site)
    not_opened_here(interp)
    if isinstance(listed, Sequence):
        return listed
    if isinstance(listed, list) and listed:
        return Sequence(listed[0], len(listed))
    return Sequence(interp.unknown("batch", "data", site), interp.unknown("len(dataloader)", "data", site, hint="int"))


def not_opened_here(interp: Any) -> None:
    """A trainer's loops all stand at one line: batches are seen where :func:`take` takes them, not where the loader is opened."""
    events = interp.stack[-1].children
    if events and isinstance(events[-1], Event) and events[-1].kind == "fetch" and events[-1].data.get("opened"):
        events.pop()


def rounds_of(interp: Any, loader: Value, generator: GeneratorValue, site: Any) -> Sequence:
    """A loader whose ``__iter__`` is a generator of the source: each batch is one round of it."""
    length = interp.attempt(lambda: interp.call(External("len"), [loader], {}, site))
    following = Native("generator.__next__", lambda interp, at, args, kwargs: interp.next(generator, at))
    return Sequence(None, length, "generator", site.anchor, {"on_next": following})


def take(interp: Any, found: Sequence, site: Any) -> Value:
    """One batch, inside the loop: the loader's fetch is seen there."""
    on_next = found.attrs.get("on_next")
    return found.element if on_next is None else interp.call(on_next, [], {}, site)


def optional(interp: Any, owner: Value, name: str, site: Any) -> Value:
    """A method that the user's class may define; None where it does not, or has only the framework's own (its source is given)."""
    found = owner.cls.lookup(name) if isinstance(owner, Instance) else MISSING
    if found is MISSING or str(getattr(found, "qname", "")).startswith(FRAMEWORKS):
        return None
    return interp.getattr(owner, name, site)


def set_mode(interp: Any, model: Value, training: bool, site: Any) -> None:
    """``model.train()`` or ``model.eval()``, for the module and all below it."""
    target = inner(model)
    for one in all_modules(target) if isinstance(target, ModuleInstance) else ():
        if one.training is not training:
            interp.trail.set(one, "training", training)


def backward(interp: Any, loss: Value, site: Any, author: str) -> None:
    interp.event("compute", site, author=author, key="backward", value="backward of the loss", loss=loss)


def optimizer_step(interp: Any, optimizer: Value, site: Any) -> None:
    """Step and zero_grad of one or several optimizers."""
    for one in (
        optimizer.items
        if isinstance(optimizer, ListValue)
        else list(optimizer)
        if isinstance(optimizer, tuple)
        else [optimizer]
    ):
        if isinstance(one, Opaque | Instance):
            interp.call(interp.getattr(one, "step", site), [], {}, site)
            interp.call(interp.getattr(one, "zero_grad", site), [], {}, site)


def is_loss(interp: Any, site: Any, value: Value) -> None:
    """What a framework's ``backward`` takes is a scalar on the device, whatever model it came from: its name stands for one from here on."""
    if isinstance(value, TensorValue) and value.device is None:
        interp.trail.set(value, "device", "cuda")
    node = site.node
    given = node.args[0] if isinstance(node, ast.Call) and node.args else None
    if isinstance(value, Unknown) and isinstance(given, ast.Name) and hasattr(site, "frame"):
        scope = site.frame.scope.find(given.id)
        if scope is not None:
            interp.trail.set_item(scope.vars, given.id, TensorValue((), None, "cuda", requires_grad=True))
