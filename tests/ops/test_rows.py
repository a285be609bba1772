"""Every row's example is its test."""

from __future__ import annotations

from typing import Any

import pytest

from cgx.indexer.interpreter.values import Sequence, TensorValue, Unknown
from cgx.indexer.ops.dims import Dim
from cgx.indexer.ops.examples import comparable, read_example
from cgx.indexer.ops.registry import TABLES, find, index
from cgx.indexer.ops.rows import OpRow

ALL = [entry for table in TABLES for entry in table]


@pytest.mark.parametrize("entry", [row for row in ALL if row.example], ids=lambda row: row.name)
def test_example(entry: OpRow) -> None:
    args, kwargs, expected = read_example(entry.example)
    assert comparable(entry.apply(args, kwargs)) == comparable(expected)


def symbolic(value: Any) -> Any:
    """The value with each size above 1 of its tensors as a symbol that names it."""
    if isinstance(value, TensorValue):
        sizes = (Dim.symbol(f"n{size}") if isinstance(size, int) and size > 1 else size for size in value.shape or ())
        return TensorValue(tuple(sizes), value.dtype, value.device)
    return type(value)(symbolic(item) for item in value) if isinstance(value, tuple | list) else value


def settled(value: Any) -> Any:
    """The value with those symbols back as numbers."""
    if isinstance(value, Dim):
        return value.substitute({name: int(name[1:]) for name in value.symbols() if name[0] == "n" and name[1:].isdigit()})
    if isinstance(value, TensorValue):
        return TensorValue(None if value.shape is None else tuple(settled(size) for size in value.shape), value.dtype, value.device)
    if isinstance(value, tuple | list):
        return type(value)(settled(item) for item in value) if type(value) in (tuple, list) else tuple(settled(item) for item in value)
    return value


def agrees(found: Any, expected: Any) -> bool:
    """Equal, or not known where the symbolic run could not tell."""
    if isinstance(expected, TensorValue):
        if not isinstance(found, TensorValue) or found.dtype != expected.dtype:
            return False
        if found.shape is None or expected.shape is None:
            return found.shape is None or expected.shape is None
        return len(found.shape) == len(expected.shape) and all(a is None or b is None or a == b for a, b in zip(found.shape, expected.shape))
    if isinstance(expected, tuple | list):
        return isinstance(found, Sequence | Unknown) or (len(found) == len(expected) and all(map(agrees, found, expected)))
    return isinstance(found, Unknown) or isinstance(expected, Unknown) or found == expected


@pytest.mark.parametrize("entry", [row for row in ALL if row.example], ids=lambda row: row.name)
def test_symbolic_sizes_agree_with_numbers(entry: OpRow) -> None:
    args, kwargs, expected = read_example(entry.example)
    found = entry.call(symbolic(args), {name: symbolic(value) for name, value in kwargs.items()})
    if isinstance(found, TensorValue) and found.shape is None and found.dtype is None:
        return  # not derived
    assert agrees(settled(found), expected), (found, expected)


@pytest.mark.parametrize("entry", ALL, ids=lambda row: row.name)
def test_odd_input_is_no_exception(entry: OpRow) -> None:
    blank = TensorValue()
    for args in ([], [blank], [blank, Unknown(), Unknown()], [Unknown()] * 6, [None], ["x", 1.5, {}]):
        entry.call(args, {})
    if entry.example:
        args, kwargs, _ = read_example(entry.example)
        for place in range(len(args)):
            entry.call([*args[:place], Unknown("x"), *args[place + 1 :]], kwargs)
            entry.call([*args[:place], None, *args[place + 1 :]], kwargs)


def test_names_are_unique() -> None:
    names = [name for row in ALL for name in row.names]
    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_breadth() -> None:
    assert len(index()) >= 900


@pytest.mark.parametrize(
    ("asked", "inplace"),
    [("torch.Tensor.add_", True), ("torch.functional.einsum", False), ("operator.iadd", True), ("torch.Tensor.__radd__", False),
     ("torch.nn.functional.relu_", True), ("torch.ops.aten.add", False), ("torch.special.expit", False), ("torch._C._nn.gelu", False)],
)  # fmt: skip
def test_other_names(asked: str, inplace: bool) -> None:
    found = find(asked)
    assert found is not None
    assert found.inplace is inplace


@pytest.mark.parametrize(
    ("name", "kwargs", "shape"),
    [
        ("torch.Tensor.split", {"split_size": [2, 4], "dim": -1}, (3, 2)),
        ("torch.Tensor.sum", {"axis": 0}, (6,)),
        ("torch.Tensor.mean", {"dim": 1, "keepdims": True}, (3, 1)),
        ("torch.Tensor.permute", {"dims": (1, 0)}, (6, 3)),
        ("torch.Tensor.reshape", {"shape": (2, 9)}, (2, 9)),
        ("torch.Tensor.view", {"size": (2, 9)}, (2, 9)),
        ("torch.Tensor.mm", {"mat2": TensorValue((6, 5), "float32", "cpu")}, (3, 5)),
    ],
)
def test_other_words_for_a_parameter(name: str, kwargs: dict[str, object], shape: tuple[int, ...]) -> None:
    row = find(name)
    assert row is not None
    result = row.call([TensorValue((3, 6), "float32", "cpu")], kwargs)
    assert (result[0] if isinstance(result, tuple) else result).shape == shape


