"""einx: elementwise ops, reductions and lookups with named axes."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.values import TensorValue, Value
from cgx.indexer.ops.einops_patterns import DOTS, arrange, axis_sizes, given_axes, read_side
from cgx.indexer.ops.rows import Call, OpRow, row
from cgx.indexer.ops.shapes import MaybeSize, Shape, Undetermined, join_sizes
from cgx.indexer.ops.tensors import device_of, result_dtype, tensor

ELEMENTWISE = {
    "add": "", "subtract": "", "multiply": "", "divide": "", "true_divide": "", "floor_divide": "", "maximum": "", "minimum": "", "where": "",
    "less": "bool", "less_equal": "bool", "greater": "bool", "greater_equal": "bool", "equal": "bool", "not_equal": "bool",
    "logical_and": "bool", "logical_or": "bool",
}  # fmt: skip
REDUCTIONS = {"sum": "", "mean": "", "max": "", "min": "", "prod": "", "any": "bool", "all": "bool", "var": "", "std": "", "logsumexp": ""}


def _operands(call: Call) -> tuple[str, list[Value]]:
    pattern, *operands = call.bound["pattern_and_tensors"]
    if not isinstance(pattern, str):
        raise Undetermined("pattern")
    return pattern, operands


def _sizes(texts: list[str], operands: list[Value], call: Call) -> tuple[dict[str, MaybeSize], tuple[MaybeSize, ...]]:
    """Sizes of all axes by name, and those that "..." stands for."""
    found = given_axes({name: value for name, value in call.bound.items() if name != "pattern_and_tensors"})
    spare: tuple[MaybeSize, ...] = ()
    for text, operand in zip(texts, operands):
        if not isinstance(operand, TensorValue) or operand.shape is None:
            continue
        sizes, rest = axis_sizes(read_side(text.replace("[", " ").replace("]", " ")), operand.shape, dict(found))
        spare = rest or spare
        for name, extent in sizes.items():
            held = found.get(name)
            found[name] = extent if held is None else join_sizes(held, extent)
    return found, spare


def _output(texts: list[str], right: str) -> str:
    """The right side, or the operand that holds every axis."""
    if right:
        return right
    names = {name for text in texts for name in read_side(text).names}
    for text in texts:
        if set(read_side(text).names) >= names:
            return text
    raise Undetermined("no operand holds all axes")


def elementwise(dtype: str) -> Any:
    """einx.add("i, j -> i j", a, b) and its kind."""

    def rule(call: Call) -> Value:
        pattern, operands = _operands(call)
        left, _, right = pattern.partition("->")
        texts = left.split(",")
        found, spare = _sizes(texts, operands, call)
        shape: Shape = arrange(read_side(_output(texts, right)), found, spare)
        tensors = [item for item in operands if isinstance(item, TensorValue)]
        values = operands[1:] if call.row.name.endswith("where") else operands
        return tensor(shape, dtype or result_dtype(values, call.defaults.dtype), device_of(tensors))

    return rule


def reduction(dtype: str) -> Any:
    """einx.sum("a [b]", x), einx.mean("... c -> ...", x)."""

    def rule(call: Call) -> Value:
        pattern, operands = _operands(call)
        left, arrow, right = pattern.partition("->")
        found, spare = _sizes([left], operands, call)
        if not arrow:
            right = "".join(part.partition("]")[2] if index else part for index, part in enumerate(left.split("[")))
        base = operands[0]
        if not isinstance(base, TensorValue):
            raise Undetermined("tensor")
        return tensor(arrange(read_side(right), found, spare), dtype or base.dtype, base.device)

    return rule


def get_at(call: Call) -> Value:
    """einx.get_at("b n [l], b n -> b n", x, index): the dtype of what is looked up."""
    pattern, operands = _operands(call)
    left, _, right = pattern.partition("->")
    found, spare = _sizes(left.split(","), operands, call)
    base = operands[0]
    if not isinstance(base, TensorValue) or DOTS in right:
        raise Undetermined("tensor")
    return tensor(arrange(read_side(right), found, spare), base.dtype, base.device)


WORDS = "*pattern_and_tensors"

ROWS: list[OpRow] = [
    *(row(f"einx.{name}", "", WORDS, elementwise(dtype), f"'i, j -> i j', f32[4], f32[5] -> {'b8' if dtype else 'f32'}[4,5]")
      for name, dtype in ELEMENTWISE.items() if name != "where"),
    row("einx.where", "", WORDS, elementwise(""), "'b n, b n d, -> b n d', b8[2,3], f32[2,3,4], 0.0 -> f32[2,3,4]"),
    *(row(f"einx.{name}", "", WORDS, reduction(dtype), f"'b [n] d', f32[2,3,4] -> {'b8' if dtype else 'f32'}[2,4]")
      for name, dtype in REDUCTIONS.items()),
    row("einx.get_at", "", WORDS, get_at, "'b n [l], b n -> b n', f32[2,3,9], i64[2,3] -> f32[2,3]"),
]  # fmt: skip
