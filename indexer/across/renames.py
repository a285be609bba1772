"""Git's own rename detection, one signal among others.

Over many commits the two ends say little: a file that was renamed and then rewritten may look less like itself than a copy that
was made of it later. So the commits between are asked one by one, and what they say goes first.
"""

from __future__ import annotations

from typing import Any

LONGEST = 5000  # commits that are walked; over more, only the two ends are compared

Renames = dict[str, str]  # old path -> new path


def git_renames(old: Any, new: Any) -> Renames:
    """Old path -> new path as git pairs them, under the trees' folder. Empty where git cannot say."""
    repository = getattr(old, "_repository", None)
    if repository is None or old.commit is None or new.commit is None or old.commit == new.commit:
        return {}
    listed = repository.output(
        "diff-tree", "-r", "-M", "--no-ext-diff", "--no-textconv", "--diff-filter=RD", "--name-status", "-z", old.commit, new.commit
    )  # fmt: skip
    ends, lost = _pairs(listed or b"")
    if ends or lost:
        walked = _walked(repository, old.commit, new.commit)
        told = {path: target for path, target in walked.items() if path != target and path in {*ends, *lost}}
        ends = {path: target for path, target in ends.items() if target not in set(told.values())} | told
    start = f"{old.prefix}/" if old.prefix else ""
    return {
        before.removeprefix(start): after.removeprefix(start)
        for before, after in ends.items()
        if before.startswith(start) and after.startswith(start)
    }


def _pairs(listed: bytes) -> tuple[Renames, list[str]]:
    """Renamed and deleted paths of a ``--name-status -z`` listing."""
    words = [word.decode("utf-8", "backslashreplace") for word in listed.split(b"\0")]
    renames: Renames = {}
    lost: list[str] = []
    at = 0
    while at < len(words) - 1:
        if words[at].startswith("R"):
            renames[words[at + 1]] = words[at + 2]
            at += 3
        else:
            lost.append(words[at + 1])
            at += 2
    return renames, lost


def _walked(repository: Any, old: str, new: str) -> Renames:
    """Renames by the commits between: back from ``old`` to where both come from, and on to ``new``."""
    found = repository.output("merge-base", old, new)
    base = found.decode().split()[0] if found and found.split() else None
    if base is None:
        return {}
    back = {after: before for before, after in _onward(repository, base, old).items()}
    onward = _onward(repository, base, new)
    steps = {path: onward.get(at_base, at_base) for path, at_base in back.items()}
    return {path: target for path, target in onward.items() if path not in set(back.values())} | steps


def _onward(repository: Any, base: str, tip: str) -> Renames:
    """Paths at ``base`` that are renamed on the way to ``tip``, one step after the other."""
    if base == tip:
        return {}
    count = repository.output("rev-list", "--count", f"--max-count={LONGEST + 1}", f"{base}..{tip}")
    if not count or int(count) > LONGEST:
        return {}
    listed = repository.output(
        "log", "--topo-order", "--reverse", "--format=", "-M", "--no-ext-diff", "--no-textconv", "--diff-filter=R", "--name-status", "-z", f"{base}..{tip}"
    )  # fmt: skip
    words = [word.decode("utf-8", "backslashreplace") for word in (listed or b"").split(b"\0") if word]
    now: Renames = {}
    origin: Renames = {}
    for at in range(0, len(words) - 2, 3):
        before, after = words[at + 1], words[at + 2]
        first = origin.pop(before, before)
        now[first] = after
        origin[after] = first
    return now
