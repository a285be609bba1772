"""Where the emitter is."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from cgx.indexer.passes.fold.tree import Path
from cgx.model.anchors import Anchor


@dataclass(frozen=True, slots=True)
class Place:
    """How the paths above are written, whether a checkpoint runs this again, whether it is in a model at all."""

    prefixes: dict[Path, str] = field(default_factory=dict)
    recomputed: bool = False
    inside: bool = False  # in a model's call
    line: Anchor | None = None  # the last line of real code that led here

    def within(self, more: dict[Path, str]) -> Place:
        return replace(self, prefixes={**self.prefixes, **more}) if more else self

    def real(self, anchor: Anchor | None) -> Anchor | None:
        """The anchor; for one in our own stand-in for a layer of torch the line of real code that led there."""
        return self.line if anchor is not None and stands_in(anchor) else anchor


def stands_in(anchor: Anchor) -> bool:
    """Whether the anchor lies in a stand-in of ours, which is no source of the job."""
    return anchor.path.startswith("cgx:")
