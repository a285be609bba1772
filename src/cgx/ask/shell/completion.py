"""What may come next: labels, relationship types, properties, parameters, keywords, shipped queries, commands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from cgx import queries
from cgx.ask.parameters import BY_NAME
from cgx.ask.shell.commands import COMMANDS
from cgx.ask.shell.session import Session
from cgx.model import schema

KEYWORDS = (
    "MATCH", "OPTIONAL MATCH", "WHERE", "RETURN", "RETURN DISTINCT", "WITH", "UNWIND", "ORDER BY", "SKIP", "LIMIT", "DESC", "ASC",
    "AND", "OR", "NOT", "XOR", "IN", "AS", "IS NULL", "IS NOT NULL", "STARTS WITH", "ENDS WITH", "CONTAINS", "EXISTS", "UNION",
    "CASE", "WHEN", "THEN", "ELSE", "END", "CALL", "DISTINCT", "true", "false", "null",
)  # fmt: skip
FUNCTIONS = (
    "count", "collect", "min", "max", "sum", "avg", "coalesce", "size", "length", "nodes", "relationships", "labels", "type",
    "properties", "keys", "head", "last", "range", "reverse", "toString", "toInteger", "toLower", "split", "replace", "substring",
    "any", "all", "none", "shortestPath", "startNode", "endNode",
)  # fmt: skip

_LABEL = re.compile(r"\([^()\[\]{}]*[:|]\s*(\w*)$")
_KIND = re.compile(r"\[[^()\[\]{}]*[:|]\s*(\w*)$")
_PROPERTY = re.compile(r"(\w+)\.(\w*)$")
_MAP_KEY = re.compile(r"[(\[]\w*:([\w|]+)[^{}()\[\]]*\{(?:[^{}]*,)?\s*(\w*)$")
_PARAMETER = re.compile(r"\$(\w*)$")
_COMMAND = re.compile(r"\s*:(\w*)$")
_ARGUMENT = re.compile(r"\s*:(\w+)\s+(\S*)$")
_SHIPPED = re.compile(r"\s*(\w+)\s(?:.*\s)?(\w*)$")
_WORD = re.compile(r"(\w*)$")


class CypherCompleter(Completer):
    """Completes from the schema, the shipped queries and the session's parameters."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        text = document.text_before_cursor
        typed, candidates = self.candidates(text)
        low = typed.lower()
        for word, meta in candidates:
            if word.lower().startswith(low):
                yield Completion(word, start_position=-len(typed), display_meta=meta)

    def candidates(self, text: str) -> tuple[str, list[tuple[str, str]]]:
        """The part of a word that stands before the cursor, and (word, explanation) of what fits there."""
        if match := _COMMAND.match(text):
            return match[1], [(name, command.doc) for name, command in COMMANDS.items()]
        if match := _ARGUMENT.match(text):
            return match[2], _arguments(match[1])
        if match := _PARAMETER.search(text):
            known = {**{name: f"the {which} {kind}" for name, (kind, which) in BY_NAME.items()}}
            return match[1], [(name, repr(value)) for name, value in self.session.params.items()] + list(known.items())
        if match := _KIND.search(text):
            return match[1], [(row.name, row.doc) for row in schema.EDGES]
        if match := _LABEL.search(text):
            return match[1], [(row.label, row.doc) for row in schema.NODES]
        if match := _MAP_KEY.search(text):
            return match[2], _properties(match[1].split("|"))
        if match := _PROPERTY.search(text):
            return match[2], _properties(_kinds_of(match[1], text))
        return self._words(text)

    def _words(self, text: str) -> tuple[str, list[tuple[str, str]]]:
        if (match := _SHIPPED.match(text)) and (query := queries.catalog().get(match[1])):
            return match[2], [(f"{param.name}=", param.doc) for param in query.params]
        found = _WORD.search(text)
        word = found[1] if found else ""
        names: list[tuple[str, str]] = []
        if text.strip() == word:
            names = [(query.name, query.title) for query in queries.catalog().values()]
        return word, [(each, "") for each in KEYWORDS] + [(f"{each}(", "") for each in FUNCTIONS] + names


def _arguments(command: str) -> list[tuple[str, str]]:
    from cgx.ask.output import FORMATS

    if command == "schema":
        return [(row.label, row.doc) for row in schema.NODES] + [(row.name, row.doc) for row in schema.EDGES]
    if command in ("queries", "explain"):
        return [(group, "group") for group in queries.GROUPS] + [(q.name, q.title) for q in queries.catalog().values()]
    if command == "format":
        return [(name, "") for name in FORMATS]
    if command == "help":
        return [(name, each.doc) for name, each in COMMANDS.items()]
    return []


def _kinds_of(variable: str, text: str) -> list[str]:
    """The labels or relationship types that the statement gives a variable; none where it gives none."""
    found = re.findall(rf"[(\[]\s*{re.escape(variable)}\s*:([\w|:]+)", text)
    return [kind for each in found for kind in re.split(r"[|:]", each)]


def _properties(kinds: Iterable[str]) -> list[tuple[str, str]]:
    chosen = [schema.NODE_KINDS[k].properties for k in kinds if k in schema.NODE_KINDS]
    chosen += [schema.EDGE_KINDS[k].properties for k in kinds if k in schema.EDGE_KINDS]
    if not chosen:
        return [(name, "") for name in schema.property_names()]
    rows = {row.name: row.doc for group in chosen for row in group}
    return [("id", "the identity"), *rows.items()]
