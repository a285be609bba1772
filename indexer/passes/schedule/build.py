"""All rows of a schedule record, by category, from one trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from cgx.indexer.interpreter.trace import Node, Trace
from cgx.indexer.passes.schedule.collectives import collective_rows
from cgx.indexer.passes.schedule.compute import compute_object
from cgx.indexer.passes.schedule.copies import copy_rows
from cgx.indexer.passes.schedule.data_path import data_path_rows
from cgx.indexer.passes.schedule.extent import step_graphs, step_nodes
from cgx.indexer.passes.schedule.loops import loop_rows
from cgx.indexer.passes.schedule.overlap import overlap_rows
from cgx.indexer.passes.schedule.phase_rows import phase_rows
from cgx.indexer.passes.schedule.situation import Run
from cgx.indexer.passes.schedule.stepped import host_calls
from cgx.indexer.passes.schedule.syncs import sync_rows
from cgx.indexer.passes.schedule.unresolved import unresolved_rows
from cgx.model.anchors import Anchor


@dataclass
class Schedule:
    """``rows``: keyed as in execution_schedule.json, anchors as texts. ``step``: nodes of one step; ``graphs``: split by phase."""

    job_type: str
    entrypoint: Anchor | None
    step: Sequence[Node] = ()
    graphs: Sequence[tuple[str, Sequence[Node]]] = ()
    rows: dict[str, Any] = field(default_factory=dict)


def build(trace: Trace, tree: Any = None) -> Schedule:
    """Run every schedule pass over one trace. A trace without a model gives empty categories."""
    run = Run.of(trace, tree)
    hosted = host_calls(run, tree)
    rows: dict[str, Any] = {
        "phases": phase_rows(run, hosted),
        "data_path": data_path_rows(run, hosted),
        "host_device": {"copies": copy_rows(run), "syncs": sync_rows(run)},
        "device_device": collective_rows(run),
        "compute": compute_object(run),
        "overlap": overlap_rows(run),
        "loops": loop_rows(run),
        "unresolved": unresolved_rows(run),
    }
    return Schedule(run.step.kind, run.step.entry, step_nodes(run), step_graphs(run), rows)
