"""`cgx diff` of two revisions where no records are at hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_moved_edges import commit, git, history

from cgx.errors import UserError
from cgx.workflow.diff import run_diff

__all__ = ["history"]  # the fixture


def diff(folder: Path, a: str, b: str, capsys: pytest.CaptureFixture[str]) -> list[tuple[str, str, str]]:
    assert run_diff(a, b, source=str(folder), json=True) == 0
    return [(row["kind"], row["name"], row.get("field", "")) for row in json.loads(capsys.readouterr().out)]


def test_definitions_of_two_revisions(
    history: tuple[Path, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, (one, two, three) = history
    monkeypatch.chdir(tmp_path)
    assert diff(folder, one, two, capsys) == [
        ("moved", "class Layer", "renamed"),
        ("moved", "function Layer.__init__", "renamed"),
        ("moved", "function Layer.reset", "renamed"),
        ("moved", "function Layer.forward", "renamed"),
        ("changed", "function Layer.mix", "split"),
        ("moved", "function train", "shifted"),
        ("added", "function Layer.mix", ""),
    ]
    commit(folder, {"same.py": "def untouched():\n    return 2\n\n\ndef fresh(a):\n    return a\n"})
    assert diff(folder, three, "HEAD", capsys) == [("changed", "function untouched", "edited"), ("added", "function fresh", "")]
    assert diff(folder, "HEAD", three, capsys) == [("changed", "function untouched", "edited"), ("removed", "function fresh", "")]
    assert diff(folder, "HEAD", git(folder, "rev-parse", "HEAD"), capsys) == []


def test_on_the_terminal(
    history: tuple[Path, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, (one, two, _) = history
    monkeypatch.chdir(tmp_path)
    run_diff(one, two, source=str(folder), json=False)
    out = capsys.readouterr()
    assert "> function train  shifted: model.py:train:19 -> model.py:train:26" in out.out.splitlines()
    assert out.out.splitlines()[-1] == "1 added, 5 moved, 1 changed"
    assert f"{one[:12]} -> job {two[:12]}" in out.err


def test_no_revision_is_one_line(history: tuple[Path, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="nope: no such file, and unknown revision"):
        run_diff("nope", "HEAD", source=str(history[0]), json=True)
