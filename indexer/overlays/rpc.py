"""torch.distributed.rpc: what is called on another worker is read as a call here; distributed autograd and its optimizer."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.stdlib.support import first, nothing, unknown
from cgx.indexer.interpreter.values import DictValue, ListValue, ModuleInstance, Native, Opaque, TensorValue, Value
from cgx.indexer.overlays import optimizers
from cgx.indexer.overlays.arguments import bind, items_of

AUTHOR = "overlays.rpc"
RPC = "torch.distributed.rpc"
RREF, FUTURE, PROXY, WORKER = f"{RPC}.RRef", f"{RPC}.Future", f"{RPC}.Proxy", f"{RPC}.WorkerInfo"
OPTIMIZER = "torch.distributed.optim.DistributedOptimizer"
REMOTE = "torch.distributed.nn.RemoteModule"
AUTOGRAD = "torch.distributed.autograd"


def run(interp: Any, site: Any, bound: dict[str, Value]) -> Value:
    """The function with its arguments, as the other worker runs it."""
    named = bound.get("kwargs")
    kwargs = {str(key): value for key, value in named.items.items()} if isinstance(named, DictValue) else {}
    return interp.call(bound.get("func"), list(items_of(bound.get("args")) or []), kwargs, site)


def called(wrap: str) -> Any:
    def call(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        return wrapped(run(interp, site, bind("to func args kwargs timeout", args, kwargs)), wrap, site)

    return call


def wrapped(value: Value, wrap: str, site: Any) -> Value:
    return Opaque(wrap, {"value": value}, site.anchor) if wrap else value


def held(value: Value) -> Value:
    """What a reference, a future or a proxy stands for."""
    return value.attrs.get("value") if isinstance(value, Opaque) else value


def reference(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Opaque(RREF, {"value": args[0] if args else kwargs.get("value")}, site.anchor)


def inside(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return held(args[0])


def proxy(wrap: str) -> Any:
    """``rref.rpc_sync()``: methods of what it refers to."""
    return lambda interp, site, args, kwargs: Opaque(PROXY, {"value": held(args[0]), "wrap": wrap}, site.anchor)


def method(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    owner, name = args[0], str(args[1])

    def call(at: Any, place: Any, given: list[Value], named: dict[str, Value]) -> Value:
        return wrapped(interp.call(interp.getattr(held(owner), name, place), given, named, place), str(owner.attrs.get("wrap", "")), place)

    return Native(f"{PROXY}.{name}", call)


def info(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Opaque(WORKER, {name: interp.unknown(f"{site.text}.{name}", "environment", site, hint=hint) for name, hint in (("name", "str"), ("id", "int"))}, site.anchor)


def backward(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    roots = items_of(bind("context_id roots retain_graph", args, kwargs).get("roots")) or []
    interp.event("compute", site, author=AUTHOR, key="backward", value=site.text, loss=roots[0] if roots else None)
    return None


def context(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Opaque(f"{AUTOGRAD}.context", {}, site.anchor)


def optimizer(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``DistributedOptimizer(SGD, params_rref, ...)``: one optimizer on each worker that owns parameters."""
    bound = bind("optimizer_class params_rref", args, kwargs)
    known = [held(one) for one in items_of(bound.get("params_rref")) or []]
    rest = {key: value for key, value in kwargs.items() if key not in ("optimizer_class", "params_rref")}
    params = ListValue([one for one in known if isinstance(one, TensorValue)], open=not known)
    return Opaque(OPTIMIZER, {"inner": interp.call(bound.get("optimizer_class"), [params, *args[2:]], rest, site)}, site.anchor)


def step(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return optimizers.step(interp, site, [args[0].attrs.get("inner")], {})


def remote_module(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``RemoteModule(device, cls, args, kwargs)``: made and run on the other worker."""
    bound = bind("remote_device func args kwargs", args, {("func" if key == "module_cls" else key): value for key, value in kwargs.items()})
    return Opaque(REMOTE, {"value": run(interp, site, bound)}, site.anchor)


def remote_forward(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return interp.call(held(args[0]), args[1:], kwargs, site)


def remote_parameters(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    module = held(args[0])
    listed = interp.iterate(interp.call(interp.getattr(module, "parameters", site), [], {}, site), site) if isinstance(module, ModuleInstance) else []
    return ListValue([Opaque(RREF, {"value": one}, site.anchor) for one in (listed if isinstance(listed, list) else [])])


ENTRIES: dict[str, Any] = {
    f"{RPC}.init_rpc": nothing,
    f"{RPC}.shutdown": nothing,
    f"{RPC}.get_worker_info": info,
    f"{RPC}.rpc_sync": called(""),
    f"{RPC}.rpc_async": called(FUTURE),
    f"{RPC}.remote": called(RREF),
    RREF: reference,
    f"{RPC}.functions.async_execution": first,
    f"{RREF}.to_here": inside,
    f"{RREF}.local_value": inside,
    f"{RREF}.owner": info,
    f"{RREF}.rpc_sync": proxy(""),
    f"{RREF}.rpc_async": proxy(FUTURE),
    f"{RREF}.remote": proxy(RREF),
    f"{PROXY}.__getattr__": method,
    f"{FUTURE}.wait": inside,
    f"{FUTURE}.value": inside,
    f"{AUTOGRAD}.context": context,
    f"{AUTOGRAD}.context.__enter__": unknown("environment", "int"),
    f"{AUTOGRAD}.context.__exit__": nothing,
    f"{AUTOGRAD}.backward": backward,
    f"{AUTOGRAD}.get_gradients": lambda interp, site, args, kwargs: DictValue(open=True),
    OPTIMIZER: optimizer,
    f"{OPTIMIZER}.step": step,
    REMOTE: remote_module,
    f"{REMOTE}.forward": remote_forward,
    f"{REMOTE}.__call__": remote_forward,
    f"{REMOTE}.remote_parameters": remote_parameters,
}
BASES: dict[str, tuple[str, ...]] = {}
