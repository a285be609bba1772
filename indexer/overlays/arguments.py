"""Reading the arguments of a modelled call: binding by name, flags, devices, source text.

Every helper takes abstract values and answers ``None`` where the value is not known; none raises.
"""

from __future__ import annotations

import ast
from typing import Any

from cgx.indexer.interpreter.stdlib.support import bind as bind
from cgx.indexer.interpreter.values import (
    Alternatives,
    ByRank,
    Device,
    DictValue,
    DType,
    External,
    ListValue,
    ModuleInstance,
    Opaque,
    SetValue,
    TensorValue,
    Unknown,
    Value,
)


def flag(value: Value, default: bool | None = None) -> bool | None:
    """A bool where it is known; ``default`` for None (not given)."""
    if value is None:
        return default
    if isinstance(value, ByRank):
        value = value.values[0]
    if isinstance(value, bool | int | float | str):
        return bool(value)
    return None


def number(value: Value) -> int | float | None:
    """A plain number where it is one."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def plain(value: Value) -> Any:
    """A value as it may stand in a record: a constant, a dtype's or class's name, else None."""
    if isinstance(value, ByRank):
        value = value.values[0]
    if isinstance(value, DType):
        return value.name
    if isinstance(value, External):
        return value.tail
    return value if isinstance(value, bool | int | float | str) else None


def device_type(value: Value) -> str | None:
    """``cpu``, ``cuda``, ``meta``, ...; an int is a cuda index; None where it cannot be told or is no device."""
    if isinstance(value, ByRank | Alternatives):
        kinds = {device_type(item) for item in choices(value)}
        return kinds.pop() if len(kinds) == 1 else None
    if isinstance(value, Device):
        return value.type
    if isinstance(value, str):
        return value.partition(":")[0]
    if isinstance(value, int) and not isinstance(value, bool):
        return "cuda"
    if isinstance(value, Unknown) and value.hint == "int":
        return "cuda"  # an index, whichever
    return None


def choices(value: ByRank | Alternatives) -> list[Value]:
    return list(value.values) if isinstance(value, ByRank) else [option for _, option in value.options]


def is_device(value: Value) -> bool:
    """A value that stands for a device: an object, or text such as ``cuda:0``."""
    if isinstance(value, ByRank | Alternatives):
        return all(is_device(item) or (isinstance(item, int) and not isinstance(item, bool)) for item in choices(value))
    if isinstance(value, Unknown) and value.hint == "int":
        return True
    return isinstance(value, Device) or (isinstance(value, str) and value.partition(":")[0] in DEVICES)


DEVICES = frozenset({"cpu", "cuda", "meta", "mps", "xpu", "npu", "hpu", "xla", "mtia"})


def dtype_name(value: Value) -> str | None:
    return value.name if isinstance(value, DType) else None


def items_of(value: Value) -> list[Value] | None:
    """Elements of a concrete sequence, None where they are not listed one by one."""
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, ListValue | SetValue):
        return None if value.open else list(value.items)
    if isinstance(value, DictValue):
        return None if value.open else list(value.items)
    if isinstance(value, range):
        return list(value)
    return None


def tensors_in(value: Value, limit: int = 10_000, modules: bool = False) -> list[TensorValue]:
    """Tensors in nested containers and in the attributes of modelled objects, each once, in order.

    ``modules``: also the parameters and buffers of modules, as where an object is written as a whole.
    """
    found: list[TensorValue] = []
    seen: set[int] = set()
    stack = [value]
    while stack and len(seen) < limit:
        item = stack.pop()
        if id(item) in seen:
            continue
        if isinstance(item, TensorValue):
            seen.add(id(item))
            found.append(item)
        elif isinstance(item, tuple):
            stack.extend(reversed(item))
        elif isinstance(item, ListValue | SetValue):
            seen.add(id(item))
            stack.extend(reversed(item.items))
        elif isinstance(item, DictValue):
            seen.add(id(item))
            stack.extend(reversed(list(item.items.values())))
        elif isinstance(item, Opaque):
            seen.add(id(item))
            stack.extend(reversed(list(item.attrs.values())))
        elif modules and isinstance(item, ModuleInstance):
            seen.add(id(item))
            stack.extend(reversed([*item.parameters.values(), *item.buffers.values(), *item.children.values()]))
    return found


def unparse(node: ast.AST | None, limit: int = 120) -> str:
    """Source text of a node on one line."""
    if node is None:
        return ""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= limit else text[: limit - 3] + "..."


def receiver_text(site: Any) -> str:
    """Source text of the object whose method is called at the site, else the site's text."""
    node = site.node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return unparse(node.func.value)
    return str(site.text)


def argument_text(site: Any, index: int, name: str = "") -> str:
    """Source text of one argument of the call at the site; empty where it is not there."""
    node = site.node
    if not isinstance(node, ast.Call):
        return ""
    for keyword in node.keywords:
        if name and keyword.arg == name:
            return unparse(keyword.value)
    if index < len(node.args) and not any(isinstance(arg, ast.Starred) for arg in node.args[: index + 1]):
        return unparse(node.args[index])
    return ""
