"""``cgx shell``: statements, shipped queries and ``:commands``, on a terminal or from a pipe."""

from __future__ import annotations

import sys

from cgx.ask.shell.session import Session
from cgx.ask.where import open_where


def run_shell(*, store: str | None, source: str) -> int:
    """Ask until the input ends. Returns the exit code: from a pipe, 2 after the first statement that fails."""
    where = open_where(store, source)
    with where.store:
        session = Session(where, sys.stdout)
        if sys.stdin.isatty():
            from cgx.ask.shell.prompt import interact

            return interact(session)
        from cgx.ask.shell.script import run_script

        return run_script(session, sys.stdin)
