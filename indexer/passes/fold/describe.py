"""What an entry says of a module: class, place of its forward, parameters, wrappers, loops that built it."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.values import FunctionValue, LoopContext, ModuleInstance, TensorValue
from cgx.indexer.passes.fold.classes import container_kind
from cgx.indexer.passes.fold.draft import Repeat
from cgx.indexer.passes.fold.place import stands_in
from cgx.indexer.passes.fold.shapes import Symbols, blend
from cgx.indexer.passes.fold.tree import members
from cgx.model.anchors import Anchor

PLAIN_LISTS = ("ModuleList", "ModuleDict")
"""Containers that have no forward of their own: they are never run, and say nothing about it."""

KEPT_WHOLE = ("torch.compile",)


def type_of(module: ModuleInstance) -> str:
    return module.cls.native or module.cls.qname


def is_plain_list(module: ModuleInstance) -> bool:
    """A list or dict of modules whose class brings no forward."""
    return container_kind(module) in PLAIN_LISTS and not isinstance(module.cls.lookup("forward"), FunctionValue)


def level_of(module: ModuleInstance, root: bool) -> str:
    if root:
        return "model"
    return "module" if any(True for _ in members(module)) or container_kind(module) else "layer"


def forward_anchor(module: ModuleInstance) -> Anchor | None:
    """Where its forward is defined, if its source is read."""
    function = module.cls.lookup("forward")
    if not isinstance(function, FunctionValue) or function.path.startswith("cgx:"):
        return None
    return Anchor(function.path, function.symbol, function.node.lineno)


def made_at(module: ModuleInstance) -> Anchor | None:
    """The constructor call, or for one in a stand-in of ours the line of real code that led there."""
    return next(
        (anchor for anchor in (module.constructed_at, *module.via) if anchor is not None and not stands_in(anchor)),
        None,
    )


def parameter_rows(module: ModuleInstance, symbols: Symbols) -> dict[str, list[Any]]:
    """Shapes of the parameters that the module itself owns. One whose rank is not known is left out."""
    found: dict[str, list[Any]] = {}
    for name, value in module.parameters.items():
        if isinstance(value, TensorValue):
            dims = blend([value.shape], made_at(module), symbols)
            if dims is not None:
                found[name] = dims
    return found


def wrapper_names(module: ModuleInstance) -> list[str]:
    names = (qname if qname in KEPT_WHOLE else qname.rpartition(".")[2] for qname, _ in module.wrappers)
    return list(dict.fromkeys(names))


def repeat_of(module: ModuleInstance, count: int | None) -> Repeat:
    """A repeat by instances, with the bound of the loop that built the module where there is one."""
    repeat = Repeat(count, "instances", type_of(module))
    loop = built_in(module)
    if loop is not None:
        repeat.expr, repeat.anchor = loop.expr, loop.anchor
    else:
        repeat.anchor = made_at(module)
    return repeat


def built_in(module: ModuleInstance) -> LoopContext | None:
    """The innermost loop of real code round the constructor call."""
    return next((loop for loop in reversed(module.loops) if not stands_in(loop.anchor)), None)
