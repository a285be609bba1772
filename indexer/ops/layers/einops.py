"""Layers of einops."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.values import DictValue, Value
from cgx.indexer.ops.einops_patterns import given_axes, sides
from cgx.indexer.ops.einops_rules import rearranged
from cgx.indexer.ops.einops_steps import steps_of
from cgx.indexer.ops.layers.rows import LayerCall, LayerRow, layer
from cgx.indexer.ops.rows import Step
from cgx.indexer.ops.shapes import MaybeSize, Shape
from cgx.indexer.ops.tensors import size


def _given(call: LayerCall) -> dict[str, MaybeSize]:
    lengths = call.value("axes_lengths", {})
    return given_axes(lengths.items if isinstance(lengths, DictValue) else dict(lengths or {}))


def _layer_call(call: LayerCall) -> Value:
    """einops.layers.torch: the pattern and the axes are attributes."""
    return rearranged(call.tensor(), call.value("pattern"), _given(call))


def _layer_steps(call: LayerCall) -> list[Step]:
    return steps_of(call.tensor(), call.value("pattern"), _given(call), str(call.value("reduction", "")))


def _layer_axes(fixed: tuple[str, ...]) -> Any:
    def stored(bound: Any) -> dict[str, Value]:
        return {"axes_lengths": DictValue({name: value for name, value in bound.items() if name not in (*fixed, "axes_lengths")})}

    return stored


def _mix_parameters(bound: Any) -> dict[str, Shape]:
    """EinMix: shapes of its weight and bias by name of the axes."""
    lengths = {name: size(value) for name, value in bound.items() if name not in ("pattern", "weight_shape", "bias_shape")}
    weight, bias = bound.get("weight_shape"), bound.get("bias_shape")
    pattern = bound.get("pattern")
    found: dict[str, Shape] = {"weight": None, "bias": None}
    if isinstance(weight, str):
        found["weight"] = tuple(lengths.get(part) for part in weight.split())
    if isinstance(bias, str) and isinstance(pattern, str):  # one place for each axis of the output
        kept = bias.split()
        found["bias"] = tuple(lengths.get(name) if name in kept else 1 for name in sides(pattern)[1].names)
    return found


ROWS: list[LayerRow] = [
    layer("einops.layers.torch.Rearrange", "", "pattern", "('b (h d) -> b h d', h=2) : f32[3,8] -> f32[3,2,4]", op="einops.rearrange",
          rule=_layer_call, stored=_layer_axes(("pattern",)), steps=_layer_steps, bases="einops.layers.RearrangeMixin"),
    layer("einops.layers.torch.Reduce", "", "pattern, reduction", "('b c h w -> b c', 'max') : f32[3,8,4,4] -> f32[3,8]", op="einops.reduce",
          rule=_layer_call, stored=_layer_axes(("pattern", "reduction")), steps=_layer_steps, bases="einops.layers.ReduceMixin"),
    layer("einops.layers.torch.EinMix", "", bases="einops.layers._einmix._EinmixMixin", signature="pattern, weight_shape, bias_shape=None",
          example="('b t i -> b t o', 'i o', 'o', i=3, o=4) : f32[2,5,3] -> f32[2,5,4]", op="einops.einsum", rule=_layer_call, shapes=_mix_parameters,
          stored=_layer_axes(("pattern", "weight_shape", "bias_shape"))),
]  # fmt: skip
