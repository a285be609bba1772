"""Which ranks take a path: from the rank that a branch depends on, else from the words of its condition."""

from __future__ import annotations

import re

from cgx.indexer.interpreter.trace import BranchNode
from cgx.indexer.interpreter.values import Unknown

RANK_ZERO = re.compile(
    r"\b\w*rank\w*(\(\))?\s*(==|is)\s*0\b|\bnot\s+\w*rank\b|\bmaster(_process)?\b|\bis_?main(_process)?\b|\bis_master\b|\brank_zero\b|"
    r"\bis_rank_?0\b|\bis_local_main\w*",
    re.IGNORECASE,
)
NEGATED = re.compile(r"^\s*not\s*\(", re.IGNORECASE)


def ranks_of(branches: list[BranchNode], world: int | Unknown) -> str:
    """``all``, ``rank 0``, or the guard's text."""
    answer = "all"
    for branch in branches:
        if branch.ranks is not None:
            if branch.ranks == (0,) and world != 1:
                answer = "rank 0"
            elif not isinstance(world, int) or len(branch.ranks) < min(world, 64):
                answer = branch.text
        elif RANK_ZERO.search(branch.text) and not NEGATED.search(branch.text):
            answer = "rank 0"
    return answer
