"""Which unit of the new commit continues which unit of the old one.

Qualified name first, then content: equal bodies, equal shapes, alike bodies. Every pair says why. Where two candidates fit
equally, none is taken.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Set
from dataclasses import dataclass, field

from cgx.indexer.across.units import FileUnits, Unit

ALIKE = 0.5  # share of a body's statements that has to be found again
LEFT = 0.25  # share of a body that has to be left where name and class speak for it
MARGIN = 0.12  # how much better than the next one a match has to be
HELD = 0.8  # share of a body that another definition holds when it holds "the" body
COMMON = 40  # units that share a statement: one that more of them have says little
TRIVIAL = 12  # syntax nodes: bodies below this say too little to be told apart by content alone


@dataclass(eq=False, slots=True)
class Pairing:
    """Old unit -> new unit with the evidence; ``rivals``: candidates of units that could not be decided."""

    new: dict[int, Unit] = field(default_factory=dict)
    why: dict[int, str] = field(default_factory=dict)
    rivals: dict[int, list[Unit]] = field(default_factory=dict)
    old_of: dict[int, Unit] = field(default_factory=dict)

    def join(self, old: Unit, new: Unit, why: str) -> None:
        self.new[id(old)], self.why[id(old)] = new, why
        self.old_of[id(new)] = old


def pair_units(
    old_files: dict[str, FileUnits], new_files: dict[str, FileUnits], renames: dict[str, str], by_content: Set[str] = frozenset()
) -> Pairing:
    """Pair the units of changed files. ``renames``: old path -> new path, where git or (``by_content``) equal content says so."""
    pairing = Pairing()
    renames = alike_files(old_files, new_files, renames, by_content)
    for path, old_file in old_files.items():
        for target, why in ((path, "same place"), (renames.get(path, ""), "file renamed")):
            new_file = new_files.get(target)
            if new_file is None or (why == "file renamed" and path in new_files):
                continue
            for key, old in old_file.units.items():
                new = new_file.units.get(key)
                if id(old) not in pairing.new and new is not None and new.kind == old.kind and id(new) not in pairing.old_of:
                    pairing.join(old, new, why)
    _release_impostors(pairing, old_files, new_files)
    _release_classes(pairing, old_files, new_files)
    copied = copied_files(old_files, new_files, renames)
    lost = [unit for file in old_files.values() for unit in file.units.values() if id(unit) not in pairing.new and unit.kind != "module"]
    rest = [unit for file in new_files.values() for unit in file.units.values() if id(unit) not in pairing.old_of and unit.kind != "module"]
    twins = {id(unit) for unit in rest if (origin := copied.get(unit.path)) and unit.symbol in old_files[origin].units}
    free = [unit for unit in rest if id(unit) not in twins]
    everything = Index([unit for file in new_files.values() for unit in file.units.values()])
    by_name(pairing, lost, free)
    by_key(pairing, lost, free, "body", "equal body", renames, everything)
    by_key(pairing, lost, free, "shape", "equal body but for names", renames, everything)
    for kind in ("class", "function"):  # a class that goes on says more of its methods than their content does
        by_likeness(pairing, lost, free, kind, renames, everything)
        by_member(pairing, lost, free, old_files)
    in_copies(pairing, lost, [unit for unit in rest if id(unit) in twins], copied, everything)
    return pairing


def alike_files(
    old_files: dict[str, FileUnits], new_files: dict[str, FileUnits], renames: dict[str, str], by_content: Set[str]
) -> dict[str, str]:
    """Renames, with those added that show in the definitions: most of a file's are in one new file and in no other.

    A file of equal content does not count where another holds most of the definitions too: one of them is a copy.
    """
    found = dict(renames)
    fresh = {path: file for path, file in new_files.items() if path not in old_files and path not in set(renames.values())}
    for path, old in old_files.items():
        if path in new_files or (path in found and path not in by_content):
            continue
        mine = {(unit.symbol, unit.body) for unit in old.units.values() if unit.kind != "module"}
        scores = sorted(((len(mine & {(u.symbol, u.body) for u in file.units.values()}), target) for target, file in fresh.items()), reverse=True)
        if path in found:
            names = {symbol for symbol, _ in mine}
            if any(len(names & {unit.symbol for unit in file.units.values()}) * 2 > len(names) for file in fresh.values()):
                del found[path]
            continue
        if scores and scores[0][0] * 2 > len(mine) and (len(scores) == 1 or scores[0][0] > 2 * scores[1][0]):
            found[path] = scores[0][1]
            del fresh[scores[0][1]]
    return found


def copied_files(old_files: dict[str, FileUnits], new_files: dict[str, FileUnits], renames: dict[str, str]) -> dict[str, str]:
    """New files that are copies: new path -> the old one, which goes on and still has most of what the copy has of it."""
    found: dict[str, str] = {}
    continued = set(renames.values())
    for path, fresh in new_files.items():
        if path in old_files or path in continued:
            continue
        copy = {(unit.symbol, unit.body) for unit in fresh.units.values() if unit.kind != "module"}
        for origin, old in old_files.items():
            mine = copy & {(unit.symbol, unit.body) for unit in old.units.values()}
            home = origin if origin in new_files else renames.get(origin, origin)
            if home not in new_files or len(mine) * 2 <= len(copy):
                continue
            kept = mine & {(unit.symbol, unit.body) for unit in new_files[home].units.values()}
            if len(kept) * 2 > len(mine):
                found[path] = origin
    return found


def in_copies(pairing: Pairing, lost: list[Unit], twins: list[Unit], copied: dict[str, str], everything: Index) -> None:
    """What is left in a copy of its file alone: it may have gone there, and it may have been deleted, or taken elsewhere."""
    for old in lost:
        if id(old) in pairing.new or id(old) in pairing.rivals:
            continue
        same = [unit for unit in twins if unit.symbol == old.symbol and unit.kind == old.kind and copied[unit.path] == old.path]
        if same:
            others = everything.holding(old) if old.kind == "function" and old.weight >= TRIVIAL else []
            pairing.rivals[id(old)] = [*same, *(unit for unit in others if unit not in same)]


def by_name(pairing: Pairing, lost: list[Unit], free: list[Unit]) -> None:
    """A definition of one name that is nowhere else: it went to another file, if its body is still like it."""
    mine = Counter((unit.kind, unit.symbol) for unit in lost)
    theirs = Counter((unit.kind, unit.symbol) for unit in free)
    where = {(unit.kind, unit.symbol): unit for unit in free}
    for old in lost:
        key = (old.kind, old.symbol)
        if mine[key] == theirs[key] == 1 and old.kind == "function" and likeness(old, where[key]) >= ALIKE:
            pairing.join(old, where[key], "equal name, body alike")


def by_member(pairing: Pairing, lost: list[Unit], free: list[Unit], old_files: dict[str, FileUnits]) -> None:
    """Methods of one name in a class that goes on under another name or in another file, if something of them is left."""
    theirs = members(free)
    for old in lost:
        holder = old_files[old.path].units.get(old.parent) if old.parent else None
        continued = pairing.new.get(id(holder)) if holder is not None else None
        new = theirs[continued.path, continued.symbol].get(old.name) if continued is not None else None
        if new is None or new.kind != old.kind or id(old) in pairing.new or id(new) in pairing.old_of:
            continue
        if likeness(old, new) >= LEFT:
            pairing.join(old, new, "equal name in the class that goes on")


def _release_impostors(pairing: Pairing, old_files: dict[str, FileUnits], new_files: dict[str, FileUnits]) -> None:
    """Two units that exchanged their names, or one whose name another took: content decides where it is plain."""
    free: defaultdict[tuple[str, str], list[Unit]] = defaultdict(list)
    for file in new_files.values():
        for unit in file.units.values():
            if unit.kind == "function":
                free[unit.kind, unit.body].append(unit)
    for file in old_files.values():
        for old in file.units.values():
            new = pairing.new.get(id(old))
            if new is None or old.kind != "function" or old.weight < TRIVIAL or new.body == old.body:
                continue
            if likeness(old, new) > 0.2:
                continue
            twins = [unit for unit in free[old.kind, old.body] if unit is not new]
            owner = pairing.old_of.get(id(twins[0])) if len(twins) == 1 else None
            if len(twins) == 1 and (owner is None or owner.body != twins[0].body):
                del pairing.new[id(old)], pairing.why[id(old)]
                pairing.old_of.pop(id(new), None)
                if owner is not None:
                    del pairing.new[id(owner)], pairing.why[id(owner)]
                    pairing.old_of.pop(id(twins[0]), None)


def _release_classes(pairing: Pairing, old_files: dict[str, FileUnits], new_files: dict[str, FileUnits]) -> None:
    """A class of fields whose name another took: its fields stand in a new class of the same file."""
    for file in old_files.values():
        holders = {unit.parent for unit in file.units.values()}
        for old in file.units.values():
            new = pairing.new.get(id(old))
            if new is None or old.kind != "class" or old.weight < TRIVIAL or old.symbol in holders or likeness(old, new) > LEFT:
                continue
            fresh = [unit for unit in new_files[new.path].units.values() if unit.kind == "class" and id(unit) not in pairing.old_of]
            heirs = [unit for unit in fresh if likeness(old, unit) >= ALIKE]
            if len(heirs) == 1:
                del pairing.old_of[id(new)]
                pairing.join(old, heirs[0], "another took its name; fields alike")


def copies(old: Unit, new: Unit, everything: Index, pairing: Pairing, renames: dict[str, str]) -> list[Unit]:
    """Other definitions that hold the body too: then its content does not tell which one it became."""
    if old.weight < TRIVIAL or old.kind != "function":
        return []
    others = [unit for unit in everything.holding(old) if unit is not new and unit.kind == old.kind]
    if old.name != new.name:
        return others
    if new.path == renames.get(old.path, old.path):
        return []
    return [unit for unit in others if unit.symbol == new.symbol and id(unit) not in pairing.old_of]


def by_key(pairing: Pairing, lost: list[Unit], free: list[Unit], key: str, why: str, renames: dict[str, str], everything: Index) -> None:
    """Pairs of equal content: one to one, or told apart by name, parent or file."""
    groups: defaultdict[tuple[str, str], list[Unit]] = defaultdict(list)
    for unit in free:
        if id(unit) not in pairing.old_of:
            groups[unit.kind, getattr(unit, key)].append(unit)
    owners = Counter((unit.kind, getattr(unit, key)) for unit in lost if id(unit) not in pairing.new)
    for kind in ("class", "function"):  # a class is found before its methods are told apart by it
        for old in lost:
            if old.kind != kind:
                continue
            if id(old) in pairing.new or not old.statements:
                continue
            group = [unit for unit in groups[old.kind, getattr(old, key)] if id(unit) not in pairing.old_of and _may_go(old, unit)]
            if not group:
                continue
            if old.kind == "class" and old.weight < TRIVIAL:
                group = [unit for unit in group if _methods_agree(old, unit, lost, free)]
            best = closest(old, group, pairing, renames)
            plain = old.weight >= TRIVIAL and len(group) == 1 and owners[old.kind, getattr(old, key)] == 1
            if best is not None and (others := copies(old, best, everything, pairing, renames)):
                if best.name == old.name:
                    pairing.rivals[id(old)] = [best, *others]
                continue
            if best is not None and (plain or (affinity(old, best, pairing, renames) >= 2 and (old.weight >= TRIVIAL or at_home(old, best, pairing, renames)))):
                pairing.join(old, best, why)
            elif len(group) > 1 and old.weight >= TRIVIAL:
                pairing.rivals[id(old)] = group


def _methods_agree(old: Unit, new: Unit, lost: list[Unit], free: list[Unit]) -> bool:
    mine = {unit.name for unit in lost if unit.path == old.path and unit.parent == old.symbol}
    theirs = {unit.name for unit in free if unit.path == new.path and unit.parent == new.symbol}
    return bool(mine) and len(mine & theirs) * 2 >= len(mine)


def affinity(old: Unit, new: Unit, pairing: Pairing, renames: dict[str, str]) -> int:
    """Signs beside the content: equal name, continuing parent, same or renamed file."""
    signs = int(old.name == new.name) * 2
    home = renames.get(old.path, old.path)
    signs += int(new.path == home)
    if old.parent and old.parent == new.parent:
        signs += 1
    elif old.parent:
        parents = [unit for unit in (pairing.old_of.get(id(candidate)) for candidate in _siblings(new, pairing)) if unit is not None]
        signs += 2 * any(unit.symbol == old.parent and unit.path == old.path for unit in parents)
    return signs


def at_home(old: Unit, new: Unit, pairing: Pairing, renames: dict[str, str]) -> bool:
    """The new unit stands where the old one would: in the class that goes on, or at the top of the same file."""
    if not old.parent:
        return not new.parent and new.path == renames.get(old.path, old.path)
    if old.parent == new.parent and new.path == renames.get(old.path, old.path):
        return True
    return any(candidate.symbol == old.parent and candidate.path == old.path for unit in _siblings(new, pairing) if (candidate := pairing.old_of.get(id(unit))))


def _siblings(unit: Unit, pairing: Pairing) -> Iterable[Unit]:
    for paired in pairing.new.values():
        if paired.path == unit.path and paired.symbol == unit.parent:
            yield paired


def closest(old: Unit, group: list[Unit], pairing: Pairing, renames: dict[str, str]) -> Unit | None:
    """The one candidate with most signs; None where two have as many."""
    ranked = sorted(group, key=lambda unit: -affinity(old, unit, pairing, renames))
    if not ranked:
        return None
    if len(ranked) > 1 and affinity(old, ranked[0], pairing, renames) == affinity(old, ranked[1], pairing, renames):
        return None
    return ranked[0]


def likeness(old: Unit, new: Unit) -> float:
    """Weighted share of statements that both hold (exact, else but for names), of the larger body."""
    total = max(old.weight, new.weight)
    if not total:
        return 0.0
    exact, loose = common(old.exact, new.exact), common(old.blank, new.blank)
    return (0.5 * exact + 0.5 * max(exact, loose)) / total


def contained(old: Unit, new: Unit) -> float:
    """Weighted share of the old statements that the new unit holds."""
    return common(old.exact, new.exact) / old.weight if old.weight else 0.0


def common(one: Counter[str], other: Counter[str]) -> int:
    """Weight that two bags have in common."""
    small, large = (one, other) if len(one) <= len(other) else (other, one)
    return sum(min(weight, large[key]) for key, weight in small.items() if key in large)


class Index:
    """New units by the keys of their statements: only those that share one can be alike."""

    def __init__(self, units: list[Unit]) -> None:
        self.by_blank: defaultdict[str, list[Unit]] = defaultdict(list)
        self.by_exact: defaultdict[str, list[Unit]] = defaultdict(list)
        for unit in units:
            for key in unit.blank:
                self.by_blank[key].append(unit)
            for key in unit.exact:
                self.by_exact[key].append(unit)

    def alike(self, old: Unit) -> list[Unit]:
        """Units that share a statement with the old one, light statements of many units aside."""
        return self._gather(old.blank, self.by_blank)

    def holding(self, old: Unit) -> list[Unit]:
        """Units that hold the old one's body."""
        return [unit for unit in self._gather(old.exact, self.by_exact) if contained(old, unit) >= HELD]

    def _gather(self, keys: Counter[str], table: dict[str, list[Unit]]) -> list[Unit]:
        found: dict[int, Unit] = {}
        for key in sorted(keys, key=lambda key: len(table.get(key, ()))):
            group = table.get(key, ())
            if len(group) > COMMON and found:
                break
            for unit in group:
                found.setdefault(id(unit), unit)
        return list(found.values())


