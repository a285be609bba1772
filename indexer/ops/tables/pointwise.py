"""Elementwise ops."""

from __future__ import annotations

import math
from typing import Any

from cgx.indexer.ops.rows import OpRow, row
from cgx.indexer.ops.rules import pointwise as rules
from cgx.indexer.ops.rules.pointwise import pointwise

TM = "torch Tensor"
FLOAT_UNARY = "f32[2,3] -> f32[2,3]"


def _sign(value: Any) -> Any:
    return (value > 0) - (value < 0)


def _round(value: Any) -> Any:
    return float(round(value)) if isinstance(value, float) else value


def _sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


# name, aliases, function on one element, autocast: results are floating
FLOATING: list[tuple[str, str, Any, str | None]] = [
    ("exp", "", math.exp, "fp32"), ("expm1", "torch.special.expm1", math.expm1, "fp32"), ("exp2", "torch.special.exp2", lambda v: 2**v, None),
    ("log", "", math.log, "fp32"), ("log2", "", math.log2, "fp32"), ("log10", "", math.log10, "fp32"),
    ("log1p", "torch.special.log1p", math.log1p, "fp32"),
    ("sqrt", "", math.sqrt, None), ("rsqrt", "", lambda v: 1 / math.sqrt(v), "fp32"),
    ("reciprocal", "", lambda v: 1 / v, "fp32"),
    ("sin", "", math.sin, None), ("cos", "", math.cos, None), ("tan", "", math.tan, "fp32"),
    ("asin", "arcsin", math.asin, "fp32"), ("acos", "arccos", math.acos, "fp32"), ("atan", "arctan", math.atan, None),
    ("sinh", "", math.sinh, "fp32"), ("cosh", "", math.cosh, "fp32"), ("tanh", "torch.nn.functional.tanh", math.tanh, None),
    ("asinh", "arcsinh", math.asinh, None), ("acosh", "arccosh", math.acosh, None), ("atanh", "arctanh", math.atanh, None),
    ("sigmoid", "torch.nn.functional.sigmoid torch.special.expit", _sigmoid, None),
    ("erf", "torch.special.erf", math.erf, None), ("erfc", "torch.special.erfc", math.erfc, None),
    ("erfinv", "torch.special.erfinv", None, "fp32"),
    ("lgamma", "torch.special.gammaln", math.lgamma, None), ("digamma", "torch.special.psi torch.special.digamma", None, None),
    ("logit", "torch.special.logit", None, None), ("sinc", "torch.special.sinc", None, None),
    ("i0", "torch.special.i0", None, None), ("deg2rad", "", math.radians, None), ("rad2deg", "", math.degrees, None),
]  # fmt: skip

# name, aliases, function: results keep the dtype
KEEPING: list[tuple[str, str, Any]] = [
    ("neg", "negative", lambda v: -v), ("positive", "", lambda v: v), ("sign", "", _sign), ("sgn", "", _sign),
    ("floor", "", math.floor), ("ceil", "", math.ceil), ("trunc", "fix", math.trunc), ("frac", "", lambda v: v - math.trunc(v)),
    ("round", "torch.special.round", _round), ("square", "", lambda v: v * v),
    ("relu", "torch.nn.functional.relu", lambda v: max(v, 0)), ("nan_to_num", "", None), ("conj", "resolve_conj", None),
    ("conj_physical", "", None), ("bitwise_not", "", lambda v: not v if isinstance(v, bool) else ~v), ("resolve_neg", "", None),
]  # fmt: skip

# name, signature: activations of torch.nn.functional that keep shape and dtype
ACTIVATIONS: list[tuple[str, str]] = [
    ("relu6", "input, inplace=False"), ("leaky_relu", "input, negative_slope=0.01, inplace=False"),
    ("elu", "input, alpha=1.0, inplace=False"), ("selu", "input, inplace=False"), ("celu", "input, alpha=1.0, inplace=False"),
    ("gelu", "input, approximate='none'"), ("silu", "input, inplace=False"), ("mish", "input, inplace=False"),
    ("hardtanh", "input, min_val=-1.0, max_val=1.0, inplace=False"), ("hardswish", "input, inplace=False"),
    ("hardsigmoid", "input, inplace=False"), ("logsigmoid", "input"), ("hardshrink", "input, lambd=0.5"),
    ("softshrink", "input, lambd=0.5"), ("tanhshrink", "input"), ("softsign", "input"),
    ("threshold", "input, threshold, value, inplace=False"), ("rrelu", "input, lower=0.125, upper=0.333, training=False, inplace=False"),
]  # fmt: skip

