"""Statements that would read a file: a query may read the graph, not the disk.

The plan tells, where the engine shows it; what stands behind a UNION it does not show. There the clause itself is looked for in
the statement's grammar, outside texts, quoted names and comments. Where it is not plain what is a text, both readings count.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import kglite

from cgx.store.errors import QueryError

_OPERATOR = "LoadCsv"
_CLAUSE = re.compile(r"\bLOAD\s+CSV\b", re.I)
_PREFIX = re.compile(r"(?:\s|//[^\n]*(?:\n|$))*(?:EXPLAIN|PROFILE)\b", re.I)
_ESCAPED = re.compile(r"//[^\n]*|/\*.*?\*/|'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|`[^`]*`", re.S)
_PLAIN = re.compile(r"//[^\n]*|/\*.*?\*/|'[^']*'|\"[^\"]*\"|`[^`]*`", re.S)


def refuse_files(graph: kglite.KnowledgeGraph, cypher: str, params: Mapping[str, Any] | None) -> None:
    """Raise QueryError for a statement that reads files. A wrong statement is left to its own error."""
    if any(_CLAUSE.search(texts.sub(" ", cypher)) for texts in (_ESCAPED, _PLAIN)) or _planned(graph, cypher, params):
        raise QueryError("the statement reads a file; statements given to cgx read the graph only")


def _planned(graph: kglite.KnowledgeGraph, cypher: str, params: Mapping[str, Any] | None) -> bool:
    prefix = _PREFIX.match(cypher)
    try:
        plan = graph.cypher(f"EXPLAIN {cypher[prefix.end() :] if prefix else cypher}", params=dict(params or {}))
    except kglite.KgError:
        return False
    return any(_OPERATOR in str(step.get("operation", "")) for step in plan if isinstance(step, dict))
