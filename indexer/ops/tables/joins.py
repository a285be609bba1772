"""Ops that join tensors."""

from __future__ import annotations

from cgx.indexer.ops.rows import OpRow, row
from cgx.indexer.ops.rules import join as rules

ROWS: list[OpRow] = [
    row("cat", "torch", "tensors, dim=0, *, out=None", rules.cat, "[f32[2,3], f32[2,4]], 1 -> f32[2,7]", aliases="concat concatenate",
        autocast="promote"),
    row("stack", "torch", "tensors, dim=0, *, out=None", rules.stack, "[f32[2,3], f32[2,3]], -1 -> f32[2,3,2]", autocast="promote"),
    row("hstack", "torch", "tensors", rules.side_by_side, "[f32[2,3], f32[2,4]] -> f32[2,7]"),
    row("vstack", "torch", "tensors", rules.side_by_side, "[f32[3], f32[2,3]] -> f32[3,3]", aliases="row_stack"),
    row("dstack", "torch", "tensors", rules.side_by_side, "[f32[2,3], f32[2,3]] -> f32[2,3,2]"),
    row("column_stack", "torch", "tensors", rules.side_by_side, "[f32[3], f32[3,2]] -> f32[3,3]"),
    row("block_diag", "torch", "*tensors", rules.block_diag, "f32[2,3], f32[4,5] -> f32[6,8]"),
    row("meshgrid", "torch", "*tensors, indexing=None", rules.meshgrid, "f32[2], f32[3], indexing='ij' -> (f32[2,3], f32[2,3])",
        aliases="torch.functional.meshgrid", kind="view"),
    row("broadcast_tensors", "torch", "*tensors", rules.broadcast_tensors, "f32[2,1], f32[3] -> (f32[2,3], f32[2,3])",
        aliases="torch.functional.broadcast_tensors", kind="view"),
    row("broadcast_shapes", "torch", "*shapes", rules.broadcast_shapes, "(2, 1), (3,) -> (2, 3)", kind="query"),
    row("cartesian_prod", "torch", "*tensors", rules.cartesian_prod, "f32[2], f32[3] -> f32[6,2]"),
    row("combinations", "torch", "input, r=2, with_replacement=False", rules.combinations, "f32[4] -> f32[6,2]"),
    row("torch.nn.utils.rnn.pad_sequence", "", "sequences, batch_first=False, padding_value=0.0, padding_side='right'", rules.pad_sequence,
        "[f32[3,2], f32[5,2]] -> f32[5,2,2]"),
]  # fmt: skip
