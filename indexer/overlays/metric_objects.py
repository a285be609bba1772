"""torchmetrics whose source is not given: what an update looks at, and what ``compute`` gathers (read from torchmetrics 1.0-1.9).

A metric keeps its states on the device of what it is given. Aggregators look for NaN at each update; classification metrics with
``validate_args`` (the default) look at the labels. ``compute`` gathers each state once, until the next update.
"""

from __future__ import annotations

import re
from typing import Any

from cgx.indexer.interpreter.values import Device, DictValue, ListValue, Opaque, TensorValue, Value
from cgx.indexer.overlays.arguments import bind, device_type, flag, items_of, number, plain, tensors_in
from cgx.indexer.overlays.transfer import ACCELERATORS

AUTHOR = "overlays.metric_objects"
METRIC, COLLECTION = "torchmetrics.Metric", "torchmetrics.MetricCollection"
NAMED = re.compile(r"torchmetrics\.(?!functional|utilities)(?:\w+\.)*([A-Z]\w+)")
AGGREGATORS = {"MeanMetric": 2, "SumMetric": 1, "MaxMetric": 1, "MinMetric": 1, "CatMetric": 1, "RunningMean": 2, "RunningSum": 1}  # -> states
TWICE = ("MaxMetric", "MinMetric")  # full_state_update: forward updates the whole and the batch's
SCORES = ("Accuracy", "F1Score", "FBetaScore", "Precision", "Recall", "Specificity", "StatScores", "HammingDistance")
MATRICES = ("ConfusionMatrix", "JaccardIndex", "CohenKappa", "MatthewsCorrCoef")
CURVES = ("AUROC", "AveragePrecision", "ROC", "PrecisionRecallCurve")
TASKS = ("Binary", "Multiclass", "Multilabel")


def family(interp: Any, qname: str, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The constructor of a metric: what it does is told by its name."""
    found = NAMED.fullmatch(qname)
    if found is None:
        return NotImplemented
    name = found[1]
    if name == "MetricCollection":
        given = args[0] if args else kwargs.get("metrics")
        return Opaque(COLLECTION, {"metrics": given, "cgx.name": name}, site.anchor, qname)
    first = {"task": args[0]} if args and isinstance(args[0], str) else {}
    return Opaque(METRIC, {"device": "cpu", **first, **kwargs, "cgx.name": name, "cgx.computed": False}, site.anchor, qname)


def task_of(metric: Opaque) -> tuple[str, str]:
    """``MulticlassAccuracy(...)`` and ``Accuracy(task="multiclass", ...)``: what is measured, and the task."""
    name = str(metric.attrs["cgx.name"])
    task = next((task for task in TASKS if name.startswith(task)), "")
    return (name.removeprefix(task), task.lower()) if task else (name, str(plain(metric.attrs.get("task")) or ""))


def members(value: Value) -> list[Opaque]:
    """The metric itself, or those of a collection."""
    if not isinstance(value, Opaque) or value.qname != COLLECTION:
        return [value] if isinstance(value, Opaque) else []
    held = value.attrs["metrics"]
    listed = list(held.items.values()) if isinstance(held, DictValue) else items_of(held) or []
    return [one for item in listed for one in members(item)]


def update(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    for metric in members(args[0]):
        looked_at(interp, metric, [*args[1:], *kwargs.values()], site)
    return None


def looked_at(interp: Any, metric: Opaque, given: list[Value], site: Any) -> None:
    """What an update asks the device, where its inputs lie there."""
    interp.trail.set_item(metric.attrs, "cgx.computed", False)
    tensors = [tensor for value in given for tensor in tensors_in(value)]
    on_device = next((tensor.device for tensor in tensors if tensor.device in ACCELERATORS), None)
    if tensors:
        interp.trail.set_item(metric.attrs, "device", on_device or tensors[0].device)
    name, task = task_of(metric)
    if name in AGGREGATORS:
        if not tensors and number(given[0] if given else None) is not None and metric.attrs["device"] in ACCELERATORS:
            on_device = metric.attrs["device"]
            interp.event("copy", site, author=AUTHOR, direction="H2D", what="number that is added", source="pageable", non_blocking=False,
                         blocks_host=True, bytes=4, sync_kind="other", factory=True)  # fmt: skip
        if on_device and plain(metric.attrs.get("nan_strategy", "warn")) != "disable":
            asked(interp, site, "branch", "nans.any()", "nans_weight.any()")
        return
    if not on_device or name not in (*SCORES, *MATRICES, *CURVES):
        return
    labels = bool(tensors) and (tensors[0].dtype or "").startswith(("int", "uint", "bool"))
    if flag(metric.attrs.get("validate_args"), True) is not False:
        if task == "binary" or task == "multilabel":
            for _ in range(2 if labels else 1):
                asked(interp, site, "other", "torch.unique(target)")
                asked(interp, site, "branch", "labels other than 0 and 1")
        elif task == "multiclass" and (labels or name in CURVES):
            for _ in range(2 if labels else 1):
                asked(interp, site, "other", "torch.unique(target)")
    average = plain(metric.attrs.get("average", "macro" if str(metric.attrs["cgx.name"]).startswith("Multiclass") else "micro"))
    if task == "multiclass" and (name in MATRICES or (name in SCORES and average != "micro" and (number(metric.attrs.get("top_k", 1)) or 1) == 1)):
        asked(interp, site, "other", "torch.bincount")


def asked(interp: Any, site: Any, kind: str, *texts: str) -> None:
    for text in texts:
        interp.event("sync", site, author=AUTHOR, sync=kind, what=f"{text} in {site.text}", internal=True)


def call(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``metric(preds, target)``: updates, and gives the batch's value. Nothing is gathered unless ``dist_sync_on_step``."""
    given = [*args[1:], *kwargs.values()]
    for metric in members(args[0]):
        on_step = flag(metric.attrs.get("dist_sync_on_step"), False) is True
        for _ in range(2 if metric.attrs["cgx.name"] in TWICE or on_step else 1):
            looked_at(interp, metric, given, site)
        if on_step:
            gathered(interp, metric, site)
            interp.trail.set_item(metric.attrs, "cgx.computed", False)
    return result(args[0])


def compute(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value], phase: str | None = None) -> Value:
    """Gathered over the ranks (``sync_on_compute``), and kept until the next update."""
    for metric in members(args[0]):
        if flag(metric.attrs.get("sync_on_compute"), True) is not False and metric.attrs["cgx.computed"] is not True:
            gathered(interp, metric, site, phase)
        interp.trail.set_item(metric.attrs, "cgx.computed", True)
    return result(args[0])


