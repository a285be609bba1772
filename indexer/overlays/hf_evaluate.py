"""The metrics of ``evaluate`` (0.4): what they are given is turned into Python objects one by one, each device value by itself."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.trace import LoopNode
from cgx.indexer.interpreter.values import DictValue, Opaque, Value
from cgx.indexer.overlays.arguments import tensors_in
from cgx.indexer.overlays.transfer import on_device, sync

METRIC = "evaluate.EvaluationModule"


def load(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Opaque(METRIC, {}, site.anchor)


def read(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``add_batch``, ``compute``: the host waits for every sample of a device tensor."""
    for tensor in tensors_in((*args[1:], *kwargs.values())):
        if on_device(tensor):
            count = (
                tensor.shape[0]
                if tensor.shape
                else interp.unknown(f"len({tensor.name or 'predictions'})", "data", site, hint="int")
            )
            with interp.inside(
                LoopNode(
                    site.anchor,
                    site.text,
                    count=count,
                    expr="samples",
                    target="sample",
                    over="comprehension",
                    bound=site.anchor,
                )
            ):
                sync(interp, "cpu", tensor, site)
    return DictValue(open=True)


ENTRIES: dict[str, Any] = {
    "evaluate.load": load,
    "evaluate.combine": load,
    f"{METRIC}.add_batch": read,
    f"{METRIC}.add": read,
    f"{METRIC}.compute": read,
}
BASES: dict[str, tuple[str, ...]] = {}
