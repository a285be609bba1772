"""Modules built again at one place: copies where nothing differs, built anew where something does."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from interpreted import build, calls

from cgx.indexer.interpreter.trace import ModuleCall, OpNode, Trace
from cgx.indexer.interpreter.values import ModuleInstance

HEAD = "import torch\nimport torch.nn as nn\n"
EXPERT = """
class Expert(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.up = nn.Linear(dim, hidden)
        self.down = nn.Linear(hidden, dim)
    def forward(self, x):
        return self.down(torch.relu(self.up(x)))
"""


def root(trace: Trace) -> ModuleInstance:
    return trace.model_roots[0]


def sizes(module: ModuleInstance) -> list[Any]:
    found = [module.attrs["out_features"]] if "out_features" in module.attrs else []
    for child in module.children.values():
        if isinstance(child, ModuleInstance):
            found += sizes(child)
    return found


def made(folder: Path, body: str, inputs: str = "x=float32[2,4]") -> Trace:
    return build(folder, {"m.py": HEAD + body}, "m.py:M()", [inputs])


def test_equal_members_are_modules_of_their_own(tmp_path: Path) -> None:
    body = EXPERT + "class M(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.e = nn.ModuleList([Expert(4, 8) for _ in range(5)])\n    def forward(self, x):\n        for e in self.e:\n            x = e(x)\n        return x\n"
    trace = made(tmp_path, body)
    members = list(root(trace).children["e"].children.values())
    assert len({id(one) for one in members}) == 5 == len({id(one.children["up"].parameters["weight"]) for one in members})
    assert [one.loops[0].count for one in members] == [5] * 5
    assert len([node for node in calls(trace) if node.module.cls.name == "Expert"]) == 5
    assert [node.module for node in calls(trace) if node.module.cls.name == "Expert"] == members
    assert sorted(one.serial for one in trace.modules) == list(range(len(trace.modules)))


def test_a_container_that_is_filled_later_is_not_copied_with_its_content(tmp_path: Path) -> None:
    body = "class Net(nn.Module):\n    def __init__(self, dim):\n        super().__init__()\n        self.net = nn.ModuleList([])\n        self.net.append(nn.Linear(4, dim))\n        self.net.append(nn.Linear(dim, 4))\n    def forward(self, x):\n        return self.net[1](self.net[0](x))\nclass M(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.nets = nn.ModuleList([Net(d) for d in (8, 16, 8, 8)])\n    def forward(self, x):\n        for n in self.nets:\n            x = n(x)\n        return x\n"
    assert sizes(root(made(tmp_path, body))) == [8, 4, 16, 4, 8, 4, 8, 4]


def test_what_the_constructor_reads_elsewhere_has_to_be_the_same(tmp_path: Path) -> None:
    body = "class C:\n    width = 3\nclass L(nn.Module):\n    def __init__(self, c):\n        super().__init__()\n        self.l = nn.Linear(4, c.width)\nclass M(nn.Module):\n    def __init__(self):\n        super().__init__()\n        c = C()\n        self.a = nn.ModuleList()\n        for i in range(4):\n            c.width = 5 + i // 2\n            self.a.append(L(c))\n    def forward(self, x):\n        return x\n"
    assert sizes(root(made(tmp_path, body))) == [5, 5, 6, 6]


def test_a_constructor_that_counts_is_evaluated_each_time(tmp_path: Path) -> None:
    body = "count = []\nclass L(nn.Module):\n    total = 0\n    def __init__(self):\n        super().__init__()\n        L.total += 1\n        count.append(1)\n        self.l = nn.Linear(4, L.total + len(count))\nclass M(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.a = nn.ModuleList([L() for _ in range(4)])\n    def forward(self, x):\n        return x\n"
    assert sizes(root(made(tmp_path, body))) == [2, 4, 6, 8]


def test_a_copy_that_is_written_to_runs_on_its_own(tmp_path: Path) -> None:
    body = EXPERT + "class W(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.e = Expert(4, 8)\n    def forward(self, x):\n        return self.e(x)\nclass M(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.e = nn.ModuleList([W() for _ in range(4)])\n        self.e[2].e.up = nn.Linear(4, 16)\n        self.e[2].e.down = nn.Linear(16, 4)\n        self.e[3].e.register_forward_hook(lambda m, a, r: r.tanh())\n    def forward(self, x):\n        for e in self.e:\n            x = e(x)\n        return x\n"
    trace = made(tmp_path, body)
    assert sizes(root(trace)) == [8, 4, 8, 4, 16, 4, 8, 4]
    widths = [node.outputs[0][1].shape for node in calls(trace) if node.text == "self.up(x)"]
    assert widths == [(2, 8), (2, 8), (2, 16), (2, 8)]
    assert [node.qname for node in trace.root.walk() if isinstance(node, OpNode)].count("torch.Tensor.tanh") == 1


def test_the_mode_of_a_copy_counts(tmp_path: Path) -> None:
    body = "class D(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.l = nn.Linear(4, 4)\n    def forward(self, x):\n        return self.l(x).sin() if self.training else self.l(x).cos()\nclass M(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.d = nn.ModuleList([D() for _ in range(3)])\n        self.d[1].eval()\n    def forward(self, x):\n        for d in self.d:\n            x = d(x)\n        return x\n"
    found = [node.qname.rpartition(".")[2] for node in made(tmp_path, body).root.walk() if isinstance(node, OpNode) and not node.layer]
    assert found == ["sin", "cos", "sin"]


def test_methods_kept_as_attributes_stay_with_their_module(tmp_path: Path) -> None:
    body = "class A(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.l = nn.Linear(4, 4)\n        self.run = self.inner\n        self.f = lambda x: self.l(x)\n    def inner(self, x):\n        return self.f(x)\n    def forward(self, x):\n        return self.run(x)\nclass M(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.a = nn.ModuleList([A() for _ in range(3)])\n    def forward(self, x):\n        for a in self.a:\n            x = a(x)\n        return x\n"
    trace = made(tmp_path, body)
    linear = [node.module for node in calls(trace) if node.module.cls.name == "Linear"]
    assert linear == [a.children["l"] for a in root(trace).children["a"].children.values()]


def test_a_weight_that_is_tied_inside_is_tied_in_every_copy(tmp_path: Path) -> None:
    body = "class T(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.a = nn.Linear(4, 4)\n        self.b = nn.Linear(4, 4)\n        self.b.weight = self.a.weight\nclass M(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.t = nn.ModuleList([T() for _ in range(3)])\n    def forward(self, x):\n        return x\n"
    pairs = [(t.children["a"].parameters["weight"], t.children["b"].parameters["weight"]) for t in root(made(tmp_path, body)).children["t"].children.values()]
    assert all(a is b for a, b in pairs) and len({id(a) for a, _ in pairs}) == 3


def test_many_experts_are_fast(tmp_path: Path) -> None:
    body = EXPERT + "class Layer(nn.Module):\n    def __init__(self, index):\n        super().__init__()\n        self.experts = nn.ModuleList([Expert(4, 8) for _ in range(256)])\n        self.out = nn.Linear(4, 4)\n    def forward(self, x):\n        for e in self.experts:\n            x = x + e(x)\n        return self.out(x)\nclass M(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.layers = nn.ModuleList([Layer(i) for i in range(61)])\n    def forward(self, x):\n        for layer in self.layers:\n            x = layer(x)\n        return x\n"
    started = time.process_time()
    trace = made(tmp_path, body)
    assert len(trace.modules) > 46_000 and time.process_time() - started < 10
    layers = [node for node in trace.root.walk() if isinstance(node, ModuleCall) and node.module.cls.name == "Layer"]
    assert len(layers) == 61 and all(len(node.children) > 0 for node in layers)
