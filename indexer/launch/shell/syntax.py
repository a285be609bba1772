"""The syntax tree of a shell script. Words keep their parts, because quoting decides how they are split."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class Part(NamedTuple):
    """A piece of a word. ``kind``: text, variable (inside of ``${}``), command (inside of ``$()``) or arithmetic."""

    kind: str
    text: str
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Word:
    parts: tuple[Part, ...]

    @property
    def literal(self) -> str | None:
        """The text where nothing is to be expanded or unquoted, else None."""
        if all(part.kind == "text" and not part.quoted for part in self.parts):
            return "".join(part.text for part in self.parts)
        return None


@dataclass(frozen=True, slots=True)
class Assign:
    """``NAME=word`` or ``NAME=(words)``; ``append`` for ``+=``, ``index`` for ``NAME[i]=word``."""

    name: str
    value: Word | tuple[Word, ...]
    append: bool = False
    index: str | None = None


@dataclass(frozen=True, slots=True)
class Redirect:
    """``operator`` such as ``>``, ``<<``; a here-document's text is the target word."""

    operator: str
    target: Word


@dataclass(frozen=True, slots=True)
class Simple:
    assigns: tuple[Assign, ...]
    words: tuple[Word | Assign, ...]  # assignments stand among the words of export, declare, local
    redirects: tuple[Redirect, ...]
    line: int = 0


@dataclass(frozen=True, slots=True)
class Sequence:
    """``steps``: (connector before it, command); the connector is ``;``, ``&&`` or ``||``."""

    steps: tuple[tuple[str, Node], ...]


@dataclass(frozen=True, slots=True)
class Pipeline:
    commands: tuple[Node, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class If:
    branches: tuple[tuple[Node, Node], ...]
    otherwise: Node | None


@dataclass(frozen=True, slots=True)
class For:
    name: str
    words: tuple[Word, ...] | None
    body: Node


@dataclass(frozen=True, slots=True)
class While:
    test: Node
    body: Node
    until: bool


@dataclass(frozen=True, slots=True)
class Case:
    word: Word
    arms: tuple[tuple[tuple[Word, ...], Node], ...]


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    body: Node


@dataclass(frozen=True, slots=True)
class Group:
    body: Node
    subshell: bool


@dataclass(frozen=True, slots=True)
class Arithmetic:
    text: str


Node = Simple | Sequence | Pipeline | If | For | While | Case | Function | Group | Arithmetic


@dataclass(slots=True)
class Token:
    """``kind``: word, assign, operator, newline or end."""

    kind: str
    text: str = ""
    word: Word | None = None
    assign: Assign | None = None
    line: int = 0
    heredoc: list[Word] = field(default_factory=list)  # filled when the body has been read
