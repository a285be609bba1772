"""``cgx index``: opens source and store, runs the passes for each revision, says what came of it."""

from __future__ import annotations

import gc
import json as json_module
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from cgx.errors import Fault, UserError
from cgx.indexer.names.program import Session
from cgx.indexer.passes.figures import Figures
from cgx.indexer.passes.identity import commit_id
from cgx.indexer.pipeline import index_tree
from cgx.indexer.source import Tree, open_tree
from cgx.indexer.source.commit_tree import CommitTree
from cgx.indexer.source.revisions import revisions

CHECKPOINT_EVERY = 20  # commits of a range between two states that readers see and that outlive a crash


def run_index(
    *, source: str, rev: str | None, worktree: bool, launch: str | None, env: list[Path], store: str | None, jobs: int,
    deep: float, strict: bool, quiet: bool, json: bool,
) -> int:  # fmt: skip
    """The command: gives its exit code. Raises UserError for what the user can mend."""
    if worktree and rev is not None:
        raise UserError("--worktree reads the files as they are; leave --rev out, or leave --worktree out")
    from cgx.store.opening import open_store

    wanted = [None] if worktree else revisions(source, rev)
    if launch is not None and len(wanted) > 1:
        raise UserError("--launch needs one revision, not a range")
    rows: list[dict[str, Any]] = []
    gc.disable()  # see without_gc; one command, so what is left over ends with the process
    with ExitStack() as stack:
        first = stack.enter_context(open_tree(source, wanted[0], worktree))
        opened = stack.enter_context(open_store(store, first.repository_key))
        envs = [stack.enter_context(open_tree(folder, env=True)) for folder in env]
        session = Session(keep=len(wanted) > 1)
        try:
            for number, tree in enumerate(_trees(first, wanted)):
                start = _start(launch, tree, envs)  # before anything is indexed: a wrong line is told at once
                say = _speaker(tree.display) if not quiet and len(wanted) == 1 else None
                figures = index_tree(tree, opened, jobs=jobs, deep=deep, session=session, say=say, start=start)
                moved = follow_parent(tree, opened)
                row = {"commit": tree.commit, "name": tree.display, "store": opened.url, **figures.as_dict()}
                if moved is not None:
                    row["moved"] = moved
                if launch is not None:
                    row["job"] = _job(tree, opened, launch, envs, deep, strict)
                rows.append(row)
                if not json:
                    print(_line(row) if len(wanted) > 1 else _text(row, figures))
                if number % CHECKPOINT_EVERY == CHECKPOINT_EVERY - 1:
                    opened.checkpoint()
        except BaseException:
            with suppress(Fault, UserError):  # commits that are whole are kept; one that is half written is not
                opened.checkpoint()
            raise
        opened.checkpoint()
        session.cache.close()
    if json:
        print(json_module.dumps(rows[0] if len(rows) == 1 else rows, indent=1, ensure_ascii=False))
    gc.freeze()  # the interpreter's last collection would walk everything once more
    gc.enable()
    return 1 if strict and any(row["faults"] or row["unresolved"] for row in rows) else 0


def _trees(first: Tree, wanted: Sequence[str | None]) -> Iterator[Tree]:
    yield first
    for rev in wanted[1:]:
        assert isinstance(first, CommitTree) and rev is not None
        with first.at(rev) as tree:
            yield tree


def follow_parent(tree: Tree, store: Any) -> int | None:
    """``MOVED_TO`` edges from the nearest commit before this one that is indexed; their number, None where there is none."""
    from cgx.indexer.passes.moves import nearest, wanted, write_moves

    if not isinstance(tree, CommitTree) or (before := nearest(store, tree)) is None:
        return None
    name, sha = before
    if not wanted(store, name, commit_id(tree)):
        return None
    with tree.at(sha) as old, suppress(UserError):  # a partial clone may lack the older files: then nothing is said of them
        return write_moves(store, old, tree)
    return None


def _speaker(name: str) -> Callable[[str], None]:
    return lambda text: print(f"{name}: {text}", file=sys.stderr)


def _job(tree: Tree, store: Any, launch: str, envs: list[Tree], deep: float, strict: bool) -> str:
    """The job graph over the static one."""
    from cgx.indexer.job import JobRequest, read_job
    from cgx.workflow.request import env_digest
    from cgx.workflow.storing import store_job

    outside = [{"name": item.name, "digest": env_digest(Path(item.location))} for item in envs]
    return store_job(store, tree, read_job(tree, envs, JobRequest(launch, deep=deep, strict=strict), outside))


def _start(launch: str | None, tree: Tree, envs: list[Tree]) -> str | None:
    """The script that a launch line starts, from which Jedi's reach is counted. Raises UserError where there is none."""
    if launch is None:
        return None
    from cgx.indexer.launch import parse_launch

    return parse_launch(launch, tree, envs).script


def _line(row: dict[str, Any]) -> str:
    return f"{row['name']}  {row['files']} files, {row['written']} new, {row['seconds']:.2f} s"


def _text(row: dict[str, Any], figures: Figures) -> str:
    sites = max(figures.sites, 1)
    lines = [
        f"{row['name']}: {figures.files} files, {figures.lines} lines, {figures.sites} call sites in {figures.seconds:.2f} s"
        + (" (was indexed)" if figures.unchanged else ""),
        f"  in the source  {figures.resolved:8}  {100 * figures.resolved / sites:5.1f} %",
        f"  outside        {figures.external:8}  {100 * figures.external / sites:5.1f} %",
        f"  unresolved     {figures.unresolved:8}  {100 * figures.unresolved / sites:5.1f} %",
    ]
    lines += [f"    {word:18} {number:6}" for word, number in figures.reasons.items()]
    if figures.jedi_asked:
        lines.append(f"  only Jedi settled {figures.jedi} of {figures.jedi_asked} open sites it was asked")
    if figures.partial:
        lines.append(f"  read in part: {len(figures.partial)} files, first {figures.partial[0]}")
    if figures.skipped:
        lines.append(f"  skipped: {len(figures.skipped)} files, first {figures.skipped[0]}")
    lines += [f"  internal fault: {text}" for text in figures.faults[:5]]
    if "job" in row:
        lines.append(f"  job {row['job']}")
    lines.append(f"  store {row['store']}")
    return "\n".join(lines)
