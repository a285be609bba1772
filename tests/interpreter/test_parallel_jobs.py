"""Sharded and tensor-parallel jobs, from a script to the rows of the record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from interpreted import job

from cgx.indexer.passes.schedule import build

HEAD = """
import os
import torch, torch.nn as nn, torch.distributed as dist
from torch.distributed.fsdp import fully_shard, FullyShardedDataParallel as FSDP, ShardingStrategy
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import parallelize_module, ColwiseParallel, RowwiseParallel, SequenceParallel
from torch.distributed.tensor import Shard, Replicate

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.up = nn.Linear(8, 32)
        self.down = nn.Linear(32, 8)
    def forward(self, x):
        return x + self.down(self.up(self.norm(x)))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.layers = nn.ModuleList([Block() for _ in range(3)])
    def forward(self, x):
        x = self.first(x)
        for layer in self.layers:
            x = layer(x)
        return x
"""
LOOP = """
for step in range(5):
    loss = model(torch.randn(4, 8, device="cuda")).sum()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
"""


def rows(folder: Path, text: str, world: int = 4) -> dict[str, Any]:
    return build(job(folder, {"main.py": HEAD + text}, f"torchrun --nproc_per_node {world} main.py")).rows


def sent(found: dict[str, Any], phase: str) -> list[tuple[Any, ...]]:
    return [(row["collective"], row["issued_by"], row.get("repeat")) for row in found["device_device"] if row["phase"] == phase]


def test_the_outermost_unit_stays_gathered(tmp_path: Path) -> None:
    found = rows(tmp_path, """
dist.init_process_group("nccl")
model = Net()
for layer in model.layers:
    fully_shard(layer)
fully_shard(model)
opt = torch.optim.AdamW(model.parameters())
""" + LOOP)
    assert sent(found, "forward") == [("all_gather", "fully_shard", 3), ("all_gather", "fully_shard", 1)]
    assert sorted(sent(found, "backward")) == [
        ("all_gather", "fully_shard", 3), ("reduce_scatter", "fully_shard", 1), ("reduce_scatter", "fully_shard", 3)]  # fmt: skip
    assert sent(found, "optimizer") == [("all_reduce", "DTensor", 1)]
    assert len({row["code_anchor"] for row in found["overlap"]}) == 1  # only the layers run beside something
    copies = [(row["phase"], row["direction"], row["repeat"]) for row in found["host_device"]["copies"]]
    assert copies == [("startup", "H2D", 3), ("startup", "H2D", 1)]
    assert found["compute"]["optimizer"]["implementation"] == "foreach"


def test_a_root_that_is_told_to_reshard_gathers_again(tmp_path: Path) -> None:
    text = """
dist.init_process_group("nccl")
model = Net()
fully_shard(model%s)
%s
opt = torch.optim.SGD(model.parameters(), lr=0.1)
""" + LOOP
    told = sent(rows(tmp_path / "a", text % (", reshard_after_forward=True", "")), "backward")
    later = sent(rows(tmp_path / "b", text % ("", "model.set_reshard_after_forward(True)")), "backward")
    assert told == later == [("all_gather", "fully_shard", 1), ("reduce_scatter", "fully_shard", 1)]


def test_replicas_of_shards_sum_their_gradients(tmp_path: Path) -> None:
    found = rows(tmp_path, """
mesh = init_device_mesh("cuda", (2, 2), mesh_dim_names=("dp_replicate", "dp_shard"))
model = Net()
fully_shard(model, mesh=mesh)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
""" + LOOP)
    assert sent(found, "backward") == [("reduce_scatter", "fully_shard", 1), ("all_reduce", "fully_shard", 1)]


def test_flat_parameters(tmp_path: Path) -> None:
    found = rows(tmp_path, """
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = FSDP(Net(), auto_wrap_policy=ModuleWrapPolicy({Block}), device_id=torch.cuda.current_device(), sync_module_states=True)
opt = torch.optim.AdamW(model.parameters())
""" + LOOP.replace("nn.utils.clip_grad_norm_(model.parameters(), 1.0)", "model.clip_grad_norm_(1.0)"))
    assert sent(found, "startup") == [("broadcast", "FullyShardedDataParallel", 4)]
    assert sorted(sent(found, "backward")) == [
        ("all_gather", "FullyShardedDataParallel", 3), ("reduce_scatter", "FullyShardedDataParallel", 4)]  # fmt: skip
    assert [row["direction"] for row in found["host_device"]["copies"]] == ["H2D"]
    assert found["compute"]["optimizer"]["implementation"] == "for-loop"  # their type is none that torch groups


def test_tensor_parallel_layers(tmp_path: Path) -> None:
    """The input of the first layer needs no gradient; norms of a sequence-parallel unit sum theirs under ``fully_shard``."""
    found = rows(tmp_path, """
