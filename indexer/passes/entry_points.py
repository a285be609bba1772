"""The ways to start the code, as nodes on its commit."""

from __future__ import annotations

from cgx.indexer.launch.entrypoints import find_entrypoints
from cgx.indexer.launch.tries import Memory
from cgx.indexer.passes.identity import commit_id, digest, repository_id
from cgx.indexer.source.base import Tree
from cgx.model.facts import Edge, GraphDelta, Node

MOST = 200  # entry points kept on a commit, the likeliest first


def entry_point_delta(tree: Tree, memory: Memory | None = None) -> GraphDelta:
    """EntryPoint nodes in the order of their likelihood, and the commit's OFFERS edges to them."""
    delta, commit, repository = GraphDelta(), commit_id(tree), repository_id(tree)
    for rank, entry in enumerate(find_entrypoints(tree, memory)[:MOST]):
        properties = {
            "name": entry.line,
            "kind": entry.kind,
            "command": entry.line,
            "anchor": str(entry.anchor),
            "why": entry.why,
        }
        node = f"{repository}:entry:{digest(properties.values())}"
        delta.nodes.append(Node("EntryPoint", node, properties))
        delta.edges.append(Edge("OFFERS", commit, node, {"rank": rank}))
    return delta
