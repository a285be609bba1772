"""A small stand-in for the interpreter: records what handlers emit."""

from __future__ import annotations

import ast
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from cgx.indexer.interpreter.trace import Event, JobNode, Node
from cgx.indexer.interpreter.values import ListValue, Opaque, Sequence, TensorValue, Unknown
from cgx.indexer.overlays import OVERLAYS
from cgx.model.anchors import Anchor

BASES: dict[str, tuple[str, ...]] = {}
for _table in OVERLAYS:
    BASES.update(_table.BASES)


def site(text: str, line: int = 1) -> Any:
    """A call site of a source text."""
    node = ast.parse(text).body[0]
    inner = node.value if isinstance(node, ast.Expr) else node
    return SimpleNamespace(node=inner, anchor=Anchor("job.py", "<module>", line), text=text)


class Trail:
    def set(self, obj: Any, name: str, value: Any) -> None:
        setattr(obj, name, value)

    def set_item(self, items: dict[Any, Any], key: Any, value: Any) -> None:
        items[key] = value

    def append(self, items: list[Any], value: Any) -> None:
        items.append(value)

    def replace(self, items: list[Any], new: list[Any]) -> None:
        items[:] = new


class Interp:
    def __init__(self, size: int = 1) -> None:
        self.root = JobNode(Anchor("job.py", "<module>", 1))
        self.stack: list[Node] = [self.root]
        self.trail, self.flags, self.env = Trail(), {}, {}
        self.trace = SimpleNamespace(world_size=size)
        self.world = SimpleNamespace(size=size, ranks=tuple(range(size)), local_size=size, nnodes=1)

    def find(self, qname: str) -> Any:
        for table in OVERLAYS:
            if qname in table.ENTRIES:
                return table.ENTRIES[qname]
        return None

    def method(self, cls: str, name: str) -> Any:
        queue = [cls]
        while queue:
            one = queue.pop(0)
            if found := self.find(f"{one}.{name}"):
                return found
            queue += BASES.get(one, ())
        return None

    def run(self, qname: str, text: str, *args: Any, line: int = 1, **kwargs: Any) -> Any:
        handler = self.find(qname)
        assert handler is not None, qname
        return handler(self, site(text, line), list(args), kwargs)

    def send(self, obj: Opaque, name: str, text: str, *args: Any, line: int = 1, **kwargs: Any) -> Any:
        handler = self.method(obj.qname, name)
        assert handler is not None, f"{obj.qname}.{name}"
        return handler(self, site(text, line), [obj, *args], kwargs)

    def attempt(self, run: Any) -> Any:
        return run()

    def emit(self, node: Node) -> None:
        self.stack[-1].children.append(node)

    def push(self, node: Node) -> None:
        self.emit(node)
        self.stack.append(node)

    def pop(self) -> None:
        self.stack.pop()

    @contextmanager
    def inside(self, node: Node, keep: bool = False) -> Any:
        self.push(node)
        yield
        self.pop()

    def event(self, kind: str, site: Any, author: str = "", **data: Any) -> Event:
        event = Event(site.anchor, site.text, kind=kind, data=data, author=author)
        self.emit(event)
        return event

    def op(self, qname: str, args: list[Any], kwargs: dict[str, Any], site: Any) -> Any:
        first = args[0] if args else None
        device = kwargs.get("device")
        if isinstance(first, TensorValue):
            return TensorValue(first.shape, first.dtype, first.device, first.pinned)
        return TensorValue(None, "float32", str(device) if device else "cpu")

    def call(self, func: Any, args: list[Any], kwargs: dict[str, Any], site: Any) -> Any:
        return func(*args, **kwargs) if callable(func) else None

    def getattr(self, value: Any, name: str, site: Any) -> Any:
        handler = self.method(value.qname, name) if isinstance(value, Opaque) else None
        return (lambda *args, **kwargs: handler(self, site, [value, *args], kwargs)) if handler else None

    def setattr(self, obj: Any, name: str, value: Any, site: Any) -> None:
        obj.attrs[name] = value

    def iterate(self, value: Any, site: Any) -> Any:
        return (
            list(value.items)
            if isinstance(value, ListValue)
            else value
            if isinstance(value, list | Sequence)
            else list(value)
        )

    def unknown(self, name: str, reason: str, site: Any, hint: str = "") -> Unknown:
        return Unknown(name, reason, site.anchor, hint)

    def events(self, kind: str) -> list[Event]:
        return [node for node in self.root.walk() if isinstance(node, Event) and node.kind == kind]
