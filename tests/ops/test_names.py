"""Torch's names."""

from __future__ import annotations

import pytest

from cgx.indexer.ops.layers import LAYERS
from cgx.indexer.ops.names import TORCH_VERSION, has_table, members, table, torch_name


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("torch.nn.functional.scaled_dot_product_attention", "function"),
        ("torch.nn.Linear", "class"),
        ("torch.bfloat16", "dtype"),
        ("torch.distributed", "module"),
        ("torch.distributed.all_reduce", "function"),
        ("torch.Tensor.masked_fill", "function"),
        ("torch.nn.Module.register_buffer", "function"),
        ("torch.inf", "constant"),
        ("torch.nn.functional.no_such_thing", None),
        ("torch.compile", "function"),
        ("torch.nn", "module"),
        ("numpy.ndarray", None),
    ],
)
def test_kind(name: str, kind: str | None) -> None:
    assert torch_name(name) == kind


def test_every_layer_is_named() -> None:
    missing = [row.name for table in LAYERS for row in table if row.name.startswith("torch.nn.") and row.name.count(".") == 2 and torch_name(row.name) != "class"]
    assert missing == []


def test_size_of_the_table() -> None:
    assert has_table("torch.Tensor") and not has_table("torch.no_such")
    assert len(members("torch.Tensor")) > 600
    assert len(members("torch.distributed")) > 100
    assert sum(map(len, table().values())) > 8000


def test_version_is_the_one_of_the_table() -> None:
    from pathlib import Path

    import cgx.indexer.ops.names as names

    head = (Path(names.__file__).parent / "data" / "torch_names.txt").read_text().splitlines()[0]
    assert f"torch {TORCH_VERSION} " in head
