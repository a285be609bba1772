"""Normalisation layers."""

from __future__ import annotations

from cgx.indexer.interpreter.values import TensorValue, Value
from cgx.indexer.ops.layers.rows import Bound, Buffers, LayerCall, LayerRow, Shapes, extent, layer, optional

BATCH = "num_features, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None"
INSTANCE = "num_features, eps=1e-05, momentum=0.1, affine=False, track_running_stats=False, device=None, dtype=None"
BATCH_ARGUMENTS = "input, running_mean, running_var, weight, bias, training, momentum, eps"
SPACES = ("f32[2,4]", "f32[2,4,5,5]", "f32[2,4,5,5,5]")


def _affine(b: Bound) -> Shapes:
    features = (extent(b.get("num_features")),)
    return {"weight": optional(b["affine"], features), "bias": optional(b["affine"], features)}


def _statistics(b: Bound) -> Buffers:
    if b["track_running_stats"] is False:
        return {"running_mean": None, "running_var": None, "num_batches_tracked": None}
    features = (extent(b.get("num_features")),)
    return {"running_mean": (features, "float32"), "running_var": (features, "float32"), "num_batches_tracked": ((), "int64")}


def _batch_ops(call: LayerCall) -> tuple[str, ...]:
    """In training the count of batches is raised first."""
    counts = call.value("training", False) is True and call.value("track_running_stats") is not False
    own = "torch.nn.functional.batch_norm"
    return ("torch.Tensor.add_", own) if counts and isinstance(call.value("num_batches_tracked"), TensorValue) else (own,)


def _normalized(b: Bound) -> tuple[Value, ...]:
    shape = b["normalized_shape"]
    return tuple(shape) if isinstance(shape, list | tuple) else (shape,)


def _layer_norm(b: Bound) -> Shapes:
    shape = tuple(extent(item) for item in _normalized(b))
    return {
        "weight": optional(b["elementwise_affine"], shape),
        "bias": optional(b["elementwise_affine"] and b["bias"], shape),
    }


def _rms_norm(b: Bound) -> Shapes:
    return {"weight": optional(b["elementwise_affine"], tuple(extent(item) for item in _normalized(b)))}


def _group_norm(b: Bound) -> Shapes:
    channels = (extent(b["num_channels"]),)
    return {"weight": optional(b["affine"], channels), "bias": optional(b["affine"], channels)}


def _shape(b: Bound) -> dict[str, Value]:
    return {"normalized_shape": _normalized(b)}


def _batch_row(name: str, signature: str, example: str, bases: str) -> LayerRow:
    return layer(name, "batchnorm", signature, example, op="F.batch_norm", arguments=BATCH_ARGUMENTS, ops=_batch_ops, bases=bases, shapes=_affine,
                 kept=_statistics, idle=("reset_parameters", "reset_running_stats", "_check_input_dim"))  # fmt: skip


def _instance_row(name: str, signature: str, example: str, bases: str) -> LayerRow:
    return layer(name, "instancenorm", signature, example, op="F.instance_norm", arguments="input, running_mean, running_var, weight, bias",
                 bases=bases, shapes=_affine, kept=_statistics, idle=("reset_parameters", "reset_running_stats"))  # fmt: skip


LAZY = "torch.nn.modules.batchnorm._LazyNormBase torch.nn.modules.lazy.LazyModuleMixin"
NORM_BASE = "torch.nn.modules.batchnorm._NormBase"

ROWS: list[LayerRow] = [
    *(_batch_row(f"BatchNorm{count}d", BATCH, f"(4,) : {shape} -> {shape}", "_BatchNorm _NormBase") for count, shape in enumerate(SPACES, 1)),
    *(_batch_row(f"LazyBatchNorm{count}d", BATCH.replace("num_features, ", ""), "", f"{LAZY} torch.nn.BatchNorm{count}d _BatchNorm _NormBase")
      for count in (1, 2, 3)),
    _batch_row("torch.nn.modules.batchnorm._BatchNorm", BATCH, "", "_NormBase"),
    layer("torch.nn.modules.batchnorm._NormBase", "batchnorm", BATCH, "", shapes=_affine, kept=_statistics),
    _batch_row("SyncBatchNorm", BATCH.replace("device=", "process_group=None, device="), "", "_BatchNorm _NormBase"),
    *(_instance_row(f"InstanceNorm{count}d", INSTANCE, f"(4,) : {shape} -> {shape}" if count > 1 else "(4,) : f32[2,4,5] -> f32[2,4,5]",
                    f"_InstanceNorm {NORM_BASE}") for count, shape in enumerate(SPACES, 1)),
    *(_instance_row(f"LazyInstanceNorm{count}d", BATCH.replace("num_features, ", ""), "", f"{LAZY} _InstanceNorm {NORM_BASE}")
      for count in (1, 2, 3)),
    _instance_row("torch.nn.modules.instancenorm._InstanceNorm", INSTANCE, "", NORM_BASE),
    layer("LayerNorm", "normalization", "normalized_shape, eps=1e-05, elementwise_affine=True, bias=True, device=None, dtype=None",
          "(3,) : f32[2,3] -> f32[2,3]", op="F.layer_norm", arguments="input, normalized_shape, weight, bias, eps", shapes=_layer_norm, stored=_shape),
    layer("RMSNorm", "normalization", "normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None", "(3,) : f32[2,3] -> f32[2,3]",
          op="F.rms_norm", arguments="input, normalized_shape, weight, eps", shapes=_rms_norm, stored=_shape),
    layer("GroupNorm", "normalization", "num_groups, num_channels, eps=1e-05, affine=True, device=None, dtype=None", "(2, 4) : f32[2,4,5] -> f32[2,4,5]",
          op="F.group_norm", arguments="input, num_groups, weight, bias, eps", shapes=_group_norm),
    layer("LocalResponseNorm", "normalization", "size, alpha=0.0001, beta=0.75, k=1.0", "(2,) : f32[2,4,5] -> f32[2,4,5]", op="F.local_response_norm",
          arguments="input, size, alpha, beta, k"),
    layer("CrossMapLRN2d", "normalization", "size, alpha=0.0001, beta=0.75, k=1", "(2,) : f32[2,4,5,5] -> f32[2,4,5,5]", op="F.local_response_norm",
          arguments="input, size, alpha, beta, k"),
]  # fmt: skip
