"""Numbering: drafts to rows keyed as in the record, with ids, parents, order and multiplicity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from cgx.indexer.passes.fold.draft import Draft, Open, Repeat
from cgx.model.anchors import Anchor
from cgx.reasons import REASONS

Row = dict[str, Any]


def number(roots: Sequence[Draft]) -> tuple[list[Row], dict[int, str]]:
    """The rows of all entries, depth first, and the id of each draft by its identity."""
    ids: dict[int, str] = {}
    rows = list(_rows(roots, None, 1, ids))
    return rows, ids


def _rows(drafts: Sequence[Draft], parent: str | None, times: int | None, ids: dict[int, str]) -> Iterator[Row]:
    order = 0
    for draft in drafts:
        name = ids[id(draft)] = f"e{len(ids) + 1}"
        count = draft.repeat.count if draft.repeat is not None else 1
        product = None if times is None or count is None else times * count
        yield _row(draft, name, parent, order if draft.ordered else None, product)
        order += draft.ordered
        yield from _rows(draft.children, name, product, ids)


def _row(draft: Draft, name: str, parent: str | None, order: int | None, times: int | None) -> Row:
    end = draft.anchor.end_line if draft.anchor is not None and draft.level == "op" else None
    places = [str(anchor) for anchor in draft.called_from]
    row: Row = {
        "id": name,
        "level": draft.level,
        "name": draft.name,
        "path": draft.path,
        "type": draft.kind,
        "parent": parent,
        "order": order,
        "runs": draft.runs,
        "code_anchor": text(draft.anchor) or (places[0] if places else text(draft.constructed_at)),
        "end_line": end if draft.anchor is not None and end != draft.anchor.line else None,
        "constructed_at": text(draft.constructed_at),
        "called_from": (places if len(places) > 1 else places[0]) if places else None,
        "repeat": repeat_row(draft.repeat) if draft.repeat is not None else None,
        "multiplicity": times,
        "recomputed": draft.recomputed,
        "shapes": draft.shapes or None,
        "parameters": draft.parameters or None,
        "shares": draft.shares,
        "wrapped_by": draft.wrapped_by or None,
        "phase": draft.phase,
        "when": {"expr": draft.when.expr, "code_anchor": str(draft.when.anchor)} if draft.when else None,
    }
    kept = {"id", "level", "name", "type", "parent", "order", "code_anchor", "multiplicity"}
    return {key: value for key, value in row.items() if value is not None or key in kept}


def repeat_row(repeat: Repeat) -> Row:
    row: Row = {"unit": repeat.unit, "count": repeat.count, "by": repeat.by}
    if repeat.expr:
        row["expr"] = repeat.expr
    if repeat.anchor is not None:
        row["code_anchor"] = str(repeat.anchor)
    return row


def open_row(item: Open, ids: dict[int, str]) -> Row:
    """A row of ``unresolved``."""
    option, name = item.settle or ("--set", item.name)
    row: Row = {"name": item.name, "field": item.field}
    if item.entry is not None and id(item.entry) in ids:
        row["entry"] = ids[id(item.entry)]
    row["code_anchor"] = text(item.anchor)
    row["reason"] = item.reason if item.reason in REASONS else "internal"
    if option:
        row["settle_with"] = {"option": option, "name": name}
    return row


def text(anchor: Anchor | None) -> str | None:
    return None if anchor is None else str(anchor)
