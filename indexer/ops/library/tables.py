"""Library ops by qualified name, and the packages all of whose functions are kernels."""

from __future__ import annotations

from cgx.indexer.ops.library import rules
from cgx.indexer.ops.rows import OpRow, row
from cgx.indexer.ops.tensors import tensor

FLASH = (
    "dropout_p=0.0, softmax_scale=None, causal=False, window_size=(-1, -1), softcap=0.0, alibi_slopes=None, deterministic=False, "
    "return_attn_probs=False"
)
SCAN = "u, delta, A, B, C, D=None, z=None, delta_bias=None, delta_softplus=False, return_last_state=False"
INNER = (
    "xz, conv1d_weight, conv1d_bias, x_proj_weight, delta_proj_weight, out_proj_weight, out_proj_bias, A, B=None, C=None, D=None, "
    "delta_bias=None, B_proj_bias=None, C_proj_bias=None, delta_softplus=True"
)
VARLEN = f"q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, {FLASH}, block_table=None"


def _flash(name: str) -> str:
    return f"flash_attn.flash_attn_interface.{name} flash_attn_interface.{name} flash_attn_2_cuda.{name}"


# qualified name, aliases, signature, rule, example
OPS: list[tuple[str, str, str, object, str]] = [
    ("flash_attn.flash_attn_func", _flash("flash_attn_func"), f"q, k, v, {FLASH}", rules.attention(), "f16[2,T,8,64], f16[2,S,2,64], f16[2,S,2,64] -> f16[2,T,8,64]"),
    ("flash_attn.flash_attn_qkvpacked_func", _flash("flash_attn_qkvpacked_func"), f"qkv, {FLASH}", rules.packed_attention("qkv", -3),
     "f16[2,9,3,8,64] -> f16[2,9,8,64]"),
    ("flash_attn.flash_attn_kvpacked_func", _flash("flash_attn_kvpacked_func"), f"q, kv, {FLASH}", rules.shaped_as("q"),
     "f16[2,9,8,64], f16[2,9,2,8,64] -> f16[2,9,8,64]"),
    ("flash_attn.flash_attn_varlen_func", _flash("flash_attn_varlen_func"), VARLEN, rules.attention(),
     "f16[9,8,64], f16[9,8,64], f16[9,8,64], i32[3], i32[3], 5, 5 -> f16[9,8,64]"),
    ("flash_attn.flash_attn_varlen_qkvpacked_func", _flash("flash_attn_varlen_qkvpacked_func"), f"qkv, cu_seqlens, max_seqlen, {FLASH}",
     rules.packed_attention("qkv", -3), "f16[9,3,8,64], i32[3], 5 -> f16[9,8,64]"),
    ("flash_attn.flash_attn_varlen_kvpacked_func", _flash("flash_attn_varlen_kvpacked_func"),
     f"q, kv, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, {FLASH}", rules.shaped_as("q"), "f16[9,8,64], f16[9,2,8,64], i32[3], i32[3], 5, 5 -> f16[9,8,64]"),
    ("flash_attn.flash_attn_with_kvcache", _flash("flash_attn_with_kvcache"), "q, k_cache, v_cache, k=None, v=None", rules.shaped_as("q"),
     "f16[2,1,8,64], f16[2,99,8,64], f16[2,99,8,64] -> f16[2,1,8,64]"),
    ("flash_attn.bert_padding.unpad_input", "", "hidden_states, attention_mask, unused_mask=None", rules.unpadded, ""),
    ("flash_attn.bert_padding.pad_input", "", "hidden_states, indices, batch, seqlen", rules.repadded, "f16[9,64], i64[9], 2, 5 -> f16[2,5,64]"),
    ("flash_attn.bert_padding.index_first_axis", "", "input, indices", rules.unknown_result, ""),
    ("flash_attn.layers.rotary.apply_rotary_emb", "flash_attn.layers.rotary.apply_rotary_emb_func", "x, cos, sin, interleaved=False", rules.shaped_as("x"),
     "f16[2,9,8,64], f16[9,32], f16[9,32] -> f16[2,9,8,64]"),
    ("flash_attn.layers.rotary.apply_rotary_emb_qkv_", "", "qkv, cos, sin", rules.shaped_as("qkv"), ""),
    ("flash_attn.ops.triton.layer_norm.rms_norm_fn", "mamba_ssm.ops.triton.layer_norm.rms_norm_fn mamba_ssm.ops.triton.layernorm.rms_norm_fn",
     "x, weight, bias, residual=None", rules.shaped_as("x"), ""),
    ("flash_attn.ops.triton.layer_norm.layer_norm_fn", "mamba_ssm.ops.triton.layer_norm.layer_norm_fn", "x, weight, bias, residual=None", rules.shaped_as("x"), ""),
    ("flash_attn.ops.rms_norm.rms_norm", "", "x, weight, epsilon", rules.shaped_as("x"), "f16[2,9,64], f16[64], 1e-6 -> f16[2,9,64]"),
    ("flash_attn.ops.layer_norm.layer_norm", "", "x, weight, bias, epsilon", rules.shaped_as("x"), ""),
    ("flash_attn.ops.activations.swiglu", "", "x, y=None", rules.swiglu, "f16[2,8], f16[2,8] -> f16[2,8]"),
    ("flash_attn.ops.triton.cross_entropy.cross_entropy_loss", "", "logits, labels", rules.row_loss, ""),
    ("xformers.ops.memory_efficient_attention", "xformers.ops.fmha.memory_efficient_attention", "query, key, value, attn_bias=None, p=0.0, scale=None, *, op=None",
     rules.attention("query", "value"), "f16[2,T,8,64], f16[2,S,8,64], f16[2,S,8,32] -> f16[2,T,8,32]"),
    ("xformers.ops.swiglu", "", "x, w1, b1, w2, b2, w3, b3", rules.shaped_as("x"), ""),
    ("xformers.ops.scaled_index_add", "", "input, index, source", rules.shaped_as("input"), ""),
    ("xformers.ops.rmsnorm.rms_norm", "xformers.ops.rms_norm", "x, weight, eps=1e-6", rules.shaped_as("x"), ""),
    ("mamba_ssm.ops.selective_scan_interface.selective_scan_fn", "mamba_ssm.ops.selective_scan_interface.selective_scan_ref mamba_ssm.selective_scan_fn", SCAN,
     rules.selective_scan, "f32[2,16,9], f32[2,16,9], f32[16,4], f32[2,4,9], f32[2,4,9] -> f32[2,16,9]"),
    ("mamba_ssm.ops.selective_scan_interface.mamba_inner_fn", "mamba_ssm.mamba_inner_fn", INNER, rules.mamba_inner, ""),
    ("mamba_ssm.ops.triton.selective_state_update.selective_state_update", "", "state, x, dt, A, B, C, D=None, z=None, dt_bias=None, dt_softplus=False",
     rules.shaped_as("x"), ""),
    ("mamba_ssm.ops.triton.ssd_combined.mamba_chunk_scan_combined", "", "x, dt, A, B, C, chunk_size, D=None, z=None", rules.shaped_as("x"), ""),
    ("causal_conv1d.causal_conv1d_fn", "causal_conv1d.causal_conv1d_interface.causal_conv1d_fn", "x, weight, bias=None, seq_idx=None, initial_states=None, "
     "return_final_states=False, final_states_out=None, activation=None", rules.shaped_as("x"), "f32[2,16,9], f32[16,4] -> f32[2,16,9]"),
    ("causal_conv1d.causal_conv1d_update", "causal_conv1d.causal_conv1d_interface.causal_conv1d_update", "x, conv_state, weight, bias=None, activation=None",
     rules.shaped_as("x"), "f32[2,16], f32[2,16,4], f32[16,4] -> f32[2,16]"),
    ("bitsandbytes.matmul", "bitsandbytes.matmul_4bit bitsandbytes.autograd._functions.matmul", "A, B, out=None, state=None, threshold=0.0, bias=None", rules.matmul, ""),
    ("apex.normalization.fused_layer_norm.fused_layer_norm_affine", "", "input, weight, bias, normalized_shape, eps=1e-6", rules.shaped_as("input"), ""),
    ("apex.transformer.functional.fused_apply_rotary_pos_emb", "apex.transformer.functional.fused_apply_rotary_pos_emb_cached", "t, freqs", rules.shaped_as("t"), ""),
    ("transformer_engine.pytorch.attention.apply_rotary_pos_emb", "", "t, freqs", rules.shaped_as("t"), ""),
    ("liger_kernel.ops.swiglu.LigerSiLUMulFunction.apply", "", "a, b", rules.shaped_as("a"), "f16[2,8], f16[2,8] -> f16[2,8]"),
    ("liger_kernel.transformers.rope.liger_rotary_pos_emb", "", "q, k, cos, sin", rules.unknown_result, ""),
    ("flashinfer.norm.rmsnorm", "flashinfer.rmsnorm", "x, weight, eps=1e-6", rules.shaped_as("x"), "f16[9,64], f16[64] -> f16[9,64]"),
    ("flashinfer.single_prefill_with_kv_cache", "flashinfer.prefill.single_prefill_with_kv_cache", "q, k, v", rules.attention(), "f16[9,8,64], f16[9,2,64], f16[9,2,64] -> f16[9,8,64]"),
    ("flashinfer.single_decode_with_kv_cache", "flashinfer.decode.single_decode_with_kv_cache", "q, k, v", rules.shaped_as("q"), ""),
    ("torchvision.ops.nms", "torchvision.ops.boxes.nms torch.ops.torchvision.nms", "boxes, scores, iou_threshold", lambda call: tensor((None,), "int64", call.tensor("boxes").device), ""),
    ("torchvision.ops.batched_nms", "torchvision.ops.boxes.batched_nms", "boxes, scores, idxs, iou_threshold",
     lambda call: tensor((None,), "int64", call.tensor("boxes").device), ""),
    ("torchvision.ops.roi_align", "torchvision.ops.roi_align.roi_align torch.ops.torchvision.roi_align", "input, boxes, output_size, spatial_scale=1.0",
     rules.unknown_result, ""),
]  # fmt: skip

