"""Models that a pickle or a checkpoint holds whole: which class they are of, no source says; what they take and give lies on their device."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.loaded import DEVICES, UNPICKLED, WHOLE
from cgx.indexer.interpreter.trace import ModuleCall
from cgx.indexer.interpreter.values import ModuleInstance, TensorValue, Unknown, Value
from cgx.indexer.overlays.hf_outside_models import WEIGHTS, blank, device_of


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
    from cgx.indexer.interpreter.module_calls import tensors_of

    module = args[0]
    if not isinstance(module, ModuleInstance):
        return NotImplemented
    node = ModuleCall(site.anchor, site.text, module=module, called_from=site.anchor)
    node.training, node.grad = module.training, bool(interp.flags.get("grad", True))
    node.autocast = interp.flags.get("autocast")
    node.inputs = [(name, one) for name, value in [*(("", arg) for arg in args[1:]), *kwargs.items()] for one in tensors_of(value)]
    interp.emit(node)
    if not any(one is module for one in interp.trace.model_roots):
        interp.trace.model_roots.append(module)
    return TensorValue(None, None, device_of(module))


def fused(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return args[0]


ENTRIES: dict[str, Any] = {
    f"{UNPICKLED}.made": made,
    f"{UNPICKLED}.forward": forward,
    f"{UNPICKLED}.__call__": forward,
    f"{UNPICKLED}.fuse": fused,
}
BASES: dict[str, tuple[str, ...]] = {UNPICKLED: ("torch.nn.Module",)}
