"""Ops that make tensors, random ones too, and conversions of dtype, device and to Python."""

from __future__ import annotations

from cgx.indexer.ops.dtypes import LEGACY_CLASSES
from cgx.indexer.ops.rows import OpRow, row
from cgx.indexer.ops.rules import convert
from cgx.indexer.ops.rules import factory as rules
from cgx.indexer.ops.rules.convert import cast, moved, to_python
from cgx.indexer.ops.rules.factory import filled, filled_like, legacy_tensor, new_of, random
from cgx.indexer.ops.rules.gather import unchanged
from cgx.indexer.ops.rules.pointwise import pointwise, same

TM = "torch Tensor"
MAKE = "out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False"
LIKE = "*, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None"

CASTS = {
    "float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16", "long": "int64", "int": "int32",
    "short": "int16", "char": "int8", "byte": "uint8", "bool": "bool", "cfloat": "complex64", "cdouble": "complex128",
}  # fmt: skip

RANDOM_INPLACE: dict[str, tuple[str, str]] = {
    "normal_": ("mean=0, std=1, *, generator=None", ""), "uniform_": ("from_=0, to=1, *, generator=None", ""),
    "random_": ("from_=0, to=None, *, generator=None", ""), "bernoulli_": ("p=0.5, *, generator=None", ""),
    "exponential_": ("lambd=1, *, generator=None", ""), "geometric_": ("p, *, generator=None", "f32[3], 0.5 -> f32[3]"),
    "cauchy_": ("median=0, sigma=1, *, generator=None", ""), "log_normal_": ("mean=1, std=2, *, generator=None", ""),
}  # fmt: skip

