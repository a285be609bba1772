"""What can be asked of a tensor without launching work: no entry of a record."""

from __future__ import annotations

from cgx.indexer.ops.rows import OpRow, row
from cgx.indexer.ops.rules import convert
from cgx.indexer.ops.rules import query as rules
from cgx.indexer.ops.rules.query import constant, of_kind, unknown

TM = "torch Tensor"

ROWS: list[OpRow] = [
    row("size", "Tensor", "input, dim=None", rules.size, "f32[2,T], 1 -> T", kind="query"),
    row("dim", "Tensor", "input", rules.rank, "f32[2,3] -> 2", kind="query", aliases="ndimension"),
    row("numel", TM, "input", rules.count, "f32[2,3] -> 6", kind="query", aliases="torch.Tensor.nelement"),
    row("len", "operator", "input", convert.length, "f32[2,3] -> 2", kind="query", aliases="torch.Tensor.__len__ builtins.len"),
    row("element_size", "Tensor", "input", rules.element_size, "f16[2] -> 2", kind="query"),
    row("is_floating_point", TM, "input", of_kind("float"), "f32[2] -> True", kind="query"),
    row("is_complex", TM, "input", of_kind("complex"), "f32[2] -> False", kind="query"),
    row("is_contiguous", "Tensor", "input, memory_format=None", unknown("bool"), "", kind="query"),
    row("is_tensor", "torch", "obj", rules.is_tensor, "f32[2] -> True", kind="query"),
    row("is_pinned", "Tensor", "input, device=None", rules.is_pinned, "", kind="query"),
    row("is_shared", "Tensor", "input", unknown("bool"), "", kind="query"),
    row("is_inference", TM, "input", unknown("bool"), "", kind="query"),
    row("is_signed", TM, "input", unknown("bool"), "", kind="query"),
    row("is_same_size", TM, "input, other", unknown("bool"), "", kind="query"),
    row("is_storage", "torch", "obj", constant(False), "", kind="query"),
    row("get_device", TM, "input", rules.device_index, "", kind="query"),
    row("stride", "Tensor", "input, dim=None", rules.strides, "", kind="query"),
    row("storage_offset", "Tensor", "input", unknown("int"), "", kind="query"),
    row("data_ptr", "Tensor", "input", unknown("int"), "", kind="query"),
    row("untyped_storage", "Tensor", "input", unknown(), "", kind="query", aliases="storage"),
    row("register_hook", "Tensor", "input, hook", unknown(), "", kind="query"),
    row("register_post_accumulate_grad_hook", "Tensor", "input, hook", unknown(), "", kind="query"),
    row("record_stream", "Tensor", "input, stream", constant(None), "", kind="query"),
    row("hash", "operator", "input", unknown("int"), "", kind="query", aliases="torch.Tensor.__hash__"),
    row("promote_types", "torch", "type1, type2", rules.promoted, "torch.float16, torch.int64 -> torch.float16", kind="query"),
    row("result_type", "torch", "type1, type2", rules.promoted, "f16[3], 1 -> torch.float16", kind="query"),
    row("can_cast", "torch", "from_, to", rules.can_cast, "torch.float16, torch.int64 -> False", kind="query"),
]  # fmt: skip