def gathered(interp: Any, metric: Opaque, site: Any, phase: str | None = None) -> None:
    """Each state: a barrier; for what is no scalar the shapes, which the host compares; the state."""
    if interp.world.size == 1:
        return
    name, _ = task_of(metric)
    scalars, others = AGGREGATORS.get(name, 0), 4 if name in SCORES else 1 if name not in AGGREGATORS else 0
    if name == "CatMetric":
        scalars, others = 0, 1
    where = {} if phase is None else {"phase": phase}
    for each in [("barrier", "all_gather")] * scalars + [("barrier", "all_gather", "", "all_gather")] * others:
        for collective in each:
            if collective:
                interp.event("collective", site, author=AUTHOR, collective=collective, issued_by="torchmetrics", blocking=True, parallelism="data",
                             what=f"state of {name}", **where)  # fmt: skip
            elif metric.attrs["device"] in ACCELERATORS:
                interp.event("sync", site, author=AUTHOR, sync="branch", what=f"shapes of {name}'s state on all ranks", internal=True, **where)


def result(metric: Value) -> Value:
    """A scalar on the metric's device; of a collection, one by each name."""
    if not isinstance(metric, Opaque):
        return None
    if metric.qname != COLLECTION:
        whole = plain(metric.attrs.get("average", "micro")) not in (None, "none")
        held = metric.attrs["device"]
        return TensorValue(() if whole else None, "float32", held if isinstance(held, str) else None)
    held = metric.attrs["metrics"]
    if isinstance(held, DictValue):
        return DictValue({key: result(one) for key, one in held.items.items()}, open=held.open)
    return DictValue({str(one.attrs["cgx.name"]): result(one) for one in members(metric)})


def to(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    target = args[1] if len(args) > 1 else kwargs.get("device")
    named = device_type(target) if isinstance(target, Device | str) else None
    for metric in members(args[0]):
        if named is not None:
            interp.trail.set_item(metric.attrs, "device", named)
    return args[0]


def moved(device: str) -> Any:
    return lambda interp, site, args, kwargs: to(interp, site, [args[0], device], {})


def reset(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    for metric in members(args[0]):
        interp.trail.set_item(metric.attrs, "cgx.computed", False)
    return None


def clone(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``clone(prefix=..., postfix=...)``: another of the same kind."""
    metric, bound = args[0], bind("self prefix postfix", args, kwargs)
    if metric.qname != COLLECTION:
        return Opaque(METRIC, dict(metric.attrs), site.anchor, metric.name)
    held, before, after = metric.attrs["metrics"], str(plain(bound.get("prefix")) or ""), str(plain(bound.get("postfix")) or "")
    named = held.items.items() if isinstance(held, DictValue) else [(str(one.attrs["cgx.name"]), one) for one in members(metric)]
    copies = {f"{before}{key}{after}": Opaque(METRIC, dict(one.attrs), site.anchor, one.name) for key, one in named if isinstance(one, Opaque)}
    return Opaque(COLLECTION, {**metric.attrs, "metrics": DictValue(copies)}, site.anchor, metric.name)


def item(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    held, key = args[0].attrs.get("metrics"), args[1]
    return held.items.get(key) if isinstance(held, DictValue) and isinstance(key, str) else interp.unknown(site.text, "data", site)


def listed(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    held = args[0].attrs.get("metrics")
    names = held.items.items() if isinstance(held, DictValue) else [(one.attrs["cgx.name"], one) for one in members(args[0])]
    return ListValue([(key, one) for key, one in names])


METHODS: dict[str, Any] = {
    "update": update,
    "__call__": call,
    "forward": call,
    "compute": compute,
    "reset": reset,
    "to": to,
    "cuda": moved("cuda"),
    "cpu": moved("cpu"),
    "clone": clone,
}
FAMILIES: tuple[tuple[str, Any], ...] = (("torchmetrics", family),)
ENTRIES: dict[str, Any] = {f"{kind}.{name}": method for kind in (METRIC, COLLECTION) for name, method in METHODS.items()}
ENTRIES[f"{COLLECTION}.__getitem__"] = item
ENTRIES[f"{COLLECTION}.items"] = listed
BASES: dict[str, tuple[str, ...]] = {}
