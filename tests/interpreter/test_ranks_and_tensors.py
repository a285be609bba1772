"""Numbers that differ by rank beside tensors: each rank runs the op once."""

from __future__ import annotations

from pathlib import Path

from interpreted import job, ops

SOURCE = """
import os, torch
rank = int(os.environ["RANK"])
x = torch.zeros(4)
inside = (x < rank * 2) | (rank * 2 + 2 <= x)
"""


def test_a_comparison_with_a_number_of_the_rank_is_one_op(tmp_path: Path) -> None:
    trace = job(tmp_path, {"main.py": SOURCE}, "torchrun --nproc-per-node 4 main.py")
    assert ops(trace) == ["zeros", "lt", "ge", "or"]
