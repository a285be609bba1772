"""Launch lines: which program a line starts, with which words, environment and sizes. Nothing is run."""

from cgx.indexer.launch.line import parse_launch
from cgx.indexer.launch.plan import MAX_RANKS, LaunchPlan

__all__ = ["MAX_RANKS", "LaunchPlan", "parse_launch"]
