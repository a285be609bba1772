"""Logging: print, TensorBoard, wandb, ... A device tensor that is turned into text or a number makes the host wait."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.stdlib.support import nothing
from cgx.indexer.interpreter.values import Instance, ModuleInstance, Opaque, Value
from cgx.indexer.overlays.arguments import tensors_in
from cgx.indexer.overlays.transfer import on_device, sync

AUTHOR = "overlays.logs"
WRITER = "torch.utils.tensorboard.SummaryWriter"
RUN = "wandb.Run"


def logged(kind: str) -> Any:
    """A call that logs: its device tensors are read (one sync each), whatever else it does is host work."""

    def call(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        values = [*args, *kwargs.values()]
        for value in values:
            if kind == "print" and isinstance(value, Instance) and not isinstance(value, ModuleInstance):
                interp.to_text(value, site)  # its own text may read tensors
            for tensor in tensors_in(value) if not isinstance(value, Opaque) else []:
                if on_device(tensor):
                    sync(interp, kind, tensor, site)
        interp.event("log", site, author=AUTHOR, what=site.text)
        return None

    return call


def run(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Opaque(RUN, {}, site.anchor)


def writer(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Opaque(WRITER, {}, site.anchor)


ENTRIES: dict[str, Any] = {
    "builtins.print": logged("print"),
    "wandb.init": run,
    "wandb.log": logged("conversion"),
    f"{RUN}.log": logged("conversion"),
    "wandb.watch": nothing,
    "wandb.finish": nothing,
    f"{RUN}.finish": nothing,
    f"{RUN}.watch": nothing,
    WRITER: writer,
    "torch.utils.tensorboard.writer.SummaryWriter": writer,
    "tensorboardX.SummaryWriter": writer,
    "mlflow.log_metric": logged("conversion"),
    "mlflow.log_metrics": logged("conversion"),
}
for _name in ("add_scalar", "add_scalars", "add_histogram", "add_image", "add_images", "add_text", "add_figure"):
    ENTRIES[f"{WRITER}.{_name}"] = logged("conversion")
for _name in ("close", "flush", "add_graph", "add_hparams"):
    ENTRIES[f"{WRITER}.{_name}"] = nothing
BASES: dict[str, tuple[str, ...]] = {}
