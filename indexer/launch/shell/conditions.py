"""``test``, ``[`` and ``[[``: True, False, or None where it is not known."""

from __future__ import annotations

import fnmatch
import posixpath
import re

from cgx.indexer.launch.shell.state import State, is_known

_FILES = {"-e", "-f", "-d", "-s", "-r", "-x", "-w", "-L", "-h", "-b", "-c", "-p"}
_NUMBERS = {"-eq": "==", "-ne": "!=", "-lt": "<", "-le": "<=", "-gt": ">", "-ge": ">="}


def test(state: State, words: list[str], pattern: bool) -> bool | None:
    """The outcome of a test's words. ``pattern``: ``==`` matches a glob, as in ``[[ ]]``."""
    return _Test(state, words, pattern).either()


class _Test:
    def __init__(self, state: State, words: list[str], pattern: bool) -> None:
        self.state, self.words, self.pattern, self.pos = state, words, pattern, 0

    def peek(self, ahead: int = 0) -> str | None:
        place = self.pos + ahead
        return self.words[place] if place < len(self.words) else None

    def take(self) -> str:
        word = self.words[self.pos] if self.pos < len(self.words) else ""
        self.pos += 1
        return word

    def either(self) -> bool | None:
        left = self.both()
        while self.peek() in ("-o", "||"):
            self.take()
            right = self.both()
            left = True if left is True or right is True else None if left is None or right is None else False
        return left

    def both(self) -> bool | None:
        left = self.one()
        while self.peek() in ("-a", "&&"):
            self.take()
            right = self.one()
            left = False if left is False or right is False else None if left is None or right is None else True
        return left

    def one(self) -> bool | None:
        word = self.peek()
        if word is None:
            return False
        if word == "!":
            self.take()
            inner = self.one()
            return None if inner is None else not inner
        if word == "(":
            self.take()
            inner = self.either()
            self.take()
            return inner
        operator = self.peek(1)
        if operator in ("=", "==", "!=", "=~", "<", ">") or operator in _NUMBERS:
            left, operator, right = self.take(), self.take(), self.take()
            return self.compare(left, operator, right)
        if (
            word.startswith("-")
            and len(word) == 2
            and self.peek(1) is not None
            and self.peek(1) not in ("]", "-a", "-o")
        ):
            self.take()
            return self.unary(word, self.take())
        self.take()
        return _empty(word, invert=True)

    def unary(self, operator: str, value: str) -> bool | None:
        if operator == "-z":
            return _empty(value)
        if operator == "-n":
            return _empty(value, invert=True)
        if operator == "-v":
            return value in self.state.variables
        if operator in _FILES and is_known(value):
            path = posixpath.normpath(posixpath.join(self.state.cwd, value))
            known = (
                path == "." or self.state.tree.exists(path) or self.state.tree.isdir(path) or path in self.state.files
            )
            return True if known else None  # what the commit does not hold may be there at run time
        return None

    def compare(self, left: str, operator: str, right: str) -> bool | None:
        if operator in _NUMBERS:
            if not (re.fullmatch(r"-?\d+", left.strip()) and re.fullmatch(r"-?\d+", right.strip())):
                return None
            a, b = int(left), int(right)
            return {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[_NUMBERS[operator]]
        if not (is_known(left) and is_known(right)):
            return None
        if operator == "=~":
            try:
                return re.search(right, left) is not None
            except re.error:
                return None
        if operator in ("<", ">"):
            return left < right if operator == "<" else left > right
        same = fnmatch.fnmatchcase(left, right) if self.pattern else left == right
        return same if operator != "!=" else not same


def _empty(text: str, invert: bool = False) -> bool | None:
    """Is the text empty? A variable that nobody set counts as empty; other unknowns stay open."""
    if not is_known(text):
        unset = re.fullmatch(r"\ue000\$\w+\ue001", text) is not None
        return (not invert) if unset else None
    return (text == "") != invert
