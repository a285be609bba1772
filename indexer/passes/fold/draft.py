"""An entry of the computation graph while it is being made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from cgx.indexer.interpreter.values import ModuleInstance
from cgx.model.anchors import Anchor


@dataclass(slots=True)
class Repeat:
    """How often a unit stands here. ``count`` is None where it is not known; ``by`` is ``instances`` or ``calls``."""

    count: int | None
    by: str
    unit: str = ""
    expr: str = ""
    anchor: Anchor | None = None


@dataclass(slots=True)
class Condition:
    """The undecided condition that an entry runs under."""

    expr: str
    anchor: Anchor

    def under(self, outer: Condition | None) -> Condition:
        return self if outer is None else Condition(f"{outer.expr} and {self.expr}", self.anchor)


@dataclass(eq=False, slots=True)
class Draft:
    """One entry. ``path`` is folded, None for ops and loops; ``children`` stand in execution order.

    ``runs`` is False for a module whose own forward the step never calls. ``ordered`` is False for what takes no place in
    the execution order: those modules, and containers.
    """

    level: str
    name: str
    kind: str
    anchor: Anchor | None
    path: str | None = None
    children: list[Draft] = field(default_factory=list)
    constructed_at: Anchor | None = None
    called_from: list[Anchor] = field(default_factory=list)
    repeat: Repeat | None = None
    recomputed: int | None = None
    shapes: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    parameters: dict[str, list[Any]] = field(default_factory=dict)
    shares: str | None = None
    wrapped_by: list[str] = field(default_factory=list)
    phase: str | None = None
    when: Condition | None = None
    runs: bool | None = None
    ordered: bool = True
    module: ModuleInstance | None = None
    text: str = ""  # source text of an op, whole
    stand_in: bool = False  # a method or stretch of code that runs parts of a model, in place of its own forward

    def walk(self) -> Iterator[Draft]:
        stack = [self]
        while stack:
            draft = stack.pop()
            yield draft
            stack.extend(reversed(draft.children))


NOTHING = ("", "")
"""In place of an option and a name: no option of the user settles it."""


@dataclass(slots=True)
class Open:
    """Something that could not be derived: what a record lists under ``unresolved``.

    ``settle``: the option and the name that would settle it; ``--set`` and the name where it is None.
    """

    name: str
    field: str
    reason: str
    anchor: Anchor | None = None
    entry: Draft | None = None
    settle: tuple[str, str] | None = None
