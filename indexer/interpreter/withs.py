"""``with`` statements: user context managers, generator context managers, and modelled ones (a ScopeNode)."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from cgx.indexer.interpreter.scopes import Frame, Site
from cgx.indexer.interpreter.signals import Raised, StopConsumer
from cgx.indexer.interpreter.trace import ScopeNode
from cgx.indexer.interpreter.values import MISSING, Device, GeneratorValue, Instance, Opaque, Value

if TYPE_CHECKING:
    from cgx.indexer.interpreter.interp import Interp

Signal = str | None
PENDING = "cgx.pending"  # generators that were entered into an ExitStack and whose yield is still to come


def exec_with(interp: Interp, node: Any, frame: Frame) -> Signal:
    return _enter(interp, node, frame, 0, ())


def _body(interp: Interp, body: list[ast.stmt], frame: Frame, stacks: tuple[Opaque, ...], site: Site) -> Signal:
    """The statements; what comes after one that entered a generator into an ``ExitStack`` runs at that generator's yield."""
    for index, statement in enumerate(body):
        signal = interp.exec(statement, frame)
        if signal is not None:
            return signal
        for stack in stacks:
            if stack.attrs.get(PENDING):
                return _pending(interp, body[index + 1 :], frame, stacks, site)
    return None


def _pending(interp: Interp, rest: list[ast.stmt], frame: Frame, stacks: tuple[Opaque, ...], site: Site) -> Signal:
    for stack in stacks:
        if stack.attrs.get(PENDING):
            manager = stack.attrs[PENDING].pop(0)
            return _generator(interp, manager, lambda value: None, lambda: _pending(interp, rest, frame, stacks, site), site)
    return _body(interp, rest, frame, stacks, site)


def _enter(interp: Interp, node: Any, frame: Frame, index: int, stacks: tuple[Opaque, ...]) -> Signal:
    if index == len(node.items):
        return _body(interp, node.body, frame, stacks, Site(node.items[0].context_expr, frame))
    item: ast.withitem = node.items[index]
    manager = interp.pick(interp.eval(item.context_expr, frame))
    site = Site(item.context_expr, frame)

    def bind(value: Value) -> None:
        if item.optional_vars is not None:
            interp.assign(item.optional_vars, value, frame)

    held = (*stacks, manager) if isinstance(manager, Opaque) and manager.qname == "contextlib.ExitStack" else stacks

    def inner() -> Signal:
        return _enter(interp, node, frame, index + 1, held)

    if isinstance(manager, GeneratorValue):
        return _generator(interp, manager, bind, inner, site)
    if isinstance(manager, Instance) and manager.cls.lookup("__enter__") is not MISSING:
        bind(interp.call_method(manager, "__enter__", [], {}, site))
        try:
            return inner()
        finally:
            interp.attempt(lambda: interp.call_method(manager, "__exit__", [None, None, None], {}, site))
    if isinstance(manager, Device):
        return _device(interp, manager, inner)
    if isinstance(manager, Opaque) and manager.qname == "contextlib.suppress":
        return _suppressed(interp, manager, inner)
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




def _suppressed(interp: Interp, manager: Opaque, inner: Any) -> Signal:
    """``contextlib.suppress(...)``: the body up to where it surely raises one of them."""
    from cgx.indexer.interpreter.statements import matches

    def caught(error: Raised) -> bool:
        return matches(interp, error.value, manager.attrs.get("kinds", ()))

    try:
        with interp.catching(caught):
            found: Signal = inner()
            return found
    except Raised as error:
        if not caught(error):
            raise
        return None


def _modelled(interp: Interp, manager: Opaque, bind: Any, inner: Any, site: Site, frame: Frame) -> Signal:
    """A modelled manager: its ``__enter__`` and ``__exit__`` handlers; without them the region is a ScopeNode of its name."""
    entered = interp.call_opaque(manager, "__enter__", [], {}, site)
    if entered is NotImplemented:
        bind(manager)
        with interp.inside(ScopeNode(site.anchor, site.text, qname=manager.qname, data=dict(manager.attrs))):
            return inner()
    bind(entered)
    depth = len(interp.stack)
    try:
        return inner()
    finally:
        del interp.stack[depth:]
        interp.call_opaque(manager, "__exit__", [None, None, None], {}, site)


def _device(interp: Interp, manager: Device, inner: Any) -> Signal:
    """``with torch.device("meta"):`` factories and parameters are made there."""
    before = interp.flags.get("default_device", "cpu")
    interp.trail.set_item(interp.flags, "default_device", manager.type)
    try:
        return inner()
    finally:
        interp.trail.set_item(interp.flags, "default_device", before)
