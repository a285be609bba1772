"""Loops: per index where the elements are known and the body is cheap, else once for all iterations.

Inside a model (constructor or forward) a known loop is evaluated per index. In the job's own code a loop whose body does
work on the device is *summarised*: the body is evaluated once with what changes between iterations made unknown.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection
from functools import reduce
from typing import TYPE_CHECKING, Any

from cgx.indexer.interpreter import counters
from cgx.indexer.interpreter.blocks import run_block
from cgx.indexer.interpreter.carried import carried, handed_on, set_plainly
from cgx.indexer.interpreter.expressions import eval_test
from cgx.indexer.interpreter.items import opened
from cgx.indexer.interpreter.joins import ANOTHER, join, join_shapes, join_tensors, same, stand_in
from cgx.indexer.interpreter.named_rounds import by_name, tables
from cgx.indexer.interpreter.rounds import rounds as rounds_of
from cgx.indexer.interpreter.scopes import Frame, Site
from cgx.indexer.interpreter.signals import BREAK, RETURN, Overspent, Raised, StopConsumer
from cgx.indexer.interpreter.trace import BranchNode, Event, LoopNode, ModuleCall, Node, ScopeNode
from cgx.indexer.interpreter.trail import Change, Slot
from cgx.indexer.interpreter.values import (
    MAYBE,
    MISSING,
    Alternatives,
    BoundMethod,
    DictValue,
    FunctionValue,
    GeneratorValue,
    Instance,
    ListValue,
    LoopContext,
    ModuleInstance,
    Opaque,
    Sequence,
    SetValue,
    TensorValue,
    Unknown,
    Value,
)
from cgx.indexer.ops.dims import Dim

if TYPE_CHECKING:
    from cgx.indexer.interpreter.interp import Interp

Signal = str | None
HANDLE = "torch.distributed.Work"
MAX_UNROLL = 4096  # iterations of a known loop that are evaluated one by one
MAX_WHILE = 512  # iterations of a while loop with a decided test
MAX_JOB_UNROLL = 8  # iterations of a job loop that works on the device, evaluated one by one, over a literal
MAX_NAMES = 32  # iterations of a job loop over names
MAX_WHILE_STEPS = 400_000  # in a while loop whose test is decided each time: a queue of modules that are set up one by one
MAX_GATHERED = 64  # rounds of a summarised loop whose lists are filled as if each had run
FEW = 16  # iterations of a loop whose inner loops answer for what it costs
MAX_JOB_STEPS = 30_000  # statements in one outermost loop of the job that are evaluated per index
# Rounds of widening by how many summarised loops stand round a loop: the work grows with their product. A loop deep inside
# is evaluated once, with the values of its first iteration, and what it changes is widened behind it.
ROUNDS = (3, 2, 1, 0)
SET_UP = frozenset({"log", "wrap", "compile", "activation_checkpointing", "tensor_parallel", "precision", "set_up"})  # kinds and keys of events


def exec_for(interp: Interp, node: Any, frame: Frame) -> Signal:
    source = interp.eval(node.iter, frame)
    site = Site(node.iter, frame)
    if isinstance(source, GeneratorValue):
        return _over_generator(interp, node, source, frame)
    if isinstance(source, Opaque) and source.qname == "builtins.enumerate":
        return _over_generator(interp, node, source.attrs["source"], frame, numbered=True)
    items = entries_and_more(interp, source, site) or (opened(interp, source, site) if isinstance(source, Instance) else interp.iterate(source, site))
    if isinstance(items, GeneratorValue):
        return _over_generator(interp, node, items, frame)
    expr, bound = frame.code.text(node.iter), frame.anchor(node.iter)
    loop = LoopNode(frame.anchor(node), f"for {frame.code.text(node.target)} in {expr}", expr=expr, bound=bound, target=frame.code.text(node.target))
    loop.over = kind_of(source)
    if isinstance(items, list):
        loop.count, loop.named = len(items), keyed(source, items)
        if len(items) > MAX_UNROLL and not interp.in_model:
            element: Value = any_of(items, loop)
            signal = _summary(interp, node, frame, loop, element)
        else:
            signal = _budgeted(interp, node, frame, loop, items)
    else:
        if isinstance(items, Sequence):
            loop.count, element = items.length, items.element
            loop.over = loop.over or "sequence"
            if items.attrs.get("on_next") is not None:
                loop.symbol = items.qname
        else:
            loop.count = interp.unknown(f"len({expr})", getattr(items, "reason", "data"), site, "int") if not isinstance(items, Unknown) else items
            element = Unknown(f"element of {expr}", getattr(items, "reason", "data"), bound, settle=getattr(items, "settle", None))
            if isinstance(source, TensorValue):
                element = interp.row_of(source)
        loop.count = rounds_of(interp, node.iter, loop.count, frame)
        signal = _summary(interp, node, frame, loop, element, items if isinstance(items, Sequence) else None)
    if signal == "exit":
        return None
    if signal is None and node.orelse:
        return _orelse(interp, node, frame, loop)
    return signal


def entries_and_more(interp: Interp, source: Value, site: Site) -> list[Value] | None:
    """The entries of a small table that are known, and one that stands for those that are not: ``for key, value in kwargs.items()``."""
    if interp.in_model or not isinstance(source, ListValue) or source.open is not True or not 0 < len(source.items) < FEW:
        return None
    if not all(isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str) and not isinstance(item[1], TensorValue) for item in source.items):
        return None
    return [*source.items, (interp.unknown(f"keys of {site.text}", "data", site, "str"), interp.unknown(f"values of {site.text}", "data", site))]


def _orelse(interp: Interp, node: Any, frame: Frame, loop: LoopNode) -> Signal:
    """The ``else`` of a loop. Where an undecided break may have left the loop, it may run, and does not where it surely raises."""
    if not loop.early_exit:
        return _block(interp, node.orelse, frame)
    interp.trail.begin()
    try:
        with interp.inside(BranchNode(loop.anchor, f"no break in {loop.text}")), interp.catching():
            signal = _block(interp, node.orelse, frame)
    except Raised:
        interp.trail.rollback()
        return None
    except BaseException:
        interp.trail.commit()
        raise
    interp.trail.commit()
    if signal == RETURN:
        frame.returns.append((f"no break in {loop.text}", frame.result))
        return None
    return signal


def kind_of(source: Value) -> str:
    if isinstance(source, range):
        return "range"
    if isinstance(source, Sequence):
        tail = source.qname.rpartition(".")[2]
        return "loader" if tail.endswith("DataLoader") else {"generator": "generator", "range": "range"}.get(tail, "sequence")
    return {"ListValue": "list", "tuple": "list", "DictValue": "list", "ModuleInstance": "container", "TensorValue": "tensor"}.get(type(source).__name__, "")


def any_of(items: list[Value], loop: LoopNode) -> Value:
    """What stands for every element of a known list."""
    first = items[0]
    if all(same(first, item) for item in items[1:]):
        return first
    kinds = {type(item) for item in items}
    if len(kinds) == 1 and isinstance(first, str | int | float):
        stands = Unknown(loop.target, "loop-carried", loop.anchor, type(first).__name__)
        stands.least = min(items) if isinstance(first, int) else None
        return stands
    if all(isinstance(item, TensorValue) for item in items):
        return any_tensor(items)
    if kinds == {tuple} and len({len(item) for item in items}) == 1:
        return tuple(any_of(list(column), loop) for column in zip(*items))
    if all(isinstance(item, Opaque) and item.qname == getattr(first, "qname", "") for item in items):
        alike = any_object(items)
        if alike is not None:
            return alike
    if tensor_tables(items):
        return DictValue({key: any_tensor([item.items[key] for item in items]) for key in first.items})
    if (one := stand_in(items)) is not None:
        return one
    result = first
    for item in items[1:]:
        result = join(result, item, "another element", loop.anchor, loop.target)
        if isinstance(result, Unknown):
            return result
    return result


def any_object(items: list[Any]) -> Opaque | None:
    """One of several optimizers stands for all, and so do their schedulers; handles are waited for together."""
    first = items[0]
    if first.qname == HANDLE:
        events = [event for item in items for event in (item.attrs.get("events") or [item.attrs.get("event")]) if event is not None]
        return Opaque(HANDLE, {"events": tuple(events)}, first.anchor)
    return first if first.qname.startswith("torch.optim.") else None


def tensor_tables(items: list[Any]) -> bool:
    """Dicts of tensors under the same names: the state that an optimizer keeps for each parameter."""
    if not all(isinstance(item, DictValue) and item.items and not item.open for item in items):
        return False
    keys = list(items[0].items)
    return all(list(item.items) == keys and all(isinstance(one, TensorValue) for one in item.items.values()) for item in items)


def any_tensor(items: list[Any]) -> TensorValue:
    """What tensors have in common; of parameters, a parameter."""
    result = reduce(join_tensors, items)
    result.parameter = all(item.parameter for item in items)
    return result


def _block(interp: Interp, body: list[ast.stmt], frame: Frame) -> Signal:
    return run_block(interp, body, frame)


# ------------------------------------------------------------------ per index


def over_parts(frame: Frame, items: list[Value]) -> bool:
    """A method of a module goes through its parts: they are no rounds of the job."""
    return isinstance(frame.first, ModuleInstance) and all(isinstance(one, ModuleInstance) for one in items)


def _budgeted(interp: Interp, node: Any, frame: Frame, loop: LoopNode, items: list[Value]) -> Signal:
    """Evaluate per index; a loop of the job that turns out to go through data is undone and evaluated once for all."""
    if interp.in_model or interp.job_loop is not None or len(items) <= FEW or over_parts(frame, items):
        return _indexed(interp, node, frame, loop, items)
    interp.job_loop = interp.steps
    holder = interp.stack[-1]
    place = len(holder.children)
    mark, exits = interp.mark(), (frame.early_exit, len(frame.returns))
    interp.trail.begin()
    try:
        signal = _indexed(interp, node, frame, loop, items)
    except Overspent:
        interp.trail.rollback()
        interp.reset(mark)
        del holder.children[place:]  # it went there as the exception left it
        loop.children.clear()
        loop.iterations.clear()
        loop.early_exit, frame.early_exit = False, exits[0]
        del frame.returns[exits[1] :]
        interp.job_loop = None
        interp.note_unknown(Unknown(loop.expr, "budget", loop.bound))
        return _summary(interp, node, frame, loop, any_of(items, loop))
    except BaseException:
        interp.trail.commit()
        interp.job_loop = None
        raise
    interp.trail.commit()
    interp.job_loop = None
    return signal


def _indexed(interp: Interp, node: Any, frame: Frame, loop: LoopNode, items: list[Value]) -> Signal:
    """Evaluate the body for each element. A job loop that works on the device falls back to a summary."""
    if not items:
        return None
    literal = isinstance(node.iter, ast.List | ast.Tuple) or len(items) == 1 or by_name(node.iter, items, frame)
    named = all(isinstance(item, str) for item in items) and looks_up(node)  # what is done for one name is not what is done for another
    limit = MAX_NAMES if named else MAX_JOB_UNROLL if literal else FEW if len(items) <= FEW and (records(items) or loop.named or acting(items)) else 1
    outer_exit, frame.early_exit = frame.early_exit, False
    context = LoopContext(loop.expr, len(items), loop.bound or loop.anchor)
    summarised = interp.summarised
    try:
        with interp.inside(loop, keep=True), interp.loop(context):
            for index, item in enumerate(items):
                start = len(loop.children)
                probing = index == 0 and not interp.in_model and len(items) > limit and not over_parts(frame, items)
                if probing:
                    interp.trail.begin()
                    mark = interp.mark()
                try:
                    interp.assign(node.target, item, frame)
                    signal = _block(interp, node.body, frame)
                except BaseException:
                    if probing:
                        interp.trail.commit()
                    raise
                if probing:
                    # A loop with one of unknown count inside is work on data: its rounds are alike.
                    if works(loop.children) or (interp.summarised > summarised and len(items) > MAX_JOB_UNROLL):
                        interp.trail.rollback()
                        loop.children.clear()
                        interp.reset(mark)
                        break
                    interp.trail.commit()
                loop.iterations.append(loop.children[start:])
                interp.spend(1)
                if interp.job_loop is not None and interp.steps - interp.job_loop > MAX_JOB_STEPS and not interp.in_model:
                    raise Overspent
                if signal == BREAK:
                    loop.count = index + 1
                    return "exit"
                if signal == RETURN:
                    return signal
            else:
                return None
    finally:
        loop.early_exit |= frame.early_exit
        frame.early_exit = outer_exit or (frame.early_exit and bool(frame.returns))
    return _summary(interp, node, frame, loop, any_of(items, loop))


def looks_up(node: Any) -> bool:
    """The loop's body takes entries of tables by the names that it goes through."""
    if not isinstance(node.target, ast.Name):
        return False
    parts = [part for statement in node.body for part in ast.walk(statement)]
    return any(isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Name) and part.slice.id == node.target.id and isinstance(part.ctx, ast.Load) for part in parts)


