"""DeepSpeed's pipelines: a ``PipelineModule`` whose engine runs a whole step in ``train_batch`` (deepspeed 0.15-0.19).

Per micro-batch: the first stage copies the inputs to the device, the last one the labels (both blocking); activations go to the
next stage, gradients back, by blocking point-to-point calls. After the last one tied weights and the gradients of the data-parallel
copies are all-reduced, the optimizer steps, and the loss goes from the last stage to all others.
"""

from __future__ import annotations

import contextlib
from typing import Any

from cgx.indexer.interpreter.trace import BranchNode, LoopNode
from cgx.indexer.interpreter.values import ByRank, External, Instance, ModuleInstance, Opaque, TensorValue, Value
from cgx.indexer.overlays import deepspeed
from cgx.indexer.overlays.arguments import items_of
from cgx.indexer.overlays.deepspeed_config import batch_of
from cgx.indexer.overlays.deepspeed_runtime import repeating
from cgx.indexer.overlays.lifecycle import flags, moved_batch, set_mode
from cgx.indexer.overlays.wrappers import inner

AUTHOR = "overlays.deepspeed_pipe"
ENGINE = "deepspeed.PipelineEngine"
MODULE = "deepspeed.pipe.PipelineModule"


def is_pipeline(model: Value) -> bool:
    module = inner(model)
    return isinstance(module, ModuleInstance) and module.cls.derives(MODULE)


def initialize(interp: Any, site: Any, bound: dict[str, Value]) -> Value:
    """As without a pipeline; ranks of one stage hold different data, and the loader belongs to the engine."""
    module = inner(bound["model"])
    settings = deepspeed.settings_of(interp, bound, site)
    data, bound = bound.get("training_data"), {**bound, "training_data": None}
    engine, optimizer, _, scheduler = deepspeed.start(interp, site, bound, settings, batch_of(settings, copies(interp, module)), ENGINE)
    engine.attrs["cgx.loads"] = True
    if data is not None:
        engine.attrs["cgx.data"] = repeating(interp, site, [deepspeed.make_loader(interp, engine, data, site)], {})
    return (engine, optimizer, None, scheduler)


def stages(module: Value) -> int | None:
    count = module.attrs.get("num_stages") if isinstance(module, ModuleInstance) else None
    return count if isinstance(count, int) else None


def copies(interp: Any, module: ModuleInstance) -> Any:
    """How many copies of the pipeline there are: what the stages and a topology's model axis leave of the ranks."""
    topology = module.attrs.get("_topo")
    known: dict[str, Value] = topology.attrs if isinstance(topology, Instance) else {}
    dims, axes = items_of(known.get("dims")), items_of(known.get("axes"))
    if dims is not None and axes is not None and "data" in axes:
        return dims[axes.index("data")]
    count = stages(module)
    return interp.world.size // count if isinstance(interp.world.size, int) and count else interp.world.size


