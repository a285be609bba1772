"""Evaluate a small job and look at its names."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cgx.indexer.interpreter import run as runs
from cgx.indexer.interpreter.interp import Options
from cgx.indexer.interpreter.stdlib.support import NotPlain, to_python
from cgx.indexer.interpreter.values import Instance, Unknown
from cgx.indexer.launch import parse_launch
from cgx.indexer.source import open_tree

Run = Callable[..., dict[str, Any]]


def plain(value: Any) -> Any:
    """A value as a test compares it: Python's own, a dict of attributes, or ``"?reason"``."""
    if isinstance(value, Unknown):
        return f"?{value.reason}"
    if isinstance(value, Instance) and value.cls.native:
        return {name: plain(item) for name, item in value.attrs.items()}
    try:
        return to_python(value)
    except NotPlain:
        return value


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """``run("code", "args", files={...})``: the names of the script ``main.py`` after it ran, in plain form."""

    def evaluate(
        code: str, args: str = "", files: dict[str, str] | None = None, line: str | None = None, raw: bool = False
    ) -> dict[str, Any]:
        for path, text in {"main.py": code, **(files or {})}.items():
            target = tmp_path / "repo" / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(textwrap.dedent(text))
        held: dict[str, Any] = {}
        finish = runs.finish

        def keep(interp: Any) -> Any:
            held["interp"] = interp
            return finish(interp)

        monkeypatch.setattr(runs, "finish", keep)
        with open_tree(tmp_path / "repo") as tree:
            trace = runs.run_job(tree, [], parse_launch(line or f"python main.py {args}", tree), Options())
        assert trace.faults == []
        names = held["interp"].modules["__main__"].scope.vars
        return dict(names) if raw else {name: plain(value) for name, value in names.items()}

    return evaluate
