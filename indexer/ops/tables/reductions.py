"""Reductions, scans, sorting and counting."""

from __future__ import annotations

import math
import statistics

from cgx.indexer.ops.rows import OpRow, row
from cgx.indexer.ops.rules import reduce as rules
from cgx.indexer.ops.rules import sorting
from cgx.indexer.ops.rules.reduce import extreme, reduction, scan, truth
from cgx.indexer.ops.tensors import tensor

TM = "torch Tensor"
REDUCE = "input, dim=None, keepdim=False, *, dtype=None, out=None"

ROWS: list[OpRow] = [
    row("sum", TM, REDUCE, reduction("sum", sum), "f32[2,3], dim=1 -> f32[2]", autocast="fp32"),
    row("mean", TM, REDUCE, reduction("same", statistics.fmean), "f32[2,3], dim=-1, keepdim=True -> f32[2,1]"),
    row("prod", TM, REDUCE, reduction("sum", math.prod), "i32[2,3] -> i64[]", autocast="fp32"),
    row("nansum", TM, REDUCE, reduction("sum"), "f32[2,3], 0 -> f32[3]"),
    row("nanmean", TM, REDUCE, reduction("same"), "f32[2,3], 0 -> f32[3]"),
    row("logsumexp", TM, "input, dim, keepdim=False, *, out=None", reduction("float"), "f32[2,3], 1 -> f32[2]",
        aliases="torch.special.logsumexp", autocast="fp32"),
    row("amax", TM, "input, dim=(), keepdim=False", reduction("same", max), "f32[2,3], 1 -> f32[2]"),
    row("amin", TM, "input, dim=(), keepdim=False", reduction("same", min), "f32[2,3], (0, 1) -> f32[]"),
    row("max", TM, "input, dim=None, keepdim=False, *, other=None, out=None", extreme("values indices", max, max),
        "f32[2,3], dim=1 -> (f32[2], i64[2])"),
    row("min", TM, "input, dim=None, keepdim=False, *, other=None, out=None", extreme("values indices", min, min),
        "f32[2,3] -> f32[]"),
    row("median", TM, "input, dim=None, keepdim=False", extreme(), "f32[2,3], 1, True -> (f32[2,1], i64[2,1])"),
    row("nanmedian", TM, "input, dim=None, keepdim=False", extreme(), "f32[2,3] -> f32[]"),
    row("mode", TM, "input, dim=-1, keepdim=False", sorting.kth, "f32[2,3] -> (f32[2], i64[2])"),
    row("kthvalue", TM, "input, k, dim=-1, keepdim=False", sorting.kth, "f32[2,3], 2 -> (f32[2], i64[2])"),
    row("aminmax", TM, "input, *, dim=None, keepdim=False", rules.pair, "f32[2,3], dim=0 -> (f32[3], f32[3])"),
    row("std", TM, "input, dim=None, unbiased=True, keepdim=False, *, correction=1", rules.variance, "f32[2,3], dim=1 -> f32[2]"),
    row("var", TM, "input, dim=None, unbiased=True, keepdim=False, *, correction=1", rules.variance,
        "f32[2,3], dim=1, keepdim=True -> f32[2,1]"),
    row("std_mean", "torch", "input, dim=None, unbiased=True, keepdim=False, *, correction=1", rules.pair,
        "f32[2,3], dim=1 -> (f32[2], f32[2])"),
    row("var_mean", "torch", "input, dim=None, unbiased=True, keepdim=False, *, correction=1", rules.pair,
        "f32[2,3], dim=1 -> (f32[2], f32[2])"),
    row("argmax", TM, "input, dim=None, keepdim=False", rules.argument, "f32[2,3], dim=1 -> i64[2]"),
    row("argmin", TM, "input, dim=None, keepdim=False", rules.argument, "f32[2,3] -> i64[]"),
    row("all", TM, "input, dim=None, keepdim=False", truth(all), "b8[2,3] -> b8[]"),
    row("any", TM, "input, dim=None, keepdim=False", truth(any), "b8[2,3], dim=1 -> b8[2]"),
    row("count_nonzero", TM, "input, dim=None", rules.count_nonzero, "f32[2,3], 1 -> i64[2]"),
    row("norm", TM, "input, p='fro', dim=None, keepdim=False, out=None, dtype=None", rules.norm, "f32[2,3], 2, -1 -> f32[2]",
        aliases="torch.functional.norm", autocast="fp32"),
    row("norm", "linalg", "input, ord=None, dim=None, keepdim=False, *, dtype=None", rules.norm, "f32[2,3], dim=1 -> f32[2]"),
    row("vector_norm", "linalg", "input, ord=2, dim=None, keepdim=False, *, dtype=None", rules.norm, "f32[2,3], dim=1 -> f32[2]",
        autocast="fp32"),
    row("matrix_norm", "linalg", "input, ord='fro', dim=(-2, -1), keepdim=False, *, dtype=None", rules.matrix_norm,
        "f32[4,2,3] -> f32[4]", autocast="fp32"),
    row("nuclear_norm", "torch", "input, dim=None, keepdim=False", rules.norm, "f32[2,3] -> f32[]", autocast="fp32"),
    row("frobenius_norm", "torch", "input, dim=None, keepdim=False", rules.norm, "f32[2,3], 1 -> f32[2]", autocast="fp32"),
    row("cumsum", TM, "input, dim, *, dtype=None, out=None", scan("sum", lambda a, b: a + b), "i32[2,3], 1 -> i64[2,3]",
        autocast="fp32", has_inplace=True),
    row("cumprod", TM, "input, dim, *, dtype=None, out=None", scan("sum", lambda a, b: a * b), "f32[2,3], 1 -> f32[2,3]",
        autocast="fp32", has_inplace=True),
    row("logcumsumexp", TM, "input, dim", scan("same"), "f32[2,3], 1 -> f32[2,3]"),
    row("cummax", TM, "input, dim", sorting.scan_pair, "f32[2,3], 1 -> (f32[2,3], i64[2,3])"),
    row("cummin", TM, "input, dim", sorting.scan_pair, "f32[2,3], 1 -> (f32[2,3], i64[2,3])"),
    row("sort", TM, "input, dim=-1, descending=False, *, stable=False, out=None", sorting.sort, "f32[2,3] -> (f32[2,3], i64[2,3])"),
    row("msort", TM, "input", lambda call: sorting.sort(call)[0], "f32[2,3] -> f32[2,3]"),
    row("argsort", TM, "input, dim=-1, descending=False, *, stable=False", sorting.argsort, "f32[2,3] -> i64[2,3]"),
    row("topk", TM, "input, k, dim=-1, largest=True, sorted=True, *, out=None", sorting.topk, "f32[2,9], 4 -> (f32[2,4], i64[2,4])"),
    row("quantile", TM, "input, q, dim=None, keepdim=False, *, interpolation='linear'", sorting.quantile, "f32[2,3], 0.5, dim=1 -> f32[2]"),
    row("nanquantile", TM, "input, q, dim=None, keepdim=False, *, interpolation='linear'", sorting.quantile,
        "f32[2,3], f32[5], dim=1 -> f32[5,2]"),
    row("histc", TM, "input, bins=100, min=0, max=0, *, out=None", sorting.histogram, "f32[9], bins=4 -> f32[4]"),
    row("histogram", TM, "input, bins, *, range=None, weight=None, density=False", sorting.histogram_pair, "f32[9], 4 -> (f32[4], f32[5])"),
    row("bincount", TM, "input, weights=None, minlength=0", sorting.bincount, "i64[9] -> i64[?]", sync="dynamic shape"),
    row("unique", TM, "input, sorted=True, return_inverse=False, return_counts=False, dim=None", sorting.unique, "i64[9] -> i64[?]",
        aliases="torch.functional.unique", sync="dynamic shape"),
    row("unique_consecutive", TM, "input, return_inverse=False, return_counts=False, dim=None", sorting.unique,
        "i64[9], return_counts=True -> (i64[?], i64[?])", aliases="torch.functional.unique_consecutive", sync="dynamic shape"),
    row("diff", TM, "input, n=1, dim=-1, prepend=None, append=None", sorting.diff, "f32[2,3] -> f32[2,2]"),
    row("trapezoid", "torch", "y, x=None, *, dx=None, dim=-1", sorting.trapezoid, "f32[2,3] -> f32[2]", aliases="trapz"),
    row("cumulative_trapezoid", "torch", "y, x=None, *, dx=None, dim=-1", lambda call: sorting.diff_of_y(call), "f32[2,3] -> f32[2,2]"),
    row("cov", TM, "input, *, correction=1, fweights=None, aweights=None", sorting.cov, "f32[2,9] -> f32[2,2]"),
    row("corrcoef", TM, "input", sorting.cov, "f32[2,9] -> f32[2,2]"),
    row("equal", TM, "input, other", rules.whole_truth, "f32[2], f32[2] -> ?", kind="op", sync="item"),
    row("allclose", TM, "input, other, rtol=1e-05, atol=1e-08, equal_nan=False", rules.whole_truth, "f32[2], f32[2] -> ?", sync="item"),
    row("dist", TM, "input, other, p=2", lambda call: tensor((), call.tensor().dtype, call.tensor().device),
        "f32[3], f32[3] -> f32[]", autocast="fp32"),
    row("renorm", TM, "input, p, dim, maxnorm", scan("same"), "f32[2,3], 2, 0, 1.0 -> f32[2,3]", autocast="fp32", has_inplace=True),
    row("gradient", "torch", "input, *, spacing=1, dim=None, edge_order=1", sorting.gradient, "f32[5] -> (f32[5],)"),
    row("log_softmax", "special", "input, dim, *, dtype=None", scan("same"), "f32[2,3], 1 -> f32[2,3]"),
]  # fmt: skip
