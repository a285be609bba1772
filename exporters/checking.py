"""Is a record sound in itself: its schema, its tree, its counts, its depth? No source is read here."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from pydantic import ValidationError

from cgx.exporters.computation_graph import ComputationGraph
from cgx.exporters.execution_schedule import ExecutionSchedule
from cgx.exporters.records import Model

Record = dict[str, Any]
Empty = Callable[[str], bool]
"""Whether the function at an anchor is known to do nothing with tensors."""

MODULES = ("model", "module", "layer")
NO_OPS = frozenset({"torch.nn.Identity", "torch.nn.ModuleList", "torch.nn.ModuleDict"})
MODELS: dict[str, type[Model]] = {
    "cgx/computation_graph/1": ComputationGraph,
    "cgx/execution_schedule/1": ExecutionSchedule,
}
ANCHOR_KEYS = frozenset({"code_anchor", "constructed_at", "called_from", "entrypoint", "waited_at", "joined_at"})


def problems(record: Record, empty: Empty = lambda anchor: False) -> Iterator[str]:
    """What is wrong with a record, one line each."""
    model = MODELS.get(str(record.get("schema")))
    if model is None:
        yield f"schema: {record.get('schema')!r} is none that this version knows"
        return
    try:
        model.model_validate(record)
    except ValidationError as error:
        for item in error.errors()[:20]:
            yield f"schema: {'.'.join(map(str, item['loc']))}: {item['msg']}"
        return
    for item in record["unresolved"]:
        if item["code_anchor"] is None and item.get("from") != "launch":
            yield f"unresolved: {item['name']} has no place in the code, and it is not the launch line that leaves it open"
    if model is ComputationGraph:
        yield from _graph(record, empty)
    else:
        yield from _schedule(record)


def anchors(node: Any, where: str = "") -> Iterator[tuple[str, str]]:
    """(place in the record, anchor) of every anchor."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key in ANCHOR_KEYS and not isinstance(value, dict):
                for item in value if isinstance(value, list) else [value]:
                    if item is not None:
                        yield f"{where}.{key}".lstrip("."), item
            else:
                yield from anchors(value, f"{where}.{key}")
    elif isinstance(node, list):
        for index, item in enumerate(node):
            name = item.get("id", index) if isinstance(item, dict) else index
            yield from anchors(item, f"{where}[{name}]")


def instances(path: str) -> int | None:
    """How many modules a folded path stands for; None where a bound is not known."""
    sizes = []
    for text in re.findall(r"\[([^\]]*)\]", path):
        count = 0
        for part in text.split(","):
            first, dash, last = part.partition("-")
            if part == "*":
                return None
            count += int(last) - int(first) + 1 if dash and first.isdecimal() and last.isdecimal() else 1
        sizes.append(count)
    return math.prod(sizes)


# ---------------------------------------------------------------------- computation graph


def _graph(record: Record, empty: Empty) -> Iterator[str]:
    entries = {entry["id"]: entry for entry in record["modules"]}
    if len(entries) != len(record["modules"]):
        twice = [name for name, count in Counter(entry["id"] for entry in record["modules"]).items() if count > 1]
        yield f"ids that are not unique: {', '.join(twice)}"
    if not entries:
        yield "no model was found: modules is empty"
    unresolved = {item["entry"] for item in record["unresolved"] if item.get("entry")}
    yield from (f"unresolved names an entry that is not there: {name}" for name in sorted(unresolved - set(entries)))
    children: dict[str | None, list[Record]] = {}
    for entry in record["modules"]:
        children.setdefault(entry["parent"], []).append(entry)
    yield from _order(record["modules"], entries, children)
    paths = {entry.get("path") for entry in record["modules"]}
    symbols = set(record["symbols"])
    for entry in record["modules"]:
        yield from _counts(entry, entries, unresolved)
        yield from _sizes(entry, symbols)
        if entry.get("shares") and entry["shares"] not in paths:
            yield f"{name_of(entry)}: shares {entry['shares']}, which is no path of the record"
        if _shallow(entry, children, unresolved) and not empty(entry["code_anchor"] or ""):
            yield f"{name_of(entry)}: it runs, but has neither children nor ops, and nothing in unresolved says why"


