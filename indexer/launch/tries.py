"""Launch lines that are tried to see what they start, and what is kept of that from commit to commit."""

from __future__ import annotations

import re
from typing import NamedTuple

from cgx.errors import UserError
from cgx.indexer.launch.line import parse_launch
from cgx.indexer.source.base import Tree
from cgx.indexer.source.watched import Asked, Watched, holds

_GUARD = re.compile(rb"^if\s+__name__\s*==\s*['\"]__main__['\"]", re.M)
_TOP_CALL = re.compile(rb"^(for|while|with)\b|^[\w.]+\([^\n]*\)\s*$", re.M)
_SIGNS: tuple[tuple[bytes, int, str], ...] = (
    (b".backward(", 6, "calls backward"),
    (b"optimizer", 2, "has an optimizer"),
    (b"Trainer", 2, "has a trainer"),
    (b"DataLoader", 2, "has a data loader"),
    (b"ArgumentParser", 2, "takes arguments"),
    (b"generate(", 2, "generates"),
    (b"init_process_group", 2, "is distributed"),
    (b"import torch", 3, "imports torch"),
)


class Started(NamedTuple):
    """What a launch line starts. ``line``: the line of its script that does."""

    launcher: str
    starts: str
    line: int


class Script(NamedTuple):
    """What a Python file shows of being a job. ``guarded``: it has a ``__main__`` guard, else only code at its top."""

    line: int
    guarded: bool
    points: int
    why: str


class Memory:
    """Answers of the trees before, each with what was asked of the tree for it: they stand while a tree says the same."""

    def __init__(self) -> None:
        self._lines: dict[str, tuple[Asked, Started | None]] = {}
        self._scripts: dict[str, Script | None] = {}
        self._contents: dict[str, bytes | None] = {}
        self._known: Asked = {}

    def begin(self) -> None:
        """Another tree: what its files say is asked anew."""
        self._known, self._contents = {}, {}

    def start(self, line: str, tree: Tree) -> Started | None:
        """What the line starts in the tree; None where it starts nothing that is there."""
        kept = self._lines.get(line)
        if kept is not None and holds(kept[0], tree, self._known):
            return kept[1]
        watched = Watched(tree, self._contents)
        found = _started(line, watched)
        self._lines[line] = (watched.asked, found)
        return found

    def scripts(self, paths: list[str], tree: Tree) -> list[tuple[str, Script]]:
        """Those of the Python files that show signs of being a job."""
        fresh = [path for path in paths if tree.blob(path) not in self._scripts]
        for path, data in tree.read_many(fresh):
            self._scripts[tree.blob(path)] = None if data is None else _script(data)
        return [(path, found) for path in paths if (found := self._scripts[tree.blob(path)]) is not None]


def _started(line: str, tree: Tree) -> Started | None:
    try:
        plan = parse_launch(line, tree)
    except UserError:
        return None
    return Started(plan.launcher, plan.script or plan.function or plan.module or "", plan.anchor.line if plan.anchor else 1)


def _script(data: bytes) -> Script | None:
    if b"__main__" not in data and b"torch" not in data:
        return None
    guard = _GUARD.search(data)
    match = guard or (_TOP_CALL.search(data) if b".backward(" in data else None)
    if match is None:
        return None
    signs = [(points, why) for word, points, why in _SIGNS if word in data]
    line = data.count(b"\n", 0, match.start()) + 1
    return Script(line, guard is not None, sum(points for points, _ in signs), ", ".join(why for _, why in signs))
