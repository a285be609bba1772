"""Where the emitter is."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from cgx.indexer.passes.fold.tree import Path


@dataclass(frozen=True, slots=True)
class Place:
    """How the paths above are written, whether a checkpoint runs this again, whether it is in a model at all."""

    prefixes: dict[Path, str] = field(default_factory=dict)
    recomputed: bool = False
    inside: bool = False  # in a model's call

    def within(self, more: dict[Path, str]) -> Place:
        return replace(self, prefixes={**self.prefixes, **more}) if more else self