@contextlib.contextmanager
def on_stages(interp: Any, engine: Opaque, site: Any, text: str, first: int, last: int) -> Any:
    """On the stages from ``first`` up to before ``last``: the ranks stand stage by stage."""
    count, world = stages(inner(engine)), interp.world.size
    ranks = None
    if count and isinstance(world, int) and world % count == 0:
        each = world // count
        ranks = tuple(rank for rank in interp.world.ranks if first <= rank // each < last)
    with interp.inside(BranchNode(site.anchor, text, decided=True, ranks=ranks)):
        yield


def message(interp: Any, site: Any, collective: str, what: str, phase: str) -> None:
    interp.event("collective", site, author=AUTHOR, collective=collective, issued_by="PipelineEngine", blocking=True, async_op=False,
                 parallelism="pipeline", what=what, phase=phase)  # fmt: skip


def train_batch(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``engine.train_batch(data_iter)``: all micro-batches of a step, then the update."""
    engine = args[0]
    source = args[1] if len(args) > 1 else kwargs.get("data_iter")
    if source is None:
        source = engine.attrs.get("cgx.data")
    module, steps = inner(engine), engine.attrs["cgx.batch"].steps
    count = stages(module) or 2
    set_mode(interp, module, True, site)
    loop = LoopNode(site.anchor, site.text, count=steps, expr="gradient_accumulation_steps", target="micro_batch", over="range", bound=site.anchor)
    with interp.inside(loop):
        loss = forward(interp, engine, source, count, site)
        if count > 1:
            with on_stages(interp, engine, site, "not the last stage", 0, count - 1):
                message(interp, site, "recv", "gradients", "backward")
        interp.event("compute", site, author=AUTHOR, key="backward", value="engine.train_batch", loss=loss)
        if count > 1:
            with on_stages(interp, engine, site, "not the first stage", 1, count):
                message(interp, site, "send", "gradients", "backward")
    if count > 1 and tied(module):
        interp.event("collective", site, author=AUTHOR, collective="all_reduce", issued_by="PipelineEngine", blocking=True, parallelism="pipeline",
                     what="gradients of tied weights", phase="backward")  # fmt: skip
    deepspeed.taken(interp, engine, site)
    report(interp, engine, count, site)
    return TensorValue((), "float32", "cuda")


def forward(interp: Any, engine: Opaque, source: Value, count: int, site: Any) -> Value:
    """One micro-batch through the stages; the loss, where the module has one."""
    module = inner(engine)
    batch = interp.call(External("next"), [source], {}, site) if source is not None else None
    if (hook := engine.attrs.get("cgx.batch_fn")) is not None:
        batch = interp.call(hook, [batch], {}, site)
    parts = items_of(batch) or []
    with on_stages(interp, engine, site, "first stage", 0, 1):
        inputs = moved_batch(interp, parts[0], False, site, AUTHOR, "inputs") if parts else interp.unknown("inputs", "data", site, hint="tensor")
    with on_stages(interp, engine, site, "last stage", count - 1, count):
        labels = moved_batch(interp, parts[1], False, site, AUTHOR, "labels") if len(parts) > 1 else None
    if count > 1:
        with on_stages(interp, engine, site, "not the first stage", 1, count):
            message(interp, site, "recv", "activations", "forward")
    deepspeed.timed(interp, engine, site, "forward")
    result = interp.call(engine.attrs["module"], [inputs], {}, site)
    if count > 1:
        with on_stages(interp, engine, site, "not the last stage", 0, count - 1):
            message(interp, site, "send", "activations", "forward")
    function = module.attrs.get("loss_fn") if isinstance(module, ModuleInstance) else None
    return interp.call(function, [result, labels], {}, site) if function is not None else result


def tied(module: Value) -> bool:
    held = module.children.get("tied_modules") if isinstance(module, ModuleInstance) else None
    return isinstance(held, ModuleInstance) and bool(held.children)


def report(interp: Any, engine: Opaque, count: int, site: Any) -> None:
    """The loss: its mean over the copies, then from the last stage to the others."""
    common: dict[str, Any] = {"issued_by": "PipelineEngine", "blocking": True, "what": "loss", "phase": "logging"}
    if copies(interp, inner(engine)) != 1:
        with on_stages(interp, engine, site, "last stage", count - 1, count):
            interp.event("collective", site, author=AUTHOR, collective="all_reduce", parallelism="data", **common)
    if count > 1:
        interp.event("collective", site, author=AUTHOR, collective="broadcast", parallelism="pipeline", **common)


def eval_batch(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``engine.eval_batch(data_iter)``: forwards only."""
    engine = args[0]
    source = args[1] if len(args) > 1 else kwargs.get("data_iter")
    module, count = inner(engine), stages(inner(engine)) or 2
    set_mode(interp, module, False, site)
    loop = LoopNode(site.anchor, site.text, count=engine.attrs["cgx.batch"].steps, expr="micro_batches", target="micro_batch", over="range", bound=site.anchor)
    with flags(interp, site, "torch.no_grad", grad=False), interp.inside(loop):
        forward(interp, engine, source, count, site)
    report(interp, engine, count, site)
    return TensorValue((), "float32", "cuda")


def remember(name: str) -> Any:
    def call(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        interp.trail.set_item(args[0].attrs, name, args[1] if len(args) > 1 else next(iter(kwargs.values()), None))
        return None

    return call


def set_loader(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    interp.trail.set_item(args[0].attrs, "cgx.data", repeating(interp, site, args[1:], kwargs))
    return None


def stage_is(last: bool) -> Any:
    def call(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        count, world = stages(inner(args[0])), interp.world.size
        if not count or not isinstance(world, int) or world % count:
            return interp.unknown(site.text, "environment", site, hint="bool")
        wanted = count - 1 if last else 0
        values = tuple(rank // (world // count) == wanted for rank in interp.world.ranks)
        return values[0] if len(set(values)) == 1 else ByRank(values)

    return call


def forbidden(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``forward``, ``backward`` and ``step`` of a pipeline's engine raise."""
    return interp.raise_("RuntimeError", "only train_batch() and eval_batch() are accessible in a pipeline", site)


ENTRIES: dict[str, Any] = {
    f"{ENGINE}.train_batch": train_batch,
    f"{ENGINE}.eval_batch": eval_batch,
    f"{ENGINE}.set_dataloader": set_loader,
    f"{ENGINE}.set_dataiterator": remember("cgx.data"),
    f"{ENGINE}.set_batch_fn": remember("cgx.batch_fn"),
    f"{ENGINE}.is_first_stage": stage_is(False),
    f"{ENGINE}.is_last_stage": stage_is(True),
    f"{ENGINE}.is_gradient_accumulation_boundary": lambda interp, site, args, kwargs: True,
    f"{ENGINE}.reset_activation_shape": lambda interp, site, args, kwargs: None,
    f"{ENGINE}.set_has_attention_mask": lambda interp, site, args, kwargs: None,
    **{f"{ENGINE}.{name}": forbidden for name in ("__call__", "forward", "backward", "step")},
}
BASES: dict[str, tuple[str, ...]] = {ENGINE: (deepspeed.ENGINE,)}
