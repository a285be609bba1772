"""What a DTensor's change of layout sends, and what conditions on device tensors wait for."""

from __future__ import annotations

from pathlib import Path

import pytest
from interpreted import NET, job, record

SOURCE = NET + """
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
from torch.distributed.device_mesh import init_device_mesh
torch.distributed.init_process_group('nccl')
mesh = init_device_mesh('cuda', (2,), mesh_dim_names=('tp',))
model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(9):
    held = DTensor.from_local(model(torch.zeros(2, 4, device='cuda')), mesh, [{have}])
    held.redistribute(placements=[{want}]).to_local().sum().backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("have", "want", "forward", "backward"),
    [
        ("Replicate()", "Shard(0)", [], ["all_gather"]),
        ("Replicate()", "Partial()", [], []),
        ("Replicate()", "Replicate()", [], []),
        ("Shard(0)", "Replicate()", ["all_gather"], []),
        ("Shard(0)", "Shard(0)", [], []),
        ("Shard(0)", "Shard(1)", ["all_to_all"], ["all_to_all"]),
        ("Partial()", "Replicate()", ["all_reduce"], []),
        ("Partial()", "Shard(0)", ["reduce_scatter"], ["all_gather"]),
    ],
)
def test_what_a_change_of_layout_sends(tmp_path: Path, have: str, want: str, forward: list[str], backward: list[str]) -> None:
    found = record(job(tmp_path, {"main.py": SOURCE.format(have=have, want=want)}, "torchrun --nproc-per-node 2 main.py"))
    rows = [row for row in found["device_device"] if row["issued_by"] == "DTensor.redistribute"]
    assert [row["collective"] for row in rows if row["phase"] != "backward"] == forward
    assert [row["collective"] for row in rows if row["phase"] == "backward"] == backward
    assert {row["parallelism"] for row in rows} <= {"tensor"}


def test_the_last_part_of_a_condition_is_asked_too(tmp_path: Path) -> None:
    source = NET + (
        "import elsewhere\nmodel = Net().cuda()\noptimizer = torch.optim.SGD(model.parameters(), 0.1)\nfor step in range(9):\n"
        "    loss = model(torch.zeros(2, 4, device='cuda')).sum()\n    loss.backward()\n    optimizer.step()\n"
        "    if loss is not None and torch.isnan(loss):\n        print('a')\n    if elsewhere.asked() and loss > 3:\n        print('b')\n    kept = elsewhere.asked() and loss\n"
    )
    found = record(job(tmp_path, {"main.py": source}))
    assert [row["code_anchor"].rpartition(":")[2] for row in found["host_device"]["syncs"] if row["kind"] == "branch"] == ["16", "18"]


def test_a_sharded_model_knows_its_group(tmp_path: Path) -> None:
    source = NET + (
        "from torch.distributed.fsdp import FullyShardedDataParallel as FSDP\ntorch.distributed.init_process_group('nccl')\nmodel = FSDP(Net().cuda())\n"
        "optimizer = torch.optim.SGD(model.parameters(), 0.1)\nfor step in range(9):\n    loss = model(torch.zeros(2, 4, device='cuda')).sum()\n    loss.backward()\n"
        "    torch.distributed.all_reduce(loss, group=model.process_group)\n    optimizer.step()\n"
    )
    found = record(job(tmp_path, {"main.py": source}, "torchrun --nproc-per-node 2 main.py"))
    assert [row["parallelism"] for row in found["device_device"] if row["collective"] == "all_reduce"] == ["data"]
