"""Interpreted stand-ins: library code written anew as Python text that the interpreter reads when the library's source is not given.

The files are data and are never imported. Each class or function that they stand for is listed here, by every qualified name
that code uses for it.
"""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple


class Polyfill(NamedTuple):
    """Where the stand-in of a qualified name is: ``file`` beside this module, ``symbol`` in it; ``qname`` its public name."""

    qname: str
    file: str
    symbol: str


COMPOSITE = "torch_nn_composite.py.txt"

ROWS: tuple[tuple[str, str, str, str], ...] = (  # public name, module that defines it, file, symbol
    ("torch.nn.MultiheadAttention", "torch.nn.modules.activation", COMPOSITE, "MultiheadAttention"),
    ("torch.nn.TransformerEncoderLayer", "torch.nn.modules.transformer", COMPOSITE, "TransformerEncoderLayer"),
    ("torch.nn.TransformerEncoder", "torch.nn.modules.transformer", COMPOSITE, "TransformerEncoder"),
    ("torch.nn.TransformerDecoderLayer", "torch.nn.modules.transformer", COMPOSITE, "TransformerDecoderLayer"),
    ("torch.nn.TransformerDecoder", "torch.nn.modules.transformer", COMPOSITE, "TransformerDecoder"),
    ("torch.nn.Transformer", "torch.nn.modules.transformer", COMPOSITE, "Transformer"),
    ("torch.nn.AdaptiveLogSoftmaxWithLoss", "torch.nn.modules.adaptive", COMPOSITE, "AdaptiveLogSoftmaxWithLoss"),
)


@lru_cache(maxsize=1)
def index() -> dict[str, Polyfill]:
    """Every qualified name to its stand-in."""
    found: dict[str, Polyfill] = {}
    for qname, home, file, symbol in ROWS:
        entry = Polyfill(qname, file, symbol)
        for name in (qname, f"{home}.{symbol}", f"torch.nn.modules.{symbol}" if home.startswith("torch.nn.modules") else qname):
            found[name] = entry
    return found


def find(qname: str) -> Polyfill | None:
    """The stand-in for a qualified name, or None."""
    return index().get(qname)


@cache
def source(file: str) -> str:
    """The text of a stand-in file."""
    return (Path(__file__).parent / file).read_text(encoding="utf-8")
