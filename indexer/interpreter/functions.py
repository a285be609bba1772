"""Calling functions of the source: binding arguments, running bodies, generators."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from cgx.indexer.interpreter.blocks import run_block
from cgx.indexer.interpreter.cached_functions import CACHE, from_cache
from cgx.indexer.interpreter.classes import qualify
from cgx.indexer.interpreter.joins import join
from cgx.indexer.interpreter.recovery import ENDS, doubtful
from cgx.indexer.interpreter.scopes import Frame, Scope, Site
from cgx.indexer.interpreter.signals import RETURN, Raised, StopConsumer
from cgx.indexer.interpreter.spread import Spread, further
from cgx.indexer.interpreter.trace import BranchNode, CallNode, LoopNode, Node, ScopeNode
from cgx.indexer.interpreter.values import (
    MISSING,
    ClassValue,
    DictValue,
    FunctionValue,
    GeneratorValue,
    ListValue,
    ModuleInstance,
    Sequence,
    TensorValue,
    Unknown,
    Value,
)
from cgx.indexer.overlays import moving_average
from cgx.model.anchors import Anchor

if TYPE_CHECKING:
    from cgx.indexer.interpreter.interp import Interp

MAX_DEPTH = 400  # nested calls of source functions
MAX_SAME = 40  # nested calls of one function
MAX_BLIND = 4  # the same inside a loop whose count is not known: nothing there says where the recursion ends


def make_function(interp: Interp, node: Any, frame: Frame, name: str) -> FunctionValue:
    symbol, qname = qualify(frame, name) if name != "<lambda>" else (frame.symbol, f"{frame.symbol}.<lambda>")
    args = node.args
    function = FunctionValue(
        node,
        name,
        qname,
        symbol,
        frame.path,
        frame.scope.module,  # type: ignore[arg-type]
        frame.scope,
        [interp.eval(default, frame) for default in args.defaults],
        {a.arg: interp.eval(d, frame) for a, d in zip(args.kwonlyargs, args.kw_defaults) if d is not None},
        _owner(frame),
        not isinstance(node, ast.Lambda) and "yield" in frame.code.source and is_generator(node),
    )
    function.attrs["__cgx_code__"] = frame.code
    if not isinstance(node, ast.Lambda):
        every = [*args.posonlyargs, *args.args, *args.kwonlyargs]
        function.annotations = {a.arg: a.annotation for a in every if a.annotation is not None}
    return function


def _owner(frame: Frame) -> ClassValue | None:
    return frame.owner


def is_generator(node: Any) -> bool:
    """The body yields, leaving nested functions aside."""
    stack: list[ast.AST] = list(node.body)
    while stack:
        item = stack.pop()
        if isinstance(item, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            stack.extend(ast.iter_child_nodes(item))
    return False


def bind_arguments(interp: Interp, func: FunctionValue, args: list[Value], kwargs: dict[str, Value], site: Site) -> dict[str, Value]:
    """Python's rules. A ``*`` key in kwargs is an argument list that is not known: what it may fill is Unknown."""
    spec = func.node.args
    kwargs = dict(kwargs)
    spread = kwargs.pop("*", MISSING)
    positional = [a.arg for a in [*spec.posonlyargs, *spec.args]]
    bound: dict[str, Value] = dict(zip(positional, args))
    rest = args[len(positional) :]
    if spec.vararg is not None:
        bound[spec.vararg.arg] = tuple(rest) if not isinstance(spread, Spread) else further(spec.vararg.arg, rest, spread, len(args) < len(positional))
    elif rest and spread is MISSING:
        interp.raise_("TypeError", f"{func.name}() takes {len(positional)} positional arguments but {len(args)} were given", site)
    extra: dict[str, Value] = {}
    names = {*(a.arg for a in spec.args), *(a.arg for a in spec.kwonlyargs)}
    for key, value in kwargs.items():
        if key in names:
            if key in bound:
                interp.raise_("TypeError", f"{func.name}() got multiple values for argument {key!r}", site)
            bound[key] = value
        elif spec.kwarg is not None:
            extra[key] = value
        else:
            interp.raise_("TypeError", f"{func.name}() got an unexpected keyword argument {key!r}", site)
    if spec.kwarg is not None:
        bound[spec.kwarg.arg] = DictValue(extra, open=spread is not MISSING, other=spread if isinstance(spread, TensorValue) else None)
    defaults = dict(zip(positional[len(positional) - len(func.defaults) :], func.defaults))
    for name in [*positional, *(a.arg for a in spec.kwonlyargs)]:
        if name in bound:
            continue
        if isinstance(spread, TensorValue) and name not in defaults and name not in func.kw_defaults:
            bound[name] = replace(spread, attrs=dict(spread.attrs))  # the dict has it, and all in it are tensors
        elif spread is not MISSING:
            bound[name] = Unknown(name, getattr(spread, "reason", "parameter"), site.anchor)
        elif name in defaults:
            bound[name] = defaults[name]
        elif name in func.kw_defaults:
            bound[name] = func.kw_defaults[name]
        else:
            interp.raise_("TypeError", f"{func.name}() missing argument {name!r}", site)
    return bound


