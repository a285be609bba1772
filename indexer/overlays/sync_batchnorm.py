"""``SyncBatchNorm.convert_sync_batchnorm``: batch norms whose statistics are those of all ranks (read from torch 2.0-2.9).

In training each such layer gathers mean, deviation and count in its forward, throws out ranks without samples by a mask (the host waits for its
size, three times), and sums the gradients of the statistics in its backward. In evaluation it is a plain batch norm.
"""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.values import ClassValue, ModuleInstance, Value
from cgx.indexer.overlays.transfer import all_modules

AUTHOR = "overlays.sync_batchnorm"
NORMS = frozenset(f"torch.nn.BatchNorm{dims}d" for dims in (1, 2, 3))
MARK = "__cgx_synced__"  # on a converted layer


def convert(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The same module; every batch norm in it is marked and announced."""
    given = [one for one in (*args, kwargs.get("module")) if isinstance(one, ModuleInstance)]
    if not given:
        return NotImplemented
    for one in all_modules(given[0]) if interp.world.size != 1 else ():
        if any(isinstance(cls, ClassValue) and (cls.native or cls.qname) in NORMS for cls in one.cls.mro):
            interp.trail.set_item(one.attrs, MARK, True)
            interp.event("wrap", site, author=AUTHOR, wrapper="SyncBatchNorm", module=one, modules=[], blocking=True, parallelism="data",
                         sends=(("forward", "all_gather", ""), ("backward", "all_reduce", "")))  # fmt: skip
    return given[0]


ENTRIES: dict[str, Any] = {
    "torch.nn.SyncBatchNorm.convert_sync_batchnorm": convert,
    "torch.nn.modules.batchnorm.SyncBatchNorm.convert_sync_batchnorm": convert,
}
BASES: dict[str, tuple[str, ...]] = {}
