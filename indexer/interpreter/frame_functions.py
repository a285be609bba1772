"""Builtins that need the caller's frame: globals, locals, vars, dir, exec, eval."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cgx.indexer.interpreter.scopes import Frame, Scope, Site
from cgx.indexer.interpreter.sources import Code
from cgx.indexer.interpreter.values import (
    ClassValue,
    DictValue,
    External,
    Instance,
    ListValue,
    ModuleInstance,
    ModuleObject,
    Opaque,
    Unknown,
    Value,
)
from cgx.indexer.ops.layers.members import MEMBERS

if TYPE_CHECKING:
    from cgx.indexer.interpreter.interp import Interp


def _globals(interp: Interp, frame: Frame, args: list[Value]) -> Value:
    scope = frame.scope.globals or frame.scope
    return DictValue(scope.vars, kind="namespace")


def _locals(interp: Interp, frame: Frame, args: list[Value]) -> Value:
    if frame.scope.kind == "module":
        return DictValue(frame.scope.vars, kind="namespace")
    return DictValue(dict(frame.scope.vars), kind="namespace")


def _vars(interp: Interp, frame: Frame, args: list[Value]) -> Value:
    if not args:
        return _locals(interp, frame, args)
    value = interp.pick(args[0])
    if isinstance(value, ModuleInstance):
        return DictValue(dict(value.attrs), value.open)
    if isinstance(value, Instance):
        return DictValue(value.attrs, value.open, origins=value.origins)
    if isinstance(value, Opaque):
        return DictValue(value.attrs)
    if isinstance(value, ClassValue):
        return DictValue(value.namespace)
    if isinstance(value, ModuleObject):
        return DictValue(value.scope.vars)
    if isinstance(value, External) and value.qname in MEMBERS:
        prefix = "torch.nn" if value.qname.startswith("torch.nn.") else value.qname
        return DictValue({name: interp.as_class(External(f"{prefix}.{name}")) for name in MEMBERS[value.qname]})
    return DictValue(open=True)


def _dir(interp: Interp, frame: Frame, args: list[Value]) -> Value:
    if args and isinstance(args[0], External):
        return Opaque("builtins.dir", {"of": args[0]})
    table = _vars(interp, frame, args)
    names = [name for name in table.items if isinstance(name, str)]
    if args and isinstance(args[0], Instance):
        for cls in args[0].cls.mro:
            if isinstance(cls, ClassValue):
                names += [name for name in cls.namespace if name not in names]
    return ListValue(sorted(names), table.open)


def _exec(interp: Interp, frame: Frame, args: list[Value]) -> Value:
    """``exec`` of source that is known (a configurator, a config file): evaluated, never run."""
    source = interp.pick(args[0])
    if isinstance(source, Opaque) and source.qname == "builtins.code":
        path, source = source.attrs.get("path"), source.attrs.get("source")
    else:
        path = getattr(source, "cgx_path", None)
    if not isinstance(source, str):
        interp.note_unknown(source)
        return None
    origin = interp.text_origins.get(str(source))
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return None
    code = Code(origin or path or frame.path, tree, str(source), frame.code.external)
    target = _namespace(frame, args)
    inner = Frame(target, code, frame.symbol if origin is None and path is None else "<module>", frame.function, frame.owner, frame.first)
    for statement in tree.body:
        interp.exec(statement, inner)
    return None


def _namespace(frame: Frame, args: list[Value]) -> Scope:
    if len(args) > 1 and isinstance(args[1], DictValue):
        scope = Scope("module", None, args[1].items, frame.scope.module)
        scope.globals = scope
        return scope
    return frame.scope


def _eval(interp: Interp, frame: Frame, args: list[Value]) -> Value:
    source = interp.pick(args[0])
    site = Site(ast.Constant(source if isinstance(source, str) else "", lineno=1, col_offset=0), frame)
    if not isinstance(source, str):
        return Unknown(f"eval({getattr(source, 'name', '')})", getattr(source, "reason", "unsupported"), getattr(source, "anchor", None))
    try:
        node = ast.parse(source.strip(), mode="eval").body
    except SyntaxError as error:
        return interp.raise_("SyntaxError", str(error), site)
    code = Code(frame.path, ast.Module([], []), source, frame.code.external)
    return interp.eval(node, Frame(_namespace(frame, args), code, frame.symbol, frame.function, frame.owner, frame.first))


def _compile(interp: Interp, frame: Frame, args: list[Value]) -> Value:
    return Opaque("builtins.code", {"source": args[0], "path": args[1] if len(args) > 1 else None})


FRAME_FUNCTIONS: dict[str, Callable[[Any, Frame, list[Value]], Value]] = {
    "globals": _globals,
    "locals": _locals,
    "vars": _vars,
    "dir": _dir,
    "exec": _exec,
    "eval": _eval,
    "compile": _compile,
}
