"""torch's ``ZeroRedundancyOptimizer``: each rank steps its share of the parameters, then every share is broadcast.

A step issues its broadcasts asynchronously and waits for all of them before it returns: nothing else runs beside them.
"""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.values import Opaque, Value
from cgx.indexer.overlays import optimizers
from cgx.indexer.overlays.arguments import flag

AUTHOR = "overlays.zero_redundancy"
ZERO = "torch.distributed.optim.ZeroRedundancyOptimizer"
OWN = ("optimizer_class", "process_group", "parameters_as_bucket_view", "overlap_with_ddp")


def construct(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The local optimizer is made of all parameters here: which of them a rank keeps is its own affair."""
    own = {name: kwargs.get(name) for name in OWN}
    own.update(zip(OWN, args[1:]))
    rest = {name: value for name, value in kwargs.items() if name not in OWN}
    made = interp.call(own["optimizer_class"], list(args[:1]), rest, site)
    if not isinstance(made, Opaque):
        return NotImplemented
    return Opaque(ZERO, {**made.attrs, "cgx.local": made, "cgx.overlaps": own["overlap_with_ddp"]}, site.anchor)


def broadcast(interp: Any, site: Any, what: str, asynchronous: bool | None) -> None:
    if interp.world.size != 1:
        sent = interp.event("collective", site, author=AUTHOR, collective="broadcast", issued_by="ZeroRedundancyOptimizer", parallelism="data",
                     blocking=True, async_op=asynchronous, what=what, waited_at=site.anchor)  # fmt: skip
        interp.event("wait", site, author=AUTHOR, of=sent)


def step(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    local = args[0].attrs["cgx.local"]
    loss = optimizers.step(interp, site, [local, *args[1:]], kwargs)
    if flag(args[0].attrs.get("cgx.overlaps"), False) is False:
        broadcast(interp, site, "updated parameters, from the rank that steps them", True)
    return loss


def consolidate(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The state of every rank goes to one, through the host."""
    broadcast(interp, site, "optimizer state of each rank", None)
    return None


PLACES = (ZERO, "torch.distributed.optim.zero_redundancy_optimizer.ZeroRedundancyOptimizer")
ENTRIES: dict[str, Any] = dict.fromkeys(PLACES, construct) | {f"{ZERO}.step": step, f"{ZERO}.consolidate_state_dict": consolidate}
BASES: dict[str, tuple[str, ...]] = {ZERO: (optimizers.OPTIMIZER,), PLACES[1]: (ZERO,)}
