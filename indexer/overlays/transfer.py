"""Copies between host and device, and what makes the host wait: tensors, modules, checkpoints.

``sync`` and ``copy`` are also called by the interpreter for what has no call of its own: ``if tensor``, ``float(t)``,
``print``, f-strings. A tensor whose device is not known gives no event: it may lie on the host.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cgx.indexer.interpreter.values import (
    ByRank,
    Device,
    DictValue,
    DType,
    External,
    ModuleInstance,
    TensorValue,
    Unknown,
    Value,
)
from cgx.indexer.overlays.arguments import (
    argument_text,
    bind,
    device_type,
    dtype_name,
    flag,
    is_device,
    receiver_text,
)

AUTHOR = "overlays.transfer"
FOLLOWS = "cgx.follows"  # of a module that knows its device: it changes as the module is moved
ACCELERATORS = frozenset({"cuda", "xpu", "npu", "hpu", "mtia"})
ITEM_BYTES = {
    "float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "int64": 8, "int32": 4, "int16": 2, "int8": 1,
    "uint8": 1, "bool": 1, "float8_e4m3fn": 1, "float8_e5m2": 1, "complex64": 8, "complex128": 16,
}  # fmt: skip
READS = frozenset({"item", "cpu", "tolist", "numpy", "conversion", "print"})  # these also copy to the host


def on_device(value: Value) -> bool:
    return isinstance(value, TensorValue) and value.device in ACCELERATORS and value.library == "torch"


def tensor_bytes(tensor: TensorValue, dtype: str | None = None) -> int | None:
    """Size in bytes where every dim is a number. ``dtype``: what its elements become on the host, before they are copied."""
    dtype = dtype or tensor.dtype
    if tensor.shape is None or dtype not in ITEM_BYTES:
        return None
    size = ITEM_BYTES[dtype]
    for dim in tensor.shape:
        if not isinstance(dim, int):
            return None
        size *= dim
    return size


def sync(interp: Any, kind: str, tensor: Value, site: Any, what: str = "") -> None:
    """The host waits for the device value ``tensor``. ``kind`` is one of the contract's words. No event for host tensors."""
    if not on_device(tensor):
        return
    interp.event(
        "sync", site, author=AUTHOR, sync=kind, what=what or site.text, reads=kind in READS, bytes=tensor_bytes(tensor)
    )


def blocks(direction: str, pinned: bool | None, non_blocking: bool | None) -> bool | None:
    """Whether the host waits. A pageable source is staged by the host even where non_blocking is asked for."""
    if non_blocking is False:
        return True
    if non_blocking is None:
        return None
    if direction == "D2H":
        return False
    return None if pinned is None else not pinned


def copy(interp: Any, tensor: Value, target: Value, non_blocking: Value, site: Any, what: str = "", dtype: str | None = None) -> None:
    """An event for a tensor that goes to another side. Nothing for a copy that stays on one side or whose ends are unknown."""
    goal = device_type(target) if not isinstance(target, str) or target else None
    if not isinstance(tensor, TensorValue) or tensor.device is None or goal is None or tensor.library != "torch":
        return
    here, there = tensor.device in ACCELERATORS, goal in ACCELERATORS
    if here == there or "meta" in (tensor.device, goal):
        return
    direction = "D2H" if here else "H2D"
    asked = flag(non_blocking, False)
    pinned = bool(tensor.pinned)  # a host tensor is pageable unless something pinned it
    source = None if here else "pinned" if pinned else "pageable"
    waits = blocks(direction, pinned, asked)
    interp.event(
        "copy", site, author=AUTHOR, direction=direction, what=what or receiver_text(site), source=source,
        non_blocking=asked, blocks_host=waits, bytes=tensor_bytes(tensor, None if here else dtype), sync_kind="cpu" if here and waits else None,
        tensor=tensor, stream=interp.flags.get("stream"),
    )  # fmt: skip


