"""A folder read as it is: a plain one, a work tree, or an environment of third-party source."""

from __future__ import annotations

import os
from pathlib import Path

from cgx.indexer.source.base import MAX_FILE_BYTES, TEXT_SUFFIXES, Tree, blob_id
from cgx.indexer.source.commit_tree import list_commit
from cgx.indexer.source.git import Repository

# Folders that hold tools' state or other people's code; a launch never names what is in them.
IGNORED_FOLDERS = frozenset(
    {
        ".git",
        ".hg",
        ".svn",
        "__pycache__",
        "node_modules",
        ".tox",
        ".nox",
        ".mypy_cache",
        ".ruff_cache",
        ".pytest_cache",
    }
)


class FolderTree(Tree):
    """A plain folder. Files are listed at the first ``paths()``, hashed only when asked, links never followed."""

    def __init__(self, folder: Path, name: str, **where: str) -> None:
        super().__init__(name, location=str(folder), **where)
        self._folder = folder
        self._real: dict[str, bytes] | None = None  # displayed path -> path in the file system's own bytes
        self._blobs: dict[str, str] = {}
        self._algorithm = "sha1"

    def paths(self) -> list[str]:
        return list(self._listing())

    def blob(self, path: str) -> str:
        if path not in self._blobs:
            data = self.read(path)
            if data is None:
                raise KeyError(path)
            self._blobs[path] = blob_id(data, self._algorithm)
        return self._blobs[path]

    def read(self, path: str) -> bytes | None:
        place = self._place(path)
        if place is None:
            return None
        try:
            if (os.path.islink(place) and not self._follows_links) or not os.path.isfile(place):
                return None
            if os.path.getsize(place) > MAX_FILE_BYTES:
                self._skip(path, "too large")
                return None
            with open(place, "rb") as file:
                data = file.read()
        except OSError as error:
            self._skip(path, f"cannot be read: {error.strerror}")
            return None
        return data

    def exists(self, path: str) -> bool:
        return path in self._listing()

    _follows_links = False

    def _skip(self, path: str, why: str) -> None:
        if (path, why) not in self.skipped:
            self.skipped.append((path, why))

    def _place(self, path: str) -> bytes | None:
        real = self._listing().get(path)
        return None if real is None else os.path.join(os.fsencode(self._folder), real)

    def _listing(self) -> dict[str, bytes]:
        if self._real is None:
            found = {item.decode("utf-8", "backslashreplace"): item for item in self._scan()}
            self._real = {path: found[path] for path in sorted(found)}
            self.skipped.sort()
        return self._real

    def _scan(self) -> list[bytes]:
        found: list[bytes] = []
        pending = [b""]
        while pending:
            folder = pending.pop()
            try:
                entries = list(os.scandir(os.path.join(os.fsencode(self._folder), folder)))
            except OSError as error:
                self._skip(os.fsdecode(folder), f"cannot be read: {error.strerror}")
                continue
            for entry in entries:
                path = folder + b"/" + entry.name if folder else entry.name
                shown = path.decode("utf-8", "backslashreplace")
                if entry.is_symlink():
                    self._skip(shown, "symbolic link")
                elif entry.is_dir(follow_symlinks=False):
                    if shown.rpartition("/")[2] not in IGNORED_FOLDERS and not os.path.exists(
                        os.path.join(entry.path, b"pyvenv.cfg")
                    ):
                        pending.append(path)
                elif entry.is_file(follow_symlinks=False):
                    found.append(path)
                else:
                    self._skip(shown, "not a regular file")
        return found


class EnvironmentTree(FolderTree):
    """A ``site-packages`` or a folder of unzipped wheels. Looked into, not listed: it may hold tens of thousands of files.

    Links are followed for reading, since some installers link packages in.
    """

    _follows_links = True

    def exists(self, path: str) -> bool:
        return os.path.isfile(self._folder / path)

    def isdir(self, path: str) -> bool:
        return os.path.isdir(self._folder / path)

    def listdir(self, path: str) -> list[str]:
        try:
            return sorted(os.listdir(self._folder / path))
        except OSError:
            return []

    def _place(self, path: str) -> bytes | None:
        return os.fsencode(self._folder / path)


class WorkTree(FolderTree):
    """The files of a repository as they are now: tracked ones and new ones that are not ignored."""

    def __init__(self, repository: Repository, folder: Path, name: str, commit: str | None, prefix: str) -> None:
        super().__init__(folder, name, prefix=prefix)
        self.commit = commit
        self._repository = repository
        self._algorithm = repository.object_format
        committed = list_commit(repository, commit, prefix) if commit else None
        before = {path: blob for _, blob, path in committed or [] if path.endswith(TEXT_SUFFIXES)}
        now = [path for path in self.paths() if path.endswith(TEXT_SUFFIXES)]
        skipped = {path for path, _ in self.skipped}
        self.modified = any(before.get(path) != self.blob(path) for path in now) or any(
            path not in skipped for path in before.keys() - set(now)
        )

    def _scan(self) -> list[bytes]:
        listed = self._repository.run(
            "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=self._folder
        ).stdout
        found = []
        for path in sorted(set(listed.split(b"\0")) - {b""}):
            place = os.path.join(os.fsencode(self._folder), path)
            shown = path.decode("utf-8", "backslashreplace")
            if os.path.islink(place):
                self._skip(shown, "symbolic link")
            elif os.path.isdir(place):
                self._skip(shown.rstrip("/"), "submodule")
            elif os.path.isfile(place):
                found.append(path)
        return found
