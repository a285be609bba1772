"""Small source trees, linked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from cgx.indexer.names.cache import FactsCache
from cgx.indexer.names.link import Answer
from cgx.indexer.names.program import Program, link, load
from cgx.indexer.source import open_tree


class Linked:
    """A linked tree. ``linked["text"]``: target names of the only site whose callee reads so, implied ones left out."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.all = [(file.module.path, answer) for file in program.answers for answer in file.answers]

    def answer(self, text: str, path: str | None = None, line: int | None = None) -> Answer:
        found = [
            answer
            for where, answer in self.all
            if answer.text == text and path in (None, where) and line in (None, answer.line)
        ]
        assert found, f"no call of {text}: {sorted({answer.text for _, answer in self.all})}"
        assert len({tuple(answer.targets) for answer in found}) == 1, f"{text} stands for several things"
        return found[0]

    def __getitem__(self, text: str) -> list[str]:
        return [target.qname for target in self.answer(text).targets if not target.implied]


@pytest.fixture(scope="session")
def facts_cache(tmp_path_factory: pytest.TempPathFactory) -> FactsCache:
    """One cache for the session: stubs of the standard library are read once."""
    return FactsCache(tmp_path_factory.mktemp("facts"))


@pytest.fixture
def linked(tmp_path: Path, facts_cache: FactsCache) -> Callable[..., Linked]:
    """``linked(source)`` or ``linked({path: source})``."""

    def make(files: str | dict[str, str]) -> Linked:
        for path, text in ({"main.py": files} if isinstance(files, str) else files).items():
            place = tmp_path / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(dedent(text))
        return Linked(link(load(open_tree(tmp_path), facts_cache, jobs=1)))

    return make
