"""``cgx export --plan``: how the read descends, and what source is missing. Writes nothing."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from cgx.workflow.export import read
from cgx.workflow.request import Request

Row = dict[str, Any]
MISSING = ("missing-module", "missing-file")


def run_plan(request: Request) -> int:
    """The command: prints the descent. Always 0, as nothing was asked to be complete."""
    with read(request) as (rows, _):
        modules, unresolved = rows.graph["modules"], rows.graph["unresolved"]
        if rows.schedule is not None:
            unresolved = [*unresolved, *rows.schedule.get("unresolved", [])]
        if request.json:
            print(
                json.dumps(
                    {"modules": list(descent(modules)), "missing": missing(unresolved)}, indent=1, ensure_ascii=False
                )
            )
            return 0
        if "entrypoint" in rows.header:
            print(f"step: {rows.header['entrypoint']}")
    for row in descent(modules):
        count = "" if row["multiplicity"] == 1 else f" x{'?' if row['multiplicity'] is None else row['multiplicity']}"
        below = f", {row['ops']} ops" if row["ops"] else "" if row["level"] in ("model", "module") else ", no ops"
        state = "built, not run" if row["runs"] is False else row["level"]
        print(
            f"{'  ' * row['depth']}{row['path'] or row['name']}{count}  {row['type']}  ({state}{below})  {row['code_anchor']}"
        )
    gone = missing(unresolved)
    print(f"\nsource that is missing: {len(gone)}" if gone else "\nno source is missing")
    for item in gone:
        settle = item.get("settle_with") or {}
        print(
            f"  {item['name']}  ({item['reason']}; {settle.get('option', '')} {settle.get('name', '')})  {item.get('code_anchor')}"
        )
    return 0


def descent(modules: Sequence[Row]) -> Iterator[Row]:
    """Models, modules, layers and loops in the order of the record, each with its depth and how many ops it runs itself."""
    ops = Counter(row["parent"] for row in modules if row["level"] == "op")
    depth: dict[str | None, int] = {None: -1}
    for row in modules:
        depth[row["id"]] = depth[row["parent"]] + 1
        if row["level"] != "op":
            keys = ("id", "level", "name", "type", "code_anchor", "multiplicity")
            shown = {key: row[key] for key in keys} | {"path": row.get("path"), "runs": row.get("runs", True)}
            yield shown | {"depth": depth[row["id"]], "ops": ops[row["id"]]}


def missing(unresolved: Sequence[Row]) -> list[Row]:
    """The items that source or files from outside would settle."""
    return [item for item in unresolved if item["reason"] in MISSING]
