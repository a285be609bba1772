"""Protocols that are checked at run time, placements that are compared, hooks round an optimizer's step, rows of a data set."""

from __future__ import annotations

from pathlib import Path

from interpreted import NET, job, reasons, record

PROTOCOL = NET + """
from typing import Protocol, runtime_checkable
@runtime_checkable
class Sized(Protocol):
    def __len__(self) -> int: ...
    def __getitem__(self, index): ...
class Rows:
    def __len__(self):
        return 3
    def __getitem__(self, index):
        return index
class Count:
    def __len__(self):
        return 3
class Told(Sized):
    pass
assert isinstance(Rows(), Sized) and isinstance([1], Sized) and isinstance({}, Sized) and isinstance(Told(), Sized)
assert isinstance(torch.zeros(2), Sized) and not isinstance(Count(), Sized) and not isinstance(5, Sized)
from torch.distributed.tensor import Partial, Replicate, Shard
assert Shard(0) == Shard(dim=0) and Shard(0) != Shard(1) and (Shard(0),) == (Shard(0),) and Replicate() == Replicate()
assert Replicate() != Shard(0) and Shard(1).is_shard() and not Shard(1).is_shard(0) and Replicate().is_replicate()
width = 5 if isinstance(Rows(), Sized) and not isinstance(Count(), Sized) else 9
model = nn.Linear(4, width).cuda()
for step in range(7):
    model(torch.randn(2, 4).cuda()).sum().backward()
"""


def test_protocols_and_placements_are_what_their_parts_are(tmp_path: Path) -> None:
    trace = job(tmp_path, {"main.py": PROTOCOL})
    assert not reasons(trace)
    assert trace.model_roots[0].parameters["weight"].shape == (5, 4)


HOOKED = NET + """
import torch.distributed as dist
dist.init_process_group('nccl')
class Held(torch.optim.Optimizer):
    def __init__(self, inner):
        self.inner = inner
        torch.optim.Optimizer.__init__(self, inner.param_groups, {})
    def step(self):
        self.inner.step()
    def zero_grad(self):
        self.inner.zero_grad()
model = Net().cuda()
count = torch.zeros(3, device='cuda')
inner = torch.optim.AdamW(model.parameters())
optimizer = %s
def update(optimizer, args, kwargs):
    dist.all_reduce(count)
optimizer.register_step_pre_hook(lambda *args, **kwargs: update(*args, **kwargs))
optimizer.register_step_post_hook(update)
for step in range(7):
    model(torch.randn(2, 4).cuda()).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_hooks_of_an_optimizer_run_round_each_step(tmp_path: Path) -> None:
    for made in ("inner", "Held(inner)"):
        found = record(job(tmp_path, {"main.py": HOOKED % made}, "torchrun --nproc-per-node 8 main.py"))
        sent = [row for row in found["device_device"] if row["collective"] == "all_reduce"]
        assert sum(row["repeat"] for row in sent) == 2 and sent[0]["phase"] == "optimizer"
        assert {row["frequency"]["per"] for row in sent} == {"step"}


READ = NET + """
import datasets
from torch.utils.data import DataLoader
class Texts(torch.utils.data.Dataset):
    def __init__(self):
        self.rows = datasets.load_dataset('json', split='train', data_files='x.json')
    def __len__(self):
        return len(self.rows)
    def __getitem__(self, index):
        row = self.rows[index]
        return torch.tensor(row['ids'])
model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for batch in DataLoader(Texts(), batch_size=4, num_workers=2):
    model(batch.cuda()).sum().backward()
    optimizer.step()
"""


def test_a_row_of_a_hugging_face_data_set_is_read_where_it_is_asked_for(tmp_path: Path) -> None:
    found = record(job(tmp_path, {"main.py": READ}))
    [read] = [row for row in found["data_path"] if row["hop"] == "read"]
    assert (read["code_anchor"], read["workers"]) == ("main.py:Texts.__getitem__:18", 2)


MARKED = NET + """
class Marked(nn.Parameter):
    def __new__(cls, tensor, requires_grad=True):
        param = nn.Parameter.__new__(cls, data=tensor.data.detach(), requires_grad=requires_grad)
        param.told = {}
        return param
    def tell(self, key):
        self.told[key] = True
    @property
    def is_tied(self):
        return 'tied' in self.told
model = nn.Linear(4, 2).cuda()
model.weight = Marked(model.weight)
model.weight.tell('tied')
assert isinstance(model.weight, Marked) and isinstance(model.weight, nn.Parameter) and model.weight.is_tied
assert [isinstance(p, Marked) for p in model.parameters()] == [True, False] and model.weight.shape == (2, 4)
for step in range(7):
    model(torch.randn(2, 4).cuda()).sum().backward()
"""


def test_a_class_below_parameter_makes_parameters_of_its_own(tmp_path: Path) -> None:
    trace = job(tmp_path, {"main.py": MARKED})
    assert not reasons(trace) and trace.model_roots[0].parameters["weight"].parameter
