"""What can go wrong with a store that the user can mend."""

from __future__ import annotations

from cgx.errors import UserError


class StoreError(UserError):
    """The store cannot be opened, locked, read or written."""


class QueryError(UserError):
    """A statement is wrong, is not read-only, or ran out of its time."""
