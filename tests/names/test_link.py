"""Each rule of the linker on a few lines: what a call site resolves to, and that nothing is invented."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .conftest import Linked

Link = Callable[..., Linked]

# name -> (source, {callee text: target names in order})
CASES: dict[str, tuple[str, dict[str, list[str]]]] = {
    "alias of torch": (
        "import torch.nn as nn\nfrom torch.nn import functional as F\nx = nn.Linear(1, 2)\nF.gelu(x)\n",
        {"nn.Linear": ["torch.nn.Linear"], "F.gelu": ["torch.nn.functional.gelu"]},
    ),
    "one name for a thing that torch has under several": (
        "from torch.nn.modules.linear import Linear\nfrom torch.nn.parallel.distributed import DistributedDataParallel as D\n"
        "Linear(1, 1)\nD(None)\n",
        {"Linear": ["torch.nn.Linear"], "D": ["torch.nn.parallel.DistributedDataParallel"]},
    ),
    "inherited from a torch class": (
        """
        import torch
        class M(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("b", torch.zeros(1))
                self.b.sum()
        """,
        {
            "super().__init__": ["torch.nn.Module.__init__"],
            "self.register_buffer": ["torch.nn.Module.register_buffer"],
            "self.b.sum": ["torch.Tensor.sum"],
        },
    ),
    "a called module runs its forward": (
        """
        from torch import nn
        class Inner(nn.Module):
            def forward(self, x): return x.relu()
        class Outer(nn.Module):
            def __init__(self):
                self.inner = Inner()
                self.fc = nn.Linear(1, 1)
            def forward(self, x):
                return self.fc(self.inner(x)).view(-1)
        """,
        {
            "self.inner": ["main.Inner.forward"], "self.fc": ["torch.nn.Linear.forward"],
            "self.fc(self.inner(x)).view": ["torch.Tensor.view"],
        },
    ),
    "containers of modules": (
        """
        import torch.nn as nn
        class Block(nn.Module):
            def forward(self, x): return x
        class Model(nn.Module):
            def __init__(self):
                self.t = nn.ModuleDict(dict(wte=nn.Embedding(1, 1), h=nn.ModuleList([Block() for _ in range(3)])))
                self.seq = nn.Sequential(nn.Linear(1, 1), Block())
                self.later = nn.ModuleList()
                for _ in range(3):
                    self.later.append(Block())
            def forward(self, x):
                self.t.wte(x)
                for block in self.t.h:
                    block(x)
                for i, item in enumerate(self.later[1:]):
                    item(x)
                return self.seq(x)
        """,
        {
            "self.t.wte": ["torch.nn.Embedding.forward"], "block": ["main.Block.forward"], "item": ["main.Block.forward"],
            "self.seq": ["torch.nn.Sequential.forward"],
        },
    ),
    "an external base claims only what its table lists": (
        """
        from torch import nn
        class Base:
            def parallelize(self): pass
        class Linear(nn.Linear, Base):
            def go(self):
                super().parallelize()
                super().extra_repr()
        """,
        {"super().parallelize": ["main.Base.parallelize"], "super().extra_repr": ["torch.nn.Linear.extra_repr"]},
    ),
    "an unknown base takes what nobody else has": (
        "from lib import Base\nclass A(Base):\n    def own(self): pass\n    def go(self):\n        self.own()\n        self.other()\n",
        {"self.own": ["main.A.own"], "self.other": ["lib.Base.other"]},
    ),
    "return types": (
        """
        class A:
            def m(self): pass
        def made() -> "A": ...
        def inferred(): return A()
        class Maker:
            @classmethod
            def make(cls): return cls()
            def m2(self): pass
        made().m()
        inferred().m()
        Maker.make().m2()
        """,
        {"made().m": ["main.A.m"], "inferred().m": ["main.A.m"], "Maker.make().m2": ["main.Maker.m2"]},
    ),
    "annotations": (
        """
        from typing import Optional, List, cast
        class A:
            def m(self): pass
        def f(a: A, b: Optional[A], c: "List[A]", d: dict[str, A], e: tuple[int, A], g: A | None):
            a.m(); b.m(); c[0].m(); d["x"].m(); e[1].m(); g.m()
            for item in c: item.m()
            for key, value in d.items(): value.m(); key.upper()
            cast(A, 1).m()
        """,
        {
            "a.m": ["main.A.m"], "b.m": ["main.A.m"], "c[0].m": ["main.A.m"], "d[\"x\"].m": ["main.A.m"],
            "e[1].m": ["main.A.m"], "g.m": ["main.A.m"], "item.m": ["main.A.m"], "value.m": ["main.A.m"],
            "key.upper": ["builtins.str.upper"], "cast(A, 1).m": ["main.A.m"],
        },
    ),
    "partial and dispatch": (
        """
        from functools import partial
        from torch import nn
        def one(): pass
        def two(): pass
        TABLE = {"one": one, "two": two}
        def go(key):
            TABLE[key]()
            TABLE["one"]()
            fn = TABLE.get(key)
            fn()
        conv = partial(nn.Conv2d, bias=False)
        conv(1, 2)
        """,
        {
            "TABLE[key]": ["main.one", "main.two"], "TABLE[\"one\"]": ["main.one"], "fn": ["main.one", "main.two"],
            "conv": ["torch.nn.Conv2d"],
        },
    ),
    "conditional alias": (
        """
        import torch.distributed as dist
        if hasattr(dist, "x"):
            gather = dist.all_gather_into_tensor
        else:
            gather = dist._all_gather_base
        gather(1, 2)
        """,
        {"gather": ["torch.distributed.all_gather_into_tensor", "torch.distributed._all_gather_base"]},
    ),
    "standard library": (
        "import os.path, json, re\nfrom pathlib import Path\nos.path.join('a')\nwith open('f') as f:\n    json.load(f)\n    f.readline()\n"
        "Path('x').read_text().split()\nre.compile('x').match('y').group()\n",
        {
            "os.path.join": ["os.path.join"], "json.load": ["json.load"], "open": ["builtins.open"],
            "Path('x').read_text": ["pathlib.Path.read_text"], "Path('x').read_text().split": ["builtins.str.split"],
            "re.compile('x').match('y').group": ["re.Match.group"],
        },
    ),
    "context managers and properties": (
        """
        from contextlib import contextmanager
        class A:
            def __enter__(self): return self
            def m(self): pass
            @property
            def peer(self): return A()
        @contextmanager
        def scope():
            yield A()
        with A() as a: a.m()
        with scope() as b: b.m()
        A().peer.m()
        """,
        {"a.m": ["main.A.m"], "b.m": ["main.A.m"], "A().peer.m": ["main.A.m"]},
    ),
    "autograd function": (
        "import torch\nclass F(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x): return x\nF.apply(1)\n",
        {"F.apply": ["torch.autograd.Function.apply"]},
    ),
    "type variables": (
        """
        from typing import TypeVar, Type
        T = TypeVar("T")
        class A:
            def m(self): pass
        def make(cls: Type[T]) -> T: ...
        def same(x: T) -> T: ...
        make(A).m()
        same(A()).m()
        """,
        {"make(A).m": ["main.A.m"], "same(A()).m": ["main.A.m"]},
    ),
    "isinstance narrows": (
        "class A:\n    def m(self): pass\ndef f(x):\n    if isinstance(x, A):\n        x.m()\n",
        {"x.m": ["main.A.m"]},
    ),
    "enum members": (
        "import enum\nclass E(enum.Enum):\n    A = 1\n    def m(self): pass\nE.A.m()\nfor e in E: e.m()\n",
        {"E.A.m": ["main.E.m"], "e.m": ["main.E.m"]},
    ),
    "comprehension variables are their own": (
        "class A:\n    def m(self): pass\nx = 'text'\nys = [x.m() for x in [A()]]\nx.upper()\n",
        {"x.m": ["main.A.m"], "x.upper": ["builtins.str.upper"]},
    ),
    "nested functions and lambdas": (
        "def outer():\n    def inner(): pass\n    return inner\nouter()()\nf = lambda: outer\nf()()\n",
        {"outer()": ["main.outer.inner"], "f()": ["main.outer"]},
    ),
    "a config's build makes the class round it": (
        """
        class Base:
            class Config:
                def build(self): return self._owner(self)
        class Norm(Base):
            class Config(Base.Config): ...
            def go(self): pass
        def f(c: Norm.Config):
            c.build().go()
        """,
        {"c.build": ["main.Base.Config.build"], "c.build().go": ["main.Norm.go"]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_rule(name: str, linked: Link) -> None:
    source, expected = CASES[name]
    found = linked(source)
    assert {text: found[text] for text in expected} == expected


@pytest.mark.parametrize(
    ("source", "text", "reason"),
    [
        ("def f(x):\n    x.go()\n", "x.go", "parameter"),
        ("def f(x):\n    for y in x:\n        y()\n", "y", "container"),
        ("nowhere()\n", "nowhere", "unresolved-name"),
        ("class A: pass\nA().missing()\n", "A().missing", "attribute"),
        ("import lib\nx = lib.load()\nx.go()\n", "x.go", "unmodelled"),
        ("from typing import Callable\ndef f(c: Callable):\n    c()\n", "c", "parameter"),
        ("from .gone import f\nf()\n", "f", "unmodelled"),
    ],
)
def test_what_is_not_known_has_a_reason(source: str, text: str, reason: str, linked: Link) -> None:
    answer = linked({"pkg/__init__.py": "", "pkg/m.py": source}).answer(text)
    assert (answer.targets, answer.reason) == ((), reason)


def test_a_known_prefix_is_kept(linked: Link) -> None:
    assert (
        linked("import lib\nlib.load(1).rows.first()\n").answer("lib.load(1).rows.first").prefix
        == "lib.load().rows.first"
    )


@pytest.mark.parametrize(
    ("source", "text", "basis"),
    [
        ("def f(): pass\nf()\n", "f", "exact"),
        ("import torch\ntorch.zeros(1).sum()\n", "torch.zeros(1).sum", "modelled"),
        ("def a(): pass\ndef b(): pass\nf = a if x else b\nf()\n", "f", "several"),
        ("class A:\n    def m(self): pass\ndef f(c=A):\n    c()\n", "c", "likely"),
        ("from lib import B\nclass A(B): pass\nA().go()\n", "A().go", "likely"),
        ("def f(a):\n    g = a if a else f\n    g()\n", "g", "likely"),
    ],
)
def test_basis(source: str, text: str, basis: str, linked: Link) -> None:
    assert linked(source).answer(text).basis == basis


def test_across_files(linked: Link) -> None:
    found = linked(
        {
            "pkg/__init__.py": "from .core import Thing as Public\nfrom .star import *\n",
            "pkg/core.py": "class Thing:\n    def run(self): return helper()\ndef helper(): pass\n",
            "pkg/star.py": "__all__ = ['shown']\ndef shown(): pass\ndef hidden(): pass\n",
            "app/main.py": "import pkg\nfrom pkg import Public, shown\nimport beside\nPublic().run()\nshown()\npkg.core.helper()\nbeside.go()\n",
            "app/beside.py": "def go(): pass\n",
        }
    )
    assert found["Public"] == ["pkg.core.Thing"]
    assert found["Public().run"] == ["pkg.core.Thing.run"]
    assert found["shown"] == ["pkg.star.shown"]
    assert found["pkg.core.helper"] == ["pkg.core.helper"]
    assert found["beside.go"] == ["app.beside.go"]


def test_implied_targets_are_marked(linked: Link) -> None:
    answer = linked("class A:\n    def __init__(self): pass\nA()\n").answer("A")
    assert [(target.qname, target.implied) for target in answer.targets] == [
        ("main.A", False),
        ("main.A.__init__", True),
    ]


def test_where_a_site_stands(linked: Link) -> None:
    answer = linked("x = 'é'; y = (x\n  .upper\n  ())\n").answer("x .upper")
    assert (answer.line, answer.token_line, answer.col) == (1, 2, 3)
    answer = linked("é = str\nf = 'ü'; é('x').lower()\n").answer("é('x').lower")
    assert (answer.line, answer.col) == (2, 16)


def test_recursion_ends(linked: Link) -> None:
    found = linked(
        "class A(A): pass\nclass B(C): pass\nclass C(B):\n    def m(self): return self.m().m()\n"
        "def f(): return g()\ndef g(): return f()\nf().x()\nC().m()\nx = y\ny = x\nx()\n"
    )
    assert found["C().m"] == ["main.C.m"] and found["f().x"] == []
