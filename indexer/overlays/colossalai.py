"""What ColossalAI's ZeRO optimizer sends without a call in the user's code (read from colossalai 0.5.0, zero/low_level/low_level_optim.py).

Stage 1 sums whole buckets of gradients, stage 2 scatters them; with ``overlap_communication`` hooks send each full bucket from a stream of
their own while the backward goes on, and its end waits for the device. A step gathers the updated parameters: bucket by bucket, or with
``overlap_allgather`` parameter by parameter, awaited by each one's next use.
"""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.values import Unknown, Value
from cgx.indexer.overlays.arguments import flag

AUTHOR = "overlays.colossalai"
OPTIMIZER = "LowLevelZeroOptimizer"


def gradients_reduced(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``(partition, overlap)``: the buckets of a backward."""
    partition, overlaps = flag(args[0], False), flag(args[1], True)
    if interp.world.size == 1:
        return None
    interp.event("collective", site, author=AUTHOR, collective="reduce_scatter" if partition else "all_reduce", issued_by=OPTIMIZER, parallelism="data",
                 blocking=not overlaps, what="gradients", phase="backward")  # fmt: skip
    if overlaps:
        interp.event("overlap", site, author=AUTHOR, what=f"{'reduce_scatter' if partition else 'all_reduce'} of gradients", stream="communication stream",
                     mechanism="async collective" if partition else "bucketed all_reduce", with_="backward of earlier layers")  # fmt: skip
        interp.event("sync", site, author=AUTHOR, sync="synchronize", what="the device, behind the backward", phase="backward")
    return None


def norm_read(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``_compute_grad_norm``: of each group of parameters: a float on the host, summed over the ranks, read back."""
    here = {"author": AUTHOR, "phase": "optimizer"}
    interp.event("sync", site, sync="conversion", what="float(total_norm_exponentiated)", reads=True, **here)
    interp.event("copy", site, direction="H2D", what="total_norm_exponentiated", source="pageable", non_blocking=False, blocks_host=True, sync_kind="other",
                 bytes=4, factory=True, **here)  # fmt: skip
    if interp.world.size != 1:
        interp.event("collective", site, collective="all_reduce", issued_by=OPTIMIZER, parallelism="data", blocking=True, bytes=4, what="gradient norm", **here)
    interp.event("sync", site, sync="item", what="total_norm_exponentiated_cuda.item()", reads=True, **here)
    if isinstance(args[0], int | float) and args[0] > 0:
        interp.event("compute", site, key="grad_clip", value=args[0], how="norm", **here)
    return interp.unknown("the gradient norm", "data", site, hint="float")


def weights_cast(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``precision``: of the weights, without autocast."""
    name = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32"}.get(args[0]) if isinstance(args[0], str) else None
    if name is not None:
        interp.event("compute", site, author=AUTHOR, key="precision", value=name, how="weights cast by the plugin; no autocast")
    return None


def parameters_gathered(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``(overlap)``: the updated parameters, behind the optimizer's step."""
    if interp.world.size != 1:
        interp.event("collective", site, author=AUTHOR, collective="all_gather", issued_by=OPTIMIZER, parallelism="data",
                     blocking=not flag(args[0], False), async_op=flag(args[0], False), what="updated parameters", phase="optimizer")  # fmt: skip
    return None


def left_open(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """What depends on shards that are not modelled."""
    found = Unknown(f"HybridParallelPlugin: {args[0]}", "unmodelled", site.anchor)
    interp.note_unknown(found)
    return found


ENTRIES: dict[str, Any] = {  # the stand-in's own names
    "colossalai.zero.low_level.gradients_reduced": gradients_reduced,
    "colossalai.zero.low_level.norm_read": norm_read,
    "colossalai.zero.low_level.parameters_gathered": parameters_gathered,
    "colossalai.zero.low_level.weights_cast": weights_cast,
    "colossalai.booster.plugin.left_open": left_open,
}
BASES: dict[str, tuple[str, ...]] = {}
