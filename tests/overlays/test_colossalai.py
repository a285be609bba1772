"""Jobs on ColossalAI's booster with its ZeRO plugin."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "schedule"))

from serving_jobs import brief, served

TRAIN = """
import torch, torch.distributed as dist
from torch import nn
from colossalai.booster import Booster
from colossalai.booster.plugin import LowLevelZeroPlugin
from colossalai.cluster import DistCoordinator
from colossalai.nn.optimizer import HybridAdam

dist.init_process_group("nccl")
coordinator = DistCoordinator()
model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
optimizer = HybridAdam(model.parameters(), lr=1e-3)
booster = Booster(plugin=LowLevelZeroPlugin(stage={stage}, precision="{precision}", max_norm=1.0{more}))
model, optimizer, _, _, _ = booster.boost(model=model, optimizer=optimizer)
for step in range(100):
    loss = model(torch.randn(8, 4, device="cuda")).mean()
    booster.backward(loss, optimizer)
    optimizer.step()
    optimizer.zero_grad()
"""


def made(folder: Path, stage: int = 2, precision: str = "bf16", more: str = "", gpus: int = 8) -> dict[str, Any]:
    text = TRAIN.format(stage=stage, precision=precision, more=more)
    return served(folder, text, f"torchrun --nproc_per_node {gpus} main.py").rows


def sent(rows: dict[str, Any]) -> list[tuple[Any, ...]]:
    return brief(rows["device_device"], "collective", "phase", "blocking", "issued_by")


ZERO = "LowLevelZeroOptimizer"


def test_stage_two_scatters_gradients(tmp_path: Path) -> None:
    rows = made(tmp_path)
    assert sent(rows) == [
        ("reduce_scatter", "backward", False, ZERO), ("all_reduce", "optimizer", True, ZERO), ("all_gather", "optimizer", True, ZERO),
    ]  # fmt: skip
    assert rows["compute"]["optimizer"]["value"] == "colossalai.nn.optimizer.HybridAdam"
    assert rows["compute"]["forward"]["value"] == "Sequential.forward"
    asked = sorted(brief(rows["host_device"]["syncs"], "kind", "phase"))
    assert [one for one in asked if one[1] != "startup"] == [
        ("conversion", "optimizer"), ("item", "optimizer"), ("other", "optimizer"), ("synchronize", "backward"),
    ]  # fmt: skip


def test_stage_one_sums_them_and_gathers_late(tmp_path: Path) -> None:
    rows = made(tmp_path, 1, more=", overlap_communication=False, overlap_allgather=True")
    assert [one[:3] for one in sent(rows)] == [("all_reduce", "backward", True), ("all_reduce", "optimizer", True), ("all_gather", "optimizer", False)]
    assert not [row for row in rows["host_device"]["syncs"] if row["kind"] == "synchronize"]


def test_one_rank_sends_nothing_and_half_precision_asks_for_overflow(tmp_path: Path) -> None:
    assert sent(made(tmp_path, gpus=1)) == []
    rows = made(tmp_path, precision="fp16")
    assert [one[0] for one in sent(rows)].count("all_reduce") == 2
    assert "found_overflow.item()" in [row["what"] for row in rows["host_device"]["syncs"]]