mesh = init_device_mesh("cuda", (2, 2), mesh_dim_names=("dp", "tp"))
model = Net().to("cuda")
parallelize_module(model, mesh["tp"], {"first": ColwiseParallel(output_layouts=Replicate())})
for layer in model.layers:
    parallelize_module(layer, mesh["tp"], {"norm": SequenceParallel(), "up": ColwiseParallel(input_layouts=Shard(1)),
                                           "down": RowwiseParallel(output_layouts=Shard(1))})
fully_shard(model, mesh=mesh["dp"])
opt = torch.optim.AdamW(model.parameters())
""" + LOOP)
    assert sorted(sent(found, "startup")) == [
        ("broadcast", "parallelize_module", 3), ("scatter", "parallelize_module", 2), ("scatter", "parallelize_module", 9)]  # fmt: skip
    assert sorted(sent(found, "forward")) == [
        ("all_gather", "fully_shard", 1), ("all_gather", "parallelize_module", 1), ("all_gather", "parallelize_module", 3),
        ("reduce_scatter", "parallelize_module", 3)]  # fmt: skip
    backward = sorted(sent(found, "backward"))
    assert backward == [
        ("all_gather", "parallelize_module", 3), ("all_reduce", "parallelize_module", 6), ("reduce_scatter", "fully_shard", 1),
        ("reduce_scatter", "parallelize_module", 3)]  # fmt: skip


def test_a_gathered_checkpoint_is_of_all_ranks(tmp_path: Path) -> None:
    found = rows(tmp_path, """
dist.init_process_group("nccl")
model = Net()
fully_shard(model)
opt = torch.optim.AdamW(model.parameters())
""" + LOOP + """
def save():
    whole, states = {}, {}
    for name, tensor in model.state_dict().items():
        full = tensor.full_tensor()
        if dist.get_rank() == 0:
            whole[name] = full.cpu()
    for index, state in opt.state_dict()["state"].items():
        for name, tensor in state.items():
            states[index, name] = tensor.full_tensor() if name != "step" else tensor
    if dist.get_rank() == 0:
        torch.save(whole, "model.pt")
save()
""")
    assert sent(found, "checkpoint") == [("all_gather", "DTensor.full_tensor", 20), ("all_gather", "DTensor.full_tensor", 40)]
    assert [(row["ranks"], row["repeat"]) for row in found["host_device"]["copies"] if row["phase"] == "checkpoint"] == [("rank 0", 20)]
    assert [row["ranks"] for row in found["phases"] if row["name"] == "checkpoint"] == ["all"]


def test_ranks_of_a_condition_that_is_known_in_part(tmp_path: Path) -> None:
    found = rows(tmp_path, """
dist.init_process_group("nccl")
rank = int(os.environ["RANK"])
model = Net().to(rank)
start = 0
if os.path.exists("snapshot.pt"):
    start = torch.load("snapshot.pt", map_location=f"cuda:{rank}")["epoch"]
opt = torch.optim.SGD(model.parameters(), lr=0.1)
loader = torch.utils.data.DataLoader([torch.randn(8) for _ in range(16)], batch_size=4)
for epoch in range(start, 9):
    size = len(next(iter(loader))[0])
    for x in loader:
        model(x.to(rank)).sum().backward()
        opt.step()
    if rank == 0 and epoch % 3 == 0:
        torch.save(model.state_dict(), "snapshot.pt")
