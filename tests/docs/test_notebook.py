"""The notebook's cells run, in order, and give what they promise."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from test_readme import SETUP, run

ROOT = Path(__file__).resolve().parents[2]


def test_the_notebook_runs(tmp_path):
    run(SETUP, tmp_path)
    cells = json.loads((ROOT / "examples" / "explore.ipynb").read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert all(not cell["outputs"] for cell in cells if cell["cell_type"] == "code"), (
        "outputs are not kept in the repository"
    )
    program = "\n".join(
        [
            *code,
            "print('model.Attention.forward' in {d['qname'] for d in reached if d['label'] == 'Symbol'}, len(ops) > 10)",
        ]
    )
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=env, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "True True"
