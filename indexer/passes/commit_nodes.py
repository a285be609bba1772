"""The nodes of a commit itself: repository, commit, and which versions of files it holds."""

from __future__ import annotations

from collections.abc import Iterable

from cgx import __version__
from cgx.indexer.names.facts import EXTRACTOR_VERSION
from cgx.indexer.names.link import LINKER_VERSION
from cgx.indexer.passes.identity import commit_id, reason_id, repository_id
from cgx.indexer.source.base import Tree
from cgx.model.facts import Edge, GraphDelta, Node, Value
from cgx.reasons import REASONS

MAX_SKIPPED = 200  # listed on the commit; the count stands in the summary


def generator() -> str:
    """What an index was made with; another one means that it is made anew."""
    return f"cgx {__version__} facts {EXTRACTOR_VERSION} links {LINKER_VERSION}"


def commit_delta(tree: Tree, files: Iterable[str], figures: dict[str, int]) -> GraphDelta:
    """Repository, Commit and HAS edges. ``files`` are ids of versions that are in the store or in the same delta."""
    repository, commit = repository_id(tree), commit_id(tree)
    delta = GraphDelta()
    of_repository: dict[str, Value] = {"name": tree.name}
    if tree.remote:
        of_repository["remote"] = tree.remote
    if tree.prefix:
        of_repository["prefix"] = tree.prefix
    delta.nodes.append(Node("Repository", repository, of_repository))
    properties: dict[str, Value] = {
        "name": tree.display,
        "repository": repository,
        "complete": True,
        "generator": generator(),
    }
    if tree.commit:
        properties["sha"] = tree.commit
    if tree.commit is None or tree.modified:
        properties["tree"] = tree.digest
    properties.update(tree.history())
    properties.update(figures)
    skipped = [f"{path}: {why}" for path, why in tree.skipped[:MAX_SKIPPED]]
    if skipped:
        properties["skipped"] = skipped
    delta.nodes.append(Node("Commit", commit, properties))
    delta.edges.append(Edge("OF_REPOSITORY", commit, repository))
    delta.edges.extend(Edge("HAS", commit, version) for version in files)
    return delta


def reason_nodes() -> list[Node]:
    """One node for each row of the table of reasons."""
    return [Node("Reason", reason_id(word), {"name": word, "doc": doc}) for word, doc in REASONS.items()]
