"""Libraries that write Python source while they run: what they write is not there to be read.

PyTorch Geometric (2.5 to 2.8) writes each layer's ``propagate`` from a template and falls back to the method in its source where
that fails. Both issue the same calls, so the one that can be read stands for the other.
"""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.values import Value


def not_written(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return interp.raise_("ImportError", "generated source", site)


ENTRIES: dict[str, Any] = {"torch_geometric.template.module_from_template": not_written}
BASES: dict[str, tuple[str, ...]] = {}
