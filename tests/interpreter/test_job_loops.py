"""Loops of the job that go through data, and what they do to parameters."""

from __future__ import annotations

from pathlib import Path

from interpreted import called, calls, job, reasons

from cgx.indexer.interpreter.trace import Event, LoopNode
from cgx.indexer.passes.schedule import build

MODEL = """
import torch, torch.nn as nn
class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(4, width)
    def forward(self, x):
        return self.fc(x)
"""


def test_a_loop_through_a_text_is_evaluated_once_for_all(tmp_path: Path) -> None:
    source = MODEL + (
        "words = {}\nlines = 0\nwith open('words.txt') as f:\n    for line in f:\n        lines += 1\n"
        "        for word in line.split():\n            if word not in words:\n                words[word] = len(words)\n"
        "Net(2)(torch.zeros(1, 4))\nwidth = len(words)\nif width > 9:\n    Net(3)\n"
    )
    text = "\n".join(" ".join(f"w{i}{j}" for j in range(40)) for i in range(2000))
    trace = job(tmp_path, {"main.py": source, "words.txt": text})
    assert called(trace) == ["Net", "Linear"]
    assert reasons(trace)["f"] == "budget"
    assert "width > 9" in reasons(trace)  # what the loop gathers is not known any more


def test_a_short_text_is_evaluated(tmp_path: Path) -> None:
    source = MODEL + "width = 0\nfor line in open('widths.txt'):\n    width += int(line)\nNet(width)(torch.zeros(1, 4))\n"
    trace = job(tmp_path, {"main.py": source, "widths.txt": "3\n4\n"})
    assert next(calls(trace)).outputs[0][1].shape == (1, 7)


def test_updating_parameters_in_place_keeps_their_shapes(tmp_path: Path) -> None:
    source = MODEL + "net = Net(3)\nfor step in range(9):\n    net(torch.zeros(1, 4)).sum().backward()\n    for p in net.parameters():\n        p.data.add_(p.grad, alpha=-0.1)\n"
    trace = job(tmp_path, {"main.py": source})
    layer = next(node.module for node in calls(trace) if node.module.cls.name == "Linear")
    assert {name: value.shape for name, value in layer.parameters.items()} == {"weight": (3, 4), "bias": (3,)}


def test_methods_of_a_list_of_unknown_length(tmp_path: Path) -> None:
    source = MODEL + (
        "names = tuple(open('names.txt').read().split())[: len(open('missing.txt').read())]\n"
        "langs = list(names)\nlangs.append('x')\nplace = langs.index('en')\nNet(3)(torch.zeros(1, 4))\n"
    )
    trace = job(tmp_path, {"main.py": source, "names.txt": "en de fr"})
    assert called(trace) == ["Net", "Linear"] and not trace.faults


def test_what_a_remembered_call_gave_outlives_the_round_it_was_made_in(tmp_path: Path) -> None:
    source = MODEL + (
        "from dataclasses import dataclass\n@dataclass\nclass Out:\n    shift: object\n    scale: object\n"
        "class Mod(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.fc = nn.Linear(4, 8)\n"
        "    def forward(self, x):\n        return Out(*self.fc(x).chunk(2, dim=-1))\n"
        "mod = Mod()\nx = torch.zeros(2, 4)\nn = 0\nfor step in range(99):\n    out = mod(x)\n    n += 1\n    Net(3)(x * out.scale + out.shift).sum().backward()\n"
    )
    trace = job(tmp_path, {"main.py": source})
    assert not trace.faults and "error" not in reasons(trace).values()
    assert [node.inputs[0][1].shape for node in calls(trace) if node.module.cls.name == "Net"] == [(2, 4)]


