"""Batches whose keys are not known, files written before the first step, words that differ by rank."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "interpreter"))
from interpreted import job

from cgx.indexer.passes.schedule import schedule

SOURCE = """
import fire, torch, torch.nn as nn, torch.distributed as dist
from torch.utils.data import DataLoader
from transformers import default_data_collator

def to_device(batch, device):
    return {key: value.to(device) for key, value in batch.items()}

def main(lr=0.1, local_rank=-1):
    if local_rank != 0:
        dist.barrier()
    if local_rank == 0:
        print("first")
        dist.barrier()
    else:
        lr = 5
    torch.save({"rows": 3}, "cache.pt")
    dist.barrier()
    model = nn.Linear(4, 2).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    for batch in DataLoader(torch.load("data.pt"), batch_size=2, collate_fn=default_data_collator):
        batch = to_device(batch, "cuda")
        loss = model(batch["x"]).sum()
        loss.backward()
        optimizer.step()
    torch.save(model.state_dict(), "model.pt")

if __name__ == "__main__":
    fire.Fire(main)
"""


def rows(folder: Path) -> dict[str, Any]:
    return dict(schedule(job(folder, {"main.py": SOURCE}, "deepspeed --num_gpus 2 main.py --lr 0.2")).rows)


def test_each_tensor_of_an_unknown_batch_is_copied(tmp_path: Path) -> None:
    (copy,) = [row for row in rows(tmp_path)["host_device"]["copies"] if row["phase"] == "data"]
    assert (copy["direction"], copy["source"], copy["frequency"]["per"], copy.get("repeat")) == ("H2D", "pageable", "step", None)


def test_a_cache_written_before_the_first_step_is_no_checkpoint(tmp_path: Path) -> None:
    found = rows(tmp_path)
    saved = [row for row in found["phases"] if row["name"] == "checkpoint"]
    assert [row["code_anchor"] for row in saved] == ["main.py:main:26"]
    barriers = [row for row in found["device_device"] if row["collective"] == "barrier"]
    assert [(row["phase"], row["ranks"]) for row in barriers] == [("startup", "local_rank != 0"), ("startup", "rank 0"), ("startup", "all")]


def test_where_other_ranks_leave_what_follows_is_of_those_that_stay(tmp_path: Path) -> None:
    source = SOURCE.replace("    else:\n        lr = 5\n", "    else:\n        return\n")
    found = dict(schedule(job(tmp_path, {"main.py": source}, "deepspeed --num_gpus 2 main.py --lr 0.2")).rows)
    assert {row["ranks"] for row in found["host_device"]["copies"]} == {"rank 0"}


def test_a_word_for_each_rank_reaches_its_parameter_and_startup_is_of_all_ranks(tmp_path: Path) -> None:
    found = rows(tmp_path)
    assert found["compute"]["optimizer"]["lr"] == 0.2
    assert {row["name"]: row["ranks"] for row in found["phases"]}["startup"] == "all"
