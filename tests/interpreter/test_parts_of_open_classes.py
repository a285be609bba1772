"""Objects that are built of values outside: their class is one of a few, and the job, which runs, has the one that does not raise."""

from __future__ import annotations

from pathlib import Path

from interpreted import called, job, reasons

from cgx.indexer.interpreter.trace import BranchNode, Event, LoopNode, OpNode

BLOCKS = """
import json, torch
from torch import nn
class Block(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(n)])
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
def get(kind, n):
    if kind == "Block":
        return Block(n)
    raise ValueError(f"{kind} does not exist")
config = json.load(open("config.json"))
"""


def test_what_raises_behind_a_condition_is_not_taken(tmp_path: Path) -> None:
    trace = job(tmp_path, {"main.py": BLOCKS + "y = get(config['kind'], 2)(torch.zeros(2, 4))\n"})
    assert called(trace) == ["Block", "Linear", "Linear"]
    assert "error" not in reasons(trace).values()
    assert not [node for node in trace.root.walk() if isinstance(node, BranchNode) and any(isinstance(one, OpNode) for one in node.walk())]


def test_an_output_lies_where_weights_and_inputs_lie(tmp_path: Path) -> None:
    """A part of several kinds gives no shape; ops mix no devices."""
    text = BLOCKS + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
    def forward(self, x):
        return nn.functional.silu(config["part"](self.first(x)))
y = Net().to("cuda")(torch.zeros(2, 4, device="cuda"))
print(y)
"""
    trace = job(tmp_path, {"main.py": text})
    assert [(node.data["sync"]) for node in trace.root.walk() if isinstance(node, Event) and node.kind == "sync"] == ["print"]


def test_private_names_have_the_name_of_their_class(tmp_path: Path) -> None:
    text = "class Frozen:\n    def __init__(self):\n        self.__done = True\n    def put(self):\n        if hasattr(self, '__done') and self.__done:\n            raise Exception('frozen')\n        return 3\nx = range(Frozen().put())\nfor i in x:\n    print(i)\n"
    assert "error" not in reasons(job(tmp_path, {"main.py": text})).values()


def test_keywords_of_one_of_two_dicts(tmp_path: Path) -> None:
    text = "import json\nconfig = json.load(open('config.json'))\nheld = {'a': None} if config['x'] is None else {'a': 2}\ndef use(**kwargs):\n    return sorted(kwargs)\nif use(**held) != ['a']:\n    raise ValueError('lost')\n"
    assert "error" not in reasons(job(tmp_path, {"main.py": text})).values()


def test_a_signature_is_that_of_what_is_wrapped(tmp_path: Path) -> None:
    text = "import functools, inspect\ndef deco(f):\n    @functools.wraps(f)\n    def inner(*args, **kwargs):\n        return f(*args, **kwargs)\n    return inner\n@deco\ndef use(width, depth=2):\n    return width\nif list(inspect.signature(use).parameters) != ['width', 'depth']:\n    raise ValueError('inner')\n"
    assert "error" not in reasons(job(tmp_path, {"main.py": text})).values()


def test_a_package_that_an_assertion_asks_for_is_there(tmp_path: Path) -> None:
    text = "import torch\ntry:\n    import longcontext\nexcept ImportError:\n    longcontext = None\nassert longcontext is not None, 'needs it'\ny = torch.zeros(2).relu()\n"
    assert "error" not in reasons(job(tmp_path, {"main.py": text})).values()


def test_parameters_of_a_model_whose_depth_is_not_known_have_no_number(tmp_path: Path) -> None:
    text = """
import json, torch
from torch import nn
config = json.load(open("config.json"))
class Net(nn.Module):
    def __init__(self, widths):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.blocks = nn.ModuleList([])
        for width in widths:
            self.blocks.append(nn.Linear(4, 4))
for parameter in Net(config["widths"]).parameters():
    parameter.to("cuda")
"""
    loops = [node for node in job(tmp_path, {"main.py": text}).root.walk() if isinstance(node, LoopNode) and node.target == "parameter"]
    assert [isinstance(loop.count, int) for loop in loops] == [False]


def test_super_past_torchs_own_class(tmp_path: Path) -> None:
    """``super(nn.Module, self)`` of a class with a second base: that one's constructor."""
    text = """
import torch
from torch import nn
class Base:
    def __init__(self, module):
        self.module = module
class Wrapper(nn.Module, Base):
    def __init__(self, module):
        super().__init__()
        super(nn.Module, self).__init__(module=module)
    def forward(self, x):
        return self.module(x)
y = Wrapper(nn.Linear(4, 4))(torch.zeros(2, 4))
"""
    assert called(job(tmp_path, {"main.py": text})) == ["Wrapper", "Linear"]
