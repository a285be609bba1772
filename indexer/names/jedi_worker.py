"""Jedi in a process of its own, from the parent's side: started, asked, killed."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import cgx
from cgx.indexer.source import Tree, source_roots

SITE_SECONDS = 3.0  # one site may take this long before the process is killed and the next site asked of a new one
START_SECONDS = 6.0  # on top, for the first site of a process: it starts, and reads the stubs of the standard library
MAX_MEGABYTES = 600  # a process that grew past this is replaced
MAX_ZIP_BYTES = 80_000_000  # larger trees are not given to Jedi

_BOOT = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from cgx.indexer.names.jedi_adapter import main; sys.argv[0] = 'jedi'; main()"
)


class JediWorker:
    """Asks Jedi about call sites of one tree. Use as a context manager: it owns a process and a temporary folder."""

    def __init__(self, tree: Tree) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="cgx-jedi-"))
        self._archive = self._folder / "source.zip"
        self._roots = source_roots(tree)
        self._process: subprocess.Popen[bytes] | None = None
        self._buffer = b""
        self._fresh = True
        self.killed = 0
        self.files = self._pack(tree)

    def __enter__(self) -> JediWorker:
        return self

    def __exit__(self, *_: object) -> None:
        self._kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def ask(
        self, requests: Iterable[tuple[str, list[tuple[int, int]]]], deadline: float, site_seconds: float = SITE_SECONDS
    ) -> Iterator[tuple[str, int, int, list[dict[str, Any]] | None]]:
        """Answers for (path, [(line, column)]) until ``deadline`` (of ``time.monotonic``); None where a site was given up."""
        for path, sites in requests:
            if path not in self.files:
                continue
            left = list(sites)
            while left:
                if time.monotonic() >= deadline or not self._send(path, left):
                    return
                for line, column in list(left):
                    answer = self._answer(min(deadline, time.monotonic() + site_seconds + self._patience()))
                    left.pop(0)
                    if answer is None:
                        self._kill()
                        self.killed += 1
                        if time.monotonic() >= deadline:
                            return
                        yield path, line, column, None
                        break
                    yield path, line, column, answer["found"]
            if self._megabytes() > MAX_MEGABYTES:
                self._kill()

    def _patience(self) -> float:
        fresh, self._fresh = self._fresh, False
        return START_SECONDS if fresh else 0.0

    def _pack(self, tree: Tree) -> set[str]:
        """The tree's Python files as a zip without compression: nothing of the user's folder is ever on Jedi's path."""
        packed: set[str] = set()
        size = 0
        with zipfile.ZipFile(self._archive, "w", zipfile.ZIP_STORED) as archive:
            for path, data in tree.read_many([path for path in tree.paths() if path.endswith(".py")]):
                if data is None:
                    continue
                size += len(data)
                if size > MAX_ZIP_BYTES:
                    return set()
                archive.writestr(zipfile.ZipInfo(path), data)
                packed.add(path)
        return packed

    def _send(self, path: str, sites: list[tuple[int, int]]) -> bool:
        process = self._start()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps({"file": path, "sites": sites}).encode() + b"\n")
            process.stdin.flush()
        except OSError:
            self._kill()
            return False
        return True

    def _start(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            cache = self._folder / "cache"
            shutil.rmtree(cache, ignore_errors=True)  # a killed process may leave half a file, which fails for good
            cache.mkdir()
            package = str(Path(cgx.__file__).resolve().parent.parent)
            self._fresh, self._buffer = True, b""
            self._process = subprocess.Popen(
                # -I: no PYTHONPATH, no user site, no folder of the job in front of the standard library
                [sys.executable, "-I", "-c", _BOOT, package, str(self._archive), str(cache), *self._roots],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=self._folder,
            )  # fmt: skip
        return self._process

    def _answer(self, until: float) -> dict[str, Any] | None:
        """The next line of the process, or None where it does not come in time."""
        process = self._process
        if process is None or process.stdout is None:
            return None
        descriptor = process.stdout.fileno()
        while b"\n" not in self._buffer:
            wait = until - time.monotonic()
            if wait <= 0 or not select.select([descriptor], [], [], wait)[0]:
                return None
            data = os.read(descriptor, 1 << 16)
            if not data:
                return None
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        try:
            found: dict[str, Any] = json.loads(line)
        except ValueError:
            return None
        return found

    def _megabytes(self) -> float:
        if self._process is None:
            return 0.0
        with contextlib.suppress(OSError, ValueError, IndexError):
            pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
            return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
        return 0.0

    def _kill(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
