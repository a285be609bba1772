"""Metrics of torchmetrics, read without its source: what an update asks the device and what ``compute`` gathers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cgx.indexer.job import JobRequest, read_job
from cgx.indexer.source import open_tree

SCRIPT = """
import os
import torch
import torchmetrics
from torchmetrics.classification import BinaryAUROC, MulticlassF1Score

torch.distributed.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = torch.nn.Linear(8, 10).cuda()
opt = torch.optim.SGD(model.parameters(), 0.1)
metric = {metric}.to("cuda")
for epoch in range(3):
    for step in range(100):
        x, y = torch.zeros(4, 8, device="cuda"), torch.zeros(4, dtype=torch.long, device="cuda")
        out = model(x)
        loss = torch.nn.functional.cross_entropy(out, y)
        loss.backward()
        opt.step()
        opt.zero_grad()
        {update}
    value = metric.compute()
    again = metric.compute()
    metric.reset()
"""


def read(folder: Path, metric: str, update: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    (folder / "main.py").write_text(SCRIPT.format(metric=metric, update=update))
    found = read_job(open_tree(folder), [], JobRequest(launch="torchrun --nproc_per_node 2 main.py"), []).schedule
    assert found is not None
    return found["host_device"]["syncs"], [row for row in found["device_device"] if row["issued_by"] == "torchmetrics"]


@pytest.mark.parametrize(
    ("metric", "update", "asked"),
    [
        ("torchmetrics.MeanMetric()", "metric.update(loss)", ["nans.any()", "nans_weight.any()"]),
        ("torchmetrics.MeanMetric(nan_strategy='disable')", "metric.update(loss)", []),
        ("torchmetrics.Accuracy(task='multiclass', num_classes=10)", "metric(out, y)", []),  # scores are not looked through
        ("torchmetrics.Accuracy(task='multiclass', num_classes=10)", "metric(out.argmax(1), y)", ["torch.unique(target)"]),
        ("torchmetrics.Accuracy(task='multiclass', num_classes=10, validate_args=False)", "metric(out.argmax(1), y)", []),
        ("MulticlassF1Score(num_classes=10)", "metric.update(out, y)", ["torch.bincount"]),
        ("BinaryAUROC()", "metric.update(out[:, 0], y)", ["torch.unique(target)", "labels other than 0 and 1"]),
        ("torchmetrics.MetricCollection({'f': MulticlassF1Score(num_classes=10)})", "metric.update(out, y)", ["torch.bincount"]),
    ],
)
def test_what_an_update_asks_the_device(tmp_path: Path, metric: str, update: str, asked: list[str]) -> None:
    syncs, _ = read(tmp_path, metric, update)
    assert [row["what"].partition(" in ")[0] for row in syncs if row["frequency"]["per"] == "step"] == asked


@pytest.mark.parametrize(
    ("metric", "update", "gathers"),
    [
        ("torchmetrics.MeanMetric()", "metric.update(loss)", [("barrier", 2), ("all_gather", 2)]),
        ("torchmetrics.RunningMean(window=4, sync_on_compute=False)", "metric.update(loss)", []),
        ("MulticlassF1Score(num_classes=10)", "metric.update(out, y)", [("barrier", 4), ("all_gather", 8)]),  # shapes as well
    ],
)
def test_compute_gathers_each_state_once(tmp_path: Path, metric: str, update: str, gathers: list[tuple[str, int]]) -> None:
    _, rows = read(tmp_path, metric, update)
    assert [(row["collective"], row["repeat"]) for row in rows] == gathers
    assert all(row["frequency"]["per"] == "epoch" for row in rows)
