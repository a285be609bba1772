"""``cgx resolve``: what stands at a place. The work is done by :func:`cgx.indexer.names.resolve.run_resolve`."""

from __future__ import annotations

from typing import Annotated

import typer

from cgx.commands.options import Env, Json, Rev, SourceOption, Store, Worktree


def resolve(
    anchor: Annotated[
        str, typer.Argument(metavar="ANCHOR | FILE:LINE", help="`path:Symbol.name:line` or `path:line`.")
    ],
    source: SourceOption = ".",
    rev: Rev = None,
    worktree: Worktree = False,
    env: Env = None,
    store: Store = None,
    deep: Annotated[bool, typer.Option("--deep", help="Ask Jedi about this site too.")] = False,
    json: Json = False,
) -> int:
    """Say what stands there: symbol, source, callers, callees.

    Example:  cgx resolve train.py:255
    """
    from cgx.indexer.names.resolve import run_resolve

    return run_resolve(
        anchor, source=source, rev=rev, worktree=worktree, env=env or [], store=store, deep=deep, json=json
    )