def records(items: list[Value]) -> bool:
    """Dicts (or tuples of them, numbered or not) that differ, such as parameter groups: no one of them stands for all."""
    parts = [part for item in items for part in (item if isinstance(item, tuple) else (item,)) if type(part) is not int]
    return bool(parts) and all(isinstance(part, DictValue) for part in parts)


def keyed(source: Value, items: list[Value]) -> bool:
    """Entries of a dict by their names (``for k, v in batch.items()``): what is done to one is not done to the others."""
    names = items if isinstance(source, DictValue) else [item[0] if isinstance(item, tuple) and len(item) == 2 else None for item in items]
    return all(isinstance(name, str) for name in names) and len(set(names)) == len(names)


def acting(items: list[Value]) -> bool:
    """Objects of several classes of the source (hooks, callbacks), or functions: each does something of its own."""
    if all(isinstance(one, Instance) and not isinstance(one, ModuleInstance) for one in items):
        return len({id(one.cls) for one in items}) > 1
    return all(isinstance(one, FunctionValue | BoundMethod) for one in items)


def works(nodes: list[Node]) -> bool:
    """The nodes hold work of the device: a module call, a schedule event. A line of text that is shown, or a module that
    is wrapped or compiled where it stands, is none: such loops over layers are gone through one by one."""
    return any(
        isinstance(node, ModuleCall) or (isinstance(node, Event) and node.kind not in SET_UP and node.data.get("key") not in SET_UP)
        for top in nodes
        for node in top.walk()
    )


