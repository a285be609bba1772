"""Counts of an index run: what was resolved, what not and why."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

from cgx.indexer.names.program import Program
from cgx.indexer.source.base import Tree


@dataclass(slots=True)
class Figures:
    """``resolved``: sites with a target in the source; ``external``: outside; ``unresolved``: none.

    ``reasons`` and ``bases`` count sites; ``jedi`` the sites that only Jedi settled (they are in ``resolved`` or
    ``external`` too); ``written`` file versions that the store did not have.
    """

    files: int = 0
    lines: int = 0
    sites: int = 0
    resolved: int = 0
    external: int = 0
    unresolved: int = 0
    jedi: int = 0
    jedi_asked: int = 0
    written: int = 0
    unchanged: bool = False
    seconds: float = 0.0
    reasons: dict[str, int] = field(default_factory=dict)
    bases: dict[str, int] = field(default_factory=dict)
    partial: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def on_commit(self) -> dict[str, int]:
        """The figures that the Commit node keeps."""
        names = ("files", "lines", "sites", "resolved", "external", "unresolved")
        return {name: getattr(self, name) for name in names}

    def as_dict(self) -> dict[str, Any]:
        row = asdict(self)
        row["seconds"] = round(self.seconds, 3)
        return row


def count(program: Program, tree: Tree, figures: Figures) -> None:
    """Fill the figures from what was linked."""
    reasons: Counter[str] = Counter()
    bases: Counter[str] = Counter()
    for file in program.answers:
        for answer in file.answers:
            if not answer.targets:
                figures.unresolved += 1
                reasons[answer.reason] += 1
                continue
            bases[answer.basis] += 1
            if any(target.source for target in answer.targets):
                figures.resolved += 1
            else:
                figures.external += 1
        facts = file.module.facts
        figures.lines += facts["lines"]
        if facts["parsed"] != "whole":
            figures.partial.append(f"{file.module.path}: {facts['error']}")
    figures.files = len(program.answers)
    figures.sites = figures.resolved + figures.external + figures.unresolved
    figures.reasons = dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0])))
    figures.bases = dict(sorted(bases.items(), key=lambda item: (-item[1], item[0])))
    figures.skipped = [f"{path}: {why}" for path, why in tree.skipped]
    figures.faults = [f"{path}: {message}" for path, message in program.faults]