def _order(listed: list[Record], entries: dict[str, Record], children: dict[str | None, list[Record]]) -> Iterator[str]:
    seen: set[str] = set()
    for entry in listed:
        parent = entry["parent"]
        if parent is not None and parent not in entries:
            yield f"{name_of(entry)}: no entry has the id {parent} of its parent"
        elif parent is not None and parent not in seen:
            yield f"{name_of(entry)}: it stands before its parent {parent}"
        seen.add(entry["id"])
    for parent, several in children.items():
        orders = [entry["order"] for entry in several if entry["order"] is not None]
        if orders != list(range(len(orders))):
            yield f"{parent or 'roots'}: the orders of its children are {orders}, not 0 to {len(orders) - 1}"


def _counts(entry: Record, entries: dict[str, Record], unresolved: set[str]) -> Iterator[str]:
    repeat = entry.get("repeat")
    count = repeat["count"] if repeat else 1
    above = entries[entry["parent"]]["multiplicity"] if entry["parent"] in entries else 1
    product = None if count is None or above is None else count * above
    if entry["multiplicity"] != product:
        yield f"{name_of(entry)}: multiplicity is {entry['multiplicity']}, the counts down to it give {product}"
    if count is None and entry["id"] not in unresolved:
        yield f"{name_of(entry)}: its count is null and nothing in unresolved says why"
    path = entry.get("path")
    if repeat and repeat["by"] == "instances" and path is not None:
        outer = entries.get(entry["parent"] or "", {})
        total = instances(path)
        while outer and outer.get("path") is None:
            outer = entries.get(outer["parent"] or "", {})
        inside = instances(outer.get("path", "")) if outer else 1
        if total is not None and inside and count is not None and total != count * inside:
            yield f"{name_of(entry)}: the path stands for {total // inside}, the count is {count}"


def _sizes(entry: Record, symbols: set[str]) -> Iterator[str]:
    shapes = entry.get("shapes") or {}
    dims = [dim for side in ("in", "out") for tensor in shapes.get(side, ()) for dim in tensor["dims"] or ()]
    dims += [dim for shape in (entry.get("parameters") or {}).values() for dim in shape]
    for name in sorted({dim for dim in dims if isinstance(dim, str)} - symbols):
        yield f"{name_of(entry)}: the size {name} is not among the symbols"


def _shallow(entry: Record, children: dict[str | None, list[Record]], unresolved: set[str]) -> bool:
    runs = entry["level"] in MODULES and entry["order"] is not None and entry.get("runs") is not False
    if entry["level"] == "layer" and not entry["type"].startswith("torch.") and entry["code_anchor"] in _listed(entry.get("called_from")):
        return False  # a class of the source under a torch layer's own forward: it has no code there
    return runs and entry["type"] not in NO_OPS and entry["id"] not in children and entry["id"] not in unresolved


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


# ---------------------------------------------------------------------- execution schedule


def _schedule(record: Record) -> Iterator[str]:
    names = [phase["name"] for phase in record["phases"]]
    if not names:
        yield "no phase was found: phases is empty"
    lists = {"copies": record["host_device"]["copies"], "syncs": record["host_device"]["syncs"]}
    lists["device_device"] = record["device_device"]
    for key, entries in lists.items():
        for index, entry in enumerate(entries):
            if entry.get("phase") is not None and entry["phase"] not in names:
                yield f"{key}[{index}]: its phase {entry['phase']} is not among the phases"
    for index, loop in enumerate(record["loops"]):
        known = {item["name"] for item in record["unresolved"]}
        if loop["count"] is None and loop.get("expr") and loop["expr"] not in known and not _mentioned(loop, record):
            yield f"loops[{index}]: its count is null and nothing in unresolved says why"


def _mentioned(loop: Record, record: Record) -> bool:
    anchor, expr = loop.get("code_anchor"), str(loop.get("expr"))
    return any(item.get("code_anchor") == anchor or item["name"] in expr for item in record["unresolved"])


def name_of(entry: Record) -> str:
    return f"{entry['id']} ({entry.get('path') or entry.get('name')})"
