"""Convolutions, pooling, padding, resampling."""

from __future__ import annotations

from cgx.indexer.ops.rows import OpRow, row
from cgx.indexer.ops.rules import convolution as rules
from cgx.indexer.ops.rules.pointwise import same

CONV = "input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1"
GROW = "input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1"
MAX_POOL = "input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False"
AVG_POOL = "input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None"
LP_POOL = "input, norm_type, kernel_size, stride=None, ceil_mode=False"
UNPOOL = "input, indices, kernel_size, stride=None, padding=0, output_size=None"
FRACTIONAL = "input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None"


def _numbers(count: int, value: int) -> str:
    return ",".join([str(value)] * count)


def _by_rank(count: int) -> list[OpRow]:
    x, k = _numbers(count, 9), _numbers(count, 3)
    seven, four = _numbers(count, 7), _numbers(count, 4)
    return [
        row(f"conv{count}d", "F torch", CONV, rules.convolution(count), f"f32[2,3,{x}], f32[8,3,{k}], None, 1, 0 -> f32[2,8,{seven}]",
            autocast="lower"),
        row(f"conv_transpose{count}d", "F torch", GROW, rules.transposed(count), f"f32[2,3,{four}], f32[3,8,{k}], None, 2, 0 -> f32[2,8,{x}]",
            autocast="lower"),
        row(f"max_pool{count}d", "F torch", MAX_POOL, rules.pooling(count), f"f32[2,3,{x}], 3, 2 -> f32[2,3,{four}]",
            aliases=f"torch.nn.functional._max_pool{count}d"),
        row(f"max_pool{count}d_with_indices", "F", MAX_POOL, rules.pooling(count, indices=True), f"f32[2,3,{x}], 3, 2 -> (f32[2,3,{four}], i64[2,3,{four}])"),
        row(f"avg_pool{count}d", "F", AVG_POOL, rules.pooling(count), f"f32[2,3,{x}], 3, 2 -> f32[2,3,{four}]",
            aliases=f"torch._C._nn.avg_pool{count}d" if count > 1 else "torch.avg_pool1d"),
        row(f"lp_pool{count}d", "F", LP_POOL, rules.pooling(count), f"f32[2,3,{x}], 2.0, 3, 2 -> f32[2,3,{four}]"),
        row(f"adaptive_avg_pool{count}d", "F", "input, output_size", rules.adaptive(count), f"f32[2,3,{x}], 1 -> f32[2,3,{_numbers(count, 1)}]",
            aliases=f"torch._C._nn.adaptive_avg_pool{count}d" if count > 1 else "torch.adaptive_avg_pool1d"),
        row(f"adaptive_max_pool{count}d", "F", "input, output_size, return_indices=False", rules.adaptive(count),
            f"f32[2,3,{x}], 4 -> f32[2,3,{four}]"),
        row(f"adaptive_max_pool{count}d_with_indices", "F", "input, output_size, return_indices=False", rules.adaptive(count, indices=True),
            f"f32[2,3,{x}], 4 -> (f32[2,3,{four}], i64[2,3,{four}])"),
        row(f"max_unpool{count}d", "F", UNPOOL, rules.unpooling(count), f"f32[2,3,{four}], i64[2,3,{four}], 2 -> f32[2,3,{_numbers(count, 8)}]"),
    ]  # fmt: skip


ROWS: list[OpRow] = [
    *(entry for count in (1, 2, 3) for entry in _by_rank(count)),
    *(row(f"fractional_max_pool{count}d", "F", FRACTIONAL, rules.fractional(count),
          f"f32[2,3,{_numbers(count, 9)}], 2, 4 -> f32[2,3,{_numbers(count, 4)}]") for count in (2, 3)),
    row("pad", "F", "input, pad, mode='constant', value=None", rules.pad, "f32[2,3,4], (1, 2) -> f32[2,3,7]", aliases="torch._C._nn.pad"),
    row("constant_pad_nd", "torch", "input, pad, value=0", rules.pad, "f32[2,3], (1, 2) -> f32[2,6]"),
    row("interpolate", "F", "input, size=None, scale_factor=None, mode='nearest', align_corners=None, recompute_scale_factor=None, "
        "antialias=False", rules.interpolate, "f32[2,3,4,5], scale_factor=2 -> f32[2,3,8,10]", aliases="upsample", autocast="fp32"),
    row("upsample_nearest", "F", "input, size=None, scale_factor=None", rules.interpolate, "f32[2,3,4,5], scale_factor=2 -> f32[2,3,8,10]"),
    row("upsample_bilinear", "F", "input, size=None, scale_factor=None", rules.interpolate, "f32[2,3,4,5], scale_factor=2 -> f32[2,3,8,10]"),
    row("pixel_shuffle", "F torch", "input, upscale_factor", rules.pixel_shuffle, "f32[2,12,4,5], 2 -> f32[2,3,8,10]"),
    row("pixel_unshuffle", "F torch", "input, downscale_factor", rules.pixel_unshuffle, "f32[2,3,8,10], 2 -> f32[2,12,4,5]"),
    row("channel_shuffle", "F torch", "input, groups", same, "f32[2,4,3,3], 2 -> f32[2,4,3,3]", aliases="native_channel_shuffle"),
    row("unfold", "F", "input, kernel_size, dilation=1, padding=0, stride=1", rules.unfold, "f32[2,3,8,8], 2, stride=2 -> f32[2,12,16]"),
    row("fold", "F", "input, output_size, kernel_size, dilation=1, padding=0, stride=1", rules.fold,
        "f32[2,12,16], (8, 8), 2, stride=2 -> f32[2,3,8,8]"),
    row("grid_sample", "F", "input, grid, mode='bilinear', padding_mode='zeros', align_corners=None", rules.grid_sample,
        "f32[2,3,4,5], f32[2,6,7,2] -> f32[2,3,6,7]", autocast="promote"),
    row("affine_grid", "F", "theta, size, align_corners=None", rules.affine_grid, "f32[2,2,3], (2, 3, 4, 5) -> f32[2,4,5,2]"),
]  # fmt: skip
