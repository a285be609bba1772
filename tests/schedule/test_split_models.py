"""Models that several ranks hold together while a job only infers."""

from __future__ import annotations

from pathlib import Path

from serving_jobs import HEAD, NET, brief, line_of, served

from cgx.indexer.passes.schedule.frequency import plainly

PARALLEL = HEAD + """import torch.distributed as dist
from fairscale.nn.model_parallel.initialize import initialize_model_parallel, model_parallel_is_initialized
from fairscale.nn.model_parallel.layers import ColumnParallelLinear, ParallelEmbedding, RowParallelLinear
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = ParallelEmbedding(64, 8, init_method=lambda x: x)
        self.up = ColumnParallelLinear(8, 32, bias=False, gather_output=False)
        self.down = RowParallelLinear(32, 8, bias=False, input_is_parallel=True)
    def forward(self, tokens):
        return self.down(self.up(self.words(tokens)))
dist.init_process_group("nccl")
if not model_parallel_is_initialized():
    initialize_model_parallel(2)
torch.set_default_tensor_type(torch.cuda.HalfTensor)
net = Net()
tokens = torch.zeros(1, 4, dtype=torch.long, device="cuda")
for position in range(9):
    following = torch.argmax(net(tokens)[:, -1], dim=-1)
    tokens = torch.cat([tokens, following[:, None]], dim=1)
print(tokens.tolist())
"""


def test_layers_of_fairscale_gather_and_reduce(tmp_path: Path) -> None:
    found = served(tmp_path, PARALLEL, "torchrun --nproc-per-node 2 main.py")
    rows = found.rows["device_device"]
    assert [(line_of(row), row["collective"], row["parallelism"], row["frequency"]["per"]) for row in rows] == [
        (13, "all_gather", "tensor", "token"), (13, "all_reduce", "tensor", "token"),
    ]  # fmt: skip
    assert [row for row in found.rows["host_device"]["copies"] if row["direction"] == "H2D"] == []  # the default tensor type lies on the device
    assert "float16" in str(found.rows["compute"]["precision"])


SHARDED = NET + """    def forward(self, x):
        return self.b(self.a(x))
import os
from functools import partial
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp.wrap import lambda_auto_wrap_policy
class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Net() for _ in range(3)])
        self.head = nn.Linear(4, 4)
    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)
def shard(model, device):
    return FSDP(model, auto_wrap_policy=partial(lambda_auto_wrap_policy, lambda_fn=lambda m: m in model.blocks), device_id=device)
def generate(rank, encoder, net):
    with torch.no_grad():
        code = encoder(torch.randn(2, 4, device="cuda"))
        for timestep in range(5):
            code = code - net(code)
        if rank == 0:
            images = [code.float()]
    return images[0] if rank == 0 else None
def main():
    rank = int(os.getenv("RANK", 0))
    dist.init_process_group("nccl")
    encoder, net = shard(Stack(), rank), shard(Stack(), rank)
    image = generate(rank, encoder, net)
    if rank == 0:
        print(image[None].cpu())
main()
"""


def test_each_sharded_model_is_gathered_where_it_runs(tmp_path: Path) -> None:
    found = served(tmp_path, SHARDED, "torchrun --nproc-per-node 4 main.py")
    gathers = [row for row in found.rows["device_device"] if row["collective"] == "all_gather"]
    assert sorted((row["phase"], row["frequency"]["per"], row["repeat"]) for row in gathers) == [("prefill", "job", 4), ("sample", "denoising step", 4)]
    copies = [row for row in found.rows["host_device"]["copies"] if row["direction"] == "D2H"]
    assert brief(copies, "what", "ranks") == [("image[None].cpu()", "rank 0")]  # what the other ranks have there is None


def test_what_is_negated_twice_is_said_plainly() -> None:
    assert plainly("not (not (kind == 'a'))") == "kind == 'a'"
    assert plainly("not (not (not (a)))") == "not (a)"
    assert plainly("not (not (a) and (b))") == "not (not (a) and (b))"


LOADED = NET + """    def forward(self, x):
        return self.b(self.a(x))
from safetensors.torch import load_model
torch.set_default_dtype(torch.bfloat16)
with torch.device("cuda"):
    net = Net()
load_model(net, "model.safetensors")
print(net(torch.zeros(1, 4, device="cuda")).tolist())
"""


def test_weights_that_a_model_on_the_device_takes_from_a_file(tmp_path: Path) -> None:
    found = served(tmp_path, LOADED)
    assert ("H2D", "net", "startup") in brief(found.rows["host_device"]["copies"], "direction", "what", "phase")
    assert "default dtype" in str(found.rows["compute"]["precision"])


ENGINE = """import torch
import torch.distributed as dist
import transformer_engine as te
dist.init_process_group("nccl")
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        how = dict(tp_group=dist.new_group([0, 1]), sequence_parallel=SEQUENCE, params_dtype=torch.bfloat16)
        self.up = te.pytorch.LayerNormLinear(8, 32, parallel_mode="column", normalization="RMSNorm", bias=False, **how)
        self.down = te.pytorch.Linear(32, 8, parallel_mode="row", bias=False, **how)
    def forward(self, x):
        return self.down(self.up(x))
net = Net()
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for step in range(9):
    net(torch.zeros(4, 2, 8, device="cuda", dtype=torch.bfloat16)).sum().backward()
    optimizer.step()
"""


def test_layers_of_transformer_engine_reduce_or_gather(tmp_path: Path) -> None:
    def sent(folder: Path, sequence: str) -> list[tuple[str, str, bool, str | None]]:
        folder.mkdir()
        found = served(folder, ENGINE.replace("SEQUENCE", sequence), "torchrun --nproc-per-node 2 main.py")
        return [(row["phase"], row["collective"], row["async_op"], row["module"]) for row in found.rows["device_device"]]

    assert sent(tmp_path / "whole", "False") == [("backward", "all_reduce", True, "up"), ("forward", "all_reduce", False, "down")]
    assert sent(tmp_path / "split", "True") == [
        ("forward", "all_gather", False, "up"), ("backward", "all_gather", True, "up"), ("backward", "reduce_scatter", True, "up"),
        ("forward", "reduce_scatter", False, "down"), ("backward", "all_gather", False, "down"),
    ]  # fmt: skip
