"""Attributes of tensors: ``tensor.shape``, ``tensor.device``, ``tensor.T``."""

from __future__ import annotations

from collections.abc import Callable

from cgx.indexer.interpreter.values import MISSING, Device, DType, External, TensorValue, Unknown, Value
from cgx.indexer.ops.dtypes import BYTES, REAL_OF
from cgx.indexer.ops.results import NamedResult
from cgx.indexer.ops.rules.query import shape_value
from cgx.indexer.ops.shapes import numel
from cgx.indexer.ops.tensors import like, view_of

VIEW_ATTRIBUTES: dict[str, str] = {
    "T": "torch.Tensor.T", "mT": "torch.Tensor.mT", "H": "torch.Tensor.H", "mH": "torch.Tensor.mH", "real": "torch.Tensor.real",
    "imag": "torch.Tensor.imag", "data": "torch.Tensor.data",
}  # fmt: skip
"""Attributes that give a tensor; the name of the op they stand for (``data`` stands for none in a record)."""


def attribute(value: Value, name: str) -> Value:
    """The attribute of a tensor or of a named result, or MISSING where the table has none of that name (methods too)."""
    if isinstance(value, NamedResult):
        return value.field(name)
    if not isinstance(value, TensorValue):
        return MISSING
    reader = READERS.get(name)
    return MISSING if reader is None else reader(value)


def _unknown(base: TensorValue, name: str, hint: str = "") -> Unknown:
    return Unknown(f"{base.name or 'tensor'}.{name}", "data", base.anchor, hint=hint)


def _rank(base: TensorValue) -> Value:
    return _unknown(base, "ndim", "int") if base.shape is None else len(base.shape)


def _dtype(base: TensorValue) -> Value:
    return _unknown(base, "dtype", "dtype") if base.dtype is None else DType(base.dtype)


def _device(base: TensorValue) -> Value:
    return _unknown(base, "device", "device") if base.device is None else Device(base.device, base.attrs.get("index"))


def _reversed(base: TensorValue) -> Value:
    return view_of(base, None if base.shape is None else tuple(reversed(base.shape)))


def _turned(base: TensorValue) -> Value:
    if base.shape is None or len(base.shape) < 2:
        return view_of(base, None)
    return view_of(base, (*base.shape[:-2], base.shape[-1], base.shape[-2]))


def _part(base: TensorValue) -> Value:
    result = view_of(base, base.shape)
    result.dtype = REAL_OF.get(base.dtype or "", base.dtype)
    return result


def _is_on(device: str) -> Callable[[TensorValue], Value]:
    return lambda base: _unknown(base, f"is_{device}", "bool") if base.device is None else base.device == device


def _bytes(base: TensorValue) -> Value:
    count, each = numel(base.shape), BYTES.get(base.dtype or "")
    return _unknown(base, "nbytes", "int") if count is None or each is None else count * each


def _requires_grad(base: TensorValue) -> Value:
    return _unknown(base, "requires_grad", "bool") if base.requires_grad is None else base.requires_grad


def _is_leaf(base: TensorValue) -> Value:
    return True if base.parameter or base.requires_grad is False else _unknown(base, "is_leaf", "bool")


def _data(base: TensorValue) -> Value:
    """The same memory without its history; of a parameter it is still that parameter's."""
    result = view_of(base, base.shape, base.const)
    kin = "same" if base.parameter else base.attrs.get("cgx.kin")
    if kin:
        result.attrs["cgx.kin"] = kin
    return result


def _gradient(base: TensorValue) -> Value:
    """The gradient is there after a backward pass. A parameter's is read behind one: a tensor like it, where it learns."""
    if base.parameter and base.requires_grad is not False:
        result = like(base, base.shape)
        result.attrs["cgx.kin"] = "gradient"
        return result
    return _unknown(base, "grad", "tensor")


READERS: dict[str, Callable[[TensorValue], Value]] = {
    "shape": shape_value,
    "ndim": _rank,
    "dtype": _dtype,
    "device": _device,
    "T": _reversed,
    "mT": _turned,
    "H": _turned,
    "mH": _turned,
    "real": _part,
    "imag": _part,
    "data": _data,
    "is_cuda": _is_on("cuda"),
    "is_cpu": _is_on("cpu"),
    "is_meta": _is_on("meta"),
    "is_mps": _is_on("mps"),
    "is_xpu": _is_on("xpu"),
    "is_xla": _is_on("xla"),
    "is_mtia": _is_on("mtia"),
    "is_vulkan": _is_on("vulkan"),
    "is_ipu": _is_on("ipu"),
    "is_maia": _is_on("maia"),
    "is_mkldnn": lambda base: False,
    "is_nested": lambda base: False,
    "is_sparse": lambda base: False,
    "is_sparse_csr": lambda base: False,
    "is_quantized": lambda base: False,
    "itemsize": lambda base: BYTES.get(base.dtype or "", _unknown(base, "itemsize", "int")),
    "nbytes": _bytes,
    "requires_grad": _requires_grad,
    "is_leaf": _is_leaf,
    "grad": _gradient,
    "grad_fn": lambda base: _unknown(base, "grad_fn"),
    "retains_grad": lambda base: _unknown(base, "retains_grad", "bool"),
    "layout": lambda base: External("torch.strided"),  # sparse tensors are not told apart, see is_sparse
    "name": lambda base: None,
    "names": lambda base: _unknown(base, "names"),
    "output_nr": lambda base: _unknown(base, "output_nr", "int"),
    "volatile": lambda base: False,
}
