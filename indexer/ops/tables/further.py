"""Rarer ops: recurrent kernels, fused layers of torch, nested tensors, initialisation, symbolic helpers, copies of views."""

from __future__ import annotations

from cgx.indexer.ops.rows import OpRow, row
from cgx.indexer.ops.rules import diagonal, linalg, pointwise, products, spectral, split, view
from cgx.indexer.ops.rules import further as rules
from cgx.indexer.ops.rules.gather import unchanged
from cgx.indexer.ops.rules.pointwise import pointwise as elementwise
from cgx.indexer.ops.rules.reduce import reduction, scan
from cgx.indexer.ops.tables.copies import COPIES

TM = "torch Tensor"
RNN = "input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first"

INIT: dict[str, str] = {
    "uniform_": "tensor, a=0.0, b=1.0, generator=None", "normal_": "tensor, mean=0.0, std=1.0, generator=None",
    "trunc_normal_": "tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None", "constant_": "tensor, val", "ones_": "tensor", "zeros_": "tensor",
    "eye_": "tensor", "dirac_": "tensor, groups=1", "xavier_uniform_": "tensor, gain=1.0, generator=None",
    "xavier_normal_": "tensor, gain=1.0, generator=None",
    "kaiming_uniform_": "tensor, a=0, mode='fan_in', nonlinearity='leaky_relu', generator=None",
    "kaiming_normal_": "tensor, a=0, mode='fan_in', nonlinearity='leaky_relu', generator=None", "orthogonal_": "tensor, gain=1, generator=None",
    "sparse_": "tensor, sparsity, std=0.01, generator=None",
}  # fmt: skip
OLD_INIT = ("uniform", "normal", "constant", "eye", "dirac", "xavier_uniform", "xavier_normal", "kaiming_uniform", "kaiming_normal", "orthogonal", "sparse")

ENCODER = (
    "src, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, use_gelu, norm_first, eps, norm_weight_1, norm_bias_1, "
    "norm_weight_2, norm_bias_2, ffn_weight_1, ffn_bias_1, ffn_weight_2, ffn_bias_2, mask=None, mask_type=None"
)
NATIVE_MHA = (
    "query, key, value, embed_dim, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias, mask=None, need_weights=True, "
    "average_attn_weights=True, mask_type=None"
)

FOREACH = (
    "abs acos add addcdiv addcmul asin atan ceil clamp_max clamp_min copy cos cosh div erf erfc exp expm1 floor frac lerp lgamma log log10 log1p "
    "log2 max maximum minimum mul neg norm pow powsum reciprocal round rsqrt sigmoid sign sin sinh sqrt sub tan tanh trunc zero"
)
"""``torch._foreach_X``: one op over a list of tensors."""

