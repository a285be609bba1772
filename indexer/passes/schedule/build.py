"""All rows of a schedule record, by category, from one trace."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cgx.indexer.interpreter.trace import Trace
from cgx.indexer.passes.schedule.collectives import collective_rows
from cgx.indexer.passes.schedule.compute import compute_object
from cgx.indexer.passes.schedule.copies import copy_rows
from cgx.indexer.passes.schedule.data_path import data_path_rows
from cgx.indexer.passes.schedule.loops import loop_rows
from cgx.indexer.passes.schedule.overlap import overlap_rows
from cgx.indexer.passes.schedule.phase_rows import phase_rows
from cgx.indexer.passes.schedule.situation import Run
from cgx.indexer.passes.schedule.syncs import sync_rows
from cgx.indexer.passes.schedule.unresolved import unresolved_rows

Rows = list[dict[str, Any]]


@dataclass
class ScheduleRows:
    """Rows keyed as in the record contract. Anchors are texts ``path:symbol:line``."""

    job_type: str = "training"
    entrypoint: str | None = None
    phases: Rows = field(default_factory=list)
    data_path: Rows = field(default_factory=list)
    copies: Rows = field(default_factory=list)
    syncs: Rows = field(default_factory=list)
    collectives: Rows = field(default_factory=list)
    compute: dict[str, Any] = field(default_factory=dict)
    overlap: Rows = field(default_factory=list)
    loops: Rows = field(default_factory=list)
    unresolved: Rows = field(default_factory=list)


def schedule_rows(trace: Trace) -> ScheduleRows:
    """Run every schedule pass over one trace. A trace without a model gives empty categories."""
    run = Run.of(trace)
    return ScheduleRows(
        job_type=run.step.kind,
        entrypoint=str(run.step.entry) if run.step.entry is not None else None,
        phases=phase_rows(run),
        data_path=data_path_rows(run),
        copies=copy_rows(run),
        syncs=sync_rows(run),
        collectives=collective_rows(run),
        compute=compute_object(run),
        overlap=overlap_rows(run),
        loops=loop_rows(run),
        unresolved=unresolved_rows(run),
    )
