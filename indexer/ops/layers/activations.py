"""Activations, softmax, dropout and padding layers."""

from __future__ import annotations

from cgx.indexer.interpreter.values import Value
from cgx.indexer.ops.layers.rows import Bound, LayerCall, LayerRow, Shapes, as_tuple, extent, layer
from cgx.indexer.ops.registry import find

SAME = "() : f32[2,3] -> f32[2,3]"
INPLACE = "inplace=False"

# class, constructor, op, arguments after the input
PLAIN: list[tuple[str, str, str, str]] = [
    ("ReLU", INPLACE, "F.relu", "inplace"), ("SiLU", INPLACE, "F.silu", "inplace"), ("Mish", INPLACE, "F.mish", "inplace"),
    ("Hardswish", INPLACE, "F.hardswish", "inplace"), ("Hardsigmoid", INPLACE, "F.hardsigmoid", "inplace"), ("SELU", INPLACE, "F.selu", "inplace"),
    ("ELU", "alpha=1.0, inplace=False", "F.elu", "alpha, inplace"), ("CELU", "alpha=1.0, inplace=False", "F.celu", "alpha, inplace"),
    ("GELU", "approximate='none'", "F.gelu", "approximate=approximate"), ("LeakyReLU", "negative_slope=0.01, inplace=False", "F.leaky_relu", "negative_slope, inplace"),
    ("Hardshrink", "lambd=0.5", "F.hardshrink", "lambd"), ("Softshrink", "lambd=0.5", "F.softshrink", "lambd"),
    ("Softplus", "beta=1.0, threshold=20.0", "F.softplus", "beta, threshold"), ("RReLU", "lower=0.125, upper=0.3333333333333333, inplace=False", "F.rrelu", "lower, upper"),
    ("Sigmoid", "", "torch.sigmoid", ""), ("Tanh", "", "torch.tanh", ""), ("LogSigmoid", "", "F.logsigmoid", ""),
    ("Softsign", "", "F.softsign", ""), ("Tanhshrink", "", "F.tanhshrink", ""), ("Softmax", "dim=None", "F.softmax", "dim"),
    ("LogSoftmax", "dim=None", "F.log_softmax", "dim"), ("Softmin", "dim=None", "F.softmin", "dim"),
]  # fmt: skip

DROPOUTS: list[tuple[str, str, str]] = [
    ("Dropout", "F.dropout", "f32[2,3]"), ("Dropout1d", "F.dropout1d", "f32[2,3,4]"), ("Dropout2d", "F.dropout2d", "f32[2,3,4,5]"),
    ("Dropout3d", "F.dropout3d", "f32[2,3,4,5,6]"), ("AlphaDropout", "F.alpha_dropout", "f32[2,3]"),
    ("FeatureAlphaDropout", "F.feature_alpha_dropout", "f32[2,3,4]"),
]  # fmt: skip

PADDING = {"Constant": "constant", "Zero": "constant", "Reflection": "reflect", "Replication": "replicate", "Circular": "circular"}


def _prelu(b: Bound) -> Shapes:
    return {"weight": (extent(b["num_parameters"]),)}


def _hardtanh(b: Bound) -> dict[str, Value]:
    low, high = b.get("min_value"), b.get("max_value")
    return {"min_val": b["min_val"] if low is None else low, "max_val": b["max_val"] if high is None else high}


def _pad(kind: str, count: int) -> LayerRow:
    value = ", value" if kind == "Constant" else ""
    extents = ",".join(["4"] * count)
    example = f"(1{', 0.5' if value else ''}) : f32[2,3,{extents}] -> f32[2,3,{','.join(['6'] * count)}]"
    base = f"_{'Constant' if kind == 'Zero' else kind}PadNd"
    bases = f"torch.nn.ConstantPad{count}d {base}" if kind == "Zero" else base

    def stored(b: Bound) -> dict[str, Value]:
        extra: dict[str, Value] = {"value": 0.0} if kind == "Zero" else {}
        return {"padding": as_tuple(b["padding"], 2 * count), **extra}

    def run(call: LayerCall) -> Value:
        entry = find("torch.nn.functional.pad")
        widths = as_tuple(call.value("padding"), 2 * count)
        return entry.call([call.value("input"), widths, PADDING[kind]], {}) if entry else call.value("input")

    return layer(f"{kind}Pad{count}d", "padding", f"padding{value}", example, op="F.pad", bases=bases, stored=stored, rule=run)


ROWS: list[LayerRow] = [
    *(layer(name, "activation", signature, SAME if "dim" not in signature else "(dim=1) : f32[2,3] -> f32[2,3]", op=op,
            arguments=f"input, {arguments}") for name, signature, op, arguments in PLAIN),
    layer("ReLU6", "activation", INPLACE, SAME, op="F.relu6", arguments="input, inplace", bases="torch.nn.Hardtanh",
          stored=lambda b: {"min_val": 0.0, "max_val": 6.0}),
    layer("Hardtanh", "activation", "min_val=-1.0, max_val=1.0, inplace=False, min_value=None, max_value=None", SAME, op="F.hardtanh",
          arguments="input, min_val, max_val, inplace", stored=_hardtanh, dropped=("min_value", "max_value")),
    layer("Threshold", "activation", "threshold, value, inplace=False", "(0.1, 2.0) : f32[2,3] -> f32[2,3]", op="F.threshold",
          arguments="input, threshold, value, inplace"),
    layer("GLU", "activation", "dim=-1", "() : f32[2,6] -> f32[2,3]", op="F.glu", arguments="input, dim"),
    layer("Softmax2d", "activation", "", "() : f32[2,3,4,5] -> f32[2,3,4,5]", op="F.softmax"),
    layer("PReLU", "activation", "num_parameters=1, init=0.25, device=None, dtype=None", SAME, op="F.prelu", arguments="input, weight", shapes=_prelu),
    *(layer(name, "dropout", "p=0.5, inplace=False", f"() : {shape} -> {shape}", op=op, arguments="input, p, training, inplace",
            bases="_DropoutNd") for name, op, shape in DROPOUTS),
    layer("torch.nn.modules.dropout._DropoutNd", "dropout", "p=0.5, inplace=False", ""),
    *(_pad(kind, count) for kind in PADDING for count in (1, 2, 3)),
]  # fmt: skip