def test_casts_in_a_loop_leave_no_alternatives_on_a_tensor(tmp_path: Path) -> None:
    source = MODEL + (
        "net = Net(3)\nfor name in open('names.txt').read().split():\n"
        "    net.half() if name == 'half' else net.double()\n    net(torch.zeros(1, 4))\n    net.half()\nnet.bfloat16()\n"
    )
    trace = job(tmp_path, {"main.py": source})
    assert not trace.faults
    for node in calls(trace):
        assert all(isinstance(value.dtype, str | None) for value in node.module.parameters.values())


def test_a_generator_in_an_exit_stack_runs_round_the_rest(tmp_path: Path) -> None:
    trace = job(tmp_path, {"main.py": """
import contextlib, torch
held = []

@contextlib.contextmanager
def inside(value):
    held.append(value)
    try:
        yield value
    finally:
        held.pop()

@contextlib.contextmanager
def context(on):
    with contextlib.ExitStack() as stack:
        if on:
            stack.enter_context(inside("a"))
        yield

net = torch.nn.Linear(4, 4)
with context(True):
    if held == ["a"]:
        net(torch.randn(2, 4))
if not held:
    net(torch.randn(3, 4))
"""})
    assert len(called(trace)) == 2


SOMETIMES = """
import torch, torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
model = nn.Linear(4, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
steps = 0
for epoch in range(EPOCHS):
    WORK
    for step, (x,) in enumerate(DataLoader(TensorDataset(torch.zeros(512, 4)), batch_size=4)):
        model(x.cuda()).sum().backward()
        if (step + 1) % 4 == 0:
            optimizer.step()
            steps += 1
            if steps % 500 == 0:
                torch.save(model.state_dict(), "out.pt")
"""


def test_a_counter_that_only_some_rounds_raise_is_not_its_first_value(tmp_path: Path) -> None:
    trace = job(tmp_path, {"main.py": SOMETIMES.replace("EPOCHS", "3").replace("WORK", "pass")})
    saves = [node for node in trace.root.walk() if isinstance(node, Event) and node.kind == "checkpoint"]
    assert [save.anchor.line for save in saves] == [15]


def test_a_loop_given_up_for_its_cost_stands_once(tmp_path: Path) -> None:
    work = "for row in range(200):\n        for column in range(200):\n            total = row * column"
    trace = job(tmp_path, {"main.py": SOMETIMES.replace("EPOCHS", "20").replace("WORK", work)})
    assert [node.text for node in trace.root.children if isinstance(node, LoopNode)] == ["for epoch in range(20)"]


def test_steps_that_a_helper_and_a_resumed_state_decide(tmp_path: Path) -> None:
    """``x % 1`` is 0 whatever was loaded; ``a or b`` holds at the shorter period; the rare forward is not the step's."""
    text = """
import os, json, torch
from dataclasses import dataclass
@dataclass
class State:
    step: int
    micro: int
def every(state, count, micro=None):
    test = state.step % count == 0
    if micro is not None:
        test = test and (state.micro == micro)
    return test
state, parts, steps = State(step=0, micro=0), 1, 1000
# loaded
net = torch.nn.Linear(4, 4).cuda()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
while state.step < steps:
    state.micro += 1
    state.micro = state.micro % parts
    if every(state, 100, micro=1 % parts):
        net(torch.randn(1, 4, device="cuda")).sum().backward()
    loss = net(torch.randn(2, 4, device="cuda")).sum()
    loss.backward()
    if state.micro == 0:
        opt.step()
        state.step += 1
    if every(state, 10, micro=0):
        print(loss.item())
    if every(state, 50, micro=0) or every(state, 100, micro=0):
        torch.save(net.state_dict(), "x.pt")
"""
    loaded = """
if os.path.exists("state.json"):
    held = json.load(open("state.json"))
    state.step, state.micro = held["step"], held["micro"]
"""
    for folder, more, count in (("a", "", 1000), ("b", loaded, None)):
        rows = build(job(tmp_path / folder, {"main.py": text.replace("# loaded", more)})).rows
        phases = {row["name"]: row for row in rows["phases"]}
        assert [phases[name]["kind"] for name in ("forward", "backward", "optimizer")] == ["repeated"] * 3
        assert phases["logging"]["every"]["count"] == 10
        assert phases["checkpoint"]["every"]["count"] == 50
        assert [row["count"] for row in rows["loops"]] == [count]


