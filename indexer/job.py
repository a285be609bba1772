"""One job, or one built model, from source to the rows of its records.

The rows are keyed as the records state them; :func:`cgx.model.job_entries.job_delta` makes the graph of them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cgx import __version__
from cgx.errors import UserError
from cgx.indexer.interpreter.trace import Trace
from cgx.indexer.passes.fold.graph import GraphRows, fold
from cgx.indexer.passes.fold.scope import built_step, innermost_step
from cgx.indexer.passes.schedule import Schedule, schedule
from cgx.indexer.source import Tree, parse

Row = dict[str, Any]
EMPTY_SCHEDULE: Row = {
    "phases": [], "data_path": [], "host_device": {"copies": [], "syncs": []}, "device_device": [], "compute": {}, "overlap": [],
    "loops": [], "unresolved": [],
}  # fmt: skip


@dataclass(slots=True)
class JobRequest:
    """What to read. ``sets``: values by name; ``files``: paths on this machine by name."""

    launch: str | None = None
    build: str | None = None
    inputs: list[str] = field(default_factory=list)
    sets: dict[str, Any] = field(default_factory=dict)
    files: dict[str, Path] = field(default_factory=dict)
    mode: str | None = None
    deep: float = 10.0
    strict: bool = False


@dataclass(slots=True)
class JobRows:
    """What was read: header and rows of both records, and what went wrong on the way."""

    header: Row
    graph: Row
    schedule: Row | None
    trace: Trace
    problems: list[str] = field(default_factory=list)

    def identity(self) -> str:
        """The id of the job: the same for the same commit and the same question."""
        keys = (
            "repository",
            "commit",
            "tree",
            "worktree",
            "launch",
            "build",
            "inputs",
            "mode",
            "files",
            "env",
            "assumed",
        )
        asked = json.dumps([self.header.get(key) for key in keys], sort_keys=True, ensure_ascii=False)
        return "job:" + hashlib.sha256(asked.encode()).hexdigest()[:16]


def read_job(tree: Tree, envs: Sequence[Tree], request: JobRequest, outside: Sequence[Row]) -> JobRows:
    """Read a launch line's job, or a build expression's model. ``outside``: name and digest of each env folder.

    Raises UserError for what the user can mend.
    """
    return (
        _read_build(tree, envs, request, outside)
        if request.launch is None
        else _read_launch(tree, envs, request, outside)
    )


def _read_build(tree: Tree, envs: Sequence[Tree], request: JobRequest, outside: Sequence[Row]) -> JobRows:
    from cgx.indexer.interpreter.run import run_build

    assert request.build is not None
    trace = run_build(tree, list(envs), request.build, list(request.inputs), _options(request))
    rows = fold(trace, built_step(trace))
    header = _header(tree, request, outside, trace)
    header.update(build=request.build, inputs=list(request.inputs), mode=request.mode or "train")
    return JobRows(_ordered(header), _graph(rows), None, trace)


def _read_launch(tree: Tree, envs: Sequence[Tree], request: JobRequest, outside: Sequence[Row]) -> JobRows:
    from cgx.indexer.interpreter.run import run_job
    from cgx.indexer.launch.line import parse_launch

    assert request.launch is not None
    plan = parse_launch(request.launch, tree, envs, request.sets)
    _parses(tree, plan.script)
    trace = run_job(tree, list(envs), plan, _options(request))
    timing = _timing(trace, tree, request)
    rows = fold(trace, timing.step or innermost_step(trace), timing.graphs)
    if not trace.incomplete and not any("path" in row for row in rows.modules) and not _busy(timing.rows):
        raise UserError(
            f"no model found: nothing that {request.launch!r} runs calls an nn.Module; {_way_on(trace)}"
        )
    header = _header(tree, request, outside, trace)
    header.update(launch=list(plan.words), job_type=timing.job_type)
    if timing.entrypoint is not None:
        header["entrypoint"] = str(timing.entrypoint)
    if request.inputs:
        header["inputs"] = list(request.inputs)
    if request.mode:
        header["mode"] = request.mode
    header["assumed"] = {**{name: plain(value) for name, value in plan.assumed.items()}, **header["assumed"]}
    return JobRows(_ordered(header), _graph(rows), _real(timing.rows), trace, list(plan.problems))


def _way_on(trace: Trace) -> str:
    """What the user of a launch without a model can do: mend the launch, where the job itself says what is wrong with it."""
    if trace.exit is None:
        return "give --env for a library that holds it, or see `cgx entrypoints`"
    told = " ".join(trace.exit.message.split())
    return f"it exits at {trace.exit.anchor}" + (f": {told}" if told else "")


def _busy(rows: dict[str, Any]) -> bool:
    """The device works for the job, though what runs on it is no module that was seen: a framework steps a model, or data moves in a loop."""
    compute, moved = rows.get("compute") or {}, rows.get("host_device") or {}
    if any(name in compute for name in ("forward", "backward", "optimizer_step")):
        return True
    return bool(rows.get("loops")) and bool(moved.get("copies") or moved.get("syncs") or rows.get("device_device"))


def _parses(tree: Tree, script: str | None) -> None:
    """Raise UserError where the script itself is no Python: whatever could be read of it would not be the job."""
    data = tree.read(script) if script else None
    if data is None or script is None:
        return
    parsed = parse(data, script)
    if parsed.tree is None or parsed.partial:
        raise UserError(f"{script} does not parse: {parsed.error}")


def _timing(trace: Trace, tree: Tree, request: JobRequest) -> Schedule:
    """The schedule; an internal fault in it is recorded, and the graph is still made."""
    try:
        return schedule(trace, tree)
    except UserError:
        raise
    except Exception as error:
        if request.strict:
            raise
        trace.faults.append(("schedule passes", f"{type(error).__name__}: {error}"))
        return Schedule("training", None, rows=EMPTY_SCHEDULE)


def _real(rows: Row) -> Row:
    """Without what is open only in our own stand-ins for library code: nobody can settle it, and no anchor tells it."""
    kept = [item for item in rows["unresolved"] if not str(item.get("code_anchor")).startswith("cgx:")]
    return {**rows, "unresolved": kept}


def _options(request: JobRequest) -> Any:
    from cgx.indexer.interpreter.interp import Options

    files = {name: path.read_bytes() for name, path in request.files.items()}
    device = "cpu" if request.sets.get("device") == "cpu" else "cuda"
    return Options(dict(request.sets), files, request.mode, request.strict, device, list(request.inputs))


def _graph(rows: GraphRows) -> Row:
    return {"symbols": rows.symbols, "modules": rows.modules, "unresolved": rows.unresolved}


def _header(tree: Tree, request: JobRequest, outside: Sequence[Row], trace: Trace) -> Row:
    header: Row = {"generator": {"name": "cgx", "version": __version__}, "repository": tree.name}
    if tree.commit is not None:
        header["commit"] = tree.commit
    else:
        header["tree"] = tree.digest
    if tree.modified:
        header["worktree"] = "modified"
    header["files"] = [
        {"name": name, "digest": "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()}
        for name, path in request.files.items()
    ]
    header["env"] = list(outside)
    header["assumed"] = {name: plain(value) for name, value in trace.assumed.items()}
    return header


def _ordered(header: Row) -> Row:
    keys = (
        "generator", "job_type", "repository", "commit", "tree", "worktree", "launch", "build", "inputs", "mode", "files",
        "env", "assumed", "entrypoint",
    )  # fmt: skip
    return {key: header[key] for key in keys if header.get(key) is not None}


def plain(value: Any) -> Any:
    """A value of ``--set`` as JSON holds it."""
    if isinstance(value, tuple | list | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)
