"""``cgx query``: one statement, or one shipped query, to stdout."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Mapping
from typing import Any

from cgx import queries
from cgx.ask import output, parameters
from cgx.ask.where import Where, open_where
from cgx.errors import UserError
from cgx.model import schema
from cgx.store.base import Rows

_NAME = re.compile(r"[A-Za-z_]\w*")
_JOB = "MATCH (j:Job {id: $job})-[:OF]->(c:Commit) RETURN j.name AS job, c.name AS commit ORDER BY commit"
_QUOTED = re.compile(r"'([^']+)'")


def run_query(
    statement: str, *, params: list[str], format: str, store: str | None, source: str, limit: int, timeout: float
) -> int:
    """Ask, print the rows to stdout and a summary to stderr. Returns the exit code. Raises UserError."""
    if format not in output.FORMATS:
        raise UserError(f"no format {format!r}: {', '.join(output.FORMATS)}")
    given = parameters.split(params)
    if _NAME.fullmatch(statement.strip()):
        queries.get(statement.strip())  # a wrong name is told before a store is opened
    where = open_where(store, source)
    with where.store:
        rows = answer(where, statement, given, timeout=timeout, limit=limit or None)
        for line in output.lines(rows, format, terminal_width()):
            print(line)
        sys.stdout.flush()
        tell(where, rows, limit)
    return 0


def answer(where: Where, statement: str, given: Mapping[str, Any], *, timeout: float | None, limit: int | None) -> Rows:
    """The rows of a statement or of a shipped query that is named."""
    name = statement.strip()
    if _NAME.fullmatch(name):
        query = queries.get(name)
        text, values = query.text, parameters.for_query(query, given, where)
        if query.note:
            where.note(query.note)
    else:
        text, values = statement, parameters.for_statement(statement, given, where)
    rows = where.store.run(text, values, timeout=timeout or None, limit=limit)
    _say_commit(where, values)
    for warning in rows.warnings:
        if not _known(warning):
            where.note(warning)
    return rows


def _say_commit(where: Where, values: Mapping[str, Any]) -> None:
    """Note which commit the answer speaks of."""
    for name in ("commit", "new"):
        if isinstance(values.get(name), str):
            where.note(f"commit {values[name][:10]}")
            return
    for name in ("job", "new_job"):
        if isinstance(values.get(name), str):
            found = where.store.run(_JOB, {"job": values[name]}).rows
            for job, commit in found:
                where.note(f"{job} at commit {commit}")
            return


def tell(where: Where, rows: Rows, limit: int) -> None:
    """The summary of an answer, on stderr."""
    print("; ".join([output.summary(rows, limit), *where.notes]), file=sys.stderr)
    if behind := where.freshness():
        print(behind, file=sys.stderr)


def terminal_width() -> int | None:
    """Columns of the terminal, or None where the output is no terminal: then nothing is cut."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _known(warning: str) -> bool:
    """A warning of the engine about a kind or property that this graph just has none of, though the schema has it."""
    names = {*schema.NODE_KINDS, *schema.EDGE_KINDS, *schema.property_names()}
    quoted = _QUOTED.search(warning)
    return quoted is not None and quoted[1] in names
