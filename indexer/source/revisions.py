"""Which commits a revision, a range or all tags mean."""

from __future__ import annotations

from pathlib import Path

from cgx.errors import UserError
from cgx.indexer.source.git import find_repository


def revisions(source: str, rev: str | None) -> list[str | None]:
    """One revision as it is; ``A..B`` as the commits from after A to B, oldest first; ``tags`` where no ref has that name.

    Raises UserError for a range of a plain folder, or one that names no commit.
    """
    if rev is None or ".." not in rev:
        return [rev]
    repository = find_repository(Path(source).expanduser().resolve())
    if repository is None:
        raise UserError(f"{source} is not in a git repository, so it has no range {rev!r}")
    first, _, last = rev.replace("...", "..").partition("..")
    start, end = repository.resolve(first) if first else None, repository.resolve(last or "HEAD")
    listed = repository.output("rev-list", "--reverse", "--topo-order", end, *([f"^{start}"] if start else []))
    commits: list[str | None] = list((listed or b"").decode().split())
    if not commits:
        raise UserError(f"the range {rev!r} holds no commit; is it the right way round?")
    return commits
