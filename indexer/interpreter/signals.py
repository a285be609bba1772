"""How a body ends: a signal word, an abstract Python exception, or the end of the run."""

from __future__ import annotations

from cgx.indexer.interpreter.values import External, Instance, Opaque, Value
from cgx.model.anchors import Anchor

BREAK, CONTINUE, RETURN = "break", "continue", "return"


class Raised(Exception):
    """The analysed code surely raises. ``value`` is the abstract exception (Instance, Opaque or External)."""

    def __init__(self, value: Value, anchor: Anchor | None = None, message: str = "") -> None:
        super().__init__(message)
        self.value, self.anchor, self.message = value, anchor, message

    @property
    def kind(self) -> str:
        if isinstance(self.value, Instance):
            return self.value.cls.name
        if isinstance(self.value, External):
            return self.value.tail
        return str(getattr(self.value, "qname", "")).rpartition(".")[2]

    @property
    def fails(self) -> bool:
        """An exit that says something went wrong: with a number other than 0, or with a text."""
        given = self.value.attrs.get("args") if isinstance(self.value, Opaque | Instance) else None
        return self.kind == "SystemExit" and isinstance(given, tuple) and bool(given) and isinstance(given[0], int | str) and bool(given[0])


class StopConsumer(Exception):
    """The consumer of a generator leaves its loop: unwinds the generator's frame."""

    def __init__(self, token: object) -> None:
        super().__init__()
        self.token = token


class StopRun(Exception):
    """The script ends (sys.exit, or a budget of the whole run)."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason


class Overspent(Exception):
    """A loop of the job goes through data: it is evaluated once for all instead."""
