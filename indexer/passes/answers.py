"""How sure the call sites of a file are, counted once for each version of it, so that a question over a commit need not count edges."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace

from cgx.model.facts import GraphDelta


def tally_answers(delta: GraphDelta) -> None:
    """Set ``answers`` of every File of the delta from its own call edges: 'basis author count' each."""
    holder: dict[str, str] = {edge.target: edge.source for edge in delta.edges if edge.kind == "DEFINES"}
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for edge in delta.edges:
        if edge.kind in ("CALLS", "CONSTRUCTS") and edge.source in holder:
            counts[holder[edge.source]][f"{edge.properties['basis']} {edge.properties['author']}"] += 1
    for place, node in enumerate(delta.nodes):
        if node.label == "File" and node.id in counts:
            answers = [f"{words} {count}" for words, count in sorted(counts[node.id].items())]
            delta.nodes[place] = replace(node, properties={**node.properties, "answers": answers})
