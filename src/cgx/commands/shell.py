"""``cgx shell``: questions to the graph, interactively. The work is done by :func:`cgx.ask.shell.run_shell`."""

from __future__ import annotations

from cgx.commands.options import SourceOption, Store


def shell(store: Store = None, source: SourceOption = ".") -> int:
    """Ask the graph interactively: history, completion, `:help`.

    Example:  cgx shell --store neo4j://127.0.0.1:7687
    """
    from cgx.ask.shell import run_shell

    return run_shell(store=store, source=source)
