"""``cgx check``: are these records sound, and do their anchors hold at their commit?"""

from __future__ import annotations

import json as json_module
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from cgx.errors import UserError
from cgx.exporters.checking import anchors, problems
from cgx.indexer.source import Tree, open_tree
from cgx.workflow.again import load
from cgx.workflow.places import Places
from cgx.workflow.request import env_digest

SHOWN = 20


def run_check(records: Sequence[Path], *, source: str, env: Sequence[Path], json: bool) -> int:
    """The command: 0 where every record is sound, 1 where one is not. Raises UserError for what cannot be read."""
    found = {str(path): check(load(path), source, env) for path in records}
    if json:
        listed = [{"record": name, "ok": not lines, "problems": lines} for name, lines in found.items()]
        print(json_module.dumps(listed, indent=1, ensure_ascii=False))
    else:
        for name, lines in found.items():
            print(f"{name}: {'ok' if not lines else f'{len(lines)} problems'}")
            for line in lines[:SHOWN]:
                print(f"  {line}")
            if len(lines) > SHOWN:
                print(f"  ... and {len(lines) - SHOWN} more (--json lists all)")
    return int(any(found.values()))


def check(record: dict[str, Any], source: str, env: Sequence[Path]) -> list[str]:
    """What is wrong with the record, one line each."""
    with ExitStack() as stack:
        tree, lines = _tree(record, source)
        trees = [stack.enter_context(tree), *(stack.enter_context(open_tree(folder, env=True)) for folder in env)]
        lines += _outside(record, env)
        places = Places(trees)
        lines += problems(record, places.empty)
        told: set[tuple[str, str]] = set()
        for where, anchor in anchors(record):
            problem = places.problem(anchor) if isinstance(anchor, str) else "not a text"
            if problem is not None and (str(anchor), problem) not in told:
                told.add((str(anchor), problem))
                lines.append(f"{where} {anchor}: {problem}")
    return lines


def _tree(record: dict[str, Any], source: str) -> tuple[Tree, list[str]]:
    """The source at the record's commit. What says that it is not the same state comes as lines."""
    commit, worktree = record.get("commit"), record.get("worktree")
    if commit is None or worktree:
        tree = open_tree(source, worktree=bool(worktree))
        digest = record.get("tree")
        changed = digest is not None and digest != tree.digest
        return tree, [f"stale: the folder has changed since the record was made ({digest})"] if changed else []
    try:
        return open_tree(source, rev=commit), []
    except UserError as error:
        raise UserError(
            f"{error}; the record was read at commit {commit}: give --source REPOSITORY that holds it"
        ) from None


def _outside(record: dict[str, Any], env: Sequence[Path]) -> list[str]:
    given = {folder.resolve().name: folder for folder in env}
    lines = []
    for item in record.get("env", ()):
        folder = given.get(item["name"])
        if folder is None:
            print(f"note: {item['name']} is not given with --env, so its anchors will not be found", file=sys.stderr)
        elif env_digest(folder) != item["digest"]:
            lines.append(f"stale: the env folder {item['name']} is not the one that the record was made with")
    return lines
