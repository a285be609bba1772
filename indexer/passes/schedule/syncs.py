"""Rows of ``host_device.syncs``: where the host waits for the device. A blocking copy is one too."""

from __future__ import annotations

from typing import Any

from cgx.indexer.passes.schedule.merge import in_run_order
from cgx.indexer.passes.schedule.micro_steps import per_micro_step
from cgx.indexer.passes.schedule.situation import Run, caller, data_of
from cgx.indexer.passes.schedule.tree import Spot


def sync_rows(run: Run) -> list[dict[str, Any]]:
    """Syncs in the order of the run."""
    rows: list[tuple[int, dict[str, Any]]] = []
    for spot in run.events("sync"):
        data = data_of(spot)
        rows.append((spot.order, row(run, spot, str(data.get("sync", "other")), data.get("what"))))
    for spot in run.events("copy"):
        data = data_of(spot)
        if data.get("blocks_host"):
            rows.append((spot.order, row(run, spot, str(data.get("sync_kind") or "other"), data.get("what"))))
    return per_micro_step(run.step, in_run_order(rows))


def row(run: Run, spot: Spot, kind: str, what: Any) -> dict[str, Any]:
    result: dict[str, Any] = {"kind": kind, "what": spot.text if spot.stands_in else what, **run.place(spot)}
    if spot.modules:
        result["module"] = spot.modules[-1]
    result["code_anchor"] = str(spot.anchor)
    site = caller(spot)
    if site is not None:
        result["called_from"] = str(site)
    return result
