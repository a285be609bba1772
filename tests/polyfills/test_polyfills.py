"""Stand-in files parse and hold what the list says; where torch is installed they agree with it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from cgx.indexer import polyfills

FILES = sorted({entry.file for entry in polyfills.index().values()})


@pytest.mark.parametrize("file", FILES)
def test_parses_and_is_no_module(file: str) -> None:
    ast.parse(polyfills.source(file))
    assert not file.endswith(".py")


def test_each_listed_symbol_is_there() -> None:
    for entry in polyfills.index().values():
        names = {
            node.name
            for node in ast.parse(polyfills.source(entry.file)).body
            if isinstance(node, ast.ClassDef | ast.FunctionDef)
        }
        assert entry.symbol in names, entry


def test_each_file_is_listed() -> None:
    folder = Path(polyfills.__file__).parent
    assert sorted(path.name for path in folder.glob("*.txt")) == FILES


def test_other_names() -> None:
    assert polyfills.find("torch.nn.modules.transformer.TransformerEncoder") == polyfills.find(
        "torch.nn.TransformerEncoder"
    )
    assert polyfills.find("torch.nn.Linear") is None
