"""``cgx export``: read a job, store its graph, and project the records from the store."""

from __future__ import annotations

import json as json_module
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cgx.workflow.request import Request, env_digest, read_files, read_sets

if TYPE_CHECKING:
    from cgx.indexer.job import JobRows

FILES = {"graph": "computation_graph.json", "schedule": "execution_schedule.json"}


@dataclass(slots=True)
class Result:
    """What an export did. ``records``: files written; ``unresolved``: how many items; ``faults``: internal faults."""

    job: str
    records: list[Path] = field(default_factory=list)
    unresolved: list[dict[str, Any]] = field(default_factory=list)
    faults: list[tuple[str, str]] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    seconds: float = 0.0
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def short(self) -> bool:
        """Less than all that was asked: what ``--strict`` turns into exit 1."""
        return bool(self.unresolved or self.faults or self.unused)


def run_export(
    *, source: str, rev: str | None, worktree: bool, launch: str | None, build: str | None, inputs: Sequence[str],
    sets: Sequence[str], files: Sequence[str], env: Sequence[Path], mode: str | None, store: str | None, workspace: Path,
    only: str | None, plan: bool, again: Path | None, force: bool, deep: float, strict: bool, quiet: bool, json: bool,
) -> int:  # fmt: skip
    """The command: gives its exit code. Raises UserError for what the user can mend."""
    request = Request(
        source, rev, worktree, launch, build, list(inputs), read_sets(sets), read_files(files), list(env), mode, store,
        workspace, only, force, deep, strict, quiet, json,
    )  # fmt: skip
    if again is not None:
        from cgx.workflow.again import repeat

        request = repeat(again, request)
    request.check()
    if plan:
        from cgx.workflow.plan import run_plan

        return run_plan(request)
    result = export(request)
    _report(result, request)
    return 1 if strict and result.short else 0


def export(request: Request) -> Result:
    """Read, store, project, write. Nothing is written before everything was read."""
    begin = time.perf_counter()
    targets = _targets(request)
    from cgx.exporters.writing import check_writable, text_of, write_atomically

    check_writable(list(targets.values()), request.force)
    with read(request) as (rows, tree):
        from cgx.exporters.projection import project
        from cgx.store.opening import open_store
        from cgx.workflow.storing import store_job

        with open_store(request.store, tree.repository_key) as store:
            job = store_job(store, tree, rows)
            made = project(store, job)
            store.checkpoint()
        result = Result(job, faults=list(rows.trace.faults), unused=list(rows.trace.unused), problems=rows.problems)
    for name, path in targets.items():
        if FILES[name] in made:
            write_atomically(path, text_of(made[FILES[name]]))
            result.records.append(path)
            result.unresolved.extend(made[FILES[name]]["unresolved"])
    result.counts = _counts(made)
    result.seconds = time.perf_counter() - begin
    return result


@contextmanager
def read(request: Request) -> Iterator[tuple[JobRows, Any]]:
    """The job's rows, with the source tree that they were read from still open."""
    from cgx.indexer.job import JobRequest, read_job
    from cgx.indexer.source import open_tree

    asked = JobRequest(
        request.launch,
        request.build,
        request.inputs,
        request.sets,
        request.files,
        request.mode,
        request.deep,
        request.strict,
    )
    with ExitStack() as stack:
        tree = stack.enter_context(open_tree(request.source, request.rev, request.worktree))
        envs = [stack.enter_context(open_tree(folder, env=True)) for folder in request.env]
        outside = [{"name": folder.resolve().name, "digest": env_digest(folder)} for folder in request.env]
        yield read_job(tree, envs, asked, outside), tree


def _targets(request: Request) -> dict[str, Path]:
    """The files that are asked for."""
    wanted = ["graph", "schedule"] if request.only is None else [request.only]
    if request.build is not None:
        wanted = ["graph"]
    return {name: request.workspace / "records" / FILES[name] for name in wanted}


def _counts(made: dict[str, dict[str, Any]]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for record in made.values():
        for key, value in record.items():
            if isinstance(value, list) and key not in ("launch", "inputs", "files", "env"):
                counts[key] = counts.get(key, 0) + len(value)
        for key, value in record.get("host_device", {}).items():
            counts[key] = len(value)
    return counts


def _report(result: Result, request: Request) -> None:
    if request.json:
        print(json_module.dumps(summary(result), indent=1, ensure_ascii=False))
    else:
        for path in result.records:
            print(path)
    if request.quiet:
        return
    shown = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in result.counts.items() if count)
    print(f"{shown} in {result.seconds:.1f} s", file=sys.stderr)
    for text in result.problems:
        print(f"note: {text}", file=sys.stderr)
    for name in result.unused:
        print(f"warning: nothing asked for --set {name}", file=sys.stderr)
    for where, message in result.faults[:5]:
        print(f"internal fault at {where}: {message}", file=sys.stderr)
    for item in result.unresolved[:10]:
        settle = item.get("settle_with") or {}
        hint = f"; {settle['option']} {settle['name']}=..." if settle else ""
        print(f"unresolved: {item['name']} ({item['reason']}{hint}) at {item.get('code_anchor') or 'the launch line'}", file=sys.stderr)
    if len(result.unresolved) > 10:
        print(f"... and {len(result.unresolved) - 10} more unresolved items in the records", file=sys.stderr)


def summary(result: Result) -> dict[str, Any]:
    """What ``--json`` prints."""
    return {
        "job": result.job,
        "records": [str(path) for path in result.records],
        "counts": result.counts,
        "unresolved": len(result.unresolved),
        "faults": [{"where": where, "message": message} for where, message in result.faults],
        "unused": result.unused,
        "notes": result.problems,
        "seconds": round(result.seconds, 3),
    }
