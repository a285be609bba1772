"""What belongs to one round of a loop: the name of a tensor in a batch, or the batch, so that what it sets there is known."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from cgx.indexer.interpreter.values import MISSING, DictValue, ListValue, TensorValue, Value

if TYPE_CHECKING:
    from cgx.indexer.interpreter.scopes import Frame

COPIES = frozenset({"list", "tuple", "sorted"})
VIEWS = frozenset({"items", "keys"})


def by_name(iterated: ast.expr, items: list[Value], frame: Frame) -> bool:
    """Whether the rounds go through the names of tensors in one dict: ``for k, v in batch.items()``, ``for k in batch``."""
    table = table_of(iterated, frame)
    if not isinstance(table, DictValue) or table.open or len(table.items) != len(items):
        return False
    return all(isinstance(name, str) for name in table.items) and any(holds_tensor(value) for value in table.items.values())


def table_of(iterated: ast.expr, frame: Frame) -> Value:
    """The dict whose names an expression goes through, where a plain name holds it."""
    while isinstance(iterated, ast.Call) and len(iterated.args) == 1 and isinstance(iterated.func, ast.Name) and iterated.func.id in COPIES:
        iterated = iterated.args[0]
    if isinstance(iterated, ast.Call) and not iterated.args and isinstance(iterated.func, ast.Attribute) and iterated.func.attr in VIEWS:
        iterated = iterated.func.value
    return frame.scope.vars.get(iterated.id, MISSING) if isinstance(iterated, ast.Name) else MISSING


def holds_tensor(value: Value) -> bool:
    """A tensor of the data, alone or in a list."""
    if isinstance(value, ListValue | tuple):
        return any(holds_tensor(one) for one in (value if isinstance(value, tuple) else value.items))
    return isinstance(value, TensorValue) and not value.parameter


def tables(element: Value, depth: int = 3) -> Iterator[int]:
    """Ids of the dicts and lists that one element of a loop is made of."""
    if depth and isinstance(element, DictValue | ListValue | tuple):
        yield id(element)
        held = element if isinstance(element, tuple) else list(element.items.values()) if isinstance(element, DictValue) else element.items
        if isinstance(element, DictValue):
            yield id(element.items)
        for one in held:
            yield from tables(one, depth - 1)
