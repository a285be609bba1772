"""Where the emitter is."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from cgx.indexer.passes.fold.tree import Path


@dataclass(frozen=True, slots=True)
class Place:
    """Where the emitter is: how the paths above are written, and whether a checkpoint runs this again."""

    prefixes: dict[Path, str] = field(default_factory=dict)
    recomputed: bool = False

    def within(self, more: dict[Path, str]) -> Place:
        return replace(self, prefixes={**self.prefixes, **more}) if more else self
