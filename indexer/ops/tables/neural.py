"""Attention, normalisation, dropout, softmax and losses of torch.nn.functional."""

from __future__ import annotations

from cgx.indexer.ops.rows import OpRow, row
from cgx.indexer.ops.rules import attention as rules
from cgx.indexer.ops.tensors import like

LOSS = "input, target, size_average=None, reduce=None, reduction='mean'"
DROP = "input, p=0.5, training=True, inplace=False"
MHA = (
    "query, key, value, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias, bias_k, bias_v, add_zero_attn, dropout_p, "
    "out_proj_weight, out_proj_bias, training=True, key_padding_mask=None, need_weights=True, attn_mask=None, "
    "use_separate_proj_weight=False, q_proj_weight=None, k_proj_weight=None, v_proj_weight=None, static_k=None, static_v=None, "
    "average_attn_weights=True, is_causal=False"
)
MHA_EXAMPLE = (
    "f32[5,2,8], f32[7,2,8], f32[7,2,8], 8, 2, f32[24,8], f32[24], None, None, False, 0.0, f32[8,8], f32[8] "
    "-> (f32[5,2,8], f32[2,5,7])"
)

ROWS: list[OpRow] = [
    row("scaled_dot_product_attention", "F", "query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False",
        rules.attention, "f32[2,4,T,8], f32[2,4,S,8], f32[2,4,S,6] -> f32[2,4,T,6]", autocast="lower",
        aliases="torch._C._nn.scaled_dot_product_attention"),
    row("torch.ops.higher_order.flex_attention", "",
        "query, key, value, score_mod=None, block_mask=None, scale=None, enable_gqa=False, return_lse=False, kernel_options=None, return_aux=None",
        rules.flex_attention, "", aliases="torch.nn.attention.flex_attention.flex_attention"),
    row("multi_head_attention_forward", "F", MHA, rules.multi_head, MHA_EXAMPLE),
    row("softmax", "F torch Tensor special", "input, dim=None, _stacklevel=3, dtype=None", rules.softmax, "f32[2,3], dim=-1 -> f32[2,3]",
        autocast="fp32"),
    row("log_softmax", "F torch Tensor", "input, dim=None, _stacklevel=3, dtype=None", rules.softmax, "f32[2,3], dim=-1 -> f32[2,3]",
        autocast="fp32"),
    row("softmin", "F", "input, dim=None, _stacklevel=3, dtype=None", rules.softmax, "f32[2,3], dim=-1 -> f32[2,3]"),
    row("gumbel_softmax", "F", "logits, tau=1, hard=False, eps=1e-10, dim=-1", lambda call: like(call.tensor("logits"), call.tensor("logits").shape),
        "f32[2,3] -> f32[2,3]"),
    row("layer_norm", "F", "input, normalized_shape, weight=None, bias=None, eps=1e-05", rules.normalised, "f32[2,3], (3,) -> f32[2,3]",
        autocast="fp32", aliases="torch.layer_norm"),
    row("rms_norm", "F torch", "input, normalized_shape, weight=None, eps=None", rules.normalised, "f32[2,3], (3,) -> f32[2,3]"),
    row("group_norm", "F", "input, num_groups, weight=None, bias=None, eps=1e-05", rules.normalised, "f32[2,6,4], 3 -> f32[2,6,4]",
        autocast="fp32", aliases="torch.group_norm"),
    row("batch_norm", "F", "input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-05",
        rules.normalised, "f32[2,3,4], f32[3], f32[3] -> f32[2,3,4]", aliases="torch.batch_norm"),
    row("instance_norm", "F", "input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, "
        "eps=1e-05", rules.normalised, "f32[2,3,4] -> f32[2,3,4]", aliases="torch.instance_norm"),
    row("local_response_norm", "F", "input, size, alpha=0.0001, beta=0.75, k=1.0", rules.normalised, "f32[2,3,4], 2 -> f32[2,3,4]"),
    row("normalize", "F", "input, p=2.0, dim=1, eps=1e-12, out=None", rules.normalised, "f32[2,3] -> f32[2,3]"),
    *(row(name, "F", DROP, rules.normalised, example, has_inplace=True) for name, example in (
        ("dropout", "f32[2,3] -> f32[2,3]"), ("alpha_dropout", "f32[2,3] -> f32[2,3]"), ("feature_alpha_dropout", "f32[2,3,4] -> f32[2,3,4]"),
        ("dropout1d", "f32[2,3,4] -> f32[2,3,4]"), ("dropout2d", "f32[2,3,4,5] -> f32[2,3,4,5]"), ("dropout3d", "f32[2,3,4,5,6] -> f32[2,3,4,5,6]"))),
    row("dropout", "torch", "input, p, train", rules.normalised, "f32[2,3], 0.5, True -> f32[2,3]", has_inplace=True),
    row("native_dropout", "torch", "input, p, train", lambda call: (rules.normalised(call), like(call.tensor(), call.tensor().shape, "bool")),
        "f32[2,3], 0.5, True -> (f32[2,3], b8[2,3])"),
    row("cross_entropy", "F", "input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean', "
        "label_smoothing=0.0", rules.class_loss, "f32[2,9], i64[2] -> f32[]", aliases="torch._C._nn.cross_entropy_loss", autocast="fp32"),
    row("nll_loss", "F", "input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean'",
        rules.class_loss, "f32[2,9], i64[2], reduction='none' -> f32[2]", autocast="fp32"),
    row("linear_cross_entropy", "F", "input, linear_weight, target, linear_bias=None, weight=None, reduction='mean', ignore_index=-100, "
        "label_smoothing=0.0", rules.binary_loss, ""),
    *(row(name, "F", LOSS, rules.pointwise_loss, "f32[2,3], f32[2,3] -> f32[]", autocast="fp32") for name in ("mse_loss", "l1_loss")),
    row("smooth_l1_loss", "F", LOSS + ", beta=1.0", rules.pointwise_loss, "f32[2,3], f32[2,3], reduction='none' -> f32[2,3]", autocast="fp32"),
    row("huber_loss", "F", "input, target, reduction='mean', delta=1.0, weight=None", rules.pointwise_loss, "f32[2,3], f32[2,3] -> f32[]",
        autocast="fp32"),
    row("soft_margin_loss", "F", LOSS, rules.pointwise_loss, "f32[2,3], f32[2,3] -> f32[]", autocast="fp32"),
    row("binary_cross_entropy", "F", "input, target, weight=None, size_average=None, reduce=None, reduction='mean'", rules.binary_loss,
        "f32[2,3], f32[2,3] -> f32[]"),
    row("binary_cross_entropy_with_logits", "F", "input, target, weight=None, size_average=None, reduce=None, reduction='mean', "
        "pos_weight=None", rules.binary_loss, "f32[2,3], f32[2,3], reduction='none' -> f32[2,3]", autocast="fp32",
        aliases="torch.binary_cross_entropy_with_logits"),
    row("kl_div", "F", "input, target, size_average=None, reduce=None, reduction='mean', log_target=False", rules.pointwise_loss,
        "f32[2,3], f32[2,3], reduction='batchmean' -> f32[]", autocast="fp32"),
    row("poisson_nll_loss", "F", "input, target, log_input=True, full=False, size_average=None, eps=1e-08, reduce=None, reduction='mean'",
        rules.pointwise_loss, "f32[2,3], f32[2,3] -> f32[]", autocast="fp32"),
    row("gaussian_nll_loss", "F", "input, target, var, full=False, eps=1e-06, reduction='mean'", rules.binary_loss,
        "f32[2,3], f32[2,3], f32[2,3], reduction='none' -> f32[2,3]"),
    row("hinge_embedding_loss", "F", "input, target, margin=1.0, size_average=None, reduce=None, reduction='mean'", rules.pointwise_loss,
        "f32[2,3], f32[2,3] -> f32[]", autocast="fp32"),
    row("multilabel_margin_loss", "F", LOSS, rules.row_loss, "f32[2,3], i64[2,3], reduction='none' -> f32[2]", autocast="fp32"),
    row("multilabel_soft_margin_loss", "F", "input, target, weight=None, size_average=None, reduce=None, reduction='mean'",
        rules.row_loss, "f32[2,3], f32[2,3] -> f32[]"),
    row("multi_margin_loss", "F", "input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction='mean'",
        rules.row_loss, "f32[2,3], i64[2] -> f32[]", autocast="fp32"),
    row("margin_ranking_loss", "F", "input1, input2, target, margin=0, size_average=None, reduce=None, reduction='mean'", rules.pair_loss,
        "f32[3], f32[3], f32[3], reduction='none' -> f32[3]", autocast="fp32"),
    row("cosine_embedding_loss", "F", "input1, input2, target, margin=0, size_average=None, reduce=None, reduction='mean'",
        rules.pair_loss, "f32[2,3], f32[2,3], f32[2], reduction='none' -> f32[2]", autocast="fp32"),
    row("triplet_margin_loss", "F", "anchor, positive, negative, margin=1.0, p=2, eps=1e-06, swap=False, size_average=None, reduce=None, "
        "reduction='mean'", rules.pair_loss, "f32[2,3], f32[2,3], f32[2,3], reduction='none' -> f32[2]", autocast="fp32"),
    row("triplet_margin_with_distance_loss", "F", "anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, "
        "reduction='mean'", rules.pair_loss, "f32[2,3], f32[2,3], f32[2,3] -> f32[]"),
    row("ctc_loss", "F", "log_probs, targets, input_lengths, target_lengths, blank=0, reduction='mean', zero_infinity=False", rules.ctc_loss,
        "f32[9,2,5], i64[2,4], i64[2], i64[2] -> f32[]"),
    *(row(name, "torch", "input, hx, w_ih, w_hh, b_ih=None, b_hh=None", rules.cell, example, aliases=f"torch._VF.{name}", autocast="lower") for name, example in (
        ("gru_cell", "f32[2,3], f32[2,4], f32[12,3], f32[12,4] -> f32[2,4]"),
        ("rnn_tanh_cell", "f32[2,3], f32[2,4], f32[4,3], f32[4,4] -> f32[2,4]"),
        ("rnn_relu_cell", "f32[2,3], f32[2,4], f32[4,3], f32[4,4] -> f32[2,4]"),
        ("lstm_cell", "f32[2,3], (f32[2,4], f32[2,4]), f32[16,3], f32[16,4] -> (f32[2,4], f32[2,4])"))),
]  # fmt: skip