ACTIVATION_EXAMPLES = {"threshold": "f32[2,3], 0.1, 20.0 -> f32[2,3]"}
ACTIVATION_HOMES = {
    "threshold": "F torch", "rrelu": "F torch", "selu": "F torch", "celu": "F torch", "hardshrink": "F torch Tensor",
}  # fmt: skip
ACTIVATION_ALIASES = {
    name: f"torch._C._nn.{name}" for name in ("gelu", "silu", "mish", "hardtanh", "hardswish", "hardsigmoid", "elu", "leaky_relu")
}  # fmt: skip

# name, aliases, function: comparisons
COMPARISONS: list[tuple[str, str, Any]] = [
    ("eq", "", lambda a, b: a == b), ("ne", "not_equal", lambda a, b: a != b), ("lt", "less", lambda a, b: a < b),
    ("le", "less_equal", lambda a, b: a <= b), ("gt", "greater", lambda a, b: a > b), ("ge", "greater_equal", lambda a, b: a >= b),
]  # fmt: skip

# name, aliases, result, function, autocast, example
BINARY: list[tuple[str, str, str, Any, str | None, str]] = [
    ("mul", "multiply", "same", lambda a, b: a * b, None, "f32[2,3], i64[3] -> f32[2,3]"),
    ("remainder", "", "same", lambda a, b: a % b, None, "i64[3], 2 -> i64[3]"),
    ("fmod", "", "same", math.fmod, None, "f32[3], f32[] -> f32[3]"),
    ("floor_divide", "", "same", lambda a, b: a // b, None, "i64[3], 2 -> i64[3]"),
    ("true_divide", "", "float", lambda a, b: a / b, None, "i64[3], 2 -> f32[3]"),
    ("atan2", "arctan2", "float", math.atan2, "promote", "f32[3], f32[2,1] -> f32[2,3]"),
    ("hypot", "", "float", math.hypot, None, "f32[3], f32[3] -> f32[3]"),
    ("copysign", "", "float", math.copysign, None, "f32[3], 1.0 -> f32[3]"),
    ("nextafter", "", "same", None, None, "f32[3], f32[3] -> f32[3]"),
    ("xlogy", "torch.special.xlogy", "float", None, None, "f32[3], f32[3] -> f32[3]"),
    ("bitwise_and", "", "same", lambda a, b: a & b, None, "b8[3], b8[2,3] -> b8[2,3]"),
    ("bitwise_or", "", "same", lambda a, b: a | b, None, "i64[3], i64[3] -> i64[3]"),
    ("bitwise_xor", "", "same", lambda a, b: a ^ b, None, "i64[3], i64[3] -> i64[3]"),
    ("bitwise_left_shift", "", "same", lambda a, b: a << b, None, "i64[3], 1 -> i64[3]"),
    ("bitwise_right_shift", "", "same", lambda a, b: a >> b, None, "i64[3], 1 -> i64[3]"),
    ("logical_and", "", "bool", lambda a, b: bool(a) and bool(b), None, "b8[3], b8[3] -> b8[3]"),
    ("logical_or", "", "bool", lambda a, b: bool(a) or bool(b), None, "b8[3], f32[3] -> b8[3]"),
    ("logical_xor", "", "bool", lambda a, b: bool(a) != bool(b), None, "b8[3], b8[3] -> b8[3]"),
    ("gcd", "", "same", math.gcd, None, "i64[3], i64[3] -> i64[3]"),
    ("lcm", "", "same", math.lcm, None, "i64[3], i64[3] -> i64[3]"),
    ("heaviside", "", "same", None, None, "f32[3], f32[3] -> f32[3]"),
]  # fmt: skip

SPECIAL_UNARY = (
    "airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 entr erfcx i0e i1 i1e log_ndtr modified_bessel_i0 modified_bessel_i1 "
    "modified_bessel_k0 modified_bessel_k1 ndtr ndtri scaled_modified_bessel_k0 scaled_modified_bessel_k1 spherical_bessel_j0"
)

ROWS: list[OpRow] = [
    *(row(name, TM, "input, *, out=None", pointwise("input", "float", fn), FLOAT_UNARY, aliases=also, autocast=cast, has_inplace=True)
      for name, also, fn, cast in FLOATING),
    *(row(name, TM, "input, *, out=None", pointwise("input", "same", fn), "b8[2] -> b8[2]" if "not" in name else FLOAT_UNARY,
          aliases=also, has_inplace=True) for name, also, fn in KEEPING),
    *(row(name, ACTIVATION_HOMES.get(name, "F"), signature, rules.same, ACTIVATION_EXAMPLES.get(name, FLOAT_UNARY),
          aliases=ACTIVATION_ALIASES.get(name, ""), has_inplace=True) for name, signature in ACTIVATIONS),
    *(row(name, TM, "input, other, *, out=None", pointwise("input other", "bool", fn), "f32[2,3], f32[3] -> b8[2,3]",
          aliases=also, has_inplace=True) for name, also, fn in COMPARISONS),
    *(row(name, TM, "input, other, *, out=None", pointwise("input other", result, fn), example, aliases=also, autocast=cast,
          has_inplace=True) for name, also, result, fn, cast, example in BINARY),
    *(row(name, "special", "input, *, out=None", pointwise("input", "float"), FLOAT_UNARY) for name in SPECIAL_UNARY.split()),
    row("add", TM, "input, other, *, alpha=1, out=None", rules.add, "f32[2,1], f16[3] -> f32[2,3]", has_inplace=True),
    row("sub", TM, "input, other, *, alpha=1, out=None", rules.subtract, "f32[2,3], 1 -> f32[2,3]", aliases="subtract", has_inplace=True),
    row("rsub", "torch", "input, other, *, alpha=1", rules.subtract, "f32[3], 1 -> f32[3]"),
    row("div", TM, "input, other, *, rounding_mode=None, out=None", rules.divide, "i64[3], i64[3] -> f32[3]", aliases="divide", has_inplace=True),
    row("pow", TM, "input, exponent, *, out=None", pointwise("input exponent", "same", lambda a, b: a**b), "f32[3], 2 -> f32[3]",
        autocast="fp32", has_inplace=True),
    row("float_power", TM, "input, exponent, *, out=None", pointwise("input exponent", "float64"), "f32[3], 2 -> f64[3]", has_inplace=True),
    row("abs", TM, "input, *, out=None", pointwise("input", "real", abs), "c64[3] -> f32[3]", aliases="absolute"),
    row("angle", TM, "input, *, out=None", pointwise("input", "real"), "c64[3] -> f32[3]"),
    row("logical_not", TM, "input, *, out=None", pointwise("input", "bool", lambda v: not v), "f32[3] -> b8[3]", has_inplace=True),
    row("isnan", TM, "input", pointwise("input", "bool", math.isnan), "f32[3] -> b8[3]"),
    row("isinf", TM, "input", pointwise("input", "bool", math.isinf), "f32[3] -> b8[3]"),
    row("isfinite", TM, "input", pointwise("input", "bool", math.isfinite), "f32[3] -> b8[3]"),
    row("isneginf", TM, "input", pointwise("input", "bool"), "f32[3] -> b8[3]"),
    row("isposinf", TM, "input", pointwise("input", "bool"), "f32[3] -> b8[3]"),
    row("isreal", TM, "input", pointwise("input", "bool"), "f32[3] -> b8[3]"),
    row("signbit", TM, "input", pointwise("input", "bool"), "f32[3] -> b8[3]"),
    row("isclose", TM, "input, other, rtol=1e-05, atol=1e-08, equal_nan=False", pointwise("input other", "bool"), "f32[3], f32[3] -> b8[3]"),
    row("maximum", TM, "input, other, *, out=None", pointwise("input other", "same", max), "f32[2,1], f32[3] -> f32[2,3]"),
    row("minimum", TM, "input, other, *, out=None", pointwise("input other", "same", min), "f32[2,1], f32[3] -> f32[2,3]"),
    row("fmax", TM, "input, other, *, out=None", pointwise("input other", "same", max), "f32[3], f32[3] -> f32[3]"),
    row("fmin", TM, "input, other, *, out=None", pointwise("input other", "same", min), "f32[3], f32[3] -> f32[3]"),
    row("logaddexp", TM, "input, other, *, out=None", pointwise("input other", "float"), "f32[3], f32[3] -> f32[3]"),
    row("logaddexp2", TM, "input, other, *, out=None", pointwise("input other", "float"), "f32[3], f32[3] -> f32[3]"),
    row("clamp", TM, "input, min=None, max=None, *, out=None", rules.clamp, "f32[3], 0, 1 -> f32[3]", aliases="clip", has_inplace=True),
    row("clamp_min", TM, "input, min", rules.clamp, "f32[3], 0 -> f32[3]", has_inplace=True),
    row("clamp_max", TM, "input, max", rules.clamp, "f32[3], 0 -> f32[3]", has_inplace=True),
    row("where", "Tensor", "input, condition, other", rules.where, "f32[3], b8[2,1], 0.0 -> f32[2,3]"),
    row("where", "torch", "condition, input=None, other=None, *, out=None", rules.where, "b8[2,1], f32[3], 0.0 -> f32[2,3]",
        sync_rule=rules.where_sync),
    row("lerp", TM, "input, end, weight, *, out=None", rules.binary_same_dtype, "f32[3], f32[3], 0.5 -> f32[3]", has_inplace=True),
    row("addcmul", TM, "input, tensor1, tensor2, *, value=1, out=None", rules.binary_same_dtype, "f32[3], f32[3], f32[3] -> f32[3]",
        autocast="promote", has_inplace=True),
    row("addcdiv", TM, "input, tensor1, tensor2, *, value=1, out=None", rules.binary_same_dtype, "f32[3], f32[3], f32[3] -> f32[3]",
        autocast="promote", has_inplace=True),
    row("complex", "torch", "real, imag, *, out=None", rules.floating_complex, "f32[3], f32[3] -> c64[3]"),
    row("polar", "torch", "abs, angle, *, out=None", rules.floating_complex, "f32[3], f32[3] -> c64[3]"),
    row("mvlgamma", TM, "input, p", pointwise("input", "float"), "f32[3], 2 -> f32[3]", has_inplace=True),
    row("polygamma", "torch special", "n, input", pointwise("input", "float"), "1, f32[3] -> f32[3]"),
    row("multigammaln", "special", "input, p", pointwise("input", "float"), "f32[3], 2 -> f32[3]"),
    row("frexp", TM, "input", rules.frexp, "f32[3] -> (f32[3], i32[3])"),
    row("ldexp", TM, "input, other", pointwise("input other", "float"), "f32[3], i32[3] -> f32[3]", has_inplace=True),
    row("xlog1py", "special", "input, other", pointwise("input other", "float"), "f32[3], f32[3] -> f32[3]"),
    row("zeta", "special", "input, other", pointwise("input other", "float"), "f32[3], f32[3] -> f32[3]"),
    row("softplus", "F", "input, beta=1.0, threshold=20.0", rules.same, FLOAT_UNARY, aliases="torch._C._nn.softplus", autocast="fp32"),
    row("glu", "F", "input, dim=-1", rules.glu, "f32[2,6] -> f32[2,3]"),
    row("prelu", "F torch Tensor", "input, weight", rules.same, "f32[2,3], f32[3] -> f32[2,3]", autocast="lower"),
    row("fake_quantize_per_tensor_affine", "torch", "input, scale, zero_point, quant_min, quant_max", rules.same,
        "f32[3], 0.1, 0, 0, 255 -> f32[3]"),
]  # fmt: skip
