"""What the first round of a loop alone does: things made when they are needed first, graphs that are captured and replayed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cgx.indexer.interpreter.interp import Options
from cgx.indexer.interpreter.run import run_job
from cgx.indexer.launch.line import parse_launch
from cgx.indexer.passes.schedule import schedule
from cgx.indexer.source import open_tree

HEAD = """
import torch, torch.distributed as dist, torch.nn as nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
    def forward(self, x):
        return self.fc(x).sum()
dist.init_process_group("nccl")
net = Net().cuda()
"""
CAPTURED = """
class Graphed:
    def __init__(self, fn):
        self.fn, self.calls_left, self.graph = fn, 1, None
    def __call__(self, x):
        if self.calls_left > 0:
            self.calls_left -= 1
            return self.fn(x)
        if self.graph is None:
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.out = self.fn(x)
        self.graph.replay()
        return self.out
def wrap(fn):
    made = None
    def run(x):
        nonlocal made
        if made is None:
            made = Graphed(fn)
        return made(x)
    return run
def both(x):
    loss = net(x)
    loss.backward()
    dist.all_reduce(loss)
    return loss
step = wrap(both)
opt = torch.optim.SGD([{"params": list(net.parameters()), "foreach": True}], lr=0.1)
for i in range(1000):
    step(torch.zeros(2, 4, device="cuda"))
    opt.step()
dist.barrier()
"""


def rows(folder: Path, source: str, line: str = "torchrun --nproc_per_node=2 main.py") -> dict[str, Any]:
    (folder / "main.py").write_text(source)
    tree = open_tree(str(folder))
    return schedule(run_job(tree, [], parse_launch(line, tree), Options()), tree).rows


def test_what_a_graph_holds_is_issued_in_each_round(tmp_path: Path) -> None:
    found = rows(tmp_path, HEAD + CAPTURED)
    sums = [row for row in found["device_device"] if row["collective"] == "all_reduce"]
    assert [row["frequency"] for row in sums] == [{"per": "step"}]
    assert [row["value"] for row in found["compute"]["cuda_graphs"]] == ["capture", "replay"]
    [capture] = [row for row in found["host_device"]["syncs"] if row["kind"] == "synchronize"]
    assert (capture["phase"], capture["frequency"]["per"]) == ("forward", "job")
    assert [row["kind"] for row in found["phases"] if row["name"] in ("forward", "backward")] == ["repeated", "repeated"]


def test_a_group_names_the_implementation(tmp_path: Path) -> None:
    assert rows(tmp_path, HEAD + CAPTURED)["compute"]["optimizer"]["implementation"] == "foreach"


def test_a_barrier_behind_the_step_is_no_logging(tmp_path: Path) -> None:
    source = HEAD + (
        "opt = torch.optim.SGD(net.parameters(), lr=0.1)\nready = None\nfor i in range(1000):\n    net(torch.zeros(2, 4, device='cuda')).backward()\n    opt.step()\n"
        "    if ready is None:\n        dist.barrier()\n        torch.cuda.synchronize()\n        ready = object()\n"
    )
    found = rows(tmp_path, source)
    [barrier] = [row for row in found["device_device"] if row["collective"] == "barrier"]
    [sync] = [row for row in found["host_device"]["syncs"] if row["kind"] == "synchronize"]
    assert (barrier["phase"], barrier["frequency"]["per"]) == ("optimizer", "job")
    assert (sync["phase"], sync["frequency"]["per"]) == ("optimizer", "job")
