"""All op tables in one place, and the lookup by qualified name."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from cgx.indexer.ops import einops_rules, einx_rules
from cgx.indexer.ops.library import tables as library
from cgx.indexer.ops.rows import OpRow, renamed
from cgx.indexer.ops.tables import (
    convolutions,
    factories,
    further,
    indexing,
    joins,
    linalg,
    neural,
    pointwise,
    queries,
    reductions,
    spectral,
    views,
)
from cgx.indexer.ops.tables.operators import INPLACE, OPERATORS, REFLECTED

TABLES: tuple[list[OpRow], ...] = (
    pointwise.ROWS,
    reductions.ROWS,
    views.ROWS,
    indexing.ROWS,
    joins.ROWS,
    linalg.ROWS,
    convolutions.ROWS,
    neural.ROWS,
    factories.ROWS,
    spectral.ROWS,
    queries.ROWS,
    further.ROWS,
    library.ROWS,
    einops_rules.ROWS,
    einx_rules.ROWS,
)

MOVED: tuple[tuple[str, str], ...] = (  # where torch itself keeps a name -> where people know it
    ("torch._C._TensorBase.", "torch.Tensor."),
    ("torch._tensor.Tensor.", "torch.Tensor."),
    ("torch.nn.Parameter.", "torch.Tensor."),
    ("torch.nn.parameter.Parameter.", "torch.Tensor."),
    ("torch._C._VariableFunctions.", "torch."),
    ("torch._VariableFunctionsClass.", "torch."),
    ("torch.functional.", "torch."),
    ("torch._VF.", "torch."),
    ("torch._C._nn.", "torch.nn.functional."),
    ("torch._C._special.special_", "torch.special."),
    ("torch._C._linalg.linalg_", "torch.linalg."),
    ("torch._C._fft.fft_", "torch.fft."),
    ("torch.ops.aten.", "torch."),
    ("_operator.", "operator."),
)


@lru_cache(maxsize=1)
def index() -> dict[str, OpRow]:
    """Every name to its row, in-place variants and operators included."""
    found: dict[str, OpRow] = {}
    for table in TABLES:
        for entry in table:
            for name in entry.names:
                found[name] = renamed(entry, name)
                if entry.has_inplace:
                    found.setdefault(f"{name}_", renamed(entry, f"{name}_", inplace=True))
    _add_operators(found)
    return found


def _add_operators(found: dict[str, OpRow]) -> None:
    for word, target in OPERATORS.items():
        base = found[target]
        found[f"operator.{word}"] = renamed(base, f"operator.{word}")
        found[f"torch.Tensor.__{word}__"] = renamed(base, f"operator.{word}")
        if word in INPLACE:
            found[f"operator.i{word.rstrip('_')}"] = renamed(base, f"operator.i{word.rstrip('_')}", inplace=True)
            found[f"torch.Tensor.__i{word}__"] = renamed(base, f"operator.i{word}", inplace=True)
        if word in REFLECTED:
            first, second, *rest = base.signature.split(", ")
            found[f"torch.Tensor.__r{word}__"] = replace(base, name=f"operator.{word}", signature=", ".join([second, first, *rest]))


@lru_cache(maxsize=8192)
def find(qname: str) -> OpRow | None:
    """The row of an op by any of its qualified names, or None."""
    rows = index()
    if qname in rows:
        return rows[qname]
    for old, new in MOVED:
        if qname.startswith(old):
            moved = find(new + qname[len(old) :].removesuffix(".default"))
            if moved is not None:
                return moved
    kernel = library.kernel(qname)
    return renamed(kernel, qname) if kernel else None
