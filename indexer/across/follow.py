"""Follow anchors from one commit to another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any, Protocol

from cgx.errors import UserError
from cgx.indexer.across.lines import Alignment, Place, search
from cgx.indexer.across.pairs import HELD, TRIVIAL, Pairing, contained, in_tests, pair_units
from cgx.indexer.across.units import DECORATOR, FileUnits, Statement, Unit, read_units
from cgx.model.anchors import MODULE, Anchor

STATUSES = ("unchanged", "shifted", "edited", "moved", "renamed", "split", "gone", "ambiguous")


class TreeLike(Protocol):
    def paths(self) -> list[str]: ...
    def blob(self, path: str) -> str: ...
    def read(self, path: str) -> bytes | None: ...
    def exists(self, path: str) -> bool: ...


@dataclass(slots=True)
class Answer:
    """What became of one anchor. ``to`` is absent where it is gone or ambiguous; then ``candidates`` may say more."""

    anchor: str
    status: str
    to: str | None = None
    candidates: list[str] = field(default_factory=list)
    evidence: str = ""

    def row(self) -> dict[str, Any]:
        return {"anchor": self.anchor, "status": self.status, "to": self.to, "candidates": self.candidates, "evidence": self.evidence}


class Follower:
    """Anchors of ``old`` in ``new``. Only files that differ are read, each once."""

    def __init__(self, old: TreeLike, new: TreeLike, renames: dict[str, str] | None = None) -> None:
        self.old, self.new = old, new
        before, after = set(old.paths()), set(new.paths())
        self.gone = sorted(before - after)
        self.added = sorted(after - before)
        self.changed = sorted(path for path in before & after if old.blob(path) != new.blob(path))
        told = {path: target for path, target in (renames or {}).items() if path in set(self.gone)}
        equal = {path: target for path, target in self._equal_files().items() if target not in set(told.values())}
        self.renames = equal | told
        self._by_content = {path for path in equal if path not in told}
        self._old_files: dict[str, FileUnits] = {}
        self._new_files: dict[str, FileUnits] = {}
        self._pairing: Pairing | None = None
        self._alignments: dict[int, Alignment] = {}
        self._before: Counter[str] | None = None

    def _equal_files(self) -> dict[str, str]:
        """Files that went under another name with equal content, one to one."""
        lost = Counter(self.old.blob(path) for path in self.gone)
        there: dict[str, list[str]] = {}
        for path in self.added:
            there.setdefault(self.new.blob(path), []).append(path)
        return {path: there[self.old.blob(path)][0] for path in self.gone if lost[self.old.blob(path)] == 1 and len(there.get(self.old.blob(path), ())) == 1}

    def follow(self, text: str) -> Answer:
        """The answer for one anchor. An anchor that does not hold at the old commit is gone, and the evidence says so."""
        try:
            anchor = Anchor.parse(text)
        except ValueError:
            return Answer(text, "gone", evidence="not an anchor: path:Symbol:line")
        if not self.old.exists(anchor.path):
            return Answer(text, "gone", evidence="no such file at the old commit")
        if self.new.exists(anchor.path) and self.old.blob(anchor.path) == self.new.blob(anchor.path):
            return Answer(text, "unchanged", text, evidence="the file is the same")
        old_file = self.old_file(anchor.path)
        unit = old_file.unit_at(anchor.symbol, anchor.line)
        if unit is None:
            return self._by_text(anchor, text, old_file)
        index = statement_at(unit, anchor.line)
        if index is None:
            return self._by_text(anchor, text, old_file)
        return self._unit(anchor, text, unit, index)

    # ------------------------------------------------------------------ files

    def old_file(self, path: str) -> FileUnits:
        if path not in self._old_files:
            self._old_files[path] = read_units(path, self.old.blob(path), bytes_of(self.old, path))
        return self._old_files[path]

    def new_file(self, path: str) -> FileUnits:
        if path not in self._new_files:
            self._new_files[path] = read_units(path, self.new.blob(path), bytes_of(self.new, path))
        return self._new_files[path]

    @property
    def pairing(self) -> Pairing:
        if self._pairing is None:
            old = {path: self.old_file(path) for path in [*self.changed, *self.gone] if path.endswith(".py")}
            new = {path: self.new_file(path) for path in [*self.changed, *self.added] if path.endswith(".py")}
            self._pairing = pair_units(old, new, self.renames, self._by_content)
        return self._pairing

    def new_units(self) -> list[Unit]:
        self.pairing  # noqa: B018 - reads the files
        return [unit for path in [*self.changed, *self.added] if path.endswith(".py") for unit in self.new_file(path).units.values()]

    def old_units(self) -> list[Unit]:
        """Units of the files that changed or went, at the old commit."""
        return [unit for path in [*self.changed, *self.gone] if path.endswith(".py") for unit in self.old_file(path).units.values()]

    # ------------------------------------------------------------------ units

    def _unit(self, anchor: Anchor, text: str, unit: Unit, index: int) -> Answer:
        pairing = self.pairing
        new = pairing.new.get(id(unit))
        statement = unit.statements[index]
        if new is None:
            return self._unit_gone(anchor, text, unit, index)
        alignment = self._alignment(unit, new)
        why = pairing.why[id(unit)]
        place = alignment.place(index)
        if place is not None and unit.kind == "module" and new.path != unit.path:
            shared = self._imported_in_parts(anchor, unit, statement, place)
            if shared:
                return Answer(text, "ambiguous", candidates=shared, evidence=f"{why}; the file was split, and {len(shared)} parts have it")
        if place is not None and place.why == "edited in place" and not statement.head:
            taken = self._extracted(anchor, text, unit, index, new)
            if taken is not None:
                return taken
        if place is not None:
            return self._answer(anchor, text, unit, statement, place, why)
        if index in alignment.doubt:
            spots = [self._spot(anchor, statement, Place(new, new.statements[j], True, "")) for j in alignment.doubt[index]]
            return Answer(text, "ambiguous", candidates=spots, evidence=f"{len(spots)} equal statements are left in {new.symbol}")
        return self._elsewhere(anchor, text, unit, index, f"not in {new.symbol} any more")

    def _alignment(self, old: Unit, new: Unit) -> Alignment:
        """Of an old unit and the one that continues it."""
        if id(old) not in self._alignments:
            self._alignments[id(old)] = Alignment(old, new)
        return self._alignments[id(old)]

    def _owned(self, place: Place) -> bool:
        """The statement there continues one that stood in that unit before."""
        old = self.pairing.old_of.get(id(place.unit))
        if old is None:
            return False
        taken = self._alignment(old, place.unit).to.values()
        return any(place.unit.statements[j] is place.statement for j in taken)

    def _imported_in_parts(self, anchor: Anchor, unit: Unit, statement: Statement, place: Place) -> list[str]:
        """An import of a file that was split: the places of all parts that have it, where there are several."""
        if statement.kind not in ("Import", "ImportFrom") or not place.same:
            return []
        parts = {new.path for old in self.old_file(unit.path).units.values() if (new := self.pairing.new.get(id(old))) is not None}
        parts |= {path for path in self.added if path.endswith("/__init__.py") and {part.rpartition("/")[0] for part in parts} == {path.rpartition("/")[0]}}
        spots = [
            self._spot(anchor, statement, Place(module, other, True, ""))
            for path in sorted(parts)
            if (module := self.new_file(path).units.get(MODULE)) is not None
            for other in module.statements
            if other.exact == statement.exact
        ]
        return spots if len(spots) > 1 else []

    def _extracted(self, anchor: Anchor, text: str, unit: Unit, index: int, new: Unit) -> Answer | None:
        """The statement went, as it was, into a definition that is new: what stands in its place is only the call of that."""
        called = set().union(*(statement.words for statement in new.statements))
        fresh = [other for other in self.new_units() if id(other) not in self.pairing.old_of and other.name in called and other.name != unit.name]
        found = [place for place in search(fresh, unit, index, self.before) if place.same]
        if len(found) != 1:
            return None
        place = found[0]
        return Answer(text, "split", self._spot(anchor, unit.statements[index], place), evidence=f"{place.why} in {place.unit.symbol}, which is new")

    def _unit_gone(self, anchor: Anchor, text: str, unit: Unit, index: int) -> Answer:
        rivals = self.pairing.rivals.get(id(unit))
        if rivals:
            spots: list[str] = []
            for rival in rivals:
                place = Alignment(unit, rival).place(index)
                if place is not None:
                    spots.append(self._spot(anchor, unit.statements[index], place))
            if spots:
                return Answer(text, "ambiguous", candidates=spots, evidence=f"{len(rivals)} definitions fit {unit.symbol}")
        if unit.statements[index].head or unit.statements[index].inside == DECORATOR:
            hosts = self._hosts(unit, unit)
            if len(hosts) == 1:
                place = next((p for i in range(1, len(unit.statements)) if (p := Alignment(unit, hosts[0]).place(i)) is not None), None)
                if place is not None:
                    spot = f"{place.unit.path}:{place.unit.symbol}:{place.statement.line}"
                    return Answer(text, "gone", candidates=[spot], evidence=f"the definition is gone; its body stands in {hosts[0].symbol}")
            return Answer(text, "gone", evidence=f"no definition continues {unit.symbol}")
        return self._elsewhere(anchor, text, unit, index, f"no definition continues {unit.symbol}")

    def _elsewhere(self, anchor: Anchor, text: str, unit: Unit, index: int, why: str) -> Answer:
        """Extracted into a new function, inlined into another, or gone."""
        statement = unit.statements[index]
        if statement.inside == DECORATOR:
            return Answer(text, "gone", evidence=why)
        continued = self.pairing.new.get(id(unit))
        aside = in_tests(unit.path)  # what the source lost did not go into its tests
        others = [new for new in self.new_units() if new is not continued and (aside or not in_tests(new.path))]
        places = [place for place in search(others, unit, index, self.before) if self._grew(place.statement.exact, statement)]
        found = [place for place in places if not self._owned(place)]
        if continued is not None and any(place.unit.symbol == unit.symbol for place in found):
            spots = [self._spot(anchor, statement, place) for place in found]  # a copy of the file: it may never have gone there
            return Answer(text, "ambiguous", candidates=spots, evidence=f"{why}; {len(spots)} equal statements in a copy")
        if len(found) == 1 and continued is None and self._hosts(unit, found[0].unit):
            return Answer(text, "ambiguous", candidates=[self._spot(anchor, statement, found[0])], evidence=f"{why}; its body stands in several definitions")
        if len(found) == 1 and len(places) > 1:
            return Answer(text, "ambiguous", candidates=[self._spot(anchor, statement, found[0])], evidence=f"{why}; equal statements stand in several places")
        if len(found) == 1:
            place = found[0]
            new_unit = id(place.unit) not in self.pairing.old_of
            status = "split" if new_unit and continued is not None else "moved"
            return Answer(text, status, self._spot(anchor, statement, place), evidence=f"{why}; {place.why} in {place.unit.symbol}")
        if found:
            return Answer(text, "ambiguous", candidates=[self._spot(anchor, statement, place) for place in found], evidence=f"{why}; {len(found)} equal statements elsewhere")
        return Answer(text, "gone", evidence=why)

    def _hosts(self, unit: Unit, aside: Unit) -> list[Unit]:
        """Other functions that hold the whole body."""
        if unit.kind != "function" or unit.weight < TRIVIAL:
            return []
        return [new for new in self.new_units() if new is not aside and new.kind == "function" and contained(unit, new) >= HELD]

    @property
    def before(self) -> Counter[str]:
        """How often each statement stood in the files that changed, at the old commit."""
        if self._before is None:
            self._before = Counter(statement.exact for unit in self.old_units() for statement in unit.statements)
        return self._before

    def _grew(self, exact: str, statement: Statement) -> bool:
        """The statement was taken from its unit, so it stands elsewhere as often as before only where it went there."""
        if exact != statement.exact:
            return True
        after = sum(1 for unit in self.new_units() for other in unit.statements if other.exact == exact)
        return after >= self.before[exact]

    # ------------------------------------------------------------------ answers

    def _spot(self, anchor: Anchor, statement: Statement, place: Place) -> str:
        return f"{place.unit.path}:{place.unit.symbol}:{line_in(anchor, statement, place)}"

    def _answer(self, anchor: Anchor, text: str, unit: Unit, statement: Statement, place: Place, why: str) -> Answer:
        to = self._spot(anchor, statement, place)
        evidence = f"{why}; {place.why}"
        went = self._went(unit, place.unit)
        if went is not None:
            return Answer(text, went, to, evidence=evidence)
        if not place.same:
            return Answer(text, "edited", to, evidence=evidence)
        return Answer(text, "unchanged" if to == text else "shifted", to, evidence=evidence)

    def unit_status(self, old: Unit, new: Unit) -> str:
        """What became of a definition as a whole, of which ``new`` is the continuation."""
        went = self._went(old, new)
        if went is not None:
            return went
        heads = [next((s for s in unit.statements if s.head), None) for unit in (old, new)]
        if old.body != new.body or (heads[0] and heads[0].exact) != (heads[1] and heads[1].exact):
            return "edited"
        return "shifted" if old.line != new.line else "unchanged"

    def _went(self, old: Unit, new: Unit) -> str | None:
        if new.path != old.path or (new.parent != old.parent and new.name == old.name and not self._parent_renamed(old, new)):
            return "moved"
        return "renamed" if new.symbol != old.symbol else None

    def _parent_renamed(self, old: Unit, new: Unit) -> bool:
        """The class (or function) round it goes on under another name."""
        for candidate in self.old_file(old.path).units.values():
            if candidate.symbol == old.parent:
                continued = self.pairing.new.get(id(candidate))
                return continued is not None and continued.symbol == new.parent and continued.path == new.path
        return False

    def _by_text(self, anchor: Anchor, text: str, old_file: FileUnits) -> Answer:
        """By lines: files that are no Python, lines that are no statement."""
        target = anchor.path if self.new.exists(anchor.path) else self.renames.get(anchor.path)
        if target is None:
            return Answer(text, "gone", evidence="the file is gone")
        if not 1 <= anchor.line <= len(old_file.lines):
            return Answer(text, "gone", evidence="no such line at the old commit")
        new_lines = self.new_file(target).lines
        matcher = SequenceMatcher(None, old_file.lines, new_lines, autojunk=False)
        for a, b, size in matcher.get_matching_blocks():
            if a <= anchor.line - 1 < a + size:
                line = b + anchor.line - a
                to = f"{target}:{anchor.symbol}:{line}"
                status = "moved" if target != anchor.path else "unchanged" if line == anchor.line else "shifted"
                return Answer(text, status, to, evidence="equal line")
        for tag, a1, a2, b1, b2 in matcher.get_opcodes():
            if tag == "replace" and a1 <= anchor.line - 1 < a2 and a2 - a1 == b2 - b1:
                return Answer(text, "edited", f"{target}:{anchor.symbol}:{b1 + anchor.line - a1}", evidence="edited line between equal ones")
        return Answer(text, "gone", evidence="the line is gone")


def bytes_of(tree: TreeLike, path: str) -> bytes:
    """The file's bytes. Raises UserError where a partial clone does not have them: what they hold must not count as gone."""
    data = tree.read(path)
    if data is None and path.endswith((".py", ".pyi")):
        commit = str(getattr(tree, "commit", None) or "")[:12]
        raise UserError(f"a partial clone: {path} of {commit} is not in it; fetch it in full (`git fetch --refetch --no-filter`)")
    return data or b""


