"""``fold``: the nodes of a step to the rows of the computation graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from cgx.indexer.interpreter.trace import Node, Trace
from cgx.indexer.passes.fold.claims import read_to_the_end
from cgx.indexer.passes.fold.draft import Draft, Open
from cgx.indexer.passes.fold.emit import Emitter
from cgx.indexer.passes.fold.flow import calls_in
from cgx.indexer.passes.fold.gaps import gaps
from cgx.indexer.passes.fold.parts import under_their_models, whole_models
from cgx.indexer.passes.fold.place import Place
from cgx.indexer.passes.fold.rows import Row, number, open_row
from cgx.indexer.passes.fold.shapes import Symbols
from cgx.indexer.passes.fold.tree import Tree, find_roots


@dataclass(slots=True)
class GraphRows:
    """Rows keyed as in the record: ``modules`` depth first, ``symbols`` by name, ``unresolved``."""

    modules: list[Row] = field(default_factory=list)
    symbols: dict[str, Row] = field(default_factory=dict)
    unresolved: list[Row] = field(default_factory=list)


def fold(trace: Trace, nodes: Sequence[Node], phases: Sequence[tuple[str, Sequence[Node]]] = ()) -> GraphRows:
    """The computation graph of one step.

    ``nodes`` is what the step does. ``phases`` splits it where one model runs as several graphs (prefill, decode): then each
    part is folded by itself and its roots carry the phase.
    """
    symbols = Symbols(getattr(trace, "symbols", {}) or {})
    parts: Sequence[tuple[str | None, Sequence[Node]]] = list(phases) or [(None, nodes)]
    drafts: list[Draft] = []
    opens: list[Open] = []
    for phase, part in parts:
        called = [call.module for call in calls_in(part)]
        tree = Tree(*find_roots(trace.modules, [*called, *(trace.model_roots if not phase else [])]))
        whole = whole_models(part, tree)
        emitter = Emitter(tree, whole, symbols)
        emitter.idle.claims = read_to_the_end(trace, whole, tree)
        roots = under_their_models(emitter.body([whole], Place()))
        for draft in roots:
            draft.phase = phase
        if not drafts and not any(draft.path is not None for root in roots for draft in root.walk()):
            roots += emitter.idle.unreached(tree.roots)
        drafts.extend(roots)
        opens.extend(emitter.opens)
    opens.extend(gaps(drafts, trace))
    rows, ids = number(drafts)
    return GraphRows(rows, symbols.found, [open_row(item, ids) for item in opens])
