"""Folded paths: ``transformer.h.[0-11].attn``."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping

from cgx.indexer.passes.fold.tree import Path

Prefixes = Mapping[Path, str]
"""Path of one member -> how its last part is written where it stands for its whole class."""


PLAIN = re.compile(r"\w+")  # what a pattern's brackets hold beside runs of numbers: a "-" would read as a run


def _number(name: str) -> bool:
    return name.isdecimal() and str(int(name)) == name


def common_head(names: list[str]) -> str:
    """What all names begin with, up to a sign that is neither a letter nor a digit: ``block2-`` of ``block2-1``, ``block2-2``."""
    same = list(itertools.takewhile(lambda signs: len(set(signs)) == 1, zip(*names)))
    ends = [place + 1 for place, signs in enumerate(same) if not PLAIN.fullmatch(signs[0])]
    return names[0][: ends[-1] if ends else 0]


def writable(names: list[str]) -> bool:
    """Whether a pattern can stand for exactly these names."""
    if len(names) == 1 or all(map(PLAIN.fullmatch, names)):
        return True
    head = common_head(names)
    return all(PLAIN.fullmatch(name[len(head) :]) for name in names)


def bracket(names: Iterable[str]) -> str:
    """``[0-11]`` for a run of numbers, ``[0,2,4]`` or ``[0-3,6]`` for others, ``[a,b]`` for names, the name if one."""
    several = list(dict.fromkeys(names))
    if len(several) == 1:
        return f"[{several[0]}]" if several[0] == "*" else several[0]
    if not all(map(_number, several)):
        head = "" if all(map(PLAIN.fullmatch, several)) else common_head(several)
        rest = [name[len(head) :] for name in several]
        return head + (bracket(rest) if head and all(map(_number, rest)) else f"[{','.join(rest)}]")
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
    if math.prod(map(len, columns)) != len(several) or not all(map(writable, columns)):
        return None
    return {first[: index + 1]: bracket(names) for index, names in enumerate(columns) if len(names) > 1}


def write(path: Path, prefixes: Prefixes) -> str:
    """The path with the folded parts written as patterns."""
    parts = (prefixes.get(path[: index + 1], bracket([name])) for index, name in enumerate(path))
    return ".".join(parts)
