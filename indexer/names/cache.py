"""Facts by content, in the user's cache folder: no blob is ever read twice, whatever path or commit it stands at."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import sys
from collections.abc import Iterable
from pathlib import Path

import platformdirs

from cgx.indexer.names.extract import extract, pack, unpack
from cgx.indexer.names.facts import EXTRACTOR_VERSION, FileFacts

SCHEMA = "CREATE TABLE IF NOT EXISTS facts (blob TEXT PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID"


def cache_folder() -> Path:
    """The user's cache folder for cgx; ``CGX_CACHE_DIR`` overrides it."""
    given = os.environ.get("CGX_CACHE_DIR")
    return Path(given) if given else Path(platformdirs.user_cache_dir("cgx"))


class FactsCache:
    """One small database for each extractor version and Python minor (whose grammar decides what parses).

    A damaged or unwritable cache only costs time: it is set aside, and facts are made anew.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._pending: list[tuple[str, bytes]] = []
        name = f"facts-{EXTRACTOR_VERSION}-py{sys.version_info[0]}.{sys.version_info[1]}.sqlite"
        self._file = (folder or cache_folder() / "facts") / name
        self._connection = self._open()

    def facts(self, blob: str, data: bytes, path: str = "") -> FileFacts:
        """Facts of one file, made if they are not there; kept at the next :meth:`flush`."""
        known = self.get([blob]).get(blob)
        if known is not None:
            return known
        facts = extract(data, path)
        self._pending.append((blob, pack(facts)))
        return facts

    def flush(self) -> None:
        """Keep what :meth:`facts` made, in one transaction."""
        pending, self._pending = self._pending, []
        if pending:
            self.put(pending)

    def get(self, blobs: Iterable[str]) -> dict[str, FileFacts]:
        """Those of the blobs' facts that are there."""
        found: dict[str, FileFacts] = {}
        wanted = list(blobs)
        if self._connection is None:
            return found
        try:
            for start in range(0, len(wanted), 500):
                chunk = wanted[start : start + 500]
                marks = ",".join("?" * len(chunk))
                for blob, data in self._connection.execute(
                    f"SELECT blob, data FROM facts WHERE blob IN ({marks})", chunk
                ):
                    found[blob] = unpack(data)
        except (sqlite3.Error, ValueError, EOFError, TypeError):
            self._set_aside()
        return found

    def put(self, rows: Iterable[tuple[str, bytes]]) -> None:
        """Keep facts. A full disk or a lock that does not come free is no failure of the run."""
        if self._connection is None:
            return
        try:
            with self._connection:
                self._connection.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", rows)
        except sqlite3.DatabaseError as error:
            if not isinstance(error, sqlite3.OperationalError):
                self._set_aside()

    def close(self) -> None:
        self.flush()
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self) -> sqlite3.Connection | None:
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            connection = sqlite3.connect(self._file, timeout=10)
        except (OSError, sqlite3.Error):
            return None
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=OFF")  # losing the cache in a power cut costs only time
            connection.execute(SCHEMA)
        except sqlite3.Error:
            connection.close()
            return None
        return connection

    def _set_aside(self) -> None:
        """Remove a damaged cache and go on without one."""
        self.close()
        for suffix in ("", "-wal", "-shm"):
            with contextlib.suppress(OSError):
                os.unlink(f"{self._file}{suffix}")
