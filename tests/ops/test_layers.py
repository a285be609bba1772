"""Layer rows: each example is a test of construction and of forward's shape."""

from __future__ import annotations

from typing import Any

import pytest

from cgx.indexer.interpreter.values import TensorValue, Unknown
from cgx.indexer.ops.examples import comparable, read_example
from cgx.indexer.ops.layers import LAYERS, derives, layer
from cgx.indexer.ops.layers.rows import LayerRow

ALL = [row for table in LAYERS for row in table]


def build(row: LayerRow, constructor: str) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Constructor's arguments, attributes, and parameters with buffers as tensors."""
    args, kwargs, _ = read_example(f"{constructor.strip()[1:-1]} -> 0")
    bound = row.bind(args, kwargs)
    tensors: dict[str, Any] = {
        name: None if shape is None else TensorValue(shape, "float32", "cpu", parameter=True)
        for name, shape in row.parameters(bound).items()
    }
    tensors.update(row.buffers(bound))
    return bound, {**row.attributes(bound), "training": True}, tensors


@pytest.mark.parametrize("row", [row for row in ALL if row.example], ids=lambda row: row.name)
def test_example(row: LayerRow) -> None:
    constructor, _, call = row.example.partition(" : ")
    _, attrs, tensors = build(row, constructor)
    args, kwargs, expected = read_example(call)
    assert comparable(row.call(attrs, tensors, args, kwargs)) == comparable(expected)


@pytest.mark.parametrize("row", ALL, ids=lambda row: row.name)
def test_unknown_arguments_are_no_exception(row: LayerRow) -> None:
    row.attributes({}), row.parameters({}), row.buffers({})
    bound = row.bind([], {})
    attrs = row.attributes(bound)
    row.parameters(bound)
    row.buffers(bound)
    row.call(attrs, {}, [TensorValue()], {})
    row.call(attrs, {}, [Unknown()], {})


def test_linear() -> None:
    row = layer("torch.nn.modules.linear.Linear")
    assert row is not None and row.name == "torch.nn.Linear"
    bound = row.bind([3, 4], {"bias": False})
    assert row.parameters(bound) == {"weight": (4, 3), "bias": None}
    assert row.attributes(bound) == {"in_features": 3, "out_features": 4}
    assert row.forward_op == "torch.nn.functional.linear"


def test_convolution_keeps_tuples() -> None:
    row = layer("torch.nn.Conv2d")
    assert row is not None
    bound = row.bind([3, 8, 3], {"stride": (2, 1), "padding": "same", "groups": 3})
    attrs = row.attributes(bound)
    assert attrs["kernel_size"] == (3, 3) and attrs["stride"] == (2, 1) and attrs["padding"] == "same"
    assert row.parameters(bound)["weight"] == (8, 1, 3, 3)


def test_current_attributes_count() -> None:
    row = layer("torch.nn.Conv2d")
    assert row is not None
    _, attrs, tensors = build(row, "(3, 8, 3)")
    result = row.call({**attrs, "stride": (2, 2)}, tensors, [TensorValue((1, 3, 9, 9), "float32", "cpu")], {})
    assert result.shape == (1, 8, 4, 4)


def test_batch_norm_counts_batches_in_training() -> None:
    row = layer("torch.nn.BatchNorm2d")
    assert row is not None
    _, attrs, tensors = build(row, "(4,)")
    assert row.ops(attrs, tensors, [TensorValue()], {}) == ("torch.Tensor.add_", "torch.nn.functional.batch_norm")
    assert row.ops({**attrs, "training": False}, tensors, [TensorValue()], {}) == ("torch.nn.functional.batch_norm",)


def test_derives() -> None:
    assert derives("torch.nn.BatchNorm2d", "torch.nn.modules.batchnorm._BatchNorm") is True
    assert derives("torch.nn.modules.linear.NonDynamicallyQuantizableLinear", "torch.nn.Linear") is True
    assert derives("torch.nn.Linear", "torch.nn.Module") is True
    assert derives("torch.nn.Linear", "torch.nn.Conv2d") is False
    assert derives("no.such", "torch.nn.Module") is None
