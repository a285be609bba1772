"""What a source tree is to every reader: paths, bytes and blob ids. Nothing here ever runs or changes what it reads."""

from __future__ import annotations

import fnmatch
import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator

MAX_FILE_BYTES = 64 * 1024 * 1024  # larger files are never source; reading one would only cost memory

# What can hold code, configuration or launch lines: the files whose bytes make up a folder's digest.
TEXT_SUFFIXES = (
    ".py", ".pyi", ".pyx", ".ipynb", ".json", ".yaml", ".yml", ".toml", ".cfg", ".ini", ".sh", ".slurm", ".sbatch",
    ".txt", ".md", ".rst", ".cu", ".cpp", ".cc", ".h", ".hpp", ".jinja", ".conf", ".gin",
)  # fmt: skip


class Tree(ABC):
    """One source: a commit, a work tree or a plain folder. Paths are relative to SOURCE and use ``/``."""

    def __init__(self, name: str, *, commit: str | None = None, prefix: str = "", location: str = "") -> None:
        self.name = name
        self.commit = commit
        self.prefix = prefix  # folder of SOURCE inside its repository, without a trailing slash; "" at the root
        self.location = location  # absolute folder on this machine; for messages and cache keys, never for records
        self.skipped: list[tuple[str, str]] = []  # (path, why)
        self.modified = False
        self.repository_key = location  # name and digest: the same for every view and clone of one repository
        self.remote: str | None = None  # URL without credentials
        self._folders: set[str] | None = None
        self._inside: dict[str, set[str]] | None = None
        self._digest: str | None = None

    @property
    def display(self) -> str:
        """A short form for people."""
        short = self.commit[:12] if self.commit else self.digest[:12]
        return f"{self.name} {short}{' (modified)' if self.modified else ''}"

    def history(self) -> dict[str, str | int | list[str]]:
        """Parents, time, subject and refs of a commit; empty for a folder."""
        return {}

    @property
    def digest(self) -> str:
        """A digest of what a folder holds. Commits need none, theirs is the sha."""
        if self._digest is not None:
            return self._digest
        total = hashlib.sha1(usedforsecurity=False)
        for path in self.paths():
            if path.endswith(TEXT_SUFFIXES):
                total.update(f"{path}\0{self.blob(path)}\n".encode())
        self._digest = total.hexdigest()
        return self._digest

    @abstractmethod
    def paths(self) -> list[str]:
        """Every regular file, sorted."""

    @abstractmethod
    def blob(self, path: str) -> str:
        """The id git gives the file's bytes. Raises KeyError for a path that is not there."""

    @abstractmethod
    def read(self, path: str) -> bytes | None:
        """The file's bytes, or None where it is not there, is skipped, or cannot be read."""

    def read_many(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes | None]]:
        """Several files; trees that can read them faster together do."""
        for path in paths:
            yield path, self.read(path)

    def exists(self, path: str) -> bool:
        """Whether a regular file stands there."""
        raise NotImplementedError

    def isdir(self, path: str) -> bool:
        """Whether a folder stands there. ``""`` and ``"."`` are the root."""
        path = path.strip("/")
        return path in ("", ".") or path in self._folder_set()

    def listdir(self, path: str) -> list[str]:
        """Names of the files and folders right under a folder, sorted."""
        path = path.strip("/")
        start = "" if path in ("", ".") else path + "/"
        return sorted({item[len(start) :].partition("/")[0] for item in self.paths() if item.startswith(start)})

    def matching(self, pattern: str) -> list[str]:
        """Files whose path matches a shell's pattern, part by part, sorted."""
        found = [""]
        for part in pattern.split("/"):
            magic = any(char in part for char in "*?[")
            match = re.compile(fnmatch.translate(part)).match if magic else None
            step: list[str] = []
            for folder in found:
                start = f"{folder}/" if folder else ""
                if match is None:
                    if part in self._names_in(folder):
                        step.append(start + part)
                else:
                    step += [start + name for name in self._names_in(folder) if match(name)]
            found = step
        return sorted(path for path in found if self.exists(path))

    def _names_in(self, folder: str) -> set[str]:
        """Names right under a folder, by a table of all folders that is made once."""
        if self._inside is None:
            inside: dict[str, set[str]] = {}
            for path in self.paths():
                while path:
                    parent, _, name = path.rpartition("/")
                    names = inside.setdefault(parent, set())
                    if name in names:
                        break
                    names.add(name)
                    path = parent
            self._inside = inside
        return self._inside.get(folder, set())

    def close(self) -> None:  # noqa: B027 - most trees hold no process
        """End helper processes. Idempotent."""

    def __enter__(self) -> Tree:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _folder_set(self) -> set[str]:
        if self._folders is None:
            folders: set[str] = set()
            for path in self.paths():
                parent = path.rpartition("/")[0]
                while parent and parent not in folders:
                    folders.add(parent)
                    parent = parent.rpartition("/")[0]
            self._folders = folders
        return self._folders


def blob_id(data: bytes, algorithm: str = "sha1") -> str:
    """The id git gives these bytes as a blob."""
    digest = hashlib.new(algorithm, usedforsecurity=False)
    digest.update(b"blob %d\0" % len(data))
    digest.update(data)
    return digest.hexdigest()
