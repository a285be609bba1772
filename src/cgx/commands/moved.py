"""``cgx moved``: anchors across revisions. The work is done by :func:`cgx.workflow.moved.run_moved`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cgx.commands.options import Force, Json, Quiet, SourceOption, Store, Workspace


def moved(
    anchors: Annotated[
        list[str] | None, typer.Argument(metavar="ANCHOR | RECORD", help="Anchors, or record files.")
    ] = None,
    from_: Annotated[str, typer.Option("--from", metavar="REV", help="The revision that the anchors hold for.")] = ...,  # type: ignore[assignment]
    to: Annotated[str, typer.Option("--to", metavar="REV", help="The revision to follow them to.")] = ...,  # type: ignore[assignment]
    rewrite: Annotated[bool, typer.Option("--rewrite", help="Write the records again with the new anchors.")] = False,
    source: SourceOption = ".",
    workspace: Workspace = Path("."),
    force: Force = False,
    store: Store = None,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Follow anchors from one revision to another: unchanged, shifted, edited, moved, renamed, split, gone, ambiguous.

    Example:  cgx moved --from v1 --to v2 model.py:Block.forward:103
    """
    from cgx.workflow.moved import run_moved

    return run_moved(
        anchors or [], from_rev=from_, to_rev=to, rewrite=rewrite, source=source, quiet=quiet, json=json, workspace=workspace,
        force=force, store=store,
    )  # fmt: skip
