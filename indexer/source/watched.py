"""A tree that notes what it was asked, so that what came of it can be kept for every tree that would say the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from cgx.indexer.source.base import Tree

Question = Callable[..., Any]
Asked = dict[tuple[Question, tuple[Any, ...]], Any]
"""(question, its arguments) -> what it gave. A question is a function of a tree; its answers can be compared."""


class Watched(Tree):
    """The same files as ``tree``. ``contents`` keeps what is read, by blob, and is shared by those who watch in turn."""

    def __init__(self, tree: Tree, contents: dict[str, bytes | None]) -> None:
        super().__init__(tree.name, commit=tree.commit, prefix=tree.prefix, location=tree.location)
        self._tree, self._contents = tree, contents
        self.asked: Asked = {}

    def ask(self, question: Question, *args: Any) -> Any:
        """What the question gives for the tree itself."""
        key = (question, args)
        if key not in self.asked:
            self.asked[key] = question(self._tree, *args)
        return self.asked[key]

    def paths(self) -> list[str]:
        return self.ask(_paths)

    def exists(self, path: str) -> bool:
        return self.ask(_blob, path) is not None

    def blob(self, path: str) -> str:
        found = self.ask(_blob, path)
        if found is None:
            raise KeyError(path)
        return str(found)

    def read(self, path: str) -> bytes | None:
        blob = self.ask(_blob, path)
        if blob is None:
            return None
        if blob not in self._contents:
            self._contents[blob] = self._tree.read(path)
        return self._contents[blob]

    def isdir(self, path: str) -> bool:
        return bool(self.ask(_isdir, path))

    def listdir(self, path: str) -> list[str]:
        return self.ask(_listdir, path)

    def matching(self, pattern: str) -> list[str]:
        return self.ask(_matching, pattern)


def holds(asked: Mapping[tuple[Question, tuple[Any, ...]], Any], tree: Tree, known: Asked) -> bool:
    """Whether the tree gives the same answers. ``known`` keeps those of this tree from call to call."""
    for key, answer in asked.items():
        if key not in known:
            question, args = key
            known[key] = question(tree, *args)
        if known[key] != answer:
            return False
    return True


def _paths(tree: Tree) -> list[str]:
    return tree.paths()


def _blob(tree: Tree, path: str) -> str | None:
    return tree.blob(path) if tree.exists(path) else None


def _isdir(tree: Tree, path: str) -> bool:
    return tree.isdir(path)


def _listdir(tree: Tree, path: str) -> list[str]:
    return tree.listdir(path)


def _matching(tree: Tree, pattern: str) -> list[str]:
    return tree.matching(pattern)
