"""Views that torch also offers as copies: ``torch.permute_copy`` and its kind."""

from __future__ import annotations

from cgx.indexer.ops.rows import Rule
from cgx.indexer.ops.rules import diagonal, split, view

COPIES: list[tuple[str, str, Rule, str]] = [
    ("permute", "input, dims", view.permute, "f32[2,3], (1, 0) -> f32[3,2]"),
    ("transpose", "input, dim0, dim1", view.transpose, "f32[2,3], 0, 1 -> f32[3,2]"),
    ("t", "input", view.turned, "f32[2,3] -> f32[3,2]"),
    ("view", "input, size", view.view, "f32[2,3], (6,) -> f32[6]"),
    ("expand", "input, size", view.expand, "f32[1,3], (2, 3) -> f32[2,3]"),
    ("squeeze", "input, dim=None", view.squeeze, "f32[1,3], 0 -> f32[3]"),
    ("unsqueeze", "input, dim", view.unsqueeze, "f32[3], 0 -> f32[1,3]"),
    ("select", "input, dim, index", view.select, "f32[2,3], 0, 1 -> f32[3]"),
    ("detach", "input", view.copied, "f32[3] -> f32[3]"),
    ("diagonal", "input, offset=0, dim1=0, dim2=1", diagonal.diagonal, "f32[3,3] -> f32[3]"),
    ("unbind", "input, dim=0", split.unbind, "f32[2,3] -> (f32[3], f32[3])"),
    ("split", "input, split_size_or_sections, dim=0", split.split, "f32[4], 2 -> (f32[2], f32[2])"),
    ("unfold", "input, dimension, size, step", diagonal.unfold_dim, "f32[9], 0, 3, 3 -> f32[3,3]"),
    ("view_as_real", "input", diagonal.as_real, "c64[3] -> f32[3,2]"),
    ("view_as_complex", "input", diagonal.as_complex, "f32[3,2] -> c64[3]"),
]
