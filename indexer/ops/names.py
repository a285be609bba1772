"""Which names torch has: modules, classes, functions, constants, dtypes, and members of its main classes.

Answers ``hasattr(torch.nn.functional, "scaled_dot_product_attention")`` without torch. The table is data
(``data/torch_names.txt``), written from an installed torch of the version that it names.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Literal

TORCH_VERSION = "2.12.1"
Kind = Literal["module", "class", "function", "dtype", "constant"]

CONSTANTS: dict[str, float | None] = {
    "torch.pi": 3.141592653589793,
    "torch.e": 2.718281828459045,
    "torch.inf": float("inf"),
    "torch.nan": float("nan"),
    "torch.newaxis": None,
}
"""Constants whose value is plain."""


@lru_cache(maxsize=1)
def table() -> dict[str, dict[str, Kind]]:
    """Owner (a module or class) -> member -> kind."""
    found: dict[str, dict[str, Kind]] = {}
    text = (Path(__file__).parent / "data" / "torch_names.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        head, _, names = line.partition(": ")
        owner, _, kind = head.partition(" ")
        found.setdefault(owner, {}).update(dict.fromkeys(names.split(), kind))  # type: ignore[arg-type]
    return found


def torch_name(qname: str) -> Kind | None:
    """The kind of a qualified torch name; None where this version of torch has none of that name (or no table of its owner)."""
    owners = table()
    if qname in owners:
        owner, _, name = qname.rpartition(".")
        return owners.get(owner, {}).get(name, "module")
    owner, _, name = qname.rpartition(".")
    return owners.get(owner, {}).get(name)


def has_table(owner: str) -> bool:
    """All members of this module or class are listed: what is not there, does not exist."""
    return owner in table()


def members(owner: str) -> frozenset[str]:
    """Names of all members of a module or class; empty where it has no table."""
    return frozenset(table().get(owner, ()))
