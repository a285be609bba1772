"""Two records of one kind against each other: what was added, removed, moved, and whose values changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

Record = dict[str, Any]
Key = tuple[Any, ...]

VALUES = (
    "type",
    "repeat",
    "multiplicity",
    "recomputed",
    "parameters",
    "shapes",
    "shares",
    "wrapped_by",
    "runs",
    "when",
    "phase",
)
SECTIONS: dict[str, tuple[str, ...]] = {
    "phases": ("name",), "data_path": ("hop", "by"), "copies": ("direction", "what"), "syncs": ("kind", "what"),
    "device_device": ("collective", "issued_by", "group"), "overlap": ("mechanism", "what"), "loops": ("unit", "expr"),
}  # fmt: skip
"""What tells the entries of a schedule's list apart, beside the symbol that they stand in."""

NO_VALUES = frozenset({"id", "parent", "order", "code_anchor", "called_from", "constructed_at", "end_line"})


@dataclass(slots=True)
class Change:
    """One difference. ``kind``: added, removed, moved (its anchor), changed (``field`` from ``before`` to ``after``)."""

    kind: str
    name: str
    anchor: str | None = None
    field: str = ""
    before: Any = None
    after: Any = None

    def row(self) -> dict[str, Any]:
        row: dict[str, Any] = {"kind": self.kind, "name": self.name, "code_anchor": self.anchor}
        return row | ({"field": self.field, "before": self.before, "after": self.after} if self.field else {})


@dataclass(slots=True)
class Item:
    """An entry to compare: its name for people, its anchor, its values."""

    name: str
    anchor: str | None
    values: dict[str, Any] = field(default_factory=dict)


def compare(old: Record, new: Record) -> list[Change]:
    """All differences, in the order of the records: removed ones where they were, then what the new one has."""
    before, after = dict(items(old)), dict(items(new))
    changes = [Change("removed", item.name, item.anchor) for key, item in before.items() if key not in after]
    for key, item in after.items():
        if key not in before:
            changes.append(Change("added", item.name, item.anchor))
        else:
            changes.extend(_changed(before[key], item))
    return changes


def _changed(old: Item, new: Item) -> Iterator[Change]:
    for name in dict.fromkeys([*old.values, *new.values]):
        was, is_ = old.values.get(name), new.values.get(name)
        if was != is_:
            yield Change("changed", new.name, new.anchor, name, was, is_)
    if old.anchor != new.anchor:
        yield Change("moved", new.name, new.anchor, "code_anchor", old.anchor, new.anchor)


def items(record: Record) -> Iterator[tuple[Key, Item]]:
    """Every entry of a record with a key that an edit elsewhere does not change."""
    seen: Counter[Key] = Counter()
    for key, item in _graph(record["modules"]) if "modules" in record else _schedule(record):
        seen[key] += 1
        yield (*key, seen[key]), item


def _graph(modules: Sequence[Record]) -> Iterator[tuple[Key, Item]]:
    homes: dict[str | None, str] = {None: ""}
    for row in modules:
        path = row.get("path")
        home = homes[row["parent"]]
        homes[row["id"]] = home if path is None else path
        key: Key = (
            ("module", path, row.get("phase"))
            if path is not None
            else (row["level"], home, row["type"], _symbol(row["code_anchor"]))
        )
        shown = (path or row["name"]) if path is not None else f"{home or '<root>'} {row['name']}"
        values = {name: row[name] for name in VALUES if name in row}
        if isinstance(values.get("repeat"), dict):
            repeat = values.pop("repeat")
            values |= {"repeat.count": repeat["count"], "repeat.by": repeat["by"]}
        if row.get("when"):
            values["when"] = row["when"]["expr"]
        yield key, Item(shown, row["code_anchor"], values)


def _schedule(record: Record) -> Iterator[tuple[Key, Item]]:
    lists = {**{name: record.get(name, []) for name in SECTIONS}, **record["host_device"]}
    for section, names in SECTIONS.items():
        for row in lists[section]:
            key = (section, *(row.get(name) for name in names), row.get("phase"), _symbol(row.get("code_anchor")))
            values = {name: value for name, value in row.items() if name not in NO_VALUES}
            yield (
                key,
                Item(
                    f"{section} {' '.join(str(row[name]) for name in names if row.get(name))}",
                    row.get("code_anchor"),
                    values,
                ),
            )
    for name, value in record["compute"].items():
        for row in value if isinstance(value, list) else [value]:
            values = {key: item for key, item in row.items() if key not in NO_VALUES}
            yield (
                ("compute", name, _symbol(row.get("code_anchor"))),
                Item(f"compute {name}", row.get("code_anchor"), values),
            )


def _symbol(anchor: str | None) -> str | None:
    return None if anchor is None else anchor.rpartition(":")[0]
