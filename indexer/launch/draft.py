"""A launch line half read: the words that are left, and what the launchers in front of them said."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cgx.indexer.interpreter.values import Unknown, Value
from cgx.indexer.launch.plan import LaunchPlan, Size


@dataclass(slots=True)
class Draft:
    """``words``: what is still to be read. ``extra``: words that the launcher adds in front of the program's own."""

    plan: LaunchPlan
    words: list[str]
    tree: Any
    env: dict[str, str]
    extra: list[Value] = field(default_factory=list)
    module: bool = False  # the program is a module name
    direct: bool = False  # the program is not Python (--no_python)
    assume: dict[str, Any] = field(default_factory=dict)

    def size(self, text: str | None, name: str, default: Size | None = 1) -> Size:
        """A number of processes or nodes. ``gpu``, ``auto`` and ranges are left to the machine, unless the user sets them.

        ``default``: what no text means; None where that is the machine's too.
        """
        if name in self.assume and isinstance(self.assume[name], int):
            self.plan.assumed[name] = self.assume[name]
            return int(self.assume[name])
        if text is None:
            return by_machine(name) if default is None else default
        if text.isdigit():
            return int(text)
        return by_machine(name)


def by_machine(name: str) -> Unknown:
    """A count that the machine decides; the user can set it under ``name``."""
    return Unknown(name, "environment", hint="int", settle=("--set", name))


def take_options(
    words: list[str], flags: frozenset[str], pairs: frozenset[str] = frozenset()
) -> tuple[dict[str, list[str]], list[str]]:
    """Options in front of ``words`` and the rest, which starts at the first word that is none.

    Names come without dashes and with ``_`` for ``-``. ``flags`` take no value, ``pairs`` take two, all others one.
    """
    found: dict[str, list[str]] = {}
    rest = list(words)
    while rest and rest[0].startswith("-") and rest[0] != "-":
        word = rest.pop(0)
        if word == "--":
            break
        name, equals, value = word.lstrip("-").partition("=")
        name = name.replace("-", "_")
        if equals:
            found.setdefault(name, []).append(value)
        elif name in flags:
            found.setdefault(name, []).append("")
        elif name in pairs:
            found.setdefault(name, []).append("=".join(rest[:2]))
            del rest[:2]
        elif rest:
            found.setdefault(name, []).append(rest.pop(0))
        else:
            found.setdefault(name, []).append("")
    return found, rest


def last(options: dict[str, list[str]], *names: str) -> str | None:
    """The last value given under one of ``names``."""
    for name in names:
        if name in options:
            return options[name][-1]
    return None
