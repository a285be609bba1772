"""Where a path that the job names stands in the source, or in what the user gave for it."""

from __future__ import annotations

import posixpath
from pathlib import Path
from typing import Any

from cgx.indexer.interpreter.stdlib.support import text_of
from cgx.indexer.interpreter.values import Unknown, Value

MAX_TEXT = 8_000_000  # bytes of a file that is taken as a constant


def candidates(interp: Any, text: str) -> list[str]:
    """Paths in the tree that a text may mean: from the folder the job starts in, then from the root."""
    clean = text.removeprefix("file://")
    if clean.startswith("/"):
        return []
    cwd = getattr(interp, "cwd", "") or ""
    paths = [posixpath.normpath(posixpath.join(cwd, clean)), posixpath.normpath(clean)]
    return [path for path in dict.fromkeys(paths) if not path.startswith("..")]


def locate(interp: Any, text: str) -> str | None:
    """The file's path in the tree, or None."""
    return next((path for path in candidates(interp, text) if path != "." and interp.tree.exists(path)), None)


def is_folder(interp: Any, text: str) -> bool:
    return any(path == "." or interp.tree.isdir(path) for path in candidates(interp, text))


def given(interp: Any, text: str) -> str | None:
    """The name under which the user gave this file (``--file``), or a launch script wrote it."""
    files = getattr(interp, "files", None) or {}
    for name in (text, *candidates(interp, text)):
        if name in files:
            return str(name)
    return None


def read_bytes(interp: Any, path: Value) -> bytes | None:
    """The bytes of a file that the source holds or the user gave; None where it is neither."""
    text = text_of(path)
    if text is None:
        return None
    name = given(interp, text)
    if name is not None:
        reader = getattr(interp, "read_given", None)
        data = reader(name) if reader is not None else interp.files[name]
        if isinstance(data, str | Path):
            data = Path(data).read_bytes()
        return bytes(data)
    found = locate(interp, text)
    if found is not None:
        data = interp.tree.read(found)
    else:
        # A file beside third-party source (a package's default.yaml), read through --env.
        data = next(
            (held for tree in getattr(interp, "env_trees", ()) if (held := tree.read(posixpath.normpath(text)))), None
        )
    return data if data is not None and len(data) <= MAX_TEXT else None


def exists(interp: Any, path: Value, folders: bool = True, files: bool = True) -> bool | None:
    """True where the source holds it. What it does not hold is not known to be absent: None."""
    text = text_of(path)
    if text is None:
        return None
    if locate(interp, text) is not None or given(interp, text) is not None:
        return files
    if is_folder(interp, text):
        return folders
    for tree in getattr(interp, "env_trees", ()):
        clean = posixpath.normpath(text)
        if tree.exists(clean):
            return files
        if clean != "." and tree.isdir(clean):
            return folders
    return None


def missing(site: Any, path: Value, hint: str = "") -> Unknown:
    """What a file holds that is not there: named by its path, settled with ``--file``."""
    text = text_of(path)
    if text is None:
        name = path.name if isinstance(path, Unknown) else site.text
        reason = path.reason if isinstance(path, Unknown) else "missing-file"
        settle = (path.settle or ("--set", name)) if isinstance(path, Unknown) else None
        return Unknown(site.text, reason, site.anchor, hint, settle)
    return Unknown(text, "missing-file", site.anchor, hint, ("--file", text))
