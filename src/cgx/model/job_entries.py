"""The two records as nodes and edges of the job graph, and back.

``job_delta`` is how the job passes store what they found; ``records`` is how exporters get it back, entry for entry.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from cgx.model import job_fields, schema
from cgx.model.anchors import Anchor
from cgx.model.facts import Edge, GraphDelta, Node
from cgx.model.schema_rows import Property
from cgx.reasons import REASONS

Entry = Mapping[str, Any]
Resolve = Callable[[str], str | None]
"""From an anchor, or a qualified name, to the id of a Symbol that the store holds (or None)."""


def dump(value: Any) -> str:
    """JSON text of a nested value: compact, keys in the order given, the same bytes for the same input."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def job_delta(
    job_id: str,
    header: Entry,
    graph: Entry | None,
    schedule: Entry | None,
    *,
    commit_id: str,
    symbol_at: Resolve = lambda anchor: None,
    symbol_named: Resolve = lambda qname: None,
    authors: Mapping[str, tuple[str, str]] | None = None,
) -> GraphDelta:
    """Nodes and edges of one job.

    ``header`` holds the header keys of the records; ``graph`` holds ``symbols``, ``modules``, ``unresolved``; ``schedule``
    the keys of execution_schedule.json. ``symbol_at`` finds the function that holds an anchor, ``symbol_named`` the class
    of a type name. ``authors``: node id to (author, basis) where known. Write it with ``store.replace(job_id, delta)``.
    """
    delta = GraphDelta()
    writer = _Writer(job_id, delta, symbol_at, symbol_named, authors or {})
    delta.nodes.append(_job_node(job_id, header, graph, schedule, commit_id))
    delta.edges.append(Edge("OF", job_id, commit_id))
    if graph is not None:
        writer.graph(graph)
    if schedule is not None:
        writer.schedule(schedule)
    writer.relate()
    return delta


def records(rows: Iterable[tuple[str, int, str]]) -> dict[str, list[dict[str, Any]]]:
    """From (section, order, entry_json) rows of one job to the entries of each section, in order."""
    found: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for section, order, text in rows:
        found.setdefault(section, []).append((order, json.loads(text)))
    return {
        section: [entry for _, entry in sorted(pairs, key=lambda pair: pair[0])]
        for section, pairs in sorted(found.items())
    }


def flatten(kind: schema.NodeKind, fields: job_fields.Fields, entry: Entry) -> dict[str, Any]:
    """The properties of an entry that queries ask for; what is absent, null or of another type is left out."""
    found: dict[str, Any] = {}
    for name, path in fields.items():
        row = kind.property(name)
        value = _dig(entry, path)
        if row is not None and value is not None:
            value = _as(row, value)
            if value is not None:
                found[name] = value
    return found


def _dig(entry: Any, path: str) -> Any:
    for key in path.split("."):
        if not isinstance(entry, Mapping):
            return None
        entry = entry.get(key)
    return entry


def _as(row: Property, value: Any) -> Any:
    if row.kind == "json":
        return dump(value)
    if row.kind == "list[str]":
        return [str(item) for item in (value if isinstance(value, list | tuple) else [value])]
    if row.kind == "str" and not isinstance(value, str):
        return json.dumps(value) if isinstance(value, bool | int | float) else None
    return value if schema.fits(row.kind, value) else None


def _job_node(job_id: str, header: Entry, graph: Entry | None, schedule: Entry | None, commit_id: str) -> Node:
    kind = schema.NODE_KINDS["Job"]
    launch = header.get("launch")
    name = " ".join(launch) if launch else str(header.get("build") or job_id)
    properties: dict[str, Any] = {"name": name, "commit": commit_id, "header_json": dump(header)}
    for key in ("job_type", "launch", "build", "mode", "entrypoint", "world_size"):
        value, row = header.get(key), kind.property(key)
        if row is not None and value is not None and (value := _as(row, value)) is not None:
            properties[key] = value
    if graph is not None:
        properties["symbols_json"] = dump(graph.get("symbols", {}))
    if schedule is not None:
        compute = schedule.get("compute", {})
        properties["compute_json"] = dump({key: isinstance(value, list) for key, value in compute.items()})
    return Node("Job", job_id, properties)


