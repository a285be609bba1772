"""spmd_types: annotations of how tensors lie on a mesh. They move nothing; what does is a collective by its two types.

Covers spmd_types 0.2. The library only checks types; with it or without, a job computes the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from cgx.indexer.interpreter.stdlib.support import nothing
from cgx.indexer.interpreter.values import ClassValue, External, FunctionValue, Native, Opaque, TensorValue, Value
from cgx.indexer.overlays.arguments import argument_text, bind
from cgx.indexer.overlays.groups import group_purpose, purpose

AUTHOR = "overlays.spmd_types"
LOCAL, SHARD = "spmd_types.PerMeshAxisLocalSpmdType", "spmd_types.Shard"
SHARDS = "spmd_shards"  # flag: the object of each dim
PACKAGES = ("spmd_types",)
Handler = Callable[..., Value]

MOVES: dict[tuple[str, str], str] = {
    ("P", "R"): "all_reduce",
    ("P", "I"): "all_reduce",
    ("P", "S"): "reduce_scatter",
    ("P", "V"): "reduce_scatter",
    ("S", "R"): "all_gather",
    ("V", "R"): "all_gather",
    ("S", "I"): "all_gather",
    ("S", "S"): "all_to_all",
    ("V", "V"): "all_to_all",
}
"""What moves data between two types of a tensor on one axis of the mesh; other pairs are local."""
GRADIENTS: dict[tuple[str, str], str] = {
    ("P", "R"): "all_reduce",
    ("P", "S"): "all_gather",
    ("P", "V"): "all_gather",
    ("S", "R"): "reduce_scatter",
    ("V", "R"): "reduce_scatter",
    ("S", "S"): "all_to_all",
    ("V", "V"): "all_to_all",
    ("I", "R"): "all_reduce",
    ("I", "V"): "all_gather",
    ("I", "S"): "all_gather",
}
"""What its backward moves: the gradient of R is P, that of I is I, that of a shard a shard."""


def same(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The tensor itself."""
    return args[0] if args else next(iter(kwargs.values()), None)


