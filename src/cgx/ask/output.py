"""Rows as a table, JSON, JSON lines or CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from cgx.ask.cells import cell, cut, display_width
from cgx.ask.pictures import dot, mermaid
from cgx.errors import UserError
from cgx.store.base import Rows
from cgx.store.values import plain

MIN_COLUMN = 8  # no column is cut below this
_WHOLE = frozenset({"anchor", "path"})  # columns that terminals and editors open are cut last


def table(rows: Rows, width: int | None) -> Iterator[str]:
    """A table in at most ``width`` columns (None: as wide as it is). Numbers stand right, everything else left."""
    shown = texts(rows)
    if not rows.columns:
        return
    numeric = [bool(shown) and all(_number(row[at]) for row in rows.rows) for at in range(len(rows.columns))]
    widths = _widths(rows.columns, shown, width)
    yield _line(rows.columns, widths, numeric)
    yield "-+-".join("-" * each for each in widths)
    for row in shown:
        yield _line(row, widths, numeric)


def texts(rows: Rows) -> list[list[str]]:
    """Each cell as a person reads it."""
    return [[cell(value) for value in row] for row in rows.rows]


def as_json(rows: Rows, width: int | None) -> Iterator[str]:
    yield json.dumps([_object(rows.columns, row) for row in rows.rows], ensure_ascii=False, indent=2)


def as_jsonl(rows: Rows, width: int | None) -> Iterator[str]:
    for row in rows.rows:
        yield json.dumps(_object(rows.columns, row), ensure_ascii=False)


def as_csv(rows: Rows, width: int | None) -> Iterator[str]:
    """RFC 4180 with ``\\n``; nested values are JSON in their cell, null is empty."""
    yield _csv_line(rows.columns)
    for row in rows.rows:
        yield _csv_line([_csv_cell(value) for value in row])


FORMATS: dict[str, Callable[[Rows, int | None], Iterator[str]]] = {
    "table": table,
    "json": as_json,
    "jsonl": as_jsonl,
    "csv": as_csv,
    "mermaid": mermaid,
    "dot": dot,
}


def lines(rows: Rows, format: str, width: int | None) -> Iterator[str]:
    """The rows in a format of FORMATS. Raises UserError for another."""
    if format not in FORMATS:
        raise UserError(f"no format {format!r}: {', '.join(FORMATS)}")
    return FORMATS[format](rows, width)


def summary(rows: Rows, limit: int | None) -> str:
    """How many rows, in what time, and whether they were cut."""
    count = len(rows.rows)
    text = f"{count} {'row' if count == 1 else 'rows'} in {rows.seconds * 1000:.0f} ms"
    if rows.truncated:
        text += f", CUT at the limit of {limit} (--limit N, 0 for all)"
    return text


def _number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _widths(columns: list[str], texts: list[list[str]], width: int | None) -> list[int]:
    widths = [display_width(name) for name in columns]
    for row in texts:
        for at, text in enumerate(row):
            if len(text) > widths[at] or not text.isascii():
                widths[at] = max(widths[at], display_width(text))
    if width is None:
        return widths
    excess = sum(widths) + 3 * (len(widths) - 1) - width
    for spare_anchors in (True, False):
        while excess > 0:
            able = [
                at
                for at, each in enumerate(widths)
                if each > MIN_COLUMN and not (spare_anchors and columns[at] in _WHOLE)
            ]
            if not able:
                break
            widest = max(able, key=lambda at: widths[at])
            others = [widths[at] for at in able if at != widest]
            step = max(1, min(excess, widths[widest] - max([MIN_COLUMN, *others])))
            widths[widest] -= step
            excess -= step
    return widths


def _line(texts: Iterable[str], widths: list[int], right: list[bool]) -> str:
    parts = []
    for text, width, to_right in zip(texts, widths, right):
        shown = cut(text, width)
        blank = " " * (width - display_width(shown))
        parts.append(blank + shown if to_right else shown + blank)
    return " | ".join(parts).rstrip()


def _object(columns: list[str], row: tuple[Any, ...]) -> dict[str, Any]:
    return {name: plain(value) for name, value in zip(columns, row)}


def _csv_cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(plain(value), ensure_ascii=False)


def _csv_line(values: Iterable[str]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="").writerow(values)
    return buffer.getvalue()
