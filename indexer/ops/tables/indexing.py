"""Indexing, gathering, scattering, embedding."""

from __future__ import annotations

from cgx.indexer.ops.rows import OpRow, row
from cgx.indexer.ops.rules import gather
from cgx.indexer.ops.rules import index as rules

TM = "torch Tensor"

ROWS: list[OpRow] = [
    row("getitem", "operator", "input, key", rules.getitem, "f32[4,5,6], (slice(None), None, 0) -> f32[4,1,6]",
        aliases="torch.Tensor.__getitem__", sync_rule=rules.index_sync),
    row("setitem", "operator", "input, key, value", rules.setitem, "f32[4,5], 0, 1.0 -> f32[4,5]", aliases="torch.Tensor.__setitem__",
        sync_rule=rules.setitem_sync, inplace=True),
    row("delitem", "operator", "input, key", rules.setitem, "", aliases="torch.Tensor.__delitem__"),
    row("gather", TM, "input, dim, index, *, sparse_grad=False, out=None", gather.gather, "f32[4,5], 1, i64[4,2] -> f32[4,2]"),
    row("take_along_dim", TM, "input, indices, dim=None", gather.gather, "f32[4,5], i64[4,2], 1 -> f32[4,2]"),
    row("take", TM, "input, index", gather.take, "f32[4,5], i64[3] -> f32[3]"),
    row("index_select", TM, "input, dim, index, *, out=None", gather.index_select, "f32[4,5], 1, i64[3] -> f32[4,3]"),
    row("scatter", TM, "input, dim, index, src=None, *, value=None, reduce=None", gather.unchanged, "f32[4,5], 1, i64[4,2], f32[4,2] -> f32[4,5]",
        has_inplace=True),
    row("scatter_add", TM, "input, dim, index, src", gather.unchanged, "f32[4,5], 1, i64[4,2], f32[4,2] -> f32[4,5]", autocast="promote",
        has_inplace=True),
    row("scatter_reduce", TM, "input, dim, index, src, reduce, *, include_self=True", gather.unchanged,
        "f32[4,5], 1, i64[4,2], f32[4,2], 'sum' -> f32[4,5]", has_inplace=True),
    row("index_add", TM, "input, dim, index, source, *, alpha=1", gather.unchanged, "f32[4,5], 0, i64[2], f32[2,5] -> f32[4,5]",
        has_inplace=True),
    row("index_copy", TM, "input, dim, index, source", gather.unchanged, "f32[4,5], 0, i64[2], f32[2,5] -> f32[4,5]", has_inplace=True),
    row("index_fill", TM, "input, dim, index, value", gather.unchanged, "f32[4,5], 0, i64[2], 1.0 -> f32[4,5]", has_inplace=True),
    row("index_reduce", TM, "input, dim, index, source, reduce, *, include_self=True", gather.unchanged,
        "f32[4,5], 0, i64[2], f32[2,5], 'mean' -> f32[4,5]", has_inplace=True),
    row("index_put", TM, "input, indices, values, accumulate=False", gather.unchanged, "f32[4,5], (i64[2],), f32[2,5] -> f32[4,5]",
        autocast="promote", has_inplace=True),
    row("masked_fill", TM, "input, mask, value", gather.masked_fill, "f32[4,5], b8[5], 0.0 -> f32[4,5]", has_inplace=True),
    row("masked_scatter", TM, "input, mask, source", gather.unchanged, "f32[4,5], b8[4,5], f32[20] -> f32[4,5]", has_inplace=True),
    row("masked_select", TM, "input, mask, *, out=None", gather.masked_select, "f32[4,5], b8[4,5] -> f32[?]", sync="dynamic shape"),
    row("select_scatter", TM, "input, src, dim, index", gather.unchanged, "f32[4,5], f32[5], 0, 1 -> f32[4,5]"),
    row("slice_scatter", TM, "input, src, dim=0, start=None, end=None, step=1", gather.unchanged, "f32[4,5], f32[2,5], 0, 0, 2 -> f32[4,5]"),
    row("diagonal_scatter", TM, "input, src, offset=0, dim1=0, dim2=1", gather.unchanged, "f32[4,4], f32[4] -> f32[4,4]"),
    row("nonzero", TM, "input, *, out=None, as_tuple=False", gather.nonzero, "b8[4,5] -> i64[?,2]", sync="dynamic shape"),
    row("argwhere", TM, "input", gather.argwhere, "b8[4,5] -> i64[?,2]", sync="dynamic shape"),
    row("put", "Tensor", "input, index, source, accumulate=False", gather.unchanged, "f32[4], i64[2], f32[2] -> f32[4]", has_inplace=True),
    row("one_hot", "F", "input, num_classes=-1", gather.one_hot, "i64[4], 7 -> i64[4,7]", sync_rule=gather.one_hot_sync,
        aliases="torch._C._nn.one_hot"),
    row("embedding", "F", "input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False",
        gather.embedding, "i64[B,T], f32[100,8] -> f32[B,T,8]"),
    row("embedding", "torch", "weight, input, padding_idx=-1, scale_grad_by_freq=False, sparse=False",
        gather.embedding, "f32[100,8], i64[4] -> f32[4,8]"),
    row("embedding_bag", "F", "input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, mode='mean', "
        "sparse=False, per_sample_weights=None, include_last_offset=False, padding_idx=None", gather.embedding_bag,
        "i64[9], f32[100,8], i64[4] -> f32[4,8]"),
    row("searchsorted", "torch", "sorted_sequence, input, *, out_int32=False, right=False, side=None", gather.searchsorted,
        "f32[9], f32[4] -> i64[4]"),
    row("bucketize", "torch", "input, boundaries, *, out_int32=False, right=False", gather.searchsorted, "f32[4], f32[9] -> i64[4]"),
    row("isin", "torch", "elements, test_elements, *, assume_unique=False, invert=False", gather.isin, "i64[4], i64[2] -> b8[4]"),
    row("tril_indices", "torch", "row, col, offset=0, *, dtype=None, device=None", gather.triangle_indices, "4, 4 -> i64[2,10]", kind="factory"),
    row("triu_indices", "torch", "row, col, offset=0, *, dtype=None, device=None", gather.triangle_indices, "4, 4, 1 -> i64[2,6]",
        kind="factory"),
    row("resize_", "Tensor", "input, *size", gather.resized, "f32[4], 2, 2 -> f32[2,2]", inplace=True),
]  # fmt: skip
