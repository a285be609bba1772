"""Small Fabric jobs: its loaders, strategies, precision, clipping, loggers and checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cgx.indexer.job import JobRequest, read_job
from cgx.indexer.source import open_tree

SCRIPT = """
import torch, torch.nn as nn
import lightning as L
from torch.distributed._composable.fsdp.fully_shard import fully_shard
from torch.utils.data import DataLoader, TensorDataset
from lightning.fabric.loggers import CSVLogger
from lightning.fabric.strategies import FSDPStrategy, ModelParallelStrategy

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
    def forward(self, x):
        return self.fc(x)

def parallelize(model, mesh):
    for block in model:
        fully_shard(block, mesh=mesh["data_parallel"])
    fully_shard(model, mesh=mesh["data_parallel"])
    return model

class Cycle:
    def __init__(self, loader):
        self.loader, self.it = loader, None
    def __next__(self):
        if self.it is None:
            self.it = iter(self.loader)
        try:
            return next(self.it)
        except StopIteration:
            self.it = iter(self.loader)
            return next(self.it)

def main(fabric):
    with fabric.init_module(empty_init=True):
        model = nn.Sequential(Block(), Block())
    model = fabric.setup_module(model)
    optimizer = fabric.setup_optimizers(torch.optim.SGD(model.parameters(), lr=0.1))
    loader = fabric.setup_dataloaders(DataLoader(TensorDataset(torch.zeros(800, 4)), batch_size=2, shuffle=True))
    batches, step = Cycle(loader), 0
    while step < 100:
        (x,) = next(batches)
        loss = model(x).sum()
        fabric.backward(loss)
        fabric.clip_gradients(model, optimizer, max_norm=1.0)
        optimizer.step()
        optimizer.zero_grad()
        step += 1
        if step % 10 == 0:
            fabric.log_dict({"loss": loss})
        if step % 50 == 0:
            fabric.save("last.ckpt", {"model": model})

