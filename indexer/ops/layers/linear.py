"""Linear maps, embeddings, and layers that only rearrange."""

from __future__ import annotations

from collections.abc import Callable

from cgx.indexer.interpreter.values import Value
from cgx.indexer.ops.layers.rows import Bound, LayerCall, LayerRow, Shapes, extent, layer, optional


def _linear(b: Bound) -> Shapes:
    rows, columns = extent(b["out_features"]), extent(b.get("in_features"))
    return {"weight": (rows, columns), "bias": optional(b["bias"], (rows,))}


def _bilinear(b: Bound) -> Shapes:
    out = extent(b["out_features"])
    return {"weight": (out, extent(b["in1_features"]), extent(b["in2_features"])), "bias": optional(b["bias"], (out,))}


def _embedding(b: Bound) -> Shapes:
    return {"weight": (extent(b["num_embeddings"]), extent(b["embedding_dim"]))}


def _padding_index(b: Bound) -> dict[str, Value]:
    index, rows = b.get("padding_idx"), b.get("num_embeddings")
    wrapped = index + rows if isinstance(index, int) and isinstance(rows, int) and index < 0 else index
    return {"padding_idx": wrapped}


def _identity(call: LayerCall) -> Value:
    return call.value("input")


def _floating(value: Value) -> Value:
    """Scale factors are kept as floats."""
    if isinstance(value, list | tuple):
        return tuple(_floating(item) for item in value)
    return float(value) if isinstance(value, int | float) and value else value


def _upsampling(name: str) -> Callable[[Bound], dict[str, Value]]:
    """The old upsampling classes name their mode themselves."""
    linear = name.endswith("Bilinear2d")
    fixed: dict[str, Value] = {
        "name": name, "mode": "bilinear" if linear else "nearest", "align_corners": True if linear else None, "recompute_scale_factor": None,
    }  # fmt: skip
    return lambda b: {"scale_factor": _floating(b["scale_factor"]), **fixed}


EMBEDDING = (
    "num_embeddings, embedding_dim, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False, "
    "_weight=None, _freeze=False, device=None, dtype=None"
)
BAG = (
    "num_embeddings, embedding_dim, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode='mean', sparse=False, _weight=None, "
    "include_last_offset=False, padding_idx=None, device=None, dtype=None"
)
LINEAR = "in_features, out_features, bias=True, device=None, dtype=None"

ROWS: list[LayerRow] = [
    layer("Identity", "linear", "*args, **kwargs", "() : f32[2,3] -> f32[2,3]", rule=_identity),
    layer("Linear", "linear", LINEAR, "(3, 4) : f32[2,3] -> f32[2,4]", op="F.linear", arguments="input, weight, bias", shapes=_linear),
    layer("torch.nn.modules.linear.NonDynamicallyQuantizableLinear", "linear", LINEAR, "(3, 4) : f32[2,3] -> f32[2,4]", op="F.linear",
          arguments="input, weight, bias", shapes=_linear, bases="torch.nn.Linear"),
    layer("LazyLinear", "linear", "out_features, bias=True, device=None, dtype=None", "", op="F.linear", arguments="input, weight, bias",
          shapes=_linear, stored=lambda b: {"in_features": 0}, bases="torch.nn.modules.lazy.LazyModuleMixin torch.nn.Linear"),
    layer("Bilinear", "linear", "in1_features, in2_features, out_features, bias=True, device=None, dtype=None",
          "(3, 4, 5) : f32[2,3], f32[2,4] -> f32[2,5]", op="F.bilinear", takes="input1, input2", arguments="input1, input2, weight, bias",
          shapes=_bilinear),
    layer("Embedding", "sparse", EMBEDDING, "(10, 4) : i64[2,3] -> f32[2,3,4]", op="F.embedding",
          arguments="input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse", shapes=_embedding,
          stored=_padding_index, dropped=("_weight", "_freeze")),
    layer("EmbeddingBag", "sparse", BAG, "(10, 4) : i64[2,3] -> f32[2,4]", op="F.embedding_bag", takes="input, offsets=None, per_sample_weights=None",
          arguments="input, weight, offsets, max_norm, norm_type, scale_grad_by_freq, mode, sparse, per_sample_weights, "
          "include_last_offset, padding_idx", shapes=_embedding, stored=_padding_index, dropped=("_weight",)),
    layer("Flatten", "flatten", "start_dim=1, end_dim=-1", "() : f32[2,3,4] -> f32[2,12]", op="torch.Tensor.flatten",
          arguments="input, start_dim, end_dim"),
    layer("Unflatten", "flatten", "dim, unflattened_size", "(1, (2, 2)) : f32[3,4] -> f32[3,2,2]", op="torch.Tensor.unflatten",
          arguments="input, dim, unflattened_size"),
    layer("PixelShuffle", "pixelshuffle", "upscale_factor", "(2,) : f32[2,12,4,5] -> f32[2,3,8,10]", op="F.pixel_shuffle",
          arguments="input, upscale_factor"),
    layer("PixelUnshuffle", "pixelshuffle", "downscale_factor", "(2,) : f32[2,3,8,10] -> f32[2,12,4,5]", op="F.pixel_unshuffle",
          arguments="input, downscale_factor"),
    layer("ChannelShuffle", "channelshuffle", "groups", "(2,) : f32[2,4,3,3] -> f32[2,4,3,3]", op="F.channel_shuffle",
          arguments="input, groups"),
    layer("Fold", "fold", "output_size, kernel_size, dilation=1, padding=0, stride=1", "((8, 8), 2, stride=2) : f32[2,12,16] -> f32[2,3,8,8]",
          op="F.fold", arguments="input, output_size, kernel_size, dilation, padding, stride"),
    layer("Unfold", "fold", "kernel_size, dilation=1, padding=0, stride=1", "(2, stride=2) : f32[2,3,8,8] -> f32[2,12,16]", op="F.unfold",
          arguments="input, kernel_size, dilation, padding, stride"),
    layer("CosineSimilarity", "distance", "dim=1, eps=1e-08", "() : f32[2,3], f32[2,3] -> f32[2]", op="F.cosine_similarity", takes="x1, x2",
          arguments="x1, x2, dim, eps"),
    layer("PairwiseDistance", "distance", "p=2.0, eps=1e-06, keepdim=False", "() : f32[2,3], f32[2,3] -> f32[2]", op="F.pairwise_distance",
          takes="x1, x2", arguments="x1, x2, p, eps, keepdim", stored=lambda b: {"norm": b["p"]}, dropped=("p",)),
    layer("Upsample", "upsampling", "size=None, scale_factor=None, mode='nearest', align_corners=None, recompute_scale_factor=None",
          "(scale_factor=2) : f32[2,3,4,5] -> f32[2,3,8,10]", op="F.interpolate", arguments="input, size, scale_factor, mode, align_corners",
          stored=lambda b: {"scale_factor": _floating(b["scale_factor"]), "name": "Upsample"}),
    *(layer(name, "upsampling", "size=None, scale_factor=None", "(scale_factor=2) : f32[2,3,4,5] -> f32[2,3,8,10]", op="F.interpolate",
            arguments="input, size, scale_factor", bases="torch.nn.Upsample",
            stored=_upsampling(name)) for name in ("UpsamplingNearest2d", "UpsamplingBilinear2d")),
]  # fmt: skip
