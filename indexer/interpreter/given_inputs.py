"""``--input`` with a launch line: the model that the job calls gets these arguments in place of the job's own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from cgx.indexer.interpreter.inputs import parse_input
from cgx.indexer.interpreter.values import BoundMethod, FunctionValue, ListValue, ModuleInstance, TensorValue, Value

Dims = tuple[Any, ...] | None


class GivenInputs:
    """The part of the interpreter that puts the user's inputs in. Mixed into Interp."""

    def __init__(self, specs: list[str]) -> None:
        self._given = dict(parse_input(spec) for spec in specs)
        self._given_first: list[Dims] | None = None  # what the first call had in their place
        self._inside_given = 0

    def with_given(
        self, forward: Value, module: ModuleInstance, args: list[Value], kwargs: dict[str, Value]
    ) -> tuple[list[Value], dict[str, Value], bool]:
        """The arguments of a call, and whether the inputs are meant for it; with the user's where the forward has parameters of their names.

        Calls that the job makes with other shapes than the first (a decoding step after the prefill) keep their own.
        """
        if not self._given or self._inside_given:
            return args, kwargs, False
        names = parameter_names(forward)
        if not all(name in names for name in self._given):
            return args, kwargs, False
        args, kwargs = list(args), dict(kwargs)
        own = {name: args[i] if (i := names.index(name)) < len(args) else kwargs.get(name) for name in self._given}
        shown = [dims for value in own.values() for dims in dims_of(value)]
        if self._given_first is None:
            self._given_first = shown
        elif differ(self._given_first, shown):
            return args, kwargs, True
        for name, value in self._given.items():
            value = placed(value, own[name], module)
            index = names.index(name)
            if index < len(args):
                args[index] = value
            elif name in kwargs or index > len(args):
                kwargs[name] = value
            else:
                args.append(value)
        return args, kwargs, True

    @contextmanager
    def inside_given(self, matched: bool) -> Iterator[None]:
        """Modules inside the one that the inputs are meant for get what it gives them."""
        self._inside_given += matched
        try:
            yield
        finally:
            self._inside_given -= matched


def parameter_names(forward: Value) -> list[str]:
    func = forward.func if isinstance(forward, BoundMethod) else forward
    while isinstance(func, FunctionValue) and isinstance(func.attrs.get("__wrapped__"), FunctionValue):
        func = func.attrs["__wrapped__"]
    if not isinstance(func, FunctionValue) or isinstance(func.node, ast.Lambda):
        return []
    spec = func.node.args
    return [a.arg for a in [*spec.posonlyargs, *spec.args]][1:] + [a.arg for a in spec.kwonlyargs]


def dims_of(value: Value) -> list[Dims]:
    if isinstance(value, TensorValue):
        return [value.shape]
    if isinstance(value, ListValue):
        return [dims for item in value.items for dims in dims_of(item)]
    return [None]


def differ(first: list[Dims], other: list[Dims]) -> bool:
    """Surely other tensors: another rank, or a size that is known in both and not the same."""
    for one, two in zip(first, other):
        if one is not None and two is not None:
            if len(one) != len(two) or any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in zip(one, two)):
                return True
    return False


def placed(value: Value, own: Value, module: ModuleInstance) -> Value:
    """The user's value on the device where the job's own stands, else the model's."""
    device = own.device if isinstance(own, TensorValue) else device_of(module)
    if isinstance(value, TensorValue):
        return replace(value, device=device, attrs={})
    if isinstance(value, ListValue):
        return ListValue([placed(item, own, module) for item in value.items])
    return value


def device_of(module: ModuleInstance) -> Any:
    stack = [module]
    while stack:
        inner = stack.pop()
        for value in inner.parameters.values():
            if isinstance(value, TensorValue):
                return value.device
        stack.extend(child for child in inner.children.values() if isinstance(child, ModuleInstance))
    return module.device
