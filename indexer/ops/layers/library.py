"""Layers of kernel libraries that stand in for torch's own."""

from __future__ import annotations

from cgx.indexer.ops.layers.linear import LINEAR, _linear
from cgx.indexer.ops.layers.normalization import _layer_norm, _rms_norm, _shape
from cgx.indexer.ops.layers.rows import LayerRow, Shapes, extent, layer

NORM = "normalized_shape, eps=1e-05, elementwise_affine=True, memory_efficient=False"
RMS = "hidden_size, eps=1e-06, device=None, dtype=None"


def _hidden(bound: object) -> Shapes:
    return {"weight": (extent(bound["hidden_size"]),)}  # type: ignore[index]


def _with_bias(bound: object) -> Shapes:
    return _layer_norm({**bound, "bias": True})  # type: ignore[dict-item]


QUANTISED = ("Linear8bitLt", "Linear4bit", "LinearFP4", "LinearNF4")

ROWS: list[LayerRow] = [
    *(layer(name, "", NORM, "(3,) : f32[2,3] -> f32[2,3]", op="F.layer_norm", arguments="input, normalized_shape, weight, bias, eps", shapes=_with_bias,
            stored=_shape) for name in ("apex.normalization.FusedLayerNorm", "apex.normalization.fused_layer_norm.FusedLayerNorm",
                                        "apex.normalization.MixedFusedLayerNorm")),
    *(layer(name, "", NORM, "(3,) : f32[2,3] -> f32[2,3]", op="F.rms_norm", arguments="input, normalized_shape, weight, eps", shapes=_rms_norm,
            stored=_shape) for name in ("apex.normalization.FusedRMSNorm", "apex.normalization.fused_layer_norm.FusedRMSNorm")),
    *(layer(name, "", RMS, "(3,) : f32[2,3] -> f32[2,3]", op="F.rms_norm", arguments="input, hidden_size, weight, eps", shapes=_hidden)
      for name in ("flash_attn.ops.triton.layer_norm.RMSNorm", "flash_attn.ops.rms_norm.RMSNorm", "mamba_ssm.ops.triton.layer_norm.RMSNorm",
                   "mamba_ssm.ops.triton.layernorm.RMSNorm", "liger_kernel.transformers.rms_norm.LigerRMSNorm")),
    *(layer(f"bitsandbytes.nn.{name}", "", "input_features, output_features, bias=True, **kwargs", "(3, 4) : f32[2,3] -> f32[2,4]", op="F.linear",
            arguments="input, weight, bias", bases="torch.nn.Linear",
            shapes=lambda b: _linear({"in_features": b["input_features"], "out_features": b["output_features"], "bias": b["bias"]}),
            stored=lambda b: {"in_features": b["input_features"], "out_features": b["output_features"]},
            dropped=("input_features", "output_features")) for name in QUANTISED),
    layer("transformer_engine.pytorch.Linear", "", LINEAR, "(3, 4) : f32[2,3] -> f32[2,4]", op="F.linear", arguments="input, weight, bias", shapes=_linear),
    layer("transformer_engine.pytorch.LayerNorm", "", "normalized_shape, eps=1e-05, elementwise_affine=True, bias=True, device=None, dtype=None",
          "(3,) : f32[2,3] -> f32[2,3]", op="F.layer_norm", arguments="input, normalized_shape, weight, bias, eps", shapes=_layer_norm, stored=_shape),
    layer("transformer_engine.pytorch.RMSNorm", "", "normalized_shape, eps=1e-05, elementwise_affine=True, device=None, dtype=None", "(3,) : f32[2,3] -> f32[2,3]",
          op="F.rms_norm", arguments="input, normalized_shape, weight, eps", shapes=_rms_norm, stored=_shape),
]  # fmt: skip
