"""``--input`` with a launch line: the called model gets the user's tensors."""

from __future__ import annotations

from pathlib import Path

from interpreted import calls, write

from cgx.indexer.interpreter.interp import Options
from cgx.indexer.interpreter.run import run_job
from cgx.indexer.launch.line import parse_launch
from cgx.indexer.source import open_tree

SOURCE = """
import torch, torch.nn as nn
class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)
    def forward(self, x):
        return self.fc(x)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
    def forward(self, x):
        return self.inner(x[:, :4])
model = Net().cuda()
model(torch.zeros(8, 6).cuda())
model(torch.zeros(1, 6).cuda())
"""


def test_the_first_call_and_its_like_get_the_inputs(tmp_path: Path) -> None:
    tree = open_tree(str(write(tmp_path, {"main.py": SOURCE})))
    trace = run_job(tree, [], parse_launch("python main.py", tree), Options(inputs=["x=float32[3,6]"]))
    found = [(node.module.cls.name, node.inputs[0][1].shape, node.inputs[0][1].device) for node in calls(trace)]
    assert found[0] == ("Net", (3, 6), "cuda")
    assert found[1][1] == (3, 4)
    assert [shape for name, shape, _ in found if name == "Net"] == [(3, 6), (1, 6)]


WRAPPED = """
import inspect, torch, torch.nn as nn
class Norm(nn.RMSNorm):
    pass
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = Norm(4)
    def forward(self, x):
        return self.norm(x)
def wrap(module):
    names = [p.name for p in inspect.signature(type(module).forward).parameters.values() if p.name != "self"]
    inner = module.forward
    def forward(*args):
        given = dict(zip(names, args))
        return inner(*[given[name] for name in names])
    module.forward = forward
net = Net()
wrap(net.norm)
net(torch.zeros(2, 4))
"""


def test_a_layer_whose_forward_was_wrapped_by_its_signature(tmp_path: Path) -> None:
    tree = open_tree(str(write(tmp_path, {"main.py": WRAPPED})))
    trace = run_job(tree, [], parse_launch("python main.py", tree), Options())
    assert [node.outputs[0][1].shape for node in calls(trace)] == [(2, 4), (2, 4)]
