"""Attributes of tensors and of named results."""

from __future__ import annotations

from cgx.indexer.interpreter.values import MISSING, Device, DType, TensorValue, Unknown
from cgx.indexer.ops.attributes import attribute
from cgx.indexer.ops.dims import Dim
from cgx.indexer.ops.registry import find


def test_shape_has_unknown_for_what_is_not_known() -> None:
    shape = attribute(TensorValue((2, None, Dim.symbol("T")), "float32", "cpu", name="x"), "shape")
    assert shape[0] == 2
    assert isinstance(shape[1], Unknown) and shape[1].name == "x.shape[1]" and shape[1].hint == "int"
    assert shape[2] == Dim.symbol("T")
    assert isinstance(attribute(TensorValue(), "shape"), Unknown)


def test_plain_ones() -> None:
    base = TensorValue((2, 3, 4), "float16", "cuda")
    assert attribute(base, "ndim") == 3
    assert attribute(base, "dtype") == DType("float16")
    assert attribute(base, "device") == Device("cuda")
    assert attribute(base, "is_cuda") is True
    assert attribute(base, "nbytes") == 48
    assert attribute(base, "T").shape == (4, 3, 2)
    assert attribute(base, "mT").shape == (2, 4, 3)
    assert attribute(base, "no_such") is MISSING


def test_named_results() -> None:
    row = find("torch.topk")
    assert row is not None
    result = row.call([TensorValue((4, 9), "float32", "cpu"), 2], {})
    assert attribute(result, "indices").dtype == "int64"
    assert attribute(result, "values").shape == (4, 2)
    first, second = result
    assert first.shape == second.shape
