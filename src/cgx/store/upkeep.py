"""``cgx store``: copy, export, clean up."""

from __future__ import annotations

import json as json_module
import os
import sys
from pathlib import Path

from cgx.errors import UserError
from cgx.store import copying, graph_files
from cgx.store.base import Store
from cgx.store.opening import open_store


def run_copy(origin: str, target: str) -> int:
    """Copy a store into another, beside what that holds. Returns the exit code."""
    with open_store(origin, "copy", read_only=True) as source, open_store(target, "copy") as sink:
        if source.url == sink.url:
            raise UserError("a store cannot be copied into itself")
        nodes, edges = copying.copy(source, sink)
        print(f"{nodes} nodes and {edges} edges copied to {sink.url}", file=sys.stderr)
    return 0


def run_gc(*, store: str | None, source: str, json: bool) -> int:
    """Delete what nothing holds any more; say how many nodes of each label went. Returns the exit code."""
    with _of_source(store, source) as opened:
        gone = opened.sweep()
        opened.checkpoint()
    if json:
        print(json_module.dumps(gone))
    else:
        told = ", ".join(f"{count} {label}" for label, count in gone.items())
        print(f"deleted: {told}" if told else "nothing to delete")
    return 0


def run_export(*, store: str | None, source: str, format: str, output: Path | None) -> int:
    """Write the whole graph as ``format`` to a file, atomically, or to stdout. Returns the exit code."""
    if format not in graph_files.FORMATS:
        raise UserError(f"no format {format!r}: {', '.join(graph_files.FORMATS)}")
    with _of_source(store, source, read_only=True) as opened:
        lines = graph_files.FORMATS[format](copying.parts(opened))
        if output is None:
            for line in lines:
                print(line)
            return 0
        part = output.with_name(f".{output.name}.part")
        try:
            with part.open("w", encoding="utf-8", newline="\n") as file:
                file.writelines(f"{line}\n" for line in lines)
            os.replace(part, output)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise UserError(f"{output} cannot be written: {error.strerror}") from error
    return 0


def _of_source(store: str | None, source: str, read_only: bool = False) -> Store:
    if store is not None:
        return open_store(store, "", read_only=read_only)
    from cgx.indexer.source.opening import open_tree

    tree = open_tree(source)
    try:
        return open_store(None, tree.repository_key, read_only=read_only)
    finally:
        tree.close()