def by_likeness(pairing: Pairing, lost: list[Unit], free: list[Unit], kind: str, renames: dict[str, str], everything: Index) -> None:
    """Edited and moved or renamed at once: the most alike, where it is clearly the most alike."""
    scored: list[tuple[float, int, Unit, Unit]] = []
    mine, theirs = members(lost), members(free)
    open_ = {id(unit) for unit in free}
    for order, old in enumerate(lost):
        if old.kind != kind or id(old) in pairing.new:
            continue
        for new in free if old.kind == "class" else everything.alike(old):
            if id(new) in pairing.old_of or id(new) not in open_ or new.kind != old.kind:
                continue
            if not _may_go(old, new):
                continue
            if old.kind == "class":
                score = _class_likeness(old, new, mine[old.path, old.symbol], theirs[new.path, new.symbol])
            elif old.weight < TRIVIAL and old.name != new.name:
                continue
            else:
                score = likeness(old, new)
            signs = affinity(old, new, pairing, renames)
            if score >= ALIKE or (signs >= 4 and score >= LEFT):
                scored.append((score + 0.05 * signs, -order, old, new))
    scored.sort(key=lambda row: (-row[0], row[1]))
    held_in: defaultdict[int, list[Unit]] = defaultdict(list)
    for other in lost if kind == "function" else ():
        if other.kind == "function" and other.weight >= TRIVIAL:
            for unit in everything.holding(other):
                held_in[id(unit)].append(other)
    by_old: defaultdict[int, list[tuple[float, int, Unit, Unit]]] = defaultdict(list)
    for row in scored:
        by_old[id(row[2])].append(row)
    for score, _, old, new in scored:
        if id(old) in pairing.new or id(new) in pairing.old_of:
            continue
        rivals = [row for row in by_old[id(old)] if row[3] is not new and id(row[3]) not in pairing.old_of and row[0] > score - MARGIN]
        merged = [other for other in held_in.get(id(new), ()) if other is not old and old.kind == "function"]
        if copies(old, new, everything, pairing, renames) or (merged and old.name != new.name):
            continue
        if rivals:
            pairing.rivals[id(old)] = [new, *(row[3] for row in rivals)]
            continue
        pairing.join(old, new, f"alike ({min(score, 1.0):.0%})")


