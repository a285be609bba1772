"""The shell fed by a pipe: statements until the input ends, none after one that fails."""

from __future__ import annotations

import contextlib
from typing import TextIO

from cgx.ask.shell.commands import run_text
from cgx.ask.shell.session import Leave, Session


def run_script(session: Session, source: TextIO) -> int:
    """Run what the input holds. A UserError ends it, as in cypher-shell, and is told by the caller."""
    with contextlib.suppress(Leave):
        run_text(session, source.read())
    return 0
