"""Tensors that Python iterates, lists of lists of parameters, torch's constants."""

from __future__ import annotations

from pathlib import Path

from interpreted import build, ops

from cgx.indexer.passes.fold.graph import fold

NET = """
import torch
from torch import nn, pi
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scales = nn.ParameterList([nn.ParameterList([nn.Parameter(torch.ones(4)) for _ in range(2)]) for _ in range(3)])
        self.bias = nn.Parameter(torch.zeros(3, 4))
    def forward(self, x):
        q, k = x
        rows = [row.abs() for row in q]
        y = self.bias.clamp(-2.0 * pi, 0.0)
        for a, b in self.scales:
            y = y * a + b
        return y
"""


def test_rows_are_made_by_unbind(tmp_path: Path):
    trace = build(tmp_path, {"net.py": NET}, "net:Net()", ["x=float32[2,3,4]"])
    found = ops(trace)
    assert found.count("unbind") == 2 and found.count("abs") == 3


def test_lists_of_parameters_hold_lists_and_bounds_are_torch_s_constants(tmp_path: Path):
    trace = build(tmp_path, {"net.py": NET}, "net:Net()", ["x=float32[2,3,4]"])
    rows = {row["path"]: row for row in fold(trace, trace.root.children).modules if "path" in row}
    assert rows["scales.[0-2]"]["parameters"] == {"0": [4], "1": [4]}
    assert [row["dims"] for row in rows[""]["shapes"]["out"]] == [[3, 4]]
