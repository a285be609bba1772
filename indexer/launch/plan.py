"""What a launch line says: the program, its words, its environment and how many processes run it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cgx.indexer.interpreter.values import ByRank, Unknown, Value
from cgx.model.anchors import Anchor

MAX_RANKS = 64  # ranks that are modelled one by one
UNKNOWN_RANKS = 2  # where their number is not known
Size = int | Unknown


@dataclass(slots=True)
class LaunchPlan:
    """One job to read.

    ``script``: path in the tree (or, where ``module`` is set, of that module, if it is there). ``function``: the
    ``package.module:name`` that a console script calls. ``argv[0]`` is the program as Python would show it; items and values of
    ``env`` are strings, ByRank (one string for each modelled rank) or Unknown. ``cwd``: folder of the tree in which it starts.
    ``files``: texts that the script writes before (here-documents), by path. ``anchor``: where a script starts the program.
    """

    words: list[str]
    env: dict[str, Value] = field(default_factory=dict)
    script: str | None = None
    module: str | None = None
    function: str | None = None
    argv: list[Value] = field(default_factory=list)
    nproc_per_node: Size = 1
    nnodes: Size = 1
    launcher: str = "python"
    cwd: str = ""
    files: dict[str, str] = field(default_factory=dict)
    assumed: dict[str, Any] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    anchor: Anchor | None = None

    @property
    def world_size(self) -> Size:
        """Processes of the job; Unknown where the line leaves it to the machine."""
        for size in (self.nproc_per_node, self.nnodes):
            if isinstance(size, Unknown):
                return size
        return self.nproc_per_node * self.nnodes  # type: ignore[operator]

    @property
    def ranks(self) -> int:
        """How many ranks are modelled one by one."""
        world = self.world_size
        if isinstance(world, Unknown):  # the first one and another: what sets rank 0 apart is told, not how many there are
            world = self.nproc_per_node if isinstance(self.nproc_per_node, int) else UNKNOWN_RANKS
        return max(1, min(world, MAX_RANKS))


def by_rank(count: int, value: Callable[[int], Value]) -> Value:
    """A value for each of ``count`` ranks; a plain value where all ranks agree."""
    values = tuple(value(rank) for rank in range(count))
    return values[0] if all(item == values[0] for item in values) else ByRank(values)
