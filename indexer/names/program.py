"""All facts of a tree, linked: what passes and questions about names work on."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cgx.indexer.names.cache import FactsCache
from cgx.indexer.names.calls import Linker
from cgx.indexer.names.facts import FileFacts
from cgx.indexer.names.harvest import Harvest, harvest
from cgx.indexer.names.link import FileAnswers, Sites
from cgx.indexer.names.modules import Modules
from cgx.indexer.names.stdlib import StandardLibrary
from cgx.indexer.source import Tree, source_roots
from cgx.indexer.source.deep import run_deep

if TYPE_CHECKING:
    from cgx.indexer.launch.tries import Memory


@contextmanager
def without_gc() -> Iterator[None]:
    """Facts and values are many small objects with hardly a cycle among them: collecting costs more than it frees."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


@dataclass(slots=True)
class Program:
    """``answers`` holds every file's call sites in path order."""

    harvest: Harvest
    modules: Modules
    linker: Linker
    sites: Sites
    answers: list[FileAnswers] = field(default_factory=list)
    faults: list[tuple[str, str]] = field(default_factory=list)


class Session:
    """What one run keeps from tree to tree: the cache, the standard library, and the facts of the tree before."""

    def __init__(self, cache: FactsCache | None = None, keep: bool = False) -> None:
        self.cache = cache or FactsCache()
        self.standard = StandardLibrary(self.cache)
        self.lines: Memory | None = None  # set by the pass that tries launch lines, which few commands run
        self._keep = keep
        self._recent: dict[str, FileFacts] = {}

    def load(self, tree: Tree, jobs: int = 0) -> Program:
        """Facts and a linker, with no site answered yet."""
        with without_gc():
            found = harvest(tree, self.cache, jobs, self._recent)
        if self._keep:
            self._recent = {found.blobs[path]: facts for path, facts in found.files}
        modules = Modules(found.files, source_roots(tree), self.standard)
        linker = Linker(modules, self.standard)
        return Program(found, modules, linker, Sites(linker), faults=list(found.faults))


def load(tree: Tree, cache: FactsCache | None = None, jobs: int = 0) -> Program:
    """One tree's program, for a question or two."""
    return Session(cache).load(tree, jobs)


def link(program: Program) -> Program:
    """Answer every call site, file by file in path order, so that the same tree always gives the same answers."""
    with without_gc():
        for module in program.modules.files:
            if program.linker.depth:
                program.linker.depth = 0
            try:
                program.answers.append(run_deep(lambda module=module: program.sites.file(module)))  # type: ignore[misc]
            except Exception as error:  # one file's fault must not lose the others
                program.faults.append((module.path, f"{type(error).__name__}: {error}"))
    return program
