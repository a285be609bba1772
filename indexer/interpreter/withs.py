"""``with`` statements: user context managers, generator context managers, and modelled ones (a ScopeNode)."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from cgx.indexer.interpreter.scopes import Frame, Site
from cgx.indexer.interpreter.signals import Raised, StopConsumer
from cgx.indexer.interpreter.trace import ScopeNode
from cgx.indexer.interpreter.values import MISSING, GeneratorValue, Instance, Opaque, Value

if TYPE_CHECKING:
    from cgx.indexer.interpreter.interp import Interp

Signal = str | None


def exec_with(interp: Interp, node: Any, frame: Frame) -> Signal:
    return _enter(interp, node, frame, 0)


def _body(interp: Interp, node: Any, frame: Frame) -> Signal:
    for statement in node.body:
        signal = interp.exec(statement, frame)
        if signal is not None:
            return signal
    return None


def _enter(interp: Interp, node: Any, frame: Frame, index: int) -> Signal:
    if index == len(node.items):
        return _body(interp, node, frame)
    item: ast.withitem = node.items[index]
    manager = interp.pick(interp.eval(item.context_expr, frame))
    site = Site(item.context_expr, frame)

    def bind(value: Value) -> None:
        if item.optional_vars is not None:
            interp.assign(item.optional_vars, value, frame)

    def inner() -> Signal:
        return _enter(interp, node, frame, index + 1)

    if isinstance(manager, GeneratorValue):
        return _generator(interp, manager, bind, inner, site)
    if isinstance(manager, Instance) and manager.cls.lookup("__enter__") is not MISSING:
        bind(interp.call_method(manager, "__enter__", [], {}, site))
        try:
            return inner()
        finally:
            interp.attempt(lambda: interp.call_method(manager, "__exit__", [None, None, None], {}, site))
    if isinstance(manager, Opaque):
        return _modelled(interp, manager, bind, inner, site, frame)
    bind(manager)
    return inner()


def _generator(interp: Interp, manager: GeneratorValue, bind: Any, inner: Any, site: Site) -> Signal:
    """``@contextmanager``: the body runs at the generator's first yield."""
    outcome: list[Signal] = [None]
    entered = [False]

    def at_yield(value: Value) -> Value:
        if not entered[0]:
            entered[0] = True
            bind(value)
            outcome[0] = inner()
        return None

    try:
        interp.run_generator(manager, at_yield, site)
    except StopConsumer:
        raise
    except Raised:
        if entered[0]:
            raise
    if not entered[0]:
        bind(interp.unknown(site.text, "unsupported", site))
        return inner()
    return outcome[0]




def _modelled(interp: Interp, manager: Opaque, bind: Any, inner: Any, site: Site, frame: Frame) -> Signal:
    """A modelled manager: ``attrs["flags"]`` are interpreter flags for its body; ``__enter__`` and ``__exit__`` handlers."""
    node = ScopeNode(site.anchor, site.text, qname=manager.qname, data=dict(manager.attrs))
    flags = manager.attrs.get("flags") or {}
    before = dict(interp.flags)
    with interp.inside(node):
        entered = interp.call_opaque(manager, "__enter__", [], {}, site)
        bind(manager if entered is NotImplemented else entered)
        interp.flags.update(flags)
        try:
            return inner()
        finally:
            interp.flags.clear()
            interp.flags.update(before)
            interp.call_opaque(manager, "__exit__", [None, None, None], {}, site)
