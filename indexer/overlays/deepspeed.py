"""DeepSpeed: ``initialize`` and the engine it gives (read from deepspeed 0.15-0.18).

The JSON (or dict) of the configuration says what is sent: ZeRO stage 0 and 1 all-reduce gradients, 2 reduce-scatters them
as the backward goes, 3 also gathers parameters before each module's forward and backward. ``overlap_comm`` puts them on a
stream of their own.
"""

from __future__ import annotations

import json
from typing import Any

from cgx.indexer.interpreter.trace import BranchNode
from cgx.indexer.interpreter.values import (
    DictValue,
    External,
    ListValue,
    ModuleInstance,
    Opaque,
    TensorValue,
    Unknown,
    Value,
)
from cgx.indexer.overlays.arguments import bind, plain
from cgx.indexer.overlays.data_loader import LOADER
from cgx.indexer.overlays.lifecycle import place_model
from cgx.indexer.overlays.wrappers import inner, proxy_entries

AUTHOR = "overlays.deepspeed"
ENGINE = "deepspeed.DeepSpeedEngine"
SIGNATURE = (
    "args model optimizer model_parameters training_data lr_scheduler distributed_port mpu dist_init_required collate_fn config "
    "mesh_param config_params"
)
OPTIMIZERS = {
    "Adam": "FusedAdam",
    "AdamW": "FusedAdam",
    "OneBitAdam": "OnebitAdam",
    "Lamb": "FusedLamb",
    "Lion": "FusedLion",
    "Muon": "Muon",
}
MAX_CONFIG = 1_000_000  # bytes of a configuration file that are read


def configuration(interp: Any, bound: dict[str, Value], site: Any) -> dict[str, Any] | Unknown:
    """The configuration as plain data: a dict of the code, or a JSON file of the tree."""
    given = bound.get("config", bound.get("config_params"))
    if given is None and bound.get("args") is not None:
        given = interp.getattr(bound["args"], "deepspeed_config", site)
    if isinstance(given, DictValue):
        return plain_dict(given)
    if isinstance(given, str):
        data = interp.tree.read(given)
        if data is None or len(data) > MAX_CONFIG:
            return interp.unknown(given, "missing-file", site)
        try:
            return dict(json.loads(data))
        except ValueError:
            return interp.unknown(given, "error", site)
    return interp.unknown("deepspeed config", "parameter", site)


def plain_dict(value: DictValue) -> dict[str, Any]:
    """Nested dicts and lists as Python's; values that are not known are left out."""
    result: dict[str, Any] = {}
    for key, one in value.items.items():
        if isinstance(one, DictValue):
            result[key] = plain_dict(one)
        elif isinstance(one, ListValue):
            result[key] = [plain(item) for item in one.items]
        elif plain(one) is not None:
            result[key] = plain(one)
    return result


