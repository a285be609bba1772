"""``--input`` specs: tensors such as ``float32[2,3,224,224]``, and Python literals that may hold them."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cgx.errors import UserError
from cgx.indexer.interpreter import nn_module
from cgx.indexer.interpreter.values import (
    BoundMethod,
    DictValue,
    FunctionValue,
    ListValue,
    ModuleInstance,
    TensorValue,
    Unknown,
    Value,
)
from cgx.indexer.ops.dims import Dim
from cgx.model.anchors import Anchor

if TYPE_CHECKING:
    from cgx.indexer.interpreter.interp import Interp

SPEC = re.compile(r"\b([a-z]+[0-9]*(?:_[a-z0-9]+)?)\[([^\[\]]*)\]")


def parse_input(text: str) -> tuple[str, Value]:
    """(name, value) of one spec. Raises UserError where it cannot be read."""
    name, sign, spec = text.partition("=")
    if not sign or not name.strip().isidentifier():
        raise UserError(f"--input {text!r}: write NAME=float32[2,3] or NAME=LITERAL")
    try:
        node = ast.parse(spec.strip(), mode="eval").body
    except SyntaxError:
        raise UserError(f"--input {text!r}: cannot be read") from None
    return name.strip(), _value(node, text)


def _value(node: ast.expr, text: str) -> Value:
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        sizes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return TensorValue(tuple(_size(size, text) for size in sizes), node.value.id, "cpu")
    if isinstance(node, ast.List):
        return ListValue([_value(item, text) for item in node.elts])
    if isinstance(node, ast.Tuple):
        return tuple(_value(item, text) for item in node.elts)
    if isinstance(node, ast.Dict):
        return DictValue({ast.literal_eval(key): _value(value, text) for key, value in zip(node.keys, node.values) if key is not None})
    if isinstance(node, ast.Name):
        return TensorValue((), node.id, "cpu")
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise UserError(f"--input {text!r}: {ast.unparse(node)} is neither a tensor nor a literal") from None


def _size(node: ast.expr, text: str) -> Any:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.Name):
        return Dim.symbol(node.id)
    raise UserError(f"--input {text!r}: a size is a number or a name")


def make_inputs(interp: Interp, model: ModuleInstance, specs: Sequence[str]) -> tuple[list[Value], dict[str, Value]]:
    """Arguments of the model's forward. Parameters without a default that no spec names are unknown."""
    given = dict(parse_input(spec) for spec in specs)
    _, forward = nn_module.forward_of(model)
    func = forward.func if isinstance(forward, BoundMethod) else forward
    while isinstance(func, FunctionValue) and isinstance(func.attrs.get("__wrapped__"), FunctionValue):
        func = func.attrs["__wrapped__"]
    if not isinstance(func, FunctionValue):
        return list(given.values()), {}
    spec = func.node.args
    names = [a.arg for a in [*spec.posonlyargs, *spec.args]][1:]
    needed = names[: len(names) - len(func.defaults)]
    known = {*names, *(a.arg for a in spec.kwonlyargs)}
    if spec.kwarg is None:
        for name in given:
            if name not in known and not (spec.vararg and name == spec.vararg.arg):
                raise UserError(f"--input {name}: forward has no parameter of that name (it has {', '.join(names) or 'none'})")
    here = Anchor(func.path, func.symbol, func.node.lineno)
    kwargs: dict[str, Value] = {}
    for name in needed:
        if name not in given:
            kwargs[name] = Unknown(name, "parameter", here, settle=("--input", name))
    kwargs.update(given)
    args: list[Value] = []
    for name, first in zip(names, list(kwargs)):  # the others by name: they are listed as they were given
        if name != first:
            break
        args.append(kwargs.pop(name))
    return args, kwargs
