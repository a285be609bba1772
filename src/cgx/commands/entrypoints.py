"""``cgx entrypoints``: the jobs of a tree. The work is done by :func:`cgx.indexer.launch.entrypoints.find_entrypoints`."""

from __future__ import annotations

from typing import Annotated

import typer

from cgx.commands.options import Json, Rev, Source, Worktree


def entrypoints(
    source: Source = ".",
    rev: Rev = None,
    worktree: Worktree = False,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=0, help="How many to show (0: all).")] = 40,
    json: Json = False,
) -> int:
    """List the jobs found: launchable scripts, console scripts, launch lines in scripts and docs, ranked.

    Example:  cgx entrypoints . --json
    """
    import json as json_module

    from cgx.indexer.launch.entrypoints import find_entrypoints
    from cgx.indexer.source import open_tree

    tree = open_tree(source, rev=rev, worktree=worktree)
    try:
        found = find_entrypoints(tree)
    finally:
        tree.close()
    shown = found[:limit] if limit else found
    if json:
        print(json_module.dumps([entry.as_dict() for entry in shown], indent=2, ensure_ascii=False))
        return 0
    for entry in shown:
        print(f"{entry.line}\n    {entry.kind}  {entry.anchor}  {entry.why}")
    if len(shown) < len(found):
        print(f"... and {len(found) - len(shown)} more (--limit 0 shows all)")
    return 0