CYCLE = """
import torch, torch.nn as nn
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

def cycle(loader):
    while True:
        for batch in loader:
            yield batch

def divisible(number, by):
    return number % by == 0

accelerator = Accelerator()
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = accelerator.prepare(DataLoader(TensorDataset(torch.zeros(512, 4)), batch_size=4, shuffle=True))
model, optimizer = accelerator.prepare(model, optimizer)
batches = cycle(loader)
step = 0
while step < 1000:
    for _ in range(2):
        (x,) = next(batches)
        accelerator.backward(model(x).sum())
    optimizer.step()
    step += 1
    if step != 0 and divisible(step, 100):
        accelerator.save(accelerator.get_state_dict(model), "out.pt")
"""


def test_next_of_a_generator_takes_one_round(tmp_path: Path) -> None:
    rows = build(job(tmp_path, {"main.py": CYCLE}, "accelerate launch --num_processes 2 main.py")).rows
    copies = {row["what"]: row for row in rows["host_device"]["copies"] if row["direction"] == "H2D" and row["phase"] == "data"}
    assert (copies["batch[0]"]["repeat"], copies["batch[0]"]["frequency"]) == (1, {"per": "micro-step"})
    assert copies["state of the sampler's generator"]["frequency"]["guard"] == "at each start of for batch in loader"


def test_a_period_that_a_function_tells_beside_another_condition(tmp_path: Path) -> None:
    rows = build(job(tmp_path, {"main.py": CYCLE}, "accelerate launch --num_processes 2 main.py")).rows
    saves = [row for row in rows["phases"] if row["name"] == "checkpoint"]
    assert [(row["kind"], row["every"]["count"]) for row in saves] == [("periodic", 100)]


def test_a_package_that_imports_its_files_fills_its_registry(tmp_path: Path) -> None:
    """What modules do on import does not spend the budget of the loop that imports them."""
    busy = "from kinds import register\nwidth = 0\nfor step in range(60):\n    for part in range(60):\n        width += 1\nregister['{0}'] = width\n"
    package = "import importlib, os\nregister = {}\nfor name in sorted(os.listdir(os.path.dirname(__file__))):\n    if name.startswith('kind'):\n        importlib.import_module('kinds.' + name[:-3])\n"
    files = {"kinds/__init__.py": package, **{f"kinds/kind{one}.py": busy.format(one) for one in range(12)}}
    trace = job(tmp_path, {**files, "main.py": MODEL + "from kinds import register\nassert len(register) == 12\nNet(register['11'] // 900)(torch.zeros(1, 4))\n"})
    assert next(calls(trace)).outputs[0][1].shape == (1, 4) and not reasons(trace)


def test_hooks_of_several_classes_are_gone_through_one_by_one(tmp_path: Path) -> None:
    source = MODEL + (
        "class Reads:\n    def after(self, loss):\n        print(loss.item())\n"
        "class Waits:\n    def after(self, loss):\n        torch.cuda.synchronize()\n"
        "net = Net(2).cuda()\nhooks = [Reads(), Waits()]\n"
        "for step in range(100):\n    loss = net(torch.zeros(1, 4, device='cuda')).sum()\n    loss.backward()\n"
        "    for hook in hooks:\n        if hasattr(hook, 'after'):\n            hook.after(loss)\n"
    )
    trace = job(tmp_path, {"main.py": source})
    kinds = [node.data["sync"] for node in trace.root.walk() if isinstance(node, Event) and node.kind == "sync" and "Net(2)" not in node.text]
    assert kinds == ["item", "synchronize"]
