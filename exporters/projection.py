"""From a job in a store to its records: two shipped queries, and nothing else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from cgx import queries
from cgx.errors import Fault
from cgx.exporters import computation_graph, execution_schedule

if TYPE_CHECKING:
    from cgx.store.base import Store


def project(store: Store, job: str) -> dict[str, dict[str, Any]]:
    """File name -> record, for what the store holds of the job."""
    found = store.run(queries.get("record_job").text, {"job": job}).dicts()
    if not found:
        raise Fault(f"the store holds no job {job}", "exporters.projection")
    head = found[0]
    header = json.loads(head["header"])
    sections: dict[str, list[dict[str, Any]]] = {}
    items: list[str] = []
    for section, _, item, entry in store.run(queries.get("record_entries").text, {"job": job}).rows:
        sections.setdefault(section, []).append(json.loads(entry))
        if section == "compute":
            items.append(item)
    made: dict[str, dict[str, Any]] = {}
    if head["symbols"] is not None:
        names = json.loads(head["symbols"])
        made[computation_graph.FILE] = computation_graph.computation_graph(header, sections, names)
    if head["compute"] is not None:
        listed = json.loads(head["compute"])
        compute = _compute(listed, list(zip(items, sections.get("compute", []))))
        made[execution_schedule.FILE] = execution_schedule.execution_schedule(header, sections, compute)
    return made


def _compute(listed: dict[str, bool], entries: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """The compute object again: under each key its one entry, or its list of entries."""
    made: dict[str, Any] = {}
    for key, several in listed.items():
        mine = [entry for item, entry in entries if item == key]
        made[key] = mine if several else mine[0]
    return made
