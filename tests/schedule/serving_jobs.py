"""Small serving jobs, from their source to the rows of their schedule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cgx.indexer.interpreter.interp import Options
from cgx.indexer.interpreter.run import run_job
from cgx.indexer.launch.line import parse_launch
from cgx.indexer.passes.schedule import schedule
from cgx.indexer.passes.schedule.build import Schedule
from cgx.indexer.source import open_tree

HEAD = "import torch\nfrom torch import nn\n"
NET = HEAD + "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.a = nn.Linear(4, 4)\n        self.b = nn.Linear(4, 4)\n"


def served(folder: Path, text: str, line: str = "python main.py", **files: str) -> Schedule:
    for name, content in {"main.py": text, **{f"{key}.py": value for key, value in files.items()}}.items():
        (folder / name).write_text(content)
    tree = open_tree(str(folder))
    return schedule(run_job(tree, [], parse_launch(line, tree), Options()), tree)


def brief(rows: list[dict[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row.get(name) for name in names) for row in rows]


def line_of(row: dict[str, Any]) -> int:
    return int(row["code_anchor"].rpartition(":")[2])
