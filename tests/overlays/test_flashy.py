"""A solver of flashy, read without its source: stages, progress, averages and what is gathered over the ranks."""

from __future__ import annotations

from pathlib import Path

from cgx.indexer.job import JobRequest, read_job
from cgx.indexer.source import open_tree

SOURCE = """
import flashy, torch
import torch.distributed as dist
from torch.utils.data import TensorDataset

class Solver(flashy.BaseSolver):
    def __init__(self):
        super().__init__()
        self.model = torch.nn.Linear(4, 4).cuda()
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.1)
        self.loader = flashy.distrib.loader(TensorDataset(torch.zeros(640, 4)), batch_size=16, shuffle=True, num_workers=2)
        self.register_stateful("model", "optimizer")

    def train(self):
        average = flashy.averager()
        progress = self.log_progress("train", self.loader, updates=4)
        for index, (rows,) in enumerate(progress):
            loss = self.model(rows.cuda()).sum()
            loss.backward()
            flashy.distrib.sync_model(self.model)
            self.optimizer.step()
            metrics = average({"loss": loss})
            progress.update(**metrics)
        return flashy.distrib.average_metrics(metrics, len(self.loader))

    def run(self):
        self.restore()
        for epoch in range(self.epoch, 11):
            self.run_stage("train", self.train)
            self.commit()

dist.init_process_group("nccl")
Solver().run()
"""


def test_a_solver_trains_in_stages(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(SOURCE)
    found = read_job(open_tree(tmp_path), [], JobRequest(launch="torchrun --nproc-per-node 2 job.py"), [])
    record = found.schedule
    assert record is not None and not found.trace.faults
    line = 1 + SOURCE.splitlines().index("        for index, (rows,) in enumerate(progress):")
    assert [(row["unit"], row["count"]) for row in record["loops"]][:2] == [("epoch", 10), ("step", 20)]
    assert record["loops"][1]["code_anchor"] == f"job.py:Solver.train:{line}"
    kinds = {row["kind"]: row for row in record["host_device"]["syncs"] if row["phase"] == "logging" and row["frequency"]["per"] == "step"}
    assert kinds["conversion"]["code_anchor"] == f"job.py:Solver.train:{line + 5}"
    sent = {(row["collective"], row["phase"]) for row in record["device_device"]}
    assert ("all_reduce", "logging") in sent and len({row["code_anchor"] for row in record["device_device"]}) > 1
    assert all(not str(row["code_anchor"]).startswith("cgx") for row in [*record["device_device"], *record["data_path"]])
    assert "cgx:" not in str(record)
    assert [row["ranks"] for row in record["phases"] if row["name"] == "checkpoint"] == ["rank 0"]
    assert {row["name"] for row in record["phases"]} >= {"data", "forward", "backward", "optimizer", "checkpoint"}


def test_an_object_is_sent_as_its_size_and_its_bytes(tmp_path: Path) -> None:
    source = "import flashy, torch\nimport torch.distributed as dist\ndist.init_process_group('nccl')\nname = flashy.distrib.broadcast_object('run')\ntorch.nn.Linear(2, 2)(torch.ones(2))\n"
    (tmp_path / "job.py").write_text(source)
    record = read_job(open_tree(tmp_path), [], JobRequest(launch="torchrun --nproc-per-node 2 job.py"), []).schedule
    assert record is not None
    assert [(row["collective"], row["repeat"], row["code_anchor"]) for row in record["device_device"]] == [("broadcast", 2, "job.py:<module>:4")]
    assert [(row["kind"], row["ranks"]) for row in record["host_device"]["syncs"]] == [
        ("item", "not (rank() == src)"),
        ("cpu", "all"),
        ("other", "rank 0"),
    ]
