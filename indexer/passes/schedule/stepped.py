"""What an engine's step does on the host alone: scheduling requests and taking in results. Read from the step's own lines.

Nothing of it touches the device, so the trace has no node for it; the calls of the step's function name it.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Any

from cgx.indexer.passes.schedule.situation import Run
from cgx.indexer.source import parse
from cgx.model.anchors import Anchor

WORDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("schedule", re.compile(r"schedule$|schedule_|_schedule|get_next_batch|next_batch|pick_batch", re.IGNORECASE)),
    ("respond", re.compile(r"post_?process|process_output|finish|respond|detokeni[sz]e|send_result|stream_output", re.IGNORECASE)),
)


@dataclass(frozen=True)
class HostCall:
    """A call of the step's function that has a phase by its name."""

    phase: str
    name: str
    anchor: Anchor


def host_calls(run: Run, tree: Any) -> list[HostCall]:
    """Calls in the entry function of a serving job, in order; the first of each phase."""
    entry = run.step.entry
    if tree is None or entry is None or run.step.kind != "inference serving":
        return []
    function = function_at(tree, entry)
    found: dict[str, HostCall] = {}
    for node in ast.walk(function) if function is not None else ():
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""
        for phase, words in WORDS:
            if words.search(name) and phase not in found:
                found[phase] = HostCall(phase, ast.unparse(node.func), Anchor(entry.path, entry.symbol, node.lineno))
    return sorted(found.values(), key=lambda one: one.anchor.line)


def function_at(tree: Any, entry: Anchor) -> ast.AST | None:
    data = tree.read(entry.path)
    module = parse(data, entry.path).tree if data is not None else None
    for node in ast.walk(module) if module is not None else ():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and first_line(node) <= entry.line <= node.lineno:
            return node
    return None


def first_line(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return min([node.lineno, *(one.lineno for one in node.decorator_list)])
