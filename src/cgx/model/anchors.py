"""Where a fact stands: ``path:Symbol.name:line`` at a commit."""

from __future__ import annotations

from dataclasses import dataclass

MODULE = "<module>"


@dataclass(frozen=True, order=True, slots=True)
class Anchor:
    """A place in source. ``path`` is relative to the source root (or to the ``--env`` folder that holds it), with ``/``.

    ``symbol`` is the enclosing qualified name (``Class.method``, ``outer.inner``) or ``<module>``; ``line`` is 1-based.
    """

    path: str
    symbol: str
    line: int
    end_line: int | None = None

    def __str__(self) -> str:
        return f"{self.path}:{self.symbol}:{self.line}"

    @classmethod
    def parse(cls, text: str) -> Anchor:
        """Read ``path:Symbol:line``. The path may itself hold colons; raises ValueError if the form is wrong."""
        path, symbol, line = text.rsplit(":", 2)
        if not path or not symbol:
            raise ValueError(f"not an anchor: {text!r}")
        return cls(path, symbol, int(line))