class _Writer:
    """Collects the delta of one job: entries first, then the edges between them."""

    def __init__(
        self,
        job: str,
        delta: GraphDelta,
        symbol_at: Resolve,
        symbol_named: Resolve,
        authors: Mapping[str, tuple[str, str]],
    ) -> None:
        self.job, self.delta = job, delta
        self.symbol_at, self.symbol_named, self.authors = symbol_at, symbol_named, authors
        self.phases: dict[str, str] = {}
        self.paths: dict[str, str] = {}
        self.nodes: dict[str, Node] = {}
        self.outside: set[str] = set()

    def graph(self, record: Entry) -> None:
        depth: dict[str | None, int] = {None: -1}
        for order, entry in enumerate(record.get("modules", ())):
            label, fields = job_fields.LEVELS[entry["level"]]
            depth[entry["id"]] = depth.get(entry.get("parent"), -1) + 1
            extra = {"runs": entry.get("runs", True), "depth": depth[entry["id"]]}
            count = _parameter_count(entry.get("parameters"))
            if label == "ModuleEntry" and count is not None:
                extra["parameter_count"] = count
            self.entry("modules", order, label, fields, entry, entry["id"], entry["name"], extra)
            if label == "ModuleEntry":
                self.paths.setdefault(entry.get("path", ""), self.id(entry["id"]))
        for order, (name, dim) in enumerate(record.get("symbols", {}).items()):
            self.entry("symbols", order, "Dim", job_fields.DIM, dim, f"dim/{name}", name, {})
        self.unresolved("graph", record)

    def schedule(self, record: Entry) -> None:
        host = record.get("host_device", {})
        for section, (label, fields) in job_fields.SECTIONS.items():
            entries = host.get(section, ()) if section in ("copies", "syncs") else record.get(section, ())
            for order, (item, entry) in enumerate(_items(section, entries)):
                extra: dict[str, Any] = {"order": order} if label in ("Phase", "Hop") else {}
                if label == "Compute":
                    extra["item"] = item
                name = str(_first(entry, ("name", "what", "collective", "hop", "unit", "mechanism")) or item or section)
                node = self.entry(section, order, label, fields, entry, f"{section}/{order}", name, extra)
                if label == "Phase":
                    self.phases.setdefault(entry["name"], node.id)
        self.unresolved("schedule", record)

    def unresolved(self, record_name: str, record: Entry) -> None:
        for order, entry in enumerate(record.get("unresolved", ())):
            extra = {"record": record_name}
            where = f"unresolved/{record_name}/{order}"
            section = f"unresolved_{record_name}"
            node = self.entry(
                section, order, "UnresolvedEntry", job_fields.UNRESOLVED, entry, where, entry["name"], extra
            )
            reason = str(node.properties.get("reason", "internal"))
            # not the bare word: a module outside may have its name (time, random)
            reason_id = f"reason:{reason}"
            self.delta.nodes.append(Node("Reason", reason_id, {"name": reason, "doc": REASONS.get(reason, "")}))
            self.delta.edges.append(Edge("BECAUSE", node.id, reason_id))

    def id(self, entry: str) -> str:
        return f"{self.job}/{entry}"

    def entry(
        self,
        section: str,
        order: int,
        label: str,
        fields: job_fields.Fields,
        entry: Entry,
        entry_id: str,
        name: str,
        extra: Mapping[str, Any],
    ) -> Node:
        node_id = self.id(entry_id)
        properties: dict[str, Any] = {
            "name": name,
            "entry": entry_id,
            "job": self.job,
            **_place(entry.get("code_anchor")),
            **flatten(schema.NODE_KINDS[label], fields, entry),
            **extra,
            "entry_json": dump(entry),
        }
        if via := _texts(entry.get("called_from")):
            properties.setdefault("via", via)
        if node_id in self.authors:
            properties["author"], properties["basis"] = self.authors[node_id]
        node = Node(label, node_id, properties)
        self.nodes[node_id] = node
        self.delta.nodes.append(node)
        self.delta.edges.append(Edge("HAS_ENTRY", self.job, node_id, {"section": section, "order": order}))
        return node

    def relate(self) -> None:
        """Edges between entries, and from entries to the code."""
        for node in self.nodes.values():
            values = node.properties
            if "parent" in values:
                order = {"order": values["order"]} if "order" in values else {}
                self.delta.edges.append(Edge("CHILD", self.id(str(values["parent"])), node.id, order))
            if "anchor" in values:
                self._to_symbol("RUNS_AT", node, self.symbol_at(str(values["anchor"])))
            if "constructed_at" in values:
                self._to_symbol("CONSTRUCTED_AT", node, self.symbol_at(str(values["constructed_at"])))
            if node.label in schema.TREE and "type_name" in values:
                self._to_type(node, str(values["type_name"]))
            if "shares" in values:
                self._to_entry("SHARES", node, self.paths.get(str(values["shares"])))
            if node.label in schema.EVENTS:
                self._to_entry("IN_PHASE", node, self.phases.get(str(values.get("phase", values.get("inside", "")))))
                self._to_entry("IN_MODULE", node, self.paths.get(str(values.get("module"))))
            if node.label == "UnresolvedEntry":
                self._to_entry("MISSING_FROM", node, self.id(str(values["about"])) if "about" in values else None)

    def _to_symbol(self, kind: str, node: Node, symbol: str | None) -> None:
        if symbol is not None:
            self.delta.edges.append(Edge(kind, node.id, symbol))

    def _to_entry(self, kind: str, node: Node, target: str | None) -> None:
        if target is not None and target in self.nodes and target != node.id:
            self.delta.edges.append(Edge(kind, node.id, target))

    def _to_type(self, node: Node, qname: str) -> None:
        target = self.symbol_named(qname)
        if target is None:
            target = qname
            if qname not in self.outside:
                self.outside.add(qname)
                name = {"name": qname.rpartition(".")[2], "qname": qname, "package": qname.partition(".")[0]}
                self.delta.nodes.append(Node("External", qname, name))
        self.delta.edges.append(Edge("INSTANCE_OF", node.id, target))


