"""Calls of one function in both branches of a condition on the rank are one call on all ranks."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from serving_jobs import brief, served

from cgx.indexer.interpreter.operators import ranks_here
from cgx.indexer.interpreter.trace import BranchNode
from cgx.model.anchors import Anchor

SOURCE = """
import os, torch, torch.distributed as dist
from torch import nn
dist.init_process_group("nccl")
rank = dist.get_rank()
net = nn.Linear(2, 2).cuda()
opt = torch.optim.SGD(net.parameters(), 0.1)
data = torch.utils.data.DataLoader([torch.ones(2)] * 64, batch_size=2)
class Writer:
    def add(self, value):
        print(value)
def train(epoch, loaders, writer):
    loader, held_out = loaders
    for step, x in enumerate(loader):
        loss = net(x.cuda()).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if writer is not None:
            writer.add(loss.item())
for epoch in range(2):
    if rank == 0:
        train(epoch, [data, data], Writer())
    else:
        train(epoch, [data, None], None)
"""


def test_the_step_is_that_of_all_ranks_and_what_one_rank_adds_its_own(tmp_path: Path) -> None:
    rows = served(tmp_path, SOURCE, "torchrun --nproc-per-node 2 main.py").rows
    copies = brief(rows["host_device"]["copies"], "what", "phase", "ranks")
    assert ("x", "data", "all") in copies
    assert [one for one in copies if one[0] == "x"] == [("x", "data", "all")]
    assert ("item", "loss.item()", "rank 0") in brief(rows["host_device"]["syncs"], "kind", "what", "ranks")
    assert brief(rows["loops"], "unit", "count") == [("epoch", 2), ("step", 32)]


def test_a_branch_of_more_ranks_inside_one_of_fewer_lets_in_no_other() -> None:
    here = Anchor("a.py", "f", 1)
    branches = [BranchNode(here, "rank == 0", ranks=(0,)), BranchNode(here, "step > 1"), BranchNode(here, "rank < 2", decided=True, ranks=(0, 1))]
    assert ranks_here(SimpleNamespace(stack=branches), 4) == [0]  # type: ignore[arg-type]
    assert ranks_here(SimpleNamespace(stack=branches[1:]), 4) == [0, 1]  # type: ignore[arg-type]
