"""From a source tree to the store: the ordered passes, and what ``cgx index`` says of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cgx.indexer.launch.tries import Memory
from cgx.indexer.names.cache import FactsCache
from cgx.indexer.names.program import Program, Session, link, without_gc
from cgx.indexer.passes.commit_nodes import commit_delta, generator, reason_nodes
from cgx.indexer.passes.entry_points import entry_point_delta
from cgx.indexer.passes.figures import Figures, count
from cgx.indexer.passes.identity import commit_id, repository_id
from cgx.indexer.passes.static_graph import FileGraph, Identities, file_version, links_of, mark_definitions
from cgx.indexer.source.base import Tree
from cgx.model.facts import GraphDelta

if TYPE_CHECKING:
    from cgx.store.base import Store

Progress = Callable[[str], None]

PORTION = 120_000  # edges that are built before they are written: bounds the memory of a large index


@dataclass(slots=True)
class Work:
    """What the passes hand on to each other."""

    tree: Tree
    store: Store
    session: Session
    jobs: int
    deep: float
    say: Progress
    start: str | None = None
    program: Program | None = None
    identities: Identities | None = None
    delta: GraphDelta = field(default_factory=GraphDelta)
    versions: list[str] = field(default_factory=list)
    sent: set[str] = field(default_factory=set)  # identities that were written already
    started: bool = False  # something was written
    figures: Figures = field(default_factory=Figures)


def read_facts(work: Work) -> None:
    """Facts of every file, from the cache or made."""
    work.program = work.session.load(work.tree, work.jobs)
    made = work.program.harvest.made
    work.say(f"read {len(work.program.harvest.files)} files, {made} of them anew")


def link_calls(work: Work) -> None:
    """Tier 1: targets of every call site."""
    assert work.program is not None
    link(work.program)


def ask_jedi(work: Work) -> None:
    """Tier 2: Jedi on sites that tier 1 left open, inside its budget."""
    assert work.program is not None
    if work.deep <= 0:
        return
    from cgx.indexer.names.second_tier import reachable, settle

    reach = None if work.start is None else reachable(work.program, work.start)
    work.figures.jedi_asked, work.figures.jedi = settle(work.tree, work.program, work.deep, reach)
    if work.figures.jedi_asked:
        work.say(f"Jedi settled {work.figures.jedi} of {work.figures.jedi_asked} open call sites")


def build_graph(work: Work) -> None:
    """Versions of files that the store does not have yet, and the identities they point to."""
    program = work.program
    assert program is not None
    identities = work.identities = Identities(repository_id(work.tree))
    mark_definitions(program.modules.files, identities)
    rows = []
    for file in program.answers:
        links = links_of(file.module, program.linker)
        blob = program.harvest.blobs[file.module.path]
        version = file_version(file, links, blob, identities)
        rows.append((file, links, version, blob))
    work.versions = [version for _, _, version, _ in rows]
    if _indexed(work.store, commit_id(work.tree)):
        work.store.delete_scope(commit_id(work.tree))  # made by another version of cgx
    missing = work.store.missing("File", work.versions)
    for file, links, version, blob in rows:
        if version in missing:
            made = FileGraph(file, links, version, blob, identities).build()
            work.delta.extend(made.nodes, made.edges)
            if len(work.delta.edges) > PORTION:
                _flush(work)
    work.figures.written = len(missing)


def write_graph(work: Work) -> None:
    """The rest of the new versions, and with it the commit that holds all of them."""
    assert work.program is not None
    count(work.program, work.tree, work.figures)
    commit = commit_delta(work.tree, work.versions, work.figures.on_commit())
    lines = work.session.lines = work.session.lines or Memory()
    offers = entry_point_delta(work.tree, lines)
    work.delta.extend([*commit.nodes, *offers.nodes], [*commit.edges, *offers.edges])
    _flush(work)


def _flush(work: Work) -> None:
    """Write what was built: whole versions of files, so that no store ever holds half of one."""
    assert work.identities is not None
    new = [node for name, node in work.identities.nodes.items() if name not in work.sent]
    work.sent.update(node.id for node in new)
    work.store.write(GraphDelta([*new, *work.delta.nodes, *([] if work.started else reason_nodes())], work.delta.edges))
    work.started = True
    work.delta = GraphDelta()


def _indexed(store: Store, commit: str) -> bool:
    """Whether the commit holds an index already. One that only a job named keeps that job."""
    rows = store.run("MATCH (c:Commit {id: $id}) RETURN c.complete AS complete ORDER BY c.id", {"id": commit}).rows
    return bool(rows) and bool(rows[0][0])


PASSES: tuple[Callable[[Work], None], ...] = (read_facts, link_calls, ask_jedi, build_graph, write_graph)
"""Every pass of ``cgx index``, in order. Each reads what those before it left in ``Work``."""


def index_tree(
    tree: Tree,
    store: Store,
    *,
    jobs: int = 0,
    deep: float = 0.0,
    cache: FactsCache | None = None,
    session: Session | None = None,
    say: Progress | None = None,
    start: str | None = None,
) -> Figures:
    """Index one tree into a store. A commit that is there, made by this very version, is only read back.

    ``deep``: seconds for Jedi; ``start``: the script whose reach it is limited to.
    """
    begin = time.perf_counter()
    known = known_figures(store, commit_id(tree), deep)
    if known is not None:
        known.seconds = time.perf_counter() - begin
        return known
    own = session or Session(cache)
    work = Work(tree, store, own, jobs, deep, say or (lambda text: None), start)
    try:
        with without_gc():
            for step in PASSES:
                step(work)
        own.cache.flush()
    finally:
        if session is None and cache is None:
            own.cache.close()
        if work.program is not None:
            work.program.modules.dispose()
    work.figures.seconds = time.perf_counter() - begin
    return work.figures


def known_figures(store: Store, commit: str, deep: float) -> Figures | None:
    """Figures of a commit that is indexed in full by this version, or None."""
    rows = store.run(
        "MATCH (c:Commit {id: $id}) RETURN c.complete AS complete, c.generator AS generator, c.files AS files, "
        "c.lines AS lines, c.sites AS sites, c.resolved AS resolved, c.external AS external, c.unresolved AS unresolved, "
        "c.skipped AS skipped ORDER BY c.id",
        {"id": commit},
    ).dicts()
    if not rows or not rows[0]["complete"] or rows[0]["generator"] != generator():
        return None
    row: dict[str, Any] = rows[0]
    figures = Figures(unchanged=True)
    for name in ("files", "lines", "sites", "resolved", "external", "unresolved"):
        setattr(figures, name, row[name] or 0)
    figures.skipped = list(row["skipped"] or ())
    return figures
