"""spmd_types (0.2): a type system over collectives. Its checks change nothing; its collectives are those of their names."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.values import FunctionValue, Opaque, TensorValue, Value
from cgx.indexer.overlays.groups import group_purpose, purpose

AUTHOR = "overlays.spmd_types"
REGION = "spmd_types.region"
CHECKS = ("assert_type", "assert_local_type", "assert_type_like", "assert_local_type_like", "mutate_type", "reinterpret", "convert",
          "invariant_to_replicate", "reinterpret_mesh")  # fmt: skip
REGIONS = ("set_current_mesh", "no_typecheck", "local", "typecheck", "trace", "traceback_filtering", "set_dist")
DECORATORS = ("local_map", "register_autograd_function", "register_local_autograd_function", "register_decomposition", "register_local_backward_hook")
COLLECTIVES = {"all_reduce": "all_reduce", "all_gather": "all_gather", "reduce_scatter": "reduce_scatter", "all_to_all": "all_to_all",
               "unshard": "all_gather"}  # fmt: skip


def first(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A check of the value's type: the value itself."""
    return args[0] if args else next(iter(kwargs.values()), None)


def region(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Opaque(REGION, {}, site.anchor)


def itself(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return args[0]


def nothing(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return None


def passed(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A decorator, with or without arguments: what it decorates."""
    return args[0] if len(args) == 1 and isinstance(args[0], FunctionValue) else Opaque(REGION, {}, site.anchor)


def decorated(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return args[1] if len(args) > 1 else None


def collective(name: str) -> Any:
    def call(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        tensor, group = args[0], args[1] if len(args) > 1 else kwargs.get("axis")
        size = group.attrs.get("size") if isinstance(group, Opaque) else None
        if size == 1:
            return tensor
        known = group_purpose(group) or (purpose(group) if isinstance(group, str) else None)
        interp.event("collective", site, author=AUTHOR, collective=name, issued_by="call", blocking=True, parallelism=known)
        shape = tensor.shape if isinstance(tensor, TensorValue) and name == "all_reduce" else None
        return TensorValue(shape, getattr(tensor, "dtype", None), getattr(tensor, "device", None))

    return call


def redistribute(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """From one type to another: which collective it is depends on the two."""
    source, target = str(getattr(kwargs.get("src"), "name", "")), str(getattr(kwargs.get("dst"), "name", ""))
    name = "all_reduce" if source == "P" and target in ("R", "I") else "reduce_scatter" if source == "P" else "all_gather"
    return collective(name)(interp, site, args, kwargs)


NAMES: tuple[str, ...] = tuple(f"spmd_types.{name}" for name in (*CHECKS, *REGIONS, *DECORATORS, *COLLECTIVES, "redistribute", "is_type_checking"))
ENTRIES: dict[str, Any] = {f"spmd_types.{name}": first for name in CHECKS}
ENTRIES |= {f"spmd_types.{name}": region for name in REGIONS}
ENTRIES |= {f"spmd_types.{name}": passed for name in DECORATORS}
ENTRIES |= {f"spmd_types.{name}": collective(kind) for name, kind in COLLECTIVES.items()}
ENTRIES |= {
    "spmd_types.redistribute": redistribute,
    "spmd_types.is_type_checking": lambda interp, site, args, kwargs: False,
    f"{REGION}.__enter__": itself,
    f"{REGION}.__exit__": nothing,
    f"{REGION}.__call__": decorated,
}
BASES: dict[str, tuple[str, ...]] = {}
