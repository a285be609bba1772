"""Attention over a sequence that several ranks share: what xfuser's and yunchang's layers send, read without their source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cgx.indexer.job import JobRequest, read_job
from cgx.indexer.source import open_tree

SOURCE = """
import os, torch, torch.nn as nn
import torch.distributed as dist
from xfuser.core.distributed import (
    get_cfg_group, get_sequence_parallel_rank, get_sequence_parallel_world_size, get_sp_group, init_distributed_environment, initialize_model_parallel)
from xfuser.core.long_ctx_attention import xFuserLongContextAttention
from yunchang import LongContextAttention
from yunchang.kernels import AttnType

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(64, 192)
        self.attention = {made}
    def forward(self, x):
        x = torch.chunk(x, get_sequence_parallel_world_size(), dim=1)[get_sequence_parallel_rank()]
        q, k, v = self.qkv(x).view(*x.shape[:2], 3, 8, 8).unbind(2)
        x = x + self.attention({first}q, k, v).flatten(2)
        return get_cfg_group().all_gather(get_sp_group().all_gather(x, dim=1))

init_distributed_environment(rank=int(os.environ["RANK"]), world_size=int(os.environ["WORLD_SIZE"]))
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
initialize_model_parallel(classifier_free_guidance_degree=2, ulysses_degree=2, ring_degree=4)
net = Net().cuda().eval()
with torch.no_grad():
    for step in range(5):
        net(torch.randn(2, 128, 64, device="cuda"))
"""


def sent(folder: Path, made: str, first: str = "None, ") -> list[tuple[Any, ...]]:
    (folder / "main.py").write_text(SOURCE.replace("{made}", made).replace("{first}", first))
    found = read_job(open_tree(folder), [], JobRequest(launch="torchrun --nproc-per-node 16 main.py"), [])
    assert found.schedule is not None and not found.trace.faults
    return [(one["collective"], one["parallelism"], one["repeat"], one.get("bytes")) for one in found.schedule["device_device"]]


SHARE = 2 * 16 * 8 * 8 * 4  # bytes of one of queries, keys and values on a rank: 128 positions over eight ranks
AROUND = [("send", "sequence", 6, SHARE), ("recv", "sequence", 6, SHARE)]  # keys and values, in three steps round four ranks
GATHERED = [("all_gather", "sequence", 1, SHARE), ("all_gather", "data", 1, 8 * SHARE)]


@pytest.mark.parametrize(
    ("made", "first"), [("xFuserLongContextAttention()", "None, "), ("LongContextAttention(attn_type=AttnType.TORCH_FLASH)", "")]
)
def test_queries_keys_values_and_the_output_change_hands(tmp_path: Path, made: str, first: str) -> None:
    assert sent(tmp_path, made, first) == [("all_to_all", "sequence", 4, SHARE), *AROUND, *GATHERED]


def test_packed_they_are_sent_in_one(tmp_path: Path) -> None:
    found = sent(tmp_path, "xFuserLongContextAttention(use_pack_qkv=True)")
    assert [(kind, repeat) for kind, _, repeat, _ in found if kind == "all_to_all"] == [("all_to_all", 2)]
