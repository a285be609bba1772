"""Folded paths: ``transformer.h.[0-11].attn``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from cgx.indexer.passes.fold.tree import Path

Prefixes = Mapping[Path, str]
"""Path of one member -> how its last part is written where it stands for its whole class."""


def bracket(names: Iterable[str]) -> str:
    """``[0-11]`` for a run of numbers, ``[0,2,4]`` or ``[0-3,6]`` for others, ``[a,b]`` for names, the name if one."""
    several = list(dict.fromkeys(names))
    if len(several) == 1:
        return f"[{several[0]}]" if several[0] == "*" else several[0]
    if not all(name.isdecimal() and str(int(name)) == name for name in several):
        return f"[{','.join(several)}]"
    runs: list[list[int]] = []
    for number in sorted(map(int, several)):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    short = len(runs) == 1
    parts = [
        f"{run[0]}-{run[-1]}" if len(run) > 2 or (short and len(run) > 1) else ",".join(map(str, run)) for run in runs
    ]
    return f"[{','.join(parts)}]"


def merge(paths: Iterable[Path]) -> dict[Path, str] | None:
    """How the first path is written to stand for all of them; None where no pattern says exactly these paths."""
    several = list(dict.fromkeys(paths))
    first = several[0]
    if any(len(path) != len(first) for path in several):
        return None
    columns = [list(dict.fromkeys(column)) for column in zip(*several)]
    if math.prod(map(len, columns)) != len(several):
        return None
    return {first[: index + 1]: bracket(names) for index, names in enumerate(columns) if len(names) > 1}


def write(path: Path, prefixes: Prefixes) -> str:
    """The path with the folded parts written as patterns."""
    parts = (prefixes.get(path[: index + 1], bracket([name])) for index, name in enumerate(path))
    return ".".join(parts)
