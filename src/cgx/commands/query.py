"""``cgx query``: one question to the graph. The work is done by :func:`cgx.ask.query.run_query`."""

from __future__ import annotations

from typing import Annotated

import typer

from cgx.commands.options import SourceOption, Store


def query(
    statement: Annotated[
        str, typer.Argument(metavar='"CYPHER" | NAME', help="A statement, or the name of a shipped query.")
    ],
    param: Annotated[list[str] | None, typer.Option("--param", "-p", metavar="k=v", help="A parameter.")] = None,
    format: Annotated[
        str, typer.Option("--format", metavar="table|json|jsonl|csv|mermaid|dot", help="Form of the rows.")
    ] = "table",
    store: Store = None,
    source: SourceOption = ".",
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=0, help="Rows to show (0: all).")] = 1000,
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="S", min=0, help="Seconds a statement may take.")
    ] = 30.0,
) -> int:
    """Ask the graph in Cypher (read-only), or run a shipped query by its name.

    Example:  cgx query "MATCH (m:ModuleEntry) RETURN m.module_path, m.multiplicity ORDER BY m.module_path"
    """
    from cgx.ask.query import run_query

    return run_query(
        statement, params=param or [], format=format, store=store, source=source, limit=limit, timeout=timeout
    )