def moved(tensor: TensorValue, result: Value, target: str | None, non_blocking: bool | None) -> Value:
    """The result with the device and pinning that the copy gives it."""
    if isinstance(result, TensorValue) and target is not None and result is not tensor:
        if result.device != target:
            result.device = target
        if target != tensor.device:
            result.pinned = bool(non_blocking) if target == "cpu" else None
    return result


def to_targets(args: list[Value], kwargs: dict[str, Value]) -> tuple[Value, Value, Value]:
    """(device, dtype, non_blocking) of ``x.to(...)`` in all its forms."""
    device, dtype, non_blocking = kwargs.get("device"), kwargs.get("dtype"), kwargs.get("non_blocking")
    rest = list(args)
    if "other" in kwargs:
        rest.insert(0, kwargs["other"])
    for value in rest:
        if isinstance(value, TensorValue):
            device, dtype = value.device, DType(value.dtype) if value.dtype else None
        elif isinstance(value, DType):
            dtype = value
        elif isinstance(value, bool):
            non_blocking = value if non_blocking is None else non_blocking
        elif is_device(value) or (device is None and is_index(value)):
            device = value
    return device, dtype, non_blocking


def is_index(value: Value) -> bool:
    """A number of a device, on each rank its own too."""
    return isinstance(value, int) or (isinstance(value, ByRank) and all(isinstance(one, int) for one in value.values))


