"""Saving and loading: torch.save, torch.load, distributed checkpoints, safetensors."""

from __future__ import annotations

import ast
from typing import Any

from cgx.indexer.interpreter import loaded
from cgx.indexer.interpreter.stdlib.files import TEXT_FILE
from cgx.indexer.interpreter.stdlib.support import text_of
from cgx.indexer.interpreter.values import Device, DictValue, FunctionValue, ModuleInstance, Opaque, Value
from cgx.indexer.overlays.arguments import argument_text, bind, device_type, tensors_in
from cgx.indexer.overlays.data_files import loaded_data
from cgx.indexer.overlays.transfer import ACCELERATORS, load_state, on_device, tensor_bytes

AUTHOR = "overlays.serialization"


def save(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``torch.save(obj, f)``: storages on the device are copied to the host one by one, and the host waits for each."""
    bound = bind("obj f", args, kwargs)
    what = argument_text(site, 0, "obj") or site.text
    interp.event("checkpoint", site, author=AUTHOR, what=what, action="save")
    tensors = [tensor for tensor in tensors_in(bound.get("obj"), modules=True) if on_device(tensor)]
    if tensors:
        sizes = [tensor_bytes(tensor) for tensor in tensors]
        interp.event("copy", site, author=AUTHOR, direction="D2H", what=what, source="pageable", non_blocking=False, blocks_host=True,
                     bytes=sum(size for size in sizes if size) if all(sizes) else None, sync_kind="other", carrier="checkpoint")  # fmt: skip
    path = path_of(bound.get("f"))
    if path is not None:
        interp.trail.set_item(interp.flags, f"saved in {path}", bound.get("obj"))
    return None


def path_of(file: Value) -> str | None:
    """The path of a file, or of an open one, where it is known."""
    if isinstance(file, Opaque) and file.qname == TEXT_FILE:
        file = file.attrs.get("name")
    return text_of(file)


def load(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``torch.load``: never read. What is in the file is not known; ``map_location`` may put it on the device.

    What the job itself wrote there comes back as it was, tensors on the device they were on.
    """
    bound = bind("f map_location pickle_module", args, kwargs)
    text = argument_text(site, 0, "f")
    interp.event("checkpoint", site, author=AUTHOR, what=text or site.text, action="load")
    where = device_type(bound.get("map_location"))
    kept = interp.flags.get(f"saved in {path_of(bound.get('f'))}") if bound.get("map_location") is None else None
    back = kept is not None and any(on_device(tensor) for tensor in tensors_in(kept, modules=True))
    if where in ACCELERATORS or back:
        interp.event("copy", site, author=AUTHOR, direction="H2D", what=site.text, source="pageable", non_blocking=False, blocks_host=True,
                     sync_kind="other", carrier="checkpoint", action="load")  # fmt: skip
    if kept is not None:
        note_loaded(interp, not back)
        return kept
    loaded_data(interp, site, path_of(bound.get("f")) or text or "")
    note_loaded(interp, where == "cpu" or keeps_storage(bound.get("map_location")))
    return interp.unknown(site.text, "missing-file", site, hint=loaded.HELD["cpu" if keeps_storage(bound.get("map_location")) else where if where in ("cpu", "cuda") else None])


def keeps_storage(value: Value) -> bool:
    """``map_location=lambda storage, loc: storage``: what was read stays on the host."""
    node = value.node if isinstance(value, FunctionValue) else None
    return isinstance(node, ast.Lambda) and isinstance(node.body, ast.Name) and [one.arg for one in node.args.args][:1] == [node.body.id]


def note_loaded(interp: Any, on_host: bool) -> None:
    """Whether all that was loaded so far lies on the host: what a module then takes from it is copied."""
    interp.trail.set_item(interp.flags, "loaded_on_host", on_host and interp.flags.get("loaded_on_host", True))


def dcp_save(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``torch.distributed.checkpoint.save``: every rank writes its shards, copied to the host first."""
    interp.event(
        "checkpoint",
        site,
        author=AUTHOR,
        what=argument_text(site, 0, "state_dict") or site.text,
        action="save",
        distributed=True,
    )
    interp.event("copy", site, author=AUTHOR, direction="D2H", what=argument_text(site, 0, "state_dict") or site.text, source="pageable",
                 non_blocking=False, blocks_host=True, sync_kind="other", carrier="checkpoint")  # fmt: skip
    return None


def dcp_async_save(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``async_save``: the copy to the host is waited for, the writing is not."""
    dcp_save(interp, site, args, kwargs)
    interp.event(
        "overlap",
        site,
        author=AUTHOR,
        what="writing the checkpoint",
        with_="the following steps",
        mechanism="async checkpoint",
        stream="",
    )
    return Opaque("concurrent.futures.Future", {}, site.anchor)


def dcp_load(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    interp.event(
        "checkpoint",
        site,
        author=AUTHOR,
        what=argument_text(site, 0, "state_dict") or site.text,
        action="load",
        distributed=True,
    )
    return None


def safetensors_load(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    interp.event("checkpoint", site, author=AUTHOR, what=site.text, action="load")
    if device_type(kwargs.get("device", args[1] if len(args) > 1 else "cpu")) in ACCELERATORS:
        interp.event("copy", site, author=AUTHOR, direction="H2D", what=site.text, source="pageable", non_blocking=False, blocks_host=True,
                     sync_kind="other", carrier="checkpoint", action="load")  # fmt: skip
    note_loaded(interp, kwargs.get("device", args[1] if len(args) > 1 else "cpu") in ("cpu", Device("cpu")))
    return DictValue(open=True)


def safetensors_load_model(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``load_model(model, file)``: the file is read to the host (or to ``device``), then the model takes its weights from there."""
    bound = bind("model filename strict device", args, kwargs)
    state = safetensors_load(interp, site, [bound.get("filename")], {"device": bound["device"]} if "device" in bound else {})
    if isinstance(bound.get("model"), ModuleInstance):
        load_state(interp, site, [bound["model"], state], {})
    return NotImplemented


ENTRIES: dict[str, Any] = {
    "torch.save": save,
    "torch.serialization.save": save,
    "safetensors.torch.save_file": save,
    "torch.load": load,
    "torch.serialization.load": load,
    "ultralytics.utils.patches.torch_load": load,
    "safetensors.torch.load_file": safetensors_load,
    "safetensors.torch.load_model": safetensors_load_model,
    "safetensors.torch.save_model": save,
    "torch.distributed.checkpoint.save": dcp_save,
    "torch.distributed.checkpoint.state_dict_saver.save": dcp_save,
    "torch.distributed.checkpoint.async_save": dcp_async_save,
    "torch.distributed.checkpoint.state_dict_saver.async_save": dcp_async_save,
    "torch.distributed.checkpoint.load": dcp_load,
    "torch.distributed.checkpoint.state_dict_loader.load": dcp_load,
}
BASES: dict[str, tuple[str, ...]] = {}
MEMBERS: dict[str, frozenset[str]] = {"torch.distributed.checkpoint.stateful.Stateful": frozenset({"state_dict", "load_state_dict"})}  # a protocol
