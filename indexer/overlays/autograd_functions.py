"""``torch.autograd.Function`` of the source: its forward where it is applied, and what its backward sends.

The backward runs later, with the rest of the model's. It is evaluated here once, on its own, for the collectives that it
issues: those are kept, marked as of the backward pass, with the calls, conditions and loops round them. All else that it does
leaves no trace, as the backward of any other op.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cgx.indexer.interpreter.externals import floating
from cgx.indexer.interpreter.spread import spread_out
from cgx.indexer.interpreter.trace import BranchNode, CallNode, Event, LoopNode, ModuleCall, Node, OpNode, ScopeNode
from cgx.indexer.interpreter.values import MISSING, ClassValue, Opaque, Sequence, TensorValue, Value

CONTEXT = "torch.autograd.function.FunctionCtx"
SILENT = "silent_backwards"  # flag: functions (with their constant arguments) whose backward was seen to send nothing
KEPT = ("collective", "wait")


def apply(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``MyFunction.apply(...)``: the class's forward with a context object."""
    cls = args[0] if args else None
    if not isinstance(cls, ClassValue):
        return NotImplemented
    given = list(args[1:])
    context = Opaque(CONTEXT, {"needs_input_grad": tuple(True for _ in given)}, site.anchor)
    separate = cls.lookup("setup_context")
    forward = interp.getattr(cls, "forward", site)
    if separate is MISSING or separate is None:
        result = interp.call(forward, [context, *given], kwargs, site)
    else:
        result = interp.call(forward, given, kwargs, site)
        interp.attempt(lambda: interp.call(interp.getattr(cls, "setup_context", site), [context, tuple(given), result], {}, site))
    require_gradients(interp, given, result, bool(interp.flags.get("grad", True)))
    if interp.flags.get("grad", True) and interp.world.size != 1 and cls.lookup("backward") is not MISSING:
        backward(interp, cls, context, given, result, site)
    return result


def require_gradients(interp: Any, given: list[Value], result: Value, grad: bool) -> None:
    """What the function gives requires gradients where one of its inputs does, whatever its forward did."""
    inputs = {id(one): one for one in given if isinstance(one, TensorValue)}
    known = {one.requires_grad for one in inputs.values()}
    needed = grad and (True if True in known else None if None in known else False)
    for one in result if isinstance(result, tuple) else (result,):
        if isinstance(one, TensorValue) and floating(one) and id(one) not in inputs:
            interp.trail.set(one, "requires_grad", needed)


def backward(interp: Any, cls: ClassValue, context: Opaque, given: list[Value], result: Value, site: Any) -> None:
    """What the backward sends, put where the forward is."""
    key = (cls.qname, *(one for one in given if isinstance(one, bool | int | str | type(None))))
    silent = interp.flags.get(SILENT, frozenset())
    if key in silent:
        return
    known = () if isinstance(result, Sequence) else result if isinstance(result, tuple) else (result,)
    grads = [gradient(one) for one in known]
    further = {"*": spread_out("grads", replace(result, element=gradient(result.element)), site)} if isinstance(result, Sequence) else {}
    holder = ScopeNode(site.anchor, site.text, qname="torch.autograd.backward")
    mark = interp.mark()
    interp.trail.begin()
    try:
        with interp.inside(holder, emit=False):
            interp.attempt(lambda: interp.call(interp.getattr(cls, "backward", site), [context, *grads], further, site))
    finally:
        interp.trail.rollback()
        interp.reset(mark)
    note_overlaps(holder)
    found = pruned(holder.children)
    if not found:
        interp.trail.set_item(interp.flags, SILENT, silent | {key})
    for node in found:
        interp.emit(node)


def gradient(result: Value) -> Value:
    """What the backward is given for one result."""
    return TensorValue(result.shape, result.dtype, result.device) if isinstance(result, TensorValue) else None


def note_overlaps(holder: Node) -> None:
    """Whether something is computed between the call of an asynchronous collective and its wait: ops are not kept.

    Without a wait, that of another function's backward comes later, or none at all.
    """
    nodes = list(holder.walk())
    for index, node in enumerate(nodes):
        if isinstance(node, Event) and node.kind == "collective":
            node.data["pass"] = "backward"
            rest = nodes[index + 1 :]
            waits = [place for place, one in enumerate(rest) if isinstance(one, Event) and one.kind == "wait" and one.data.get("of") is node]
            between = rest[: waits[0]] if waits else rest
            node.data["overlapped"] = (node.data.get("async_op") and not waits) or any(isinstance(one, OpNode | ModuleCall) for one in between)


def pruned(nodes: list[Node]) -> list[Node]:
    """The collectives, with what stands round them."""
    kept: list[Node] = []
    for node in nodes:
        if isinstance(node, Event):
            if node.kind in KEPT:
                kept.append(node)
        elif isinstance(node, LoopNode) and node.iterations:
            rounds = [pruned(one) for one in node.iterations]
            if any(rounds):
                kept.append(replace(node, iterations=rounds, children=[one for part in rounds for one in part]))
        elif isinstance(node, CallNode | BranchNode | LoopNode | ScopeNode) and (inside := pruned(node.children)):
            kept.append(replace(node, children=inside))
    return kept if any(isinstance(one, Event) and one.kind == "collective" for node in kept for one in node.walk()) else []


def save(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``ctx.save_for_backward(...)``: what ``ctx.saved_tensors`` gives later."""
    if isinstance(args[0], Opaque):
        interp.trail.set_item(args[0].attrs, "saved_tensors", tuple(args[1:]))
    return None


ENTRIES: dict[str, Any] = {
    "torch.autograd.Function.apply": apply,
    f"{CONTEXT}.save_for_backward": save,
}
BASES: dict[str, tuple[str, ...]] = {}
