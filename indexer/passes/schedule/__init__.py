"""Schedule passes: from the trace of one abstract run to the rows of ``execution_schedule.json``.

Each category has one file and one function; :func:`schedule` puts them together.
"""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.trace import Trace
from cgx.indexer.passes.schedule.build import Schedule, build


def schedule(trace: Trace, tree: Any = None) -> Schedule:
    """The schedule of one run: step, phases, and the rows of every category. ``tree`` is the source it was read from."""
    return build(trace, tree)


__all__ = ["Schedule", "schedule"]
