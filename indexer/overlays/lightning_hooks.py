"""Hooks of Lightning: of the user's module, data module and callbacks, each called with what its version of the signature takes."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.values import BoundMethod, FunctionValue, Instance, ListValue, Opaque, Value
from cgx.indexer.overlays.lifecycle import optional


def attribute(interp: Any, owner: Value, name: str, site: Any) -> Value:
    """A hook of the user's class, or one that was set on the object."""
    held = owner.attrs.get(name) if isinstance(owner, Instance) else None
    return held if held is not None else optional(interp, owner, name, site)


def call(interp: Any, trainer: Opaque, owner: Value, name: str, args: list[Value], site: Any) -> Value:
    """One hook; what it logs is logged by its name."""
    hook = attribute(interp, owner, name, site)
    if hook is None:
        return None
    before = trainer.attrs.get("cgx.hook")
    trainer.attrs["cgx.hook"] = name
    try:
        return interp.call(hook, fitting(hook, args), {}, site)
    finally:
        trainer.attrs["cgx.hook"] = before


def fitting(hook: Value, args: list[Value]) -> list[Value]:
    """As many arguments as the hook's signature takes: ``dataloader_idx`` came and went."""
    func = hook.func if isinstance(hook, BoundMethod) else hook
    if not isinstance(func, FunctionValue):
        return args
    spec = func.node.args
    names = [one.arg for one in [*spec.posonlyargs, *spec.args]][1 if isinstance(hook, BoundMethod) else 0 :]
    if spec.vararg is not None:
        return args
    required = len(names) - len(spec.defaults)
    return [*args[: len(names)], *[0] * max(0, required - len(args))]


def callbacks(interp: Any, trainer: Opaque, model: Value, name: str, args: list[Value], site: Any) -> None:
    """The hook of every callback of the user, in order; Lightning's own are part of the loops."""
    listed = trainer.attrs.get("callbacks")
    for one in listed.items if isinstance(listed, ListValue) else ():
        if isinstance(one, Instance):
            call(interp, trainer, one, name, [trainer, model, *args], site)


def both(interp: Any, trainer: Opaque, model: Value, name: str, args: list[Value], site: Any) -> None:
    """Callbacks first, then the module."""
    callbacks(interp, trainer, model, name, args, site)
    call(interp, trainer, model, name, args, site)
