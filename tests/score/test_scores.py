"""What PyPI offers, read and held against the ground truth. One case a family; `benchmarks/scores.py` runs them all.

The wheels are kept in the user's cache folder. They are fetched where CGX_FETCH_CORPUS or CGX_REQUIRE_CORPUS is set; else the
cases whose wheels are not there are left out, and said so.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from platformdirs import user_cache_path

from cgx.cli import main

from .truths import CASES, SCORERS, graph_scores, unpack

PYPI = ("timm-vit-base-patch16-224", "timm-resnet50", "torchvision-resnet50", "hf-gpt2-lm", "x-transformers-decoder", "whisper-tiny",
        "vit-pytorch-vit")  # fmt: skip
FULL = ("modules", "repeats", "parameters", "shares", "calls", "layer_calls")
LEAST = {"op_sites": 0.93, "op_counts": 0.9, "module_shapes": 0.8, "op_shapes": 0.8}

pytestmark = pytest.mark.corpus


@pytest.fixture(scope="module")
def truth(tmp_path_factory) -> Path:
    return unpack(tmp_path_factory.mktemp("truth"))


@pytest.fixture(scope="module")
def corpus() -> Path:
    folder = Path(os.environ.get("CGX_CORPUS") or user_cache_path("cgx") / "corpus")
    if os.environ.get("CGX_FETCH_CORPUS") or os.environ.get("CGX_REQUIRE_CORPUS"):
        cases = [case for case in json.loads(CASES.read_text()) if case["case"] in PYPI]
        wanted = folder / "score-cases.json"
        folder.mkdir(parents=True, exist_ok=True)
        wanted.write_text(json.dumps(cases))
        subprocess.run([sys.executable, SCORERS / "get_corpus.py", "--cases", wanted, "--corpus", folder], check=False)
    return folder


@pytest.mark.parametrize("name", PYPI)
def test_case(name, truth, corpus, tmp_path):
    case = next(case for case in json.loads(CASES.read_text()) if case["case"] == name)
    source = corpus / f"{case['source']['name']}-{case['source']['version']}"
    envs = [corpus / package.replace("==", "-") for package in case["env"]]
    gone = [folder.name for folder in (source, *envs) if not folder.is_dir()]
    if gone and os.environ.get("CGX_REQUIRE_CORPUS"):
        pytest.fail(f"{', '.join(gone)} could not be had from PyPI")
    if gone:
        pytest.skip(f"needs {', '.join(gone)} from PyPI: set CGX_FETCH_CORPUS=1 to fetch")
    words = [
        "export",
        str(source),
        *case["args"],
        "--workspace",
        str(tmp_path),
        "--store",
        str(tmp_path / "store"),
        "--quiet",
    ]
    assert main([*words, *(word for env in envs for word in ("--env", str(env)))]) == 0
    scores = graph_scores(tmp_path / "records" / "computation_graph.json", truth / "graph" / f"{name}.json")
    assert not {measure: found["items"]["wrong"] for measure, found in scores.items() if found.get("wrong")}
    assert not {measure: scores[measure]["items"] for measure in FULL if scores[measure]["recall"] < 1}
    assert not {
        measure: scores[measure]["recall"] for measure, least in LEAST.items() if scores[measure]["recall"] < least
    }
    assert scores["order"]["ratio"] >= 0.97 and scores["anchors"]["recall"] == 1
