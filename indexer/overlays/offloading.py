"""What accelerate's ``AlignDevicesHook`` does with a module's own weights: they come before its forward and are dropped behind it.

Read from accelerate 1.15 (hooks.py): ``set_module_tensor_to_device`` moves each parameter with a blocking copy of its own; behind the forward
it becomes a tensor on meta, as the host has kept its values: nothing is copied back.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from cgx.indexer.interpreter.recorder import shown_at
from cgx.indexer.interpreter.trace import BranchNode, LoopNode
from cgx.indexer.interpreter.values import Alternatives, Device, Instance, ModuleInstance, TensorValue, Value
from cgx.indexer.overlays.arguments import device_type
from cgx.indexer.overlays.sourceless import HOOK, WEIGHTS
from cgx.indexer.overlays.transfer import all_modules, copy, module_tensors, move_module

AUTHOR = "overlays.offloading"


def come(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The parameters of the module itself go to the device, one by one."""
    module, device = args[0], device_type(args[1])
    if not isinstance(module, ModuleInstance) or device is None:
        return None
    if WEIGHTS in module.parameters:
        layer_by_layer(interp, module, device, site, module.cls.name)
        return None
    for name, tensor in module.parameters.items():
        if isinstance(tensor, TensorValue) and tensor.device != device:
            copy(interp, tensor, device, False, site, what=f"{name} of {module.cls.name}")
            interp.trail.set(tensor, "device", device)
    return None


def layer_by_layer(interp: Any, module: ModuleInstance, device: str, site: Any, name: str) -> None:
    """A model whose layers are not known: as many copies as it has weights."""
    each = interp.unknown(f"layers of {name}", "missing-file", site, hint="int")
    loop = LoopNode(site.anchor, site.text, count=each, expr=f"layers of {name}", target="layer", over="container", bound=site.anchor)
    with interp.inside(loop):
        move_module(interp, module, device, None, False, site, what=f"weights of {name}, layer by layer")


def go(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The device's copies are dropped."""
    if isinstance(args[0], ModuleInstance):
        dropped(interp, args[0])
    return None


def dropped(interp: Any, module: ModuleInstance) -> None:
    tensors = module_tensors(module) if WEIGHTS in module.parameters else module.parameters.values()
    for tensor in tensors:
        if isinstance(tensor, TensorValue) and tensor.device != "cpu":
            interp.trail.set(tensor, "device", "cpu")


def model_comes(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``CpuOffload``: the whole model goes to the device, unless it lies there: in the first round of a loop alone."""
    hook, module = args
    device = device_type(hook.attrs.get("execution_device")) or "cuda"
    if isinstance(module, ModuleInstance):
        if hook.attrs.get("brought") is not True:
            whole(interp, site, hook, module, "H2D")
        interp.trail.set_item(hook.attrs, "brought", True)
        lie(interp, module, device)
    return None


def model_goes(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """It goes back, if it has come."""
    hook, module = args
    if not isinstance(module, ModuleInstance):
        return None
    if hook.attrs.get("brought") is False:
        move_module(interp, module, "cpu", None, False, site)
        return None
    whole(interp, site, hook, module, "D2H")
    interp.trail.set_item(hook.attrs, "brought", False)
    lie(interp, module, "cpu")
    return None


def whole(interp: Any, site: Any, hook: Instance, module: ModuleInstance, direction: str) -> None:
    """One copy of all weights. Where the hook's state differs between the rounds of a loop, it is the first that copies."""
    state = hook.attrs.get("brought")
    first = state.anchor if isinstance(state, Alternatives) else None
    inside_loop = first is not None and any(isinstance(node, LoopNode) and node.anchor == first for node in interp.stack)
    with interp.inside(BranchNode(shown_at(interp, site.anchor), "at the first call", decided=True, first=first)) if inside_loop else nullcontext():
        interp.event("copy", site, author=AUTHOR, direction=direction, what=f"weights of {module.cls.name}", source="pageable" if direction == "H2D" else None,
                     non_blocking=False, blocks_host=True, carrier="module", sync_kind="other", module=module)  # fmt: skip


def lie(interp: Any, module: ModuleInstance, device: str) -> None:
    for tensor in module_tensors(module):
        if tensor.device != device:
            interp.trail.set(tensor, "device", device)


def each_with_weights(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """What is done to each module that has parameters of its own."""
    for module in list(all_modules(args[0])) if isinstance(args[0], ModuleInstance) else ():
        if module.parameters:
            interp.call(args[1], [module], {}, site)
    return None


def runs_on(module: ModuleInstance) -> Device | None:
    """The device that a hook of the module, or of one below it, brings weights to."""
    for one in all_modules(module):
        hook = one.attrs.get(HOOK)
        device = hook.attrs.get("execution_device") if isinstance(hook, Instance) else None
        if isinstance(device, Device):
            return device
    return None


ENTRIES: dict[str, Any] = {  # the stand-in's own names
    f"accelerate.hooks.{name}": handler
    for name, handler in (("own_weights_come", come), ("own_weights_go", go), ("each_with_weights", each_with_weights),
                          ("model_comes", model_comes), ("model_goes", model_goes))
}
BASES: dict[str, tuple[str, ...]] = {}