def statement_at(unit: Unit, line: int) -> int | None:
    """The statement of the unit that the line belongs to, the innermost."""
    exact = [i for i, statement in enumerate(unit.statements) if statement.line == line]
    if exact:
        return exact[0]
    inside = [i for i, statement in enumerate(unit.statements) if statement.line <= line <= statement.end]
    if not inside:
        return None
    return min(inside, key=lambda i: unit.statements[i].end - unit.statements[i].line)


def line_in(anchor: Anchor, old: Statement, place: Place) -> int:
    """The line in the new statement: its start, or that of the call that stood on the anchor's line."""
    new = place.statement
    if anchor.line == old.line:
        return new.line
    on_line = [(key, weight) for key, line, weight in old.parts if line == anchor.line]
    for key, _ in sorted(on_line, key=lambda part: -part[1]):
        spots = sorted({line for part, line, _ in new.parts if part == key})
        if len(spots) == 1:
            return spots[0]
        if spots:
            mine = sorted({line for part, line, _ in old.parts if part == key})
            return spots[min(mine.index(anchor.line), len(spots) - 1)]
    return min(new.line + (anchor.line - old.line), max(new.end, new.line))


def follow_all(old: TreeLike, new: TreeLike, anchors: Sequence[str], renames: dict[str, str] | None = None) -> list[Answer]:
    """Answers in the order of the anchors; equal anchors are followed once."""
    follower = Follower(old, new, renames)
    known: dict[str, Answer] = {}
    for anchor in anchors:
        if anchor not in known:
            known[anchor] = follower.follow(anchor)
    return [known[anchor] for anchor in anchors]
