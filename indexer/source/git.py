"""Git, called so that nothing of the repository's configuration can run: no hooks, filters, monitors, transports, pagers.

Only plumbing that reads objects is used. The git directory is always given explicitly, so ownership checks and
``core.worktree`` do not come into play, and each variable of the caller's environment that could redirect git is dropped.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from cgx.errors import UserError

HARDENING = (
    "-c", "core.fsmonitor=false",
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.attributesFile=/dev/null",
    "-c", "core.sshCommand=false",
    "-c", "core.pager=cat",
    "-c", "core.untrackedCache=false",
    "-c", "core.preloadIndex=false",
    "-c", "credential.helper=",
    "-c", "diff.external=",
    "-c", "protocol.allow=never",
    "-c", "gc.auto=0",
    "-c", "maintenance.auto=false",
    "-c", "log.showSignature=false",
    "-c", "safe.directory=*",
)  # fmt: skip


def git_environment() -> dict[str, str]:
    """The caller's environment without a ``GIT_*`` variable, plus those that keep git from running or asking anything."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env.update(
        GIT_CONFIG_NOSYSTEM="1",
        GIT_CONFIG_GLOBAL=os.devnull,
        GIT_CONFIG_SYSTEM=os.devnull,
        GIT_ATTR_NOSYSTEM="1",
        GIT_OPTIONAL_LOCKS="0",
        GIT_TERMINAL_PROMPT="0",
        GIT_NO_LAZY_FETCH="1",
        GIT_ALLOW_PROTOCOL="none",  # git before 2.44 knows no GIT_NO_LAZY_FETCH; this stops its transports
        GIT_PAGER="cat",
        GIT_NO_REPLACE_OBJECTS="1",
        LC_ALL="C",
    )
    return env


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository found on disk. ``top`` is None for a bare one."""

    git_dir: Path
    top: Path | None

    def command(self, *args: str) -> list[str]:
        where = [f"--git-dir={self.git_dir}"]
        if self.top is not None:
            where.append(f"--work-tree={self.top}")
        return ["git", "--no-pager", *where, *HARDENING, *args]

    def run(self, *args: str, cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:
        """Run one git command to its end. Raises UserError where git itself is not there."""
        try:
            return subprocess.run(
                self.command(*args),
                cwd=cwd or self.top or self.git_dir,
                env=git_environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
            )
        except FileNotFoundError:
            raise UserError("git is not installed or not on PATH; install it, or give a plain folder") from None

    def output(self, *args: str) -> bytes | None:
        """Standard output, or None where git failed."""
        done = self.run(*args)
        return done.stdout if done.returncode == 0 else None

    def resolve(self, rev: str) -> str:
        """The full id of the commit that ``rev`` names. Raises UserError where there is none."""
        found = None if rev.startswith("-") else self.output("rev-parse", "--verify", "--quiet", rev + "^{commit}")
        if found:
            return found.decode().strip()
        if rev == "HEAD":
            raise UserError(f"{self.display} has no commit yet; commit first, or read the files with --worktree")
        if (self.real_git_dir / "shallow").exists():
            raise UserError(f"unknown revision {rev!r} in {self.display}, a shallow clone: fetch more of its history")
        raise UserError(f"unknown revision {rev!r} in {self.display}; see `git log` or `git branch -a` there")

    @property
    def display(self) -> str:
        return str(self.top or self.git_dir)

    @property
    def real_git_dir(self) -> Path:
        """The folder that holds the objects: what ``.git`` points at in a linked work tree or a submodule."""
        found = self.output("rev-parse", "--git-common-dir")
        if not found:
            return self.git_dir
        return Path((self.top or self.git_dir) / os.fsdecode(found.rstrip(b"\n"))).resolve()

    @property
    def folder_name(self) -> str:
        """Name of the repository's folder; of the main one for a linked work tree."""
        common = self.real_git_dir
        if common.name == ".git":
            return common.parent.name
        return (self.top or self.git_dir).name.removesuffix(".git")

    @property
    def object_format(self) -> str:
        """``sha1`` or ``sha256``."""
        found = self.output("rev-parse", "--show-object-format")
        return found.decode().strip() if found else "sha1"

    @property
    def identity(self) -> str:
        """A digest that clones of one repository share: of the remote's URL, else of the root commit, else of the place.

        A clone of a local repository has that one's identity.
        """
        return self._identity(4)

    def _identity(self, depth: int) -> str:
        url = self.remote_url
        if url is not None:
            local = Path(url.removeprefix("file://"))
            if depth and "@" not in url and local.is_dir():
                found = find_repository(local.resolve())
                if found is not None and found != self:
                    return found._identity(depth - 1)
            return short_digest(plain_url(url))
        roots = self.output("rev-list", "--max-parents=0", "HEAD")
        if roots and not (self.real_git_dir / "shallow").exists():
            return short_digest(min(roots.decode().split()))
        return short_digest(str(self.real_git_dir))

    @property
    def remote_name(self) -> str | None:
        """Last part of the remote's URL, without ``.git``."""
        url = self.remote_url
        if url is None:
            return None
        tail = url.rstrip("/").removesuffix("/.git").replace("\\", "/").replace(":", "/").rpartition("/")[2]
        return tail.removesuffix(".git") or None

    @property
    def remote_url(self) -> str | None:
        """The remote's URL as configured, ``origin`` first. May hold credentials: see :func:`plain_url`."""
        listed = self.output("config", "--local", "-z", "--get-regexp", r"^remote\..*\.url$") or b""
        urls: dict[str, str] = {}
        for item in listed.decode("utf-8", "replace").split("\0"):
            key, _, url = item.partition("\n")
            if url:
                urls.setdefault(key, url)
        if not urls:
            return None
        return urls.get("remote.origin.url") or urls[min(urls)]


def plain_url(url: str) -> str:
    """A URL without credentials, scheme and suffix: equal for the ways one remote is written."""
    plain = re.sub(r"^[a-z+]+://", "", url.rstrip("/"), flags=re.I).rpartition("@")[2]
    return plain.removesuffix(".git").replace(":", "/").lower()


def without_credentials(url: str | None) -> str | None:
    """The URL without user and password."""
    return re.sub(r"^([a-z+]+://)[^/@]*@", r"\1", url, flags=re.I) if url is not None else None


def short_digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def find_repository(folder: Path) -> Repository | None:
    """The repository that holds a folder, or None. Looks for ``.git`` upwards, then for a bare repository right here."""
    for place in (folder, *folder.parents):
        marker = place / ".git"
        if marker.is_dir() and (marker / "HEAD").exists():
            return Repository(marker, place)
        if marker.is_file() and marker.read_bytes().startswith(b"gitdir:"):
            return Repository(marker, place)
    if (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir():
        return Repository(folder, None)
    return None
