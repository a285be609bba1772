"""``cgx queries``: the shipped queries. The work is done by :func:`cgx.ask.listing.run_queries`."""

from __future__ import annotations

from typing import Annotated

import typer

from cgx.commands.options import Json


def queries(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="One query: its header and its text.")] = None,
    json: Json = False,
) -> int:
    """List the shipped queries by group, or show one.

    Example:  cgx queries module_tree
    """
    from cgx.ask.listing import run_queries

    return run_queries(name, json=json)
