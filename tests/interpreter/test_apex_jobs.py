"""Jobs with apex's mixed precision and wrapper, which is there because the job says that it needs it."""

from __future__ import annotations

from pathlib import Path

from interpreted import NET, job, record

SOURCE = NET + """
import torch.distributed as dist
try:
    from apex import amp
    from apex.parallel import DistributedDataParallel as DDP
except ImportError:
    amp = None
if amp is None:
    raise RuntimeError('please install apex')
dist.init_process_group('nccl')
model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
model, optimizer = amp.initialize(model, optimizer, opt_level='O1')
model = DDP(model)
for step in range(9):
    loss = model(torch.zeros(2, 4).cuda()).sum()
    with amp.scale_loss(loss, optimizer) as scaled:
        scaled.backward()
    torch.nn.utils.clip_grad_norm_(amp.master_params(optimizer), 1.0)
    optimizer.step()
    optimizer.zero_grad()
"""


def test_a_job_with_apex(tmp_path: Path) -> None:
    found = record(job(tmp_path, {"main.py": SOURCE}, "torchrun --nproc_per_node=2 main.py"))
    assert found["compute"]["precision"]["value"] == "float16"
    assert [(row["collective"], row["phase"]) for row in found["device_device"]] == [("broadcast", "startup"), ("all_reduce", "backward")]
    assert [(row["what"], row["phase"]) for row in found["host_device"]["syncs"] if row["kind"] == "item"] == [("overflow", "optimizer")]
    assert found["compute"]["grad_clip"]["value"] == 1.0
