"""What the entries lack: each thing that is not known is listed once, where it begins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cgx.indexer.interpreter.trace import Trace
from cgx.indexer.interpreter.values import Unknown
from cgx.indexer.ops.layers import layer
from cgx.indexer.ops.registry import find
from cgx.indexer.passes.fold.draft import NOTHING, Draft, Open
from cgx.indexer.passes.fold.place import stands_in
from cgx.model.anchors import Anchor

NO_OPS = frozenset({"torch.nn.Identity"})
EMPTY = frozenset({"torch.nn.Sequential"})  # gives back what it takes where nothing is in it
BROKEN = frozenset({"error", "budget"})
"""Reasons that end a run early: what comes after is missing, whoever asks."""
RUNS = ("forward", "the job")
OUTSIDE = frozenset({"missing-file", "missing-module", "environment", "unresolved-name"})
"""Reasons that lie outside the code that builds and runs the entries, and that the user can settle."""


def gaps(drafts: Sequence[Draft], trace: Trace) -> Iterator[Open]:
    """Modules that run but show nothing, shapes that end at an op, parameters of unknown size, conditions left open."""
    entries = [draft for root in drafts for draft in root.walk()]
    listed: set[tuple[str, str, int]] = set()
    for draft in entries:
        for item in _of(draft):
            owner = item.entry if item.field in ("children", "repeat.count") else None
            key = (item.field, str(item.anchor), id(owner))
            if key not in listed:
                listed.add(key)
                yield item
    yield from _unknowns(entries, trace)


def _of(draft: Draft) -> Iterator[Open]:
    if draft.path is not None:
        if (
            draft.ordered
            and draft.runs is None
            and not draft.children
            and draft.kind not in NO_OPS
            and not (draft.kind in EMPTY and draft.module is not None and not draft.module.children)
            and not _layer_of_torch(draft)
            and not _passes_on(draft)
        ):
            yield _silent(draft)
        for name, dims in draft.parameters.items():
            if None in dims:
                yield _size_of(f"{draft.path}.{name}".lstrip("."), draft)
    elif draft.level == "op" and _begins(draft):
        reason = (
            "unmodelled" if find(draft.kind) is None else "data"
        )  # a row knows the shape if its arguments are known
        yield Open(draft.text or draft.name, "shapes.out", reason, draft.anchor, draft, NOTHING)


def _layer_of_torch(draft: Draft) -> bool:
    """A class of the source that takes its forward from a layer of torch: the layer's one op goes unsaid."""
    module = draft.module
    rows = (
        (layer(getattr(base, "native", "") or getattr(base, "qname", "")) for base in module.cls.mro) if module else ()
    )
    return draft.anchor in draft.called_from and any(row is not None and row.forward_op for row in rows)


def _passes_on(draft: Draft) -> bool:
    """A forward in the source that gives back what it took: nothing to show, and nothing left out."""
    given, taken = ([(one["dims"], one.get("dtype")) for one in draft.shapes.get(side, [])] for side in ("out", "in"))
    here = draft.anchor is not None and draft.anchor not in draft.called_from
    return here and bool(given) and all(one in taken and None not in (one[0] or [None]) for one in given)


def _silent(draft: Draft) -> Open:
    """A module that runs and shows nothing: its source is not there, or what it does was not understood."""
    here = draft.anchor is not None and draft.anchor not in draft.called_from
    reason, settle = ("unmodelled", None) if here else ("missing-module", ("--env", draft.kind.partition(".")[0]))
    return Open(f"{draft.kind}.forward", "children", reason, draft.anchor, draft, settle)


def _size_of(name: str, draft: Draft) -> Open:
    """A parameter's size that is not known: by the constructor's argument it comes from, where that says more."""
    values = draft.module.attrs.values() if draft.module is not None else ()
    cause = next((value for value in values if isinstance(value, Unknown) and value.name), None)
    if cause is None:
        return Open(name, "parameters", "unmodelled", draft.constructed_at, draft)
    anchor = draft.constructed_at if cause.anchor is None or stands_in(cause.anchor) else cause.anchor
    return Open(cause.name, "parameters", cause.reason, anchor, draft, cause.settle)


def _begins(draft: Draft) -> bool:
    """All that goes in has known sizes, and something that comes out has not."""
    inputs, outputs = draft.shapes.get("in", []), draft.shapes.get("out", [])
    return any(map(_open, outputs)) and not any(map(_open, inputs))


def _open(tensor: dict[str, object]) -> bool:
    dims = tensor["dims"]
    return not isinstance(dims, list) or None in dims


def _unknowns(entries: Sequence[Draft], trace: Trace) -> Iterator[Open]:
    """Unknowns that decided something in the code that builds and runs the entries."""
    homes = {(anchor.path, anchor.symbol) for draft in entries for anchor in _anchors(draft)}
    under = {draft.when.expr: draft for draft in reversed(entries) if draft.when is not None}
    for unknown in trace.unknowns:
        if not isinstance(unknown, Unknown) or unknown.anchor is None or not unknown.name or stands_in(unknown.anchor):
            continue
        if unknown.reason in BROKEN and unknown.name.startswith(RUNS):
            yield Open(unknown.name, "children", unknown.reason, unknown.anchor, None, unknown.settle)
            continue
        draft = next((draft for text, draft in under.items() if unknown.name in text), None)
        near = (unknown.anchor.path, unknown.anchor.symbol) in homes and unknown.reason in OUTSIDE
        if draft is not None or near:
            field = "when" if draft is not None else "value"
            yield Open(unknown.name, field, unknown.reason, unknown.anchor, draft, unknown.settle)


def _anchors(draft: Draft) -> Iterator[Anchor]:
    for anchor in (draft.anchor, draft.constructed_at):
        if anchor is not None and anchor.symbol != "<module>":
            yield anchor
