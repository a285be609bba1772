"""Where a path that the job names stands in the source, or in what the user gave for it."""

from __future__ import annotations

import posixpath
from pathlib import Path
from typing import Any

from cgx.indexer.interpreter.stdlib.support import text_of
from cgx.indexer.interpreter.values import Unknown, Value

CONFIG_SUFFIXES = (".yaml", ".yml", ".toml")
MAX_TEXT = 8_000_000  # bytes of a file that is taken as a constant


def start_folder(interp: Any) -> str:
    """The folder of the tree in which the job starts; "" for its root."""
    plan = getattr(getattr(interp, "trace", None), "plan", None)
    return str(getattr(plan, "cwd", "") or "")


def candidates(interp: Any, text: str) -> list[str]:
    """Paths in the tree that a text may mean: from the folder the job starts in, then from the root."""
    clean = text.removeprefix("file://")
    if clean.startswith("/"):
        return []
    paths = [posixpath.normpath(posixpath.join(start_folder(interp), clean)), posixpath.normpath(clean)]
    return [path for path in dict.fromkeys(paths) if not path.startswith("..")]


def locate(interp: Any, text: str) -> str | None:
    """The file's path in the tree, or None."""
    return next((path for path in candidates(interp, text) if path != "." and interp.tree.exists(path)), None)


def is_folder(interp: Any, text: str) -> bool:
    """Of the source, or of files that the user gave."""
    names = [path for path in (text, *candidates(interp, text)) if path]
    if any(str(name).startswith(path.rstrip("/") + "/") for name in files_given(interp) for path in names):
        return True
    return any(path == "." or interp.tree.isdir(path) for path in candidates(interp, text))


def given(interp: Any, text: str) -> str | None:
    """The name under which the user gave this file (``--file``), or a launch script wrote it."""
    files = files_given(interp)
    for name in (text, *candidates(interp, text)):
        if name in files:
            return str(name)
    return None


def files_given(interp: Any) -> dict[str, Any]:
    """Name -> bytes, text or a path: what ``--file`` gives, and what a launch script writes."""
    plan = getattr(getattr(interp, "trace", None), "plan", None)
    return {**(getattr(plan, "files", None) or {}), **(getattr(interp, "files", None) or {})}


def env_trees(interp: Any) -> list[Any]:
    """The third-party trees of ``--env``."""
    return list(getattr(getattr(interp, "sources", None), "env", ()))


def read_bytes(interp: Any, path: Value) -> bytes | None:
    """The bytes of a file that the source holds or the user gave; None where it is neither."""
    text = text_of(path)
    if text is None:
        return None
    name = given(interp, text)
    if name is not None:
        held = files_given(interp)[name]
        return held.read_bytes() if isinstance(held, Path) else held.encode() if isinstance(held, str) else bytes(held)
    found = locate(interp, text)
    if found is not None:
        data = interp.tree.read(found)
    else:
        # A file beside third-party source (a package's default.yaml), read through --env.
        data = next((held for tree in env_trees(interp) if (held := tree.read(posixpath.normpath(text)))), None)
    return data if data is not None and len(data) <= MAX_TEXT else None


def is_absent(text: str) -> bool:
    """A configuration file named without a folder: the line is typed in SOURCE, so what SOURCE does not hold is not there.

    ``model=yolo.yaml`` names a packaged file that the job then looks for; data and checkpoints stay unknown.
    """
    return "/" not in text and text.endswith(CONFIG_SUFFIXES) and len(text) > len(".yaml")


def exists(interp: Any, path: Value, folders: bool = True, files: bool = True) -> bool | None:
    """True where the source holds it. What it does not hold is not known to be absent: None.

    One exception: :func:`is_absent`.
    """
    text = text_of(path)
    if text is None:
        return None
    if locate(interp, text) is not None or given(interp, text) is not None:
        return files
    if is_folder(interp, text):
        return folders
    for tree in env_trees(interp):
        clean = posixpath.normpath(text)
        if tree.exists(clean):
            return files
        if clean != "." and tree.isdir(clean):
            return folders
    return False if is_absent(text) else None


def missing(site: Any, path: Value, hint: str = "") -> Unknown:
    """What a file holds that is not there: named by its path, settled with ``--file``."""
    text = text_of(path)
    if text is None:
        name = path.name if isinstance(path, Unknown) else site.text
        reason = path.reason if isinstance(path, Unknown) else "missing-file"
        settle = (path.settle or ("--set", name)) if isinstance(path, Unknown) else None
        return Unknown(site.text, reason, site.anchor, hint, settle)
    return Unknown(text, "missing-file", site.anchor, hint, ("--file", text))
