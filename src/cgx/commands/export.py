"""``cgx export``: the two records. The work is done by :func:`cgx.workflow.export.run_export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cgx.commands.options import (
    Build,
    Deep,
    Env,
    File,
    Input,
    Json,
    Launch,
    Mode,
    Quiet,
    Rev,
    Set,
    Source,
    Store,
    Strict,
    Workspace,
    Worktree,
)


def export(
    source: Source = ".",
    rev: Rev = None,
    worktree: Worktree = False,
    launch: Launch = None,
    build: Build = None,
    input: Input = None,
    set: Set = None,
    file: File = None,
    env: Env = None,
    mode: Mode = None,
    store: Store = None,
    workspace: Workspace = Path("."),
    only: Annotated[str | None, typer.Option("--only", metavar="graph|schedule", help="Write one record only.")] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Print how the read will descend; write nothing.")] = False,
    again: Annotated[
        Path | None, typer.Option("--again", metavar="RECORD", help="Repeat the export of this record.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that cgx did not write.")] = False,
    deep: Deep = 10.0,
    strict: Strict = False,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Write records/computation_graph.json and records/execution_schedule.json of a job or a model.

    Example:  cgx export . --launch "python train.py" --set device=cpu

    Example:  cgx export --build "model.py:Net()" --input "x=float32[1,3,224,224]"
    """
    from cgx.workflow.export import run_export

    return run_export(
        source=source, rev=rev, worktree=worktree, launch=launch, build=build, inputs=input or [], sets=set or [],
        files=file or [], env=env or [], mode=mode, store=store, workspace=workspace, only=only, plan=plan, again=again,
        force=force, deep=deep, strict=strict, quiet=quiet, json=json,
    )  # fmt: skip
