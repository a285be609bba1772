"""Tensors that a loop hands from one round to the next: what makes its rounds steps of one thing, not things of their own.

``x = x + model(x)`` and ``tokens[:, i] = pick(model(tokens))`` carry a tensor; ``out[i] = model(batch)`` does not.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from cgx.indexer.interpreter.scopes import Frame
from cgx.indexer.interpreter.values import MISSING, Alternatives, ListValue, TensorValue, Value

NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
FEW = 4  # tensors in a list that is handed on as a whole
ATTRIBUTE = "__cgx_carried__"
PLAINLY = "__cgx_set_plainly__"


def carried(node: ast.For | ast.While, frame: Frame) -> tuple[str, ...]:
    """Names of the tensors that the body reads before it sets them anew."""
    return tuple(name for name in handed_on(node) if is_tensor(frame.scope.vars.get(name, MISSING)))


def handed_on(node: ast.For | ast.While) -> tuple[str, ...]:
    """Names that a round reads as the one before left them."""
    names: tuple[str, ...] | None = getattr(node, ATTRIBUTE, None)
    if names is None:
        names = tuple(sorted(read_first([*_test(node), *node.body]) - _targets(node)))
        setattr(node, ATTRIBUTE, names)
    return names


def set_plainly(node: ast.For | ast.While) -> frozenset[str]:
    """Variables that the body sets at one place, and not from what they are: they count nothing."""
    names: frozenset[str] | None = getattr(node, PLAINLY, None)
    if names is None:
        parts = [part for statement in node.body for part in ast.walk(statement)]
        stored = Counter(part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store))
        names = frozenset(
            part.targets[0].id
            for part in parts
            if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name) and stored[part.targets[0].id] == 1 and not _reads(part.value, part.targets[0].id)
        )
        setattr(node, PLAINLY, names)
    return names


def _reads(node: ast.expr, name: str) -> bool:
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))


def _test(node: ast.For | ast.While) -> list[ast.AST]:
    return [node.test] if isinstance(node, ast.While) else []


def _targets(node: ast.For | ast.While) -> set[str]:
    """What the loop itself sets in each round."""
    return {one.id for one in ast.walk(node.target) if isinstance(one, ast.Name)} if isinstance(node, ast.For) else set()


def is_tensor(value: Value) -> bool:
    if isinstance(value, Alternatives):
        return any(is_tensor(option) for _, option in value.options)
    if isinstance(value, ListValue | tuple):
        items = value if isinstance(value, tuple) else value.items
        return 0 < len(items) <= FEW and all(is_tensor(one) for one in items)
    return isinstance(value, TensorValue) and value.library == "torch"


def read_first(body: list[ast.AST] | list[ast.stmt]) -> set[str]:
    """Names whose first use is a read, and that are set behind it."""
    first: dict[str, str] = {}
    later: set[str] = set()
    for statement in body:
        for kind, name in uses(statement):
            if name not in first:
                first[name] = kind
            elif kind != "read" and first[name] == "read":
                later.add(name)
    return later


def uses(node: ast.AST) -> Iterator[tuple[str, str]]:
    """(read or set, name) in the order of evaluation; setting an item of a name sets it, in a loop's own target too."""
    if isinstance(node, NESTED):
        return
    if isinstance(node, ast.Assign):
        yield from uses(node.value)
        for target in node.targets:
            yield from target_uses(target)
    elif isinstance(node, ast.AnnAssign | ast.NamedExpr):
        if node.value is not None:
            yield from uses(node.value)
        yield from target_uses(node.target)
    elif isinstance(node, ast.AugAssign):
        yield from uses(node.value)
        if isinstance(node.target, ast.Name):
            yield "read", node.target.id
        yield from target_uses(node.target)
    elif isinstance(node, ast.For):
        yield from uses(node.iter)
        yield from target_uses(node.target)
        for statement in [*node.body, *node.orelse]:
            yield from uses(statement)
    elif isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        own = {one.id for part in node.generators for one in ast.walk(part.target) if isinstance(one, ast.Name)}
        yield from ((kind, name) for child in ast.iter_child_nodes(node) for kind, name in uses(child) if name not in own)
    elif isinstance(node, ast.comprehension):
        for part in [node.iter, *node.ifs]:
            yield from uses(part)
    elif isinstance(node, ast.Name):
        yield ("read" if isinstance(node.ctx, ast.Load) else "set"), node.id
    else:
        for child in ast.iter_child_nodes(node):
            yield from uses(child)


def target_uses(target: ast.AST) -> Iterator[tuple[str, str]]:
    if isinstance(target, ast.Tuple | ast.List):
        for one in target.elts:
            yield from target_uses(one)
    elif isinstance(target, ast.Subscript):
        yield from uses(target.slice)
        base = target.value
        if isinstance(base, ast.Name):
            yield "set", base.id
        else:
            yield from uses(base)
    else:
        yield from uses(target)
