"""``cgx resolve``: what stands at a place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cgx.cli import main

SOURCE = '''class A:
    """Does a thing."""

    def run(self, x):
        x.go()
        return helper(x)


def helper(x):
    return x


A().run(1)
'''


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    monkeypatch.setenv("CGX_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "job" / "pkg").mkdir(parents=True)
    (tmp_path / "job" / "pkg" / "m.py").write_text(SOURCE)

    def run(place: str, *more: str) -> Any:
        code = main(["resolve", place, "--source", str(tmp_path / "job"), "--json", *more])
        out = capsys.readouterr()
        return json.loads(out.out) if code == 0 else (code, out.err)

    return run


def test_a_line(ask: Any) -> None:
    row = ask("pkg/m.py:6")
    assert (row["anchor"], row["symbol"], row["kind"]) == ("pkg/m.py:A.run:6", "pkg.m.A.run", "method")
    assert row["source"] == "        return helper(x)"
    assert [(call["text"], call["targets"][0]["name"]) for call in row["calls"]] == [("helper", "pkg.m.helper")]
    assert [caller["anchor"] for caller in row["callers"]] == ["pkg/m.py:<module>:13"]


def test_a_definition(ask: Any) -> None:
    row = ask("pkg/m.py:A")
    assert (row["anchor"], row["kind"], row["doc"]) == ("pkg/m.py:A:1", "class", "Does a thing.")
    assert row["source"].startswith("class A:") and row["source"].endswith("return helper(x)")
    assert [call["anchor"] for call in row["calls"]] == ["pkg/m.py:A.run:5", "pkg/m.py:A.run:6"]
    assert row["calls"][0]["reason"] == "parameter"


def test_an_anchor(ask: Any) -> None:
    assert ask("pkg/m.py:A.run:5")["anchor"] == "pkg/m.py:A.run:5"
    assert ask("pkg/m.py:<module>:13")["symbol"] == "pkg.m"


def test_deep_asks_jedi(ask: Any) -> None:
    assert "targets" not in ask("pkg/m.py:5")["calls"][0]
    call = ask("pkg/m.py:5", "--deep")["calls"][0]
    assert call.get("author", "names.jedi") == "names.jedi"


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("m.py:3", "did you mean pkg/m.py"),
        ("pkg/m.py:99", "has 13 lines"),
        ("pkg/m.py:A.walk:3", "has no A.walk"),
        ("pkg/m.py:run", "did you mean A.run"),
        ("pkg/m.py:helper:2", "stands at pkg/m.py:9"),
        ("nonsense", "neither"),
    ],
)
def test_wrong_places_are_told_in_one_line(ask: Any, place: str, message: str) -> None:
    code, error = ask(place)
    assert code == 2 and message in error and error.count("\n") == 1
