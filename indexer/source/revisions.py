"""Which commits a revision, a range or all tags mean."""

from __future__ import annotations

from pathlib import Path

from cgx.errors import UserError
from cgx.indexer.source.git import find_repository


def revisions(source: str, rev: str | None) -> list[str | None]:
    """One revision as it is; ``A..B`` as the commits from after A to B, oldest first; ``tags`` where no ref has that name.

    Raises UserError for a range of a plain folder, or one that names no commit.
    """
    if rev == "tags":
        return _tags(source)
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


def _tags(source: str) -> list[str | None]:
    """The commits of all tags, ancestors first; a branch or tag that is itself called so is meant by its name."""
    repository = find_repository(Path(source).expanduser().resolve())
    if repository is None or repository.output("rev-parse", "--verify", "--quiet", "tags^{commit}"):
        return ["tags"]
    listed = repository.output("for-each-ref", "--format=%(refname)", "refs/tags") or b""
    names = [name for name in listed.decode("utf-8", "surrogateescape").split("\n") if name]
    found = [repository.output("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}") for name in names]
    tagged = {sha.decode().strip() for sha in found if sha}
    if not tagged:
        raise UserError(f"{repository.display} has no tags")
    history = repository.output("rev-list", "--reverse", "--topo-order", *sorted(tagged)) or b""
    return [sha for sha in history.decode().split() if sha in tagged]
