"""A job's rows into a store, over the commit that they were read at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cgx import __version__
from cgx.indexer.passes.identity import commit_id, repository_id
from cgx.model.facts import Edge, GraphDelta, Node
from cgx.model.job_entries import job_delta

if TYPE_CHECKING:
    from cgx.indexer.job import JobRows
    from cgx.store.base import Store


def store_job(store: Store, tree: Any, rows: JobRows) -> str:
    """Write the job over its commit, in place of an earlier answer to the same question. Gives the job's id."""
    commit = commit_id(tree)
    if not store.has("Commit", commit):
        store.write(_commit(tree, commit))
    job = rows.identity()
    store.replace(job, job_delta(job, rows.header, rows.graph, rows.schedule, commit_id=commit))
    return job


def _commit(tree: Any, commit: str) -> GraphDelta:
    """A commit that was read but not indexed: the job has to hang on something."""
    delta = GraphDelta()
    repository = repository_id(tree)
    properties: dict[str, Any] = {
        "name": (tree.commit or commit)[:12],
        "repository": repository,
        "complete": False,
        "generator": f"cgx {__version__}",
    }
    if tree.commit is not None:
        properties["sha"] = tree.commit
    else:
        properties["tree"] = tree.digest
    delta.nodes += [Node("Repository", repository, {"name": tree.name}), Node("Commit", commit, properties)]
    delta.edges.append(Edge("OF_REPOSITORY", commit, repository))
    return delta
