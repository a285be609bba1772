"""What code asks about code: source text, annotations, the names of a function."""

from __future__ import annotations

import ast
from typing import Any

from cgx.indexer.interpreter.stdlib.support import Args, Handler, Kwargs, derived
from cgx.indexer.interpreter.values import BoundMethod, ClassValue, DictValue, FunctionValue, ModuleObject, Value

CODE = "function.__code__"


def _source(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``inspect.getsource`` of a module, class or function that is read."""
    value = args[0].func if isinstance(args[0], BoundMethod) else args[0]
    if isinstance(value, ModuleObject):
        found = interp.sources.find(value.name)
        code = (
            interp.sources.code(found[0], found[1], found[3])
            if found is not None and found[1].endswith(".py")
            else None
        )
        return derived(site, args, "str", "unsupported") if code is None else code.source
    if isinstance(value, FunctionValue):
        code = value.attrs["__cgx_code__"]
        return ast.get_source_segment(code.source, value.node) or derived(site, args, "str", "unsupported")
    if isinstance(value, ClassValue) and value.info.get("frame") is not None:
        code = value.info["frame"].code
        for node in ast.walk(code.tree):
            if isinstance(node, ast.ClassDef) and node.lineno == value.line:
                return ast.get_source_segment(code.source, node) or ""
    return derived(site, args, "str", "unsupported")


def _own_annotations(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``inspect.get_annotations``: of the object itself, evaluated."""
    value = args[0].func if isinstance(args[0], BoundMethod) else args[0]
    if isinstance(value, ClassValue):
        return DictValue(_of_class(interp, value))
    if isinstance(value, FunctionValue):
        frame = value.owner.info.get("frame") if value.owner is not None else None
        if frame is not None:
            return DictValue({name: interp.annotation(node, frame) for name, node in value.annotations.items()})
    return derived(site, args, "", "unsupported")


def _of_class(interp: Any, cls: ClassValue) -> dict[str, Value]:
    frame = cls.info.get("frame")
    return {name: interp.annotation(node, frame) for name, node in cls.info.get("annotations", {}).items()}


def _type_hints(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``typing.get_type_hints``: a class's with those of its bases."""
    if not isinstance(args[0], ClassValue):
        return _own_annotations(interp, site, args, kwargs)
    found: dict[str, Value] = {}
    for cls in reversed(args[0].mro):
        if isinstance(cls, ClassValue):
            found.update(_of_class(interp, cls))
    return DictValue(found)


def _code_attribute(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``function.__code__.co_varnames`` and its kind."""
    function, name = args[0].attrs["function"], args[1]
    spec = function.node.args
    plain = [a.arg for a in [*spec.posonlyargs, *spec.args]]
    if name == "co_varnames":
        return tuple(_local_names(function.node, plain))
    if name == "co_argcount":
        return len(plain)
    if name == "co_name":
        return function.name
    if name == "co_filename":
        return function.path
    if name == "co_firstlineno":
        return function.node.lineno
    return derived(site, args[:1], "", "unsupported")


def _local_names(node: Any, plain: list[str]) -> list[str]:
    spec = node.args
    names = [*plain, *(a.arg for a in spec.kwonlyargs), *(a.arg for a in (spec.vararg, spec.kwarg) if a is not None)]
    stack: list[ast.AST] = list(reversed(node.body)) if isinstance(node.body, list) else [node.body]
    while stack:
        item = stack.pop()
        if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store):
            names.append(item.id)
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.append(item.name)
        elif not isinstance(item, ast.Lambda):
            stack.extend(reversed(list(ast.iter_child_nodes(item))))
    return list(dict.fromkeys(names))


ENTRIES: dict[str, Handler] = {
    "inspect.getsource": _source,
    "inspect.get_annotations": _own_annotations,
    "typing.get_type_hints": _type_hints,
    "typing_extensions.get_type_hints": _type_hints,
    f"{CODE}.__getattr__": _code_attribute,
}