""")
    phases = {row["name"]: row for row in found["phases"]}
    assert (phases["checkpoint"]["ranks"], phases["checkpoint"]["every"]["count"]) == ("rank 0", 3)
    assert phases["data"]["kind"] == "repeated"
    places = {(row["phase"], row["direction"]) for row in found["host_device"]["copies"]}
    assert places == {("startup", "H2D"), ("data", "H2D"), ("checkpoint", "D2H")}


PIPE = """
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe, Schedule1F1B, ScheduleInterleaved1F1B, get_schedule_class
world, rank = int(os.environ["WORLD_SIZE"]), int(os.environ["RANK"])
dist.init_process_group("nccl")
device = torch.device(f"cuda:{rank}")
def stage(index, count):
    return PipelineStage(Block().to(device), index, count, device)
def loss(out, target):
    return (out - target).sum()
"""
STEPS = """
for i in range(5):
    %s
    opt.step()
"""


def handed(found: dict[str, Any]) -> list[tuple[Any, ...]]:
    names = ("collective", "phase", "blocking", "repeat", "ranks")
    return [tuple(row[name] for name in names) for row in found["device_device"] if row["frequency"]["per"] == "micro-step"]


def test_pipeline_stages_hand_on_each_microbatch(tmp_path: Path) -> None:
    found = rows(tmp_path, PIPE + """
one = stage(rank, world)
schedule = ScheduleGPipe(one, n_microbatches=8, loss_fn=loss)
opt = torch.optim.SGD(one.submod.parameters(), lr=0.1)
""" + STEPS % "schedule.step(torch.randn(16, 8, device=device), target=torch.randn(16, 8, device=device))")
    not_first, not_last = "not stage.is_first", "not stage.is_last"
    assert handed(found) == [
        ("recv", "forward", True, 1, not_first), ("send", "forward", False, 1, not_last),
        ("recv", "backward", True, 1, not_last), ("send", "backward", False, 1, not_first)]  # fmt: skip
    assert {row["parallelism"] for row in found["device_device"]} == {"pipeline"}
    assert found["compute"]["gradient_accumulation"]["value"] == 8
    assert [row["count"] for row in found["loops"] if row["unit"] == "micro-step"] == [8]
    once = [row for row in found["device_device"] if row["frequency"]["per"] == "job"]
    assert {row["collective"] for row in once} == {"send", "recv"}  # what they send is told once


def test_a_rank_of_its_own_line_has_its_own_neighbours(tmp_path: Path) -> None:
    found = rows(tmp_path, PIPE + """
one = stage(rank, world)
schedule = Schedule1F1B(one, n_microbatches=8, loss_fn=loss)
opt = torch.optim.SGD(one.submod.parameters(), lr=0.1)
for i in range(5):
    if rank == 0:
        schedule.step(torch.randn(16, 8, device=device))
    else:
        schedule.step(target=torch.randn(16, 8, device=device))
    opt.step()
""")
    assert [row[:4] for row in handed(found)] == [("send", "forward", True, 1), ("recv", "backward", True, 1)]
    assert not found["overlap"]


def test_several_stages_on_a_rank(tmp_path: Path) -> None:
    found = rows(tmp_path, PIPE + """
schedule_class = get_schedule_class("interleaved1f1b")
mesh = init_device_mesh("cuda", (2, 2), mesh_dim_names=("pp", "dp"))
place = mesh["pp"].get_local_rank()
held = [stage(place, 4), stage(place + 2, 4)]
schedule = schedule_class(held, n_microbatches=4, loss_fn=loss)
opt = torch.optim.SGD(held[0].submod.parameters(), lr=0.1)
""" + STEPS % "schedule.step(torch.randn(16, 8, device=device), target=torch.randn(16, 8, device=device))")
    forward = [(row[0], row[4]) for row in handed(found) if row[1] == "forward"]
    assert forward == [("recv", "not stage.is_first"), ("send", "all"), ("recv", "all"), ("send", "not stage.is_last")]
    assert {row["mechanism"] for row in found["overlap"]} == {"async collective"}


def test_where_a_rank_stands_in_a_mesh_and_in_its_group(tmp_path: Path) -> None:
    found = rows(tmp_path, """
