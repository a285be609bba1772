"""Modules of classes whose source is not there: one parameter that stands for all weights, and calls without an inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cgx.indexer.interpreter.trace import ModuleCall
from cgx.indexer.interpreter.values import ClassValue, Device, External, Instance, ModuleInstance, TensorValue, Value
from cgx.indexer.overlays.transfer import module_tensors

WEIGHTS = "weights"  # stands for all parameters: how many there are is not known


def blank(interp: Any, qname: str, site: Any, model: str) -> ModuleInstance:
    """A module of a class that is not there; the table of ``model`` answers its methods."""
    base = interp.native_class("torch.nn.Module")
    name = qname.rpartition(".")[2]
    cls = ClassValue(name, qname, name, "", None, [External(model), base], [], {}, native=qname)
    cls.mro = [cls, External(model), *base.mro]
    module = interp.new_instance(cls, site)
    module.parameters[WEIGHTS] = TensorValue(None, None, "cpu", parameter=True, requires_grad=True)
    module.open = True
    return module


HOOK = "_hf_hook"  # accelerate's, of a module whose weights are offloaded


def device_of(module: Value) -> str | None:
    """Where it runs: where the weights lie, or where an offloading hook brings them."""
    hook = module.attrs.get(HOOK) if isinstance(module, ModuleInstance) else None
    if isinstance(hook, Instance) and isinstance(hook.attrs.get("execution_device"), Device):
        return str(hook.attrs["execution_device"].type)
    found = next(module_tensors(module), None) if isinstance(module, ModuleInstance) else None
    return found.device if found is not None else None


def called(
    interp: Any, site: Any, module: ModuleInstance, args: Sequence[Value] = (), kwargs: Mapping[str, Value] | None = None, method: str = "forward", root: bool = True
) -> ModuleCall:
    """One call of such a module, with the tensors that it is given; ``root``: the module is a model of the job by itself."""
    from cgx.indexer.interpreter.module_calls import tensors_of

    given = [*(("", arg) for arg in args), *(kwargs or {}).items()]
    hook = module.attrs.get(HOOK)
    if isinstance(hook, Instance):
        interp.call(interp.getattr(hook, "pre_forward", site), [module], {}, site)
    node = ModuleCall(site.anchor, site.text, module=module, called_from=site.anchor, method=method)
    node.training, node.grad = module.training, bool(interp.flags.get("grad", True))
    node.autocast = module.attrs.get("__cgx_autocast__", interp.flags.get("autocast"))
    node.inputs = [(name, one) for name, value in given for one in tensors_of(value)]
    interp.emit(node)
    if root and not any(one is module for one in interp.trace.model_roots):
        interp.trace.model_roots.append(module)
    if isinstance(hook, Instance):
        interp.call(interp.getattr(hook, "post_forward", site), [module, None], {}, site)
    return node
