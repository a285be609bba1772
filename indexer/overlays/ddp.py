"""DistributedDataParallel and DataParallel.

What DDP sends without a call in the user's code: at construction the parameter shapes are compared (all_gather) and
parameters and buffers are broadcast from rank 0; in the backward gradients are all-reduced in buckets, unless the sync is
off (``no_sync`` or ``require_backward_grad_sync``); before a forward buffers are broadcast, where there are any. The first
two are events here, the last two are derived by the passes from the wrapper event and the calls that follow.
"""

from __future__ import annotations

import ast
from typing import Any

from cgx.indexer.interpreter.values import ModuleInstance, Opaque, Value
from cgx.indexer.overlays.arguments import bind, flag, unparse
from cgx.indexer.overlays.groups import replicas
from cgx.indexer.overlays.wrappers import has_buffers, inner, proxy_entries

AUTHOR = "overlays.ddp"
DDP = "torch.nn.parallel.DistributedDataParallel"
DP = "torch.nn.DataParallel"
SIGNATURE = (
    "module device_ids output_device dim broadcast_buffers init_sync process_group bucket_cap_mb find_unused_parameters "
    "check_reduction gradient_as_bucket_view static_graph"
)


def construct(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The wrapper: two collectives now, the rest with each forward and backward."""
    bound = bind(SIGNATURE, args, kwargs)
    module = bound.get("module")
    target = inner(module)
    group = bound.get("process_group")
    if flag(bound.get("init_sync"), True) is not False and interp.world.size != 1:
        common: dict[str, Any] = {
            "issued_by": "DistributedDataParallel",
            "blocking": True,
            "parallelism": "data",
            "group_value": group,
        }
        interp.event("collective", site, author=AUTHOR, collective="all_gather", what="parameter shapes", **common)
        interp.event("collective", site, author=AUTHOR, collective="broadcast", what="parameters and buffers", **common)
    if isinstance(target, ModuleInstance):
        interp.trail.append(target.wrappers, ("DistributedDataParallel", site.anchor))
    buffers = flag(bound.get("broadcast_buffers"), True) and has_buffers(target)
    interp.event(
        "wrap", site, author=AUTHOR, wrapper="DistributedDataParallel", module=target if isinstance(target, ModuleInstance) else None,
        broadcast_buffers=bool(buffers), static_graph=flag(bound.get("static_graph"), False), group_value=group,
    )  # fmt: skip
    attrs: dict[str, Value] = {
        "module": module,
        "require_backward_grad_sync": True,
        "require_forward_param_sync": True,
        "device_ids": bound.get("device_ids"),
        "process_group": group or replicas(interp),
    }
    return Opaque(DDP, attrs, site.anchor)


def set_attribute(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``model.require_backward_grad_sync = condition``: gradients are reduced only where it holds."""
    proxy, name, value = args[0], args[1], args[2]
    interp.trail.set_item(proxy.attrs, name, value)
    if name == "require_backward_grad_sync":
        node = site.node
        text = (
            unparse(node.value)
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
            else str(value)
        )
        interp.event(
            "compute",
            site,
            author=AUTHOR,
            key="grad_sync",
            value=f"only where {text}",
            guard=text,
            known=flag(value),
            module=inner(proxy),
        )
    return None


def no_sync(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``with model.no_sync():`` gradients stay local inside."""
    interp.event("compute", site, author=AUTHOR, key="grad_sync", value="no_sync", module=inner(args[0]))
    return Opaque(f"{DDP}.no_sync", {"module": inner(args[0])}, site.anchor)


def comm_hook(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    interp.event(
        "compute", site, author=AUTHOR, key="grad_sync", value=f"communication hook {site.text}", module=inner(args[0])
    )
    return None


def data_parallel(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``nn.DataParallel``: one process, the module is replicated for every forward over the visible devices."""
    module = bind("module device_ids output_device dim", args, kwargs).get("module")
    target = inner(module)
    if isinstance(target, ModuleInstance):
        interp.trail.append(target.wrappers, ("DataParallel", site.anchor))
    interp.event(
        "wrap",
        site,
        author=AUTHOR,
        wrapper="DataParallel",
        module=target if isinstance(target, ModuleInstance) else None,
    )
    return Opaque(DP, {"module": module}, site.anchor)


ENTRIES: dict[str, Any] = {
    DDP: construct,
    "torch.nn.parallel.distributed.DistributedDataParallel": construct,
    f"{DDP}.__setattr__": set_attribute,
    f"{DDP}.no_sync": no_sync,
    f"{DDP}.register_comm_hook": comm_hook,
    DP: data_parallel,
    "torch.nn.parallel.DataParallel": data_parallel,
    "torch.nn.parallel.data_parallel.DataParallel": data_parallel,
    **{name: row for name, row in (proxy_entries(DDP) | proxy_entries(DP)).items() if name != f"{DDP}.no_sync"},
}
BASES: dict[str, tuple[str, ...]] = {DDP: ("torch.nn.Module",), DP: ("torch.nn.Module",)}
