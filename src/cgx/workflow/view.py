"""``cgx view``: the records, and the lines of code that they point at, as one page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cgx.errors import UserError
from cgx.exporters.checking import anchors
from cgx.exporters.viewing import page
from cgx.exporters.writing import write_atomically
from cgx.indexer.source import open_tree
from cgx.model.anchors import Anchor
from cgx.workflow.again import load

FILES = ("computation_graph.json", "execution_schedule.json")
KINDS = {"cgx/computation_graph/1": "graph", "cgx/execution_schedule/1": "schedule"}


def run_view(records: Sequence[Path], *, output: Path, source: str, workspace: Path) -> int:
    """The command. Raises UserError where there is no record, two of one kind, or the page cannot be written."""
    paths = list(records) or [path for name in FILES if (path := workspace / "records" / name).is_file()]
    if not paths:
        raise UserError(f"no record in {workspace / 'records'}; name the files, or run cgx export first")
    found: dict[str, dict[str, Any]] = {}
    for path in paths:
        record = load(path)
        kind = KINDS.get(str(record.get("schema")))
        if kind is None:
            raise UserError(f"{path}: {record.get('schema')} is no record that this version can show")
        if kind in found:
            raise UserError(f"{path}: a second record of kind {kind}; give one graph and one schedule of a job")
        found[kind] = record
    graph, schedule = found.get("graph"), found.get("schedule")
    write_atomically(output, page(graph, schedule, source_lines(list(found.values()), source)))
    print(output)
    return 0


def source_lines(records: Sequence[dict[str, Any]], source: str) -> dict[str, str]:
    """The line of code at each anchor, at the records' commit; nothing where the source is not at hand."""
    try:
        tree = open_tree(source, rev=records[0].get("commit"))
    except UserError:
        return {}
    files: dict[str, list[str]] = {}
    found: dict[str, str] = {}
    with tree:
        for record in records:
            for _, text in anchors(record):
                place = Anchor.parse(text)
                if place.path not in files:
                    data = tree.read(place.path)
                    files[place.path] = data.decode("utf-8", "replace").splitlines() if data is not None else []
                if place.line <= len(files[place.path]):
                    found[text] = files[place.path][place.line - 1].strip()[:200]
    return found