def _items(section: str, entries: Any) -> Iterable[tuple[str, Entry]]:
    """Entries of a section; ``compute`` is an object whose values are an object or a list of objects."""
    if section != "compute":
        return [("", entry) for entry in entries]
    if not entries:
        return []
    return [(key, entry) for key, value in entries.items() for entry in (value if isinstance(value, list) else [value])]


def _place(anchor: Any) -> dict[str, Any]:
    if not isinstance(anchor, str):
        return {}
    try:
        parsed = Anchor.parse(anchor)
    except ValueError:
        return {}
    return {"anchor": anchor, "path": parsed.path, "symbol": parsed.symbol, "line": parsed.line}


def _texts(value: Any) -> list[str]:
    if value is None:
        return []
    return [str(item) for item in value] if isinstance(value, list | tuple) else [str(value)]


def _first(entry: Entry, keys: tuple[str, ...]) -> Any:
    return next((entry[key] for key in keys if entry.get(key)), None)


def _parameter_count(parameters: Any) -> int | None:
    """Numbers in the parameters by name (shapes as lists of ints), or None where one is not known."""
    if not isinstance(parameters, Mapping) or not parameters:
        return None
    total = 0
    for shape in parameters.values():
        if not isinstance(shape, list) or not all(type(dim) is int for dim in shape):
            return None
        count = 1
        for dim in shape:
            count *= dim
        total += count
    return total
