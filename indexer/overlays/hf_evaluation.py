"""``Trainer.evaluate`` and ``predict`` as a literal life cycle (read from transformers 4.46-5.24).

Each batch: copied by the loader, a forward without gradients, the loss (with ``compute_metrics`` also logits and labels) gathered from all
ranks. After the last: what was gathered goes to the host as NumPy arrays.
"""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.trace import CallNode
from cgx.indexer.interpreter.values import DictValue, Opaque, TensorValue, Value
from cgx.indexer.overlays.arguments import bind, flag
from cgx.indexer.overlays.hf_arguments import option
from cgx.indexer.overlays.hf_steps import (
    AUTHOR,
    attribute,
    compute_loss,
    gather,
    loader_of,
    next_batch,
    precision,
    read,
    user_loss,
)
from cgx.indexer.overlays.lifecycle import batches, flags, loop, optional, set_mode


def evaluate(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``trainer.evaluate()``, by the user or by ``super()``."""
    bound = bind("self eval_dataset ignore_keys metric_key_prefix", args, kwargs)
    return run(interp, bound["self"], bound.get("eval_dataset"), site)


def predict(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    bound = bind("self test_dataset", args, kwargs)
    run(interp, bound["self"], bound.get("test_dataset"), site)
    array = TensorValue(None, None, "cpu", library="numpy")
    return Opaque(
        "transformers.trainer_utils.PredictionOutput",
        {"predictions": array, "label_ids": array, "metrics": DictValue(open=True)},
        site.anchor,
    )


def evaluation(interp: Any, trainer: Value, site: Any) -> None:
    """An evaluation that the training loop finds due: the user's override, else the Trainer's own."""
    hook = optional(interp, trainer, "evaluate", site)
    if hook is not None:
        interp.call(hook, [], {}, site)
    else:
        run(interp, trainer, None, site)


def run(interp: Any, trainer: Value, dataset: Value, site: Any) -> Value:
    model = attribute(trainer, "model")
    loader = loader_of(
        interp,
        trainer,
        dataset if dataset is not None else attribute(trainer, "eval_dataset"),
        "per_device_eval_batch_size",
        site,
    )
    if loader is None:
        return DictValue(open=True)
    whole = attribute(trainer, "compute_metrics") is not None and not flag(option(trainer, "prediction_loss_only"))
    with interp.inside(CallNode(site.anchor, site.text, symbol="transformers.trainer.Trainer.evaluation_loop")):
        found = batches(interp, loader, site)
        set_mode(interp, model, False, site)
        with loop(interp, site, found.length, "eval_dataloader", "loader", "inputs"):
            batch = next_batch(interp, trainer, found, site)
            one_batch(interp, trainer, model, batch, not whole, site)
            collect(interp, site, whole)
        for what in ("losses", *(("logits", "labels") if whole else ())):
            read(interp, site, f"gathered {what}", "cpu")
        interp.event("log", site, author=AUTHOR, what="trainer.log of metrics")
        set_mode(interp, model, True, site)
    return DictValue(open=True)


def collect(interp: Any, site: Any, whole: bool) -> None:
    """Every rank's losses; logits and labels are padded to one length first, for which the sizes are read."""
    gather(interp, site, "losses")
    for what in ("logits", "labels") if whole else ():
        gather(interp, site, f"sizes of {what}")
        read(interp, site, f"sizes of {what}", "cpu")
        gather(interp, site, what)


def one_batch(interp: Any, trainer: Value, model: Value, batch: Value, loss_only: bool, site: Any) -> None:
    hook = optional(interp, trainer, "prediction_step", site)
    if hook is not None:
        with flags(interp, site, "torch.no_grad", grad=False):
            interp.call(hook, [model, batch, loss_only], {}, site)
        return
    with flags(interp, site, "torch.no_grad", grad=False):
        user_loss(interp, trainer, model, batch, site)


def prediction_step(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``Trainer.prediction_step``, called by a user's override: loss, logits and labels."""
    bound = bind("self model inputs prediction_loss_only ignore_keys", args, kwargs)
    with flags(interp, site, "torch.no_grad", grad=False), precision(interp, bound["self"], site):
        loss, outputs = compute_loss(interp, bound["self"], bound.get("model"), bound.get("inputs"), site, True)
    logits = (
        interp.getattr(outputs, "logits", site)
        if isinstance(outputs, Opaque)
        else interp.unknown("logits", "unmodelled", site)
    )
    inputs = bound.get("inputs")
    labels = inputs.items.get("labels") if isinstance(inputs, DictValue) else None
    return (loss, None, None) if bound.get("prediction_loss_only") is True else (loss, logits, labels)
