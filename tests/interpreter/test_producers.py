"""Loaders that a job writes itself, with a process or a thread and a queue."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from interpreted import NET, called, job, record

READ = """
import contextlib, functools, json, threading, queue as queues
import multiprocessing as mp
class Words:
    def encode(self, text): return [ord(c) for c in text]
def read(path):
    with open(path) as file:
        while line := file.readline():
            yield json.loads(line)
def tokens(rows, words):
    for row in rows:
        yield torch.tensor(words.encode(row['text']))
"""
STEP = """
model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
{take}
    model(batch.cuda()).sum().backward()
    optimizer.step()
"""
PROCESS = """
def feed(queue, stop, build):
    with build() as rows:
        for row in rows:
            while not stop.is_set():
                try:
                    queue.put(row, timeout=0.1)
                    break
                except queues.Full:
                    pass
@contextlib.contextmanager
def stream(path):
    yield tokens(read(path), Words())
def consume(producer, queue):
    while producer.exitcode is None:
        try:
            yield queue.get(timeout=0.1)
        except queues.Empty:
            pass
    raise RuntimeError('over')
queue, stop = mp.Queue(maxsize=8), mp.Event()
producer = mp.Process(target=feed, args=(queue, stop, functools.partial(stream, 'data.jsonl')))
producer.start()
rows = consume(producer, queue)
"""
THREAD = """
def ahead(rows, size):
    queue, end = queues.Queue(maxsize=size), object()
    def fill():
        try:
            for row in rows:
                queue.put(row)
        finally:
            queue.put(end)
    threading.Thread(target=fill, daemon=True).start()
    for row in iter(queue.get, end):
        yield row
"""


def data_path(tmp_path: Path, source: str) -> tuple[list[Any], list[str]]:
    found = record(job(tmp_path, {"main.py": NET + READ + source}))
    hops = [(row["hop"], row["by"].rpartition(".")[2], row["workers"], row["blocks_step"]) for row in found["data_path"]]
    return hops, [row["mechanism"] for row in found["overlap"]]


def test_a_process_that_fills_a_queue_is_the_loader(tmp_path: Path) -> None:
    hops, overlap = data_path(tmp_path, PROCESS + STEP.format(take="for step in range(9):\n    batch = next(rows)"))
    assert [(hop[0], *hop[2:]) for hop in hops] == [("read", 1, False), ("transform", 1, False), ("prefetch", 1, False), ("copy", 0, True)]
    assert overlap == ["worker processes"]


def test_a_thread_that_reads_ahead_is_one_too(tmp_path: Path) -> None:
    hops, overlap = data_path(tmp_path, THREAD + STEP.format(take="for batch in ahead(tokens(read('data.jsonl'), Words()), 4):"))
    assert [(hop[0], hop[2]) for hop in hops] == [("read", 1), ("transform", 1), ("prefetch", 1), ("copy", 0)]
    assert overlap == ["prefetch thread"]


def test_a_process_that_runs_the_model_makes_no_batches(tmp_path: Path) -> None:
    source = (
        "def work(asked, answers):\n    model = Net().cuda()\n    while True:\n        answers.put(model(torch.zeros(2, 4).cuda()).cpu())\n"
        "asked, answers = mp.Queue(), mp.Queue()\nmp.Process(target=work, args=(asked, answers)).start()\nfor i in range(9):\n    asked.put(i)\n    print(answers.get())\n"
    )
    trace = job(tmp_path, {"main.py": NET + READ + source})
    assert called(trace) == ["Net", "Linear"]
    assert all(row["hop"] != "prefetch" for row in record(trace)["data_path"])


def test_a_probe_every_so_many_steps_is_not_what_gathers_the_parameters(tmp_path: Path) -> None:
    source = NET + (
        "from torch.distributed.fsdp import fully_shard\ntorch.distributed.init_process_group('nccl')\nmodel = Net().cuda()\nfully_shard(model.fc)\nfully_shard(model)\n"
        "optimizer = torch.optim.SGD(model.parameters(), 0.1)\nfor step in range(100):\n    if step % 20 == 0:\n        assert next(model.parameters()).grad is None\n"
        "        model(torch.zeros(2, 4, device='cuda')).sum().backward()\n        optimizer.zero_grad()\n"
        "    model(torch.zeros(2, 4, device='cuda')).sum().backward()\n    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0).item()\n    optimizer.step()\n"
        "    optimizer.zero_grad()\n"
    )
    found = record(job(tmp_path, {"main.py": source}, "torchrun --nproc-per-node 2 main.py"))
    assert {row["frequency"].get("every") for row in found["device_device"] if row["issued_by"] == "fully_shard"} == {None}
    assert [row["phase"] for row in found["host_device"]["syncs"] if row["kind"] == "item"] == ["optimizer"]
    assert len(found["compute"]["forward"]) == 2


def test_what_is_evaluated_once_before_the_first_epoch_is_a_phase_of_its_own(tmp_path: Path) -> None:
    source = NET + (
        "model = Net().cuda()\noptimizer = torch.optim.SGD(model.parameters(), 0.1)\ndef evaluate():\n    model.eval()\n    with torch.no_grad():\n"
        "        for i in range(3):\n            print(model(torch.zeros(2, 4, device='cuda')).sum().item())\n    model.train()\n"
        "evaluate()\nfor epoch in range(3):\n    for step in range(9):\n        model(torch.zeros(2, 4, device='cuda')).sum().backward()\n        optimizer.step()\n    evaluate()\n"
    )
    found = record(job(tmp_path, {"main.py": source}))
    assert [row["kind"] for row in found["phases"] if row["name"] == "evaluation"] == ["one-off", "periodic"]
