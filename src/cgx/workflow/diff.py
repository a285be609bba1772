"""``cgx diff``: two records, or two revisions: their definitions, and the job where records/ holds one."""

from __future__ import annotations

import json as json_module
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from cgx.errors import UserError
from cgx.exporters.comparing import Change, compare
from cgx.indexer.across import definitions
from cgx.indexer.across.definitions import definition_changes
from cgx.indexer.across.follow import Follower
from cgx.indexer.across.renames import git_renames
from cgx.indexer.source import Tree, open_tree
from cgx.model.anchors import Anchor
from cgx.workflow.again import load, repeat
from cgx.workflow.request import Request

FILES = ("computation_graph.json", "execution_schedule.json")
KINDS = {
    "added": "added", "gone": "removed", "edited": "changed", "shifted": "moved", "moved": "moved", "renamed": "moved",
    "split": "changed", "ambiguous": "changed",
}  # fmt: skip
"""What became of a definition, in the words of the differences of records."""
SIGNS = {"added": "+", "removed": "-", "moved": ">", "changed": "~"}


def run_diff(a: str, b: str, *, source: str, json: bool) -> int:
    """The command: prints the differences, gives 0. Raises UserError where the two cannot be compared."""
    files = Path(a).exists() and Path(b).exists()
    pairs = _records(Path(a), Path(b)) if files else _revisions(a, b, source)
    changes = [] if files else _definitions(a, b, source)
    changes += [change for old, new in pairs for change in compare(old, new)]
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
        return []
    asked = repeat(record, Request(source=source))
    old, new = (_read(replace(asked, rev=rev)) for rev in (a, b))
    return [(old[name], new[name]) for name in old if name in new]


def _definitions(a: str, b: str, source: str) -> list[Change]:
    """Functions and classes that were added, removed, moved or edited. Raises UserError for what is no revision."""
    with _revision(source, a) as old, _revision(source, b) as new:
        print(f"{old.display} -> {new.display}", file=sys.stderr)
        return [_change(change) for change in definition_changes(Follower(old, new, git_renames(old, new)))]


def _revision(source: str, name: str) -> Tree:
    try:
        return open_tree(source, name)
    except UserError as error:
        raise UserError(f"{name}: {'' if Path(name).exists() else 'no such file, and '}{error}") from None


def _change(change: definitions.Change) -> Change:
    """As the differences of records are stated: a definition's place, or what became of it as a field."""
    kind = KINDS[change.status]
    name = f"{change.kind} {Anchor.parse(change.new or change.old or '').symbol}"
    if change.old is None or change.new is None:
        return Change(kind, name, change.new or change.old)
    return Change(kind, name, change.new, change.status, change.old, change.new)


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
