"""Which store is meant, which commit an answer speaks of, and whether that is the newest."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field

from cgx.errors import UserError
from cgx.store import Store, open_store

_LATEST = (
    "MATCH (c:Commit) WHERE $repository = '' OR c.repository = $repository "
    "RETURN c.id AS id, c.sha AS sha, c.refs AS refs ORDER BY coalesce(c.time, 0) DESC, id LIMIT 1000"
)
_JOBS = (
    "MATCH (j:Job)-[:OF]->(c:Commit {id: $commit}) "
    "RETURN j.id AS id, j.name AS name, CASE WHEN j.launch IS NULL THEN 1 ELSE 0 END AS build ORDER BY build, name, id"
)
"""Launched jobs go before models that were only built."""


@dataclass(slots=True)
class Place:
    """The source that is meant: key of its store, its id in a shared store, and the commit id of its HEAD."""

    key: str = "default"
    repository: str = ""
    head: str = ""


@dataclass(slots=True)
class Where:
    """An open store with its commits, newest first. ``notes`` are for people, on stderr."""

    store: Store
    place: Place
    notes: list[str] = field(default_factory=list)
    source: str = "."

    def commits(self) -> list[tuple[str, str | None, list[str]]]:
        """(id, sha, refs) of the commits of this source, the newest first; of the whole store where it has none of it."""
        rows = self.store.run(_LATEST, {"repository": self.place.repository}).rows
        if not rows and self.place.repository:
            rows = self.store.run(_LATEST, {"repository": ""}).rows
        return [(row[0], row[1], row[2] or []) for row in rows]

    def commit(self, text: str = "latest") -> str:
        """The id of the commit that a person names: latest, previous, an id, the start of a sha, a ref.

        Raises UserError where there is none, or where several fit."""
        commits = self.commits()
        ids = [row[0] for row in commits]
        if not ids:
            raise UserError("the store holds no commit yet: run `cgx index` first")
        if text == "latest":
            return self._latest(ids)
        if text == "previous":
            rest = [each for each in ids if each != self.commit()]
            if not rest:
                raise UserError("the store holds one commit only: index another, or give --param old=COMMIT")
            return rest[0]
        if text in ids:
            return text
        fits = [row[0] for row in commits if (len(text) >= 4 and (row[1] or row[0]).startswith(text)) or text in row[2]]
        if len(fits) == 1:
            return fits[0]
        if not fits and (resolved := self._by_git(text)) in ids:
            return resolved
        why = (
            f"{len(fits)} commits of the store fit"
            if fits
            else "the store holds no such commit; `cgx query commits` lists them"
        )
        raise UserError(f"commit {text!r}: {why}")

    def _latest(self, ids: list[str]) -> str:
        """What SOURCE holds now, else the newest. A plain folder has no time: its content tells which of several it is."""
        if not self.place.head and len(ids) > 1 and all(each.startswith("tree:") for each in ids):
            with contextlib.suppress(UserError):
                self.place.head = locate(self.source, digest=True).head
        return self.place.head if self.place.head in ids else ids[0]

    def job(self, text: str = "latest") -> str:
        """The id of a job: latest and previous are by commit. Raises UserError where there is none."""
        if text not in ("latest", "previous"):
            if not self.store.has("Job", text):
                raise UserError(f"the store holds no job {text!r}; `cgx query jobs` lists them")
            return text
        found: list[str] = []
        head = self.commit()
        for id_ in [head, *(each for each, _, _ in self.commits() if each != head)]:
            rows = self.store.run(_JOBS, {"commit": id_}).rows
            if rows and text == "latest" and len(rows) > 1:
                self.note(f"{len(rows)} jobs at this commit; taken: {rows[0][1]} (--param job=ID, `cgx query jobs`)")
            if rows:
                found.append(rows[0][0])
            if len(found) == (1 if text == "latest" else 2):
                return found[-1]
        if found:
            raise UserError("the store holds jobs of one commit only: index another, or give --param old_job=ID")
        raise UserError("the store holds no job yet: run `cgx index --launch LINE` or `cgx export` first")

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def freshness(self) -> str:
        """One line on how the index stands to the repository's HEAD; empty where they agree or nothing can be told."""
        head = self.place.head
        if not head or self.store.has("Commit", head):
            return ""
        if not self.store.run(_LATEST, {"repository": self.place.repository}, limit=1).rows:
            return ""  # a store of something else: nothing to compare with
        return f"the index is behind: HEAD {head[:10]} is not in it (`cgx index`)"

    def _by_git(self, text: str) -> str | None:
        if not self.place.head:
            return None
        try:
            return locate(self.source, text).head
        except UserError:
            return None


def locate(source: str, rev: str | None = None, digest: bool = False) -> Place:
    """What SOURCE is; ``digest``: read a plain folder's content for its id. Raises UserError where it cannot be indexed."""
    from cgx.indexer.passes.identity import commit_id, repository_id
    from cgx.indexer.source.opening import open_tree

    tree = open_tree(source, rev)
    try:
        head = commit_id(tree) if tree.commit or digest else ""
        return Place(tree.repository_key, repository_id(tree), head)
    finally:
        tree.close()


def open_where(store: str | None, source: str) -> Where:
    """Open a store for questions. With a ``store`` of its own, SOURCE need not be anything.

    Raises UserError where nothing is indexed yet or the store cannot be reached."""
    try:
        place = locate(source)
    except UserError:
        if store is None:
            raise
        place = Place()
    return Where(open_store(store, place.key, read_only=True), place, source=source)