# ------------------------------------------------------------------ once for all


def _summary(
    interp: Interp, node: Any, frame: Frame, loop: LoopNode, element: Value, sequence: Sequence | None = None
) -> Signal:
    def body() -> Signal:
        value = element
        if sequence is not None and sequence.attrs.get("on_next") is not None:
            value = interp.call(sequence.attrs["on_next"], [], {}, Site(node.iter, frame))
        interp.assign(node.target, value, frame)
        return _block(interp, node.body, frame)

    context = LoopContext(loop.expr, loop.count, loop.bound or loop.anchor)
    signal = summarise(interp, frame, loop, context, body, node, frozenset(tables(element)))
    if loop.anchor == frame.anchor(node):  # else the loop over a generator has said what its body carries
        loop.carries = carried(node, frame)
    return signal


def summarise(
    interp: Interp,
    frame: Frame,
    loop: LoopNode,
    context: LoopContext,
    body: Callable[[], Signal],
    node: ast.For | ast.While,
    own: frozenset[int] = frozenset(),
) -> Signal:
    """Evaluate ``body`` until what it changes is stable, and keep the trace of the last evaluation.

    ``own``: ids of what belongs to one round alone; what it writes there the next one does not find.
    """
    outer_exit, frame.early_exit = frame.early_exit, False
    returns = len(frame.returns)
    widenings = ROUNDS[min(interp.summaries, len(ROUNDS) - 1)]
    interp.summaries += 1
    interp.summarised += 1
    try:
        return _rounds(interp, frame, loop, context, body, widenings, outer_exit, returns, node, own)
    finally:
        interp.summaries -= 1


