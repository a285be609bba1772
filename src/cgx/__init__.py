"""cgx: a semantic code-graph indexer for PyTorch jobs. Reads code at a commit, runs nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cgx.api import Graph, Result, open

__version__ = "0.1.0"
__all__ = ["Graph", "Result", "__version__", "open"]


def __getattr__(name: str) -> Any:
    """``open`` and its types are loaded when they are asked for: the command line needs none of them to print its help."""
    if name in ("Graph", "Result", "open"):
        from cgx import api

        return getattr(api, name)
    raise AttributeError(f"module 'cgx' has no attribute {name!r}")
