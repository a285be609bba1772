"""The shell on a terminal: line editing, history, completion, colour."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import platformdirs
from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import Lexer, PygmentsLexer
from pygments.lexers.graph import CypherLexer

from cgx import __version__, queries
from cgx.ask.shell.completion import CypherCompleter
from cgx.ask.shell.session import Leave, Session
from cgx.ask.shell.splitting import is_command, split_statements
from cgx.errors import UserError

HISTORY_VARIABLE = "CGX_SHELL_HISTORY"  # a file, or "off"


def interact(session: Session) -> int:
    """Read and run until Ctrl-D or :exit. Ctrl-C drops the line, or stops the statement that runs."""
    _greet(session)
    editor = _editor(session)
    while True:
        try:
            text = editor.prompt("cgx> ")
        except KeyboardInterrupt:
            continue
        except EOFError:
            return 0
        try:
            for statement in _statements(text):
                session.run(statement)
        except Leave:
            return 0
        except UserError as error:
            print(error, file=sys.stderr)
        except KeyboardInterrupt:
            print("stopped", file=sys.stderr)


def complete_input(text: str) -> bool:
    """Whether Enter runs the text: a command, a shipped query on one line, or statements that all have ended."""
    stripped = text.strip()
    if not stripped or is_command(stripped):
        return True
    if "\n" not in stripped and stripped.split()[0] in queries.catalog():
        return True
    return not split_statements(text)[1]


def _statements(text: str) -> list[str]:
    if is_command(text):
        return [text]
    whole, rest = split_statements(text)
    return [*whole, rest] if rest else whole


def _greet(session: Session) -> None:
    session.say(f"cgx {__version__}, {session.where.store.url}")
    session.say("Statements end with `;`. :help for commands, :queries for shipped queries, Ctrl-D to leave.")
    if behind := session.where.freshness():
        session.say(behind)


def _editor(session: Session) -> PromptSession[str]:
    keys = KeyBindings()
    done = Condition(lambda: complete_input(get_app().current_buffer.text))

    @keys.add("enter", filter=done)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    return PromptSession(
        history=_history(),
        lexer=_lexer(),
        completer=CypherCompleter(session),
        complete_while_typing=False,
        auto_suggest=AutoSuggestFromHistory(),
        multiline=True,
        prompt_continuation="...> ",
        key_bindings=keys,
        enable_open_in_editor=True,
    )


def _lexer() -> Lexer | None:
    return None if os.environ.get("NO_COLOR") else PygmentsLexer(CypherLexer)


def _history() -> History:
    """History across sessions, in the user's state folder; in memory where that cannot be written."""
    named = os.environ.get(HISTORY_VARIABLE)
    if named == "off":
        return InMemoryHistory()
    path = Path(named) if named else Path(platformdirs.user_state_dir("cgx", appauthor=False)) / "shell_history"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(path))
