"""Classes of the source that inherit from modelled ones of libraries."""

from __future__ import annotations

from pathlib import Path

from interpreted import NET, calls, job

SOURCE = NET + """
from torch.utils.data import DataLoader, Dataset
class Data(Dataset):
    def __len__(self):
        return 32
    def __getitem__(self, i):
        return torch.zeros(4), 0
class Base:
    def __iter__(self):
        ...
class Loader(DataLoader, Base):
    def __init__(self, data, size):
        super().__init__(data, batch_size=size, shuffle=True)
        self.tag = "train"
class Plain(DataLoader):
    pass
net = Net()
for kind in (Loader, ):
    loader = kind(Data(), 8)
    for x, y in loader:
        net(x)
for x, y in Plain(Data(), batch_size=loader.batch_size * 2):
    net(x)
"""


def test_a_loader_of_the_source_is_a_loader(tmp_path: Path) -> None:
    trace = job(tmp_path, {"main.py": SOURCE})
    shapes = [node.inputs[0][1].shape for node in calls(trace) if node.module.cls.name == "Net"]
    assert shapes == [(8, 4), (16, 4)]
