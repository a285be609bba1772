"""A Fabric job is followed by the table, not by what the machine would have."""

from __future__ import annotations

from pathlib import Path

from interpreted import calls, job

from cgx.indexer.interpreter.trace import Event

SOURCE = """
import torch, torch.nn as nn
import lightning as L
from torch.utils.data import DataLoader, TensorDataset
fabric = L.Fabric(accelerator="cuda", devices={devices}, precision="bf16-mixed")
def main(fabric):
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer = fabric.setup(model, optimizer)
    loader = fabric.setup_dataloaders(DataLoader(TensorDataset(torch.zeros(8, 4)), batch_size=2))
    for (x,) in loader:
        loss = model(x).sum()
        fabric.backward(loss)
        optimizer.step()
fabric.launch(main)
"""


def test_setup_moves_and_puts_autocast_round_the_forward(tmp_path: Path) -> None:
    trace = job(tmp_path, {"main.py": SOURCE.replace("{devices}", "1")})
    (call,) = calls(trace)
    assert [name for name, _ in call.module.wrappers] == ["_FabricModule"]
    assert (call.inputs[0][1].device, call.outputs[0][1].dtype, call.autocast) == ("cuda", "bfloat16", "bfloat16")


def test_a_number_of_devices_is_a_number_of_processes(tmp_path: Path) -> None:
    trace = job(tmp_path, {"main.py": SOURCE.replace("{devices}", "4")})
    assert trace.world_size == 4
    assert "DistributedDataParallel" in [name for name, _ in next(calls(trace)).module.wrappers]


def test_shards_keep_the_parameters_that_the_optimizer_was_given(tmp_path: Path) -> None:
    source = """
import torch, torch.nn as nn
from lightning import Fabric
from lightning.fabric.strategies import FSDPStrategy
fabric = Fabric(devices=4, strategy=FSDPStrategy())
fabric.launch()
with fabric.init_module(empty_init=True):
    net = nn.Linear(4, 2)
net = fabric.setup(net)
optimizer = fabric.setup_optimizers(torch.optim.AdamW(net.parameters()))
"""
    made = [node.data for node in job(tmp_path, {"main.py": source}).root.walk() if isinstance(node, Event) and node.data.get("key") == "optimizer"]
    assert [one["implementation"] for one in made] == ["foreach"]