def test_kernel_packages_are_opaque() -> None:
    found = find("torch.ops.my_extension.fused_thing")
    assert found is not None and found.opaque and found.name == "torch.ops.my_extension.fused_thing"
    assert find("flash_attn.modules.mha.MHA") is None
    flash = find("flash_attn.flash_attn_interface.flash_attn_func")
    assert flash is not None and flash.opaque


def test_unknown_name() -> None:
    assert find("torch.no_such_thing") is None


def op(name: str, *args: Any, **kwargs: Any) -> Any:
    row = find(name)
    assert row is not None
    return row.call(list(args), kwargs)


def test_known_elements_pass_through() -> None:
    rates = op("torch.linspace", 0, 0.3, 4)
    parts = op("torch.Tensor.split", rates, [1, 3])
    assert [op("torch.Tensor.tolist", part) for part in parts] == [[rates.const[0]], list(rates.const[1:])]
    assert op("torch.Tensor.item", op("torch.Tensor.sum", op("torch.tensor", [1, 2, 3]))) == 6
    assert op("torch.Tensor.tolist", op("torch.cumsum", op("torch.tensor", [2, 2, 6]), 0)) == [2, 4, 10]
    assert op("torch.Tensor.tolist", op("torch.arange", 2, 8, 2)) == [2, 4, 6]
    assert op("torch.Tensor.tolist", op("operator.mul", op("torch.arange", 3), 2)) == [0, 2, 4]
    assert op("torch.Tensor.item", op("operator.getitem", op("torch.arange", 5), -1)) == 4
    assert op("operator.bool", op("operator.gt", op("torch.tensor", 3), 2)) is True
    assert [op("torch.Tensor.item", part) for part in op("torch.Tensor.unbind", op("torch.arange", 3))] == [0, 1, 2]
    assert op("torch.Tensor.tolist", op("torch.Tensor.view", op("torch.arange", 4), 2, 2)) == [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    ("name", "args", "kwargs", "expected"),
    [
        ("rearrange", ("b t (h d) -> b h t d",), {"h": 3}, [("reshape", (2, 5, 3, 4)), ("permute", (2, 3, 5, 4))]),
        ("rearrange", ("b t d -> b (t d)",), {}, [("reshape", (2, 60))]),
        ("rearrange", ("... d -> d ...",), {}, [("permute", (12, 2, 5))]),
        ("rearrange", ("... d -> (...) d",), {}, [("reshape", (10, 12))]),
        ("rearrange", ("b ... -> b (...)",), {}, [("reshape", (2, 60))]),
        ("rearrange", ("b t d -> b t d",), {}, []),
        ("repeat", ("b t d -> b n t d",), {"n": 4}, [("unsqueeze", (2, 1, 5, 12)), ("expand", (2, 4, 5, 12))]),
        ("reduce", ("b t d -> b d", "mean"), {}, [("permute", (2, 12, 5)), ("mean", (2, 12))]),
        ("reduce", ("b t (h d) -> b t h", "max"), {"h": 3}, [("reshape", (2, 5, 3, 4)), ("amax", (2, 5, 3))]),
    ],
)
def test_einops_in_torch_s_ops(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], expected: list[Any]) -> None:
    row = find(f"einops.{name}")
    assert row is not None
    base = TensorValue((2, 5, 12), "float32", "cpu")
    steps = row.steps([base, *args], kwargs)
    assert steps is not None
    assert [(step.name.rpartition(".")[2], step.outputs[0].shape) for step in steps] == expected
    if steps:
        assert steps[-1].outputs[0].shape == row.call([base, *args], kwargs).shape


def test_einops_packs_by_reshapes_and_a_cat():
    one, other = TensorValue((2, 12), "float32", "cpu"), TensorValue((2, 5, 12), "float32", "cpu")
    pack, unpack = find("einops.pack"), find("einops.unpack")
    assert pack is not None and unpack is not None
    steps = pack.steps([[one, other], "b * d"], {})
    assert steps is not None
    assert [(step.name.rpartition(".")[2], step.outputs[0].shape) for step in steps] == [
        ("reshape", (2, 1, 12)), ("reshape", (2, 5, 12)), ("cat", (2, 6, 12)),
    ]  # fmt: skip
    packed, shapes = pack.call([[one, other], "b * d"], {})
    steps = unpack.steps([packed, shapes, "b * d"], {})
    assert steps is not None
    assert [(step.name.rpartition(".")[2], step.outputs[0].shape) for step in steps] == [
        ("__getitem__", (2, 1, 12)), ("reshape", (2, 12)), ("__getitem__", (2, 5, 12)), ("reshape", (2, 5, 12)),
    ]  # fmt: skip