def _rounds(
    interp: Interp, frame: Frame, loop: LoopNode, context: LoopContext, body: Callable[[], Signal], widenings: int, outer_exit: bool, returns: int,
    node: ast.For | ast.While, own: frozenset[int],
) -> Signal:
    bodies = [(frame.scope.vars, node), *interp.consumers]
    begun: dict[Slot, Change] = {}
    with interp.inside(loop, keep=True), interp.loop(context):
        for round_ in range(widenings + 1):
            interp.trail.begin()
            mark = interp.mark()
            try:
                signal = body()
            except BaseException:
                interp.trail.commit()
                raise
            if signal in (BREAK, RETURN):  # it surely leaves in its first iteration
                interp.trail.commit()
                loop.count = 1
                frame.early_exit = outer_exit
                return "exit" if signal == BREAK else signal
            changes = interp.trail.rollback()
            if round_ == 0:
                begun = {slot: change for slot, change in changes.items() if change.kind == "list" and not change.before[1]}
            widened = {slot: widen(interp, change, loop, found_in(bodies, change, set_plainly)) for slot, change in changes.items() if slot[0] not in own}
            moved = {slot: value for slot, value in widened.items() if value is not MISSING}
            if not moved or round_ == widenings:
                interp.trail.apply(changes)
                for slot, value in moved.items() if widenings == 0 else ():
                    interp.trail.write(changes[slot], value)
                may_skip(interp, loop, changes)
                if isinstance(loop.count, int) and loop.count <= MAX_GATHERED and not frame.early_exit:
                    gathered(interp, loop.count, begun, changes)
                break
            loop.children.clear()
            interp.reset(mark)
            del frame.returns[returns:]
            frame.early_exit = False
            for slot, value in moved.items():
                interp.trail.write(changes[slot], value)
            interp.trail.apply(newborn(changes, moved))
            # what a round reads as the one before left it: the first finds none
            interp.trail.apply({slot: one for slot, one in changes.items() if one.before is MISSING and found_in(bodies, one, handed_on)})
    loop.early_exit |= frame.early_exit
    frame.early_exit = outer_exit or (frame.early_exit and len(frame.returns) > returns)
    return None


