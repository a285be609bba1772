"""Small sources run through the interpreter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from cgx.indexer.interpreter.interp import Options
from cgx.indexer.interpreter.run import run_build, run_job
from cgx.indexer.interpreter.trace import Event, ModuleCall, OpNode, Trace
from cgx.indexer.launch.line import parse_launch
from cgx.indexer.passes.schedule.build import build as schedule
from cgx.indexer.source import open_tree

NET = """
import random, torch, torch.nn as nn, numpy as np
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)
    def forward(self, x):
        return self.fc(x)
"""  # the model of jobs whose model does not matter


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def job(folder: Path, files: dict[str, str], line: str = "python main.py", **settings: Any) -> Trace:
    tree = open_tree(str(write(folder, files)))
    return run_job(tree, [], parse_launch(line, tree), Options(settings=settings))


def build(folder: Path, files: dict[str, str], expr: str, inputs: Sequence[str] = ()) -> Trace:
    return run_build(open_tree(str(write(folder, files))), [], expr, inputs, Options())


def calls(trace: Trace) -> Iterator[ModuleCall]:
    return (node for node in trace.root.walk() if isinstance(node, ModuleCall))


def called(trace: Trace) -> list[str]:
    """Class names of the modules that were called, in order."""
    return [node.module.cls.name for node in calls(trace)]


def ops(trace: Trace) -> list[str]:
    return [node.qname.rpartition(".")[2] for node in trace.root.walk() if isinstance(node, OpNode)]


def reasons(trace: Trace) -> dict[str, str]:
    return {unknown.name: unknown.reason for unknown in trace.unknowns}


def events(trace: Trace, kind: str) -> list[Event]:
    return [node for node in trace.root.walk() if isinstance(node, Event) and node.kind == kind]


def copied(trace: Trace) -> list[str]:
    """What is copied between host and device, without what is carried for a checkpoint or a log."""
    return [str(event.data["what"]) for event in events(trace, "copy") if not event.data.get("carrier")]


def record(trace: Trace) -> dict[str, Any]:
    """The rows of the execution schedule."""
    return schedule(trace).rows