QUERIES: list[OpRow] = [
    row("triton.cdiv", "", "x, y", rules.ceiling, "9, 4 -> 3", kind="query"),
    row("triton.next_power_of_2", "", "n", rules.power_of_two, "9 -> 16", kind="query"),
]

ROWS: list[OpRow] = [
    *(row(name, "", signature, rule, example, aliases=also, opaque=True,  # type: ignore[arg-type]
          sync="dynamic shape" if name.endswith((".unpad_input", ".nms", ".batched_nms")) else None) for name, also, signature, rule, example in OPS),
    *QUERIES,
]  # fmt: skip

KERNEL_PACKAGES: tuple[str, ...] = (
    "torch.ops.", "flash_attn.", "flash_attn_interface.", "flash_attn_2_cuda.", "xformers.ops.", "mamba_ssm.ops.", "causal_conv1d.",
    "bitsandbytes.functional.", "flashinfer.", "deep_gemm.", "deep_ep.", "sgl_kernel.", "vllm._custom_ops.", "vllm._C.", "vllm_flash_attn.",
    "liger_kernel.ops.", "fla.ops.", "apex_C.", "amp_C.", "fused_layer_norm_cuda.", "fused_weight_gradient_mlp_cuda.", "transformer_engine_torch.",
    "tilelang.", "cutlass.", "quack.", "natten.", "torch_scatter.", "torch_cluster.", "pointops.", "spconv.", "fbgemm_gpu.", "aiter.",
)  # fmt: skip
"""Functions under these names (last part in lower case) are opaque ops even without a row of their own."""

GENERIC = row("opaque.kernel", "", "*args", rules.unknown_result, "", opaque=True)


def kernel(qname: str) -> OpRow | None:
    """The generic row of a function of a kernel package; None for what is none, and for classes."""
    tail = qname.rpartition(".")[2]
    if tail[:1].isupper() or not qname.startswith(KERNEL_PACKAGES):
        return None
    return GENERIC
