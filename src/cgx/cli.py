"""The command line: which commands there are, and how a run ends. No logic stands here.

Each command lives in ``cgx/commands/<name>.py`` and is imported only when it is the one that was asked for, so that
``cgx --help`` needs neither a store nor a parser. A run ends with 0 (done), 1 (done but short of what was asked), 2 (the
user can mend it: one line says how), 3 (an internal fault) or 130 (interrupted).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

import typer

from cgx import __version__
from cgx.errors import UserError

ISSUES = "the project's issue tracker"
HELP = f"""Index PyTorch code semantically, at a git commit, and run nothing of it.

Example:  cgx export . --launch "torchrun --nproc_per_node=8 train.py"

Exit codes: 0 done, 1 short of what was asked, 2 you can mend it, 3 a fault of cgx. CGX_DEBUG=1 or --debug shows tracebacks.

cgx {__version__}
"""


class Command(NamedTuple):
    """``module`` under ``cgx.commands``; ``name`` in it is a function, or a ``typer.Typer`` for a group."""

    name: str
    module: str
    attribute: str
    summary: str


COMMANDS: tuple[Command, ...] = (
    Command("index", "index", "index", "Index a commit (and a launch line's job) into a store."),
    Command("export", "export", "export", "Write the records of a job or a model."),
    Command("entrypoints", "entrypoints", "entrypoints", "List the jobs of a source tree, ranked."),
    Command("query", "query", "query", "Ask the graph in Cypher, or run a shipped query by name."),
    Command("shell", "shell", "shell", "Ask the graph interactively."),
    Command("queries", "queries", "queries", "List the shipped queries, or show one."),
    Command("schema", "schema", "schema", "Show node and edge kinds with their properties."),
    Command("resolve", "resolve", "resolve", "Say what stands at an anchor."),
    Command("explain", "explain", "explain", "Say why a value is what it is, or why it is not known."),
    Command("moved", "moved", "moved", "Follow anchors from one revision to another."),
    Command("diff", "diff", "diff", "Compare two records or two revisions."),
    Command("check", "check", "check", "Check records: schema, anchors, consistency, depth."),
    Command("view", "view", "view", "Write one self-contained HTML page of records."),
    Command("store", "store", "app", "Copy a store, or clean it up."),
)


def build_app(only: str | None = None) -> typer.Typer:
    """The typer app. ``only``: load just this command's module (others stay stubs with their summary); ``"*"`` loads all."""
    app = typer.Typer(
        name="cgx",
        help=HELP,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
    )

    @app.callback()
    def options(
        version: bool = typer.Option(
            False, "--version", help="Print the version and end.", callback=_version, is_eager=True
        ),
    ) -> None:
        """Options of every command."""

    for row in COMMANDS:
        _register(app, row, loaded=only in ("*", row.name))
    return app


def _version(asked: bool) -> None:
    if asked:
        print(f"cgx {__version__}")
        raise typer.Exit


def _register(app: typer.Typer, row: Command, *, loaded: bool) -> None:
    if not loaded:

        def stub() -> None:
            raise AssertionError("a command that was not loaded cannot run")

        app.command(row.name, help=row.summary)(stub)
        return
    target: Any = getattr(import_module(f"cgx.commands.{row.module}"), row.attribute)
    if isinstance(target, typer.Typer):
        app.add_typer(target, name=row.name, help=row.summary)
    else:
        app.command(row.name)(target)


def _chosen(words: Sequence[str]) -> str | None:
    """The command that the words name, before anything is parsed. Completion needs all of them."""
    if "_CGX_COMPLETE" in os.environ:
        return "*"
    names = {row.name for row in COMMANDS}
    first = next((word for word in words if not word.startswith("-")), None)
    return first if first in names else None


def main(words: Sequence[str] | None = None) -> int:
    """Run one command line and give the exit code. The console script ``cgx`` passes it to ``sys.exit``."""
    args = list(sys.argv[1:] if words is None else words)
    debug = "--debug" in args or os.environ.get("CGX_DEBUG", "") not in ("", "0")
    args = [word for word in args if word != "--debug"]
    try:
        code = build_app(_chosen(args))(args, prog_name="cgx", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except (KeyboardInterrupt, typer.Abort):
        return _say("interrupted; what was stored before stands", 130)
    except BrokenPipeError:
        # The reader has gone (`cgx query ... | head`): nothing is left to tell it, and Python must not flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except UserError as error:
        if debug:
            raise
        return _say(str(error), 2)
    except OSError as error:
        if debug:
            raise
        name = f" ({error.filename})" if error.filename else ""
        return _say(f"{error.strerror or error}{name}", 2)
    except Exception as error:
        if hasattr(error, "format_message"):
            return _usage(error)
        if debug:
            raise
        return _say(
            f"internal fault: {type(error).__name__}: {error}; run again with --debug and report it to {ISSUES}", 3
        )


def _usage(error: Any) -> int:
    """A usage error of typer's parser in one line; its help where no command was given."""
    context = getattr(error, "ctx", None)
    message = str(error.format_message())
    path = context.command_path if context is not None else "cgx"
    if type(error).__name__ == "NoArgsIsHelpError":
        print(message, file=sys.stderr)
        return 2
    return _say(f"{message.rstrip('.')}; see `{path} --help`", 2)


def _say(message: str, code: int) -> int:
    line = " ".join(message.split()) or "failed"
    print(f"cgx: {line}", file=sys.stderr)
    return code
