"""A commit, read from git's object database without a checkout."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from cgx.errors import UserError
from cgx.indexer.source.base import Tree
from cgx.indexer.source.git import Repository
from cgx.indexer.source.objects import ObjectReader

SKIPPED_MODES = {"120000": "symbolic link", "160000": "submodule"}


def list_commit(repository: Repository, commit: str, prefix: str) -> list[tuple[str, str, str]] | None:
    """(mode, blob, path under prefix) of every file of a commit, or None where the commit has no such folder."""
    where = f"{commit}:{prefix}" if prefix else f"{commit}^{{tree}}"
    listed = repository.output("ls-tree", "-r", "-z", "--full-tree", where)
    if listed is None:
        return None
    entries = []
    for line in listed.split(b"\0"):
        if line:
            head, _, path = line.partition(b"\t")
            mode, _, blob = head.decode().split(" ")
            entries.append((mode, blob, path.decode("utf-8", "backslashreplace")))
    return entries


class CommitTree(Tree):
    """The files of one commit, or of one folder in it."""

    def __init__(self, repository: Repository, commit: str, prefix: str, name: str, location: Path) -> None:
        super().__init__(name, commit=commit, prefix=prefix, location=str(location))
        entries = list_commit(repository, commit, prefix)
        if entries is None:
            raise UserError(f"the folder {prefix!r} is not in commit {commit[:12]} of {repository.display}")
        self._blobs = {path: blob for mode, blob, path in entries if mode not in SKIPPED_MODES}
        self.skipped = sorted((path, SKIPPED_MODES[mode]) for mode, _, path in entries if mode in SKIPPED_MODES)
        self._paths = sorted(self._blobs)
        self._objects = ObjectReader(repository)
        self._repository = repository

    def at(self, rev: str) -> CommitTree:
        """Another commit of the same repository and folder. Raises UserError for an unknown revision."""
        other = CommitTree(self._repository, self._repository.resolve(rev), self.prefix, self.name, Path(self.location))
        other.repository_key, other.remote = self.repository_key, self.remote
        return other

    def paths(self) -> list[str]:
        return self._paths

    def blob(self, path: str) -> str:
        return self._blobs[path]

    def exists(self, path: str) -> bool:
        return path in self._blobs

    def read(self, path: str) -> bytes | None:
        blob = self._blobs.get(path)
        return None if blob is None else self._checked(path, self._objects.read(blob))

    def read_many(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes | None]]:
        wanted = [path for path in paths if path in self._blobs]
        contents = self._objects.read_many(self._blobs[path] for path in wanted)
        for path, (_, data) in zip(wanted, contents, strict=True):
            yield path, self._checked(path, data)

    def close(self) -> None:
        self._objects.close()

    def history(self) -> dict[str, str | int | list[str]]:
        """Read from the commit object itself, and refs from their list: neither runs anything of the repository."""
        assert self.commit is not None
        found: dict[str, str | int | list[str]] = {}
        head, _, message = (self._repository.output("cat-file", "commit", self.commit) or b"").partition(b"\n\n")
        parents = []
        for line in head.split(b"\n"):
            name, _, value = line.partition(b" ")
            if name == b"parent":
                parents.append(value.decode())
            elif name == b"committer":
                stamp = value.rpartition(b"> ")[2].split(b" ")[0]
                if stamp.isdigit():
                    found["time"] = int(stamp)
        if parents:
            found["parents"] = parents
        subject = message.partition(b"\n")[0].decode("utf-8", "replace").strip()
        if subject:
            found["subject"] = subject[:200]
        refs = self._repository.output("for-each-ref", "--points-at", self.commit, "--format=%(refname:short)")
        names = sorted((refs or b"").decode("utf-8", "replace").split())
        if names:
            found["refs"] = names
        return found

    def is_ancestor_of(self, other: CommitTree) -> bool:
        """Whether the other commit was made on top of this one, as far as the clone has its history."""
        assert self.commit is not None and other.commit is not None
        return self._repository.run("merge-base", "--is-ancestor", self.commit, other.commit).returncode == 0

    def first_parents(self) -> Iterator[str]:
        """Commits before this one along first parents, the nearest first, as far as the clone has them."""
        assert self.commit is not None
        parents = self.history().get("parents")
        if isinstance(parents, list):
            yield parents[0]
        listed = self._repository.output("rev-list", "--first-parent", "--skip=2", self.commit)
        yield from (listed or b"").decode().split()

    def _checked(self, path: str, data: bytes | None) -> bytes | None:
        if data is None and not any(path == known for known, _ in self.skipped):
            self.skipped.append((path, "object missing or too large"))
        return data
