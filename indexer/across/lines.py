"""Where a statement of an old unit stands in the unit that continues it, or elsewhere in the new commit."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from cgx.indexer.across.units import Statement, Unit

CONTEXT = 2  # statements on either side that tell equal ones apart
ENOUGH = 0.5  # share of words that an edited statement keeps
HEAVY = 9  # syntax nodes of a statement that is found again elsewhere by itself


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
        self._unique_moves()
        self._fill("blank")
        self._edited()
        self._doubts()

    def _match(self, mine: Sequence[str], theirs: Sequence[str], left: Sequence[int], right: Sequence[int]) -> None:
        matcher = SequenceMatcher(None, mine, theirs, autojunk=False)
        for a, b, size in matcher.get_matching_blocks():
            for step in range(size):
                self.to[left[a + step]] = right[b + step]

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
    """Share of words that two statements of one kind have in common; 0 for different kinds."""
    if one.kind != other.kind and {one.kind, other.kind} - {"Assign", "AugAssign", "AnnAssign", "Expr", "Return"}:
        return 0.0
    if not one.words and not other.words:
        return 1.0 if one.blank == other.blank else 0.0
    return len(one.words & other.words) / max(len(one.words | other.words), 1)


def search(units: Sequence[Unit], old_unit: Unit, index: int, counts_before: Counter[str]) -> list[Place]:
    """The statement in other units, where the new commit has more of it than the old one had.

    A light statement counts only with a neighbour that came along.
    """
    statement = old_unit.statements[index]
    found: list[Place] = []
    for unit in units:
        for j, other in enumerate(unit.statements):
            if other.exact == statement.exact and not other.head:
                run = _run(old_unit, index, unit, j)
                if statement.weight >= HEAVY or run > 1:
                    found.append(Place(unit, other, True, f"equal statement, {run} in a row"))
    if not found and statement.parts:
        key, _, weight = statement.parts[0]
        if weight >= HEAVY:
            found = [
                Place(unit, other, False, "equal call")
                for unit in units
                for other in unit.statements
                if any(part == key for part, _, _ in other.parts) and not other.head
            ]
    if len(found) > 1:
        best = max(_rank(place) for place in found)
        top = [place for place in found if _rank(place) == best]
        found = top if len(top) == 1 and best > 1 else found
    return found


def _rank(place: Place) -> int:
    words = place.why.split()
    return int(words[2]) if len(words) > 3 and words[2].isdigit() else 1


def _run(old: Unit, i: int, new: Unit, j: int) -> int:
    """Length of the run of equal statements round a pair."""
    length = 1
    for step in (-1, 1):
        a, b = i + step, j + step
        while 0 <= a < len(old.statements) and 0 <= b < len(new.statements) and old.statements[a].exact == new.statements[b].exact:
            length += 1
            a, b = a + step, b + step
    return length
