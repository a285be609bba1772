"""What the user asked for, read from the words of the command line."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cgx.errors import UserError


@dataclass(slots=True)
class Request:
    """One read of a job or a model. ``sets`` are Python values by name; ``files`` paths on this machine by name."""

    source: str = "."
    rev: str | None = None
    worktree: bool = False
    launch: str | None = None
    build: str | None = None
    inputs: list[str] = field(default_factory=list)
    sets: dict[str, Any] = field(default_factory=dict)
    files: dict[str, Path] = field(default_factory=dict)
    env: list[Path] = field(default_factory=list)
    mode: str | None = None
    store: str | None = None
    workspace: Path = Path(".")
    only: str | None = None
    force: bool = False
    deep: float = 10.0
    strict: bool = False
    quiet: bool = False
    json: bool = False

    def check(self) -> None:
        """Raise UserError for what contradicts itself."""
        if (self.launch is None) == (self.build is None):
            given = "both are given" if self.launch is not None else "neither is given"
            raise UserError(
                f"give --launch 'LINE' for a job or --build EXPR for a model ({given}); `cgx entrypoints` lists the jobs found"
            )
        if self.mode not in (None, "train", "eval"):
            raise UserError(f"--mode {self.mode}: give train or eval")
        if self.only not in (None, "graph", "schedule"):
            raise UserError(f"--only {self.only}: give graph or schedule")
        if self.build is not None and self.only == "schedule":
            raise UserError("--build makes no schedule, only a computation graph; leave --only schedule out")
        if self.build is not None and ":" not in self.build:
            raise UserError(f"--build {self.build}: give MODULE:EXPR or FILE.py:EXPR, as in model.py:Net()")
        for folder in self.env:
            if not folder.is_dir():
                raise UserError(f"--env {folder}: no such folder")
        for name, path in self.files.items():
            if not path.is_file():
                raise UserError(f"--file {name}={path}: no such file")


def read_sets(words: Iterable[str]) -> dict[str, Any]:
    """``NAME=VALUE`` words to values: a Python literal, else the bare word. Raises UserError where there is no ``=``."""
    found: dict[str, Any] = {}
    for word in words:
        name, value = split_name(word, "--set", "NAME=VALUE")
        try:
            found[name] = ast.literal_eval(value.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            found[name] = value.strip()
    return found


def read_files(words: Iterable[str]) -> dict[str, Path]:
    """``NAME=PATH`` words. The last ``=`` splits them where the text after it is a file."""
    found: dict[str, Path] = {}
    for word in words:
        name, path = split_name(word, "--file", "NAME=PATH")
        found[name] = Path(path).expanduser()
    return found


def split_name(word: str, option: str, form: str) -> tuple[str, str]:
    """Split at the first ``=`` that stands outside brackets and quotes and is no comparison."""
    depth, quote = 0, ""
    for index, sign in enumerate(word):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign in "([{":
            depth += 1
        elif sign in ")]}":
            depth -= 1
        elif (
            sign == "=" and depth == 0 and word[index + 1 : index + 2] != "=" and word[index - 1 : index] not in "=<>!"
        ):
            if name := word[:index].strip():
                return name, word[index + 1 :]
            break
    raise UserError(f"{option} {word}: give {form}")


def digest_of(path: Path) -> str:
    """A digest of a file's bytes."""
    return "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()


def env_digest(folder: Path) -> str:
    """A digest of a folder of third-party source: of its wheels' RECORD files, else of its file names and sizes."""
    total = hashlib.sha256()
    lists = sorted(folder.glob("*.dist-info/RECORD"))
    for file in lists:
        total.update(f"{file.parent.name}\0".encode() + file.read_bytes())
    if not lists:
        for file in sorted(folder.rglob("*.py")):
            total.update(f"{file.relative_to(folder).as_posix()}\0{file.stat().st_size}\n".encode())
    return "sha256:" + total.hexdigest()
