"""What the module wrappers share: a proxy object that hands everything on to the module it holds."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.values import MISSING, ModuleInstance, Opaque, Value

FORWARDED = (
    "train", "eval", "parameters", "named_parameters", "buffers", "named_buffers", "modules", "named_modules",
    "children", "named_children", "state_dict", "load_state_dict", "requires_grad_", "apply", "zero_grad",
    "get_parameter", "get_submodule", "register_forward_hook", "register_forward_pre_hook", "float", "half", "bfloat16",
    "type", "share_memory",
)  # fmt: skip
MOVED = ("to", "cuda", "cpu")


def inner(proxy: Value) -> Value:
    """The module inside one or more proxies."""
    while isinstance(proxy, Opaque) and "module" in proxy.attrs:
        proxy = proxy.attrs["module"]
    return proxy


def call_inner(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``proxy(x)``: the module's own call."""
    return interp.call(args[0].attrs["module"], list(args[1:]), kwargs, site)


def forwarded(name: str, returns_self: bool = False) -> Any:
    def forward(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        method = interp.getattr(args[0].attrs["module"], name, site)
        result = interp.call(method, list(args[1:]), kwargs, site)
        return args[0] if returns_self else result

    return forward


def get_attribute(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """An attribute that the proxy does not have itself, for wrappers that hand attributes on (FSDP does, DDP not)."""
    proxy, name = args[0], args[1]
    return interp.getattr(proxy.attrs["module"], name, site) if name != "module" else MISSING


def proxy_entries(qname: str, hands_on: bool = False) -> dict[str, Any]:
    """Handlers of one wrapper class."""
    rows: dict[str, Any] = {f"{qname}.__call__": call_inner, f"{qname}.forward": call_inner}
    rows |= {
        f"{qname}.{name}": forwarded(name, name in ("train", "eval", "requires_grad_", "float", "half", "bfloat16"))
        for name in FORWARDED
    }
    rows |= {f"{qname}.{name}": forwarded(name, True) for name in MOVED}
    if hands_on:
        rows[f"{qname}.__getattr__"] = get_attribute
    return rows


def has_buffers(module: Value) -> bool | None:
    """Whether the module owns buffers anywhere; None for what is not a known module."""
    if not isinstance(module, ModuleInstance):
        return None
    stack: list[Any] = [module]
    while stack:
        one = stack.pop()
        if any(value is not None for value in one.buffers.values()):
            return True
        stack.extend(child for child in one.children.values() if isinstance(child, ModuleInstance))
    return False
