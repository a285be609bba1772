"""What is listed as unresolved stands somewhere: where the code asks for it, or in the launch line."""

from __future__ import annotations

from pathlib import Path

import pytest
from serving_jobs import served

SOURCE = """
import sys, torch
from torch import nn
import torchvision
net = nn.Linear(4, 4).cuda()
opt = torch.optim.SGD(net.parameters(), 0.1)
data = torch.utils.data.DataLoader(torchvision.datasets.ImageFolder("/data"), batch_size=8)
for images, target in data:
    for i in range({asked}):
        loss = net(images[i].cuda()).sum()
        loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("int((images.sum() / 3).item())", "(images.sum() / 3).item()"),
        ("images.nonzero().size(0)", "images.nonzero().size(0)"),
        ("torch.arange(int(target[0])).numel()", "torch.arange(int(target[0])).numel()"),
        ("len(images.nonzero().split(3))", "len(images.nonzero().split(3))"),
        ("len(sys.executable)", "len(sys.executable)"),
    ],
)
def test_a_value_without_a_place_stands_where_it_is_asked_for(tmp_path: Path, asked: str, name: str) -> None:
    found = served(tmp_path, SOURCE.replace("{asked}", asked)).rows["unresolved"]
    assert all(row["code_anchor"] for row in found)
    assert ("main.py:<module>:9", name) in [(row["code_anchor"], row["settle_with"]["name"]) for row in found]


def test_what_the_machine_decides_is_left_open_by_the_launch_line(tmp_path: Path) -> None:
    source = "import torch.distributed as dist\ndist.init_process_group('nccl')\n" + SOURCE.replace("{asked}", "3").replace("cuda()\nopt", "cuda()\nnet = nn.parallel.DistributedDataParallel(net)\nopt")
    found = served(tmp_path, source, "torchrun --nproc-per-node gpu main.py").rows["unresolved"]
    assert [(row["name"], row["code_anchor"]) for row in found if row.get("from") == "launch"] == [("nproc_per_node", None)]
    assert all(row["code_anchor"] for row in found if row["name"] != "nproc_per_node")