def found_in(bodies: list[tuple[dict[str, Value], Any]], change: Change, names: Callable[[Any], Collection[str]]) -> bool:
    """The change is of a variable that is among ``names`` of the loop whose body it belongs to."""
    return any(change.obj is variables and change.key in names(node) for variables, node in bodies)


def gathered(interp: Interp, rounds: int, begun: dict[Slot, Change], changes: dict[Slot, Change]) -> None:
    """Lists that grow alike in each of a known number of rounds hold what all of them append."""
    for slot, first in begun.items():
        last = changes.get(slot)
        if last is None or last.after[1] == MAYBE or first.after[1]:
            continue
        grown = last.after[0][len(last.before[0]) :]
        if grown and all(one is other for one, other in zip(last.before[0], last.after[0])):
            interp.trail.write(last, (first.before[0] + grown * rounds, False))


def newborn(changes: dict[Slot, Change], moved: dict[Slot, Value]) -> dict[Slot, Change]:
    """What the body left in objects that it made and that a widened value leads to: undoing the round emptied them."""
    by_owner: dict[int, list[tuple[Slot, Change]]] = {}
    for slot, change in changes.items():
        if slot not in moved:
            by_owner.setdefault(slot[0], []).append((slot, change))
    found: dict[Slot, Change] = {}
    seen: set[int] = set()
    reached = [option for value in moved.values() for _, option in getattr(value, "options", ())]
    while reached:
        value = reached.pop()
        held = value.attrs if isinstance(value, Instance) else value.items if isinstance(value, DictValue) else None
        owner = value if isinstance(value, ListValue | SetValue) else held
        if owner is None or id(owner) in seen:
            continue
        seen.add(id(owner))
        if held or (held is None and value.items):
            continue  # it was there before the round
        for slot, change in by_owner.get(id(owner), ()):
            found[slot] = change
            reached.extend(change.after[0] if change.kind == "list" else [change.after])
    return found