def tensor_to(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``Tensor.to``: an op, and a copy where it changes sides."""
    tensor = args[0]
    device, dtype, non_blocking = to_targets(args[1:], kwargs)
    result = interp.op("torch.Tensor.to", args, kwargs, site)
    if not isinstance(tensor, TensorValue):
        return result
    if device is not None:
        copy(interp, tensor, device, non_blocking, site, dtype=dtype_name(dtype))
    return moved(tensor, result, device_type(device) if device is not None else None, flag(non_blocking, False))


def tensor_cuda(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``Tensor.cuda(device=None, non_blocking=False)``."""
    bound = bind("self device non_blocking", args, kwargs)
    result = interp.op("torch.Tensor.cuda", args, kwargs, site)
    copy(interp, bound["self"], "cuda", bound.get("non_blocking"), site)
    return moved(bound["self"], result, "cuda", None) if isinstance(bound["self"], TensorValue) else result


def tensor_cpu(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The op's row says that it waits, and that it copies."""
    result = interp.op("torch.Tensor.cpu", args, kwargs, site)
    return moved(args[0], result, "cpu", None) if isinstance(args[0], TensorValue) else result


def tensor_pin(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``Tensor.pin_memory``: copied into page-locked memory by the calling thread."""
    result = interp.op("torch.Tensor.pin_memory", args, kwargs, site)
    interp.event(
        "data",
        site,
        author=AUTHOR,
        hop="pin",
        by="torch.Tensor.pin_memory",
        workers=0,
        asynchronous=False,
        blocks_step=True,
    )
    if isinstance(result, TensorValue) and result is not args[0]:
        result.pinned, result.device = True, "cpu"
    return result


def tensor_copy_(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``target.copy_(source, non_blocking=False)``: a copy where the two lie on different sides."""
    bound = bind("self src non_blocking", args, kwargs)
    source, target = bound.get("src"), bound["self"]
    result = interp.op("torch.Tensor.copy_", args, kwargs, site)
    if isinstance(source, TensorValue) and isinstance(target, TensorValue) and target.device is not None:
        copy(interp, source, target.device, bound.get("non_blocking"), site, what=site.text)
    return result


def module_tensors(module: ModuleInstance, seen: set[int] | None = None) -> Iterator[TensorValue]:
    """Parameters and buffers of a module and all below it, shared ones once."""
    seen = set() if seen is None else seen
    if id(module) in seen:
        return
    seen.add(id(module))
    for tensor in [*module.parameters.values(), *module.buffers.values()]:
        if isinstance(tensor, TensorValue) and id(tensor) not in seen:
            seen.add(id(tensor))
            yield tensor
    for child in module.children.values():
        if isinstance(child, ModuleInstance):
            yield from module_tensors(child, seen)


def all_modules(module: ModuleInstance, seen: set[int] | None = None) -> Iterator[ModuleInstance]:
    seen = set() if seen is None else seen
    if id(module) not in seen:
        seen.add(id(module))
        yield module
        for child in module.children.values():
            if isinstance(child, ModuleInstance):
                yield from all_modules(child, seen)


def floats(tensor: TensorValue) -> bool:
    return (tensor.dtype or "float").startswith(("float", "bfloat"))


def endless(module: ModuleInstance) -> bool:
    """A list of parts somewhere below has a length that is not known: one part stands for all."""
    return any("*" in one.children or isinstance(one.attrs.get("__cgx_length__"), Unknown) for one in all_modules(module))


def move_module(
    interp: Any,
    module: ModuleInstance,
    target: str | None,
    dtype: str | None,
    non_blocking: Value,
    site: Any,
    what: str = "",
    phase: str | None = None,
) -> Value:
    """Move parameters and buffers in place; one copy event for all of them. ``phase``: of the copy, where a life cycle knows it."""
    tensors = list(module_tensors(module))
    changed = [tensor for tensor in tensors if target is not None and tensor.device not in (target, None, "meta")]
    sides = {(tensor.device in ACCELERATORS) for tensor in changed}
    if target is not None and changed and (target in ACCELERATORS) not in sides:
        direction = "H2D" if target in ACCELERATORS else "D2H"
        cast = dtype if direction == "H2D" else None  # what goes down is cast behind the copy
        sizes = [None] if endless(module) else [tensor_bytes(tensor, cast if floats(tensor) else None) for tensor in changed]
        asked = flag(non_blocking, False)
        interp.event(
            "copy", site, author=AUTHOR, direction=direction, what=what or receiver_text(site),
            source="pageable" if direction == "H2D" else None, non_blocking=asked, blocks_host=True,
            bytes=sum(size for size in sizes if size) if all(size is not None for size in sizes) else None,
            carrier="module", sync_kind="other", module=module, phase=phase,
        )  # fmt: skip
    for tensor in tensors:
        if target is not None and tensor.device not in (target, "meta"):
            interp.trail.set(tensor, "device", target)
        if dtype is not None and floats(tensor):
            interp.trail.set(tensor, "dtype", dtype)
    if target is not None:
        for one in all_modules(module):
            if one.device != target:
                interp.trail.set(one, "device", target)
            if one.attrs.get(FOLLOWS) and one.attrs["device"] != Device(target):
                interp.trail.set_item(one.attrs, "device", Device(target))
    return module


def module_to(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    module = args[0]
    if not isinstance(module, ModuleInstance):
        return NotImplemented
    device, dtype, non_blocking = to_targets(args[1:], kwargs)
    return move_module(interp, module, device_type(device), dtype_name(dtype), non_blocking, site)


def module_to_empty(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``module.to_empty(device=...)``: new storage there, whatever the tensors lay on; nothing is copied."""
    module = args[0]
    if not isinstance(module, ModuleInstance):
        return NotImplemented
    target = device_type(kwargs.get("device", args[1] if len(args) > 1 else None))
    if target is not None:
        holders: list[TensorValue | ModuleInstance] = [*module_tensors(module), *all_modules(module)]
        for holder in holders:
            if holder.device != target:
                interp.trail.set(holder, "device", target)
    return module


def load_state(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``load_state_dict(state, assign=True)``: parameters made on meta take the place of what was loaded, the host.

    A parameter that is laid out over a mesh is loaded as one that lies there too.
    """
    module = args[0]
    if isinstance(module, ModuleInstance) and flag(kwargs.get("assign"), False):
        for tensor in module_tensors(module):
            if tensor.device == "meta":
                interp.trail.set(tensor, "device", "cuda" if "cgx.placement" in tensor.attrs else "cpu")
        for one in all_modules(module):
            if one.device == "meta":
                interp.trail.set(one, "device", "cpu")
    elif isinstance(module, ModuleInstance) and len(args) > 1 and interp.flags.get("loaded_on_host") and from_file(args[1]):
        there = [tensor for tensor in module_tensors(module) if tensor.device in ACCELERATORS]
        if there:
            sizes = [None] if endless(module) else [tensor_bytes(tensor) for tensor in there]
            interp.event("copy", site, author=AUTHOR, direction="H2D", what=argument_text(site, 0, "state_dict") or site.text, source="pageable",
                         non_blocking=False, blocks_host=True, bytes=sum(size for size in sizes if size) if all(sizes) else None,
                         carrier="module", sync_kind="other", module=module)  # fmt: skip
    return NotImplemented


def from_file(state: Value) -> bool:
    """What a file held, read to the host: unknown, or a mapping whose tensors are."""
    if isinstance(state, Unknown):
        return state.reason == "missing-file"
    return isinstance(state, DictValue) and bool(state.open) and not any(isinstance(one, TensorValue) for one in state.items.values())


def module_cast(name: str, target: str | None = None, dtype: str | None = None) -> Any:
    """``module.cuda()``, ``.cpu()``, ``.half()``, ..."""

    def cast(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        if not isinstance(args[0], ModuleInstance):
            return NotImplemented
        return move_module(interp, args[0], target, dtype, False, site)

    return cast


def factory_copy(interp: Any, result: Value, source: Value, site: Any, what: str = "", pinned: bool = False, batch: bool = False) -> None:
    """``torch.tensor(host data, device=cuda)``: the list is packed on the host and copied, pageable, while the host waits.

    ``batch``: the data is an array, not numbers of the job's own.
    """
    if not on_device(result) or on_device(source) or tensor_bytes(result) == 0:
        return
    interp.event("copy", site, author=AUTHOR, direction="H2D", what=what or site.text, source="pinned" if pinned else "pageable", non_blocking=False,
                 blocks_host=True, bytes=tensor_bytes(result), tensor=result, sync_kind="other", factory=not batch)  # fmt: skip


def index_copy(interp: Any, index: TensorValue, device: str, site: Any) -> None:
    """``device_tensor[host_index]``: the index is made a tensor there, from pageable memory, while the host waits."""
    interp.event("copy", site, author=AUTHOR, direction="H2D", what=f"index of {site.text}", source="pageable", non_blocking=False, blocks_host=True,
                 bytes=tensor_bytes(index), tensor=index, sync_kind="other", factory=True, index=True)  # fmt: skip


def parse_to(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """What ``Module.to`` reads its arguments with: (device, dtype, non_blocking, memory format)."""
    device, dtype, non_blocking = to_targets(args, kwargs)
    made = interp.call(External("torch.device"), [device], {}, site) if isinstance(device, str | int) else device
    return (made, dtype, non_blocking if non_blocking is not None else False, kwargs.get("memory_format"))


ENTRIES: dict[str, Any] = {
    "torch._C._nn._parse_to": parse_to,
    "torch.Tensor.to": tensor_to,
    "torch.Tensor.cuda": tensor_cuda,
    "torch.Tensor.cpu": tensor_cpu,
    "torch.Tensor.pin_memory": tensor_pin,
    "torch.Tensor.copy_": tensor_copy_,
    "torch.nn.Module.load_state_dict": load_state,
    "torch.nn.Module.to": module_to,
    "torch.nn.Module.to_empty": module_to_empty,
    "torch.nn.Module.cuda": module_cast("cuda", target="cuda"),
    "torch.nn.Module.cpu": module_cast("cpu", target="cpu"),
    "torch.nn.Module.half": module_cast("half", dtype="float16"),
    "torch.nn.Module.bfloat16": module_cast("bfloat16", dtype="bfloat16"),
    "torch.nn.Module.float": module_cast("float", dtype="float32"),
    "torch.nn.Module.double": module_cast("double", dtype="float64"),
}
BASES: dict[str, tuple[str, ...]] = {}
__all__ = ["ACCELERATORS", "BASES", "ENTRIES", "copy", "factory_copy", "on_device", "sync"]
