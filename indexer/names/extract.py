"""Facts of one file from its bytes."""

from __future__ import annotations

import marshal

from cgx.indexer.names.collect import Collector
from cgx.indexer.names.facts import FileFacts
from cgx.indexer.source.deep import run_deep
from cgx.indexer.source.parse import Parsed, parse


def extract(data: bytes, path: str = "") -> FileFacts:
    """Facts of a file. ``path`` matters only for what kind of file it is. Never fails on bad input."""
    return extract_parsed(parse(data, path))


def extract_parsed(parsed: Parsed) -> FileFacts:
    """Facts of a file that is already parsed."""

    def collect() -> Collector:
        collector = Collector(parsed.text)
        if parsed.tree is not None:
            collector.module(parsed.tree)
        return collector

    collected = run_deep(collect)
    how = "whole" if not parsed.partial else "definitions" if parsed.error.startswith("huge") else "partial"
    return {
        "lines": len(collected.lines) - (not collected.lines[-1]),
        "parsed": how,
        "error": parsed.error,
        "scopes": collected.scopes,
        "sites": collected.sites,
        "stars": collected.stars,
        "imports": collected.imports,
        "exports": collected.exports,
    }


def pack(facts: FileFacts) -> bytes:
    """Facts as bytes for the cache."""
    return marshal.dumps(facts)


def unpack(data: bytes) -> FileFacts:
    """Facts from the cache. Only from our own: ``marshal`` is not made for foreign bytes."""
    facts: FileFacts = marshal.loads(data)
    return facts
