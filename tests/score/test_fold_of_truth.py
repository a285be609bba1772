"""The fold on the calls of real models: full marks where the trace says all that the truth knows."""

from __future__ import annotations

import json

import pytest

from cgx.indexer.passes.fold.graph import fold

from .traces import trace_of
from .truths import graph_scores, unpack

CASES = (
    "nanogpt-shakespeare-char", "mingpt-gpt2", "hf-t5", "hf-qwen3-moe-4l", "timm-densenet121",
    "x-transformers-decoder", "whisper-tiny", "vit-pytorch-vit", "diffusers-unet2d-sd15", "torchtitan-llama3-debugmodel",
    "dlrm-default", "examples-wlm-transformer",
)  # fmt: skip
MEASURES = (
    "modules",
    "runs",
    "repeats",
    "parameters",
    "shares",
    "calls",
    "op_sites",
    "op_counts",
    "layer_calls",
    "module_shapes",
    "op_shapes",
)


@pytest.fixture(scope="module")
def truth(tmp_path_factory):
    return unpack(tmp_path_factory.mktemp("truth"))


@pytest.mark.parametrize("case", CASES)
def test_full_marks(case, truth, tmp_path):
    path = truth / "graph" / f"{case}.json"
    trace = trace_of(json.loads(path.read_text()))
    rows = fold(trace, trace.root.children)
    record = tmp_path / "record.json"
    record.write_text(
        json.dumps(
            {"schema": "cgx/computation_graph/1", "modules": rows.modules, "symbols": rows.symbols, "unresolved": []}
        )
    )
    scores = graph_scores(record, path)
    short = {
        name: scores[name]["items"] for name in MEASURES if scores[name]["recall"] < 1 or scores[name]["precision"] < 1
    }
    assert not short
    assert scores["order"]["ratio"] > 0.995
