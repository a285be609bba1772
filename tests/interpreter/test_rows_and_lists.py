"""Tensors that Python iterates, lists of lists of parameters, torch's constants."""

from __future__ import annotations

from pathlib import Path

from interpreted import build, calls, ops, write

from cgx.indexer.interpreter.interp import Options
from cgx.indexer.interpreter.run import run_build
from cgx.indexer.interpreter.trace import OpNode
from cgx.indexer.passes.fold.graph import fold
from cgx.indexer.source import open_tree

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


RESULTS = """
import torch
from dataclasses import dataclass
from torch import nn
from torch.utils._pytree import tree_flatten, tree_unflatten
from helpers import lifted
@dataclass
class Kept:
    hidden: list
    last: torch.Tensor = None
class Inner(nn.Module):
    def forward(self, x):
        leaves, spec = tree_flatten({"a": x, "b": (x, None)})
        back = tree_unflatten([leaf if leaf is None else leaf * 2 for leaf in leaves], spec)
        return lifted(back["b"][0]), Kept([x, x], back["a"])
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
    def forward(self, x):
        return self.inner(x)[0]
"""
HELPERS = """
def inner(t):
    return t.reshape(-1)
def lifted(t):
    return inner(t)
"""


def test_lists_in_results_are_tensors_and_library_functions_stand_for_their_line(tmp_path: Path):
    write(tmp_path / "env", {"helpers.py": HELPERS})
    tree, env = open_tree(str(write(tmp_path / "source", {"net.py": RESULTS}))), open_tree(str(tmp_path / "env"), env=True)
    trace = run_build(tree, [env], "net:Net()", ["x=float32[2,3]"], Options())
    assert ops(trace) == ["mul", "mul", "reshape"]
    inner = next(call for call in calls(trace) if call.module.cls.name == "Inner")
    assert [tensor.shape for _, tensor in inner.outputs] == [(6,), (2, 3), (2, 3), (2, 3)]
    line = next(node.anchor for node in trace.root.walk() if isinstance(node, OpNode) and node.qname.endswith("reshape"))
    assert (line.path, line.line) == ("net.py", 15)


BUILT = """
from dataclasses import dataclass
from torch import nn
@dataclass
class Sizes:
    wide: int
    deep: int
class Doubled(Sizes):
    def __init__(self, wide, deep):
        super().__init__(wide, deep * 2)
class Plain(Sizes):
    def __init__(self, wide):
        Sizes.__init__(self, wide, 1)
def kind(obj):
    return obj.__class__.__name__
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        sizes = Doubled(4, 2)
        self.layers = nn.ModuleList()
        for _ in range(3):
            self.layers += [nn.Linear(sizes.wide, sizes.deep)]
        self.more = self.layers[:1] + nn.ModuleList([nn.Linear(Plain(4).wide, 5)])
        self.named = nn.Sequential()
        for place in range(2):
            self.named.add_module(f"block-{place}", nn.Linear(5, 5))
    def forward(self, x):
        kind(kind)
        for layer in self.layers:
            x = layer(x)
        return self.named(self.more[1](x))
"""


def test_constructors_of_dataclasses_are_called_by_hand_and_lists_of_modules_are_added(tmp_path: Path):
    trace = build(tmp_path, {"net.py": BUILT}, "net:Net()", ["x=float32[2,4]"])
    rows = {row["path"]: row for row in fold(trace, trace.root.children).modules if "path" in row}
    assert rows["layers.[0-2]"]["parameters"]["weight"] == [4, 4] and rows["layers.[0-2]"]["repeat"]["count"] == 3
    assert rows["more.1"]["parameters"]["weight"] == [5, 4]
    assert rows["named.block-[0-1]"]["repeat"]["count"] == 2
    assert not trace.faults and not [unknown for unknown in trace.unknowns if unknown.reason == "error"]


EXTENDED = """
import torch
from torch import nn
from torchvision.extension import _assert_has_ops
def kept(boxes):
    if boxes.numel() == 0:
        return torch.empty((0,), dtype=torch.int64)
    _assert_has_ops()
    return torch.ops.torchvision.nms(boxes, boxes, 0.5)
class Net(nn.Module):
    def forward(self, x):
        return kept(x[x > 0])
"""
EXTENSION = "def _assert_has_ops():\n    raise RuntimeError('no ops')\n"


def test_compiled_ops_of_torchvision_are_there(tmp_path: Path):
    files = {"net.py": EXTENDED, "torchvision/__init__.py": "", "torchvision/extension.py": EXTENSION}
    trace = build(tmp_path, files, "net:Net()", ["x=float32[2,3]"])
    net = next(call for call in calls(trace) if call.module.cls.name == "Net")
    assert "nms" in ops(trace) and [tensor.shape for _, tensor in net.outputs] != [(0,)]
