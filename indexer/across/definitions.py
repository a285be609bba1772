"""What became of every function and class in the files that differ between two commits."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from cgx.indexer.across.follow import Follower
from cgx.indexer.across.pairs import TRIVIAL
from cgx.indexer.across.units import Unit
from cgx.model.anchors import Anchor

TAKEN = 0.6  # share of a new function's body that has to come out of another one, for that one to be split


@dataclass(frozen=True, slots=True)
class Change:
    """One definition. ``old`` is absent where it was added, ``new`` where it was removed; ``status`` as ``cgx moved`` has it.

    ``ambiguous`` and ``split`` stand once for each definition that the old one may be, or was split into.
    """

    status: str  # shifted, edited, moved, renamed, split, ambiguous, added, gone
    kind: str  # function, class
    old: str | None
    new: str | None
    evidence: str


def definition_changes(follower: Follower) -> list[Change]:
    """Changes of functions and classes, sorted by where they stood; those that stand as they stood are left out."""
    found = [*_paired(follower), *_split(follower), *_new(follower)]
    return sorted(found, key=lambda change: (*_spot(change.old or change.new), *_spot(change.new), change.status))


def _spot(anchor: str | None) -> tuple[str, int]:
    place = Anchor.parse(anchor) if anchor is not None else None
    return (place.path, place.line) if place is not None else ("", 0)


def anchor_of(unit: Unit) -> str:
    """The anchor of the ``def`` or ``class`` line."""
    line = next((statement.line for statement in unit.statements if statement.head), unit.line)
    return f"{unit.path}:{unit.symbol}:{line}"


def _paired(follower: Follower) -> Iterator[Change]:
    pairing = follower.pairing
    for unit in follower.old_units():
        if unit.kind == "module":
            continue
        new = pairing.new.get(id(unit))
        here = anchor_of(unit)
        if new is None:
            rivals = pairing.rivals.get(id(unit), [])
            for rival in rivals:
                yield Change("ambiguous", unit.kind, here, anchor_of(rival), f"{len(rivals)} definitions fit")
            if not rivals:
                yield Change("gone", unit.kind, here, None, "no definition continues it")
            continue
        status = follower.unit_status(unit, new)
        there = anchor_of(new)
        if status != "unchanged":
            yield Change(status, unit.kind, here, there, pairing.why[id(unit)])


def _new(follower: Follower) -> Iterator[Change]:
    pairing = follower.pairing
    claimed = {id(rival) for rivals in pairing.rivals.values() for rival in rivals}
    for unit in follower.new_units():
        if unit.kind != "module" and id(unit) not in pairing.old_of and id(unit) not in claimed:
            yield Change("added", unit.kind, None, anchor_of(unit), "no definition was it before")


def _split(follower: Follower) -> Iterator[Change]:
    """New functions that were taken out of others which go on, and call them now."""
    pairing = follower.pairing
    lost: defaultdict[str, list[tuple[Unit, int]]] = defaultdict(list)  # statement -> units that hold it no more
    for unit in follower.old_units():
        new = pairing.new.get(id(unit))
        if new is None or unit.kind == "class" or unit.exact == new.exact:
            continue
        for key, weight in (unit.exact - new.exact).items():
            lost[key].append((unit, weight))
    for unit in follower.new_units():
        if unit.kind != "function" or id(unit) in pairing.old_of or unit.weight < TRIVIAL:
            continue
        taken: Counter[int] = Counter()
        sources: dict[int, Unit] = {}
        for key, weight in unit.exact.items():
            for source, gone in lost.get(key, ()):
                taken[id(source)] += min(weight, gone)
                sources[id(source)] = source
        for name, source in sources.items():
            continued = pairing.new[name]
            share = taken[name] / unit.weight
            if share >= TAKEN and source.kind != "module" and any(unit.name in s.words for s in continued.statements):
                yield Change("split", source.kind, anchor_of(source), anchor_of(unit), f"{share:.0%} of it stood there")
