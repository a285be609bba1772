"""Command substitution: the output of the few commands that change nothing."""

from __future__ import annotations

import posixpath
from collections.abc import Callable

from cgx.indexer.launch.shell.expand import expand
from cgx.indexer.launch.shell.lexer import ShellSyntaxError
from cgx.indexer.launch.shell.parser import assign_word, parse_shell
from cgx.indexer.launch.shell.state import State, is_known, unknown
from cgx.indexer.launch.shell.syntax import (
    Assign,
    Sequence,
    Simple,
    Word,
)

Status = bool | None
MAX_NUMBERS = 1000  # numbers that `seq` gives


def substitute(state: State, text: str) -> str:
    """``$(...)`` of what changes nothing: echo, pwd, dirname, basename, seq, printf; everything else is not known."""
    try:
        node = parse_shell(text)
    except ShellSyntaxError:
        return unknown(f"$({text})")
    outputs: list[str] = []
    fork = state.fork()
    for _connector, step in node.steps if isinstance(node, Sequence) else ():
        if not isinstance(step, Simple) or not step.words or not isinstance(step.words[0], Word):
            return unknown(f"$({text})")
        words = [
            piece
            for item in step.words
            for piece in expand(fork, assign_word(item) if isinstance(item, Assign) else item, substitute)
        ]
        if words and words[0] == "cd":
            change_folder(fork, words)
            continue
        reader = _OUTPUTS.get(words[0]) if words else None
        output = reader(fork, words) if reader is not None else None
        if output is None:
            return unknown(f"$({text})")
        outputs.append(output)
    return "\n".join(outputs)


def _seq(state: State, words: list[str]) -> str | None:
    numbers = [int(word) for word in words[1:] if word.lstrip("-").isdigit()]
    if not 1 <= len(numbers) <= 3 or len(numbers) != len(words) - 1:
        return None
    first, step, last = [
        (1, 1, numbers[0]),
        (numbers[0], 1, numbers[-1]),
        (numbers[0], numbers[1 % len(numbers)], numbers[-1]),
    ][len(numbers) - 1]
    return "\n".join(str(number) for number in range(first, last + (1 if step > 0 else -1), step or 1)[:MAX_NUMBERS])


def _basename(state: State, words: list[str]) -> str | None:
    """Its word may have been left out: an empty variable without quotes is no word."""
    return posixpath.basename(words[1]).removesuffix(words[2] if words[2:] else "") if words[1:] else None


_OUTPUTS: dict[str, Callable[[State, list[str]], str | None]] = {
    "echo": lambda state, words: " ".join(word for word in words[1:] if word not in ("-n", "-e")),
    "pwd": lambda state, words: state.cwd or ".",
    "dirname": lambda state, words: posixpath.dirname(words[-1]) or "." if words[1:] else None,
    "basename": _basename,
    "realpath": lambda state, words: words[-1] if words[1:] else None,
    "readlink": lambda state, words: words[-1] if words[1:] else None,
    "seq": _seq,
}


def change_folder(state: State, words: list[str]) -> Status:
    target = words[1] if len(words) > 1 else unknown("~")
    if not is_known(target) or target.startswith("/"):
        state.problems.append(f"cd {target.strip(chr(0xE000) + chr(0xE001))}: outside the source, taken as its root")
        return None
    path = posixpath.normpath(posixpath.join(state.cwd, target))
    if path.startswith(".."):
        path = ""
    state.cwd = "" if path == "." else path
    return True
