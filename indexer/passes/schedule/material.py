"""Which unknowns matter to the schedule: what an entry, a count or a module depends on, directly or by way of a branch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from cgx.indexer.interpreter.trace import BranchNode, Event, LoopNode, ModuleCall, Node, Trace
from cgx.indexer.interpreter.values import Alternatives, Unknown, Value
from cgx.indexer.passes.schedule.packages import may_matter
from cgx.indexer.passes.schedule.tree import child_lists, is_marked_op

Root = tuple[str, str]
SHOWN = "log"  # an event that only shows something decides nothing
ABSENT = frozenset({"missing-file", "missing-module"})
NESTED = 3  # how deep the data of an entry is looked through


def root_of(value: Unknown) -> Root:
    """What would settle the value, and where it came from: one for all that is derived from it."""
    return (value.settle[1] if value.settle else value.name, str(value.anchor))


class Material:
    """Roots of the unknowns that matter, found once a run."""

    def __init__(self, trace: Trace) -> None:
        self.roots: set[Root] = set()
        self.conditions = trace.conditions
        self.taken: set[str] = set()
        self.known: dict[int, bool] = {}
        self.lists: list[Any] = []
        self.paths = {module.constructed_at.path for module in trace.modules if module.constructed_at is not None}
        self.visit(trace.root)
        self.take(trace.world_size)  # how many processes share each collective
        for module in trace.modules:
            for value in module.attrs.values():
                self.take(value)

    def holds(self, value: Unknown) -> bool:
        return root_of(value) in self.roots

    def take(self, value: Value, depth: int = 0) -> None:
        """The value matters, and with it the conditions that it differs by."""
        if isinstance(value, Unknown):
            self.roots.add(root_of(value))
            self.condition(value.guard)
        elif isinstance(value, Alternatives):
            for text, option in value.options:
                self.condition(text)
                self.take(option, depth)
        elif isinstance(value, tuple | list) and depth < NESTED:
            for one in value:
                self.take(one, depth + 1)
        elif isinstance(value, dict) and depth < NESTED:
            for one in value.values():
                self.take(one, depth + 1)

    def condition(self, text: str) -> None:
        for one in (text, text[5:-1]) if text.startswith("not (") else (text,):
            if one in self.conditions and one not in self.taken:
                self.taken.add(one)
                self.take(self.conditions[one])

    def visit(self, node: Node) -> bool:
        """Whether something that makes an entry lies in the subtree; takes the conditions round it."""
        if isinstance(node, BranchNode) and node.aborts:
            return False  # what is said where the job would end is no entry
        found = is_marked_op(node) or isinstance(node, ModuleCall) or (isinstance(node, Event) and node.kind != SHOWN)
        if isinstance(node, Event) and node.kind != SHOWN:
            self.take(node.data)
            self.paths.add(node.anchor.path)
        for children in child_lists(node):
            key = id(children)
            if key not in self.known:
                self.known[key] = False
                self.lists.append(children)
                self.known[key] = max((self.visit(child) for child in children), default=False)  # all of them are visited
            found |= self.known[key]
        if found and isinstance(node, BranchNode) and node.test is not None:
            self.take(node.test)
        if found and isinstance(node, LoopNode):
            self.take(node.count)
        return found


def listed(trace: Trace, material: Material, own: Callable[[str], bool]) -> Iterator[Unknown]:
    """The unknowns to list, each root once: what matters, and what is absent. ``own``: whether a path is the job's own."""
    seen: set[Root] = set()
    decided = {root_of(value) for test in material.conditions.values() for value in unknowns_in(test)}
    stated = {id(value) for value in trace.stated}
    for value in trace.unknowns:
        if not isinstance(value, Unknown) or root_of(value) in seen:
            continue
        if value.reason in ABSENT:
            kept = (id(value) in stated or root_of(value) in decided) and (value.anchor is None or own(value.anchor.path))
            kept = kept and not hidden(value) and worth_saying(value, material)
        else:
            kept = id(value) in stated and value.reason != "budget"  # the loop is read once for all its rounds
        if (kept or material.holds(value)) and said(value) not in seen:
            seen.update((root_of(value), said(value)))
            yield value


def said(value: Unknown) -> Root:
    """A file or package that is asked for by its own name is asked for once, wherever it is missed."""
    if value.settle is None or value.settle[0] == "--set" or not value.name.endswith(value.settle[1]):
        return root_of(value)
    # of one call, under two names of a folder, the first stands for both
    return (value.name.rpartition("/")[2], str(value.anchor)) if value.settle[0] == "--file" and " of " not in value.name else ("", value.name)


def hidden(value: Unknown) -> bool:
    """Met only where something else that is absent is there: that is to be settled first."""
    return value.under is not None and value.under.reason in ABSENT


def worth_saying(value: Unknown, material: Material) -> bool:
    """A package that the job imports if it is there is listed where it can change the record."""
    name = value.settle[1] if value.settle is not None and value.name == f"import {value.settle[1]}" else None
    return name is None or may_matter(name, value.anchor is None or value.anchor.path in material.paths)


def unknowns_in(value: Value) -> Iterator[Unknown]:
    if isinstance(value, Unknown):
        yield value
    elif isinstance(value, Alternatives):
        for _, option in value.options:
            yield from unknowns_in(option)
