"""Batch norms with the statistics of all ranks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cgx.indexer.job import JobRequest, read_job
from cgx.indexer.source import open_tree

SCRIPT = """
import torch, torch.distributed as dist
dist.init_process_group("nccl")
net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.BatchNorm2d(4))
net = torch.nn.SyncBatchNorm.convert_sync_batchnorm(net).cuda()
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for step in range(10):
    net(torch.zeros(2, 3, 8, 8, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
with torch.no_grad():
    net.eval()(torch.zeros(2, 3, 8, 8, device="cuda"))
"""


def read(folder: Path, launch: str) -> dict[str, Any]:
    (folder / "job.py").write_text(SCRIPT)
    rows = read_job(open_tree(folder), [], JobRequest(launch=launch), []).schedule
    assert rows is not None
    return rows


def test_each_layer_gathers_sums_and_waits_in_training(tmp_path: Path) -> None:
    rows = read(tmp_path, "torchrun --nproc_per_node=2 job.py")
    sent = [(row["collective"], row["phase"], row["repeat"], row["blocking"]) for row in rows["device_device"] if row["issued_by"] == "SyncBatchNorm"]
    assert sent == [("all_gather", "forward", 2, True), ("all_reduce", "backward", 2, True)]
    waits = [row for row in rows["host_device"]["syncs"] if row["kind"] == "dynamic shape"]
    assert [(row["phase"], row["repeat"], row["code_anchor"].rpartition(":")[2]) for row in waits] == [("forward", 6, "8")]


def test_one_process_is_a_plain_batch_norm(tmp_path: Path) -> None:
    rows = read(tmp_path, "python job.py")
    assert not rows["device_device"] and not [row for row in rows["host_device"]["syncs"] if row["kind"] == "dynamic shape"]
