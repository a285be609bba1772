"""From a delta to batches that a store can execute: deduplicated, checked, grouped by label and kind.

Both stores write through this, so both refuse the same things and end in the same state.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from cgx.model import schema
from cgx.model.facts import GraphDelta

Existing = Callable[[str, list[str]], set[str]]
"""``existing(label, ids)``: those of the ids that the store has."""

T = TypeVar("T")


@dataclass(slots=True)
class EdgeBatch:
    """Edges of one kind between two labels. ``rows``: ``s``, ``t`` (ids), ``k`` (key), ``p`` (properties, ``key`` too)."""

    kind: str
    source: str
    target: str
    rows: list[dict[str, Any]] = field(default_factory=list)


@dataclass(slots=True)
class WritePlan:
    """``new`` and ``old`` nodes by label; ``create`` for edges that cannot be there yet, ``merge`` for those that may."""

    new: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    old: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    create: list[EdgeBatch] = field(default_factory=list)
    merge: list[EdgeBatch] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        return not (self.new or self.old or self.create or self.merge)


def plan_write(delta: GraphDelta, existing: Existing) -> WritePlan:
    """Check a delta against the schema and the store, and group it.

    Raises SchemaError for an unknown kind or property, one id under two labels, or an edge whose end is nowhere.
    """
    schema.check(delta)
    labels, rows = _nodes(delta)
    plan = WritePlan()
    fresh: set[str] = set()
    for label in sorted(rows):
        known = existing(label, list(rows[label]))
        new = [row for id_, row in rows[label].items() if id_ not in known]
        old = [row for id_, row in rows[label].items() if id_ in known]
        fresh.update(row["id"] for row in new)
        if new:
            plan.new[label] = new
        if old:
            plan.old[label] = old
    _resolve(delta, labels, existing)
    plan.create, plan.merge = _edges(delta, labels, fresh)
    return plan


def _nodes(delta: GraphDelta) -> tuple[dict[str, str], dict[str, dict[str, dict[str, Any]]]]:
    labels: dict[str, str] = {}
    rows: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
    for node in delta.nodes:
        if labels.setdefault(node.id, node.label) != node.label:
            raise schema.SchemaError(f"id {node.id} is both a {labels[node.id]} and a {node.label}")
        row = rows[node.label].setdefault(node.id, {"id": node.id})
        row.update(node.properties)
    return labels, rows


def _resolve(delta: GraphDelta, labels: dict[str, str], existing: Existing) -> None:
    """Find the labels of ends that are not in the delta; add them to ``labels``."""
    wanted: dict[str, set[str]] = defaultdict(set)
    for edge in delta.edges:
        kind = schema.EDGE_KINDS[edge.kind]
        for end, allowed in ((edge.source, kind.sources), (edge.target, kind.targets)):
            if end not in labels:
                for label in allowed:
                    wanted[label].add(end)
    for label in sorted(wanted):
        for id_ in existing(label, sorted(wanted[label])):
            labels[id_] = label


def _edges(delta: GraphDelta, labels: dict[str, str], fresh: set[str]) -> tuple[list[EdgeBatch], list[EdgeBatch]]:
    create: dict[tuple[str, str, str], EdgeBatch] = {}
    merge: dict[tuple[str, str, str], EdgeBatch] = {}
    seen: dict[tuple[str, str, str, str], dict[str, Any]] = {}
    for edge in delta.edges:
        ident = (edge.kind, edge.source, edge.target, edge.key)
        properties = {**edge.properties, "key": edge.key} if edge.key else dict(edge.properties)
        if ident in seen:
            seen[ident]["p"] = properties
            continue
        ends = (edge.kind, *_ends(edge.kind, edge.source, edge.target, labels))
        group = create if edge.source in fresh or edge.target in fresh else merge
        batch = group.get(ends) or group.setdefault(ends, EdgeBatch(*ends))
        row = {"s": edge.source, "t": edge.target, "k": edge.key, "p": properties}
        batch.rows.append(row)
        seen[ident] = row
    return list(create.values()), list(merge.values())


def _ends(kind: str, source: str, target: str, labels: dict[str, str]) -> tuple[str, str]:
    row = schema.EDGE_KINDS[kind]
    for end, allowed, side in ((source, row.sources, "source"), (target, row.targets, "target")):
        label = labels.get(end)
        if label is None:
            raise schema.SchemaError(
                f"{kind}: its {side} {end!r} is no {' or '.join(allowed)} of the delta or the store"
            )
        if label not in allowed:
            raise schema.SchemaError(f"{kind}: its {side} {end!r} is a {label}, not a {' or '.join(allowed)}")
    return labels[source], labels[target]


def chunks(rows: list[T], size: int) -> Iterator[list[T]]:
    """The rows in lists of at most ``size``."""
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def create_nodes(label: str) -> str:
    return f"UNWIND $rows AS r CREATE (n:{label}) SET n = r"


def update_nodes(label: str) -> str:
    return f"UNWIND $rows AS r MATCH (n:{label} {{id: r.id}}) SET n += r.p"


def create_edges(batch: EdgeBatch) -> str:
    return f"{_match(batch)} CREATE (a)-[e:{batch.kind}]->(b) SET e = r.p"


def merge_edges(batch: EdgeBatch, keyed: bool) -> str:
    key = " {key: r.k}" if keyed else ""
    return f"{_match(batch)} MERGE (a)-[e:{batch.kind}{key}]->(b) SET e = r.p"


def _match(batch: EdgeBatch) -> str:
    return f"UNWIND $rows AS r MATCH (a:{batch.source} {{id: r.s}}) MATCH (b:{batch.target} {{id: r.t}})"


def update_rows(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows for :func:`update_nodes`: the id apart, since an identity is never set."""
    return [{"id": row["id"], "p": {name: value for name, value in row.items() if name != "id"}} for row in rows]


def split_keyed(rows: list[dict[str, Any]]) -> list[tuple[bool, list[dict[str, Any]]]]:
    """Edges with a key and those without, since they are merged by different patterns."""
    keyed = [row for row in rows if row["k"]]
    plain = [row for row in rows if not row["k"]]
    return [(flag, part) for flag, part in ((True, keyed), (False, plain)) if part]


def statements(plan: WritePlan, size: int) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Every statement of a plan with its rows, in order: nodes before edges."""
    for label, rows in plan.new.items():
        for part in chunks(rows, size):
            yield create_nodes(label), part
    for label, rows in plan.old.items():
        for part in chunks(update_rows(rows), size):
            yield update_nodes(label), part
    for batch in plan.create:
        for part in chunks(batch.rows, size):
            yield create_edges(batch), part
    for batch in plan.merge:
        for keyed, rows in split_keyed(batch.rows):
            for part in chunks(rows, size):
                yield merge_edges(batch, keyed), part
