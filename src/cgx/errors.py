"""The three channels of error.

What the user can fix is a :class:`UserError` (one line, exit 2). What the analysis cannot know is never an exception but
a value with a reason (:mod:`cgx.reasons`). Our own bug is a :class:`Fault`: caught per file, recorded, fatal under
``--strict`` (exit 3 where nothing could be made).
"""

from __future__ import annotations


class UserError(Exception):
    """Something the user can fix. The message is one line that says what is wrong and how to mend it."""


class Fault(Exception):
    """An internal fault: our bug. Carries where it happened so that it can be reported."""

    def __init__(self, message: str, where: str = "") -> None:
        super().__init__(message)
        self.where = where
