"""Where a statement ends: at a ``;`` outside strings, back-ticks and comments."""

from __future__ import annotations

import re

_TOKEN = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|//[^\n]*|/\*.*?\*/|;|'|\"|`|/\*", re.DOTALL)


def split_statements(text: str) -> tuple[list[str], str]:
    """The whole statements of a text, without their ``;``, and what is left of one that has not ended yet."""
    found: list[str] = []
    start = 0
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token == ";":
            statement = text[start : match.start()].strip()
            if statement:
                found.append(statement)
            start = match.end()
        elif token in ("'", '"', "`", "/*"):  # opened and not closed: the rest belongs to it
            break
    return found, text[start:].strip()


def is_command(text: str) -> bool:
    return text.lstrip().startswith(":")
