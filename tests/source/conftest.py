"""Small repositories made with git itself."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ENV = {
    "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@t",
    "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@t", "GIT_AUTHOR_DATE": "1700000000 +0000",
    "GIT_COMMITTER_DATE": "1700000000 +0000",
}  # fmt: skip


def git(folder: Path, *args: str) -> str:
    done = subprocess.run(
        ["git", *args], cwd=folder, env={**os.environ, **ENV}, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def write(folder: Path, files: dict[str, str | bytes]) -> None:
    for path, content in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.fixture
def make_repo(tmp_path: Path) -> Callable[..., Path]:
    """``make_repo({path: content}, name=..., init=[...])`` -> the folder of a repository with one commit."""

    def make(files: dict[str, str | bytes], name: str = "job", init: tuple[str, ...] = ()) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        git(folder, "init", "-q", "-b", "main", *init)
        write(folder, files)
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", "first")
        return folder

    return make
