"""Where a statement of an old unit stands in the unit that continues it, or elsewhere in the new commit."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from cgx.indexer.across.units import DECORATOR, Statement, Unit

CONTEXT = 2  # statements on either side that tell equal ones apart
ENOUGH = 0.5  # share of words that an edited statement keeps
HEAVY = 9  # syntax nodes of a statement that is found again elsewhere by itself
HEAVY_CALL = 16  # of a call in a statement that is another one
ALIKE_TEXT = 0.5  # how alike the first texts of two calls are that are one call, edited


@dataclass(slots=True)
class Place:
    """A statement of a new unit, and whether its content is the old one's."""

    unit: Unit
    statement: Statement
    same: bool
    why: str


class Alignment:
    """The statements of two units, aligned: equal runs first, then equal but for names, then edited ones in order."""

    def __init__(self, old: Unit, new: Unit) -> None:
        self.old, self.new = old, new
        self.to: dict[int, int] = {}
        self.doubt: dict[int, list[int]] = {}
        self._match([s.exact for s in old.statements], [s.exact for s in new.statements], range(len(old.statements)), range(len(new.statements)))
        self._twins()
        self._unique_moves()
        self._fill("blank")
        self._unlike()
        self._edited()
        self._doubts()

    def _match(self, mine: Sequence[str], theirs: Sequence[str], left: Sequence[int], right: Sequence[int]) -> None:
        for a, b in aligned(mine, theirs).items():
            self.to[left[a]] = right[b]

    def _twins(self) -> None:
        """Equal statements of which there are several now: which one it is must show in what it stands under, or stands beside.

        A branch or a block that was copied leaves two that are equal, and the longest equal run may lie in the copy.
        """
        where: defaultdict[str, list[int]] = defaultdict(list)
        for j, statement in enumerate(self.new.statements):
            where[statement.exact].append(j)
        several = [i for i in self.to if len(where[self.old.statements[i].exact]) > 1]
        if not several:
            return
        under = aligned([s.exact + s.inside for s in self.old.statements], [s.exact + s.inside for s in self.new.statements])
        taken = set(self.to.values())
        better: dict[int, int] = {}
        for i in several:
            j, old = self.to[i], self.old.statements[i]
            fits = self.new.statements[j].inside == old.inside
            other = j if fits else under.get(i)
            rivals = [k for k in where[old.exact] if k not in taken and (not fits or self.new.statements[k].inside == old.inside)]
            if other is None or other == j:
                mine = _run(self.old, i, self.new, j)
                rivals = [k for k in rivals if _run(self.old, i, self.new, k) >= mine]
                if rivals:
                    self.doubt[i] = sorted([j, *rivals])
            elif old.inside and self._beside(i, other) >= self._beside(i, j):
                better[i] = other
            elif _run(self.old, i, self.new, j) <= _run(self.old, i, self.new, other):
                self.doubt[i] = sorted([j, other])
        kept = {j for i, j in self.to.items() if i not in better}
        for i, other in better.items():
            if other in kept:
                self.doubt[i] = sorted([self.to[i], other])
            else:
                self.to[i] = other

    def _beside(self, i: int, j: int) -> int:
        """Length of the run of equal statements round a pair that stand under the same headers as it."""
        return _run(self.old, i, self.new, j, inside=True)

    def _unique_moves(self) -> None:
        """A statement that was moved within the unit: its key stands once on both sides."""
        taken = set(self.to.values())
        mine = Counter(s.exact for s in self.old.statements)
        theirs = Counter(s.exact for s in self.new.statements)
        index = {s.exact: i for i, s in enumerate(self.new.statements)}
        for i, statement in enumerate(self.old.statements):
            if i not in self.to and mine[statement.exact] == 1 and theirs[statement.exact] == 1 and index[statement.exact] not in taken:
                self.to[i] = index[statement.exact]
                taken.add(index[statement.exact])

    def _gaps(self) -> list[tuple[list[int], list[int]]]:
        """Runs of unmatched statements between the matched ones, side by side."""
        pairs = sorted(self.to.items())
        increasing: list[tuple[int, int]] = []
        for a, b in pairs:
            if not increasing or b > increasing[-1][1]:
                increasing.append((a, b))
        bounds = [(-1, -1), *increasing, (len(self.old.statements), len(self.new.statements))]
        taken = set(self.to.values())
        gaps = []
        for (a1, b1), (a2, b2) in itertools.pairwise(bounds):
            left = [i for i in range(a1 + 1, a2) if i not in self.to]
            right = [j for j in range(b1 + 1, b2) if j not in taken]
            if left and right:
                gaps.append((left, right))
        return gaps

    def _fill(self, key: str) -> None:
        for left, right in self._gaps():
            mine = [getattr(self.old.statements[i], key) for i in left]
            theirs = [getattr(self.new.statements[j], key) for j in right]
            self._match(mine, theirs, left, right)

    def _unlike(self) -> None:
        """Drop pairs that too little speaks for: no word in common and nothing equal beside them, or a bare word under other headers."""
        for i, j in list(self.to.items()):
            old, new = self.old.statements[i], self.new.statements[j]
            if old.head and new.head:
                continue
            alone = not (self._paired(i - 1, j - 1) and self._paired(i + 1, j + 1))
            if old.exact != new.exact:
                if alone and not old.words & new.words:
                    del self.to[i]
            elif alone and old.inside != new.inside and not old.words and _run(self.old, i, self.new, j) == 1:
                del self.to[i]

    def _paired(self, i: int, j: int) -> bool:
        """Two statements that are equal and paired, or the border on both sides."""
        if i < 0 or i >= len(self.old.statements) or j < 0 or j >= len(self.new.statements):
            return (i < 0) == (j < 0) and (i >= len(self.old.statements)) == (j >= len(self.new.statements))
        return self.to.get(i) == j and self.old.statements[i].exact == self.new.statements[j].exact

    def _edited(self) -> None:
        """In each gap the pairs of statements of one kind that share most of their words, in order."""
        for left, right in self._gaps():
            scored = sorted(
                ((shared(self.old.statements[i], self.new.statements[j]), -abs(left.index(i) - right.index(j)), i, j) for i in left for j in right),
                reverse=True,
            )
            used: set[int] = set()
            for score, _, i, j in scored:
                if score < ENOUGH or i in self.to or j in used:
                    continue
                if any((a < i) != (b < j) for a, b in self.to.items() if a in left and b in right):
                    continue
                self.to[i] = j
                used.add(j)
            if len(left) == len(right) == 1 and left[0] not in self.to:
                one, other = self.old.statements[left[0]], self.new.statements[right[0]]
                if one.kind == other.kind and shared(one, other) >= 0.25:
                    self.to[left[0]] = right[0]

    def _doubts(self) -> None:
        """Equal statements of which there are fewer or more than before: which one it is shows only in what stands round it."""
        mine = Counter(s.exact for s in self.old.statements)
        theirs = Counter(s.exact for s in self.new.statements)
        for i, statement in enumerate(self.old.statements):
            if mine[statement.exact] == 1 or theirs[statement.exact] >= mine[statement.exact] or statement.exact not in theirs:
                continue
            found = [j for j, other in enumerate(self.new.statements) if other.exact == statement.exact]
            fits = [j for j in found if self._context(i, j)]
            if i in self.to and self.to[i] in fits:
                continue
            if len(fits) == 1:
                self.to[i] = fits[0]
            elif i in self.to or len(found) > 0:
                self.doubt[i] = found

    def _context(self, i: int, j: int) -> bool:
        """At least one neighbour on either side is the same (the unit's border counts)."""
        before = i == 0 or j == 0 or self.old.statements[i - 1].exact == self.new.statements[j - 1].exact
        last = i == len(self.old.statements) - 1 or j == len(self.new.statements) - 1
        after = last or self.old.statements[i + 1].exact == self.new.statements[j + 1].exact
        return before and after

    def place(self, index: int) -> Place | None:
        """Where the statement stands; None where it is gone from the unit or in doubt."""
        if index in self.doubt or index not in self.to:
            return None
        old, new = self.old.statements[index], self.new.statements[self.to[index]]
        same = old.exact == new.exact
        return Place(self.new, new, same, "equal statement" if same else "equal but for names" if old.blank == new.blank else "edited in place")


