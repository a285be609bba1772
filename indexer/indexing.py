"""``cgx index``: opens source and store, runs the passes for each revision, says what came of it."""

from __future__ import annotations

import gc
import json as json_module
import sys
from pathlib import Path
from typing import Any

from cgx.errors import UserError
from cgx.indexer.passes.figures import Figures
from cgx.indexer.pipeline import index_tree
from cgx.indexer.source import Tree, open_tree
from cgx.indexer.source.revisions import revisions


def run(
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
    short = False
    gc.disable()  # see without_gc; one command, so what is left over ends with the process
    for number, one in enumerate(wanted):
        if number:
            gc.collect()  # the program of the commit before
        with open_tree(source, one, worktree) as tree, open_store(store, tree.repository_key) as opened:

            def say(text: str, name: str = tree.display) -> None:
                if not quiet:
                    print(f"{name}: {text}", file=sys.stderr)

            figures = index_tree(tree, opened, jobs=jobs, deep=deep, say=say if len(wanted) == 1 else None)
            row = {"commit": tree.commit, "name": tree.display, "store": opened.url, **figures.as_dict()}
            if launch is not None:
                row["job"] = _job(tree, opened, launch, env, deep, strict)
            opened.checkpoint()
        rows.append(row)
        short = short or bool(figures.faults) or figures.unresolved > 0
        if not json:
            print(_line(row) if len(wanted) > 1 else _text(row, figures))
            if len(wanted) > 1 and not quiet and sys.stderr.isatty():
                print(f"{number + 1} of {len(wanted)}", file=sys.stderr)
    if json:
        print(json_module.dumps(rows[0] if len(rows) == 1 else rows, indent=1, ensure_ascii=False))
    gc.freeze()  # the interpreter's last collection would walk everything once more
    gc.enable()
    return 1 if strict and short else 0


def _job(tree: Tree, store: Any, launch: str, env: list[Path], deep: float, strict: bool) -> str:
    """The job graph over the static one."""
    from cgx.indexer.job import JobRequest, read_job
    from cgx.indexer.passes.identity import commit_id
    from cgx.model.job_entries import job_delta

    envs = [open_tree(folder, env=True) for folder in env]
    rows = read_job(tree, envs, JobRequest(launch, deep=deep, strict=strict), [{"name": item.name} for item in envs])
    job = rows.identity()
    store.replace(job, job_delta(job, rows.header, rows.graph, rows.schedule, commit_id=commit_id(tree)))
    return job


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
