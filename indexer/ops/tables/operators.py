"""Python's operators on tensors: `operator.X`, and the special methods behind them, by the op they stand for."""

from __future__ import annotations

OPERATORS: dict[str, str] = {
    "add": "torch.add", "sub": "torch.sub", "mul": "torch.mul", "truediv": "torch.true_divide", "floordiv": "torch.floor_divide",
    "mod": "torch.remainder", "pow": "torch.pow", "matmul": "torch.matmul", "and": "torch.bitwise_and", "and_": "torch.bitwise_and",
    "or": "torch.bitwise_or", "or_": "torch.bitwise_or", "xor": "torch.bitwise_xor", "lshift": "torch.bitwise_left_shift",
    "rshift": "torch.bitwise_right_shift", "eq": "torch.eq", "ne": "torch.ne", "lt": "torch.lt", "le": "torch.le", "gt": "torch.gt",
    "ge": "torch.ge", "neg": "torch.neg", "invert": "torch.bitwise_not", "inv": "torch.bitwise_not", "abs": "torch.abs", "pos": "torch.positive",
}  # fmt: skip

REFLECTED = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift")
INPLACE = (*REFLECTED, "and_", "or_")
"""``operator.iadd`` and ``torch.Tensor.__iadd__``; reflected ones are ``torch.Tensor.__radd__`` with the operands swapped."""
