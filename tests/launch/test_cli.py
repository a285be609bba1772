"""The shell round the commands: help, lazy loading, how a run ends."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from cgx import cli
from cgx.errors import UserError


def test_every_command_loads_and_shows_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    for row in cli.COMMANDS:
        if row.name == "store":
            continue
        assert cli.main([row.name, "--help"]) == 0
        out = capsys.readouterr().out
        assert f"Example:  cgx {row.name}" in out, row.name


def test_top_help_lists_all_and_loads_none() -> None:
    code = (
        "import sys; from cgx.cli import main; main(['--help']); "
        "print([m for m in sys.modules if m.startswith(('cgx.commands', 'cgx.store', 'cgx.indexer', 'rich', 'kglite', 'jedi'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, check=True)
    for row in cli.COMMANDS:
        assert f"  {row.name} " in done.stdout
    assert done.stdout.rstrip().endswith("[]")


def _with(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def boom(only: str | None = None) -> object:
        def run(*args: object, **kwargs: object) -> None:
            raise error

        return run

    monkeypatch.setattr(cli, "build_app", boom)
    monkeypatch.delenv("CGX_DEBUG", raising=False)


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (UserError("no such revision:\n  x"), 2, "cgx: no such revision: x\n"),
        (OSError(28, "No space left on device", "/x"), 2, "cgx: No space left on device (/x)\n"),
        (RuntimeError("bug"), 3, "cgx: internal fault: RuntimeError: bug; run again with --debug"),
        (KeyboardInterrupt(), 130, "cgx: interrupted"),
    ],
)
def test_how_a_run_ends(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: BaseException, code: int, text: str
) -> None:
    _with(monkeypatch, error)
    assert cli.main(["index"]) == code
    err = capsys.readouterr().err
    assert err.startswith(text) and err.count("\n") == 1


def test_debug_shows_the_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    _with(monkeypatch, RuntimeError("bug"))
    with pytest.raises(RuntimeError):
        cli.main(["index", "--debug"])


def test_usage_errors_are_one_line_with_exit_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["export", "--nonsense"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "cgx export --help" in err
    assert cli.main(["nonsense"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
