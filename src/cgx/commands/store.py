"""``cgx store``: upkeep of stores. The work is done by :mod:`cgx.store.upkeep`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cgx.commands.options import Json, SourceOption, Store

app = typer.Typer(help="Copy a store, export it, or clean it up.", rich_markup_mode=None, no_args_is_help=True)


@app.command("copy")
def copy(
    origin: Annotated[str, typer.Argument(metavar="FROM", help="Store to read (a folder or a URL).")],
    target: Annotated[str, typer.Argument(metavar="TO", help="Store to write (a folder or a URL).")],
) -> int:
    """Copy what a store holds into another.

    Example:  cgx store copy ./graph neo4j://127.0.0.1:7687
    """
    from cgx.store.upkeep import run_copy

    return run_copy(origin, target)


@app.command("export")
def export(
    format: Annotated[
        str, typer.Option("--format", metavar="graphml|cypher|jsonl", help="Form of the file.")
    ] = "graphml",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="File (default: stdout).")
    ] = None,
    store: Store = None,
    source: SourceOption = ".",
) -> int:
    """Write the whole graph as GraphML, a Cypher script or JSON lines.

    Example:  cgx store export --format graphml -o graph.graphml
    """
    from cgx.store.upkeep import run_export

    return run_export(store=store, source=source, format=format, output=output)


@app.command("gc")
def gc(store: Store = None, source: SourceOption = ".", json: Json = False) -> int:
    """Remove what no commit and no job of the store holds any more.

    Example:  cgx store gc
    """
    from cgx.store.upkeep import run_gc

    return run_gc(store=store, source=source, json=json)