def initialize(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """(engine, optimizer, loader, scheduler)."""
    bound = bind(SIGNATURE, args, kwargs)
    config = configuration(interp, bound, site)
    known: dict[str, Any] = {} if isinstance(config, Unknown) else config
    model = bound.get("model")
    interp.trail.set_item(interp.flags, "dist_initialized", True)
    place_model(interp, inner(model), site)
    dtype = precision(interp, known, site)
    optimizer = the_optimizer(interp, bound.get("optimizer"), known, site)
    steps = accumulation(known, interp.world.size)
    stage = known.get("zero_optimization", {}).get("stage", 0)
    engine = Opaque(ENGINE, {"module": model, "cgx.steps": steps, "cgx.optimizer": optimizer, "optimizer": optimizer, "cgx.clip": known.get("gradient_clipping"),
                             "cgx.dtype": dtype, "lr_scheduler": bound.get("lr_scheduler"), "device": "cuda", "cgx.stage": stage,
                             "local_rank": 0, "global_rank": 0}, site.anchor)  # fmt: skip
    wrap(interp, inner(model), known, stage, site)
    loader = bound.get("training_data")
    if loader is not None:
        loader = Opaque(LOADER, {"dataset": loader, "batch_size": known.get("train_micro_batch_size_per_gpu", 1), "num_workers": 0, "pin_memory": False,
                                 "drop_last": False, "sampler": None, "cgx.sampler": None, "collate_fn": bound.get("collate_fn")}, site.anchor)  # fmt: skip
    return (engine, optimizer, loader, bound.get("lr_scheduler"))


def precision(interp: Any, config: dict[str, Any], site: Any) -> str | None:
    for key, dtype in (("bf16", "bfloat16"), ("bfloat16", "bfloat16"), ("fp16", "float16")):
        if config.get(key, {}).get("enabled") is True:
            interp.event("compute", site, author=AUTHOR, key="precision", value=dtype, how=f"DeepSpeed {key}")
            return dtype
    return None


def the_optimizer(interp: Any, given: Value, config: dict[str, Any], site: Any) -> Value:
    """The given one, else the one that the configuration names."""
    section = config.get("optimizer")
    if given is not None or not isinstance(section, dict):
        return given
    name = str(section.get("type", "Adam"))
    offload = config.get("zero_optimization", {}).get("offload_optimizer", {}).get("device") == "cpu"
    qname = "deepspeed.ops.adam.DeepSpeedCPUAdam" if offload else f"deepspeed.ops.{OPTIMIZERS.get(name, name)}"
    interp.event("compute", site, author=AUTHOR, key="optimizer", value=qname, implementation="fused",
                 **{f"option_{key}": value for key, value in section.get("params", {}).items() if isinstance(value, int | float | bool)})  # fmt: skip
    return Opaque(qname, {"param_groups": ListValue([DictValue(open=True)]), "cgx.device": "cuda"}, site.anchor)


def accumulation(config: dict[str, Any], world: Any) -> int | None:
    """Micro-steps of a step: stated, or from the batch sizes; 1 where neither says otherwise."""
    stated = config.get("gradient_accumulation_steps")
    if isinstance(stated, int):
        return stated
    whole, micro = config.get("train_batch_size"), config.get("train_micro_batch_size_per_gpu")
    if isinstance(whole, int) and isinstance(micro, int) and isinstance(world, int) and micro > 0 and world > 0:
        return max(1, whole // (micro * world))
    return None if "auto" in (stated, whole, micro) else 1


def wrap(interp: Any, module: Value, config: dict[str, Any], stage: Any, site: Any) -> None:
    if not isinstance(module, ModuleInstance):
        return
    interp.trail.append(module.wrappers, ("DeepSpeedEngine", site.anchor))
    section = config.get("zero_optimization", {})
    overlap = section.get("overlap_comm", stage == 3)
    sends = {0: (("backward", "all_reduce"),), 1: (("backward", "reduce_scatter"), ("optimizer", "all_gather")),
             2: (("backward", "reduce_scatter"), ("optimizer", "all_gather")),
             3: (("forward", "all_gather"), ("backward", "all_gather"), ("backward", "reduce_scatter"))}.get(stage, ())  # fmt: skip
    interp.event(
        "wrap",
        site,
        author=AUTHOR,
        wrapper="DeepSpeedEngine",
        module=module,
        sends=sends,
        blocking=not overlap,
        parallelism="data",
    )


def call(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return interp.call(args[0].attrs["module"], list(args[1:]), kwargs, site)


def backward(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    loss = args[1] if len(args) > 1 else kwargs.get("loss")
    interp.event("compute", site, author=AUTHOR, key="backward", value="engine.backward(loss)", loss=loss)
    return loss


def step(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Clips, steps and zeroes at the end of an accumulation; a fp16 engine reads the overflow flag."""
    engine = args[0]
    steps = engine.attrs.get("cgx.steps")
    if steps == 1:
        taken(interp, engine, site)
    else:
        with interp.inside(
            BranchNode(site.anchor, "is_gradient_accumulation_boundary()", period=("micro-step", steps), decided=True)
        ):
            taken(interp, engine, site)
    return None


def taken(interp: Any, engine: Opaque, site: Any) -> None:
    optimizer = engine.attrs.get("cgx.optimizer")
    if engine.attrs.get("cgx.dtype") == "float16":
        interp.event("sync", site, author=AUTHOR, sync="item", what="overflow flag", internal=True)
    if engine.attrs.get("cgx.clip"):
        interp.event("compute", site, author=AUTHOR, key="grad_clip", value=engine.attrs["cgx.clip"])
    interp.event("compute", site, author=AUTHOR, key="optimizer_step", value=getattr(optimizer, "qname", "optimizer"))
    interp.event("compute", site, author=AUTHOR, key="zero_grad", value="at each step")


def train_batch(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``engine.train_batch()`` of a pipeline engine: a whole step of micro-batches."""
    interp.event("compute", site, author=AUTHOR, key="backward", value="engine.train_batch")
    taken(interp, args[0], site)
    return TensorValue((), "float32", "cuda")


def save(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    interp.event("checkpoint", site, author=AUTHOR, what=site.text, action="save")
    interp.event("copy", site, author=AUTHOR, direction="D2H", what=site.text, source="pageable", non_blocking=False, blocks_host=True,
                 sync_kind="other", carrier="checkpoint")  # fmt: skip
    return True


def constant(value: Any) -> Any:
    return lambda interp, site, args, kwargs: value


def boundary(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return True if args[0].attrs.get("cgx.steps") == 1 else interp.unknown(site.text, "loop-carried", site, hint="bool")


def steps_of(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    steps = args[0].attrs.get("cgx.steps")
    return steps if steps is not None else interp.unknown(site.text, "parameter", site, hint="int")


def init_distributed(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    interp.trail.set_item(interp.flags, "dist_initialized", True)
    interp.event("launch", site, author=AUTHOR, what="init_process_group")
    return None


def add_arguments(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``add_config_arguments(parser)``: ``--deepspeed``, ``--deepspeed_config`` and two more."""
    parser = args[0] if args else kwargs.get("parser")
    add = interp.getattr(parser, "add_argument", site)
    interp.call(add, ["--deepspeed"], {"default": False, "action": "store_true"}, site)
    interp.call(add, ["--deepspeed_config"], {"default": None, "type": External("builtins.str")}, site)
    interp.call(add, ["--deepscale"], {"default": False, "action": "store_true"}, site)
    interp.call(add, ["--deepscale_config"], {"default": None, "type": External("builtins.str")}, site)
    return parser


ENTRIES: dict[str, Any] = {
    "deepspeed.initialize": initialize,
    "deepspeed.init_distributed": init_distributed,
    "deepspeed.add_config_arguments": add_arguments,
    **proxy_entries(ENGINE, hands_on=True),
    f"{ENGINE}.__call__": call,
    f"{ENGINE}.backward": backward,
    f"{ENGINE}.step": step,
    f"{ENGINE}.train_batch": train_batch,
    f"{ENGINE}.save_checkpoint": save,
    f"{ENGINE}.load_checkpoint": constant((None, None)),
    f"{ENGINE}.is_gradient_accumulation_boundary": boundary,
    f"{ENGINE}.gradient_accumulation_steps": steps_of,
}
BASES: dict[str, tuple[str, ...]] = {ENGINE: ("torch.nn.Module",)}
