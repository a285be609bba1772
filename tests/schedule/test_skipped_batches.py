"""Jobs that skip batches which the ranks cannot share, exchange parts of them, and evaluate in the step's loop."""

from __future__ import annotations

from pathlib import Path

from serving_jobs import brief, served

SOURCE = """
import torch, torch.distributed as dist
from torch import nn
dist.init_process_group("nccl")
held = None
class Request(torch.autograd.Function):
    @staticmethod
    def forward(ctx, *parts):
        global held
        given = torch.cat(parts, dim=1)
        out = torch.empty_like(given)
        held = (dist.all_to_all_single(out, given, async_op=True), out)
        return out
    @staticmethod
    def backward(ctx, grad):
        return None
class Wait(torch.autograd.Function):
    @staticmethod
    def forward(ctx, whole, sizes):
        held[0].wait()
        return tuple([part * 2 for part in list(whole.split(sizes))])
    @staticmethod
    def backward(ctx, *grads):
        grad = torch.cat([one.contiguous() for one in grads])
        dist.all_to_all_single(torch.empty_like(grad), grad, async_op=True)
        return grad, None
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(2, 2)
    def forward(self, x):
        x = self.body(x)
        parts = Wait.apply(Request.apply(x, x), torch.load("sizes.pt"))
        return parts[0].sum()
net = Net().cuda()
opt = torch.optim.SGD(net.parameters(), 0.1)
data = torch.utils.data.DataLoader([torch.ones(2)] * 65, batch_size=16)
def moved(x):
    return net(x.cuda())
for step, x in enumerate(data):
    x = x[x[:, 0] > 0]
    if x.size(0) % dist.get_world_size() != 0:
        print("skipped")
        continue
    loss = moved(x)
    shown = loss.detach().cpu()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if (step + 1) % 2 == 0:
        with torch.no_grad():
            for x in data:
                moved(x)
"""


def test_what_the_step_moves_is_its_own_though_it_also_evaluates(tmp_path: Path) -> None:
    rows = served(tmp_path, SOURCE, "torchrun --nproc-per-node 8 main.py").rows
    assert [one[1:] for one in brief(rows["host_device"]["copies"], "what", "direction", "phase") if one[0] == "x"] == [("H2D", "data"), ("H2D", "evaluation")]
    assert ("cpu", "loss.detach().cpu()", "logging") in brief(rows["host_device"]["syncs"], "kind", "what", "phase")


def test_the_size_of_a_batch_counts_no_steps(tmp_path: Path) -> None:
    rows = served(tmp_path, SOURCE, "torchrun --nproc-per-node 8 main.py").rows
    assert [one["frequency"].get("every") for one in rows["host_device"]["copies"] if one["what"] == "x"] == [None, 2]


def test_a_backward_is_asked_for_gradients_of_an_unknown_number_of_results(tmp_path: Path) -> None:
    rows = served(tmp_path, SOURCE, "torchrun --nproc-per-node 8 main.py").rows
    assert [one for one in brief(rows["device_device"], "phase", "blocking") if one[0] != "evaluation"] == [("forward", False), ("backward", False)]


def test_a_list_of_parts_reads_no_values(tmp_path: Path) -> None:
    rows = served(tmp_path, SOURCE, "torchrun --nproc-per-node 8 main.py").rows
    assert not [one for one in rows["host_device"]["syncs"] if one["kind"] == "tolist"]
