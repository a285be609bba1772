"""Facts of every Python file of a tree: from the cache by blob, or made anew, in processes where that pays."""

from __future__ import annotations

import gc
import multiprocessing
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from cgx.indexer.names.cache import FactsCache
from cgx.indexer.names.extract import extract, pack, unpack
from cgx.indexer.names.facts import FileFacts
from cgx.indexer.names.stdlib import common_stubs
from cgx.indexer.source.base import Tree, blob_id

POOL_BYTES = 1_200_000  # below about 30k lines to parse, starting processes costs more than it gains


@dataclass(slots=True)
class Harvest:
    """Facts by path, and what went wrong."""

    files: list[tuple[str, FileFacts]] = field(default_factory=list)
    blobs: dict[str, str] = field(default_factory=dict)
    faults: list[tuple[str, str]] = field(default_factory=list)  # (path, message): bugs of ours, kept per file
    made: int = 0  # files that were not in the cache


def python_files(tree: Tree) -> list[str]:
    """The files that are read: Python source."""
    return [path for path in tree.paths() if path.endswith(".py")]


def harvest(tree: Tree, cache: FactsCache, jobs: int = 0, recent: dict[str, FileFacts] | None = None) -> Harvest:
    """Read all facts. ``jobs``: processes, 0 for as many as there are cores. ``recent``: facts at hand, by blob."""
    found = Harvest()
    wanted: list[str] = []
    for path in python_files(tree):
        try:
            found.blobs[path] = tree.blob(path)
            wanted.append(path)
        except KeyError:
            continue  # noted by the tree as skipped
    blobs = set(found.blobs.values())
    known = {blob: recent[blob] for blob in blobs if blob in recent} if recent else {}
    known.update(cache.get(sorted(blobs - known.keys())))
    missing: dict[str, str] = {}
    for path in wanted:
        if found.blobs[path] not in known:
            missing.setdefault(found.blobs[path], path)
    sources = [(path, data) for path, data in tree.read_many(missing.values()) if data is not None]
    names = dict(found.blobs)
    if missing:
        sources += _missing_stubs(cache, names)
    made: list[tuple[str, bytes]] = []
    for path, data, trouble in _extract_all(sources, jobs):
        if data is None:
            found.faults.append((path, trouble))
            continue
        made.append((names[path], data))
        if path in found.blobs:
            known[names[path]] = unpack(data)
            found.made += 1
    if made:
        cache.put(made)
    found.files = [(path, known[found.blobs[path]]) for path in wanted if found.blobs[path] in known]
    return found


def _missing_stubs(cache: FactsCache, names: dict[str, str]) -> list[tuple[str, bytes]]:
    """Common stubs that the cache lacks; their blobs are added to ``names`` under paths no source has."""
    stubs = {blob_id(data): (f"<stub>/{number}.pyi", data) for number, (_, data) in enumerate(common_stubs())}
    known = cache.get(stubs)
    wanted = {blob: row for blob, row in stubs.items() if blob not in known}
    names.update({path: blob for blob, (path, _) in wanted.items()})
    return list(wanted.values())


def _extract_all(sources: list[tuple[str, bytes]], jobs: int) -> Iterator[tuple[str, bytes | None, str]]:
    jobs = jobs or os.cpu_count() or 1
    if jobs < 2 or sum(len(data) for _, data in sources) < POOL_BYTES or not sys.platform.startswith("linux"):
        yield from _extract_some(sources)
        return
    # Large files first, dealt in turn, so that the processes end together.
    ordered = sorted(sources, key=lambda item: (-len(item[1]), item[0]))
    chunks = [ordered[start :: jobs * 8] for start in range(jobs * 8)]
    context = multiprocessing.get_context("fork")  # nothing of ours runs in threads yet, and a fork starts at once
    with context.Pool(min(jobs, 8)) as pool:
        for rows in pool.imap(_extract_chunk, [chunk for chunk in chunks if chunk]):
            yield from rows


def _extract_chunk(sources: list[tuple[str, bytes]]) -> list[tuple[str, bytes | None, str]]:
    return list(_extract_some(sources))


def _extract_some(sources: Iterable[tuple[str, bytes]]) -> Iterator[tuple[str, bytes | None, str]]:
    collecting = gc.isenabled()
    gc.disable()  # trees without cycles in them: a tenth of the time goes otherwise
    try:
        for path, data in sources:
            try:
                yield path, pack(extract(data, path)), ""
            except Exception as error:  # one file's fault must not lose the others
                yield path, None, f"{type(error).__name__}: {error}"
    finally:
        if collecting:
            gc.enable()
