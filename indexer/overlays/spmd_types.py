"""spmd_types: annotations of how tensors lie on a mesh. They move nothing; what does is a collective by its two types.

Covers spmd_types 0.2. The library only checks types; with it or without, a job computes the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cgx.indexer.interpreter.values import External, FunctionValue, Native, Opaque, TensorValue, Value
from cgx.indexer.overlays.arguments import argument_text, bind

AUTHOR = "overlays.spmd_types"
LOCAL, SHARD = "spmd_types.PerMeshAxisLocalSpmdType", "spmd_types.Shard"
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


def same(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The tensor itself."""
    return args[0] if args else next(iter(kwargs.values()), None)


def shard(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Opaque(SHARD, {"kind": "S", "dim": args[0] if args else kwargs.get("dim")}, site.anchor)


def partition(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return tuple(args)


def region(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Opaque("contextlib.nullcontext", {"enter_result": None})


def decorator(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``@local_map(...)`` and its kind leave the function as it is."""
    if args and isinstance(args[0], FunctionValue):
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
        collective = fixed or MOVES.get((kind_of(bound.get("src")), kind_of(bound.get("dst"))), "")
        if collective and interp.world.size != 1:
            text = argument_text(site, 1, "axis")
            interp.event("collective", site, author=AUTHOR, basis="modelled", collective=collective, issued_by="call",
                         async_op=None, group=text or None, blocking=True, what=argument_text(site, 0, "x"))  # fmt: skip
            tensor = bound.get("x")
            return TensorValue(None, tensor.dtype, tensor.device) if isinstance(tensor, TensorValue) else tensor
        return bound.get("x")

    return call


def false(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return False


def nothing(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return None


CONSTANTS: dict[str, Value] = {
    f"spmd_types.{name}": Opaque(LOCAL, {"kind": name})
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
            "convert",
            "shard",
            "unshard",
            "invariant_to_replicate",
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
