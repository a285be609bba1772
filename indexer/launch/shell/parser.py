"""Shell tokens to a syntax tree: lists, pipelines, if, for, while, case, functions, groups."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from cgx.indexer.launch.shell.lexer import Lexer, ShellSyntaxError
from cgx.indexer.launch.shell.syntax import (
    Arithmetic,
    Assign,
    Case,
    For,
    Function,
    Group,
    If,
    Node,
    Part,
    Pipeline,
    Redirect,
    Sequence,
    Simple,
    Token,
    While,
    Word,
)

REDIRECTS = frozenset({"<", ">", ">>", "<<", "<<-", "<<<", ">&", "<&", "&>", "&>>", ">|", "<>"})
ENDS = frozenset({"then", "fi", "elif", "else", "do", "done", "esac", "}"})


@lru_cache(maxsize=256)  # one library of functions is sourced by many scripts; nodes cannot change
def parse_shell(text: str) -> Node:
    """The tree of a script; raises :class:`ShellSyntaxError`."""
    parser = _Parser(Lexer(text).tokens())
    node = parser.sequence()
    if parser.token.kind != "end":
        raise ShellSyntaxError(f"line {parser.token.line}: unexpected {parser.token.text or 'word'}")
    return node


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self.tokens, self.pos = tokens, 0

    @property
    def token(self) -> Token:
        return self.tokens[self.pos]

    def reserved(self) -> str:
        """The word that stands here if it is a plain one, else an empty text."""
        token = self.token
        return (token.word.literal or "") if token.kind == "word" and token.word is not None else ""

    def take(self) -> Token:
        token = self.token
        if token.kind != "end":  # what is looked for behind the end is not there, and the last token goes on to say so
            self.pos += 1
        return token

    def operator(self, *texts: str) -> bool:
        return self.token.kind == "operator" and self.token.text in texts

    def expect(self, word: str) -> None:
        self.newlines()
        if self.reserved() != word:
            raise ShellSyntaxError(f"line {self.token.line}: expected {word!r}")
        self.take()

    def newlines(self) -> None:
        while self.token.kind == "newline" or self.operator(";"):
            self.take()

    # -- grammar ------------------------------------------------------------------------------------------------

    def sequence(self) -> Node:
        steps: list[tuple[str, Node]] = []
        connector = ";"
        while True:
            self.newlines()
            if self.token.kind == "end" or self.operator(")", ";;", ";&", ";;&") or self.reserved() in ENDS:
                return Sequence(tuple(steps))
            steps.append((connector, self.pipeline()))
            connector = ";"
            if self.operator("&&", "||"):
                connector = self.take().text
                while self.token.kind == "newline":
                    self.take()
            elif self.operator(";", "&") or self.token.kind == "newline":
                self.take()
            elif not (self.token.kind == "end" or self.operator(")", ";;", ";&", ";;&")):
                raise ShellSyntaxError(
                    f"line {self.token.line}: unexpected {self.token.text or self.reserved() or 'word'}"
                )

    def pipeline(self) -> Node:
        negated = False
        while self.reserved() == "!":
            self.take()
            negated = not negated
        commands = [self.command()]
        while self.operator("|", "|&"):
            self.take()
            while self.token.kind == "newline":
                self.take()
            commands.append(self.command())
        return commands[0] if len(commands) == 1 and not negated else Pipeline(tuple(commands), negated)

    def command(self) -> Node:
        if self.token.kind == "arithmetic":
            return Arithmetic(self.take().text)
        if self.operator("("):
            self.take()
            body = self.sequence()
            if not self.operator(")"):
                raise ShellSyntaxError(f"line {self.token.line}: ( is not closed")
            self.take()
            self.redirects()
            return Group(body, True)
        reader = {
            "if": self.if_, "for": self.for_, "while": self.while_, "until": self.while_, "case": self.case, "{": self.group,
            "function": self.function, "[[": self.condition, "select": self.for_,
        }.get(self.reserved())  # fmt: skip
        if reader is not None:
            node = reader()
            self.redirects()
            return node
        return self.simple()

    def if_(self) -> Node:
        self.take()
        branches = []
        otherwise: Node | None = None
        test = self.sequence()
        self.expect("then")
        branches.append((test, self.sequence()))
        while self.reserved() == "elif":
            self.take()
            test = self.sequence()
            self.expect("then")
            branches.append((test, self.sequence()))
        if self.reserved() == "else":
            self.take()
            otherwise = self.sequence()
        self.expect("fi")
        return If(tuple(branches), otherwise)

    def for_(self) -> Node:
        self.take()
        if self.token.kind == "arithmetic":
            text = self.take().text
            self.expect("do")
            body = self.sequence()
            self.expect("done")
            first, test, step = [*text.split(";"), "", ""][:3]
            inner = Sequence(((";", body), (";", Arithmetic(step))))
            return Sequence(((";", Arithmetic(first)), (";", While(Arithmetic(test or "1"), inner, False))))
        name = self.reserved()
        self.take()
        words: list[Word] | None = None
        self.newlines_only()
        if self.reserved() == "in":
            self.take()
            words = []
            while self.token.kind in ("word", "assign"):
                words.append(_as_word(self.take()))
        self.expect("do")
        body = self.sequence()
        self.expect("done")
        return For(name, None if words is None else tuple(words), body)

    def newlines_only(self) -> None:
        while self.token.kind == "newline":
            self.take()

    def while_(self) -> Node:
        until = self.take().word == Word((Part("text", "until"),))
        test = self.sequence()
        self.expect("do")
        body = self.sequence()
        self.expect("done")
        return While(test, body, until)

    def case(self) -> Node:
        self.take()
        word = _as_word(self.take())
        self.expect("in")
        arms: list[tuple[tuple[Word, ...], Node]] = []
        while True:
            self.newlines()
            if self.reserved() == "esac":
                self.take()
                return Case(word, tuple(arms))
            if self.operator("("):
                self.take()
            patterns = [_as_word(self.take())]
            while self.operator("|"):
                self.take()
                patterns.append(_as_word(self.take()))
            if not self.operator(")"):
                raise ShellSyntaxError(f"line {self.token.line}: expected ) in case")
            self.take()
            arms.append((tuple(patterns), self.sequence()))
            if self.operator(";;", ";&", ";;&"):
                self.take()

    def group(self) -> Node:
        self.take()
        body = self.sequence()
        self.expect("}")
        return Group(body, False)

    def function(self) -> Node:
        self.take()
        name = self.reserved()
        self.take()
        if self.operator("("):
            self.take()
            self.take()
        self.newlines()
        return Function(name, self.command())

    def condition(self) -> Node:
        """``[[ ... ]]`` as a simple command; operators inside it become words."""
        line = self.token.line
        words: list[Word] = []
        while True:
            token = self.take()
            if token.kind == "end":
                raise ShellSyntaxError(f"line {line}: [[ is not closed")
            if token.kind == "newline":
                continue
            word = Word((Part("text", token.text),)) if token.kind == "operator" else _as_word(token)
            words.append(word)
            if word.literal == "]]":
                return Simple((), tuple(words), (), line)

    def simple(self) -> Node:
        line = self.token.line
        assigns: list[Assign] = []
        words: list[Word | Assign] = []
        redirects: list[Redirect] = []
        while True:
            if self.operator(*REDIRECTS):
                redirects.append(self.redirect())
            elif self.token.kind == "assign":
                assign = self.take().assign
                assert assign is not None
                held: list[Any] = words if words else assigns
                held.append(assign)
            elif self.token.kind == "word":
                words.append(_as_word(self.take()))
            elif self.operator("(") and len(words) == 1 and not assigns and isinstance(words[0], Word):
                return self.definition(words[0].literal or "")
            else:
                break
        if not (assigns or words or redirects):
            raise ShellSyntaxError(f"line {line}: unexpected {self.token.text or 'end'}")
        return Simple(tuple(assigns), tuple(words), tuple(redirects), line)

    def definition(self, name: str) -> Node:
        self.take()
        if not self.operator(")"):
            raise ShellSyntaxError(f"line {self.token.line}: unexpected (")
        self.take()
        self.newlines()
        return Function(name, self.command())

    def redirects(self) -> None:
        while self.operator(*REDIRECTS):
            self.redirect()

    def redirect(self) -> Redirect:
        operator = self.take().text
        return Redirect(operator, _as_word(self.take()))


def _as_word(token: Token) -> Word:
    """A token read as a word: what looks like an assignment is plain text after the command's name."""
    if token.kind == "assign" and token.assign is not None:
        return assign_word(token.assign)
    if token.kind == "word" and token.word is not None:
        return token.word
    if token.kind == "operator":
        return Word((Part("text", token.text),))
    raise ShellSyntaxError(f"line {token.line}: expected a word")


def assign_word(assign: Assign) -> Word:
    """``NAME=value`` as the word it is when it stands after a command."""
    index = f"[{assign.index}]" if assign.index is not None else ""
    head = Part("text", f"{assign.name}{index}{'+' if assign.append else ''}=")
    if isinstance(assign.value, Word):
        return Word((head, *assign.value.parts))
    return Word((head, Part("text", "(...)")))
