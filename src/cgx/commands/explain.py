"""``cgx explain``: the chain of evidence behind a value. The work is done by :func:`cgx.workflow.explain.run_explain`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cgx.commands.options import Json, SourceOption, Store, Workspace


def explain(
    entry: Annotated[str, typer.Argument(metavar="ENTRY | ANCHOR", help="Id, path or name of an entry, or an anchor.")],
    record: Annotated[
        Path | None, typer.Option("--record", metavar="FILE", help="The record (default: in the workspace).")
    ] = None,
    source: SourceOption = ".",
    workspace: Workspace = Path("."),
    store: Store = None,
    json: Json = False,
) -> int:
    """Say why a value is what it is, or why it is not known.

    Example:  cgx explain transformer.h.[0-11]
    """
    from cgx.workflow.explain import run_explain

    return run_explain(entry, record=record, source=source, workspace=workspace, store=store, json=json)
