"""Ids of static nodes: what makes them the same thing in another commit, another clone, another run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from cgx.indexer.names.facts import EXTRACTOR_VERSION
from cgx.indexer.names.link import LINKER_VERSION
from cgx.indexer.source.base import Tree


def digest(parts: Iterable[str], size: int = 12) -> str:
    """A short digest of texts in order."""
    return hashlib.blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=size).hexdigest()


def repository_id(tree: Tree) -> str:
    """The repository's key, and the folder inside it that paths are relative to."""
    return f"{tree.repository_key}:{tree.prefix}" if tree.prefix else tree.repository_key


def commit_id(tree: Tree) -> str:
    """The full sha; with the folder inside the repository, with a digest for a modified work tree, or that alone."""
    if tree.commit is None:
        return f"tree:{tree.digest}"
    name = tree.commit if not tree.modified else f"{tree.commit}+{tree.digest}"
    return f"{name}:{tree.prefix}" if tree.prefix else name


def file_id(repository: str, path: str, blob: str, answers: Iterable[str]) -> str:
    """One content at one path with one answer of the linker."""
    return f"{path}@{digest((repository, blob, str(EXTRACTOR_VERSION), str(LINKER_VERSION), *answers))}"


def symbol_id(repository: str, qname: str) -> str:
    return f"{repository}:{qname}"


def reason_id(word: str) -> str:
    """Not the bare word: a module outside may have its name (``time``, ``random``)."""
    return f"reason:{word}"
