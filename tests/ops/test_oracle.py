"""Every row against torch itself, where torch is importable: the extra ``cgx[torch-oracle]``, outside the default run's needs.

Each op row's example is called under each of the row's public names, on small tensors on the CPU (or on meta where the CPU
wants particular values), and the shapes and dtypes that come out are compared. Layers: parameters, buffers, attributes,
bases and the result of forward.
"""

from __future__ import annotations

import operator
import warnings
from typing import Any

import pytest

from cgx.indexer.interpreter.values import DType, TensorValue
from cgx.indexer.ops.dims import Dim
from cgx.indexer.ops.examples import read_example
from cgx.indexer.ops.layers import LAYERS
from cgx.indexer.ops.layers.rows import LayerRow
from cgx.indexer.ops.registry import TABLES, find
from cgx.indexer.ops.rows import OpRow

torch = pytest.importorskip(
    "torch", reason="torch is not installed: the tables are NOT compared with it (extra torch-oracle)"
)

einops = pytest.importorskip("einops", reason="einops is not installed: the tables are NOT compared with it")
pytest.importorskip("einops.layers.torch")

SIZES = {"B": 2, "T": 5, "S": 7, "H": 9}
ROOTS = ("torch.", "operator.", "einops.")
OPS = [row for table in TABLES for row in table if row.example and row.name.startswith(ROOTS)]
LAYER_ROWS = [row for table in LAYERS for row in table if row.example and row.name.startswith(ROOTS)]


def number(size: Any) -> int:
    return size.substitute(SIZES) if isinstance(size, Dim) else size


def real(value: Any, device: str) -> Any:
    """The torch value of an abstract one."""
    if isinstance(value, TensorValue):
        shape = tuple(number(size) for size in value.shape or ())
        dtype = getattr(torch, value.dtype or "float32")
        if dtype.is_floating_point or dtype.is_complex:
            return torch.rand(shape).to(dtype).to(device)
        return torch.zeros(shape, dtype=dtype, device=device)
    if isinstance(value, Dim):
        return number(value)
    if isinstance(value, DType):
        return getattr(torch, value.name)
    if isinstance(value, tuple | list):
        return type(value)(real(item, device) for item in value)
    if isinstance(value, slice):
        return slice(real(value.start, device), real(value.stop, device), real(value.step, device))
    return value


def agree(found: Any, expected: Any, where: str) -> None:
    """``expected`` of our tables against what torch gave."""
    if isinstance(expected, TensorValue):
        assert isinstance(found, torch.Tensor), (where, found)
        shape = tuple(number(size) if size is not None else None for size in expected.shape or ())
        assert len(shape) == found.dim(), (where, shape, tuple(found.shape))
        assert all(ours is None or ours == theirs for ours, theirs in zip(shape, found.shape)), (
            where,
            shape,
            tuple(found.shape),
        )
        assert str(found.dtype) == f"torch.{expected.dtype}", (where, expected.dtype, found.dtype)
    elif isinstance(expected, tuple):
        assert len(found) == len(expected), where
        for mine, theirs in zip(expected, found):
            agree(theirs, mine, where)
    elif isinstance(expected, DType):
        assert str(found) == f"torch.{expected.name}"
    elif isinstance(expected, Dim):
        assert found == number(expected)
    elif isinstance(expected, int | float | bool):
        assert found == expected, where


def resolve(qname: str) -> Any:
    """The callable behind a name, or None where this torch has none."""
    target: Any = {"torch": torch, "operator": operator, "einops": einops}.get(qname.split(".")[0])
    for part in qname.split(".")[1:]:
        target = getattr(target, part, None)
    return target


def run(function: Any, example: str) -> Any:
    """The result on the CPU, else on meta."""
    args, kwargs, _ = read_example(example)
    last: Exception | None = None
    for device in ("cpu", "meta"):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return function(*real(args, device), **{name: real(value, device) for name, value in kwargs.items()})
        except Exception as error:
            last = last or error
    raise last or AssertionError


CASES = [
    (row, name)
    for row in OPS
    for name in row.names
    if not name.startswith(("torch._C", "torch.ops", "torch.cuda", "builtins"))
]


@pytest.mark.parametrize(("row", "name"), CASES, ids=[name for _, name in CASES])
def test_op(row: OpRow, name: str) -> None:
    function = resolve(name)
    if function is None and name.startswith(("operator.", "torch.functional.", "torch._VF.", "torch.Tensor.")):
        pytest.skip(f"{name} is not in torch {torch.__version__}")
    assert function is not None, f"{name} is not in torch {torch.__version__}"
    _, _, expected = read_example(row.example)
    try:
        found = run(function, row.example)
    except TypeError as error:  # a method or an overload that takes other words
        pytest.skip(f"{name}: {error}")
    if not row.name.endswith("setitem"):
        agree(found, expected, name)


@pytest.mark.parametrize("row", LAYER_ROWS, ids=lambda row: row.name)
def test_layer(row: LayerRow) -> None:
    constructor, _, call = row.example.partition(" : ")
    args, kwargs, _ = read_example(f"{constructor.strip()[1:-1]} -> 0")
    module = resolve(row.name)(*args, **kwargs)
    bound = row.bind(args, kwargs)
    ours = {name: shape for name, shape in row.parameters(bound).items() if shape is not None}
    assert ours == {name: tuple(value.shape) for name, value in module.named_parameters()}
    assert list(ours) == [name for name, _ in module.named_parameters()]
    buffers = {name: kept.shape for name, kept in row.buffers(bound).items() if kept is not None}
    assert buffers == {name: tuple(value.shape) for name, value in module.named_buffers()}
    theirs = {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("_") and name not in ("training", "einsum_pattern")
    }
    mine = row.attributes(bound)
    assert {name: value for name, value in theirs.items() if isinstance(value, int | float | str | tuple | None)} == {
        name: mine.get(name) for name, value in theirs.items() if isinstance(value, int | float | str | tuple | None)
    }
    named = {base.rpartition(".")[2] for base in row.bases}
    assert [
        cls.__name__ for cls in type(module).__mro__[1:-1] if cls.__name__ != "Generic" and cls.__name__ not in named
    ] == []
    _, _, expected = read_example(call)
    agree(run(module, call), expected, row.name)
    agree_ops(row, module, bound, call)


def agree_ops(row: LayerRow, module: Any, bound: dict[str, Any], call: str) -> None:
    """The ops that the layer runs, in order, without queries."""
    seen: list[str] = []

    class Watch(torch.overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(torch.overrides.resolve_name(func) or "")
            return func(*args, **(kwargs or {}))

    args, kwargs, _ = read_example(call)
    inputs = real(args, "cpu")
    with Watch():
        module(*inputs)
    tensors = {
        name: TensorValue(tuple(value.shape)) for name, value in [*module.named_parameters(), *module.named_buffers()]
    }
    attrs = {**row.attributes(bound), "training": True}
    tails = [name.rpartition(".")[2] for name in seen if name and not name.endswith(("__get__", ".dim", ".size"))]
    ours = [name.rpartition(".")[2] for name in row.ops(attrs, tensors, args, kwargs)]
    if row.name.endswith(("ReLU6", "CrossMapLRN2d")) or row.name.startswith("einops."):
        return  # hardtanh inside; a dozen old ops inside
    assert ours == tails, (ours, tails)


def test_linspace_elements_are_torch_s() -> None:
    row = find("torch.linspace")
    assert row is not None
    for end, count in ((0.1, 12), (1.0, 7), (0.3, 24), (0.0, 3)):
        assert list(row.call([0, end, count], {}).const) == torch.linspace(0, end, count).tolist()
