"""Jobs whose helpers take the micro-steps: a scaler that is told when to step, losses and schedulers of libraries that are not there."""

from __future__ import annotations

from pathlib import Path

from interpreted import NET, job, record

HELPED = NET + """
import math, elsewhere
class Scaler:
    def __init__(self):
        self.scaler = torch.cuda.amp.GradScaler()
    def __call__(self, loss, optimizer, update):
        self.scaler.scale(loss).backward()
        if update:
            self.scaler.step(optimizer)
            self.scaler.update()
def log_every(loader, every):
    i = 0
    for batch in loader:
        yield batch
        if i % every == 0 or i == len(loader) - 1:
            print(i)
        i += 1
model = Net().cuda()
parts = list(model.parameters())
optimizer = torch.optim.AdamW([{'params': parts[:1], 'scale': 1.0}, {'params': parts[1:], 'scale': 0.5}], 0.1)
scheduler, criterion, scaler, rates = elsewhere.Scheduler(optimizer), elsewhere.Loss(), Scaler(), [0.1] * 100
data = torch.utils.data.TensorDataset(torch.zeros(64, 4))
drawn = torch.utils.data.BatchSampler(torch.utils.data.RandomSampler(data), 8, drop_last=True)
loader = torch.utils.data.DataLoader(data, batch_sampler=drawn)
for step, (x,) in enumerate(log_every(loader, 10)):
    if rates is not None or step % 4 == 0:
        for i, group in enumerate(optimizer.param_groups):
            group['lr'] = rates[step] * group['scale']
    out = model(x.cuda())
    loss = criterion(out, out)
    top1, top5 = elsewhere.accuracy(out, out)
    value = loss.item()
    if not math.isfinite(value):
        print('stop', value)
        assert math.isfinite(value)
    scaler(loss, optimizer, update=(step + 1) % 4 == 0)
    if (step + 1) % 4 == 0:
        optimizer.zero_grad()
        scheduler.step_update(step)
    print(top1.item(), top5.item())
"""


def test_helpers_that_are_told_when_to_step(tmp_path: Path) -> None:
    found = record(job(tmp_path, {"main.py": HELPED}))
    lines = HELPED.splitlines()
    at = found["compute"]["gradient_accumulation"]["code_anchor"].rpartition(":")[2]
    assert (found["compute"]["gradient_accumulation"]["value"], lines[int(at) - 1]) == (4, "    if (step + 1) % 4 == 0:")
    assert [(row["value"], row["frequency"]) for row in found["compute"]["lr_schedule"]] == [("set by hand", {"per": "micro-step"}), ("step", {"per": "step"})]
    assert [row["every"]["count"] for row in found["phases"] if row["name"] == "logging" and "every" in row] == [10]
    assert [row["by"].rpartition(".")[2] for row in found["data_path"] if row["hop"] == "sample"] == ["RandomSampler", "BatchSampler"]


def test_numbers_of_losses_that_nobody_knows(tmp_path: Path) -> None:
    found = record(job(tmp_path, {"main.py": HELPED}))
    assert {row["what"] for row in found["host_device"]["syncs"] if row["kind"] == "item"} >= {"loss.item()", "top1.item()", "top5.item()"}


def test_optimizers_of_libraries_that_are_not_there(tmp_path: Path) -> None:
    source = NET + (
        "from apex.optimizers import FusedAdam\nimport elsewhere\nmodel = Net().cuda()\n"
        "optimizers = [FusedAdam(model.parameters(), 0.1), elsewhere.optim.Lion(model.parameters(), lr=0.2)]\n"
        "for step in range(9):\n    model(torch.zeros(2, 4).cuda()).sum().backward()\n    optimizers[0].step()\n    optimizers[1].step()\n"
        "    optimizers[0].zero_grad()\n"
    )
    found = record(job(tmp_path, {"main.py": source}))["compute"]
    assert [(row["value"], row.get("implementation"), row["lr"]) for row in found["optimizer"]] == [
        ("apex.optimizers.FusedAdam(fused)", "fused", 0.1),
        ("elsewhere.optim.Lion", None, 0.2),
    ]
    assert [row["value"] for row in found["optimizer_step"]] == ["apex.optimizers.FusedAdam", "elsewhere.optim.Lion"]


def test_a_loader_that_keeps_its_iterator(tmp_path: Path) -> None:
    source = NET + (
        "class Again(torch.utils.data.DataLoader):\n    def __iter__(self):\n        if self._iterator is None or self.done:\n            self.done = False\n"
        "            return super().__iter__()\n        return self._iterator\n"
        "loader = Again(torch.utils.data.TensorDataset(torch.zeros(64, 4)), batch_size=8, pin_memory=True)\n"
        "model = Net().cuda()\noptimizer = torch.optim.SGD(model.parameters(), 0.1)\nfor (x,), i in zip(loader, range(9)):\n"
        "    model(x.cuda(non_blocking=True)).sum().backward()\n    optimizer.step()\n"
    )
    found = record(job(tmp_path, {"main.py": source}))
    assert [row["source"] for row in found["host_device"]["copies"] if row["phase"] == "data"] == ["pinned"]