fabric = L.Fabric(devices=2, strategy=%STRATEGY%, precision="%PRECISION%"%LOGGERS%)
fabric.launch(main)
"""


LOGS = ', loggers=CSVLogger("logs")'
PARALLEL = "ModelParallelStrategy(parallelize_fn=parallelize, data_parallel_size=2, tensor_parallel_size=1)"
UNITS = "FSDPStrategy(auto_wrap_policy={Block}, state_dict_type='full')"


def read(folder: Path, strategy: str = "'ddp'", precision: str = "32-true", loggers: str = "") -> dict[str, Any]:
    source = SCRIPT.replace("%STRATEGY%", strategy).replace("%PRECISION%", precision).replace("%LOGGERS%", loggers)
    (folder / "main.py").write_text(source)
    found = read_job(open_tree(folder), [], JobRequest(launch="python main.py"), [])
    assert found.schedule is not None
    return found.schedule


def rows(record: dict[str, Any], key: str, **fields: Any) -> list[dict[str, Any]]:
    return [row for row in record[key] if all(row.get(name) == value for name, value in fields.items())]


def test_ddp_shares_the_loader_and_looks_at_the_norm(tmp_path: Path) -> None:
    found = read(tmp_path)
    assert rows(found, "data_path", hop="sample")[0]["by"] == "torch.utils.data.distributed.DistributedSampler"
    (batch,) = rows(found["host_device"], "copies", phase="data")
    assert (batch["what"], batch["non_blocking"], batch["frequency"]) == ("batch[0]", True, {"per": "step"})
    assert [row["kind"] for row in rows(found["host_device"], "syncs", phase="optimizer")] == [
        "branch"
    ]  # error_if_nonfinite=True
    assert not rows(found["host_device"], "syncs", phase="logging")  # nobody to log to
    assert [row["ranks"] for row in rows(found["host_device"], "copies", phase="checkpoint")] == ["rank 0"]
    assert [(row["collective"], row["ranks"]) for row in rows(found, "device_device", phase="checkpoint")] == [
        ("barrier", "all")
    ]


def test_rank_0_goes_first_with_a_barrier(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(
        "import lightning as L\nimport torch\nfabric = L.Fabric()\nwith fabric.rank_zero_first():\n    rows = torch.zeros(8, 4)\n"
        "fabric.setup(torch.nn.Linear(4, 4))(rows.cuda())\n"
    )
    found = read_job(open_tree(tmp_path), [], JobRequest(launch="fabric run main.py --accelerator=cuda --devices=2"), [])
    assert found.schedule is not None
    assert [row["code_anchor"] for row in rows(found.schedule, "device_device", collective="barrier")] == ["main.py:<module>:4"]


def test_a_logger_reads_on_rank_0(tmp_path: Path) -> None:
    (row,) = rows(read(tmp_path, loggers=LOGS)["host_device"], "syncs", phase="logging")
    assert (row["ranks"], row["frequency"]["every"]) == ("rank 0", 10)


@pytest.mark.parametrize(("strategy", "by"), [(PARALLEL, "fully_shard"), (UNITS, "FullyShardedDataParallel")])
def test_sharded_units_gather_and_scatter(tmp_path: Path, strategy: str, by: str) -> None:
    found = read(tmp_path, strategy)
    sent = [
        (row["collective"], row["phase"], row["repeat"])
        for row in rows(found, "device_device", issued_by=by)
        if row["phase"] != "optimizer"
    ]
    assert sent == [("all_gather", "forward", 2), ("all_gather", "backward", 2), ("reduce_scatter", "backward", 2)]
    assert not rows(found["host_device"], "copies", phase="startup")  # made on meta
    assert [row["collective"] for row in rows(found, "device_device", phase="optimizer")] == [
        "all_reduce"
    ]  # of the norm


def test_who_writes_a_sharded_model(tmp_path: Path) -> None:
    assert [row["ranks"] for row in rows(read(tmp_path, PARALLEL)["host_device"], "copies", phase="checkpoint")] == [
        "all"
    ]
    whole = read(tmp_path, UNITS)
    assert [row["ranks"] for row in rows(whole["host_device"], "copies", phase="checkpoint")] == ["rank 0"]
    assert [row["collective"] for row in rows(whole, "device_device", phase="checkpoint")] == ["all_gather", "barrier"]


def test_precision_of_a_sharded_model(tmp_path: Path) -> None:
    rows_of = read(tmp_path, UNITS, "bf16-true")["compute"]["precision"]
    assert {(row["value"], row["how"]) for row in rows_of} == {
        ("bfloat16", "parameters and inputs"),
        ("bfloat16", "mixed precision policy"),
    }


def test_what_goes_backward_is_a_number_on_the_device(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(
        "import lightning as L\nimport torch\nimport torch.nn.functional as F\nfrom elsewhere import rows\n"
        "from lightning.pytorch.utilities.model_helpers import get_torchvision_model\nfabric = L.Fabric(accelerator='cuda', devices=1)\n"
        "model = get_torchvision_model('resnet18')\noptimizer = torch.optim.SGD(model.parameters(), 0.1)\n"
        "model, optimizer = fabric.setup(model, optimizer)\nfor x, y in rows:\n    loss = F.cross_entropy(model(x), y)\n    fabric.backward(loss)\n"
        "    optimizer.step()\n    print(loss.item())\n"
    )
    found = read_job(open_tree(tmp_path), [], JobRequest(launch="python main.py"), [])
    assert found.schedule is not None
    assert [row["code_anchor"] for row in found.schedule["host_device"]["syncs"] if row["kind"] == "item"] == ["main.py:<module>:14"]
    assert found.schedule["compute"]["forward"]["code_anchor"] == "main.py:<module>:11"


def test_a_sampler_of_some_rows_is_shared_among_the_ranks(tmp_path: Path) -> None:
    for place, (rows_taken, count) in enumerate((("list(range(320))", 10), ("chosen.rows()", None))):
        folder = tmp_path / str(place)
        folder.mkdir()
        (folder / "main.py").write_text(
            "import chosen\nimport lightning as L\nimport torch\nfrom torch.utils.data import DataLoader, SubsetRandomSampler, TensorDataset\n"
            "fabric = L.Fabric()\nmodel = torch.nn.Linear(4, 4)\noptimizer = torch.optim.SGD(model.parameters(), 0.1)\nmodel, optimizer = fabric.setup(model, optimizer)\n"
            f"loader = DataLoader(TensorDataset(torch.zeros(640, 4)), batch_size=16, sampler=SubsetRandomSampler({rows_taken}))\n"
            "loader = fabric.setup_dataloaders(loader)\nfor (x,) in loader:\n    fabric.backward(model(x).sum())\n    optimizer.step()\n"
        )
        found = read_job(open_tree(folder), [], JobRequest(launch="fabric run --devices=2 --accelerator=cuda main.py"), [])
        assert found.schedule is not None
        assert [row["count"] for row in found.schedule["loops"]] == [count]
