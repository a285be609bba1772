"""Rows of ``unresolved``: what decided something and was not known, and loops without a count."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.recorder import LEFT_OPEN
from cgx.indexer.interpreter.trace import LoopNode
from cgx.indexer.interpreter.values import Unknown
from cgx.indexer.passes.schedule.counts import loop_count
from cgx.indexer.passes.schedule.loops import worth_it
from cgx.indexer.passes.schedule.material import Material, listed
from cgx.indexer.passes.schedule.situation import Run
from cgx.model.anchors import Anchor

NEAR = 3  # lines of a statement that are looked through


def unresolved_rows(run: Run) -> list[dict[str, Any]]:
    """What an entry depends on and the launch leaves open, then loops of unknown count."""
    rows: list[dict[str, Any]] = []
    seen: set[tuple[str, str]] = set()
    own = run.tree.exists if run.tree is not None else lambda path: True
    for value in listed(run.trace, Material(run.trace), own):
        set_by_hand = value.settle is not None and value.settle[0] == "--set"
        name = value.settle[1] if value.settle is not None and (set_by_hand or not stands_there(run.tree, value)) else value.name
        add(rows, seen, row(name, "value", value.anchor, value.reason, value.settle))
    for spot in run.spots:
        loop = spot.node
        if not isinstance(loop, LoopNode) or spot.in_module or spot.in_worker or loop.iterations or not worth_it(run, spot):
            continue
        if loop_count(loop) is None or (loop.early_exit and run.step.unit(loop) is None):
            known = loop.count if isinstance(loop.count, Unknown) else None
            name = loop.text if loop.expr in ("True", "1") else known.name if known is not None and known.name else loop.expr
            add(rows, seen, row(name, "count", loop.anchor, known.reason if known is not None else "data", known.settle if known else None))
    return rows


def stands_there(tree: Any, value: Unknown) -> bool:
    """Whether the name is what the source says at the anchor, not what was worked out of it later."""
    if tree is None or value.anchor is None or value.settle is None or value.settle[0] != "--file" or value.settle[1] in value.name:
        return True
    lines = (tree.read(value.anchor.path) or b"").decode("utf-8", "replace").splitlines()
    near = "".join("".join(lines[value.anchor.line - 1 : value.anchor.line + NEAR]).split())
    return "".join(value.name.split()) in near.replace('"', "'") or "".join(value.name.split()) in near


def add(rows: list[dict[str, Any]], seen: set[tuple[str, str]], one: dict[str, Any]) -> None:
    key = (one["name"], str(one["code_anchor"]))
    if key not in seen:
        seen.add(key)
        rows.append(one)


def row(name: str, field: str, anchor: Anchor | None, reason: str, settle: tuple[str, str] | None) -> dict[str, Any]:
    option, what = settle or ("--set", name)
    place = {"code_anchor": str(anchor)} if anchor is not None else {"code_anchor": None, **({"from": "launch"} if reason == LEFT_OPEN else {})}
    return {
        "name": name,
        "field": field,
        **place,
        "reason": reason,
        "settle_with": {"option": option, "name": what},
    }
