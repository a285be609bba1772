"""Deleting a scope: a job with its entries, or a commit with what no other commit holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from cgx.model.schema_job import ENTRIES
from cgx.store.plan import chunks

Read = Callable[[str, Mapping[str, Any]], list[tuple[Any, ...]]]
Execute = Callable[[str, Mapping[str, Any]], None]

BATCH = 5_000

_JOBS = "MATCH (j:Job)-[:OF]->(:Commit {id: $id}) RETURN j.id AS id ORDER BY id"
_ENTRIES = "MATCH (:Job {id: $id})-[:HAS_ENTRY]->(e) RETURN labels(e)[0] AS label, e.id AS id ORDER BY label, id"
_OFFERS = (
    "MATCH (:Commit {id: $id})-[:OFFERS]->(e:EntryPoint) OPTIONAL MATCH (o:Commit)-[:OFFERS]->(e) WHERE o.id <> $id "
    "WITH e, count(o) AS others WHERE others = 0 RETURN e.id AS id ORDER BY id"
)
_FILES = (
    "MATCH (:Commit {id: $id})-[:HAS]->(f:File) OPTIONAL MATCH (o:Commit)-[:HAS]->(f) WHERE o.id <> $id "
    "WITH f, count(o) AS others WHERE others = 0 RETURN f.id AS id ORDER BY id"
)
_DEFINED = (
    "UNWIND $ids AS i MATCH (:File {id: i})-[:DEFINES]->(x) RETURN labels(x)[0] AS label, x.id AS id ORDER BY label, id"
)
_MOVES = "MATCH ()-[m:MOVED_TO]->() WHERE m.old_commit = $id OR m.new_commit = $id DELETE m"
_ORPHANS = "MATCH (s:{label}) WHERE NOT (s)--() RETURN s.id AS id ORDER BY id"

_CUT_OFF = "MATCH (c:Commit) WHERE c.complete = false RETURN c.id AS id ORDER BY id"
_LOOSE = (
    ("Job", "MATCH (n:Job) WHERE NOT (n)-[:OF]->() RETURN n.id AS id ORDER BY id"),
    ("File", "MATCH (n:File) WHERE NOT (n)<-[:HAS]-() RETURN n.id AS id ORDER BY id"),
    ("Class", "MATCH (n:Class) WHERE NOT (n)<-[:DEFINES]-() RETURN n.id AS id ORDER BY id"),
    ("Function", "MATCH (n:Function) WHERE NOT (n)<-[:DEFINES]-() RETURN n.id AS id ORDER BY id"),
    ("EntryPoint", "MATCH (n:EntryPoint) WHERE NOT (n)<-[:OFFERS]-() RETURN n.id AS id ORDER BY id"),
    *((label, f"MATCH (n:{label}) WHERE NOT (n)<-[:HAS_ENTRY]-() RETURN n.id AS id ORDER BY id") for label in ENTRIES),
)
"""What a node of each label must hang on; in the order of deletion, holders before what they held."""

IDENTITIES = ("Symbol", "External", "Reason")
"""Labels whose nodes are shared by commits and go when nothing points to them any more."""


def delete_scope(scope_id: str, read: Read, execute: Execute) -> int:
    """Delete the Job or Commit with this id, and what only it holds. Returns how many nodes went."""
    if read("MATCH (j:Job {id: $id}) RETURN j.id AS id", {"id": scope_id}):
        return _delete_job(scope_id, read, execute) + delete_orphans(read, execute)
    if not read("MATCH (c:Commit {id: $id}) RETURN c.id AS id", {"id": scope_id}):
        return 0
    gone = sum(_delete_job(row[0], read, execute) for row in read(_JOBS, {"id": scope_id}))
    gone += _delete("EntryPoint", [row[0] for row in read(_OFFERS, {"id": scope_id})], execute)
    files = [row[0] for row in read(_FILES, {"id": scope_id})]
    for part in chunks(files, BATCH):
        gone += _delete_labelled(read(_DEFINED, {"ids": part}), execute)
    gone += _delete("File", files, execute)
    execute(_MOVES, {"id": scope_id})  # those between versions that other commits hold too
    gone += _delete("Commit", [scope_id], execute)
    return gone + delete_orphans(read, execute)


def delete_orphans(read: Read, execute: Execute) -> int:
    """Delete identities that nothing points to any more."""
    return sum(
        _delete(label, [row[0] for row in read(_ORPHANS.replace("{label}", label), {})], execute)
        for label in IDENTITIES
    )


def sweep(read: Read, execute: Execute) -> dict[str, int]:
    """Delete commits whose writing was cut off, and every node that nothing holds. Returns the nodes deleted by label."""
    gone: dict[str, int] = {}
    for row in read(_CUT_OFF, {}):
        gone["Commit"] = gone.get("Commit", 0) + delete_scope(row[0], read, execute)
    for label, statement in _LOOSE:
        if ids := [row[0] for row in read(statement, {})]:
            gone[label] = _delete(label, ids, execute)
    if orphans := delete_orphans(read, execute):
        gone["identities"] = orphans
    return gone


def _delete_job(job_id: str, read: Read, execute: Execute) -> int:
    return _delete_labelled(read(_ENTRIES, {"id": job_id}), execute) + _delete("Job", [job_id], execute)


def _delete_labelled(rows: list[tuple[Any, ...]], execute: Execute) -> int:
    by_label: dict[str, list[str]] = {}
    for label, id_ in rows:
        by_label.setdefault(label, []).append(id_)
    return sum(_delete(label, ids, execute) for label, ids in by_label.items())


def _delete(label: str, ids: list[str], execute: Execute) -> int:
    for part in chunks(ids, BATCH):
        execute(f"UNWIND $ids AS i MATCH (n:{label} {{id: i}}) DETACH DELETE n", {"ids": part})
    return len(ids)
