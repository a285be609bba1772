"""Real call sites, checked by hand (sites.tsv): what tier 1 says of them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from cgx.indexer.names.program import Program, load
from cgx.indexer.source import open_tree

from .corpus import wheel

ROWS = [
    tuple(line.split("\t"))
    for line in (Path(__file__).parent / "sites.tsv").read_text().splitlines()
    if line and not line.startswith("#")
]


@cache
def program(name: str) -> Program:
    """Facts are kept in the user's cache, so that only the first run ever reads a wheel."""
    with open_tree(wheel(name)) as tree:
        return load(tree)


def test_there_are_enough() -> None:
    assert len(ROWS) >= 60 and len({row[0] for row in ROWS}) >= 5


@pytest.mark.corpus
@pytest.mark.parametrize(
    "row", ROWS, ids=[f"{row[0]}:{row[1].rpartition('/')[2]}:{row[2]}:{row[3][:20]}" for row in ROWS]
)
def test_site(row: tuple[str, ...]) -> None:
    name, path, line, callee, targets = row
    read = program(name)
    module = read.modules.at(path)
    assert module is not None
    found = [
        answer
        for answer in read.sites.file(module).answers
        if int(line) in (answer.line, answer.token_line) and answer.text == callee
    ]
    assert found
    names = [target.qname for target in found[0].targets if not target.implied]
    assert (", ".join(names) or "-") == targets
