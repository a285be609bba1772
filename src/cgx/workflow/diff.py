"""``cgx diff``: two records, or one job at two revisions."""

from __future__ import annotations

import json as json_module
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from cgx.errors import UserError
from cgx.exporters.comparing import Change, compare
from cgx.workflow.again import load, repeat
from cgx.workflow.request import Request

FILES = ("computation_graph.json", "execution_schedule.json")
SIGNS = {"added": "+", "removed": "-", "moved": ">", "changed": "~"}


def run_diff(a: str, b: str, *, source: str, json: bool) -> int:
    """The command: prints the differences, gives 0. Raises UserError where the two cannot be compared."""
    pairs = _records(Path(a), Path(b)) if Path(a).exists() and Path(b).exists() else _revisions(a, b, source)
    changes = [change for old, new in pairs for change in compare(old, new)]
    if json:
        print(json_module.dumps([change.row() for change in changes], indent=1, ensure_ascii=False))
        return 0
    for change in changes:
        print(_line(change))
    counts = Counter(change.kind for change in changes)
    print(", ".join(f"{counts[kind]} {kind}" for kind in SIGNS if counts[kind]) or "no difference")
    return 0


def _records(a: Path, b: Path) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    if a.is_dir() and b.is_dir():
        both = [name for name in FILES if (a / name).is_file() and (b / name).is_file()]
        if not both:
            raise UserError(f"{a} and {b} hold no records of one name ({', '.join(FILES)})")
        return [(load(a / name), load(b / name)) for name in both]
    old, new = load(a), load(b)
    if old["schema"] != new["schema"]:
        raise UserError(f"{a} is {old['schema']} and {b} is {new['schema']}; give two records of one kind")
    return [(old, new)]


def _revisions(a: str, b: str, source: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The job of the records in the working folder, read at both revisions."""
    record = next((path for name in FILES if (path := Path("records") / name).is_file()), None)
    if record is None:
        missing = [name for name in (a, b) if not Path(name).exists()]
        raise UserError(
            f"{' and '.join(missing)}: no such file; to compare revisions, run it where records/ holds the job's records"
        )
    asked = repeat(record, Request(source=source))
    old, new = (_read(replace(asked, rev=rev)) for rev in (a, b))
    return [(old[name], new[name]) for name in old if name in new]


def _read(request: Request) -> dict[str, dict[str, Any]]:
    from cgx.workflow.export import read

    with read(request) as (rows, _):
        made = {FILES[0]: {**rows.header, **rows.graph}}
        if rows.schedule is not None:
            made[FILES[1]] = {**rows.header, **rows.schedule}
        return made


def _line(change: Change) -> str:
    head = f"{SIGNS[change.kind]} {change.name}"
    if change.field:
        return f"{head}  {change.field}: {_short(change.before)} -> {_short(change.after)}"
    return f"{head}  {change.anchor or ''}".rstrip()


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json_module.dumps(value, ensure_ascii=False)
    return text if len(text) <= 70 else text[:69] + "…"
