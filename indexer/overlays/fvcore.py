"""fvcore: its checkpointers and the family of its schedules (read from fvcore 0.1.5).

``Checkpointer.save`` writes what the state dicts hold, on the ranks that save to disk; ``PeriodicCheckpointer`` does it every so many steps.
"""

from __future__ import annotations

import contextlib
from typing import Any

from cgx.indexer.interpreter.trace import BranchNode
from cgx.indexer.interpreter.values import ByRank, DictValue, Instance, Opaque, Value
from cgx.indexer.overlays.arguments import argument_text, bind, tensors_in
from cgx.indexer.overlays.lifecycle import every
from cgx.indexer.overlays.transfer import on_device, tensor_bytes

AUTHOR = "overlays.fvcore"
SAVER, PERIODIC = "fvcore.common.checkpoint.Checkpointer", "fvcore.common.checkpoint.PeriodicCheckpointer"
SCHEDULES = ("ConstantParamScheduler", "CosineParamScheduler", "ExponentialParamScheduler", "LinearParamScheduler", "CompositeParamScheduler", "MultiStepParamScheduler",
             "StepParamScheduler", "StepWithFixedGammaParamScheduler", "PolynomialDecayParamScheduler")  # fmt: skip


def held(interp: Any, owner: Value, signature: str, defaults: dict[str, Value], args: list[Value], kwargs: dict[str, Value], more: str) -> None:
    bound = bind(signature, args, kwargs)
    named = {name: bound.get(name, defaults.get(name)) for name in signature.split()}
    named[more] = DictValue({name: value for name, value in bound.items() if name not in named})
    for name, value in named.items():
        interp.trail.set_item(owner.attrs, name, value)


def constructed(qname: str, signature: str, defaults: dict[str, Value], more: str) -> tuple[Any, Any]:
    """Two handlers: for the class itself, and for ``super().__init__`` of a class of the source."""

    def make(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        made = Opaque(qname, {}, site.anchor)
        held(interp, made, signature, defaults, args, kwargs, more)
        return made

    def initialise(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        if isinstance(args[0], Instance | Opaque):
            held(interp, args[0], signature, defaults, args[1:], kwargs, more)
        return None

    return make, initialise


def save(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``checkpointer.save(name)``: on the ranks that write, each tensor comes to the host."""
    written(interp, args[0], site)
    return None


def written(interp: Any, saver: Value, site: Any) -> None:
    attrs = saver.attrs if isinstance(saver, Instance | Opaque) else {}
    to_disk = attrs.get("save_to_disk", True)
    if to_disk is False:
        return
    ranks = tuple(place for place, one in enumerate(to_disk.values) if one is True) if isinstance(to_disk, ByRank) else None
    only: Any = contextlib.nullcontext()
    if ranks is not None:
        only = interp.inside(BranchNode(site.anchor, "self.save_to_disk", ranks=ranks, decided=True))
    tensors = [tensor for tensor in tensors_in(DictValue({"model": attrs.get("model")}), modules=True) if on_device(tensor)]
    sizes = [tensor_bytes(tensor) for tensor in tensors]
    with only:
        interp.event("checkpoint", site, author=AUTHOR, what="checkpoint of model and optimizer", action="save")
        interp.event("copy", site, author=AUTHOR, direction="D2H", what="checkpoint of model and optimizer", source="pageable", non_blocking=False, blocks_host=True,
                     bytes=sum(size for size in sizes if size) if sizes and all(sizes) else None, sync_kind="other", carrier="checkpoint")  # fmt: skip


def step(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``periodic.step(iteration)``: each ``period`` steps, and at the end."""
    attrs = args[0].attrs if isinstance(args[0], Instance | Opaque) else {}
    period = attrs.get("period")
    counter = argument_text(site, 0, "iteration") or "iteration"
    with every(interp, site, counter, int(period) if isinstance(period, int | float) else period, "(iteration + 1) % self.period == 0"):
        written(interp, attrs.get("checkpointer"), site)
    return None


def load(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    interp.event("checkpoint", site, author=AUTHOR, what=site.text, action="load")
    return DictValue(open=True)


_saver, _saver_init = constructed(SAVER, "model save_dir save_to_disk", {"save_dir": "", "save_to_disk": True}, "checkpointables")
_periodic, _periodic_init = constructed(PERIODIC, "checkpointer period max_iter max_to_keep file_prefix", {"file_prefix": "model"}, "recent_checkpoints")
ENTRIES: dict[str, Any] = {
    SAVER: _saver, f"{SAVER}.__init__": _saver_init, f"{SAVER}.save": save, f"{SAVER}.load": load, f"{SAVER}.resume_or_load": load,
    PERIODIC: _periodic, f"{PERIODIC}.__init__": _periodic_init, f"{PERIODIC}.step": step, f"{PERIODIC}.save": save,
}  # fmt: skip
BASES: dict[str, tuple[str, ...]] = {f"fvcore.common.param_scheduler.{name}": ("fvcore.common.param_scheduler.ParamScheduler",) for name in SCHEDULES}
