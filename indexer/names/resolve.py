"""``cgx resolve``: what stands at a place, who calls it, what it calls."""

from __future__ import annotations

import json as json_module
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cgx.indexer.names.cache import FactsCache
from cgx.indexer.names.jedi_worker import JediWorker
from cgx.indexer.names.link import Answer
from cgx.indexer.names.places import Place, find_place
from cgx.indexer.names.program import Program, link, load
from cgx.indexer.names.second_tier import accept, targets_of
from cgx.indexer.names.values import Scope
from cgx.indexer.source import Tree, open_tree, parse
from cgx.model.anchors import Anchor
from cgx.reasons import REASONS

DEEP_SECONDS = 20.0  # for one site, start of the process included
MAX_CALLERS = 200


def run_resolve(
    text: str,
    *,
    source: str,
    rev: str | None,
    worktree: bool,
    env: list[Path],
    store: str | None,
    deep: bool,
    json: bool,
) -> int:
    """The command: gives its exit code. Raises UserError for a place that is not there."""
    with open_tree(source, rev, worktree) as tree:
        cache = FactsCache()
        program = link(load(tree, cache))
        cache.close()
        place = find_place(text, program.modules)
        if deep:
            _ask_jedi(tree, program, place)
        row = describe(tree, program, place)
    print(json_module.dumps(row, indent=1, ensure_ascii=False) if json else "\n".join(_lines(row)))
    return 0


def describe(tree: Tree, program: Program, place: Place) -> dict[str, Any]:
    """Symbol, source, callees and callers as ``--json`` prints them."""
    scope, module = place.scope, place.module
    whole = place.line == scope.line and scope.kind != "module"
    symbol = f"{module.published}.{scope.symbol}" if module.published and scope.kind != "module" else module.published
    if scope.kind == "module":
        kind = "module"
    elif scope.kind == "function" and scope.parent is not None and scope.parent.kind == "class":
        kind = "method"
    else:
        kind = scope.kind
    answers = list(_answers_at(program, place, whole))
    row: dict[str, Any] = {
        "commit": tree.commit,
        "anchor": str(Anchor(module.path, scope.symbol, place.line)),
        "symbol": symbol or scope.symbol,
        "kind": kind,
        "source": _source(tree, place, whole),
        "calls": [_call(answer, module.path) for answer in answers],
        "callers": [] if scope.kind == "module" else _callers(program, symbol),
    }
    if scope.more.get("doc"):
        row["doc"] = scope.more["doc"]
    return row


def _answers_at(program: Program, place: Place, whole: bool) -> Iterator[Answer]:
    """Call sites on the line, or in the whole definition where the place is its head."""
    for file in program.answers:
        if file.module is not place.module:
            continue
        for answer in file.answers:
            inside = whole and _within(answer.scope, place.scope)
            if inside or answer.line == place.line or answer.token_line == place.line:
                yield answer


def _within(scope: Scope | None, outer: Scope) -> bool:
    while scope is not None:
        if scope is outer:
            return True
        scope = scope.parent
    return False


def _call(answer: Answer, path: str) -> dict[str, Any]:
    row: dict[str, Any] = {"text": answer.text, "anchor": str(Anchor(path, answer.scope.symbol, answer.line))}
    if answer.targets:
        row["targets"] = [
            {"name": target.qname, "in_source": target.source, **({"implied": True} if target.implied else {})}
            for target in answer.targets
        ]
        row["basis"], row["author"] = answer.basis, answer.author
    else:
        row["reason"] = answer.reason
        if answer.prefix:
            row["prefix"] = answer.prefix
    return row


def _callers(program: Program, symbol: str) -> list[dict[str, Any]]:
    found = []
    for file in program.answers:
        for answer in file.answers:
            if any(target.source and target.qname == symbol for target in answer.targets):
                anchor = Anchor(file.module.path, answer.scope.symbol, answer.line)
                found.append({"anchor": str(anchor), "text": answer.text, "basis": answer.basis})
    return found[:MAX_CALLERS]


def _source(tree: Tree, place: Place, whole: bool) -> str:
    data = tree.read(place.module.path)
    if data is None:
        return ""
    lines = parse(data, place.module.path).lines
    first, last = (place.line, min(place.scope.end_line, place.line + 40)) if whole else (place.line, place.line)
    return "\n".join(lines[first - 1 : last])


def _ask_jedi(tree: Tree, program: Program, place: Place) -> None:
    """Ask about the open sites on the line."""
    sites = [answer for answer in _answers_at(program, place, False) if not answer.targets]
    if not sites:
        return
    with JediWorker(tree) as worker:
        wanted = sorted({(answer.token_line, answer.col) for answer in sites})
        answers = worker.ask([(place.module.path, wanted)], time.monotonic() + DEEP_SECONDS, site_seconds=DEEP_SECONDS)
        for _, line, column, found in answers:
            targets = targets_of(found or [], program.modules, program.sites)
            for answer in sites:
                if targets and (answer.token_line, answer.col) == (line, column):
                    accept(answer, targets)


def _lines(row: dict[str, Any]) -> Iterator[str]:
    yield f"{row['anchor']}  {row['kind']} {row['symbol']}" + (f"  at {row['commit'][:12]}" if row["commit"] else "")
    if row.get("doc"):
        yield f"  {row['doc']}"
    yield from (f"  | {line}" for line in row["source"].split("\n"))
    yield f"calls: {len(row['calls'])}" if row["calls"] else "calls: none"
    for call in row["calls"]:
        line = call["anchor"].rpartition(":")[2]
        if "targets" in call:
            names = ", ".join(target["name"] for target in call["targets"])
            yield f"  {line}: {call['text']} -> {names}  ({call['basis']}, {call['author']})"
        else:
            known = f", known: {call['prefix']}" if call.get("prefix") else ""
            yield f"  {line}: {call['text']} -> not known: {call['reason']} ({REASONS[call['reason']]}){known}"
    yield f"callers: {len(row['callers'])}" if row["callers"] else "callers: none"
    for caller in row["callers"]:
        yield f"  {caller['anchor']}  {caller['text']}  ({caller['basis']})"