def shard(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """One object for each dim: shards of one dim are equal. A copy is the same value (``cgx.value``)."""
    dim = args[0] if args else kwargs.get("dim")
    made = interp.flags.get(SHARDS, {})
    if not isinstance(dim, int):
        return Opaque(SHARD, {"kind": "S", "dim": dim, "cgx.value": True}, site.anchor)
    if dim not in made:
        made = {**made, dim: Opaque(SHARD, {"kind": "S", "dim": dim, "cgx.value": True}, site.anchor)}
        interp.trail.set_item(interp.flags, SHARDS, made)
    return made[dim]


def partition(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return tuple(args)


def region(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Opaque("contextlib.nullcontext", {"enter_result": None})


def decorator(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``@local_map(...)`` and its kind leave the function as it is."""
    if args and isinstance(args[0], FunctionValue | ClassValue):
        return args[0]
    return Native("spmd_types.decorator", lambda i, s, a, k: a[0])


def kind_of(value: Value) -> str:
    if isinstance(value, Opaque):
        return str(value.attrs.get("kind", ""))
    return value.tail if isinstance(value, External) else ""


def moving(fixed: str = "") -> Handler:
    """A function that moves data between two types of ``x`` on ``axis``; ``fixed``: the collective where it is only one."""

    def call(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        bound = bind("x axis src dst", args, kwargs)
        types = (kind_of(bound.get("src")) or SOURCES.get(fixed, ""), kind_of(bound.get("dst")) or TARGETS.get(fixed, ""))
        collective = fixed or MOVES.get(types, "")
        if interp.world.size == 1:
            return bound.get("x")
        text, tensor = argument_text(site, 1, "axis"), bound.get("x")
        data = {"issued_by": "call", "async_op": None, "group": text or None, "blocking": True,
                "parallelism": group_purpose(bound.get("axis")) or (purpose(text) if text else None)}  # fmt: skip
        back = GRADIENTS.get(types)
        floating = not isinstance(tensor, TensorValue) or (tensor.dtype or "float").startswith(("float", "bfloat"))
        if back is not None and interp.flags.get("grad", True) and floating:
            interp.event("collective", site, author=AUTHOR, basis="modelled", **{**data, "collective": back, "pass": "backward", "overlapped": False})
        if collective:
            interp.event("collective", site, author=AUTHOR, basis="modelled", **data, collective=collective, what=argument_text(site, 0, "x"))
        return resized(tensor, bound)

    return call


def resized(tensor: Value, bound: dict[str, Value]) -> Value:
    """The tensor with the dim that is sharded before or after as long as it is then."""
    src, dst, axis = bound.get("src"), bound.get("dst"), bound.get("axis")
    size = axis.attrs.get("cgx.size") if isinstance(axis, Opaque) else None
    if not isinstance(tensor, TensorValue):
        return tensor
    shape: list[Any] | None = list(tensor.shape) if tensor.shape is not None else None
    for kind, grows in ((src, True), (dst, False)):
        dim = kind.attrs.get("dim") if isinstance(kind, Opaque) and kind.attrs.get("kind") == "S" else None
        if kind_of(kind) in ("S", "V") and shape is not None:
            if not isinstance(dim, int) or not isinstance(size, int) or not -len(shape) <= dim < len(shape):
                shape = None
            elif isinstance(shape[dim], int):
                shape[dim] = shape[dim] * size if grows else shape[dim] // size if shape[dim] % size == 0 else None
    return replace(tensor, shape=tuple(shape) if shape is not None else None, parameter=False, name="", const=None)


def sharded(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``shard(x, axis, src=, dst=S(dim))``: each rank keeps its part; nothing moves."""
    bound = bind("x axis src dst", args, kwargs)
    return resized(bound.get("x"), {**bound, "src": None})



def invariant(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``invariant_to_replicate(x, axis)``: nothing moves but the gradient."""
    return moving()(interp, site, args, {**kwargs, "src": Opaque(LOCAL, {"kind": "I"}), "dst": Opaque(LOCAL, {"kind": "R"})})


# types of what a function takes and gives where the call does not say
SOURCES = {"all_reduce": "P", "all_gather": "V", "reduce_scatter": "P", "all_to_all": "V"}
TARGETS = {"all_gather": "R", "reduce_scatter": "V", "all_to_all": "V"}


def false(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return False


CONSTANTS: dict[str, Value] = {
    f"spmd_types.{name}": Opaque(LOCAL, {"kind": name, "cgx.value": True})
    for name in ("R", "I", "V", "P", "Replicate", "Invariant", "Varying", "Partial")
}
ENTRIES: dict[str, Handler] = {
    "spmd_types.S": shard,
    "spmd_types.Shard": shard,
    "spmd_types.PartitionSpec": partition,
    **{
        f"spmd_types.{name}": same
        for name in (
            "assert_type",
            "mutate_type",
            "reinterpret",
            "reinterpret_mesh",
            "unshard",
        )
    },
    **{
        f"spmd_types.{name}": region
        for name in ("no_typecheck", "typecheck", "checker.typecheck", "local", "set_current_mesh", "trace")
    },
    **{
        f"spmd_types.{name}": decorator
        for name in (
            "local_map",
            "register_autograd_function",
            "register_local_autograd_function",
            "register_decomposition",
        )
    },
    "spmd_types.redistribute": moving(),
    "spmd_types.convert": moving(),
    "spmd_types.shard": sharded,
    "spmd_types.invariant_to_replicate": invariant,
    "spmd_types.all_reduce": moving("all_reduce"),
    "spmd_types.all_gather": moving("all_gather"),
    "spmd_types.reduce_scatter": moving("reduce_scatter"),
    "spmd_types.all_to_all": moving("all_to_all"),
    "spmd_types.is_type_checking": false,
    "spmd_types.current_mesh": nothing,
    "spmd_types.get_local_type": nothing,
    "spmd_types.has_local_type": false,
    "spmd_types.register_tree": nothing,
}
BASES: dict[str, tuple[str, ...]] = {
    LOCAL: ("spmd_types.PerMeshAxisSpmdType",),
    SHARD: ("spmd_types.PerMeshAxisSpmdType",),
}
