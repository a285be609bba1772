"""torch.distributions: what samples, densities and entropies are, and the checks of arguments, which the host waits for.

By default every constructor checks its parameters and ``log_prob`` its value: ``if not valid.all(): raise``, a branch on a
device value each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cgx.indexer.interpreter.values import Opaque, TensorValue, Value
from cgx.indexer.ops.shapes import broadcast
from cgx.indexer.overlays.arguments import bind, flag, items_of
from cgx.indexer.overlays.transfer import on_device, sync

BASE = "torch.distributions.Distribution"


@dataclass(frozen=True)
class Row:
    """``signature``: parameters; ``event``: how many last dims of them are one event; ``whole``: samples are integers."""

    name: str
    signature: str
    module: str
    event: int = 0
    drops: int = 0  # last dims of the parameters that a sample does not have
    whole: bool = False

    @property
    def qname(self) -> str:
        return f"torch.distributions.{self.name}"


ROWS: tuple[Row, ...] = (
    Row("Categorical", "probs logits validate_args", "categorical", drops=1, whole=True),
    Row("OneHotCategorical", "probs logits validate_args", "one_hot_categorical", event=1),
    Row("Bernoulli", "probs logits validate_args", "bernoulli"),
    Row("Normal", "loc scale validate_args", "normal"),
    Row("LogNormal", "loc scale validate_args", "log_normal"),
    Row("Laplace", "loc scale validate_args", "laplace"),
    Row("Uniform", "low high validate_args", "uniform"),
    Row("Beta", "concentration1 concentration0 validate_args", "beta"),
    Row("Gamma", "concentration rate validate_args", "gamma"),
    Row("Exponential", "rate validate_args", "exponential"),
    Row("Poisson", "rate validate_args", "poisson"),
    Row("Dirichlet", "concentration validate_args", "dirichlet", event=1),
)


def construct(row: Row) -> Any:
    def make(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        bound = bind(row.signature, args, kwargs)
        given = [value for name, value in bound.items() if name != "validate_args" and isinstance(value, TensorValue)]
        checks = checked(interp, bound.get("validate_args"))
        for tensor in given if checks else ():
            sync(interp, "branch", tensor, site, f"check of the parameters of {row.name}")
        shape = shape_of(given, row)
        device = next((value.device for value in given if value.device is not None), None)
        attrs: dict[str, Value] = {
            **{name: value for name, value in bound.items() if name != "validate_args" and value is not None},
            "cgx.shape": shape, "cgx.device": device, "cgx.event": row.event, "cgx.whole": row.whole, "cgx.checks": checks,
        }  # fmt: skip
        return Opaque(row.qname, attrs, site.anchor)

    return make


def checked(interp: Any, value: Value) -> bool:
    default = interp.flags.get("distributions_check", True)
    return bool(flag(value, bool(default)))


def shape_of(given: list[TensorValue], row: Row) -> tuple[Any, ...] | None:
    """Shape of one sample."""
    if not given or any(value.shape is None for value in given):
        return None
    whole = broadcast(*(value.shape for value in given))
    if whole is None:
        return None
    return tuple(whole[: len(whole) - row.drops]) if row.drops else tuple(whole)


def batch(dist: Opaque) -> tuple[Any, ...] | None:
    shape, event = dist.attrs.get("cgx.shape"), dist.attrs.get("cgx.event", 0)
    return None if shape is None else tuple(shape[: len(shape) - event] if event else shape)


def sample(grad: bool) -> Any:
    def draw(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        dist = args[0]
        asked = items_of(kwargs.get("sample_shape", args[1] if len(args) > 1 else ())) or []
        shape = dist.attrs.get("cgx.shape")
        whole = None if shape is None else (*(one if isinstance(one, int) else None for one in asked), *shape)
        dtype = "int64" if dist.attrs.get("cgx.whole") else "float32"
        return TensorValue(whole, dtype, dist.attrs.get("cgx.device"), requires_grad=grad)

    return draw


def log_prob(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    dist = args[0]
    value = kwargs.get("value", args[1] if len(args) > 1 else None)
    held = dist.attrs.get("cgx.device")
    if dist.attrs.get("cgx.checks") and isinstance(value, TensorValue):
        sync(interp, "branch", value, site, "check of the value")
    device = held if held is not None else value.device if isinstance(value, TensorValue) and on_device(value) else None
    shape, event = batch(dist), dist.attrs.get("cgx.event", 0)
    if shape is not None and isinstance(value, TensorValue) and value.shape is not None:
        shape = broadcast(shape, tuple(value.shape[: len(value.shape) - event] if event else value.shape))
    return TensorValue(shape, "float32", device, requires_grad=True)


def statistic(full: bool) -> Any:
    """Entropy (a number for each member of the batch), or a mean, mode, variance of a sample's shape."""

    def make(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        dist = args[0]
        return TensorValue(dist.attrs.get("cgx.shape") if full else batch(dist), "float32", dist.attrs.get("cgx.device"), requires_grad=True)

    return make


def attribute(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    dist, name = args[0], args[1]
    if name in ("mean", "mode", "variance", "stddev"):
        return statistic(True)(interp, site, [dist], {})
    if name in ("probs", "logits"):
        other = dist.attrs.get("logits" if name == "probs" else "probs")
        return TensorValue(other.shape, other.dtype, other.device, requires_grad=True) if isinstance(other, TensorValue) else NotImplemented
    if name == "batch_shape":
        found = batch(dist)
        return found if found is not None else NotImplemented
    return NotImplemented


def independent(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The last dims of the batch become part of the event."""
    bound = bind("base_distribution reinterpreted_batch_ndims validate_args", args, kwargs)
    base, extra = bound.get("base_distribution"), bound.get("reinterpreted_batch_ndims")
    if not isinstance(base, Opaque) or not isinstance(extra, int):
        return NotImplemented
    attrs = {**base.attrs, "base_dist": base, "cgx.event": base.attrs.get("cgx.event", 0) + extra}
    return Opaque("torch.distributions.Independent", attrs, site.anchor)


def divergence(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    first = args[0] if args else kwargs.get("p")
    if not isinstance(first, Opaque):
        return NotImplemented
    return TensorValue(batch(first), "float32", first.attrs.get("cgx.device"), requires_grad=True)


def set_checks(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    interp.trail.set_item(interp.flags, "distributions_check", flag(args[0] if args else kwargs.get("value"), True))
    return None


ENTRIES: dict[str, Any] = {
    "torch.distributions.Independent": independent,
    "torch.distributions.independent.Independent": independent,
    "torch.distributions.kl_divergence": divergence,
    "torch.distributions.kl.kl_divergence": divergence,
    f"{BASE}.set_default_validate_args": set_checks,
    "torch.distributions.distribution.Distribution.set_default_validate_args": set_checks,
    f"{BASE}.sample": sample(False),
    f"{BASE}.rsample": sample(True),
    f"{BASE}.log_prob": log_prob,
    f"{BASE}.entropy": statistic(False),
    f"{BASE}.__getattr__": attribute,
}
BASES: dict[str, tuple[str, ...]] = {"torch.distributions.Independent": (BASE,)}
for _row in ROWS:
    ENTRIES[_row.qname] = ENTRIES[f"torch.distributions.{_row.module}.{_row.name}"] = construct(_row)
    BASES[_row.qname] = (BASE,)
