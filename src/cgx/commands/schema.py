"""``cgx schema``: node and edge kinds. The work is done by :func:`cgx.ask.listing.run_schema`."""

from __future__ import annotations

from cgx.commands.options import Json


def schema(json: Json = False) -> int:
    """Show the node and edge kinds of the graph with their properties.

    Example:  cgx schema --json
    """
    from cgx.ask.listing import run_schema

    return run_schema(json=json)