mesh = init_device_mesh("cuda", (2, 2, 2), mesh_dim_names=("pp", "dp", "cp"))
whole = mesh["dp", "cp"]._flatten("dp_cp")
if mesh.get_local_rank("dp") == 1:
    raise RuntimeError("rank 0 stands at 0")
if mesh["dp_cp"].get_local_rank() == 3:
    raise RuntimeError("so it does in the flattened dim")
for ranks in ([0, 1, 2, 3], [4, 5, 6, 7]):
    group = dist.new_group(ranks)
    if dist.get_rank() in ranks:
        own = group
tail = dist.get_rank(own) == dist.get_world_size(own) - 1
model = Net().to("cuda")
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for i in range(3):
    model(torch.randn(4, 8, device="cuda")).sum().backward()
    opt.step()
    if mesh.get_local_rank("pp") == 0:
        dist.barrier()
    if dist.get_rank(own) == 0:
        dist.all_reduce(torch.ones(1, device="cuda"))
""", 8)
    ranks = {row["collective"]: row["ranks"] for row in found["device_device"]}
    assert ranks == {"barrier": 'mesh.get_local_rank("pp") == 0', "all_reduce": "dist.get_rank(own) == 0"}


def test_functions_of_the_source_send_in_their_backward(tmp_path: Path) -> None:
    """Where it is computed beside an asynchronous one, that one overlaps; an evaluation has no backward."""
    found = rows(tmp_path, """
dist.init_process_group("nccl")
TP = dist.new_group(list(range(4)))
def tp_group():
    return TP
class Copy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x
    @staticmethod
    def backward(ctx, grad):
        dist.all_reduce(grad, group=tp_group())
        return grad
class Apart(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x.matmul(weight.t())
    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        below = grad.matmul(weight)
        handle = dist.all_reduce(below, group=tp_group(), async_op=True)
        own = grad.t().matmul(x)
        handle.wait()
        return below, own
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(8, 8))
    def forward(self, x):
        return Apart.apply(Copy.apply(x), self.weight)
model = nn.Sequential(Layer(), Layer()).cuda()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for i in range(4):
    model(torch.randn(4, 8, device="cuda")).sum().backward()
    opt.step()
    with torch.no_grad():
        model(torch.randn(4, 8, device="cuda"))
""")
    sends = [(row["phase"], row["parallelism"], row["blocking"], row["repeat"]) for row in found["device_device"]]
    assert sends == [("backward", "tensor", True, 2), ("backward", "tensor", False, 2)]
    assert [row["mechanism"] for row in found["overlap"]] == ["async collective"]


def test_differentiable_collectives_send_back(tmp_path: Path) -> None:
    found = rows(tmp_path, """
import torch.distributed.nn.functional as differentiable
dist.init_process_group("nccl")
model = Net().cuda()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for i in range(4):
    out = model(torch.randn(4, 8, device="cuda"))
    torch.cat(differentiable.all_gather(out)).sum().backward()
    opt.step()
""")
    assert [(row["collective"], row["phase"]) for row in found["device_device"]] == [("all_gather", "forward"), ("reduce_scatter", "backward")]


def test_each_process_has_a_device(tmp_path: Path) -> None:
    """How many devices the node has is not known, but no fewer than its processes; a group tells its size."""
    trace = job(tmp_path, {"main.py": """
import torch
import torch.distributed as dist
if torch.cuda.device_count() > 0 and torch.cuda.device_count() >= 4 and not torch.cuda.device_count() < 2 and torch.cuda.device_count():
    dist.init_process_group("nccl")
    group = dist.new_group([0, 1])
    torch.nn.Linear(4, 4 * group.size()).cuda()(torch.randn(2, 4, device="cuda"))
"""}, "torchrun --nproc_per_node 4 main.py")
    (called,) = [node for node in trace.root.walk() if type(node).__name__ == "ModuleCall"]
    assert called.outputs[0][1].shape == (2, 8)
    assert not trace.unknowns
