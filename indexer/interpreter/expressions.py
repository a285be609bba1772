"""Evaluation of expressions: one function a node kind, listed in EVALUATE."""

from __future__ import annotations

import ast
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

from cgx.indexer.interpreter import loaded, open_dicts, operators
from cgx.indexer.interpreter.blocks import note_period, noted_period
from cgx.indexer.interpreter.joins import join
from cgx.indexer.interpreter.scopes import Frame, Scope, Site
from cgx.indexer.interpreter.spread import spread_out
from cgx.indexer.interpreter.started import as_one_of_them
from cgx.indexer.interpreter.trace import BranchNode, LoopNode
from cgx.indexer.interpreter.values import (
    MAYBE,
    MISSING,
    BoundMethod,
    ByRank,
    ClassValue,
    DictValue,
    External,
    FunctionValue,
    ListValue,
    LoopContext,
    Opaque,
    Sequence,
    TensorValue,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from cgx.indexer.interpreter.interp import Interp


ASKED = "__cgx_asked__"  # on a node: its truth is asked, its value is not used


def constant(interp: Interp, node: ast.Constant, frame: Frame) -> Value:
    return node.value


def name(interp: Interp, node: ast.Name, frame: Frame) -> Value:
    scope = frame.scope.find(node.id)
    if scope is not None:
        if scope.read is not None:
            scope.read.add(node.id)
        return interp.pick(scope.vars[node.id])
    module = frame.scope.globals
    if module is not None and node.id in interp.late_names.get(id(module), ()):
        late = interp.late_name(module, node.id)
        if late is not MISSING:
            return late
    found = interp.builtin(node.id)
    if found is not MISSING:
        return found
    if module is not None:
        late = interp.late_name(module, node.id)
        if late is not MISSING:
            return late
    if frame.code.partial or (module is not None and "*" in module.vars):
        return interp.unknown(node.id, "missing-module", Site(node, frame))
    return interp.raise_("NameError", f"name {node.id!r} is not defined", Site(node, frame))


def attribute(interp: Interp, node: ast.Attribute, frame: Frame) -> Value:
    called, interp.callee = interp.callee is node, None
    value = interp.getattr(interp.eval(node.value, frame), node.attr, Site(node, frame))
    return value if called else _read(interp, value, node, frame)


def _read(interp: Interp, value: Value, node: ast.Attribute, frame: Frame) -> Value:
    """A member of an object whose class nobody knows may be a method while it is called; read as a value it may be anything."""
    if not isinstance(value, BoundMethod) or not isinstance(value.func, External) or not isinstance(value.self, Opaque):
        return value
    if interp.has_handler(value.self.qname, node.attr) or value.func.qname != f"{value.self.qname}.{node.attr}":
        return value
    top = value.self.qname.partition(".")[0]
    return Unknown(frame.code.text(node), "missing-module", frame.anchor(node), settle=("--env", top) if top != "torch" else None)


def call(interp: Interp, node: ast.Call, frame: Frame) -> Value:
    site = Site(node, frame)
    if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args and frame.owner is not None:
        return interp.zero_super(frame)
    interp.callee = node.func
    func = interp.eval(node.func, frame)
    args: list[Value] = []
    spread: Unknown | None = None
    for arg in node.args:
        if isinstance(arg, ast.Starred):
            held = interp.eval(arg.value, frame)
            items = interp.iterate(held, site)
            if isinstance(items, list):
                args.extend(items)
            elif len(node.args) == 1 and func == External("zip") and (columns := transposed(held)) is not None:
                return columns
            else:
                if isinstance(held, ListValue) and held.open != MAYBE:
                    args.extend(held.items)  # these at least
                spread = spread_out(frame.code.text(arg), items, site)
        else:
            args.append(interp.eval(arg, frame))
    kwargs: dict[str, Value] = {}
    for keyword in node.keywords:
        value = interp.eval(keyword.value, frame)
        if keyword.arg is not None:
            kwargs[keyword.arg] = value
        else:
            found = interp.as_keywords(value, site)
            if found is None:
                known = next((one for _, one in getattr(value, "options", ()) if isinstance(one, Unknown)), value)
                spread = known if isinstance(known, Unknown) else interp.unknown(frame.code.text(keyword.value), "unsupported", site)
            else:
                kwargs.update(found)
    if isinstance(func, _LOCALS):
        return func.run(interp, frame, args)
    if spread is not None:
        kwargs["*"] = spread
    elif interp.started.items and isinstance(func, FunctionValue | ClassValue):
        args = as_one_of_them(interp, func, args)
    return interp.call(func, args, kwargs, site)


def transposed(rows: Value) -> Value:
    """``zip(*rows)`` for rows of known width of which there may be more than are listed: a column for each place. None for others."""
    if isinstance(rows, Sequence):
        width = row_width(rows.element)
        return None if width is None else ListValue([Sequence(rows_at(rows.element, place), rows.length, "tuple") for place in range(width)])
    if not isinstance(rows, ListValue) or not rows.items:
        return None
    widths = {row_width(row) for row in rows.items}
    if len(widths) != 1 or None in widths:
        return None
    return ListValue([ListValue([rows_at(row, place) for row in rows.items], open=rows.open) for place in range(widths.pop() or 0)])


def row_width(row: Value) -> int | None:
    return len(row) if isinstance(row, tuple) else len(row.items) if isinstance(row, ListValue) and not row.open else None


def rows_at(row: Value, place: int) -> Value:
    return row[place] if isinstance(row, tuple) else row.items[place]


class FrameFunction:
    """``locals``, ``globals``, ``vars``, ``exec``, ``eval`` and ``dir``: builtins that need the caller's frame."""

    def __init__(self, name: str, run: Callable[[Interp, Frame, list[Value]], Value]) -> None:
        self.name, self.run = name, run


_LOCALS = FrameFunction


def binop(interp: Interp, node: ast.BinOp, frame: Frame) -> Value:
    if isinstance(node.left, ast.BinOp):
        return _chain(interp, node, frame)
    left, right = interp.eval(node.left, frame), interp.eval(node.right, frame)
    return operators.binary(interp, type(node.op), left, right, Site(node, frame))


def _chain(interp: Interp, node: ast.BinOp, frame: Frame) -> Value:
    """A long chain of operators, without recursion."""
    chain: list[ast.BinOp] = []
    step: ast.expr = node
    while isinstance(step, ast.BinOp):
        chain.append(step)
        step = step.left
    value = interp.eval(step, frame)
    for link in reversed(chain):
        right = interp.eval(link.right, frame)
        value = operators.binary(interp, type(link.op), value, right, Site(link, frame))
    return value


def unaryop(interp: Interp, node: ast.UnaryOp, frame: Frame) -> Value:
    return operators.unary(interp, type(node.op), interp.eval(node.operand, frame), Site(node, frame))


def eval_test(interp: Interp, node: ast.expr, frame: Frame) -> Value:
    """What an ``if``, ``while`` or ``assert`` asks: of ``a and b`` the last part is asked too, where it comes to that."""
    if isinstance(node, ast.BoolOp | ast.UnaryOp) and not hasattr(node, ASKED):
        stack: list[ast.expr] = [node]
        while stack:
            one = stack.pop()
            setattr(one, ASKED, True)
            stack += one.values if isinstance(one, ast.BoolOp) else [one.operand] if isinstance(one, ast.UnaryOp) and isinstance(one.op, ast.Not) else []
    return interp.eval(node, frame)


def boolop(interp: Interp, node: ast.BoolOp, frame: Frame) -> Value:
    """``and``/``or`` with short circuit. An undecided operand leaves the result undecided unless a later one settles it."""
    stop = isinstance(node.op, ast.Or)
    undecided: list[Value] = []
    ranked: list[ByRank] = []
    value: Value = None
    for index, operand in enumerate(node.values):
        last = index == len(node.values) - 1
        if undecided:
            with interp.assuming(undecided, not stop):
                value = interp.eval(operand, frame)
        else:
            value = interp.eval(operand, frame)
        if isinstance(value, ByRank) and not last:
            ranked.append(value)
        site = Site(operand, frame)
        if last and not undecided and isinstance(value, TensorValue):
            return _ranked(interp, ranked, value, stop)  # the tensor itself: who asks it waits for it
        truth = interp.truth_at(value, site) if not last or (hasattr(node, ASKED) and isinstance(value, TensorValue)) else interp.truth(value)
        if truth is stop:
            if not undecided:
                return _ranked(interp, ranked, value, stop)
            if stop is False or value is True:
                return value if not isinstance(value, Unknown) else stop
        if truth is None:
            undecided.append(value)
    if not undecided:
        return _ranked(interp, ranked, value, stop)
    if len(undecided) == 1 and (undecided[0] is value or interp.truth(value) is (not stop)) and isinstance(undecided[0], Unknown):
        found = undecided[0]
        return Unknown(found.name, found.reason, found.anchor, found.hint, found.settle, found.guard) if stop else found  # of an `and` it is just that part
    if stop and len(undecided) >= 1 and not isinstance(undecided[0], Unknown | TensorValue):
        return join(undecided[0], value, frame.code.text(node.values[0]), frame.anchor(node))
    first = next((item for item in undecided if isinstance(item, Unknown)), None)
    site = Site(node, frame)
    if first is None:
        return interp.unknown(site.text, "data", site, "bool")
    if all(loaded.is_loaded(part) for part in [*undecided, value]):
        return first  # one of two parts of what a file held
    guard = shorter_period(undecided) if stop else only_period(undecided)
    return Unknown(site.text, first.reason, first.anchor, "bool", first.settle or ("--set", first.name), guard or site.text)


def shorter_period(parts: list[Value]) -> str:
    """``i % 50 == 0 or i % 100 == 0`` holds every 50; empty where the periods do not fit each other."""
    periods = [noted_period(one) for one in parts]
    if any(one is None for one in periods) or len({one[0] for one in periods if one is not None}) != 1:
        return ""
    found = min(periods, key=lambda one: one[1])  # type: ignore[index]
    fits = all(one[1] % found[1] == 0 for one in periods)  # type: ignore[index]
    return str(parts[periods.index(found)].guard) if fits else ""


def only_period(parts: list[Value]) -> str:
    """``step != 0 and divisible(step, 500)`` holds every 500."""
    periods = {str(one.guard) for one in parts if noted_period(one) is not None}
    return periods.pop() if len(periods) == 1 else ""


def _ranked(interp: Interp, ranked: list[ByRank], value: Value, stop: bool) -> Value:
    """The result for every rank, where an operand before differs between ranks."""
    if not ranked or interp.truth(value) is None:
        return value
    size = len(ranked[0].values)
    last = value.values if isinstance(value, ByRank) else (value,) * size
    results = []
    for rank in range(size):
        gate = next((one.values[rank] for one in ranked if bool(interp.truth(one.values[rank])) is stop), MISSING)
        results.append(last[rank] if gate is MISSING else gate)
    return operators.by_rank(results)


def compare(interp: Interp, node: ast.Compare, frame: Frame) -> Value:
    left = interp.eval(node.left, frame)
    result: Value = True
    for op, right_node in zip(node.ops, node.comparators):
        right = interp.eval(right_node, frame)
        site = Site(node, frame)
        result = operators.compare(interp, type(op), left, right, site)
        if len(node.ops) > 1:
            truth = interp.truth(result)
            if truth is not True:
                return result
        left = right
    return result


def ifexp(interp: Interp, node: ast.IfExp, frame: Frame) -> Value:
    test = eval_test(interp, node.test, frame)
    site = Site(node.test, frame)
    if isinstance(test, ByRank):
        picked = [interp.truth(value) for value in test.values]
        if None not in picked:
            sides: dict[bool, Value] = {}
            for expr, holds in ((node.body, True), (node.orelse, False)):
                ranks = tuple(rank for rank, flag in enumerate(picked) if flag is holds)
                side = BranchNode(frame.anchor(node.test), site.text if holds else f"not ({site.text})", decided=True, ranks=ranks)
                if ranks:
                    with interp.inside(side) if len(ranks) < len(picked) else nullcontext():
                        sides[holds] = interp.eval(expr, frame)
            return operators.by_rank([interp.for_rank(sides[bool(flag)], rank) for rank, flag in enumerate(picked)])
    truth = interp.truth_at(test, site)
    if truth is not None:
        return interp.eval(node.body if truth else node.orelse, frame)
    text = site.text
    branches = []
    for expr, holds in ((node.body, True), (node.orelse, False)):
        with interp.assuming([test], holds), interp.inside(
            BranchNode(frame.anchor(node.test), text if holds else f"not ({text})", test=test)
        ):
            branches.append(interp.attempt(partial(interp.eval, expr, frame)))
    interp.note_unknown(test, tested=True)
    interp.trace.conditions[text] = test
    return join(branches[0], branches[1], text, frame.anchor(node), frame.code.text(node))


def subscript(interp: Interp, node: ast.Subscript, frame: Frame) -> Value:
    value = interp.eval(node.value, frame)
    return interp.getitem(value, interp.eval(node.slice, frame), Site(node, frame))


def slice_(interp: Interp, node: ast.Slice, frame: Frame) -> Value:
    return slice(*(None if part is None else interp.eval(part, frame) for part in (node.lower, node.upper, node.step)))


def _elements(interp: Interp, nodes: list[ast.expr], frame: Frame) -> tuple[list[Value], bool]:
    items: list[Value] = []
    is_open = False
    for element in nodes:
        if isinstance(element, ast.Starred):
            found = interp.iterate(interp.eval(element.value, frame), Site(element, frame))
            if isinstance(found, list):
                items.extend(found)
            else:
                is_open = True
        else:
            items.append(interp.eval(element, frame))
    return items, is_open


def list_(interp: Interp, node: ast.List, frame: Frame) -> Value:
    value = ListValue(*_elements(interp, node.elts, frame))
    interp.note_fresh(value)
    return interp.made(value)


def tuple_(interp: Interp, node: ast.Tuple, frame: Frame) -> Value:
    items, is_open = _elements(interp, node.elts, frame)
    return ListValue(items, True) if is_open else tuple(items)


def set_(interp: Interp, node: ast.Set, frame: Frame) -> Value:
    items, is_open = _elements(interp, node.elts, frame)
    return interp.make_set(items, is_open)


def dict_(interp: Interp, node: ast.Dict, frame: Frame) -> Value:
    result = DictValue()
    interp.note_fresh(result.items)
    for key_node, value_node in zip(node.keys, node.values):
        value = interp.eval(value_node, frame)
        if key_node is None:
            if isinstance(value, DictValue):
                result.items.update(value.items)
                result.open |= value.open
                result.other = result.other if value.other is None else value.other
            else:
                found = interp.as_keywords(value, Site(value_node, frame))
                result.items.update(found or {})
                result.open |= found is None
            continue
        key = interp.key(interp.eval(key_node, frame))
        if key is MISSING:
            result.open = True
        else:
            result.items[key] = value
            result.origins[key] = frame.anchor(value_node)
    return result


# ------------------------------------------------------------------ comprehensions


def listcomp(interp: Interp, node: ast.ListComp, frame: Frame) -> Value:
    result = ListValue()
    sequence = _comprehend(interp, node, frame, lambda inner: result.items.append(interp.eval(node.elt, inner)))
    if sequence is None:
        return result
    element = result.items[0] if result.items else None
    if sequence.length is MISSING:
        result.open = True
        return result
    return Sequence(element, sequence.length, "list", frame.anchor(node))


def generatorexp(interp: Interp, node: ast.GeneratorExp, frame: Frame) -> Value:
    result = ListValue()
    sequence = _comprehend(interp, node, frame, lambda inner: result.items.append(interp.eval(node.elt, inner)))
    if sequence is None:
        return result
    if sequence.length is MISSING:
        result.open = True if interp.in_model else MAYBE
        return result
    return Sequence(result.items[0] if result.items else None, sequence.length, "generator", frame.anchor(node))


def setcomp(interp: Interp, node: ast.SetComp, frame: Frame) -> Value:
    found: list[Value] = []
    sequence = _comprehend(interp, node, frame, lambda inner: found.append(interp.eval(node.elt, inner)))
    return interp.make_set(found, sequence is not None)


def dictcomp(interp: Interp, node: ast.DictComp, frame: Frame) -> Value:
    result = DictValue()

    def add(inner: Frame) -> None:
        key = interp.key(interp.eval(node.key, inner))
        value = interp.eval(node.value, inner)
        if key is MISSING:
            open_dicts.put(result, value)
        else:
            result.items[key] = value
            result.origins[key] = frame.anchor(node)

    if _comprehend(interp, node, frame, add) is not None:
        result.open = True
    return result


def _comprehend(interp: Interp, node: Any, frame: Frame, add: Callable[[Frame], None]) -> Sequence | None:
    """Run a comprehension. Returns the Sequence it runs over where the elements are not known one by one.

    A length of MISSING means that elements may be left out (an undecided filter).
    """
    scope = Scope("comprehension", frame.scope, module=frame.scope.module, globals=frame.scope.globals)
    interp.note_fresh(scope.vars)
    inner = Frame(scope, frame.code, frame.symbol, frame.function, frame.owner, frame.first, on_yield=frame.on_yield)
    found: list[Sequence] = []

    def run(index: int) -> None:
        if index == len(node.generators):
            add(inner)
            return
        generator = node.generators[index]
        source = interp.eval(generator.iter, inner if index else frame)
        site = Site(generator.iter, frame)
        items = interp.iterate(source, site)
        context = LoopContext(frame.code.text(generator.iter), len(items) if isinstance(items, list) else None, frame.anchor(generator.iter))
        if isinstance(items, list):
            with interp.loop(context):
                for item in interp.each(items, site):
                    interp.assign(generator.target, item, inner)
                    verdict = _passes(interp, generator.ifs, inner)
                    if verdict is None:
                        found.append(Sequence(None, MISSING))
                    if verdict is not False:
                        run(index + 1)
            return
        element = items.element if isinstance(items, Sequence) else Unknown(f"element of {site.text}", getattr(items, "reason", "data"), site.anchor)
        length = items.length if isinstance(items, Sequence) else items
        with _rounds(interp, generator, site, length), interp.loop(LoopContext(context.expr, length, context.anchor)):
            interp.assign(generator.target, element, inner)
            if _passes(interp, generator.ifs, inner) is not False:
                run(index + 1)
        filtered = bool(generator.ifs)
        unknown = interp.unknown(f"len({site.text})", "data", site, "int")
        found.append(Sequence(element, unknown if filtered else length))

    run(0)
    return found[0] if found else None


def _rounds(interp: Interp, generator: ast.comprehension, site: Site, length: Value) -> AbstractContextManager[Any]:
    """The rounds of a comprehension whose elements are not known one by one, as a loop of the job."""
    if interp.in_model:
        return nullcontext()
    target = ast.unparse(generator.target)
    return interp.inside(LoopNode(site.anchor, site.text, count=length, expr=site.text, target=target, over="comprehension", bound=site.anchor))


def _passes(interp: Interp, tests: list[ast.expr], frame: Frame) -> bool | None:
    verdict: bool | None = True
    for test in tests:
        truth = interp.truth_at(interp.eval(test, frame), Site(test, frame))
        if truth is False:
            return False
        if truth is None:
            verdict = None
    return verdict


# ------------------------------------------------------------------ functions, strings, generators


def lambda_(interp: Interp, node: ast.Lambda, frame: Frame) -> Value:
    return interp.make_function(node, frame, "<lambda>")


def joinedstr(interp: Interp, node: ast.JoinedStr, frame: Frame) -> Value:
    pieces = [interp.eval(part, frame) if isinstance(part, ast.FormattedValue) else part.value for part in node.values]  # type: ignore[attr-defined]
    return operators.lift(interp, tuple(pieces), lambda *parts: _joined(interp, parts, node, frame))


def _joined(interp: Interp, parts: tuple[Value, ...], node: ast.JoinedStr, frame: Frame) -> Value:
    if all(isinstance(part, str) for part in parts):
        return "".join(parts)
    found = operators.derived(interp, parts, Site(node, frame), "str")
    found.least = sum(len(part) for part in parts if isinstance(part, str)) or None  # of its length
    return found


def formattedvalue(interp: Interp, node: ast.FormattedValue, frame: Frame) -> Value:
    value = interp.eval(node.value, frame)
    site = Site(node.value, frame)
    spec = interp.eval(node.format_spec, frame) if node.format_spec is not None else ""
    return operators.lift(interp, (value, spec), lambda v, s: shown(interp, v, s, node.conversion, site))


def shown(interp: Interp, value: Value, spec: Value, conversion: int, site: Site) -> Value:
    if isinstance(value, TensorValue):
        interp.transfer("print", value, site)
        return interp.unknown(site.text, "data", site, "str")
    if isinstance(value, bool | int | float | str | bytes | type(None) | complex) and isinstance(spec, str):
        convert: Any = {115: str, 114: repr, 97: ascii}.get(conversion, lambda v: v)
        shown: Value = convert(value)
        try:
            return format(shown, spec)
        except (ValueError, TypeError):
            return interp.unknown(site.text, "unsupported", site, "str")
    if isinstance(spec, str) and not spec:
        return interp.to_text(value, site, conversion == 114)
    return operators.derived(interp, (value,), site, "str")


def starred(interp: Interp, node: ast.Starred, frame: Frame) -> Value:
    return interp.eval(node.value, frame)


def namedexpr(interp: Interp, node: ast.NamedExpr, frame: Frame) -> Value:
    value = interp.eval(node.value, frame)
    inner = frame
    if frame.scope.kind == "comprehension":
        scope = frame.scope
        while scope.kind == "comprehension" and scope.parent is not None:
            scope = scope.parent
        inner = Frame(scope, frame.code, frame.symbol)
    interp.assign(node.target, value, inner)
    return value


def yield_(interp: Interp, node: ast.Yield, frame: Frame) -> Value:
    value = interp.eval(node.value, frame) if node.value is not None else None
    return frame.on_yield(value) if frame.on_yield is not None else None


def yieldfrom(interp: Interp, node: ast.YieldFrom, frame: Frame) -> Value:
    source = interp.eval(node.value, frame)
    handler = frame.on_yield
    if handler is None:
        return None
    interp.run_each(source, handler, Site(node, frame))
    return None


def await_(interp: Interp, node: ast.Await, frame: Frame) -> Value:
    return interp.await_value(interp.eval(node.value, frame), Site(node, frame))


EVALUATE: dict[type[ast.AST], Callable[[Any, Any, Any], Value]] = {
    ast.Constant: constant,
    ast.Name: name,
    ast.Attribute: attribute,
    ast.Call: call,
    ast.BinOp: binop,
    ast.UnaryOp: unaryop,
    ast.BoolOp: lambda interp, node, frame: note_period(interp, node, boolop(interp, node, frame), frame),
    ast.Compare: lambda interp, node, frame: note_period(interp, node, compare(interp, node, frame), frame),
    ast.IfExp: ifexp,
    ast.Subscript: subscript,
    ast.Slice: slice_,
    ast.List: list_,
    ast.Tuple: tuple_,
    ast.Set: set_,
    ast.Dict: dict_,
    ast.ListComp: listcomp,
    ast.GeneratorExp: generatorexp,
    ast.SetComp: setcomp,
    ast.DictComp: dictcomp,
    ast.Lambda: lambda_,
    ast.JoinedStr: joinedstr,
    ast.FormattedValue: formattedvalue,
    ast.Starred: starred,
    ast.NamedExpr: namedexpr,
    ast.Yield: yield_,
    ast.YieldFrom: yieldfrom,
    ast.Await: await_,
}

