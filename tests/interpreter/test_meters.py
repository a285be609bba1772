"""Meters and tables that loops over names fill: what each of them reads, sends and waits for."""

from __future__ import annotations

from pathlib import Path

from interpreted import NET, job, record

METERS = NET + """
import torch.distributed as dist
from collections import defaultdict
class Meter:
    def __init__(self):
        self.total = 0.0
    def update(self, value):
        self.total += value
    def sync(self):
        t = torch.tensor([self.total], device='cuda')
        dist.all_reduce(t)
        self.total = t.item()
class Log:
    def __init__(self):
        self.meters = defaultdict(Meter)
    def update(self, **named):
        for name, value in named.items():
            if isinstance(value, torch.Tensor):
                value = value.item()
            self.meters[name].update(value)
    def sync(self):
        for meter in self.meters.values():
            meter.sync()
def norm(parameters):
    parameters = [p for p in parameters if p.grad is not None]
    if len(parameters) == 0:
        return torch.tensor(0.)
    return torch.norm(torch.stack([torch.norm(p.grad.detach(), 2.0) for p in parameters]), 2.0)
dist.init_process_group('nccl')
model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for epoch in range(3):
    log = Log()
    for step in range(9):
        loss = model(torch.zeros(2, 4).cuda()).sum()
        loss.backward()
        length = norm(model.parameters())
        optimizer.step()
{body}
    log.sync()
"""


def test_meters_of_one_class_each_send(tmp_path: Path) -> None:
    body = "        log.update(a=1.0, b=2.0, c=3.0, d=4.0, e=5.0, length=length)"
    found = record(job(tmp_path, {"main.py": METERS.format(body=body)}, "torchrun --nproc_per_node=2 main.py"))
    assert [row["repeat"] for row in found["device_device"] if row["collective"] == "all_reduce"] == [6]
    assert [(row["kind"], row["what"]) for row in found["host_device"]["syncs"] if row["frequency"]["per"] == "step" and row["kind"] == "item"] == [
        ("item", "value.item()")
    ]  # the norm of gradients lies where they do


def test_how_many_meters_open_names_make_is_open(tmp_path: Path) -> None:
    body = "        log.update(a=1.0, **{key: value for key, value in zip(open('names').read().split(), [loss, loss])})\n        log.update(b=2.0)"
    found = record(job(tmp_path, {"main.py": METERS.format(body=body)}, "torchrun --nproc_per_node=2 main.py"))
    assert [row["repeat"] for row in found["device_device"] if row["collective"] == "all_reduce"] == [None]


def test_results_under_names_that_are_not_known(tmp_path: Path) -> None:
    source = NET + (
        "model = Net().cuda()\nmodel.eval()\nwith torch.no_grad():\n    for line in open('list.txt'):\n        out = model(torch.zeros(2, 4).cuda())\n"
        "        found = {name: {'score': row} for name, row in zip(line.split(), out)}\n"
        "        for name, one in found.items():\n            print(name, one['score'].tolist())\n"
    )
    found = record(job(tmp_path, {"main.py": source}))
    assert [row["what"] for row in found["host_device"]["syncs"] if row["kind"] == "tolist"] == ["one['score'].tolist()"]
