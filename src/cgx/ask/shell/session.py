"""The state of one shell, and what a line does to it. Knows nothing of the terminal."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TextIO

from cgx import queries
from cgx.ask import output, parameters
from cgx.ask.query import answer, terminal_width
from cgx.ask.where import Where
from cgx.errors import UserError

LIMIT = 1000
TIMEOUT = 60.0


class Leave(Exception):
    """The user asked to end the shell."""


@dataclass(slots=True)
class Session:
    """``params`` are values for ``$names``; ``format``, ``limit`` (0: all) and ``timeout`` (seconds) hold for each statement."""

    where: Where
    out: TextIO
    params: dict[str, Any] = field(default_factory=dict)
    format: str = "table"
    limit: int = LIMIT
    timeout: float = TIMEOUT
    history: list[str] = field(default_factory=list)
    depth: int = 0  # of files that read files

    def say(self, line: str) -> None:
        print(line, file=self.out)

    def run(self, text: str) -> None:
        """One ``:command``, statement or shipped query (``callers symbol=train.step``). Raises UserError, Leave."""
        from cgx.ask.shell.commands import run_command

        text = text.strip().rstrip(";").strip()
        if not text:
            return
        self.history.append(text)
        if text.startswith(":"):
            run_command(self, text)
        else:
            self.ask(text)

    def ask(self, text: str) -> None:
        """Run a statement or shipped query and print its rows, their number and the time."""
        statement, given = self._shipped(text)
        self.where.notes.clear()
        rows = answer(self.where, statement, given, timeout=self.timeout, limit=self.limit or None)
        for line in output.lines(rows, self.format, terminal_width()):
            self.say(line)
        if self.format == "table":
            self.say("; ".join([output.summary(rows, self.limit), *self.where.notes]))
        self.out.flush()

    def values(self, statement: str) -> dict[str, Any]:
        return parameters.for_statement(statement, self.params, self.where)

    def _shipped(self, text: str) -> tuple[str, dict[str, Any]]:
        """The statement, or the name of a query with the parameters behind it and those set before that it has."""
        name, _, rest = text.partition(" ")
        query = queries.catalog().get(name)
        if query is None:
            if text.isidentifier():
                queries.get(text)  # says which names are near
            return text, self.params
        own = {param.name for param in query.params}
        try:
            words = parameters.split(rest.split())
        except UserError as error:
            raise UserError(f"{name} takes its parameters as NAME=VALUE: {error}") from error
        return name, {key: value for key, value in self.params.items() if key in own} | words