ROWS: list[OpRow] = [
    row("zeros", "torch", f"*size, {MAKE}", filled(0.0), "2, 3 -> f32[2,3]", kind="factory"),
    row("ones", "torch", f"*size, {MAKE}", filled(1.0), "(2, 3), dtype=torch.int64 -> i64[2,3]", kind="factory"),
    row("empty", "torch", f"*size, {MAKE}, memory_format=None", filled(None), "2, 3 -> f32[2,3]", kind="factory"),
    row("empty_strided", "torch", f"size, stride, *, {MAKE}", filled(None), "(2, 3), (3, 1) -> f32[2,3]", kind="factory"),
    row("full", "torch", f"size, fill_value, *, {MAKE}", rules.full, "(2, 3), 1.5 -> f32[2,3]", kind="factory"),
    row("zeros_like", "torch", f"input, {LIKE}", filled_like(0), "f16[2,3] -> f16[2,3]", kind="factory"),
    row("ones_like", "torch", f"input, {LIKE}", filled_like(1), "f16[2,3], dtype=torch.bool -> b8[2,3]", kind="factory"),
    row("empty_like", "torch", f"input, {LIKE}", filled_like(None), "f16[2,3] -> f16[2,3]", kind="factory"),
    row("full_like", "torch", f"input, fill_value, {LIKE}", filled_like(None), "f16[2,3], 1 -> f16[2,3]", kind="factory"),
    row("rand_like", "torch", f"input, {LIKE}", filled_like(None), "f16[2,3] -> f16[2,3]", kind="factory"),
    row("randn_like", "torch", f"input, {LIKE}", filled_like(None), "f16[2,3] -> f16[2,3]", kind="factory"),
    row("randint_like", "torch", f"input, low=0, high=None, {LIKE}", filled_like(None), "i64[2,3], 9 -> i64[2,3]", kind="factory"),
    row("rand", "torch", f"*size, generator=None, {MAKE}", random(), "2, 3 -> f32[2,3]", kind="factory"),
    row("randn", "torch", f"*size, generator=None, {MAKE}", random(), "(2, 3) -> f32[2,3]", kind="factory"),
    row("randint", "torch", f"low, high=None, size=None, *, generator=None, {MAKE}", rules.randint, "0, 9, (2, 3) -> i64[2,3]", kind="factory"),
    row("randperm", "torch", f"n, *, generator=None, {MAKE}", rules.randperm, "9 -> i64[9]", kind="factory"),
    row("normal", "torch", f"mean, std=1.0, size=None, *, generator=None, {MAKE}", rules.normal, "0.0, 1.0, (2, 3) -> f32[2,3]", kind="factory"),
    row("multinomial", TM, "input, num_samples, replacement=False, *, generator=None, out=None", rules.multinomial, "f32[2,9], 4 -> i64[2,4]"),
    row("bernoulli", TM, "input, p=None, *, generator=None", same, "f32[3] -> f32[3]"),
    row("poisson", "torch", "input, generator=None", same, "f32[3] -> f32[3]"),
    *(row(name, "Tensor", f"input, {signature}", unchanged, example or "f32[3] -> f32[3]", inplace=True)
      for name, (signature, example) in RANDOM_INPLACE.items()),
    row("arange", "torch", f"start, end=None, step=None, *, {MAKE}", rules.arange, "2, 9, 3 -> i64[3]", kind="factory"),
    row("range", "torch", f"start, end, step=1, *, {MAKE}", lambda call: rules.closed_range(call), "1, 5 -> f32[5]", kind="factory"),
    row("linspace", "torch", f"start, end, steps, *, {MAKE}", rules.linspace, "0, 1, 5 -> f32[5]", kind="factory"),
    row("logspace", "torch", f"start, end, steps, base=10.0, *, {MAKE}", rules.logspace, "0, 1, 5 -> f32[5]", kind="factory"),
    row("eye", "torch", f"n, m=None, *, {MAKE}", rules.eye, "3 -> f32[3,3]", kind="factory"),
    *(row(name, "torch", f"window_length, periodic=True, *, {MAKE}", rules.window_function, "9 -> f32[9]", kind="factory")
      for name in ("hann_window", "hamming_window", "blackman_window", "bartlett_window", "kaiser_window")),
    row("tensor", "torch", "data, *, dtype=None, device=None, requires_grad=False, pin_memory=False", rules.from_data, "[[1, 2], [3, 4]] -> i64[2,2]",
        kind="factory"),
    row("as_tensor", "torch", "data, dtype=None, device=None", rules.from_data, "[1.0, 2.0] -> f32[2]", kind="factory", aliases="asarray"),
    row("scalar_tensor", "torch", f"s, *, {MAKE}", rules.scalar_tensor, "1.0 -> f32[]", kind="factory"),
    row("from_numpy", "torch", "input", rules.from_numpy, "", kind="factory"),
    row("frombuffer", "torch", "buffer, *, dtype, count=-1, offset=0, requires_grad=False",
        lambda call: rules.of_unknown_length(call), "", kind="factory"),
    row("new_zeros", "Tensor", f"input, *size, {MAKE}", new_of(0), "f16[3], 2, 3 -> f16[2,3]", kind="factory"),
    row("new_ones", "Tensor", f"input, *size, {MAKE}", new_of(1), "f16[3], (2, 3) -> f16[2,3]", kind="factory"),
    row("new_empty", "Tensor", f"input, *size, {MAKE}", new_of(None), "f16[3], (2, 3) -> f16[2,3]", kind="factory"),
    row("new_full", "Tensor", f"input, size, fill_value, *, {MAKE}", new_of(None), "f16[3], (2, 3), 1.0 -> f16[2,3]", kind="factory"),
    row("new_tensor", "Tensor", f"self, data, *, {MAKE}", rules.new_tensor, "f16[3], [1, 2] -> f16[2]", kind="factory"),
    row("new", "Tensor", "input, *size", rules.legacy_new, "", kind="factory"),
    row("torch.Tensor", "", "data=None", legacy_tensor(""), "2, 3 -> f32[2,3]", kind="query"),
    *(row(name, "", "data=None", legacy_tensor(dtype), f"2, 3 -> {dtype}[2,3]", kind="query",
          aliases=name.replace("torch.", "torch.cuda.")) for name, dtype in LEGACY_CLASSES.items()),
    row("zero_", "Tensor", "input", unchanged, "f32[3] -> f32[3]", inplace=True, aliases="torch.zero_"),
    row("fill_", "Tensor", "input, value", unchanged, "f32[3], 1 -> f32[3]", inplace=True, aliases="torch.fill_"),
    row("fill", "torch", "input, value", unchanged, "f32[3], 1 -> f32[3]"),
    row("copy_", "Tensor", "input, src, non_blocking=False", unchanged, "f32[3], f16[3] -> f32[3]", inplace=True),
    row("fill_diagonal_", "Tensor", "input, fill_value, wrap=False", unchanged, "f32[3,3], 1 -> f32[3,3]", inplace=True),
    row("set_", "Tensor", "input, source=None", lambda call: convert.converted(call.tensor("source"), call.tensor("source").dtype, call.tensor("source").device),
        "", inplace=True),
    row("to", "Tensor", "input, target=None, second=None, non_blocking=False, copy=False, *, dtype=None, device=None, other=None, memory_format=None",
        convert.to, "f32[3], torch.float16 -> f16[3]"),
    *(row(name, "Tensor", "input, memory_format=None", cast(dtype), f"f32[3] -> {dtype}[3]") for name, dtype in CASTS.items()),
    row("type", "Tensor", "input, dtype=None, non_blocking=False", convert.to_type, "f32[3], torch.int64 -> i64[3]"),
    row("type_as", "Tensor", "input, other", convert.type_as, "f32[3], f16[2] -> f16[3]"),
    row("cuda", "Tensor", "input, device=None, non_blocking=False, memory_format=None", moved("cuda"), ""),
    row("cpu", "Tensor", "input, memory_format=None", moved("cpu"), "f32[3] -> f32[3]", sync="cpu"),
    row("pin_memory", "Tensor", "input, device=None", convert.pin, ""),
    row("share_memory_", "Tensor", "input", unchanged, "f32[3] -> f32[3]", inplace=True),
    row("to_sparse", "Tensor", "input, layout=None", same, ""),
    row("to_dense", "Tensor", "input, dtype=None", same, ""),
    row("coalesce", "Tensor", "input", same, ""),
    row("numpy", "Tensor", "input, *, force=False", convert.to_numpy, "", kind="op", sync="numpy", aliases="torch.Tensor.__array__"),
    row("item", "Tensor", "input", convert.item, "", kind="op", sync="item"),
    row("tolist", "Tensor", "input", convert.tolist, "", kind="op", sync="tolist"),
    row("bool", "operator", "input", to_python("bool"), "", sync="branch", aliases="torch.Tensor.__bool__ operator.truth torch.is_nonzero torch.Tensor.is_nonzero"),
    row("int", "operator", "input", to_python("int"), "", sync="conversion", aliases="torch.Tensor.__int__ torch.Tensor.__index__ operator.index"),
    row("float", "operator", "input", to_python("float"), "", sync="conversion", aliases="torch.Tensor.__float__"),
    row("complex", "operator", "input", to_python("complex"), "", sync="conversion", aliases="torch.Tensor.__complex__"),
    row("quantize_per_tensor", "torch", "input, scale, zero_point, dtype", same, ""),
    row("dequantize", TM, "input", pointwise("input", "float32"), ""),
]  # fmt: skip
