"""``cgx view``: one HTML page of records. The work is done by :func:`cgx.workflow.view.run_view`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cgx.commands.options import SourceOption, Workspace


def view(
    records: Annotated[
        list[Path] | None, typer.Argument(metavar="RECORD", help="Record files (default: the workspace's).")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The page to write.")] = Path(
        "cgx.html"
    ),
    source: SourceOption = ".",
    workspace: Workspace = Path("."),
) -> int:
    """Write one self-contained HTML page: module tree, schedule lanes, what is unresolved.

    Example:  cgx view records/*.json -o job.html
    """
    from cgx.workflow.view import run_view

    return run_view(records or [], output=output, source=source, workspace=workspace)
