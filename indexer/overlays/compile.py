"""torch.compile and its markers. A compiled module or function stays what it is; the event says what was compiled."""

from __future__ import annotations

import dataclasses
from typing import Any

from cgx.indexer.interpreter.stdlib.support import nothing
from cgx.indexer.interpreter.values import (
    BoundMethod,
    External,
    FunctionValue,
    ModuleInstance,
    Native,
    Opaque,
    Partial,
    Value,
)
from cgx.indexer.overlays.arguments import bind, flag, plain

AUTHOR = "overlays.compile"
OPTIONS = ("fullgraph", "dynamic", "backend", "mode", "options", "disable")
GRAPH_MODES = frozenset({"reduce-overhead", "max-autotune"})


def target_name(target: Value) -> str:
    """What is compiled, in words."""
    if isinstance(target, ModuleInstance):
        return target.cls.name
    if isinstance(target, FunctionValue):
        return target.symbol
    if isinstance(target, BoundMethod):
        return target_name(target.func)
    if isinstance(target, Partial):
        return target_name(target.func)
    if isinstance(target, External | Native):
        return target.qname
    return type(target).__name__


def mark(interp: Any, target: Value, site: Any, options: dict[str, Value]) -> Value:
    """Emit the event and hand the target on: the same module with a wrapper more, or the same function."""
    shown = {name: plain(options[name]) for name in OPTIONS if name in options and plain(options[name]) is not None}
    if flag(options.get("disable"), False):
        return target
    interp.event("compute", site, author=AUTHOR, key="compile", value=target_name(target), target=target,
                 **{f"option_{name}": value for name, value in shown.items()})  # fmt: skip
    if shown.get("mode") in GRAPH_MODES:
        interp.event(
            "compute", site, author=AUTHOR, key="cuda_graphs", value=f'{target_name(target)}, by mode="{shown["mode"]}"'
        )
    if isinstance(target, ModuleInstance):
        interp.trail.append(target.wrappers, ("torch.compile", site.anchor))
    elif isinstance(target, FunctionValue):
        return dataclasses.replace(target, attrs={**target.attrs, "cgx.compiled": (site.anchor, tuple(shown.items()))})
    elif isinstance(target, External):
        # stays callable by its own row; the mark is on the event only
        return target
    return target


def compile_(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``torch.compile(target, **options)``, or ``torch.compile(**options)`` that decorates later."""
    bound = bind("model", args, kwargs)
    target = bound.pop("model", None)
    if target is None:
        return Opaque("torch._compile_decorator", dict(bound), site.anchor)
    return mark(interp, target, site, bound)


def decorate(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return mark(interp, args[1], site, args[0].attrs) if len(args) > 1 else NotImplemented


def module_compile(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``module.compile(**options)``: in place."""
    if not isinstance(args[0], ModuleInstance):
        return NotImplemented
    mark(interp, args[0], site, kwargs)
    return None


def same(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``disable(fn)``, ``allow_in_graph(fn)``: the function itself, marked; without one, a decorator."""
    target = args[0] if args else kwargs.get("fn")
    if target is None or isinstance(target, bool | str):
        return Opaque("torch._pass_decorator", {}, site.anchor)
    if isinstance(target, FunctionValue):
        return dataclasses.replace(target, attrs={**target.attrs, "cgx.compiler_disabled": site.anchor})
    return target


def same_decorator(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return args[1] if len(args) > 1 else None


def false(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The code is read as it is traced eagerly."""
    return False


def script(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """torch.jit: the function or module itself."""
    return args[0] if args else Opaque("torch._pass_decorator", {}, site.anchor)


ENTRIES: dict[str, Any] = {
    "torch.compile": compile_,
    "torch.compiler.compile": compile_,
    "torch._dynamo.optimize": compile_,
    "torch._compile_decorator.__call__": decorate,
    "torch._pass_decorator.__call__": same_decorator,
    "torch.nn.Module.compile": module_compile,
    "torch.compiler.disable": same,
    "torch._dynamo.disable": same,
    "torch._dynamo.allow_in_graph": same,
    "torch.compiler.allow_in_graph": same,
    "torch.compiler.is_compiling": false,
    "torch.compiler.is_dynamo_compiling": false,
    "torch._dynamo.is_compiling": false,
    "torch.compiler.is_exporting": false,
    "torch.compiler._is_non_strict_tracing": false,
    "torch.jit.is_scripting": false,
    "torch.jit.is_tracing": false,
    "torch.onnx.is_in_onnx_export": false,
    "torch.compiler.cudagraph_mark_step_begin": nothing,
    "torch._dynamo.graph_break": nothing,
    "torch._dynamo.mark_dynamic": nothing,
    "torch._dynamo.maybe_mark_dynamic": nothing,
    "torch._dynamo.decorators.mark_unbacked": nothing,
    "torch._dynamo.decorators.mark_static": nothing,
    "torch._dynamo.reset": nothing,
    "torch.jit.script": script,
    "torch.jit.script_if_tracing": script,
    "torch.jit.script_method": script,
    "torch.jit.ignore": script,
    "torch.jit.export": script,
    "torch.jit.unused": script,
}
BASES: dict[str, tuple[str, ...]] = {"torch.jit.ScriptModule": ("torch.nn.Module",)}
