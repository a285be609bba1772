"""A trainer of MosaicML Composer and a registry of catalogue, read without their source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cgx.indexer.job import JobRequest, read_job
from cgx.indexer.source import open_tree

SOURCE = """
import catalogue, torch
from composer import Callback, Trainer
from composer.algorithms import GradientClipping
from composer.models import ComposerModel
from composer.optim import CosineAnnealingWithWarmupScheduler, DecoupledAdamW
from composer.utils import dist
from torch.utils.data import DataLoader, TensorDataset

optimizers = catalogue.create("job", "optimizers", entry_points=True)
optimizers.register("adamw", func=DecoupledAdamW)

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 4)
    def forward(self, x):
        return self.fc(x)

class Inner(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList(Block() for _ in range(3))
    def fsdp_wrap_fn(self, module):
        return isinstance(module, Block)
    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x

class Model(ComposerModel):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
    def forward(self, batch):
        return self.inner(batch[0])
    def loss(self, outputs, batch):
        return torch.nn.functional.mse_loss(outputs, batch[1])

class Told(Callback):
    def batch_end(self, state, logger):
        print(state.loss)

data = TensorDataset(torch.zeros(640, 4), torch.zeros(640, 4))
dist.initialize_dist("gpu")
rows = DataLoader(data, batch_size=16, sampler=dist.get_sampler(data, shuffle=True), num_workers=2)
model = Model()
trainer = Trainer(
    model=model, train_dataloader=rows, eval_dataloader=rows, optimizers=optimizers.get("adamw")(model.parameters(), lr=0.1),
    schedulers=CosineAnnealingWithWarmupScheduler(t_warmup="10ba"), max_duration="100ba", eval_interval="20ba", callbacks=[Told()],
    algorithms=[GradientClipping("norm", 1.0)], precision="amp_bf16", device_train_microbatch_size=8, parallelism_config=PARALLEL,
)
trainer.fit()
"""


def read(folder: Path, parallel: str) -> dict[str, Any]:
    (folder / "job.py").write_text(SOURCE.replace("PARALLEL", parallel))
    found = read_job(open_tree(folder), [], JobRequest(launch="composer -n 2 job.py"), [])
    assert found.schedule is not None and not found.trace.faults
    assert "cgx:" not in str(found.schedule)
    return found.schedule


def test_a_step_has_its_microbatches_evaluations_and_callbacks(tmp_path: Path) -> None:
    record = read(tmp_path, "None")
    fit = f"job.py:<module>:{1 + SOURCE.splitlines().index('trainer.fit()')}"
    assert {row["code_anchor"] for row in record["loops"]} == {fit}
    loops = {row["unit"]: row["count"] for row in record["loops"]}
    assert loops["step"] == 100 and loops["micro-step"] == 2
    phases = {row["name"]: row for row in record["phases"]}
    assert phases["evaluation"]["every"]["count"] == 20 and phases["forward"]["repeat"] == 2
    assert record["compute"]["gradient_accumulation"]["value"] == 2
    assert record["compute"]["grad_clip"]["value"] == 1.0
    sent = {(row["collective"], row["issued_by"], row["phase"]) for row in record["device_device"]}
    assert {("broadcast", "DistributedDataParallel", "startup"), ("all_reduce", "DistributedDataParallel", "backward")} <= sent
    prints = [row for row in record["host_device"]["syncs"] if row["kind"] == "print"]
    assert [row["code_anchor"] for row in prints] == [f"job.py:Told.batch_end:{1 + SOURCE.splitlines().index('        print(state.loss)')}"]


def test_shards_are_units_of_the_models_children(tmp_path: Path) -> None:
    record = read(tmp_path, "{'fsdp': {'sharding_strategy': 'FULL_SHARD', 'mixed_precision': 'PURE'}}")
    kinds = {(row["collective"], row["phase"]) for row in record["device_device"] if row["issued_by"] == "FullyShardedDataParallel"}
    assert {("all_gather", "forward"), ("all_gather", "backward"), ("reduce_scatter", "backward")} <= kinds
    assert record["compute"]["grad_clip"]["value"] == 1.0


WRAPPED = """
import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp.wrap import CustomPolicy
def policy(module, recurse, nonwrapped_numel):
    return True if recurse else isinstance(module, torch.nn.Linear)
torch.distributed.init_process_group("nccl")
net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 4))
model = FSDP(net, auto_wrap_policy=POLICY, device_id=0)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(9):
    model(torch.zeros(2, 4, device="cuda")).sum().backward()
    optimizer.step()
"""


def test_units_that_a_function_picks(tmp_path: Path) -> None:
    for place, policy in enumerate(("policy", "CustomPolicy(lambda module: isinstance(module, torch.nn.Linear))")):
        folder = tmp_path / str(place)
        folder.mkdir()
        (folder / "job.py").write_text(WRAPPED.replace("POLICY", policy))
        record = read_job(open_tree(folder), [], JobRequest(launch="torchrun --nproc-per-node 2 job.py"), []).schedule
        assert record is not None
        sent = [row["repeat"] for row in record["device_device"] if (row["collective"], row["phase"]) == ("reduce_scatter", "backward")]
        assert sent == [2], policy
