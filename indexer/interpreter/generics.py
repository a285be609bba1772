"""Types as annotations give them: ``list[int]``, ``Optional[str]``, ``int | None``, and what ``typing`` tells of them."""

from __future__ import annotations

import ast
from functools import partial
from typing import TYPE_CHECKING, Any

from cgx.indexer.interpreter.values import ClassValue, External, Opaque, Value

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
    return Opaque(ALIAS, {"__origin__": External(ORIGINS.get(name, name)), "__args__": args, "cgx.name": name})


def union(values: tuple[Value, ...], optional: bool) -> Value:
    """``Union[...]`` as a value, such as the name of a type is given; one type alone is itself."""
    parts = tuple(one for value in values for one in members(value)) + ((NONE,) if optional else ())
    return parts[0] if len(parts) == 1 else Opaque(UNION, {"__args__": parts, "cgx.name": "typing.Union"})


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
            return External(str(value.attrs.get("cgx.name", value.qname)))
        if value.qname == ALIAS:
            return value.attrs["__origin__"]
    return None


def arguments_of(value: Value) -> tuple[Any, ...]:
    """``typing.get_args``."""
    if isinstance(value, Opaque):
        held = value.attrs.get("values" if value.qname == LITERAL else "__args__")
        return tuple(held) if isinstance(held, tuple) else ()
    return ()


def text(value: Value) -> str | None:
    """``str`` of a type with arguments (as Python before 3.14 writes it); None where a part of it is not known."""
    if not isinstance(value, Opaque) or value.qname not in (ALIAS, UNION):
        return None
    parts = [None if one is None else "NoneType" if one == NONE else text(one) or plain_name(one) for one in value.attrs["__args__"]]
    known = [one for one in parts if one is not None]
    if len(known) != len(parts):
        return None
    if value.qname == UNION:
        return " | ".join("None" if one == "NoneType" else one for one in known)
    name = value.attrs.get("cgx.name", value.attrs["__origin__"].qname)
    if name in ("typing.Optional", "typing.Union") and len(known) == 2 and known[1] == "NoneType":
        return f"typing.Optional[{known[0]}]"
    return f"{'typing.Union' if name == 'typing.Optional' else name}[{', '.join(known)}]"


def plain_name(value: Value) -> str | None:
    """A class as it stands in the text of a type."""
    return value.qname if isinstance(value, External | ClassValue) else None
