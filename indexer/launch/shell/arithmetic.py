"""``$(( ))``: integer arithmetic over shell variables, read through Python's own expression grammar."""

from __future__ import annotations

import ast
import operator
import re
import warnings
from collections.abc import Callable
from typing import Any

_BINARY: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Mod: lambda a, b: a - b * int(a / b),
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.FloorDiv: lambda a, b: int(a / b),
    ast.Div: lambda a, b: int(a / b),
}
_COMPARE: dict[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def evaluate(text: str, lookup: Callable[[str], str | None]) -> int | None:
    """The value of an expression, None where a variable of it is not a known number or the form is not taken."""
    python = text.replace("&&", " and ").replace("||", " or ")
    python = re.sub(r"!(?!=)", " not ", re.sub(r"\$\{?(\w+)\}?", r"\1", python)).strip()
    if not python:
        return 0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of Python's, about a text that is not Python
            tree = ast.parse(python, mode="eval")
        return _value(tree.body, lookup)
    except (SyntaxError, ValueError, ZeroDivisionError, OverflowError, RecursionError):
        return None


def _value(node: ast.expr, lookup: Callable[[str], str | None]) -> int | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return int(node.value)
    if isinstance(node, ast.Name):
        text = lookup(node.id)
        if text is None or text == "":
            return None
        return int(text) if re.fullmatch(r"\s*-?\d+\s*", text) else None
    if isinstance(node, ast.UnaryOp):
        return _unary(node, lookup)
    if isinstance(node, ast.BoolOp):
        values = [_value(item, lookup) for item in node.values]
        if any(value is None for value in values):
            return None
        return int(all(values) if isinstance(node.op, ast.And) else any(values))
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        left, right = _value(node.left, lookup), _value(node.right, lookup)
        if left is None or right is None or (abs(right) > 64 and isinstance(node.op, ast.Pow | ast.LShift)):
            return None
        found = _BINARY[type(node.op)](left, right)
        return found if abs(found) < 2**63 else None
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARE:
        left, right = _value(node.left, lookup), _value(node.comparators[0], lookup)
        return None if left is None or right is None else int(_COMPARE[type(node.ops[0])](left, right))
    return None


def _unary(node: ast.UnaryOp, lookup: Callable[[str], str | None]) -> int | None:
    value: Any = _value(node.operand, lookup)
    if value is None:
        return None
    if isinstance(node.op, ast.Not):
        return int(not value)
    return int(-value if isinstance(node.op, ast.USub) else value)
