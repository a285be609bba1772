"""By which commit a sync appeared in the step, and a repeat count changed: asked of jobs indexed at two commits."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_moved_edges import commit, git

import cgx
from cgx.workflow.indexing import run_index

TRAIN = """import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(depth)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu()
        return x


model = Net(4).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(10):
    loss = model(torch.zeros(2, 3, device="cuda")).sum()
    loss.backward()
    optimizer.step()
"""


def test_what_appeared_in_the_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "job"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    commit(folder, {"train.py": TRAIN})
    commit(folder, {"train.py": TRAIN.replace("Net(4)", "Net(6)") + "    print(loss.item())\n"})
    store = str(tmp_path / "store")
    for rev in ("HEAD~1", "HEAD"):
        run_index(source=str(folder), rev=rev, worktree=False, launch="python train.py", env=[], store=store, jobs=1, deep=0, strict=False, quiet=True, json=True)
    with cgx.open(folder, store=store) as graph:
        appeared = [(row["section"], row["anchor"]) for row in graph.query("appeared_in_step")]
        assert ("syncs", "train.py:<module>:22") in appeared
        changed = [(row["before"], row["after"]) for row in graph.query("repeat_changes")]
        assert (4, 6) in changed
        assert len(graph.query("changed_under_step")) > 0
        assert len(graph.query("moved")) == 0  # nothing but the script's own code changed