def may_skip(interp: Interp, loop: LoopNode, changes: dict[Any, Change]) -> None:
    """A loop of the job that may not run at all: what it appends is perhaps not there after it."""
    if isinstance(loop.count, int) or interp.in_model:
        return
    for change in changes.values():
        if change.kind == "list" and len(change.after[0]) > len(change.before[0]):
            interp.trail.write(change, (change.after[0], MAYBE))


def number_kind(value: Value) -> str:
    """int or float, where a value surely is such a number, whichever it is; else empty."""
    if isinstance(value, Alternatives):
        kinds = {number_kind(option) for _, option in value.options}
        return "" if "" in kinds else "float" if "float" in kinds else "int"
    if isinstance(value, Unknown):
        return value.hint if value.hint in ("int", "float") else ""
    return type(value).__name__ if type(value) in (int, float) else ""


def plain_numbers(value: Value) -> list[int]:
    """The numbers that are known among the alternatives."""
    options = [option for _, option in value.options] if isinstance(value, Alternatives) else [value]
    return [option for option in options if type(option) is int]


def widen(interp: Interp, change: Change, loop: LoopNode, plain: bool = False) -> Value:
    """The value for any iteration of a slot that the body writes; MISSING where it needs none. ``plain``: the slot counts nothing."""
    before, after = change.before, change.after
    if change.kind == "list":
        if len(before[0]) == len(after[0]) and before[1] == after[1]:
            if all(same(a, b) for a, b in zip(before[0], after[0])):
                return MISSING
            return ([join(a, b, ANOTHER) for a, b in zip(before[0], after[0])], before[1])
        shrinks = len(after[0]) < len(before[0])
        if before[1] == MAYBE or (before[1] and not shrinks):
            return MISSING
        return (before[0], MAYBE if shrinks and not interp.in_model else True)
    if before is MISSING or same(before, after) or change.key in ("early_exit", "result"):
        return MISSING
    if change.kind == "attr" and change.key == "open":
        return True if after else MISSING
    if change.kind == "attr" and change.key == "other":
        return MISSING  # the tensors of a dict that the body replaces: each round finds a batch of its own
    if change.kind == "attr" and isinstance(change.obj, TensorValue):
        # What a tensor is has no alternatives: it is unknown (None) where another iteration finds it otherwise.
        if before is None:
            return MISSING
        if change.key == "shape":
            return join_shapes(before, after)
        if change.key in ("dtype", "device", "pinned", "requires_grad"):
            return None
    name = change.key if isinstance(change.key, str) else ""
    if isinstance(before, Unknown):
        if isinstance(after, Unknown):
            return MISSING
        if before.reason == "loop-carried":
            return MISSING
    if (isinstance(before, bool | str) and type(after) is type(before)) or before is None or after is None:
        joined = join(before, after, ANOTHER, loop.anchor, name)
        return MISSING if joined is before else joined
    numbers = (int, float, Dim, Unknown)
    if isinstance(before, numbers) and isinstance(after, numbers):
        kinds = (number_kind(before), number_kind(after))
        whole = isinstance(before, int) and not isinstance(after, float)
        hint = "int" if whole or kinds == ("int", "int") else "float"
        if isinstance(before, int) and isinstance(after, int) and not isinstance(before, bool):
            loop.counters[name] = after - before
        return Unknown(name, "loop-carried", loop.anchor, hint)
    if not plain and isinstance(before, Alternatives) and (kind := number_kind(before)) and number_kind(after):
        grown = [b - a for a, b in zip(plain_numbers(before), plain_numbers(after))]
        if kind == "int" and grown:
            loop.counters[name] = grown[0]
        return Unknown(name, "loop-carried", loop.anchor, kind)
    if counted_in_part(before, after) and not plain:
        return Unknown(name, "loop-carried", loop.anchor, "int")
    if isinstance(before, TensorValue) and isinstance(after, TensorValue):
        joined = join(before, after, ANOTHER)
        return MISSING if same(joined, before) else joined
    if isinstance(before, tuple) and isinstance(after, tuple) and len(before) == len(after):
        joined = tuple(join(a, b, ANOTHER) for a, b in zip(before, after))
        return MISSING if same(joined, before) else joined
    if type(before) is type(after):
        return MISSING  # an object of the same kind: the body's last one stands for all
    joined = join(before, after, ANOTHER, loop.anchor, name)
    return MISSING if same(joined, before) or _covers(before, joined) else joined


