"""What a script has set while it is read: variables, positional words, folder, functions, the programs it started."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cgx.indexer.launch.shell.syntax import Node

OPEN, CLOSE = "\ue000", "\ue001"  # private-use characters: they hold the source text of what is not known
MAX_TEXT = 100_000  # characters of one value or of one command's words
MAX_STEPS = 20_000  # commands read in one launch line, all scripts together


def unknown(text: str) -> str:
    """A piece of text that is not known; ``text`` is its source."""
    return f"{OPEN}{text.replace(OPEN, '').replace(CLOSE, '')}{CLOSE}"


def bounded(value: str | list[str]) -> bool:
    """Whether a value is of a size that scripts really have: one that doubles each round would fill the memory."""
    return len(value) <= MAX_TEXT and (isinstance(value, str) or sum(map(len, value)) <= MAX_TEXT)


def is_known(text: str) -> bool:
    return OPEN not in text


@dataclass(frozen=True, slots=True)
class Started:
    """A program that the script starts: its words and environment, with the folder and the script line it stands at."""

    words: tuple[str, ...]
    env: dict[str, str]
    cwd: str
    path: str
    line: int
    certain: bool = True  # False under a condition that is not known


@dataclass(slots=True)
class State:
    """The state of one shell. ``path`` is the script that is read ("" for the launch line itself)."""

    tree: Any
    variables: dict[str, str | list[str]] = field(default_factory=dict)
    exported: set[str] = field(default_factory=set)
    positional: list[str] = field(default_factory=list)
    functions: dict[str, Node] = field(default_factory=dict)
    cwd: str = ""
    path: str = ""
    started: list[Started] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)  # written by here-documents
    problems: list[str] = field(default_factory=list)
    steps: list[int] = field(default_factory=lambda: [0])  # commands read so far; forks count on the same
    depth: int = 0
    certain: bool = True
    assigned: set[str] = field(default_factory=set)

    def fork(self) -> State:
        """A subshell: its changes stay in it, but what it starts is seen."""
        return State(
            self.tree, {k: list(v) if isinstance(v, list) else v for k, v in self.variables.items()}, set(self.exported),
            list(self.positional), dict(self.functions), self.cwd, self.path, self.started, self.files, self.problems,
            self.steps, self.depth, self.certain, set(self.assigned),
        )  # fmt: skip

    def adopt(self, other: State) -> None:
        """Take over what another shell of the same script has set."""
        self.variables, self.exported, self.positional = other.variables, other.exported, other.positional
        self.functions, self.cwd, self.assigned = other.functions, other.cwd, other.assigned

    def get(self, name: str) -> str | None:
        """A scalar variable, None where it is not set."""
        value = self.variables.get(name)
        if isinstance(value, list):
            return value[0] if value else None
        return value

    def environment(self) -> dict[str, str]:
        return {name: value for name in sorted(self.exported) if (value := self.get(name)) is not None}
