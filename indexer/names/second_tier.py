"""Tier 2: what Jedi says of call sites that tier 1 left open, inside a budget of seconds."""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import Any

from cgx.indexer.names.jedi_worker import JediWorker
from cgx.indexer.names.link import Answer, Sites, Target
from cgx.indexer.names.modules import Modules
from cgx.indexer.names.program import Program
from cgx.indexer.names.values import Class, Function
from cgx.indexer.source import Tree

AUTHOR = "names.jedi"

# Where Jedi may know more than tier 1 does. What a function outside returns, it knows no better.
HOPEFUL = frozenset({"attribute", "container", "parameter", "unresolved-name", "unsupported"})


def settle(tree: Tree, program: Program, seconds: float, reach: Collection[str] | None = None) -> tuple[int, int]:
    """Ask Jedi about open sites, best first; settled ones get its targets, marked ``likely`` and with its name.

    ``reach`` limits it to functions of these qualified names (``path:symbol``). Gives how many were asked and settled.
    """
    deadline = time.monotonic() + seconds
    open_sites = _open_sites(program, reach)
    if not open_sites:
        return 0, 0
    asked = settled = 0
    with JediWorker(tree) as worker:
        requests = [(path, [place for place, _ in sites]) for path, sites in open_sites]
        by_place = {(path, *place): answers for path, sites in open_sites for place, answers in sites}
        for path, line, column, found in worker.ask(requests, deadline):
            answers = by_place[(path, line, column)]
            asked += len(answers)
            targets = targets_of(found or [], program.modules, program.sites)
            if targets:
                settled += len(answers)
                for answer in answers:
                    accept(answer, targets)
    return asked, settled


def reachable(program: Program, script: str) -> set[str]:
    """``path:symbol`` of everything that a script may run, over the calls of tier 1, imported modules included."""
    calls: dict[str, list[tuple[str, ...]]] = {}
    homes: dict[str, list[str]] = {}
    for file in program.answers:
        path = file.module.path
        for scope in file.module.scopes:
            if isinstance(scope.owner, Class | Function):
                homes.setdefault(scope.owner.qname, []).append(f"{path}:{scope.symbol}")
        for answer in file.answers:
            names = tuple(target.qname for target in answer.targets if target.source)
            if names:
                calls.setdefault(f"{path}:{answer.scope.symbol}", []).append(names)
    found: set[str] = set()
    pending = [f"{path}:<module>" for path in _imported(program, script)]
    while pending:
        place = pending.pop()
        if place in found:
            continue
        found.add(place)
        for names in calls.get(place, ()):
            pending.extend(home for name in names for home in homes.get(name, ()) if home not in found)
    return found


def _imported(program: Program, script: str) -> set[str]:
    """Files that running a script imports, itself included."""
    found: set[str] = set()
    pending = [script]
    while pending:
        module = program.modules.at(pending.pop())
        if module is None or module.path in found:
            continue
        found.add(module.path)
        for level, name, item, _, _ in module.facts["imports"]:
            for wanted in (name, f"{name}.{item}" if item else name):
                other = program.modules.find(module, level, wanted)
                if other is not None and not other.standard:
                    pending.append(other.path)
    return found


def accept(answer: Answer, targets: tuple[Target, ...]) -> None:
    """Jedi's targets for a site that had none. An answer of tier 1 is never overridden."""
    if not answer.targets:
        answer.targets, answer.basis, answer.reason, answer.prefix, answer.author = targets, "likely", "", "", AUTHOR


def _open_sites(
    program: Program, reach: Collection[str] | None
) -> list[tuple[str, list[tuple[tuple[int, int], list[Answer]]]]]:
    """Open sites by file and place: files in path order, tests last, since a job does not run them."""
    found: list[tuple[str, list[tuple[tuple[int, int], list[Answer]]]]] = []
    for file in program.answers:
        places: dict[tuple[int, int], list[Answer]] = {}
        for answer in file.answers:
            if answer.targets or not _hopeful(answer):
                continue
            if reach is not None and f"{file.module.path}:{answer.scope.symbol}" not in reach:
                continue
            places.setdefault((answer.token_line, answer.col), []).append(answer)
        if places:
            found.append((file.module.path, sorted(places.items(), key=lambda item: item[0])))
    return sorted(found, key=lambda item: ("test" in item[0], item[0]))


def _hopeful(answer: Answer) -> bool:
    return answer.reason in HOPEFUL or (answer.reason == "unmodelled" and not answer.prefix)


def targets_of(found: list[dict[str, Any]], modules: Modules, sites: Sites) -> tuple[Target, ...]:
    """Jedi's rows as targets: definitions of the source by place, names outside as they are."""
    targets: dict[tuple[str, bool], Target] = {}
    for row in found:
        owner = _owner(row, modules) if row["path"] else None
        if owner is not None:
            value: Any = owner.instance if isinstance(owner, Class) and row["kind"] == "instance" else owner
            for target in sites.called(value):
                targets.setdefault((target.qname, target.implied), target)
        elif not row["path"] and row["kind"] in ("function", "class"):
            qname = row["qname"]
            targets.setdefault((qname, False), Target(qname, "", False, guess=True))
    return tuple(targets.values())[:8]


def _owner(row: dict[str, Any], modules: Modules) -> Class | Function | None:
    """The definition that stands at a place."""
    module = modules.at(row["path"])
    if module is None:
        return None
    for scope in module.scopes:
        if scope.line == row["line"] and isinstance(scope.owner, Class | Function) and scope.kind != "lambda":
            return scope.owner
    return None
