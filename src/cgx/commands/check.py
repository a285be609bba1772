"""``cgx check``: are these records sound? The work is done by :func:`cgx.workflow.check.run_check`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cgx.commands.options import Env, Json, SourceOption


def check(
    records: Annotated[list[Path], typer.Argument(metavar="RECORD", help="Record files.")],
    source: SourceOption = ".",
    env: Env = None,
    json: Json = False,
) -> int:
    """Check records: schema, anchors against the commit, consistency, depth. Exit 1 if one fails.

    Example:  cgx check records/*.json
    """
    from cgx.workflow.check import run_check

    return run_check(records, source=source, env=env or [], json=json)
