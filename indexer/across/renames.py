"""Git's own rename detection, one signal among others."""

from __future__ import annotations

from typing import Any


def git_renames(old: Any, new: Any) -> dict[str, str]:
    """Old path -> new path as ``git diff-tree -M`` pairs them, under the trees' folder. Empty where git cannot say."""
    repository = getattr(old, "_repository", None)
    if repository is None or old.commit is None or new.commit is None:
        return {}
    listed = repository.output(
        "diff-tree", "-r", "-M", "--no-ext-diff", "--no-textconv", "--diff-filter=R", "--name-status", "-z", old.commit, new.commit
    )
    if not listed:
        return {}
    words = [word.decode("utf-8", "backslashreplace") for word in listed.split(b"\0")]
    start = f"{old.prefix}/" if old.prefix else ""
    found: dict[str, str] = {}
    for at in range(0, len(words) - 2, 3):
        before, after = words[at + 1], words[at + 2]
        if before.startswith(start) and after.startswith(start):
            found[before.removeprefix(start)] = after.removeprefix(start)
    return found
