"""``cgx moved``: anchors and records from one revision to another."""

from __future__ import annotations

import json as json_module
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from cgx.errors import Fault, UserError
from cgx.exporters.checking import anchors as anchors_in
from cgx.exporters.writing import check_writable, text_of, write_atomically
from cgx.indexer.across.follow import Answer, Follower
from cgx.indexer.across.renames import git_renames
from cgx.indexer.passes.identity import commit_id
from cgx.indexer.source import Tree, open_tree
from cgx.indexer.source.commit_tree import CommitTree
from cgx.model.anchors import Anchor
from cgx.workflow.again import load, repeat
from cgx.workflow.request import Request

FILES = {"cgx/computation_graph/1": "computation_graph.json", "cgx/execution_schedule/1": "execution_schedule.json"}
HEADER = frozenset(["schema", "generator", "repository", "commit", "tree", "worktree", "launch", "build", "inputs", "mode", "files", "env", "assumed"])


def run_moved(
    words: list[str], *, from_rev: str, to_rev: str, rewrite: bool, source: str, quiet: bool, json: bool, workspace: Path = Path("."), force: bool = False,
    store: str | None = None,
) -> int:  # fmt: skip
    """The command. ``words`` are anchors or record files. Raises UserError for what is neither."""
    records = [Path(word) for word in words if _is_record(word)]
    given = [word for word in words if not _is_record(word)]
    for word in given:
        _check(word)
    if not words:
        raise UserError("give anchors (path:Symbol:line) or record files to follow")
    if rewrite and not records:
        raise UserError("--rewrite writes records again: give record files")
    loaded = [(path, load(path)) for path in records]
    asked = list(dict.fromkeys([*given, *(anchor for _, record in loaded for _, anchor in anchors_in(record))]))
    with open_tree(source, from_rev) as old, open_tree(source, to_rev) as new:
        follower = Follower(old, new, git_renames(old, new))
        answers = {anchor: follower.follow(anchor) for anchor in asked}
        notes = [f"{(old.commit or '')[:12]} -> {(new.commit or '')[:12]}", *remember(store, source, old, new, follower)]
    if not quiet:
        print("; ".join(notes), file=sys.stderr)
    if rewrite:
        for path, record in loaded:
            written = _rewrite(path, record, answers, source, to_rev, workspace, force)
            if not quiet:
                print(written, file=sys.stderr if json else sys.stdout)
    if json:
        print(json_module.dumps([answers[anchor].row() for anchor in asked], indent=1, ensure_ascii=False))
        return 0
    for anchor in asked:
        print(line(answers[anchor]))
    return 0


def line(answer: Answer) -> str:
    where = answer.to or " | ".join(answer.candidates)
    if answer.status == "unchanged":
        where = ""
    return f"{answer.status:<10} {answer.anchor}{f' -> {where}' if where else ''}  ({answer.evidence})"


def remember(url: str | None, source: str, old: Tree, new: Tree, follower: Follower) -> list[str]:
    """Write ``MOVED_TO`` edges where the store holds both commits; gives what is to be said of the store.

    The answer is there already: a store that is missing, busy or out of reach is no reason to fail.
    """
    from cgx.ask.where import open_where
    from cgx.indexer.passes.moves import wanted, write_moves
    from cgx.store.opening import open_store

    try:
        where = open_where(url, source)
    except UserError:
        return []  # nothing is indexed, so nothing is behind
    try:
        with where.store:
            notes = [behind] if (behind := where.freshness()) else []
            asked = wanted(where.store, commit_id(old), commit_id(new))
        if asked and is_before(old, new):
            with open_store(url, old.repository_key) as opened:
                count = write_moves(opened, old, new, follower)
                opened.checkpoint()
            notes.append(f"{count} MOVED_TO edges stored")
    except (UserError, Fault) as error:
        return [f"the store was left as it is: {error}"]
    return notes


def is_before(old: Tree, new: Tree) -> bool:
    """Whether one commit is an ancestor of the other: only then are versions at the other one later."""
    return isinstance(old, CommitTree) and isinstance(new, CommitTree) and old.is_ancestor_of(new)


def _is_record(word: str) -> bool:
    return word.endswith(".json") and Path(word).is_file()


def _check(word: str) -> None:
    try:
        Anchor.parse(word)
    except ValueError:
        if word.endswith(".json"):
            raise UserError(f"{word}: no such record file") from None
        raise UserError(f"{word}: neither an anchor (path:Symbol:line) nor a record file") from None


# ------------------------------------------------------------------ rewriting a record


def _rewrite(path: Path, record: dict[str, Any], answers: dict[str, Answer], source: str, rev: str, workspace: Path, force: bool) -> Path:
    """The record made again at the new revision: anchors stand there, values are derived there, and what differs is marked."""
    fresh = _fresh(path, record, source, rev)
    moved = _moved(record, answers)
    _mark(moved, fresh)
    target = workspace / "records" / FILES.get(str(record.get("schema")), path.name)
    check_writable([target], force or target.resolve() == path.resolve())
    write_atomically(target, text_of(fresh))
    return target


def _fresh(path: Path, record: dict[str, Any], source: str, rev: str) -> dict[str, Any]:
    """A plain export of the same question at the new revision, in folders of its own."""
    from cgx.workflow.export import export

    with tempfile.TemporaryDirectory() as folder:
        asked = replace(Request(source=source), rev=rev, workspace=Path(folder), store=str(Path(folder) / "store"))
        export(repeat(path, asked))
        return load(Path(folder) / "records" / FILES[str(record["schema"])])


def _moved(node: Any, answers: dict[str, Answer]) -> Any:
    """The old record with every anchor where it stands now."""
    if isinstance(node, dict):
        return {key: _moved(value, answers) for key, value in node.items()}
    if isinstance(node, list):
        return [_moved(value, answers) for value in node]
    if isinstance(node, str) and node in answers:
        return answers[node].to or node
    return node


def _mark(old: dict[str, Any], new: dict[str, Any]) -> None:
    """``changed`` on every entry: names of the fields whose values differ, or ``["new"]`` for an entry without a predecessor."""
    for key, value in new.items():
        if key in HEADER:
            continue
        if isinstance(value, list):
            _mark_entries(old.get(key) or [], value)
        elif isinstance(value, dict) and key != "symbols":
            for inner, entries in value.items():
                before = (old.get(key) or {}).get(inner)
                if isinstance(entries, list):
                    _mark_entries(before if isinstance(before, list) else [], entries)


def _mark_entries(old: list[Any], new: list[Any]) -> None:
    waiting: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for entry in old:
        if isinstance(entry, dict):
            waiting.setdefault(_identity(entry), []).append(entry)
    for entry in new:
        if not isinstance(entry, dict):
            continue
        before = waiting.get(_identity(entry))
        if not before:
            entry["changed"] = ["new"]
            continue
        known = before.pop(0)
        fields = sorted(name for name in {*known, *entry} - {"id", "parent", "entry"} if known.get(name) != entry.get(name))
        if fields:
            entry["changed"] = fields


def _identity(entry: dict[str, Any]) -> tuple[str, ...]:
    """What an entry is about, values aside: its place and its kind."""
    names = ("level", "path", "type", "name", "kind", "hop", "direction", "what", "collective", "issued_by", "mechanism", "unit", "code_anchor", "phase")
    return tuple(f"{name}={entry[name]}" for name in names if isinstance(entry.get(name), str))
