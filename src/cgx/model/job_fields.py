"""Which part of a record entry becomes which property of its node: one table a section.

A row is ``property: path`` where the path is a key of the entry, or keys joined by dots. What is absent or null in the entry
is absent in the node. ``entry_json`` keeps the whole entry, so nothing is lost by not being listed here.
"""

from __future__ import annotations

from collections.abc import Mapping

Fields = Mapping[str, str]

_REPEAT: Fields = {
    "repeat_unit": "repeat.unit",
    "repeat_count": "repeat.count",
    "repeat_by": "repeat.by",
    "repeat_expr": "repeat.expr",
    "repeat_anchor": "repeat.code_anchor",
}
_GRAPH: Fields = {
    "parent": "parent",
    "order": "order",
    "multiplicity": "multiplicity",
    "recomputed": "recomputed",
    "phase": "phase",
    "when_text": "when.expr",
    **_REPEAT,
}
_TIME: Fields = {
    "phase": "phase",
    "per": "frequency.per",
    "every": "frequency.every",
    "guard": "frequency.guard",
    "repeat": "repeat",
    "ranks": "ranks",
    "module": "module",
    "frequency_json": "frequency",
}

MODULE: Fields = {
    "level": "level",
    "module_path": "path",
    "type_name": "type",
    "constructed_at": "constructed_at",
    "called_from": "called_from",
    "wrapped_by": "wrapped_by",
    "shares": "shares",
    "shapes_json": "shapes",
    "parameters_json": "parameters",
    **_GRAPH,
}
OP: Fields = {"type_name": "type", "end_line": "end_line", "shapes_json": "shapes", **_GRAPH}
LOOP: Fields = {"type_name": "type", **_GRAPH}
DIM: Fields = {"value": "value", "expr": "expr"}
PHASE: Fields = {
    "kind": "kind",
    "every_count": "every.count",
    "every_unit": "every.unit",
    "every_expr": "every.expr",
    "every_guard": "every.guard",
    "repeat": "repeat",
    "runs_on": "runs_on",
    "ranks": "ranks",
}
HOP: Fields = {
    "hop": "hop",
    "by": "by",
    "workers": "workers",
    "asynchronous": "asynchronous",
    "blocks_step": "blocks_step",
    "repeat": "repeat",
}
COPY: Fields = {
    "direction": "direction",
    "what": "what",
    "source": "source",
    "non_blocking": "non_blocking",
    "blocks_host": "blocks_host",
    "bytes": "bytes",
    **_TIME,
}
SYNC: Fields = {"kind": "kind", "what": "what", **_TIME}
COLLECTIVE: Fields = {
    "collective": "collective",
    "parallelism": "parallelism",
    "process_group": "group",
    "blocking": "blocking",
    "async_op": "async_op",
    "issued_by": "issued_by",
    "waited_at": "waited_at",
    "bytes": "bytes",
    **_TIME,
}
COMPUTE: Fields = {"value": "value", "expr": "expr", **_TIME}
OVERLAP: Fields = {
    "what": "what",
    "overlaps_with": "with",
    "stream": "stream",
    "mechanism": "mechanism",
    "joined_at": "joined_at",
}
JOB_LOOP: Fields = {"unit": "unit", "count": "count", "expr": "expr", "inside": "inside"}
UNRESOLVED: Fields = {
    "field": "field",
    "about": "entry",
    "reason": "reason",
    "option": "settle_with.option",
    "option_name": "settle_with.name",
}

SECTIONS: Mapping[str, tuple[str, Fields]] = {
    "phases": ("Phase", PHASE),
    "data_path": ("Hop", HOP),
    "copies": ("Copy", COPY),
    "syncs": ("Sync", SYNC),
    "device_device": ("Collective", COLLECTIVE),
    "compute": ("Compute", COMPUTE),
    "overlap": ("Overlap", OVERLAP),
    "loops": ("JobLoop", JOB_LOOP),
}
"""Sections of the schedule: label and fields. ``copies`` and ``syncs`` lie under ``host_device`` in the record."""

LEVELS: Mapping[str, tuple[str, Fields]] = {
    "model": ("ModuleEntry", MODULE),
    "module": ("ModuleEntry", MODULE),
    "layer": ("ModuleEntry", MODULE),
    "op": ("OpEntry", OP),
    "loop": ("LoopEntry", LOOP),
}
"""Entries of the computation graph by their level."""
