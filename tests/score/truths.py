"""The ground truth that ships with the tests, and the scorers that read it.

``truth.tar.xz`` holds ``graph/<case>.json`` (what really instantiating and running a model gave) and
``schedule/<job>.json`` (labels made by careful reading). ``scorers/`` compares records with them.
"""

from __future__ import annotations

import argparse
import sys
import tarfile
from functools import lru_cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
CASES = HERE / "cases.json"
ARCHIVE = HERE / "truth.tar.xz"
SCORERS = HERE / "scorers"


def unpack(folder: Path) -> Path:
    """Put the truth into a folder, as ``graph/`` and ``schedule/``."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    return folder


@lru_cache(maxsize=1)
def scorer() -> Any:
    """The graph scorer's module. It imports its neighbours by bare names, so their folder goes on the path."""
    if str(SCORERS) not in sys.path:
        sys.path.insert(0, str(SCORERS))
    import score_graph

    return score_graph


def graph_scores(record: Path, truth: Path) -> dict[str, Any]:
    """Measures of a computation graph, by name, as plain numbers."""
    measures = scorer().score(record, truth, argparse.Namespace(bind_inputs=False, tree=[]))
    return {name: measure.values() | {"items": measure.items} for name, measure in measures.items()}
