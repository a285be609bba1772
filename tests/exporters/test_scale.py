"""Sixty thousand modules, from source to record: 61 layers, each with 256 experts of three linears."""

from __future__ import annotations

import json
import time

from cgx.cli import main

SOURCE = """
import torch
from torch import nn
import torch.nn.functional as F


class Expert(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.w1 = nn.Linear(dim, hidden, bias=False)
        self.w2 = nn.Linear(hidden, dim, bias=False)
        self.w3 = nn.Linear(dim, hidden, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class MoE(nn.Module):
    def __init__(self, dim, hidden, n):
        super().__init__()
        self.gate = nn.Linear(dim, n, bias=False)
        self.experts = nn.ModuleList([Expert(dim, hidden) for _ in range(n)])

    def forward(self, x):
        scores = self.gate(x).softmax(-1)
        y = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            y = y + expert(x) * scores[..., i : i + 1]
        return y


class Layer(nn.Module):
    def __init__(self, dim, hidden, n):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.moe = MoE(dim, hidden, n)

    def forward(self, x):
        return x + self.moe(self.norm(x))


class Net(nn.Module):
    def __init__(self, layers=61, experts=256, dim=64, hidden=128):
        super().__init__()
        self.layers = nn.ModuleList([Layer(dim, hidden, experts) for _ in range(layers)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""


def test_sixty_thousand_modules_are_folded_and_not_enumerated(tmp_path):
    job = tmp_path / "job"
    job.mkdir()
    (job / "model.py").write_text(SOURCE)
    out = tmp_path / "out"
    begin = time.process_time()
    words = [
        "--build",
        "model.py:Net()",
        "--input",
        "x=float32[2,16,64]",
        "--workspace",
        str(out),
        "--store",
        str(out / "store"),
        "--quiet",
    ]
    assert main(["export", str(job), *words]) == 0
    assert time.process_time() - begin < 10
    record = json.loads((out / "records" / "computation_graph.json").read_text())
    assert len(record["modules"]) < 40
    found = {row.get("path"): row for row in record["modules"]}
    assert found["layers.[0-60].moe.experts.[0-255].w3"]["multiplicity"] == 61 * 256
    loop = next(row for row in record["modules"] if row["level"] == "loop")
    assert (
        loop["repeat"]["count"] == 256 and loop["repeat"]["by"] == "instances" and loop["repeat"]["expr"] == "range(n)"
    )
    assert main(["check", str(out / "records" / "computation_graph.json"), "--source", str(job)]) == 0