def shared(one: Statement, other: Statement) -> float:
    """Share of words that two statements of one kind have in common; 0 for different kinds, and for calls that say other things."""
    if one.label and other.label and one.label[0] == other.label[0] and SequenceMatcher(None, one.label[1], other.label[1]).ratio() < ALIKE_TEXT:
        return 0.0
    if one.kind != other.kind and {one.kind, other.kind} - {"Assign", "AugAssign", "AnnAssign", "Expr", "Return"}:
        return 0.0
    if not one.words and not other.words:
        return 1.0 if one.blank == other.blank and one.inside == other.inside else 0.0
    return len(one.words & other.words) / max(len(one.words | other.words), 1)


def search(units: Sequence[Unit], old_unit: Unit, index: int, counts_before: Counter[str]) -> list[Place]:
    """The statement in other units, where the new commit has more of it than the old one had.

    A light statement counts only with a neighbour that came along.
    """
    statement = old_unit.statements[index]
    found: list[Place] = []
    for unit in units:
        for j, other in enumerate(unit.statements):
            if other.exact == statement.exact and not other.head and other.inside != DECORATOR:
                run = _run(old_unit, index, unit, j)
                if statement.weight >= HEAVY or run > 1:
                    found.append(Place(unit, other, True, f"equal statement, {run} in a row"))
    if not found and statement.parts:
        key, _, weight = statement.parts[0]
        if weight >= HEAVY_CALL:
            found = [
                Place(unit, other, False, "equal call")
                for unit in units
                for other in unit.statements
                if any(part == key for part, _, _ in other.parts) and not other.head
            ]
    if len(found) > 1:
        best = max(_rank(place) for place in found)
        top = [place for place in found if _rank(place) == best]
        alone = all(_rank(place) == 1 for place in found if place is not top[0])  # else one of them is a copy
        found = top if len(top) == 1 and best > 1 and alone else found
    return found


def _rank(place: Place) -> int:
    words = place.why.split()
    return int(words[2]) if len(words) > 3 and words[2].isdigit() else 1


def aligned(mine: Sequence[str], theirs: Sequence[str]) -> dict[int, int]:
    """Indices of equal keys, in order, longest equal runs first."""
    found: dict[int, int] = {}
    for a, b, size in SequenceMatcher(None, mine, theirs, autojunk=False).get_matching_blocks():
        for step in range(size):
            found[a + step] = b + step
    return found


def _run(old: Unit, i: int, new: Unit, j: int, inside: bool = False) -> int:
    """Length of the run of equal statements round a pair; ``inside``: as far as they stand under the headers of it, or deeper."""
    mine, theirs = old.statements, new.statements
    length = 1
    for step in (-1, 1):
        a, b = i + step, j + step
        while 0 <= a < len(mine) and 0 <= b < len(theirs) and mine[a].exact == theirs[b].exact:
            if inside and not (mine[a].inside.startswith(mine[i].inside) and theirs[b].inside.startswith(theirs[j].inside)):
                break
            length += 1
            a, b = a + step, b + step
    return length
