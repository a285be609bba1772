"""Pooling layers."""

from __future__ import annotations

from cgx.indexer.interpreter.values import Value
from cgx.indexer.ops.layers.rows import Bound, LayerRow, layer

MAX = "kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False"
AVERAGE = "kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None"
FRACTIONAL = "kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None"


def _stride(b: Bound) -> dict[str, Value]:
    return {"stride": b["kernel_size"] if b["stride"] is None else b["stride"]}


def _by_rank(count: int) -> list[LayerRow]:
    x, four, one, eight = (",".join([extent] * count) for extent in ("9", "4", "1", "8"))
    example = f"(3, 2) : f32[2,3,{x}] -> f32[2,3,{four}]"
    average = AVERAGE if count > 1 else AVERAGE.replace(", divisor_override=None", "")
    tuples = dict.fromkeys(("kernel_size", "stride", "padding"), 1) if count == 1 else {}
    unpool = dict.fromkeys(("kernel_size", "stride", "padding"), count)
    return [
        layer(f"MaxPool{count}d", "pooling", MAX, example, op=f"F.max_pool{count}d", bases="_MaxPoolNd", stored=_stride,
              arguments="input, kernel_size, stride, padding, dilation, ceil_mode, return_indices"),
        layer(f"AvgPool{count}d", "pooling", average, example, op=f"F.avg_pool{count}d", bases="_AvgPoolNd", tuples=tuples,
              arguments="input, kernel_size, stride, padding, ceil_mode, count_include_pad", stored=_average_stride(count)),
        layer(f"LPPool{count}d", "pooling", "norm_type, kernel_size, stride=None, ceil_mode=False", f"(2.0, 3, 2) : f32[2,3,{x}] -> f32[2,3,{four}]",
              op=f"F.lp_pool{count}d", bases="_LPPoolNd", arguments="input, norm_type, kernel_size, stride, ceil_mode"),
        layer(f"AdaptiveAvgPool{count}d", "pooling", "output_size", f"(1,) : f32[2,3,{x}] -> f32[2,3,{one}]", op=f"F.adaptive_avg_pool{count}d",
              bases="_AdaptiveAvgPoolNd", arguments="input, output_size"),
        layer(f"AdaptiveMaxPool{count}d", "pooling", "output_size, return_indices=False", f"(4,) : f32[2,3,{x}] -> f32[2,3,{four}]",
              op=f"F.adaptive_max_pool{count}d", bases="_AdaptiveMaxPoolNd", arguments="input, output_size, return_indices"),
        layer(f"MaxUnpool{count}d", "pooling", "kernel_size, stride=None, padding=0", f"(2,) : f32[2,3,{four}], i64[2,3,{four}] -> f32[2,3,{eight}]",
              op=f"F.max_unpool{count}d", bases="_MaxUnpoolNd", takes="input, indices, output_size=None", tuples=unpool,
              arguments="input, indices, kernel_size, stride, padding, output_size", stored=_unpool_stride(count)),
    ]  # fmt: skip


def _average_stride(count: int) -> object:
    def stored(b: Bound) -> dict[str, Value]:
        value = b["kernel_size"] if b["stride"] is None else b["stride"]
        return {"stride": (value,) if count == 1 and isinstance(value, int) else value}

    return stored


def _unpool_stride(count: int) -> object:
    def stored(b: Bound) -> dict[str, Value]:
        value = b["kernel_size"] if b["stride"] is None else b["stride"]
        return {"stride": (value,) * count if isinstance(value, int) else value}

    return stored


ROWS: list[LayerRow] = [
    *(entry for count in (1, 2, 3) for entry in _by_rank(count)),
    *(layer(f"FractionalMaxPool{count}d", "pooling", FRACTIONAL, f"(2, 4) : f32[2,3,{','.join(['9'] * count)}] -> f32[2,3,{','.join(['4'] * count)}]",
            op=f"F.fractional_max_pool{count}d", arguments="input, kernel_size, output_size, output_ratio, return_indices",
            tuples={"kernel_size": count, "output_size": count}) for count in (2, 3)),
]  # fmt: skip