def counted_in_part(before: Value, after: Value) -> bool:
    """A number that only some rounds count up: ``if last_micro_step: steps += 1``."""
    options = [option for _, option in after.options] if isinstance(after, Alternatives) else []
    return isinstance(before, int) and not isinstance(before, bool) and bool(options) and all(type(one) is int or isinstance(one, Unknown) for one in options)


def _covers(before: Value, joined: Value) -> bool:
    options = getattr(before, "options", None)
    return options is not None and getattr(joined, "options", None) is not None and len(options) == len(joined.options)


# ------------------------------------------------------------------ while, generators


def ended(interp: Interp, test: ast.expr, frame: Frame) -> bool:
    """After its first round the loop is over: its test, which calls nothing, does not hold any more."""
    if any(isinstance(one, ast.Call | ast.Await | ast.NamedExpr) for one in ast.walk(test)):
        return False
    return interp.attempt(lambda: interp.truth(interp.eval(test, frame))) is False


def asks(test: ast.expr) -> bool:
    """``f(x)`` or ``not f(x)``: one call, of plain values."""
    call = test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else test
    plain = (ast.Name, ast.Attribute, ast.Constant)
    return isinstance(call, ast.Call) and all(isinstance(one, plain) for one in (*call.args, *(keyword.value for keyword in call.keywords)))


def last_test(interp: Interp, test: ast.expr, frame: Frame) -> None:
    """The test behind the last round, for what it does: of its ways out the one by which the loop ends."""
    interp.wanted = isinstance(test, ast.UnaryOp)
    try:
        interp.eval(test, frame)
    finally:
        interp.wanted = MISSING


