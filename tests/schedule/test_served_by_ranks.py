"""Engines whose own process is one rank of several, the others being its children."""

from __future__ import annotations

from pathlib import Path

from serving_jobs import NET, brief, served

RUNNER = NET + """    def forward(self, x):
        y = self.b(self.a(x))
        if torch.distributed.get_world_size() > 1:
            torch.distributed.all_reduce(y)
        return y
import multiprocessing as mp
class Runner:
    def __init__(self, size, rank, event):
        self.size, self.rank, self.event = size, rank, event
        torch.distributed.init_process_group("nccl", "tcp://localhost:2333", world_size=size, rank=rank)
        self.net = Net().cuda()
        if rank > 0:
            self.loop()
    def loop(self):
        while True:
            self.event.wait()
    def prepare_prefill(self, rows):
        return torch.tensor(rows, pin_memory=True).cuda(non_blocking=True)
    def prepare_decode(self, rows):
        return torch.tensor(rows[-1:], pin_memory=True).cuda(non_blocking=True)
    def run(self, rows, is_prefill):
        x = self.prepare_prefill(rows) if is_prefill else self.prepare_decode(rows)
        heat = torch.ones(1, pin_memory=True).cuda(non_blocking=True) if self.rank == 0 else None
        logits = self.net(x)
        if self.rank > 0:
            logits = None
        return (logits / heat).argmax(-1).tolist() if self.rank == 0 else None
class Engine:
    def __init__(self, size):
        self.workers = []
        for rank in range(1, size):
            process = mp.get_context("spawn").Process(target=Runner, args=(size, rank, mp.get_context("spawn").Event()))
            process.start()
            self.workers.append(process)
        self.runner = Runner(size, 0, self.workers)
    def step(self):
        rows, is_prefill = self.schedule()
        self.postprocess(self.runner.run(rows, is_prefill))
    def schedule(self):
        return [[float(one) for one in input().split()]], bool(input())
    def postprocess(self, tokens):
        self.last = tokens
    def generate(self):
        while input():
            self.step()
"""


def test_the_process_that_starts_the_others_is_the_first_rank(tmp_path: Path) -> None:
    found = served(tmp_path, RUNNER + "Engine(2).generate()\n")
    assert {row["ranks"] for row in found.rows["device_device"]} == {"all"}
    syncs = [row for row in found.rows["host_device"]["syncs"] if row["phase"] != "startup"]
    assert brief(syncs, "kind", "phase", "ranks") == [("tolist", "sample", "rank 0")]
    heat = next(row for row in found.rows["host_device"]["copies"] if row["what"].startswith("torch.ones"))
    assert (heat["ranks"], heat["source"]) == ("rank 0", "pinned")


def test_without_children_it_is_alone(tmp_path: Path) -> None:
    found = served(tmp_path, RUNNER + "Engine(1).generate()\n")
    assert found.rows["device_device"] == []
    assert {row["ranks"] for row in found.rows["host_device"]["syncs"]} == {"all"}


def test_one_call_of_the_model_serves_prefill_and_decode(tmp_path: Path) -> None:
    found = served(tmp_path, RUNNER + "Engine(2).generate()\n")
    assert brief(found.rows["device_device"], "collective", "phase", "frequency") == [
        ("all_reduce", "prefill", {"per": "step"}),
        ("all_reduce", "decode", {"per": "token"}),
    ]
    assert brief(found.rows["compute"]["forward"], "value", "phase") == [("Net.forward", "prefill"), ("Net.forward", "decode")]


NESTED = NET + """    def forward(self, x):
        return self.b(self.a(x))
import multiprocessing as mp
def hold(rank, size):
    torch.distributed.init_process_group("nccl", rank=rank, world_size=size)
    net = Net().cuda()
    while True:
        x = torch.tensor([float(one) for one in input().split()], device="cuda")
        torch.distributed.all_reduce(x)
        print(net(x).argmax(-1).tolist())
def route():
    for rank in range(2):
        mp.Process(target=hold, args=(rank, 2)).start()
    while True:
        input()
mp.Process(target=route).start()
"""


def test_processes_that_a_started_one_starts_hold_the_model(tmp_path: Path) -> None:
    found = served(tmp_path, NESTED)
    assert brief(found.rows["device_device"], "collective", "ranks") == [("all_reduce", "all")]
    assert found.rows["compute"]["forward"]["value"] == "Net.forward"
