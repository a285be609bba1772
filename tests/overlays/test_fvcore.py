"""fvcore's checkpointers and schedules, and loaders that are opened when the first batch is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cgx.indexer.job import JobRequest, read_job
from cgx.indexer.source import open_tree

SOURCE = """
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset, IterableDataset, Sampler as Base
from torch.utils.data.sampler import Sampler
from fvcore.common.checkpoint import Checkpointer, PeriodicCheckpointer
from fvcore.common.param_scheduler import CompositeParamScheduler, ParamScheduler

class Warm(CompositeParamScheduler):
    pass

class Forever(Sampler):
    def __iter__(self):
        yield from range(100)

class Data(Dataset):
    def __len__(self):
        return 640
    def __getitem__(self, index):
        return torch.zeros(8)

class Grouped(IterableDataset):
    def __init__(self, loader):
        self.loader = loader
        self.bucket = []
    def __iter__(self):
        for row in self.loader:
            self.bucket.append(row)
            if len(self.bucket) == 2:
                rows = self.bucket[:]
                del self.bucket[:]
                yield rows

class Mapped(Dataset):
    def __new__(cls, dataset):
        return super().__new__(cls)
    def __init__(self, dataset):
        self.dataset = dataset

class Saver(Checkpointer):
    def __init__(self, model, folder):
        super().__init__(model, folder, save_to_disk=dist.get_rank() == 0)

class Hook(PeriodicCheckpointer):
    def after(self, iteration):
        self.step(iteration)

class Trainer:
    def __init__(self, model, loader):
        self.model, self.loader, self.held = model, loader, None
        self.optimizer = torch.optim.SGD(model.parameters(), 0.1)

    @property
    def batches(self):
        if self.held is None:
            self.held = iter(self.loader)
        return self.held

    def run_step(self):
        rows = next(self.batches)
        loss = self.model(rows[0].cuda()).sum()
        loss.backward()
        self.write_metrics({"loss": loss.detach()})
        self.optimizer.step()

    def write_metrics(self, values):
        values = {name: value.cpu().item() for name, value in values.items()}
        listed = [None for _ in range(dist.get_world_size())] if dist.get_rank() == 0 else None
        dist.gather_object(values, listed, dst=0)
        if dist.get_rank() == 0:
            print(listed[0]["loss"])

dist.init_process_group("nccl")
assert isinstance(Warm(), ParamScheduler) and isinstance(Forever(None), Base)
assert isinstance(Mapped(Data()), Mapped)
model = torch.nn.Linear(8, 8).cuda()
trainer = Trainer(model, Grouped(DataLoader(Data(), sampler=Forever(None), batch_size=None, num_workers=2)))
hook = Hook(Saver(model, "out"), 5000)
for iteration in range(90000):
    trainer.run_step()
    hook.after(iteration)
"""


def read(folder: Path) -> dict[str, Any]:
    (folder / "job.py").write_text(SOURCE)
    found = read_job(open_tree(folder), [], JobRequest(launch="torchrun --nproc-per-node 4 job.py"), [])
    assert not found.trace.faults and found.schedule is not None
    return found.schedule


def test_checkpoints_batches_and_metrics(tmp_path: Path) -> None:
    found = read(tmp_path)
    phases = {row["name"]: row for row in found["phases"]}
    assert (phases["checkpoint"]["kind"], phases["checkpoint"]["every"]["count"], phases["checkpoint"]["ranks"]) == ("periodic", 5000, "rank 0")
    assert phases["data"]["kind"] == "repeated"
    assert {row["hop"] for row in found["data_path"]} >= {"worker queue", "copy"}
    assert {row["phase"] for row in found["device_device"] if row["collective"] == "gather"} == {"logging"}
    assert not [row for row in found["unresolved"] if row["reason"] == "error"]
