"""Convolution layers."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.values import TensorValue, Unknown, Value
from cgx.indexer.ops.layers.rows import (
    Bound,
    Forward,
    LayerCall,
    LayerRow,
    Shapes,
    as_tuple,
    extent,
    layer,
    optional,
    sizes_of,
)
from cgx.indexer.ops.registry import find
from cgx.indexer.ops.rows import Step

PLAIN = (
    "in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, padding_mode='zeros', device=None, "
    "dtype=None"
)
GROWING = (
    "in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True, dilation=1, "
    "padding_mode='zeros', device=None, dtype=None"
)
BASE = (
    "in_channels, out_channels, kernel_size, stride, padding, dilation, transposed, output_padding, groups, bias, padding_mode, "
    "device=None, dtype=None"
)
ARGUMENTS = "input, weight, bias, stride, padding, dilation, groups"
GROWING_ARGUMENTS = "input, weight, bias, stride, padding, output_padding, groups, dilation"


def _part(whole: Value, groups: Value) -> Any:
    channels, count = extent(whole), extent(groups)
    return None if channels is None or count is None or count == 0 else channels // count


def _shapes(count: int, transposed: bool) -> Any:
    def shapes(b: Bound) -> Shapes:
        kernel = sizes_of(b["kernel_size"], count)
        into, out = b.get("in_channels"), b["out_channels"]
        if transposed:
            weight = (extent(into), _part(out, b["groups"]), *kernel)
        else:
            weight = (extent(out), _part(into, b["groups"]), *kernel)
        return {"weight": weight, "bias": optional(b["bias"], (extent(out),))}

    return shapes


def _stored(count: int, transposed: bool) -> Any:
    def stored(b: Bound) -> dict[str, Value]:
        extra = as_tuple(b.get("output_padding", 0), count)
        return {"transposed": transposed, "output_padding": extra}

    return stored


def _forward(count: int) -> Any:
    def rule(call: LayerCall) -> Value:
        return _convolved(call, count)

    return rule


def _convolved(call: LayerCall, count: int) -> Value:
    """With a padding mode of its own the layer pads first, then convolves without padding."""
    padded = _padded(call, count)
    base, padding = (call.value("input"), call.value("padding")) if padded is None else (padded, 0)
    entry = find(f"torch.nn.functional.conv{count}d")
    assert entry is not None
    names = ("weight", "bias", "stride")
    return entry.call([base, *map(call.value, names), padding, call.value("dilation"), call.value("groups")], {})


def _padded(call: LayerCall, count: int) -> Value:
    """The input as a padding mode of the layer's own leaves it; None where the convolution pads."""
    mode = call.value("padding_mode", "zeros")
    if mode == "zeros" or isinstance(mode, Unknown):
        return None
    pad = find("torch.nn.functional.pad")
    assert pad is not None
    return pad.call([call.value("input"), _around(call.value("padding"), call.value("kernel_size"), call.value("dilation"), count)], {})


def _steps(count: int) -> Any:
    def steps(call: LayerCall) -> list[Step] | None:
        base, padded = call.value("input"), _padded(call, count)
        if padded is None or not isinstance(base, TensorValue):
            return None
        weights = [value for value in (call.value("weight"), call.value("bias")) if isinstance(value, TensorValue)]
        result = _convolved(call, count)
        return [
            Step("torch.nn.functional.pad", (base,), (padded,)),
            Step(f"torch.nn.functional.conv{count}d", (padded, *weights), (result,)),
        ]

    return steps


def _around(padding: Value, kernel: Value, dilation: Value, count: int) -> Value:
    """Widths for pad, from the last dimension backwards."""
    if padding == "same":
        spans = [d * (k - 1) for d, k in zip(sizes_of(dilation, count), sizes_of(kernel, count))]
        return tuple(width for span in reversed(spans) for width in (span // 2, span - span // 2))
    if padding == "valid":
        return (0,) * (2 * count)
    return tuple(width for one in reversed(sizes_of(padding, count)) for width in (one, one))


def _ops(count: int) -> Any:
    def ops(call: LayerCall) -> tuple[str, ...]:
        own = f"torch.nn.functional.conv{count}d"
        return (own,) if call.value("padding_mode", "zeros") == "zeros" else ("torch.nn.functional.pad", own)

    return ops


def _convolutions(count: int) -> list[LayerRow]:
    tuples = dict.fromkeys(("kernel_size", "stride", "padding", "dilation", "output_padding"), count)
    x, four, five = (",".join([size] * count) for size in ("9", "4", "7"))
    forward, ops, steps = _forward(count), _ops(count), _steps(count)
    named = Forward("input, weight, bias", f"torch.nn.functional.conv{count}d", ARGUMENTS, forward, ops, steps)
    lazy = "torch.nn.modules.conv._LazyConvXdMixin torch.nn.modules.lazy.LazyModuleMixin"
    rows = []
    for prefix in ("", "Lazy"):
        bases = f"{lazy} torch.nn.Conv{count}d _ConvNd" if prefix else "_ConvNd"
        signature, channels = (PLAIN.replace("in_channels, ", ""), "") if prefix else (PLAIN, "3, ")
        rows.append(
            layer(f"{prefix}Conv{count}d", "conv", signature, f"({channels}8, 3) : f32[2,3,{x}] -> f32[2,8,{five}]" if not prefix else "",
                  op=f"F.conv{count}d", arguments=ARGUMENTS, rule=forward, ops=ops, steps=steps, bases=bases, shapes=_shapes(count, False), tuples=tuples,
                  stored=_stored(count, False), methods={"_conv_forward": named})
        )  # fmt: skip
        bases = f"{lazy} torch.nn.ConvTranspose{count}d _ConvTransposeNd _ConvNd" if prefix else "_ConvTransposeNd _ConvNd"
        signature = GROWING.replace("in_channels, ", "") if prefix else GROWING
        rows.append(
            layer(f"{prefix}ConvTranspose{count}d", "conv", signature, f"(3, 8, 3, 2) : f32[2,3,{four}] -> f32[2,8,{x}]" if not prefix else "",
                  op=f"F.conv_transpose{count}d", takes="input, output_size=None", arguments=GROWING_ARGUMENTS, bases=bases,
                  shapes=_shapes(count, True), tuples=tuples, stored=_stored(count, True), rule=_grown(count))
        )  # fmt: skip
    return rows


def _grown(count: int) -> Any:
    """conv_transpose with the output size that the caller asks for, if any."""

    def rule(call: LayerCall) -> Value:
        entry = find(f"torch.nn.functional.conv_transpose{count}d")
        assert entry is not None
        names = ("input", "weight", "bias", "stride", "padding", "output_padding", "groups", "dilation")
        result = entry.call([call.value(name) for name in names], {})
        wanted = call.value("output_size")
        if wanted is not None and result.shape is not None:
            result.shape = (*result.shape[:-count], *sizes_of(wanted, count))
        return result

    return rule


def _base_shapes(b: Bound) -> Shapes:
    kernel = b["kernel_size"]
    return _shapes(len(kernel) if isinstance(kernel, tuple) else 1, b["transposed"] is True)(b)


ROWS: list[LayerRow] = [
    *(entry for count in (1, 2, 3) for entry in _convolutions(count)),
    layer("torch.nn.modules.conv._ConvNd", "conv", BASE, "", shapes=_base_shapes),
]
