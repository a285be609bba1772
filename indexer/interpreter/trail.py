"""Undo log for mutable abstract values, so that both sides of an undecided branch run from the same state."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from cgx.indexer.interpreter.values import MISSING, ListValue, SetValue, Value

Slot = tuple[int, str, Any]


@dataclass(slots=True)
class Change:
    """One slot that a segment wrote: ``kind`` is "attr", "item", "list" or "raw" (a plain Python list)."""

    obj: Any
    kind: str
    key: Any
    before: Value
    after: Value = None


@dataclass(slots=True)
class Segment:
    changes: dict[Slot, Change] = field(default_factory=dict)
    fresh: set[int] = field(default_factory=set)


def _read(change: Change) -> Value:
    if change.kind == "attr":
        return getattr(change.obj, change.key, MISSING)
    if change.kind == "item":
        return change.obj.get(change.key, MISSING)
    if change.kind == "raw":
        return list(change.obj)
    return (list(change.obj.items), change.obj.open)


def _write(change: Change, value: Value) -> None:
    if change.kind == "attr":
        setattr(change.obj, change.key, value)
    elif change.kind == "item":
        if value is MISSING:
            change.obj.pop(change.key, None)
        else:
            change.obj[change.key] = value
    elif change.kind == "raw":
        change.obj[:] = value
    else:
        change.obj.items[:] = value[0]
        change.obj.open = value[1]
        if isinstance(change.obj, SetValue):
            change.obj.index = None


class Trail:
    """All mutation of abstract values goes through here. Without an open segment nothing is logged."""

    def __init__(self) -> None:
        self.segments: list[Segment] = []

    # ------------------------------------------------------------------ writes

    def set(self, obj: Any, name: str, value: Value) -> None:
        if self.segments:
            self._log(obj, "attr", name)
        setattr(obj, name, value)

    def set_item(self, mapping: dict[Any, Value], key: Any, value: Value) -> None:
        if self.segments:
            self._log(mapping, "item", key)
        mapping[key] = value

    def del_item(self, mapping: dict[Any, Value], key: Any) -> None:
        if self.segments:
            self._log(mapping, "item", key)
        mapping.pop(key, None)

    def touch(self, values: ListValue | SetValue) -> None:
        """Call before ``values.items`` or ``values.open`` is changed in place."""
        if self.segments:
            self._log(values, "list", None)

    def append(self, values: ListValue | SetValue | list[Any], item: Value) -> None:
        """Append to an abstract list or set, or to a plain Python list that an object of ours holds."""
        if isinstance(values, list):
            if self.segments:
                self._log(values, "raw", None)
            values.append(item)
            return
        self.touch(values)
        values.items.append(item)

    def replace(self, values: ListValue | SetValue, items: Iterable[Value]) -> None:
        items = list(items)
        self.touch(values)
        values.items[:] = items

    def _log(self, obj: Any, kind: str, key: Any) -> None:
        slot = (id(obj), kind, key)
        changes = self.segments[-1].changes
        if slot not in changes:
            change = Change(obj, kind, key, None)
            change.before = _read(change)
            changes[slot] = change

    # ------------------------------------------------------------------ segments

    def begin(self) -> None:
        self.segments.append(Segment())

    def rollback(self) -> dict[Slot, Change]:
        """Undo the innermost segment; its changes, each with the value it had at the end."""
        changes = self.segments.pop().changes
        for change in changes.values():
            change.after = _read(change)
        for change in reversed(list(changes.values())):
            _write(change, change.before)
        return changes

    def commit(self) -> dict[Slot, Change]:
        """Keep the innermost segment; it becomes part of the one round it."""
        changes = self.segments.pop().changes
        if self.segments:
            outer = self.segments[-1].changes
            for slot, change in changes.items():
                outer.setdefault(slot, change)
        return changes

    def write(self, change: Change, value: Value) -> None:
        """Give the slot of a change a value, logged in the segment that is open now."""
        if self.segments:
            self._log(change.obj, change.kind, change.key)
        _write(change, value)

    def apply(self, changes: dict[Slot, Change]) -> None:
        for change in changes.values():
            self.write(change, change.after)
