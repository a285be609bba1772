"""``cgx diff``: two records or two revisions. The work is done by :func:`cgx.workflow.diff.run_diff`."""

from __future__ import annotations

from typing import Annotated

import typer

from cgx.commands.options import Json, SourceOption


def diff(
    a: Annotated[str, typer.Argument(metavar="A", help="A record, or a revision.")],
    b: Annotated[str, typer.Argument(metavar="B", help="A record, or a revision.")],
    source: SourceOption = ".",
    json: Json = False,
) -> int:
    """Compare two records or two revisions: added, removed, moved, and whose counts changed.

    Example:  cgx diff old/computation_graph.json records/computation_graph.json
    """
    from cgx.workflow.diff import run_diff

    return run_diff(a, b, source=source, json=json)
