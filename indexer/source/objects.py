"""Objects out of git's database through one ``cat-file --batch`` process."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterable, Iterator

from cgx.errors import UserError
from cgx.indexer.source.base import MAX_FILE_BYTES
from cgx.indexer.source.git import Repository, git_environment

CHUNK = 400  # requests written before answers are read: 400 ids stay well below the 64 KB a pipe holds


class ObjectReader:
    """Reads blobs by id. The process starts at the first read and again if it died (a missing object of a partial clone)."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._process: subprocess.Popen[bytes] | None = None

    def read(self, blob: str) -> bytes | None:
        """One blob's bytes, or None where the object is missing or too large."""
        return next(iter(self.read_many([blob])))[1]

    def read_many(self, blobs: Iterable[str]) -> Iterator[tuple[str, bytes | None]]:
        """Blobs in the order asked."""
        chunk: list[str] = []
        for blob in blobs:
            chunk.append(blob)
            if len(chunk) == CHUNK:
                yield from self._chunk(chunk)
                chunk = []
        if chunk:
            yield from self._chunk(chunk)

    def close(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _chunk(self, blobs: list[str]) -> Iterator[tuple[str, bytes | None]]:
        done = 0
        try:
            process = self._start()
            assert process.stdin is not None
            process.stdin.write("".join(blob + "\n" for blob in blobs).encode())
            process.stdin.flush()
            for blob in blobs:
                data = self._answer(process)
                done += 1
                yield blob, data
        except (BrokenPipeError, EOFError):
            # The process died on an object that is not there: that one is missing, the rest is asked again.
            self.close()
            if done < len(blobs):
                yield blobs[done], None
                if blobs[done + 1 :]:
                    yield from self._chunk(blobs[done + 1 :])

    def _start(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.close()
            try:
                self._process = subprocess.Popen(
                    self._repository.command("cat-file", "--batch"),
                    cwd=self._repository.top or self._repository.git_dir,
                    env=git_environment(),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    bufsize=1 << 16,
                )
            except FileNotFoundError:
                raise UserError("git is not installed or not on PATH; install it, or give a plain folder") from None
        return self._process

    @staticmethod
    def _answer(process: subprocess.Popen[bytes]) -> bytes | None:
        assert process.stdout is not None
        header = process.stdout.readline()
        if not header.endswith(b"\n"):
            raise EOFError
        parts = header.split()
        if len(parts) != 3:  # "<id> missing", "<id> ambiguous"
            return None
        size = int(parts[2])
        if size > MAX_FILE_BYTES:
            left = size + 1
            while left:
                got = process.stdout.read(min(left, 1 << 20))
                if not got:
                    raise EOFError
                left -= len(got)
            return None
        data = process.stdout.read(size + 1)
        if len(data) != size + 1:
            raise EOFError
        return data[:-1] if parts[1] == b"blob" else None
