"""Triton's decorators: a kernel stays the function that it is, with the configurations that are tried for it.

Read in triton 3.9.0 (``runtime/autotuner.py``).
"""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.stdlib.support import first
from cgx.indexer.interpreter.values import DictValue, FunctionValue, ListValue, Native, Opaque, Value
from cgx.indexer.overlays.arguments import bind

CONFIG = "triton.Config"
CONFIG_SIGNATURE = "kwargs num_warps num_stages num_ctas maxnreg pre_hook ir_override"
CONFIG_DEFAULTS: dict[str, Value] = {"num_warps": 4, "num_stages": 3, "num_ctas": 1, "maxnreg": None, "pre_hook": None, "ir_override": None}


def config(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``triton.Config(kwargs, num_warps=4, ...)``: the options by name, those of the kernel in a dict."""
    return Opaque(CONFIG, {**CONFIG_DEFAULTS, "kwargs": DictValue(), **bind(CONFIG_SIGNATURE, args, kwargs)}, site.anchor)


def jit(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``@triton.jit``, with or without options."""
    if args and isinstance(args[0], FunctionValue):
        return args[0]
    return Native("triton.jit", first)


def autotune(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``@triton.autotune(configs, key, ...)``: one configuration of defaults where none is given."""
    given = bind("configs key", args, kwargs).get("configs")
    if isinstance(given, ListValue) and not given.items and not given.open:
        given = ListValue([config(interp, site, [DictValue()], {})])

    def tuned(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
        if isinstance(args[0], FunctionValue) and given is not None:
            interp.trail.set_item(args[0].attrs, "configs", given)
        return args[0]

    return Native("triton.autotune", tuned)


def heuristics(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``@triton.heuristics(values)``: arguments that are worked out when the kernel is launched."""
    return Native("triton.heuristics", first)


ENTRIES: dict[str, Any] = {
    CONFIG: config,
    "triton.jit": jit,
    "triton.autotune": autotune,
    "triton.heuristics": heuristics,
}
BASES: dict[str, tuple[str, ...]] = {}
