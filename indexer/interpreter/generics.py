"""Types as annotations give them: ``list[int]``, ``Optional[str]``, ``int | None``, and what ``typing`` tells of them."""

from __future__ import annotations

import ast
from functools import partial
from typing import TYPE_CHECKING, Any

from cgx.indexer.interpreter.values import External, Opaque, Value

if TYPE_CHECKING:
    from cgx.indexer.interpreter.interp import Interp
    from cgx.indexer.interpreter.scopes import Frame

ALIAS, LITERAL, UNION = "typing.GenericAlias", "typing.Literal", "types.UnionType"
NONE = External("NoneType")
# what typing.get_origin gives for a name of typing
ORIGINS = {
    "typing.Optional": "typing.Union", "typing.List": "list", "typing.Dict": "dict", "typing.Tuple": "tuple", "typing.Set": "set",
    "typing.FrozenSet": "frozenset", "typing.Type": "type", "typing.Callable": "collections.abc.Callable",
    "typing.Sequence": "collections.abc.Sequence", "typing.Iterable": "collections.abc.Iterable", "typing.Mapping": "collections.abc.Mapping",
}  # fmt: skip


def read(interp: Interp, node: ast.expr, frame: Frame) -> Value:
    """The value of an annotation; what is subscripted keeps its arguments."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        parts = (*members(read(interp, node.left, frame)), *members(read(interp, node.right, frame)))
        return Opaque(UNION, {"__args__": parts})
    if isinstance(node, ast.Subscript):
        base = interp.eval(node.value, frame)
        if isinstance(base, External) and base.qname.rpartition(".")[2] != "Literal":
            return alias(interp, base, node.slice, frame)
    return interp.eval(node, frame)


def alias(interp: Interp, base: External, inner: ast.expr, frame: Frame) -> Value:
    name = base.qname.replace("typing_extensions.", "typing.")
    nodes = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    if name == "typing.Annotated":
        return read(interp, nodes[0], frame)
    args = tuple(class_of(interp.attempt(partial(read, interp, one, frame))) for one in nodes)
    if name == "typing.Optional":
        args = (*members(args[0]), NONE)
    return Opaque(ALIAS, {"__origin__": External(ORIGINS.get(name, name)), "__args__": args})


def members(value: Value) -> tuple[Value, ...]:
    """The alternatives of a union, or the one type."""
    if isinstance(value, Opaque) and (value.qname == UNION or value.attrs.get("__origin__") == External("typing.Union")):
        return tuple(value.attrs["__args__"])
    return (class_of(value),)


def class_of(value: Value) -> Value:
    return NONE if value is None else value


def origin_of(value: Value) -> Value:
    """``typing.get_origin``; None of a type that has no arguments."""
    if isinstance(value, Opaque):
        if value.qname in (LITERAL, UNION):
            return External(value.qname)
        if value.qname == ALIAS:
            return value.attrs["__origin__"]
    return None


def arguments_of(value: Value) -> tuple[Any, ...]:
    """``typing.get_args``."""
    if isinstance(value, Opaque):
        held = value.attrs.get("values" if value.qname == LITERAL else "__args__")
        return tuple(held) if isinstance(held, tuple) else ()
    return ()
