"""Metrics kept by step, where a checkpoint may say which step it is: tables in a table, and callbacks that look at the step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from interpreted import NET, job, record

RESUMED = NET + """
import os
from collections import defaultdict
class Callback:
    trainer = None
    @property
    def step(self):
        return self.trainer.seen
    def after(self):
        pass
class Saver(Callback):
    def after(self):
        if self.step %% 100 == 0:
            torch.save(model.state_dict(), 'x.pt')
class Trainer:
    def __init__(self):
        self.seen, self.metrics, self.callbacks = 0, %s, {'nothing': Callback(), 'saver': Saver()}
        for callback in self.callbacks.values():
            callback.trainer = self
    def record(self, name, value):
        if self.seen not in self.metrics:
            self.metrics[self.seen] = {}
        self.metrics[self.seen][name] = value
    def log(self):
        if not self.metrics:
            return
        for step, values in self.metrics.items():
            for name in values:
                print(step, name, self.metrics[step][name].item())
        self.metrics.clear()
    def fit(self):
        if os.path.exists('state.pt'):
            self.seen = torch.load('state.pt')['seen']
        first = True
        for batch in range(400):
            self.seen += 1
            loss = model(torch.randn(8, 4).cuda()).sum()
            self.record('loss', loss.detach())
            loss.backward()
            optimizer.step()
            for callback in self.callbacks.values():
                callback.after()
            if first or self.seen %% 5 == 0:
                self.log()
            first = False
model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
Trainer().fit()
"""


def rows(folder: Path, text: str, line: str = "python main.py") -> dict[str, Any]:
    return record(job(folder, {"main.py": text}, line))


@pytest.mark.parametrize("made", ["{}", "defaultdict(dict)"])
def test_what_is_kept_by_step_is_read_when_it_is_logged(tmp_path: Path, made: str) -> None:
    found = rows(tmp_path, RESUMED % made)
    periods = {row["name"]: row["every"]["count"] for row in found["phases"] if row["kind"] == "periodic"}
    assert periods == {"checkpoint": 100, "logging": 5}
    [item] = [row for row in found["host_device"]["syncs"] if row["kind"] == "item"]
    assert item["what"] == "self.metrics[step][name].item()" and item["frequency"]["every"] == 5


def test_a_batch_that_is_tried_before_the_loop_is_start_up(tmp_path: Path) -> None:
    found = rows(tmp_path, NET + """
model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
def train(batch):
    for part in batch.split(2):
        model(part.cuda()).sum().backward()
train(torch.zeros(8, 4))
epoch = 0
while epoch < 3:
    for step in range(10):
        train(torch.randn(8, 4))
        optimizer.step()
    epoch += 1
""")
    assert [(row["unit"], row["count"]) for row in found["loops"]][1:] == [("epoch", 3), ("step", 10), ("micro-step", 4)]
    assert [row["name"] for row in found["phases"]] == ["startup", "data", "forward", "backward", "optimizer"]
    assert {row["frequency"]["per"] for row in found["host_device"]["copies"] if row["phase"] != "startup"} == {"micro-step"}


SHARDED = NET + """
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard
class Block(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.base = nn.Linear(4, 4, device=device)
        self.more = nn.Linear(4, 4, device=device)
    def forward(self, x):
        return self.base(x) + self.more(x)
class Model(nn.Module):
    def __init__(self, device):
        super().__init__()
        self.table = nn.Embedding(9, 4, device=device)
        self.blocks = nn.ModuleList([Block(device) for _ in range(3)])
        self.norm = nn.LayerNorm(4, device=device)
    def forward(self, x):
        x = self.table(x)
        for block in self.blocks:
            x = block(x)
        return self.norm(x)
dist.init_process_group('nccl')
model = Model('meta')
%s
for block in model.blocks:
    fully_shard(block)
fully_shard(model.table)
%s
fully_shard(model)
model.to_empty(device='cuda')
optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], 0.1)
for step in range(9):
    model(torch.zeros(2, 3, dtype=torch.long, device='cuda')).sum().backward()
    optimizer.step()
"""
FROZEN = "for name, p in model.named_parameters():\n    p.requires_grad_('more' in name)"


@pytest.mark.parametrize(
    ("frozen", "told", "scattered", "again"),
    [
        ("", "", {"blocks.[0-2]", "table", "Model"}, {"blocks.[0-2]", "table"}),
        ("", "model.table.set_unshard_in_backward(False)", {"blocks.[0-2]", "table", "Model"}, {"blocks.[0-2]"}),
        (FROZEN, "", {"blocks.[0-2]"}, {"blocks.[0-2]"}),
    ],
)
def test_units_send_gradients_where_they_learn(tmp_path: Path, frozen: str, told: str, scattered: set[str], again: set[str]) -> None:
    found = rows(tmp_path, SHARDED % (frozen, told), "torchrun --nproc-per-node 8 main.py")
    sent = [(row["collective"], row["phase"], row["module"]) for row in found["device_device"]]
    assert {name or "Model" for kind, _, name in sent if kind == "reduce_scatter"} == scattered
    assert {name for kind, phase, name in sent if (kind, phase) == ("all_gather", "backward")} == again
    assert not found["host_device"]["copies"]  # it was made where nothing lies