def in_tests(path: str) -> bool:
    """The file is one of the tests."""
    *folders, name = path.split("/")
    return bool({"test", "tests"} & set(folders)) or name.startswith("test_") or name.endswith("_test.py")


def _may_go(old: Unit, new: Unit) -> bool:
    """What the source lost did not go into its tests under another name."""
    return old.name == new.name or in_tests(old.path) or not in_tests(new.path)


def members(units: list[Unit]) -> defaultdict[tuple[str, str], dict[str, Unit]]:
    """Units by name, by the file and the symbol that they stand in."""
    found: defaultdict[tuple[str, str], dict[str, Unit]] = defaultdict(dict)
    for unit in units:
        found[unit.path, unit.parent][unit.name] = unit
    return found


def _class_likeness(old: Unit, new: Unit, mine: dict[str, Unit], theirs: dict[str, Unit]) -> float:
    """Classes by their own statements and by what their methods are called and hold."""
    if not mine or not theirs:
        return likeness(old, new) if old.weight >= TRIVIAL else 0.0
    total = sum(max(unit.weight, 1) for unit in mine.values())
    kept = sum(max(unit.weight, 1) * max(0.3, likeness(unit, theirs[name])) for name, unit in mine.items() if name in theirs)
    return kept / max(total, sum(max(unit.weight, 1) for unit in theirs.values()))
