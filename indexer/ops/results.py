"""Results with named fields: what ``torch.topk`` and its kind return."""

from __future__ import annotations

from collections.abc import Iterable

from cgx.indexer.interpreter.values import MISSING, Value


class NamedResult(tuple[Value, ...]):
    """A tuple of values whose items can also be read as attributes (torch.return_types.*)."""

    fields: tuple[str, ...]

    def __new__(cls, fields: Iterable[str], items: Iterable[Value]) -> NamedResult:
        result = super().__new__(cls, tuple(items))
        result.fields = tuple(fields)
        return result

    def field(self, name: str) -> Value:
        """The item called ``name``, or MISSING."""
        return self[self.fields.index(name)] if name in self.fields else MISSING
