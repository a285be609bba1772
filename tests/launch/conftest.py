"""A source tree from literal files."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from cgx.indexer.source import Tree, open_tree

MakeTree = Callable[..., Tree]


@pytest.fixture
def make_tree(tmp_path: Path) -> MakeTree:
    """``make_tree({"train.py": "..."})``: a plain folder, opened."""

    def make(files: dict[str, str], name: str = "repo") -> Tree:
        root = tmp_path / name
        root.mkdir()
        for path, text in files.items():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(textwrap.dedent(text))
        return open_tree(root)

    return make