def exec_while(interp: Interp, node: ast.While, frame: Frame) -> Signal:
    expr = frame.code.text(node.test)
    loop = LoopNode(frame.anchor(node), f"while {expr}", expr=expr, over="while", bound=frame.anchor(node.test))
    site = Site(node.test, frame)
    context = LoopContext(expr, None, frame.anchor(node.test))
    outer_exit, frame.early_exit = frame.early_exit, False
    entered = False
    with interp.inside(loop, keep=True), interp.loop(context, decided=True):
        steps = interp.steps
        for index in range(MAX_WHILE):
            interp.trail.begin()
            start, summarised = len(loop.children), interp.summarised
            mark = interp.mark()
            try:
                truth = interp.truth_at(eval_test(interp, node.test, frame), site)
                entered |= index == 0 and truth is True and asks(node.test) and len(loop.children) == start
                signal = _block(interp, node.body, frame) if truth else None
            except BaseException:
                interp.trail.commit()
                raise
            heavy = truth is not False and not interp.in_model and signal not in (BREAK, RETURN) and (
                works(loop.children) or interp.summarised > summarised or interp.steps - steps > MAX_WHILE_STEPS
            )
            heavy = heavy and not (index == 0 and truth and signal is None and not frame.early_exit and ended(interp, node.test, frame))
            if truth is None or heavy or (frame.early_exit and signal not in (BREAK, RETURN)):
                interp.trail.rollback()
                loop.children.clear()
                interp.reset(mark)
                break
            interp.trail.commit()
            interp.spend(1)
            if not truth:
                loop.count = index
                frame.early_exit = outer_exit
                return _block(interp, node.orelse, frame) if node.orelse else None
            loop.iterations.append(loop.children[start:])
            if signal == BREAK:
                loop.count = index + 1
                frame.early_exit = outer_exit
                return None
            if signal == RETURN:
                return signal
    frame.early_exit = outer_exit
    loop.iterations.clear()
    constant_test = isinstance(node.test, ast.Constant)

    def body() -> Signal:
        test = eval_test(interp, node.test, frame)
        interp.truth_at(test, site)
        if not constant_test:
            interp.narrow(node.test, True, frame)
        signal = _block(interp, node.body, frame)
        if loop.entered and signal is None:
            last_test(interp, node.test, frame)
        return signal

    loop.entered = entered
    loop.count = Unknown(expr, "data", frame.anchor(node.test), "int")
    rounds = counters.planned(interp, node, frame)
    signal = summarise(interp, frame, loop, LoopContext(expr, loop.count, context.anchor), body, node)
    loop.carries = carried(node, frame)
    if rounds is not None and counters.holds(interp, node, frame, rounds[1]):
        loop.count = rounds[0]
    if signal == "exit":
        return None
    if constant_test and not loop.early_exit and interp.truth(interp.eval(node.test, frame)):
        return None
    return signal


def _over_generator(interp: Interp, node: Any, source: GeneratorValue, frame: Frame, numbered: bool = False) -> Signal:
    """Run the loop's body inside the generator, yield by yield. ``numbered``: under ``enumerate``.

    A generator that is one element ahead gives none in its first round, and the last one behind its loop: together the body runs once
    a round, and stands in the loop.
    """
    token = object()
    outcome: list[Signal] = [None]
    height = len(interp.stack)
    ahead = False

    def consume(value: Value) -> Value:
        nonlocal ahead
        within = interp.stack[height:]
        loop = next((one for one in reversed(within) if isinstance(one, LoopNode)), None)
        if loop is not None:  # whoever reads the job looks for the loop where its body stands
            ahead = any(isinstance(one, BranchNode) and one.later is not None for one in within)
            loop.anchor, loop.target = frame.anchor(node), frame.code.text(node.target)
        if numbered:
            value = (Unknown(frame.code.text(node.target), "loop-carried", frame.anchor(node), "int"), value)
        interp.assign(node.target, value, frame)
        if loop is None and ahead:
            with interp.inside(ScopeNode(frame.anchor(node), "the last element"), emit=False):
                signal = _block(interp, node.body, frame)
        else:
            signal = _block(interp, node.body, frame)
            if loop is not None:
                loop.carries = carried(node, frame)
        if signal in (BREAK, RETURN):
            outcome[0] = signal
            raise StopConsumer(token)
        return None

    interp.consumers.append((frame.scope.vars, node))
    try:
        interp.run_generator(source, consume, Site(node.iter, frame))
    except StopConsumer as stop:
        if stop.token is not token:
            raise
    finally:
        interp.consumers.pop()
    if outcome[0] == RETURN:
        return RETURN
    return _block(interp, node.orelse, frame) if node.orelse and outcome[0] is None else None


