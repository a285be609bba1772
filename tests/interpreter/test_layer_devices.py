"""Layers that are made where they stay, and kernels with the configurations that are tried for them."""

from __future__ import annotations

from pathlib import Path

from interpreted import events, job, reasons

NET = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self, device=None):
        super().__init__()
        self.fc = nn.Linear(4, 4, device=device)
        self.norm = nn.BatchNorm1d(4, device=device)
        with torch.no_grad():
            self.fc.bias.copy_(torch.rand(4, device="cuda"))
    def forward(self, x):
        return self.norm(self.fc(x))
"""


def test_a_layer_made_on_the_device_is_there(tmp_path: Path) -> None:
    trace = job(tmp_path, {"main.py": NET + "net = Net('cuda').to('cuda')\n"})
    assert events(trace, "copy") == []


def test_a_layer_made_on_the_host_moves(tmp_path: Path) -> None:
    trace = job(tmp_path, {"main.py": NET + "net = Net().to('cuda')\n"})
    assert [one.data["direction"] for one in events(trace, "copy")] == ["D2H", "H2D"]


def test_configurations_of_a_kernel_can_be_asked(tmp_path: Path) -> None:
    trace = job(
        tmp_path,
        {"main.py": NET + """
import triton
@triton.autotune(configs=[triton.Config({"BLOCK": 2}, num_stages=2), triton.Config({"BLOCK": 3}, num_warps=8)], key=["n"])
@triton.jit
def kernel(x, n, BLOCK):
    pass
@triton.autotune(configs=[], key=["n"])
@triton.jit
def plain(x, n):
    pass
smallest = min(one.kwargs["BLOCK"] for one in kernel.configs) * kernel.configs[0].num_warps * len(plain.configs)
net = nn.Sequential(*[nn.Linear(4, 4) for _ in range(smallest)])
net(torch.zeros(1, 4))
"""},
    )
    assert len([one for one in trace.modules if one.cls.name == "Linear"]) == 8 and not reasons(trace)


def test_what_a_layer_on_the_device_gives_is_there_too(tmp_path: Path) -> None:
    trace = job(
        tmp_path,
        {"main.py": NET + """
import os
net = Net("cuda")
rows = [torch.load("x.pt", map_location="cpu").cuda()]
while len(rows) < int(os.environ["ROUNDS"]):
    rows.append(net.fc(rows[-1]))
torch.cat(rows).tolist()
"""},
    )
    assert [one.data["sync"] for one in events(trace, "sync") if one.data["sync"] == "tolist"] == ["tolist"]
