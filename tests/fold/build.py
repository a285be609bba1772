"""Hand-built module trees and traces for the fold tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cgx.indexer.interpreter.trace import BranchNode, JobNode, LoopNode, ModuleCall, Node, OpNode, Trace
from cgx.indexer.interpreter.values import ClassValue, LoopContext, ModuleInstance, ModuleObject, TensorValue
from cgx.indexer.passes.fold.graph import GraphRows, fold
from cgx.model.anchors import Anchor

CONTAINER = {"ModuleList", "ModuleDict", "Sequential"}
HOME = ModuleObject("model", "model.py", None)  # type: ignore[arg-type]
LINES: dict[str, int] = {}


def at(line: int, symbol: str = "Net.forward") -> Anchor:
    return Anchor("model.py", symbol, line)


def cls(name: str) -> ClassValue:
    native = name in CONTAINER or name in {"Linear", "Dropout", "Embedding", "ReLU"}
    qname = f"torch.nn.{name}" if native else f"model.{name}"
    value = ClassValue(
        name, qname, name, "model.py", None if native else HOME, [], [], {}, native=qname if native else ""
    )
    value.mro = [value]
    return value


CLASSES: dict[str, ClassValue] = {}


def module(kind: str, *, loop: LoopContext | None = None, params: dict[str, Any] | None = None, attrs: dict[str, Any] | None = None,
           line: int = 1, **children: ModuleInstance) -> ModuleInstance:  # fmt: skip
    """An instance; children keep the order of the keywords."""
    made = ModuleInstance(
        CLASSES.setdefault(kind, cls(kind)), attrs=dict(attrs or {}), constructed_at=at(line, "Net.__init__")
    )
    made.parameters = {
        name: shape if isinstance(shape, TensorValue) else TensorValue(tuple(shape), "float32")
        for name, shape in (params or {}).items()
    }
    made.children = dict(children)
    made.loops = (loop,) if loop else ()
    return made


def listed(kind: str, members: Sequence[ModuleInstance]) -> ModuleInstance:
    made = module(kind)
    made.children = {str(index): member for index, member in enumerate(members)}
    return made


def linear(n: int, m: int, **more: Any) -> ModuleInstance:
    return module("Linear", params={"weight": (m, n)}, attrs={"in_features": n, "out_features": m}, **more)


def tensor(*shape: Any) -> TensorValue:
    return TensorValue(tuple(shape), "float32")


def call(
    target: ModuleInstance, *children: Node, line: int = 10, x: TensorValue | None = None, **more: Any
) -> ModuleCall:
    boundary = [("x", x)] if x is not None else []
    home = at(line) if target.cls.native else at(1, f"{target.cls.name}.forward")
    return ModuleCall(home, children=list(children), module=target, called_from=at(line),
                      inputs=boundary, outputs=boundary, **more)  # fmt: skip


def op(name: str, line: int, *shape: Any) -> OpNode:
    return OpNode(at(line), text=name, qname=name, outputs=[tensor(*shape)] if shape else [])


def loop(line: int, *turns: Sequence[Node], expr: str = "self.layers", target: str = "layer") -> LoopNode:
    return LoopNode(
        at(line),
        count=len(turns),
        expr=expr,
        target=target,
        over="container",
        iterations=[list(turn) for turn in turns],
    )


def summary(line: int, count: Any, *body: Node, expr: str = "range(n)") -> LoopNode:
    return LoopNode(at(line), children=list(body), count=count, expr=expr, target="_", over="range", bound=at(line))


def branch(text: str, line: int, *body: Node) -> BranchNode:
    return BranchNode(at(line), text=text, children=list(body))


def every(root: ModuleInstance) -> list[ModuleInstance]:
    found, stack = [], [root]
    while stack:
        made = stack.pop()
        found.append(made)
        stack.extend(child for child in made.children.values() if isinstance(child, ModuleInstance))
    return found


def folded(root: ModuleInstance, *nodes: Node) -> GraphRows:
    trace = Trace(JobNode(at(1, "<module>"), children=list(nodes)), every(root))
    return fold(trace, trace.root.children)


def by_path(rows: GraphRows) -> dict[str, dict[str, Any]]:
    """The first entry of each path."""
    found: dict[str, dict[str, Any]] = {}
    for row in rows.modules:
        if row.get("path") is not None:
            found.setdefault(row["path"], row)
    return found
