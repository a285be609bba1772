"""apex's mixed precision and data parallel wrapper (read from apex/amp/frontend.py at 0466713, handle.py at 007c594, scaler.py at
03b0eeb and parallel/distributed.py at 0081afb; later releases have dropped both).

``initialize`` gives models and optimizers back. ``scale_loss`` yields the scaled loss, and behind the backward reads on the host
whether a gradient overflowed. The wrapper broadcasts parameters when it is made and reduces gradients in buckets.
"""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.stdlib.support import nothing
from cgx.indexer.interpreter.values import DictValue, Instance, ListValue, Opaque, Value
from cgx.indexer.overlays import ddp
from cgx.indexer.overlays.arguments import bind, flag, plain
from cgx.indexer.overlays.optimizers import group_tensors

AUTHOR = "overlays.apex"
SCALED = "apex.amp.handle.scale_loss"
PRECISIONS = {"O0": "float32", "O1": "float16", "O2": "float16", "O3": "float16"}
DYNAMIC = ("O1", "O2")  # levels whose loss scale is found as the job runs


def initialize(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    bound = bind("models optimizers enabled opt_level", args, kwargs)
    models, optimizers = bound.get("models"), bound.get("optimizers")
    level = plain(bound.get("opt_level", "O1"))
    if flag(bound.get("enabled"), True) and level in PRECISIONS:
        interp.event("compute", site, author=AUTHOR, key="precision", value=PRECISIONS[level], how=f"apex amp {level}")
        if level in DYNAMIC:
            interp.event("compute", site, author=AUTHOR, key="grad_scaler", value="enabled", enabled=True)
    return models if optimizers is None else (models, optimizers)


def scale_loss(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Opaque(SCALED, bind("loss optimizers loss_id model delay_unscale delay_overflow_check", args, kwargs), site.anchor)


def enter(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return interp.op("operator.mul", [args[0].attrs.get("loss"), 1.0], {}, site)


def leave(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The gradients are checked, unless that is put off."""
    waits = [flag(args[0].attrs.get(name), False) for name in ("delay_unscale", "delay_overflow_check")]
    if not any(waits):
        interp.event("sync", site, author=AUTHOR, sync="item", what="overflow", internal=True)
    return None


def master_params(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The parameters in the optimizer's groups."""
    groups = args[0].attrs.get("param_groups") if args and isinstance(args[0], Opaque | Instance) else None
    if not isinstance(groups, ListValue):
        return interp.unknown(site.text, "data", site)
    known = [group.items.get("params") for group in groups.items if isinstance(group, DictValue)]
    return ListValue([one for params in known for one in group_tensors(interp, params, site)], groups.open)


def wrap(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Only parameters are broadcast, and no buffers before a forward."""
    module = bind("module", args, kwargs).get("module")
    if interp.world.size != 1:
        interp.event("collective", site, author=AUTHOR, collective="broadcast", what="parameters", issued_by="DistributedDataParallel",
                     blocking=True, parallelism="data", group_value=None)  # fmt: skip
    return ddp.construct(interp, site, [module], {"init_sync": False, "broadcast_buffers": False})


ENTRIES: dict[str, Any] = {
    "apex.amp.initialize": initialize,
    "apex.amp.frontend.initialize": initialize,
    "apex.amp.scale_loss": scale_loss,
    SCALED: scale_loss,
    f"{SCALED}.__enter__": enter,
    f"{SCALED}.__exit__": leave,
    "apex.amp.master_params": master_params,
    "apex.amp.state_dict": lambda interp, site, args, kwargs: DictValue(open=True),
    "apex.amp.load_state_dict": nothing,
    "apex.parallel.DistributedDataParallel": wrap,
    "apex.parallel.distributed.DistributedDataParallel": wrap,
}
BASES: dict[str, tuple[str, ...]] = {}
