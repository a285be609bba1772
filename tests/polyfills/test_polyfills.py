"""Stand-in files parse and hold what the list says; where torch is installed they agree with it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from cgx.indexer import polyfills

PATHS = sorted({entry.path for entry in polyfills.index().values()})


@pytest.mark.parametrize("path", PATHS)
def test_parses_and_is_no_module(path: str) -> None:
    ast.parse(polyfills.read(path))
    assert not path.endswith(".py")
    assert polyfills.module_name(path)


def test_each_listed_symbol_is_there() -> None:
    for entry in polyfills.index().values():
        names: set[str] = set()
        for node in ast.parse(polyfills.read(entry.path)).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                names.add(node.name)
            elif isinstance(node, ast.Assign):
                names.update(target.id for target in node.targets if isinstance(target, ast.Name))
        assert entry.symbol in names, entry


def test_each_file_is_listed() -> None:
    folder = Path(polyfills.__file__).parent
    assert (
        sorted(path.name for path in folder.glob("*.txt"))
        == sorted(path.removeprefix(polyfills.PREFIX) for path in PATHS)
        == sorted(polyfills.MODULES)
    )


def test_other_names() -> None:
    assert polyfills.find("torch.nn.modules.transformer.TransformerEncoder") == polyfills.find(
        "torch.nn.TransformerEncoder"
    )
    assert polyfills.find("torch.nn.Linear") is None
