"""``MOVED_TO`` edges: the functions and classes of one indexed commit in another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cgx.indexer.across.definitions import Change, definition_changes
from cgx.indexer.across.follow import Follower
from cgx.indexer.across.renames import git_renames
from cgx.indexer.passes.identity import commit_id, repository_id
from cgx.indexer.source.base import Tree
from cgx.indexer.source.commit_tree import CommitTree
from cgx.model.anchors import Anchor
from cgx.model.facts import Edge, GraphDelta, Node, Value

if TYPE_CHECKING:
    from cgx.store.base import Store

_STATE = "MATCH (c:Commit {id: $id}) RETURN c.complete AS complete, c.moved_from AS moved_from ORDER BY c.id"
_INDEXED = (
    "MATCH (c:Commit {repository: $repository}) WHERE c.complete = true AND c.sha IS NOT NULL AND c.tree IS NULL "
    "RETURN c.id AS id, c.sha AS sha ORDER BY id"
)
_DEFINED = (
    "MATCH (:Commit {id: $commit})-[:HAS]->(f:File) WHERE f.path IN $paths "
    "MATCH (f)-[:DEFINES]->(d) RETURN d.anchor AS anchor, d.id AS id ORDER BY anchor, id"
)
_FILES = "MATCH (:Commit {id: $commit})-[:HAS]->(f:File) WHERE f.path IN $paths RETURN f.path AS path, f.id AS id ORDER BY path, id"


def nearest(store: Store, tree: CommitTree) -> tuple[str, str] | None:
    """(id, sha) of the nearest indexed commit among the first parents of a commit; None where none of them is indexed."""
    known = {sha: name for name, sha in store.read(_INDEXED, {"repository": repository_id(tree)}) if sha != tree.commit}
    if not known:
        return None
    for sha in tree.first_parents():
        if sha in known:
            return known[sha], sha
    return None


def wanted(store: Store, old: str, new: str) -> bool:
    """Whether both commits are indexed and the edges between them are not written yet."""
    states = [store.read(_STATE, {"id": name}) for name in (old, new)]
    if not all(rows and rows[0][0] for rows in states):
        return False
    return old not in (states[1][0][1] or ())


def write_moves(store: Store, old: Tree, new: Tree, follower: Follower | None = None) -> int:
    """Edges from the versions at ``old`` to those at ``new``; gives their number, 0 where they are there already.

    Both commits have to be indexed in ``store``. Versions that both commits share have no edge, nor have definitions that
    stand as they stood, or that are gone.
    """
    before, after = commit_id(old), commit_id(new)
    if before == after or not wanted(store, before, after):
        return 0
    follower = follower or Follower(old, new, git_renames(old, new))
    edges = [*_of_files(store, follower, before, after), *_of_definitions(store, follower, before, after)]
    known = store.read(_STATE, {"id": after})[0][1] or []
    node = Node(
        "Commit",
        after,
        {"name": new.display, "repository": repository_id(new), "complete": True, "moved_from": sorted({*known, before})},
    )
    store.write(GraphDelta([node], edges))
    return len(edges)


def _edge(source: str, target: str, before: str, after: str, properties: dict[str, Value]) -> Edge:
    return Edge("MOVED_TO", source, target, {**properties, "old_commit": before, "new_commit": after}, f"{before}>{after}")


def _of_files(store: Store, follower: Follower, before: str, after: str) -> list[Edge]:
    """Files under a new name."""
    old = dict(store.read(_FILES, {"commit": before, "paths": sorted(follower.renames)}))
    new = dict(store.read(_FILES, {"commit": after, "paths": sorted(set(follower.renames.values()))}))
    edges = []
    for path, target in sorted(follower.renames.items()):
        if path in old and target in new:
            same = follower.old.blob(path) == follower.new.blob(target)
            evidence = "equal content" if same else "git's rename detection"
            edges.append(_edge(old[path], new[target], before, after, {"status": "moved", "evidence": evidence}))
    return edges


def _of_definitions(store: Store, follower: Follower, before: str, after: str) -> list[Edge]:
    changes = [change for change in definition_changes(follower) if change.old is not None and change.new is not None]
    old = _ids(store, before, [change.old for change in changes if change.old])
    new = _ids(store, after, [change.new for change in changes if change.new])
    return [
        _edge(old[change.old], new[change.new], before, after, _properties(change))
        for change in changes
        if change.old in old and change.new in new
    ]


def _properties(change: Change) -> dict[str, Value]:
    """Its anchors are those of the nodes that the edge joins."""
    return {"status": change.status, "evidence": change.evidence}


def _ids(store: Store, commit: str, anchors: list[str]) -> dict[str, str]:
    """Versions by their anchors. A definition that the index does not hold (of a file it read in part) has none."""
    paths = sorted({Anchor.parse(anchor).path for anchor in anchors})
    found: dict[str, str] = {}
    for anchor, name in store.read(_DEFINED, {"commit": commit, "paths": paths}):
        found.setdefault(anchor, name)
    return found
