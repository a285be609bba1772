"""Which identities of the static graph the anchors and class names of a job mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cgx.exporters.checking import anchors
from cgx.model.anchors import MODULE, Anchor

if TYPE_CHECKING:
    from cgx.store.base import Store

Resolve = Callable[[str], str | None]

_DEFINED = (
    "MATCH (:Commit {id: $commit})-[:HAS]->(f:File) WHERE f.path IN $paths "
    "MATCH (f)-[:DEFINES]->(d)<-[:DEFINED_BY]-(s:Symbol) "
    "RETURN f.path AS path, d.symbol AS symbol, s.id AS id ORDER BY path, symbol, id"
)
_FILES = (
    "MATCH (:Commit {id: $commit})-[:HAS]->(f:File) WHERE f.path IN $paths "
    "MATCH (f)<-[:DEFINED_BY]-(s:Symbol) RETURN f.path AS path, s.id AS id ORDER BY path, id"
)
_NAMED = "MATCH (s:Symbol) WHERE s.qname IN $names AND s.repository = $repository RETURN s.qname AS qname, s.id AS id ORDER BY qname, id"


def resolvers(store: Store, commit: str, repository: str, records: list[Any]) -> tuple[Resolve, Resolve]:
    """(symbol at an anchor, symbol of a qualified name) over what the store holds of the commit."""
    places = {place.path for _, text in anchors(records) if (place := _parsed(text)) is not None}
    asked = {"commit": commit, "paths": sorted(places)}
    at: dict[tuple[str, str], str] = {}
    for path, symbol, found in store.run(_DEFINED, asked).rows:
        at.setdefault((path, symbol), found)
    for path, found in store.run(_FILES, asked).rows:
        at.setdefault((path, MODULE), found)
    names = sorted({row["type"] for row in _entries(records) if "type" in row})
    named = dict(store.run(_NAMED, {"names": names, "repository": repository}).rows)

    def symbol_at(text: str) -> str | None:
        place = _parsed(text)
        return None if place is None else at.get((place.path, place.symbol))

    return symbol_at, named.get


def _entries(records: list[Any]) -> list[dict[str, Any]]:
    return [row for record in records if record is not None for row in record.get("modules", ())]


def _parsed(text: str) -> Anchor | None:
    try:
        return Anchor.parse(text)
    except ValueError:
        return None
