"""Batches that a job's own helpers move, and what is known of them afterwards."""

from __future__ import annotations

from pathlib import Path

from interpreted import NET, copied, events, job, record

from cgx.indexer.interpreter.trace import Event

STEP = """
model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
class Data(torch.utils.data.Dataset):
    def __len__(self): return 64
    def __getitem__(self, i): return {'x': torch.zeros(4), 'y': torch.zeros(1)}
for batch in torch.utils.data.DataLoader(Data(), batch_size=8):
    move(batch, device)
    model(batch['x']).sum().backward()
    optimizer.step()
    print(batch['y'])
"""


def moved_by(body: str, device: str = "device = 'cuda'\n") -> str:
    return NET + device + f"def move(batch, device):\n{body}" + STEP


def test_each_tensor_of_a_batch_lies_where_a_loop_over_its_names_puts_it(tmp_path: Path) -> None:
    for place, head in enumerate(("for k, v in batch.items():\n        batch[k] = v", "for k in batch:\n        batch[k] = batch[k]",
                                  "for k in list(batch.keys()):\n        batch[k] = batch[k]")):  # fmt: skip
        found = record(job(tmp_path / str(place), {"main.py": moved_by(f"    {head}.to(device)\n")}))
        assert [row["kind"] for row in found["host_device"]["syncs"] if row["phase"] == "logging"] == ["print"], head
        assert [row["repeat"] for row in found["host_device"]["copies"] if row["direction"] == "H2D" and row["phase"] == "data"] == [2], head


def test_what_stands_under_a_name_that_is_not_known_may_have_changed(tmp_path: Path) -> None:
    source = NET + "import elsewhere\ntable = {'x': torch.zeros(2, 4)}\ntable[elsewhere.name()] = torch.ones(2, 4).cuda()\nmodel = Net()\nmodel(table['x'].cuda())\n"
    assert copied(job(tmp_path, {"main.py": source})) == ["torch.ones(2, 4)"]  # not known whether the other one still lies on the host


def test_members_of_an_enum_run_its_constructor(tmp_path: Path) -> None:
    device = (
        "import enum\nclass Kind(enum.Enum):\n    CPU = ('cpu', 'gloo')\n    GPU = ('cuda', 'nccl')\n"
        "    def __init__(self, type, backend):\n        self.type, self.backend = type, backend\n"
        "device = torch.device(next(one for one in Kind if one.backend == 'nccl').type)\n"
    )
    found = record(job(tmp_path, {"main.py": moved_by("    for k, v in batch.items():\n        batch[k] = v.to(device)\n", device)}))
    assert [row["direction"] for row in found["host_device"]["copies"] if row["phase"] == "data"] == ["H2D"]


def test_a_tensor_that_goes_back_to_the_host_is_copied_once(tmp_path: Path) -> None:
    source = NET + "model = Net().cuda()\nfor step in range(9):\n    y = model(torch.zeros(2, 4, device='cuda'))\n    y.sum().backward()\n    print(y.detach().to('cpu').shape)\n"
    found = record(job(tmp_path, {"main.py": source}))
    assert [row["what"] for row in found["host_device"]["copies"] if row["direction"] == "D2H"] == ["y.detach()"]
    assert [row["kind"] for row in found["host_device"]["syncs"] if row["phase"] == "logging"] == ["cpu"]


def test_weights_that_are_cast_are_no_average(tmp_path: Path) -> None:
    source = NET + (
        "model = Net().cuda()\noptimizer = torch.optim.SGD(model.parameters(), 0.1)\nfor step in range(9):\n    model(torch.zeros(2, 4, device='cuda')).sum().backward()\n"
        "    optimizer.step()\n    for p in model.parameters():\n        p.data = p.data.to(torch.bfloat16)\n"
    )
    assert not [event for event in events(job(tmp_path, {"main.py": source}), "compute") if event.data.get("key") == "ema"]


def test_a_batch_of_a_class_of_its_own_comes_from_the_host(tmp_path: Path) -> None:
    source = (
        "import torch, zoo\nclass Nested:\n    def __init__(self, tensors):\n        self.tensors = tensors\n"
        "    def to(self, device):\n        return Nested(self.tensors.to(device))\n"
        "class Data:\n    def __len__(self):\n        return 8\n    def __getitem__(self, i):\n        return zoo.image(i)\n"
        "def collate(batch):\n    return Nested(torch.zeros((len(batch), 2), device=batch[0].device))\n"
        "for batch in torch.utils.data.DataLoader(Data(), collate_fn=collate, num_workers=2):\n    batch = batch.to('cuda')\n"
    )
    copies = [node.data["direction"] for node in job(tmp_path, {"main.py": source}).root.walk() if isinstance(node, Event) and node.kind == "copy"]
    assert copies == ["H2D"]


def test_what_a_collator_makes_of_samples_nobody_knows_lies_on_the_host(tmp_path: Path) -> None:
    source = NET + (
        "import corpus\nmodel = Net().cuda()\noptimizer = torch.optim.SGD(model.parameters(), 0.1)\n"
        "def collate(rows):\n    return {'x': torch.cat([one[0] for one in rows])}\n"
        "def moved(batch):\n    return {k: v.to('cuda') for k, v in batch.items()}\n"
        "for batch in torch.utils.data.DataLoader(corpus.load(), batch_size=4, collate_fn=collate):\n"
        "    model(moved(batch)['x']).sum().backward()\n    optimizer.step()\n"
    )
    found = record(job(tmp_path, {"main.py": source}))
    assert [(row["direction"], row["source"]) for row in found["host_device"]["copies"] if row["phase"] == "data"] == [("H2D", "pageable")]
