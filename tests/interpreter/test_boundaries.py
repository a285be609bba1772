"""Which tensors stand on a module's boundary: those of containers and records, not what other objects hold."""

from __future__ import annotations

from pathlib import Path

from interpreted import build, calls

SOURCE = """
import collections, dataclasses, torch
from typing import NamedTuple
from torch import nn
class Nested:
    def __init__(self, tensors, mask):
        self.tensors, self.mask = tensors, mask
class Pair(NamedTuple):
    a: torch.Tensor
    b: torch.Tensor
class Output(collections.OrderedDict):
    pass
@dataclasses.dataclass
class Record:
    a: torch.Tensor
    more: dict
    nested: Nested
class ToObject(nn.Module):
    def forward(self, x):
        return Nested(x.sin(), x.cos())
class ToPair(nn.Module):
    def forward(self, nested):
        return Pair(nested.tensors.sin(), nested.mask.abs())
class ToRecord(nn.Module):
    def forward(self, pair):
        return Record(pair.a + 1, {"k": pair.b}, Nested(pair.a, pair.b))
class ToDict(nn.Module):
    def forward(self, record):
        output = Output()
        output["x"] = record.a * 2
        return output
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.Sequential(ToObject(), ToPair(), ToRecord(), ToDict())
    def forward(self, x):
        return self.parts(x)
"""


def test_tensors_of_containers_and_records_alone(tmp_path: Path) -> None:
    trace = build(tmp_path, {"net.py": SOURCE}, "net:Net()", ["x=float32[2,4]"])
    found = {node.module.cls.name: (len(node.inputs), len(node.outputs)) for node in calls(trace)}
    assert found == {"Net": (1, 1), "Sequential": (1, 1), "ToObject": (1, 0), "ToPair": (0, 2), "ToRecord": (2, 2), "ToDict": (2, 1)}
