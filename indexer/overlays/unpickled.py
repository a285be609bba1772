"""Models that a pickle or a checkpoint holds whole: which class they are of, no source says; what they take and give lies on their device."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.loaded import DEVICES, UNPICKLED, WHOLE
from cgx.indexer.interpreter.stdlib.support import first
from cgx.indexer.interpreter.values import ModuleInstance, TensorValue, Unknown, Value
from cgx.indexer.overlays.sourceless import WEIGHTS, blank, called, device_of


def made(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The module that the loaded object is."""
    owner = args[0]
    if not isinstance(owner, Unknown):
        return NotImplemented
    interp.note_unknown(owner)
    module = blank(interp, "torch.nn.Module", site, UNPICKLED)
    module.parameters[WEIGHTS].device = module.device = DEVICES[owner.hint]
    module.attrs[WHOLE] = True
    return module


def forward(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    module = args[0]
    if not isinstance(module, ModuleInstance):
        return NotImplemented
    called(interp, site, module, args[1:], kwargs)
    return TensorValue(None, None, device_of(module))


ENTRIES: dict[str, Any] = {
    f"{UNPICKLED}.made": made,
    f"{UNPICKLED}.forward": forward,
    f"{UNPICKLED}.__call__": forward,
    f"{UNPICKLED}.fuse": first,
}
BASES: dict[str, tuple[str, ...]] = {UNPICKLED: ("torch.nn.Module",)}
