"""Shell text to tokens: quotes, expansions, comments, here-documents, array literals."""

from __future__ import annotations

import re

from cgx.indexer.launch.shell.syntax import Assign, Part, Token, Word

OPERATORS = (
    "<<<", "<<-", "&>>", ";;&", "&&", "||", ";;", ";&", "<<", ">>", ">&", "<&", "<>", ">|", "&>", "|&", ";", "&", "|", "<", ">", "(", ")",
)  # fmt: skip
_PLAIN = re.compile(r"[^ \t\n;&|<>()\\'\"$`]+").match
_QUOTED = re.compile(r'[^"\\$`]+|\\').match
_ASSIGN = re.compile(r"([A-Za-z_]\w*)(?:\[([^\]=]*)\])?(\+?)=")
_NAME = re.compile(r"[A-Za-z_]\w*|[0-9]|[@*#?$!-]")


class ShellSyntaxError(Exception):
    """The text is not shell that this reader takes."""


class Lexer:
    """Reads ``text`` from ``pos`` on; :meth:`tokens` gives all of it."""

    def __init__(self, text: str) -> None:
        self.text = text.replace("\r\n", "\n")
        self.pos = 0
        self.line = 1
        self._heredocs: list[tuple[Token, str, bool, bool]] = []

    def tokens(self) -> list[Token]:
        found: list[Token] = []
        while True:
            token = self._next()
            found.append(token)
            if token.kind == "operator" and token.text in ("<<", "<<-"):
                found.append(self._heredoc_start(token))
            if token.kind == "end":
                return found

    # -- tokens -------------------------------------------------------------------------------------------------

    def _next(self) -> Token:
        self._skip_blank()
        line = self.line
        if self.pos >= len(self.text):
            return Token("end", line=line)
        char = self.text[self.pos]
        if char == "\n":
            self.pos += 1
            self.line += 1
            self._read_heredocs()
            return Token("newline", "\n", line=line)
        if self.text.startswith("((", self.pos):
            end = self._matching(self.pos + 2, "(", ")")
            if self.text.startswith(")", end + 1):
                inner = self.text[self.pos + 2 : end]
                self._advance(end + 2)
                return Token("arithmetic", inner, line=line)
        if (match := re.compile(r"\d+(?=[<>])").match(self.text, self.pos)) is not None:
            self.pos = match.end()  # the descriptor of a redirection tells nothing here
        for operator in OPERATORS:
            if self.text.startswith(operator, self.pos):
                self.pos += len(operator)
                return Token("operator", operator, line=line)
        return self._word_token(line)

    def _word_token(self, line: int) -> Token:
        match = _ASSIGN.match(self.text, self.pos)
        if match is None:
            word = self._word()
            return Token("word", word=word, line=line)
        name, index, plus = match.group(1), match.group(2), bool(match.group(3))
        self.pos = match.end()
        if self.text.startswith("(", self.pos):
            self.pos += 1
            return Token("assign", assign=Assign(name, self._array(), plus), line=line)
        return Token("assign", assign=Assign(name, self._word(), plus, index), line=line)

    def _array(self) -> tuple[Word, ...]:
        words: list[Word] = []
        while True:
            self._skip_blank(newlines=True)
            if self.pos >= len(self.text):
                raise ShellSyntaxError("an array literal is not closed")
            if self.text[self.pos] == ")":
                self.pos += 1
                return tuple(words)
            if self.text[self.pos] in ";&|<>(":
                raise ShellSyntaxError(f"line {self.line}: unexpected {self.text[self.pos]!r}")
            words.append(self._word())

    def _skip_blank(self, newlines: bool = False) -> None:
        while self.pos < len(self.text):
            char = self.text[self.pos]
            if char in " \t":
                self.pos += 1
            elif self.text.startswith("\\\n", self.pos):
                self._advance(self.pos + 2)
            elif char == "#":
                end = self.text.find("\n", self.pos)
                self.pos = len(self.text) if end < 0 else end
            elif newlines and char == "\n":
                self._advance(self.pos + 1)
            else:
                return

    def _advance(self, pos: int) -> None:
        self.line += self.text.count("\n", self.pos, pos)
        self.pos = pos

    # -- words --------------------------------------------------------------------------------------------------

    def _word(self, whole: bool = False) -> Word:
        """One word; ``whole``: all of the text, blanks and operators included."""
        parts: list[Part] = []
        start = self.pos
        while self.pos < len(self.text):
            char = self.text[self.pos]
            if char in " \t\n;&|<>()":
                if not whole:
                    break
                parts.append(Part("text", char))
                self.pos += 1
                continue
            if char == "\\":
                if self.text.startswith("\\\n", self.pos):
                    self._advance(self.pos + 2)
                    continue
                parts.append(Part("text", self.text[self.pos + 1 : self.pos + 2], True))
                self.pos += 2
            elif char == "'":
                parts.append(Part("text", self._until_quote(), True))
            elif char == '"':
                parts.extend(self._double_quoted())
            elif char == "$":
                parts.append(self._dollar(False))
            elif char == "`":
                parts.append(self._backtick(False))
            else:
                match = _PLAIN(self.text, self.pos)
                assert match is not None
                parts.append(Part("text", match.group()))
                self.pos = match.end()
        if self.pos == start and start < len(self.text) and self.text[start] in "()":
            raise ShellSyntaxError(f"line {self.line}: unexpected {self.text[start]!r}")
        return Word(tuple(parts))

    def _until_quote(self) -> str:
        end = self.text.find("'", self.pos + 1)
        if end < 0:
            raise ShellSyntaxError(f"line {self.line}: a quote is not closed")
        inner = self.text[self.pos + 1 : end]
        self._advance(end + 1)
        return inner

    def _double_quoted(self) -> list[Part]:
        self.pos += 1
        parts: list[Part] = []
        while True:
            if self.pos >= len(self.text):
                raise ShellSyntaxError(f"line {self.line}: a quote is not closed")
            char = self.text[self.pos]
            if char == '"':
                self.pos += 1
                return parts or [Part("text", "", True)]  # "" is a word, "$@" without words is none
            if char == "\\" and self.text.startswith(('"', "\\", "$", "`", "\n"), self.pos + 1):
                if self.text[self.pos + 1] != "\n":
                    parts.append(Part("text", self.text[self.pos + 1], True))
                self._advance(self.pos + 2)
            elif char == "$":
                parts.append(self._dollar(True))
            elif char == "`":
                parts.append(self._backtick(True))
            else:
                match = _QUOTED(self.text, self.pos)
                assert match is not None
                parts.append(Part("text", match.group(), True))
                self._advance(match.end())

    def _dollar(self, quoted: bool) -> Part:
        rest = self.pos + 1
        if self.text.startswith("((", rest):
            end = self._matching(rest + 2, "(", ")")
            if self.text.startswith(")", end + 1):
                inner = self.text[rest + 2 : end]
                self._advance(end + 2)
                return Part("arithmetic", inner, quoted)
        for opening, closing, kind in (("(", ")", "command"), ("{", "}", "variable")):
            if self.text.startswith(opening, rest):
                end = self._matching(rest + 1, opening, closing)
                inner = self.text[rest + 1 : end]
                self._advance(end + 1)
                return Part(kind, inner, quoted)
        if not quoted and self.text.startswith("'", rest):
            self.pos = rest
            inner = self._until_quote()
            return Part("text", re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), inner), True)
        match = _NAME.match(self.text, rest)
        if match is None:
            self.pos += 1
            return Part("text", "$", quoted)
        self.pos = match.end()
        return Part("variable", match.group(), quoted)

    def _backtick(self, quoted: bool) -> Part:
        end = self.pos + 1
        while end < len(self.text) and self.text[end] != "`":
            end += 2 if self.text[end] == "\\" else 1
        inner = self.text[self.pos + 1 : end].replace("\\`", "`")
        self._advance(end + 1)
        return Part("command", inner, quoted)

    def _matching(self, start: int, opening: str, closing: str) -> int:
        """Where the bracket that is open at ``start`` closes, quotes skipped."""
        depth, pos = 1, start
        while pos < len(self.text):
            char = self.text[pos]
            if char == "\\":
                pos += 1
            elif char == "'" and opening == "(":
                pos = self.text.find("'", pos + 1)
                if pos < 0:
                    break
            elif char == opening:
                depth += 1
            elif char == closing:
                depth -= 1
                if depth == 0:
                    return pos
            pos += 1
        raise ShellSyntaxError(f"line {self.line}: {opening} is not closed")

    # -- here-documents -----------------------------------------------------------------------------------------

    def _heredoc_start(self, operator: Token) -> Token:
        self._skip_blank()
        word = self._word()
        quoted = any(part.quoted for part in word.parts)
        stop = "".join(part.text for part in word.parts)
        token = Token("word", word=Word(()), line=operator.line)
        self._heredocs.append((token, stop, operator.text == "<<-", quoted))
        return token

    def _read_heredocs(self) -> None:
        for token, stop, strip, quoted in self._heredocs:
            lines: list[str] = []
            while self.pos < len(self.text):
                end = self.text.find("\n", self.pos)
                end = len(self.text) if end < 0 else end
                line = self.text[self.pos : end]
                self._advance(min(end + 1, len(self.text)))
                line = line.lstrip("\t") if strip else line
                if line.strip() == stop:
                    break
                lines.append(line + "\n")
            text = "".join(lines)
            token.word = Word((Part("text", text, True),)) if quoted else template(text)
        self._heredocs.clear()


def template(text: str) -> Word:
    """``text`` as inside double quotes: expansions are parts, nothing is split."""
    return Word(tuple(Lexer('"' + text.replace('"', '\\"') + '"')._double_quoted()))


def inner_word(text: str) -> Word:
    """The word inside ``${name:-word}``: quotes count, blanks do not end it."""
    return Lexer(text)._word(whole=True)