ROWS: list[OpRow] = [
    *(row(f"_foreach_{name}{tail}", "torch", "tensors, *others", rules.foreach, "") for name in FOREACH.split() for tail in ("", "_")),
    *(row(f"torch.masked.{name}", "", "input, dim=None, *, keepdim=False, dtype=None, mask=None", reduction(result), "f32[2,3], 1 -> f32[2]")
      for name, result in (("sum", "sum"), ("mean", "float"), ("prod", "sum"), ("amax", "same"), ("amin", "same"), ("var", "float"), ("std", "float"),
                           ("logsumexp", "float"))),
    *(row(f"torch.masked.{name}", "", "input, dim, *, dtype=None, mask=None", scan("same"), "f32[2,3], 1 -> f32[2,3]")
      for name in ("softmax", "log_softmax", "softmin", "cumsum", "cumprod")),
    row("_shape_as_tensor", "torch", "input", rules.shape_tensor, "f32[2,3] -> i64[2]"),
    row("_assert_async", "torch", "input, message=None", lambda call: None, ""),
    row("torch._higher_order_ops.associative_scan.associative_scan", "", "combine_fn, xs, dim, reverse=False, combine_mode='pointwise'", rules.scanned, "",
        aliases="torch._higher_order_ops.associative_scan"),
    *(row(f"torch.nn.init.{name}", "", signature, rules.filled_in, "", kind="query", inplace=True) for name, signature in INIT.items()),
    *(row(f"torch.nn.init.{name}", "", INIT[f"{name}_"], rules.filled_in, "", kind="query", inplace=True) for name in OLD_INIT),
    row("torch.nn.init.calculate_gain", "", "nonlinearity, param=None", rules.gain, "'relu' -> 1.4142135623730951", kind="query"),
    *(row(name, "torch", RNN, rules.recurrent, "", aliases=f"torch._VF.{name}", autocast="lower") for name in ("lstm", "gru", "rnn_tanh", "rnn_relu")),
    row("_transformer_encoder_layer_fwd", "torch", ENCODER, lambda call: rules.same_as(call, "src"), ""),
    row("_native_multi_head_attention", "torch", NATIVE_MHA, rules.native_attention, ""),
    row("_nested_tensor_from_mask", "torch", "t, mask, mask_check=True", lambda call: rules.same_as(call, "t"), ""),
    row("_nested_tensor_from_mask_left_aligned", "torch", "t, mask", rules.aligned, "", sync="branch"),
    row("to_padded_tensor", "Tensor", "input, padding, output_size=None", rules.padded, ""),
    row("torch.nested.nested_tensor", "", "tensor_list, dtype=None, layout=None, device=None, requires_grad=False", rules.nested, "", kind="factory"),
    row("torch.nested.as_nested_tensor", "", "tensor_list, dtype=None, device=None, layout=None", rules.nested, "", kind="factory"),
    row("backward", "Tensor", "input, gradient=None, retain_graph=None, create_graph=False, inputs=None", lambda call: None, "", kind="query"),
    row("abs_", "Tensor", "input", unchanged, "f32[3] -> f32[3]", inplace=True, aliases="torch.abs_ torch.Tensor.absolute_"),
    row("chalf", "Tensor", "input", lambda call: rules.retyped(call, "complex32"), ""),
    row("resize_as_", "Tensor", "input, other", lambda call: view.same_shape_as(call), "f32[6], f32[2,3] -> f32[2,3]", inplace=True),
    row("as_strided_", "Tensor", "input, size, stride, storage_offset=0", diagonal.as_strided, "f32[6], (2, 3), (3, 1) -> f32[2,3]", inplace=True),
    row("as_subclass", "Tensor", "input, cls", view.keep, "", kind="view"),
    row("sum_to_size", "Tensor", "input, *size", rules.sized, "f32[4,3], 1, 3 -> f32[1,3]"),
    row("new_empty_strided", "Tensor", "input, size, stride, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False",
        rules.sized, "f32[3], (2, 3), (3, 1) -> f32[2,3]", kind="factory"),
    row("narrow_copy", TM, "input, dim, start, length", view.narrow, "f32[9,3], 0, 2, 4 -> f32[4,3]"),
    row("unsafe_chunk", TM, "input, chunks, dim=0", split.chunk, "f32[4], 2 -> (f32[2], f32[2])"),
    row("unsafe_split", TM, "input, split_size_or_sections, dim=0", split.split, "f32[4], 2 -> (f32[2], f32[2])"),
    row("unsafe_split_with_sizes", TM, "input, split_size_or_sections, dim=0", split.split, "f32[4], [1, 3] -> (f32[1], f32[3])"),
    *(row(f"{name}_copy", "torch", signature, rule, example) for name, signature, rule, example in COPIES),
    row("unravel_index", "torch", "indices, shape", rules.unravelled, "i64[4], (3, 5) -> (i64[4], i64[4])", aliases="torch.functional.unravel_index"),
    row("norm_except_dim", "torch", "v, pow=2, dim=0", rules.norm_except, "f32[4,3,2] -> f32[4,1,1]"),
    row("_weight_norm", "torch", "v, g, dim=0", lambda call: rules.same_as(call, "v"), "f32[4,3], f32[4,1] -> f32[4,3]"),
    row("native_layer_norm", "torch", "input, normalized_shape, weight, bias, eps", rules.native_layer_norm,
        "f32[2,3,4], (4,), None, None, 1e-05 -> (f32[2,3,4], f32[2,3,1], f32[2,3,1])", autocast="fp32"),
    row("conv_tbc", "F torch", "input, weight, bias, pad=0", rules.conv_tbc, "f32[9,2,3], f32[3,3,8], f32[8] -> f32[7,2,8]", autocast="lower"),
    row("igamma", TM, "input, other", elementwise("input other", "float"), "f32[3], f32[3] -> f32[3]", aliases="torch.special.gammainc", has_inplace=True),
    row("igammac", TM, "input, other", elementwise("input other", "float"), "f32[3], f32[3] -> f32[3]", aliases="torch.special.gammaincc", has_inplace=True),
    row("binomial", "torch", "count, prob, generator=None", lambda call: rules.same_as(call, "count"), "f32[3], f32[3] -> f32[3]"),
    row("nonzero_static", TM, "input, *, size, fill_value=-1", rules.nonzero_static, "b8[4,5], size=3 -> i64[3,2]"),
    row("cholesky_ex", "linalg", "input, *, upper=False, check_errors=False", rules.with_info, "f32[3,3] -> (f32[3,3], i32[])"),
    row("inv_ex", "linalg", "input, *, check_errors=False", rules.with_info, "f32[3,3] -> (f32[3,3], i32[])"),
    row("lstsq", "linalg", "A, B, rcond=None, *, driver=None", rules.least_squares, ""),
    row("lu_factor", "linalg", "input, *, pivot=True", rules.with_pivots, "f32[3,3] -> (f32[3,3], i32[3])"),
    row("lu", "linalg", "A, *, pivot=True", rules.lu, "f32[3,3] -> (f32[3,3], f32[3,3], f32[3,3])"),
    row("cond", "linalg", "input, p=None", linalg.determinant, "f32[4,3,3] -> f32[4]"),
    row("triangular_solve", TM, "B, A, upper=True, transpose=False, unitriangular=False", rules.triangular, "f32[3,2], f32[3,3] -> (f32[3,2], f32[3,3])"),
    row("svd_lowrank", "torch", "A, q=6, niter=2, M=None", rules.low_rank, "f32[9,7], 4 -> (f32[9,4], f32[4], f32[7,4])"),
    row("pca_lowrank", "torch", "A, q=None, center=True, niter=2", rules.low_rank, "f32[9,7], 4 -> (f32[9,4], f32[4], f32[7,4])"),
    *(row(name, "torch", "a, b=None", rules.symbolic(name), "", kind="query") for name in ("sym_max", "sym_min", "sym_int", "sym_float", "sym_not")),
    row("_check", "torch", "cond, message=None", lambda call: None, "", kind="query"),
    *(row(name, "torch", "cond, *rest", lambda call: None, "", kind="op", sync="item", steps_rule=rules.checked)
      for name in ("_check_tensor_all", "_check_tensor_all_with")),
    row("_assert", "torch", "cond, message=None", lambda call: None, "", kind="query"),
    row("is_conj", TM, "input", lambda call: False, "f32[2] -> False", kind="query"),
    row("is_neg", TM, "input", lambda call: False, "f32[2] -> False", kind="query"),
    row("rename", "Tensor", "input, *names", view.keep, "", kind="view", has_inplace=True),
    row("refine_names", "Tensor", "input, *names", view.keep, "", kind="view"),
    row("align_to", "Tensor", "input, *names", rules.unshaped, "", kind="view"),
    row("apply_", "Tensor", "input, callable", unchanged, "", inplace=True),
    row("map_", "Tensor", "input, tensor, callable", unchanged, "", inplace=True),
    row("polygamma", "Tensor", "input, n", pointwise.same, "f32[3], 1 -> f32[3]", has_inplace=True),
    row("hfft2", "fft", "input, s=None, dim=(-2, -1), norm=None", spectral.transform_many("real", (-2, -1)), "c64[4,5] -> f32[4,8]"),
    row("ihfft2", "fft", "input, s=None, dim=(-2, -1), norm=None", spectral.transform_many("half", (-2, -1)), "f32[4,8] -> c64[4,5]"),
    row("torch.nn.functional.scaled_mm", "", "mat_a, mat_b, scale_a=None, scale_recipe_a=None, scale_b=None, scale_recipe_b=None, bias=None, output_dtype=None",
        products.scaled, ""),
    row("torch.nn.utils.rnn.pack_padded_sequence", "", "input, lengths, batch_first=False, enforce_sorted=True", rules.packed, "", kind="op"),
    row("torch.nn.utils.rnn.pad_packed_sequence", "", "sequence, batch_first=False, padding_value=0.0, total_length=None", rules.unpacked, "", kind="op"),
    row("torch.nn.utils.rnn.pack_sequence", "", "sequences, enforce_sorted=True", rules.packed, "", kind="op"),
]  # fmt: skip
