"""Optimizers of the job's own, conditions that hold in one round, evaluations under branches of their own."""

from __future__ import annotations

from pathlib import Path

from test_first_rounds import HEAD, rows

OWN = """
class Own(torch.optim.Optimizer):
    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})
    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                dist.all_reduce(p.grad)
                p.add_(p.grad, alpha=-group["lr"])
class Several(torch.optim.Optimizer):
    def __init__(self, inner):
        self.inner = inner
    def step(self):
        for one in self.inner:
            one.step()
"""
LOOP = """
rank = dist.get_rank()
if rank == 0:
    print("starts")
x = torch.zeros(2, 4, device="cuda")
step, last, often = 0, 5000, -1
while True:
    last_step = step == last
    if last_step or step % 250 == 0:
        net.eval()
        with torch.no_grad():
            for _ in range(20):
                net(x)
    if step % 250 == 0:
        net.eval()
        with torch.no_grad():
            print(net(x).item())
    if last_step or (step > 0 and often > 0 and step % often == 0):
        torch.save(net.state_dict(), "net.pt")
    if last_step:
        break
    net.train()
    for _ in range(4):
        net(x).backward()
    opt.step()
    step += 1
"""


def test_the_step_of_an_own_optimizer(tmp_path: Path) -> None:
    found = rows(tmp_path, HEAD + OWN + "opt = Own(net.parameters(), 0.1)" + LOOP)
    assert found["compute"]["optimizer"] == {"value": "main.Own", "groups": 1, "code_anchor": "main.py:<module>:27"}
    assert found["compute"]["optimizer_step"]["value"] == "main.Own"
    [sums] = [row for row in found["device_device"] if row["collective"] == "all_reduce"]
    assert (sums["phase"], sums["frequency"]["per"]) == ("optimizer", "step")
    assert [(row["unit"], row["count"]) for row in found["loops"] if row["unit"] in ("step", "micro-step")] == [("step", 5001), ("micro-step", 4)]


def test_a_container_of_optimizers_is_none(tmp_path: Path) -> None:
    found = rows(tmp_path, HEAD + OWN + "opt = Several([torch.optim.SGD(net.parameters(), lr=0.1)])" + LOOP)
    assert found["compute"]["optimizer"]["value"] == "torch.optim.SGD"
    assert found["compute"]["optimizer_step"]["value"] == "torch.optim.SGD"


def test_what_the_last_round_alone_does(tmp_path: Path) -> None:
    found = rows(tmp_path, HEAD + OWN + "opt = Own(net.parameters(), 0.1)" + LOOP)
    [saved] = [row for row in found["phases"] if row["name"] == "checkpoint"]
    assert saved["kind"] == "one-off"
    [copy] = [row for row in found["host_device"]["copies"] if row["phase"] == "checkpoint"]
    assert copy["frequency"]["per"] == "job" and "every" not in copy["frequency"]


def test_two_evaluations_in_a_step(tmp_path: Path) -> None:
    found = rows(tmp_path, HEAD + OWN + "opt = Own(net.parameters(), 0.1)" + LOOP)
    evaluations = [row for row in found["phases"] if row["name"] == "evaluation"]
    assert [(row["repeat"], row["every"]["count"]) for row in evaluations] == [(20, 250), (1, 250)]
    assert next(row for row in found["phases"] if row["name"] == "startup")["ranks"] == "all"


SERVED = """
import torch, torch.nn as nn
net = nn.Linear(4, 4).cuda().eval()
@torch.compile
def unused(x):
    return x * 2
@torch.compile
def pick(x):
    return x.argmax()
@torch.inference_mode()
def generate(tokens):
    ids = torch.tensor([tokens], device="cuda")
    for _ in range(16):
        out = net(ids.float())
        yield pick(out).item()
while True:
    prompt = input("> ")
    print("Answer: ", end="", flush=True)
    for token in generate([1, 2, 3, 4]):
        print(token)
    print()
"""


def test_a_loop_that_answers(tmp_path: Path) -> None:
    found = rows(tmp_path, SERVED, "python main.py")
    assert "logging" not in [row["name"] for row in found["phases"]]
    assert found["compute"]["compile"]["value"] == "pick"
    assert found["compute"]["inference_mode"]["value"] == "torch.inference_mode"
    assert [(row["hop"], row["by"]) for row in found["data_path"]] == [("copy", "torch.tensor")]


GRADIENTS = """
class Saver:
    every = 50
    def due(self, step, last):
        if last:
            return True
        if step % self.every == 0:
            return True
        return False
    def save(self, step, last):
        if not self.due(step, last):
            return
        torch.save(net.state_dict(), "net.pt")
def loss_of(x):
    out = net(x)
    if out.requires_grad:
        out.backward()
    return out
saver, opt = Saver(), torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(1000):
    loss_of(torch.zeros(2, 4, device="cuda"))
    opt.step()
    saver.save(step, step == 999)
    if step % 100 == 0:
        with torch.no_grad():
            loss_of(torch.zeros(2, 4, device="cuda"))
"""


def test_what_requires_gradients_and_when_a_function_says_so(tmp_path: Path) -> None:
    found = rows(tmp_path, HEAD + GRADIENTS)
    kinds = {row["name"]: (row["kind"], row.get("every", {}).get("count")) for row in found["phases"]}
    assert kinds["backward"] == ("repeated", None)
    assert kinds["evaluation"] == ("periodic", 100)
    assert kinds["checkpoint"] == ("periodic", 50)
    assert found["unresolved"] == []


def test_lists_that_a_summarised_loop_fills(tmp_path: Path) -> None:
    source = (
        "opt = torch.optim.SGD(net.parameters(), lr=0.1)\nfor step in range(1000):\n    batches, some = [], []\n    for i in range(4):\n"
        "        batches.append(torch.zeros(2, 4).to('cuda'))\n        if batches[-1].sum().item() > i:\n            some.append(i)\n"
        "    for x in batches:\n        net(x).backward()\n    opt.step()\n    for x in some:\n        dist.barrier()\n"
    )
    found = rows(tmp_path, HEAD + source)
    assert found["compute"]["gradient_accumulation"]["value"] == 4
    assert next(row for row in found["device_device"] if row["collective"] == "barrier")["repeat"] is None
