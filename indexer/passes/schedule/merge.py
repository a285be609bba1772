"""Rows that say the same of one line are one row: repeats are added, call sites and modules gathered."""

from __future__ import annotations

import json
import re
from typing import Any

from cgx.indexer.passes.schedule.counts import total

GATHERED = frozenset({"repeat", "called_from", "module", "bytes"})
INDEX = re.compile(r"(?<![^.])\d+(?![^.])")


OFTEN = {"token": 0, "denoising step": 0, "micro-step": 1, "step": 1, "request": 1}
PERIODIC, ONE_OFF = ("evaluation", "checkpoint"), ("startup", "teardown")


def in_run_order(rows: list[tuple[int, dict[str, Any]]]) -> list[dict[str, Any]]:
    """Folded rows: startup, then what runs most often first, each in run order; a warm-up of the step (``_warm``) comes last."""

    def place(pair: tuple[int, dict[str, Any]]) -> tuple[bool, int, int]:
        row = pair[1]
        often = -1 if row.get("phase") == "startup" else OFTEN.get(row.get("frequency", {}).get("per"), 2)
        return (bool(row.get("_warm")), often, pair[0])

    return merged(shown(sorted(rows, key=place)))


def step_first(rows: list[tuple[int, dict[str, Any]]]) -> list[dict[str, Any]]:
    """Folded rows: what each step does first, then what runs in periods, then startup and teardown; each in run order."""

    def place(pair: tuple[int, dict[str, Any]]) -> tuple[int, int, int]:
        phase = pair[1].get("phase")
        often = OFTEN.get(pair[1].get("frequency", {}).get("per"), 2)
        return (1 if phase in PERIODIC else 2 if phase in ONE_OFF else 0, often, pair[0])

    return merged(shown(sorted(rows, key=place)))


def shown(rows: list[tuple[int, dict[str, Any]]]) -> list[dict[str, Any]]:
    """Rows without their notes. What the first round alone does is left out where each round does the same at that line."""
    rows = [pair for order, row in rows for pair in ((order, row), *(((order, as_decode(row)),) if row.get("_both") else ()))]
    each_round = {every_round(row) for _, row in rows if not row.get("_first")}
    kept = [row for _, row in rows if not (row.get("_first") and every_round(row) in each_round)]
    return [{key: value for key, value in row.items() if not key.startswith("_")} for row in kept]


def as_decode(row: dict[str, Any]) -> dict[str, Any]:
    """The same in the other phase of a model's call that serves both."""
    frequency = row["frequency"]
    return {**row, "phase": "decode", "frequency": {**frequency, "per": "token"} if frequency.get("per") == "step" else frequency}


def every_round(row: dict[str, Any]) -> str:
    """What a row says, whatever the round and where in it."""
    held = {name: value for name, value in row.items() if name not in (*GATHERED, "frequency", "phase") and not name.startswith("_")}
    return json.dumps(held, default=str, sort_keys=True)


def key_of(row: dict[str, Any]) -> str:
    return json.dumps({name: value for name, value in row.items() if name not in GATHERED}, default=str, sort_keys=True)


def merged(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Equal rows folded, in the order of their first."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(key_of(row), []).append(row)
    return [fold(group) for group in groups.values()]


def fold(group: list[dict[str, Any]]) -> dict[str, Any]:
    row = dict(group[0])
    if "repeat" in row:
        row["repeat"] = total(one.get("repeat") for one in group)
    sites: list[str] = []
    for one in group:
        for site in as_list(one.get("called_from")):
            if str(site) not in sites:
                sites.append(str(site))
    if sites:
        row["called_from"] = sites[0] if len(sites) == 1 else sites
    else:
        row.pop("called_from", None)
    names = [one["module"] for one in group if one.get("module")]
    if names:
        row["module"] = fold_names(names)
    else:
        row.pop("module", None)
    if row.get("bytes") is None or any(one.get("bytes") != row["bytes"] for one in group):
        row.pop("bytes", None)  # calls of several sizes have no one size
    return row


def as_list(value: Any) -> list[Any]:
    return [] if value is None else value if isinstance(value, list) else [value]


def fold_names(names: list[str]) -> str:
    """``layers.0.attn``, ``layers.1.attn`` -> ``layers.[0-1].attn``; others are joined by commas."""
    shapes: dict[str, list[int]] = {}
    for name in names:
        numbers = [int(one) for one in INDEX.findall(name)]
        pattern = INDEX.sub("{}", name, count=1) if numbers else name
        held = shapes.setdefault(pattern, [])
        if numbers and numbers[0] not in held:
            held.append(numbers[0])
    return ", ".join(pattern.replace("{}", index_range(held), 1) if held else pattern for pattern, held in shapes.items())


def index_range(numbers: list[int]) -> str:
    ordered = sorted(numbers)
    if len(ordered) == 1:
        return str(ordered[0])
    if ordered == list(range(ordered[0], ordered[-1] + 1)):
        return f"[{ordered[0]}-{ordered[-1]}]"
    return f"[{','.join(map(str, ordered))}]"
