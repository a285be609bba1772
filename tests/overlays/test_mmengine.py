"""mmengine's Runner where its source is not given: loops, hooks, wrappers, validation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cgx.indexer.interpreter.interp import Options
from cgx.indexer.interpreter.run import run_job
from cgx.indexer.launch.line import parse_launch
from cgx.indexer.passes.schedule.build import build
from cgx.indexer.source import open_tree

JOB = """
import torch, torch.nn as nn, torch.nn.functional as F
from mmengine.evaluator import BaseMetric
from mmengine.model import BaseModel
from mmengine.registry import MODELS
from mmengine.runner import Runner
@MODELS.register_module()
class Net(BaseModel):
    def __init__(self, width=4):
        super().__init__()
        self.fc = nn.Linear(width, 2)
    def forward(self, x, labels, mode):
        x = self.fc(x)
        if mode == 'loss':
            return {{'loss_a': F.cross_entropy(x, labels), 'loss_b': x.mean()}}
        return x, labels
class Accuracy(BaseMetric):
    def process(self, data_batch, data_samples):
        score, gt = data_samples
        self.results.append((score.argmax(dim=1) == gt).sum().cpu())
class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 640
    def __getitem__(self, index):
        return torch.zeros(4), 1
def loader():
    return dict(batch_size=32, num_workers=2, dataset=Data(), sampler=dict(type='DefaultSampler', shuffle=True), collate_fn=dict(type='default_collate'))
cfg = dict(model=dict(type='Net', width=4), work_dir='w', train_dataloader=loader(), train_cfg={train}, val_dataloader=loader(), val_cfg=dict(),
           val_evaluator=dict(type=Accuracy), optim_wrapper={wrapper}, default_hooks=dict(logger=dict(type='LoggerHook', interval=5)), launcher='pytorch')
Runner.from_cfg(cfg).train()
"""
EPOCHS, PLAIN = "dict(by_epoch=True, max_epochs=3, val_interval=2)", "dict(optimizer=dict(type='SGD', lr=0.1))"


def rows(folder: Path, train: str = EPOCHS, wrapper: str = PLAIN, processes: int = 2) -> dict[str, Any]:
    (folder / "main.py").write_text(JOB.format(train=train, wrapper=wrapper))
    tree = open_tree(str(folder))
    trace = run_job(tree, [], parse_launch(f"torchrun --nproc_per_node={processes} main.py", tree), Options())
    assert not trace.faults
    return build(trace, tree).rows


def test_epochs(tmp_path: Path) -> None:
    found = rows(tmp_path)
    assert [(row["unit"], row["count"]) for row in found["loops"]] == [("epoch", 3), ("step", 10), ("evaluation batch", 10)]
    phases = {row["name"]: row for row in found["phases"]}
    assert phases["logging"]["every"]["count"] == 5 and phases["checkpoint"]["ranks"] == "rank 0"
    assert phases["evaluation"]["every"] == {"count": 2, "unit": "epoch", "guard": "epoch % 2 == 0"} and phases["evaluation"]["repeat"] == 10
    reads = [row for row in found["host_device"]["syncs"] if row["what"] == "log_vars"]
    assert [(row["kind"], row["repeat"], row["frequency"]["per"]) for row in reads] == [("item", 3, "step")]  # their sum, and each of both
    moved = [row for row in found["host_device"]["copies"] if row["phase"] == "data"]
    assert [(row["source"], row["blocks_host"]) for row in moved] == [("pageable", True)] * 2  # not pinned unless asked for
    assert any(row["kind"] == "cpu" and row["code_anchor"].startswith("main.py:Accuracy.process") for row in found["host_device"]["syncs"])


def test_the_wrapper_broadcasts_no_buffers(tmp_path: Path) -> None:
    sent = [(row["collective"], row["phase"]) for row in rows(tmp_path)["device_device"]]
    assert ("all_reduce", "backward") in sent and ("broadcast", "forward") not in sent
    assert {("broadcast", "evaluation"), ("barrier", "evaluation")} <= set(sent)


def test_mixed_precision_accumulation_and_clipping(tmp_path: Path) -> None:
    wrapper = "dict(type='AmpOptimWrapper', accumulative_counts=4, clip_grad=dict(max_norm=35), optimizer=dict(type='AdamW', lr=1e-3))"
    found = rows(tmp_path, wrapper=wrapper)
    assert found["compute"]["gradient_accumulation"]["value"] == 4
    assert found["compute"]["precision"]["value"] == "float16" and found["compute"]["grad_clip"]["value"] == 35
    kinds = {(row["kind"], row["phase"]) for row in found["host_device"]["syncs"] if row["frequency"]["per"] == "step"}
    assert {("item", "optimizer"), ("conversion", "optimizer")} & kinds == {("item", "optimizer")} or ("conversion", "logging") in kinds
    (sent,) = [row for row in found["device_device"] if row["phase"] == "backward"]
    assert sent["frequency"]["per"] == "step"


def test_iterations_and_one_process(tmp_path: Path) -> None:
    found = rows(tmp_path, train="dict(type='IterBasedTrainLoop', max_iters=900, val_interval=300)", processes=1)
    assert [(row["unit"], row["count"]) for row in found["loops"]] == [("step", 900), ("evaluation batch", 20)]
    assert not found["device_device"]
    assert {row["name"]: row for row in found["phases"]}["evaluation"]["every"]["count"] == 300
