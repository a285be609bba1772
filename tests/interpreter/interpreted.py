"""Small sources run through the interpreter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from cgx.indexer.interpreter.interp import Options
from cgx.indexer.interpreter.run import run_build, run_job
from cgx.indexer.interpreter.trace import ModuleCall, OpNode, Trace
from cgx.indexer.launch.line import parse_launch
from cgx.indexer.source import open_tree

NET = """
import torch, torch.nn as nn
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
