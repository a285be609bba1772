"""Modules that are copies of one another, and have not been written to since."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from cgx.indexer.interpreter.values import ModuleInstance, Value

LARGE = 4000  # modules


def tree(root: ModuleInstance) -> Iterator[ModuleInstance]:
    stack, seen = [root], set()
    while stack:
        one = stack.pop()
        if id(one) not in seen:
            seen.add(id(one))
            yield one
            stack.extend(child for child in one.children.values() if isinstance(child, ModuleInstance))


def has_twins(module: ModuleInstance) -> bool:
    """Others were built at the same place from equal arguments, and all of it is in one mode."""
    make = module.make
    return make is not None and make.copies > 0 and all(one.make is not None and one.training is module.training for one in tree(module))


def twins(one: Value, other: Value, training: bool) -> bool:
    """Two modules of one make that nobody has written to since: whatever is read of them in this mode is the same."""
    stack = [(one, other)]
    while stack:
        left, right = stack.pop()
        if not (isinstance(left, ModuleInstance) and isinstance(right, ModuleInstance)):
            if left is not right:
                return False
            continue
        if left.make is None or left.make is not right.make or left.training is not training or left.hooks or right.hooks:
            return False
        stack.extend(zip(left.children.values(), right.children.values()))
    return True


def is_large(module: ModuleInstance) -> bool:
    """More modules than are worth telling apart from another model's."""
    return next(islice(tree(module), LARGE, None), None) is not None
