"""Where trace nodes go: the stack of open nodes, events, and the loops that run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cgx.indexer.interpreter.trace import (
    BranchNode,
    CallNode,
    Event,
    JobNode,
    LoopNode,
    ModuleCall,
    Node,
    ScopeNode,
    Trace,
)
from cgx.indexer.interpreter.values import LoopContext, Unknown, Value
from cgx.model.anchors import Anchor

LEFT_OPEN = "environment"  # without a place in the code: what the launch line leaves to the machine


class Recorder:
    """The part of the interpreter that writes the trace."""

    def __init__(self) -> None:
        root = JobNode(Anchor("", "<module>", 1))
        self.trace = Trace(root)
        self.stack: list[Node] = [root]
        self.loops: list[LoopContext] = []
        self.loop_nodes: list[LoopNode] = []
        self.unknown_loops = 0
        self.summaries = 0  # loops inside each other that are being summarised
        self.summarised = 0  # loops that were summarised so far
        self.consumers: list[tuple[dict[str, Value], Any]] = []  # loops over generators that run: their variables, and the loop
        self.rounds: list[dict[int, Value]] = []  # for each loop of unknown count that runs: the lists made in this round
        self.seen_unknowns: set[tuple[str, str]] = set()

    def emit(self, node: Node) -> None:
        self._show(node)
        self.stack[-1].children.append(node)

    def _show(self, node: Node) -> None:
        """Events of a stand-in, and its own loops and calls outside a forward, stand at the line that called it."""
        if isinstance(node, Event):
            node.anchor = shown_at(self, node.anchor)
            if isinstance(made := node.data.get("anchor_at"), Anchor):
                node.data["anchor_at"] = shown_at(self, made)
        elif (hidden(node.anchor) or (isinstance(node, ModuleCall) and hidden(node.called_from))) and not any(isinstance(one, ModuleCall) for one in self.stack):
            if isinstance(node, ModuleCall):  # its anchor is a forward, or the call where nobody has its source
                node.anchor = shown_at(self, node.anchor) if node.anchor == node.called_from else node.anchor
                node.called_from = shown_at(self, node.called_from)
            else:
                node.anchor = shown_at(self, node.anchor)
            if isinstance(node, ScopeNode) and isinstance(made := node.data.get("constructed_at"), Anchor):
                node.data["constructed_at"] = shown_at(self, made)
            if isinstance(node, LoopNode) and node.bound is not None:
                node.bound = shown_at(self, node.bound)
            if isinstance(node, CallNode) and node.target is not None and hidden(node.target):
                node.target = None

    def line_of(self, site: Any) -> tuple[Anchor, str]:
        """Where an op of a forward runs. A plain function of a library stands for the line of the source that called it."""
        if not site.frame.code.external:
            return site.anchor, site.text
        for place in range(len(self.stack) - 1, 0, -1):
            node, outer = self.stack[place], self.stack[place - 1]
            if isinstance(node, ModuleCall) or (isinstance(outer, ModuleCall) and isinstance(node, CallNode) and node.target == outer.anchor):
                break  # the library's own module
            if isinstance(node, CallNode) and not node.outside and self._in_module(place):
                return node.anchor, node.text
        return site.anchor, site.text

    def _in_module(self, place: int) -> bool:
        return any(isinstance(node, ModuleCall) for node in self.stack[:place])

    def push(self, node: Node) -> None:
        self.emit(node)
        self.stack.append(node)

    def pop(self) -> Node:
        return self.stack.pop()

    @contextmanager
    def inside(self, node: Node, keep: bool = False, emit: bool = True) -> Iterator[Node]:
        """Children go into ``node``; it is dropped where it stays empty, unless ``keep``."""
        holder = self.stack[-1]
        self._show(node)
        self.stack.append(node)
        depth = len(self.stack)
        try:
            yield node
        finally:
            del self.stack[depth - 1 :]
            if emit and (node.children or (keep and not isinstance(node, LoopNode))):
                holder.children.append(node)

    @contextmanager
    def loop(self, context: LoopContext, decided: bool = False) -> Iterator[None]:
        """A loop that is running. ``decided``: it is evaluated round by round though its count is not known before."""
        unknown = not decided and not isinstance(context.count, int)
        self.loops.append(context)
        self.unknown_loops += unknown
        if unknown:
            self.rounds.append({})
        try:
            yield
        finally:
            if unknown:
                self.rounds.pop()
            self.loops.pop()
            self.unknown_loops -= unknown

    def event(self, kind: str, site: Any, author: str = "", basis: str = "exact", **data: Any) -> Event:
        """Append a schedule event at a call site."""
        event = Event(site.anchor, site.text, kind=kind, data=data, author=author, basis=basis)
        self.emit(event)
        return event

    def mark(self) -> tuple[int, int]:
        """A point in the run to come back to: modules and unknowns that were made since are dropped by ``reset``."""
        return len(self.trace.modules), len(self.trace.unknowns)

    def reset(self, mark: tuple[int, int]) -> None:
        del self.trace.modules[mark[0] :]
        for unknown in self.trace.unknowns[mark[1] :]:
            self.seen_unknowns.discard(_key(unknown))
        del self.trace.unknowns[mark[1] :]

    def note_unknown(self, value: Value, tested: bool = False) -> None:
        """A value that is not known decided something: it goes into the list of what is unresolved.

        ``tested``: it was the condition of a branch, so that what lies in the branch says whether it matters.
        """
        for unknown in _unknowns(value):
            if unknown.anchor is None and unknown.reason != LEFT_OPEN:
                unknown.anchor = shown_at(self, self.stack[-1].anchor)  # where it decided something, if not where it begins
            if unknown.reason == "loop-carried" or _key(unknown) in self.seen_unknowns:
                continue
            self.seen_unknowns.add(_key(unknown))
            unknown.under = next((one for node in reversed(self.stack) if isinstance(node, BranchNode) for one in _unknowns(node.test)), None)
            self.trace.unknowns.append(unknown)
            if not tested:
                self.trace.stated.append(unknown)


def _key(unknown: Unknown) -> tuple[str, str]:
    return unknown.name, str(unknown.anchor)


def _unknowns(value: Value) -> Iterator[Unknown]:
    if isinstance(value, Unknown):
        yield value
    for _, option in getattr(value, "options", ()):
        yield from _unknowns(option)


def hidden(anchor: Anchor) -> bool:
    """Whether the anchor lies in a stand-in of ours, which is no source of the job."""
    return anchor.path.startswith("cgx:")


def shown_at(interp: Any, anchor: Anchor) -> Anchor:
    """The place that a reader can look up: what a stand-in of ours does is done at the line that called it."""
    if not hidden(anchor):
        return anchor
    calls = (node.anchor for node in reversed(interp.stack) if isinstance(node, CallNode) and not hidden(node.anchor))
    sites: list[Anchor] = getattr(interp, "site_stack", [])
    return next(calls, sites[-1] if sites else anchor)


def made_at(interp: Any, site: Any) -> Anchor:
    """Where a part of the data path is made: what a library builds is built at the line of the source that called it."""
    frame = getattr(site, "frame", None)
    if frame is None or not frame.code.external:
        return shown_at(interp, site.anchor)
    return next((node.anchor for node in reversed(interp.stack) if isinstance(node, CallNode) and not node.outside), site.anchor)
