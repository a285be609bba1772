"""Data sets that are streamed in shards, read without the library's source."""

from __future__ import annotations

from pathlib import Path

import pytest

from cgx.indexer.job import JobRequest, read_job
from cgx.indexer.source import open_tree

STEP = """
import torch
from torch import nn
net = nn.Linear(8, 8).cuda()
for batch in loader:
    x = {batch}
    net(x.float().cuda(non_blocking=True)).sum().backward()
"""
LITDATA = """
from litdata.streaming import CombinedStreamingDataset, StreamingDataLoader, StreamingDataset, TokensLoader
one = StreamingDataset(input_dir="a", item_loader=TokensLoader(block_size=9), shuffle=True, drop_last=True)
two = StreamingDataset(input_dir="b", item_loader=TokensLoader(block_size=9))
data = CombinedStreamingDataset(datasets=[one, two], seed=1)
loader = StreamingDataLoader(data, batch_size=4, pin_memory=True, num_workers=8)
"""
MOSAIC = """
from streaming import StreamingDataLoader, StreamingDataset
class Texts(StreamingDataset):
    def __getitem__(self, index):
        return torch.tensor(super().__getitem__(index)["tokens"])
loader = StreamingDataLoader(Texts(local="a", shuffle=True), batch_size=4)
"""


@pytest.mark.parametrize(
    ("source", "batch", "hops"),
    [
        (
            LITDATA,
            "batch[:, :8]",
            [
                ("read", "litdata.StreamingDataset", 8),
                ("read", "litdata.StreamingDataset", 8),
                ("sample", "litdata.StreamingDataset shuffle", 8),
                ("collate", "default_collate", 8),
                ("worker queue", "torch.utils.data.DataLoader", 8),
                ("prefetch", "DataLoader prefetch_factor=2", 8),
                ("pin", "DataLoader pin_memory thread", 1),
            ],
        ),
        (MOSAIC, "batch", [("read", "streaming.StreamingDataset", 0), ("collate", "default_collate", 0)]),
    ],
)
def test_shards_are_read_in_the_order_of_the_data_set(tmp_path: Path, source: str, batch: str, hops: list[tuple[str, str, int]]) -> None:
    (tmp_path / "main.py").write_text("import torch\n" + source + STEP.format(batch=batch))
    rows = read_job(open_tree(tmp_path), [], JobRequest(launch="python main.py"), [])
    assert rows.schedule is not None
    assert [(row["hop"], row["by"], row["workers"]) for row in rows.schedule["data_path"] if row["hop"] != "copy"] == hops


def test_blocks_of_tokens_have_their_length(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(LITDATA + STEP.format(batch="batch[:, :8]"))
    rows = read_job(open_tree(tmp_path), [], JobRequest(launch="python main.py"), [])
    assert [row["shapes"]["in"][0]["dims"] for row in rows.graph["modules"] if row["type"] == "torch.nn.Linear"] == [[4, 8]]
