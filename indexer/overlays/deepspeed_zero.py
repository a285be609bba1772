"""What a DeepSpeed engine sends without a call in the user's code, by ZeRO stage (read from deepspeed 0.15-0.19).

Stage 0: one pass of all-reduces behind the last micro-step's backward. Stage 1: the same, gradient by gradient where
``overlap_comm`` hangs it into the backward; the updated parameters are gathered at the end of the step. Stage 2: reduced in
each micro-step's backward. Both send whole buckets by all_reduce unless ``use_multi_rank_bucket_allreduce`` is off. Stage 3: parameters
are gathered round each module's forward and backward, gradients are scattered as they come. The step itself reduces the flag of
an overflow and the norm of the gradients.
"""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.values import Unknown
from cgx.indexer.overlays.deepspeed_config import Settings

Send = dict[str, Any]


def sends(settings: Settings) -> tuple[Send, ...]:
    """Rows for the pass that places them: ``phase``, ``collective``, ``blocking``, ``boundary`` (once a step, at its last micro-step)."""
    stage = settings.stage
    if isinstance(stage, Unknown):
        return ()
    return (*gathered(settings, stage), *reduced(settings, stage), *stepped(settings, stage))


def gathered(settings: Settings, stage: int) -> tuple[Send, ...]:
    if stage != 3:
        return ()
    return (
        {"phase": "forward", "collective": "all_gather", "blocking": False, "everywhere": True},
        {"phase": "backward", "collective": "all_gather", "blocking": False},
    )


def reduced(settings: Settings, stage: int) -> tuple[Send, ...]:
    """The gradients."""
    if stage == 3:
        return ({"phase": "backward", "collective": "reduce_scatter", "blocking": not settings.overlaps},)
    overlaps = stage > 0 and settings.overlaps
    whole = not settings.on("zero_optimization.reduce_scatter", True) or settings.on(
        "zero_optimization.use_multi_rank_bucket_allreduce", True
    )
    collective = "all_reduce" if stage == 0 or whole else "reduce"
    return ({"phase": "backward", "collective": collective, "blocking": not overlaps, "boundary": stage < 2},)


def stepped(settings: Settings, stage: int) -> tuple[Send, ...]:
    """Inside ``engine.step()``."""
    if stage == 0:
        return ()
    rows: list[Send] = []
    if checks_overflow(settings):
        rows.append({"phase": "optimizer", "collective": "all_reduce", "blocking": True, "what": "overflow flag"})
    if settings.on("zero_optimization.compute_grad_norm", True):
        rows.append({"phase": "optimizer", "collective": "all_reduce", "blocking": True, "what": "gradient norm"})
    what = "small parameters that stay whole" if stage == 3 else "updated parameters"
    rows.append({"phase": "optimizer", "collective": "all_gather", "blocking": True, "what": what})
    return tuple(rows)


def checks_overflow(settings: Settings) -> bool:
    """In 16 bits, unless switched off for bfloat16."""
    dtype = settings.dtype
    return dtype == "float16" or (dtype == "bfloat16" and settings.on("bf16.check_grad_overflow", True))


def waits(settings: Settings) -> tuple[tuple[str, str], ...]:
    """(kind, what) of what the host reads back inside ``engine.step()``."""
    stage = settings.stage
    if isinstance(stage, Unknown):
        return ()
    rows = [("item", "overflow flag")] if checks_overflow(settings) else []
    if checks_overflow(settings) or stage == 3:
        rows.append(("conversion", "whether the gradient norm is finite"))
    return tuple(rows)


def waits_in_backward(settings: Settings) -> tuple[str, bool] | None:
    """(what, only at the boundary): the end of a backward waits for the stream that reduces."""
    stage = settings.stage
    if stage == 3:
        return ("the stream that scatters gradients", False)
    if stage in (1, 2) and settings.overlaps:
        return ("the stream that reduces gradients", stage == 1)
    return None


def overlap(settings: Settings) -> tuple[dict[str, str], ...]:
    """Rows of ``overlap`` that the engine means."""
    stage = settings.stage
    if isinstance(stage, Unknown) or stage == 0:
        return ()
    rows: list[dict[str, str]] = []
    if stage == 3:
        rows.append({"what": "all_gather of the next modules' parameters", "with": "forward and backward of this module",
                     "stream": "all-gather stream", "mechanism": "prefetched all_gather"})  # fmt: skip
    if settings.overlaps:
        scatter = stage == 3
        rows.append({"what": f"{'reduce_scatter' if scatter else 'all_reduce'} of gradients", "with": "backward of earlier layers",
                     "stream": "reduction stream", "mechanism": "async collective" if scatter else "bucketed all_reduce"})  # fmt: skip
    return tuple(rows)


def offloaded(settings: Settings) -> tuple[dict[str, Any], ...]:
    """Copies between host and device that an optimizer on the host needs: gradients down, updated parameters up."""
    if not settings.offloads("optimizer") or isinstance(settings.stage, Unknown) or settings.stage == 0:
        return ()
    pinned = settings.on("zero_optimization.offload_optimizer.pin_memory")
    return (
        {"direction": "D2H", "what": "gradients of this rank's partition", "phase": "backward", "non_blocking": True, "blocks_host": False},
        {"direction": "H2D", "what": "updated parameters of this rank's partition", "phase": "optimizer", "non_blocking": True,
         "source": "pinned" if pinned else None, "blocks_host": False if pinned else None},
    )  # fmt: skip
