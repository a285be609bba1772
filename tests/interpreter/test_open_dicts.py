"""Dicts that a loop over unknown names fills with tensors, and loaders whose ``__iter__`` is a generator."""

from __future__ import annotations

from pathlib import Path

from interpreted import called, job, ops, reasons

from cgx.indexer.job import JobRequest, read_job
from cgx.indexer.source import open_tree

SOURCE = """
import torch, features
from torch.utils.data import DataLoader, Dataset

class Data(Dataset):
    def __len__(self):
        return 100
    def __getitem__(self, index):
        return features.of(index)

def mapped(function, tree):
    if isinstance(tree, dict):
        made = {}
        for key, value in tree.items():
            made[key] = mapped(function, value)
        return made
    elif isinstance(tree, torch.Tensor):
        return function(tree)
    raise ValueError("neither")

def collate(rows):
    first = rows[0]
    return {key: torch.stack([row[key] for row in rows]) for key in first.keys()}

class Loader(DataLoader):
    def __iter__(self):
        held = super().__iter__()
        def rounds():
            for batch in held:
                batch["turns"] = torch.tensor(3)
                yield mapped(lambda one: one[..., :4], batch)
        return rounds()

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 4)
    def forward(self, letters, mask, other=None):
        return self.fc(letters) * mask

net = Net().cuda()
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for batch in Loader(Data(), batch_size=2, num_workers=4, collate_fn=collate):
    batch = mapped(lambda one: one.cuda(), batch)
    loss = net(**batch).sum()
    loss.backward()
    optimizer.step()
    print(batch["weight"].sum().item())
"""


def test_a_tensor_stands_for_names_that_are_not_known(tmp_path: Path) -> None:
    trace = job(tmp_path, {"main.py": SOURCE})
    assert "error" not in reasons(trace).values()
    assert ops(trace)[-5:] == ["linear", "mul", "sum", "sum", "item"]
    assert called(trace) == ["Net", "Linear"]


def test_the_loop_stands_where_its_body_does(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(SOURCE)
    found = read_job(open_tree(tmp_path), [], JobRequest(launch="python main.py"), []).schedule
    assert found is not None
    line = 1 + SOURCE.splitlines().index("for batch in Loader(Data(), batch_size=2, num_workers=4, collate_fn=collate):")
    assert [(row["unit"], row["count"], row["code_anchor"]) for row in found["loops"]] == [("step", 50, f"main.py:<module>:{line}")]
    (copy,) = [row for row in found["host_device"]["copies"] if row["phase"] == "data"]
    assert (copy["direction"], copy["source"], copy["code_anchor"]) == ("H2D", "pageable", f"main.py:<module>:{line + 1}")
    assert [row["what"] for row in found["host_device"]["syncs"] if row["kind"] == "item"] == ['batch["weight"].sum().item()']
