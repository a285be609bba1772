"""A job's rows into a store, over the commit that they were read at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cgx.indexer.passes.commit_nodes import reason_nodes
from cgx.indexer.passes.identity import commit_id, repository_id
from cgx.model.facts import Edge, GraphDelta, Node
from cgx.model.job_entries import job_delta
from cgx.workflow.symbols import resolvers

if TYPE_CHECKING:
    from cgx.indexer.job import JobRows
    from cgx.indexer.source import Tree
    from cgx.store.base import Store

SMALL = 60  # Python files; the static graph of so few costs less than reading the job


def store_job(store: Store, tree: Tree, rows: JobRows) -> str:
    """Write the job over its commit, in place of an earlier answer to the same question. Gives the job's id.

    The commit of a small source is indexed on the way, so that entries hang on the functions they run in; of a large one
    only its node is made, and ``cgx index`` adds the rest.
    """
    commit, repository = commit_id(tree), repository_id(tree)
    _commit(store, tree, commit, repository)
    symbol_at, symbol_named = resolvers(store, commit, repository, [rows.graph, rows.schedule])
    job = rows.identity()
    delta = job_delta(
        job, rows.header, rows.graph, rows.schedule, commit_id=commit, symbol_at=symbol_at, symbol_named=symbol_named
    )
    store.replace(job, delta)
    return job


def _commit(store: Store, tree: Tree, commit: str, repository: str) -> None:
    if sum(path.endswith(".py") for path in tree.paths()) <= SMALL:
        from cgx.indexer.pipeline import index_tree

        index_tree(tree, store)
    elif not store.has("Commit", commit):
        store.write(_named(tree, commit, repository))


def _named(tree: Tree, commit: str, repository: str) -> GraphDelta:
    """A commit that was read but not indexed: the job has to hang on something."""
    named: dict[str, str | bool] = {"name": tree.display, "repository": repository, "complete": False}
    if tree.commit is not None:
        named["sha"] = tree.commit
    else:
        named["tree"] = tree.digest
    nodes = [*reason_nodes(), Node("Repository", repository, {"name": tree.name}), Node("Commit", commit, named)]
    return GraphDelta(nodes, [Edge("OF_REPOSITORY", commit, repository)])
