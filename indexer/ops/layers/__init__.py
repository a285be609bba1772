"""All layer tables in one place, and the lookup by qualified name."""

from __future__ import annotations

from functools import lru_cache

from cgx.indexer.ops.layers import (
    activations,
    convolution,
    einops,
    library,
    linear,
    losses,
    normalization,
    pooling,
    recurrent,
)
from cgx.indexer.ops.layers.rows import LayerRow

LAYERS: tuple[list[LayerRow], ...] = (
    linear.ROWS,
    activations.ROWS,
    convolution.ROWS,
    pooling.ROWS,
    normalization.ROWS,
    losses.ROWS,
    recurrent.ROWS,
    einops.ROWS,
    library.ROWS,
)


@lru_cache(maxsize=1)
def index() -> dict[str, LayerRow]:
    """Every qualified name to its row."""
    return {name: row for table in LAYERS for row in table for name in row.names}


def layer(qname: str) -> LayerRow | None:
    """The row of a layer class by any of its qualified names, or None."""
    return index().get(qname)


def derives(qname: str, base: str) -> bool | None:
    """Whether a layer class is or derives from ``base``; None where ``qname`` is in no table."""
    row = layer(qname)
    if row is None:
        return None
    other = layer(base)
    wanted = set(other.names) if other else {base, base.replace("torch.nn.modules.module.", "torch.nn.")}
    return bool(wanted & {*row.names, *row.bases, "object"})
