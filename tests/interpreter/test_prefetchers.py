"""Generators that are one batch ahead of the loop that takes their batches."""

from __future__ import annotations

from pathlib import Path

import pytest
from interpreted import events, job

from cgx.indexer.job import JobRequest, read_job
from cgx.indexer.source import open_tree

SOURCE = """
import torch
from torch import nn
class Prefetch:
    def __init__(self, loader):
        self.loader = loader
    def __iter__(self):
        first = True
        stream = torch.cuda.Stream()
        for later in self.loader:
            with torch.cuda.stream(stream):
                later = later.to("cuda", non_blocking=True)
            if not first:
                yield batch
            else:
                first = False
            torch.cuda.current_stream().wait_stream(stream)
            batch = later
        yield batch
net = nn.Linear(4, 4).cuda()
opt = torch.optim.SGD(net.parameters(), 0.1)
loader = Prefetch(torch.utils.data.DataLoader(torch.zeros(64, 4), batch_size=4, num_workers=2, pin_memory=True))
for epoch in range(3):
    for i, x in enumerate(loader):
        loss = net(x).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
"""


@pytest.fixture
def schedule(tmp_path: Path) -> dict:
    (tmp_path / "main.py").write_text(SOURCE)
    found = read_job(open_tree(tmp_path), [], JobRequest(launch="python main.py"), []).schedule
    assert found is not None
    return found


def test_the_body_runs_once_a_round(schedule: dict) -> None:
    assert [(one["unit"], one["count"]) for one in schedule["loops"]] == [("epoch", 3), ("step", 16)]
    assert [(one["name"], one["repeat"]) for one in schedule["phases"] if one["kind"] == "repeated"] == [
        ("data", 1), ("forward", 1), ("backward", 1), ("optimizer", 1)
    ]  # fmt: skip


def test_its_copies_are_beside_the_step(schedule: dict) -> None:
    assert [(one["what"], one["source"], one["blocks_host"], one["frequency"]["per"]) for one in schedule["host_device"]["copies"]][:1] == [
        ("later", "pinned", False, "step")
    ]
    assert "H2D copy of later" in [one["what"] for one in schedule["overlap"]]


def test_a_last_element_of_its_own_is_one_more(tmp_path: Path) -> None:
    trace = job(
        tmp_path,
        {"main.py": """
import torch
def rows(n):
    for i in range(n):
        yield torch.zeros(i + 1)
    yield torch.zeros(0)
for row in rows(40):
    row.cuda()
"""},
    )
    assert len(events(trace, "copy")) == 2


def test_a_last_group_of_no_batches_changes_no_step(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("""
import os
import torch
from torch import nn
net = nn.Linear(4, 4).cuda()
opt = torch.optim.SGD(net.parameters(), 0.1)
loader = torch.utils.data.DataLoader(torch.zeros(int(os.environ["N"]), 4), batch_size=4)
group = 1
left = len(loader) % group
for i, x in enumerate(loader):
    steps = (i + 1) % group == 0
    if i >= len(loader) - left:
        group = left
    net(x.cuda()).sum().backward()
    if steps:
        opt.step()
""")
    found = read_job(open_tree(tmp_path), [], JobRequest(launch="python main.py"), []).schedule
    assert found is not None and found["compute"]["optimizer_step"]["frequency"] == {"per": "step"}


def test_what_a_branch_excludes_is_not_done_in_it(tmp_path: Path) -> None:
    trace = job(
        tmp_path,
        {"main.py": """
import os
import torch
x = torch.zeros(4)
last = os.environ["LAST"] == "1"
shared = os.environ["SHARED"] == "1"
def move(needed):
    if needed:
        x.cuda()
if shared and not last:
    move(last)
"""},
    )
    assert events(trace, "copy") == []