def call_function(interp: Interp, func: FunctionValue, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
    nested = interp.active.get(id(func.node), 0)
    if interp.depth >= MAX_DEPTH or nested >= (MAX_BLIND if interp.unknown_loops > 0 else MAX_SAME):
        return interp.unknown(site.text, "budget", site)
    for handler in interp.overlaid(func):
        found = handler(interp, site, args, kwargs)
        if found is not NotImplemented:
            return found
    if CACHE in func.attrs:
        return from_cache(interp, func, args, kwargs, lambda: enter(interp, func, args, kwargs, site))
    return enter(interp, func, args, kwargs, site)


def enter(interp: Interp, func: FunctionValue, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
    """Bind the arguments and run the body."""
    if interp.loops:
        moving_average.note(interp, func, site, args)
    flags = func.attrs.get("__cgx_flags__")
    bound = bind_arguments(interp, func, args, kwargs, site)
    scope = Scope("function", func.closure, module=func.module, globals=func.module.scope if func.module else None)
    scope.vars.update(bound)
    interp.note_fresh(scope.vars)
    if func.generator:
        return GeneratorValue(func, scope, site.anchor, tuple(args))
    frame = Frame(scope, func.attrs["__cgx_code__"], func.symbol, func, func.owner, args[0] if args else bound.get(_first(func)))
    frame.wanted, interp.wanted = interp.wanted, MISSING
    if flags:
        return interp.with_flags(func.attrs["__cgx_scope__"], flags, site, lambda: run_body(interp, func, frame, site))
    return run_body(interp, func, frame, site)


def _first(func: FunctionValue) -> str:
    spec = func.node.args
    names = [*spec.posonlyargs, *spec.args]
    return names[0].arg if names else ""


def run_body(interp: Interp, func: FunctionValue, frame: Frame, site: Site) -> Value:
    key = id(func.node)
    interp.depth += 1
    interp.active[key] = interp.active.get(key, 0) + 1
    node = CallNode(site.anchor, site.text, symbol=func.qname, target=Anchor(func.path, func.symbol, getattr(func.node, "lineno", 1)))
    node.yields, node.outside = frame.on_yield is not None, site.frame.code.external
    if func.owner is not None and isinstance(frame.first, ModuleInstance) and not interp.in_model and not node.yields:
        node.owner, node.training, node.grad = frame.first, frame.first.training, bool(interp.flags.get("grad", True))
    forward = node.owner is not None and func.name == "forward"  # called by its name: a model runs all the same
    try:
        interp.forward_depth += forward
        with interp.inside(node, keep=tells(interp, node)):
            if isinstance(func.node, ast.Lambda):
                return interp.eval(func.node.body, frame)
            result = _run_statements(interp, func, frame)
            for condition, value in reversed(frame.returns):
                result = join(value, result, condition, node.target, func.name)
            return result
    finally:
        interp.forward_depth -= forward
        interp.depth -= 1
        interp.active[key] -= 1


def tells(interp: Interp, node: CallNode) -> bool:
    """A call that says what a data set or producer does with its samples, even where it leaves no trace."""
    return node.prepares and any(isinstance(one, ScopeNode) and one.qname == "torch.utils.data.worker" for one in interp.stack)


def _run_statements(interp: Interp, func: FunctionValue, frame: Frame) -> Value:
    """The value of the path that leaves last. A path that raises is none where an undecided one has returned: the job runs."""
    try:
        signal = run_block(interp, cast("list[ast.stmt]", func.node.body), frame)
    except Raised as error:
        if not frame.returns or (error.kind in ENDS and not error.fails):
            raise
        return frame.returns.pop()[1]
    if signal is not None:
        return frame.result if signal == RETURN else None
    return doubtful(None, frame, func.name)


def run_generator(interp: Interp, generator: GeneratorValue, consume: Callable[[Value], Value], site: Site) -> None:
    """Run a generator's body; ``consume`` is called at each yield and gives what ``send`` would."""
    func = generator.func
    scope = Scope("function", generator.scope.parent, dict(generator.scope.vars), generator.scope.module, generator.scope.globals)
    frame = Frame(scope, func.attrs["__cgx_code__"], func.symbol, func, func.owner, generator.context[0] if generator.context else None)
    frame.on_yield = consume
    flags = func.attrs.get("__cgx_flags__")

    def run() -> Value:
        return interp.with_scopes(func.attrs.get("cgx.scopes") or (), site, lambda: run_body(interp, func, frame, site))

    if flags:
        interp.with_flags(func.attrs["__cgx_scope__"], flags, site, run)
    else:
        run()


def next_value(interp: Interp, generator: GeneratorValue, site: Site) -> Value:
    """``next(generator)``: its body up to a yield. Later ones see what any iteration yields."""
    token = object()
    found: list[Value] = []
    depth = len(interp.stack)

    def consume(value: Value) -> Value:
        found.append(value)
        one_round(interp.stack[depth:])
        raise StopConsumer(token)

    try:
        run_generator(interp, generator, consume, site)
    except StopConsumer as stop:
        if stop.token is not token:
            raise
    if not found:
        return interp.raise_("StopIteration", "", site)
    return found[0]


def one_round(path: list[Node]) -> None:
    """A ``next`` takes one round of the innermost loop round the yield; what outer loops do before it is done where it starts anew."""
    loops = [node for node in path if isinstance(node, LoopNode)]
    for loop, inner in itertools.pairwise(loops):
        if loop.children:
            loop.children[:] = [BranchNode(loop.anchor, f"at each start of {inner.text}", children=list(loop.children))]
    for loop in loops:
        loop.count = 1


def collect(interp: Interp, generator: GeneratorValue, site: Site) -> ListValue | Sequence:
    """Everything the generator yields, in order; open where a yield stands in a loop that is not known.

    Where all that it yields comes from a loop that is evaluated once for all rounds, one element stands for them.
    """
    result = ListValue()
    depth, summaries, height = interp.unknown_loops, interp.summaries, len(interp.stack)
    rounds: list[tuple[Value, list[LoopNode]]] = []

    def consume(value: Value) -> Value:
        if interp.summaries > summaries:
            rounds.append((value, [node for node in interp.stack[height:] if isinstance(node, LoopNode)]))
        else:
            result.items.append(value)
        if interp.unknown_loops > depth:
            result.open = True
        return None

    run_generator(interp, generator, consume, site)
    if not rounds:
        return result
    if result.items:
        return ListValue([*result.items, *(value for value, _ in rounds)], open=True)
    element = rounds[-1][0]  # of the last round, in which what changes from round to round is widened
    loops = rounds[-1][1]
    length = loops[0].count if len(loops) == 1 and len({id(path[0]) for _, path in rounds}) == 1 else None
    return Sequence(element, interp.unknown(f"len({site.text})", "data", site, "int") if length is None else length, "generator", site.anchor)
