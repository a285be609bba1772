"""Rows of ``host_device.copies``: explicit copies, and what a read of a device value moves."""

from __future__ import annotations

from typing import Any

from cgx.indexer.passes.schedule.merge import step_first
from cgx.indexer.passes.schedule.micro_steps import per_micro_step
from cgx.indexer.passes.schedule.situation import Run, caller, data_of
from cgx.indexer.passes.schedule.tree import Spot


def copy_rows(run: Run) -> list[dict[str, Any]]:
    """Copies in the order of the run."""
    rows: list[tuple[int, dict[str, Any]]] = []
    for spot in run.events("copy"):
        rows.append((spot.order, row(run, spot, data_of(spot))))
    for spot in run.events("sync"):
        data = data_of(spot)
        if data.get("reads"):
            moved = {"direction": "D2H", "what": data.get("what"), "non_blocking": False, "blocks_host": True, "bytes": data.get("bytes")}
            rows.append((spot.order, row(run, spot, moved)))
    return per_micro_step(run.step, step_first(rows))


def row(run: Run, spot: Spot, data: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {"direction": data.get("direction"), "what": spot.text if spot.stands_in else data.get("what")}
    for name in ("source", "non_blocking", "blocks_host", "bytes"):
        if data.get(name) is not None:
            result[name] = data[name]
    result |= run.place(spot)
    if spot.modules:
        result["module"] = spot.modules[-1]
    result["code_anchor"] = str(spot.anchor)
    site = caller(spot)
    if site is not None:
        result["called_from"] = str(site)
    return result
