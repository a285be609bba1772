"""Modules that a forward builds for itself, and classes that a decorator builds round others."""

from __future__ import annotations

from pathlib import Path

from interpreted import build, called

from cgx.indexer.passes.fold.graph import fold

HEAD = "import torch\nimport torch.nn as nn\n"

SLICED = (
    HEAD
    + """
class Block(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.out = nn.Sequential(nn.LayerNorm(a), nn.SiLU(), nn.Linear(a, b))
        self.skip = nn.Identity() if a == b else nn.Linear(a, b)
    def forward(self, x):
        norm, rest = self.out[0], self.out[1:]
        return self.skip(x) + rest(norm(x) * 2)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(4, 4), Block(4, 4)])
        self.wide = Block(4, 8)
        self.again = Block(4, 4)
    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.wide(self.again(x))
"""
)

DECORATED = (
    HEAD
    + """
import sys
def recorded(cls):
    class Recorder(cls):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.given = args
    Recorder.__name__ = cls.__name__
    Recorder.__module__ = cls.__module__
    return Recorder
@recorded
class Conv(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.lin = nn.Linear(4, width)
    def forward(self, x):
        return self.lin(x)
@recorded
class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.lin = nn.Linear(width, width)
    def forward(self, x, emb):
        return self.lin(x) + emb
@recorded
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleDict({'a': Conv(8), 'b': Block(8)})
    def forward(self, x, emb):
        for name, part in self.parts.items():
            x = part(x, emb) if isinstance(part, Block) else part(x)
        return x
"""
)


def test_what_a_slice_of_a_sequential_calls_is_the_members_of_each_owner(tmp_path: Path) -> None:
    trace = build(tmp_path, {"m.py": SLICED}, "m.py:Net()", ["x=float32[2,4]"])
    rows = fold(trace, trace.root.children).modules
    silent = [row["path"] for row in rows if row.get("runs") is False]
    assert silent and all(path.endswith(".out") for path in silent)  # the Sequential itself is not called, all its members are
    assert {"wide.out.1", "again.out.2"} <= {row["path"] for row in rows if "order" in row and "path" in row}


def test_classes_of_one_decorator_are_not_one_class(tmp_path: Path) -> None:
    trace = build(tmp_path, {"m.py": DECORATED}, "m.py:Net()", ["x=float32[2,4]", "emb=float32[2,8]"])
    assert [name for name in called(trace) if name != "Linear"] == ["Net", "Conv", "Block"]
    assert trace.model_roots[0].cls.qname == "m.Net"
    shapes = [node.outputs[0][1].shape for node in trace.root.walk() if type(node).__name__ == "ModuleCall"]
    assert shapes == [(2, 8)] * 5


def test_a_forward_that_hands_back_its_input_lacks_nothing(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
class Drop(nn.Module):
    def __init__(self, p=0.0):
        super().__init__()
        self.p = p
    def forward(self, x):
        return x if self.p == 0.0 else x * self.p
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.drop = Drop()
    def forward(self, x):
        return self.drop(self.lin(x))
"""
    )
    trace = build(tmp_path, {"m.py": text}, "m.py:Net()", ["x=float32[2,4]"])
    assert not fold(trace, trace.root.children).unresolved


def test_constructors_by_partialmethod_and_modules_by_dunder_import(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
import inspect
from functools import partialmethod
class Update(nn.Module):
    def __init__(self, width, outgoing=False):
        super().__init__()
        self.lin = nn.Linear(width, width * 2 if outgoing else width)
    def forward(self, x):
        return self.lin(x)
class Outgoing(Update):
    __init__ = partialmethod(Update.__init__, outgoing=True)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        width = __import__('pkg.sizes', fromlist=['sizes']).WIDTH + __import__('pkg.sizes').TOP
        takes = 'inplace' in inspect.getfullargspec(nn.ReLU).args
        self.act = nn.ReLU() if takes else nn.Identity()
        self.up = Outgoing(width)
    def forward(self, x):
        return self.act(self.up(x))
"""
    )
    files = {"m.py": text, "pkg/__init__.py": "TOP = 1\n", "pkg/sizes.py": "WIDTH = 3\n"}
    trace = build(tmp_path, files, "m.py:Net()", ["x=float32[2,4]"])
    assert called(trace) == ["Net", "Outgoing", "Linear", "ReLU"]
    assert [node.outputs[0][1].shape for node in trace.root.walk() if type(node).__name__ == "ModuleCall"] == [(2, 8)] * 4


def test_a_module_that_overrides_its_call_and_lists_what_torch_defines(tmp_path: Path) -> None:
    text = (
        HEAD
        + """
from typing import OrderedDict
class Checked(nn.Module):
    def __call__(self, x, dim=-1, **kwargs):
        if dim >= x.dim() or x.layout != torch.strided:
            raise ValueError('no such dimension')
        return super().__call__(x, dim=dim, **kwargs)
class Sum(Checked):
    def forward(self, x, dim):
        return x.sum(dim)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hooks: OrderedDict[int, int] = OrderedDict()
        self.sum = Sum()
        acts = [act for act in vars(torch.nn.modules.activation).values() if isinstance(act, type) and issubclass(act, nn.Module)]
        self.act = next(act for act in acts if act.__name__.lower() == 'relu')()
        self.own = [base for base in type(self.sum).__mro__ if base not in {object, nn.Module}]
        self.lin = nn.Linear(2, len(self.own))
    def forward(self, x):
        for hook in self.hooks.values():
            x = hook(self, x)
        return self.lin(self.act(self.sum(x)))
"""
    )
    trace = build(tmp_path, {"m.py": text}, "m.py:Net()", ["x=float32[2,2,4]"])
    assert called(trace) == ["Net", "Sum", "ReLU", "Linear"] and not trace.unknowns
    assert trace.model_roots[0].children["lin"].attrs["out_features"] == 2
