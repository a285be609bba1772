"""The generated pages are as the rows make them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_pages_are_up_to_date():
    done = subprocess.run(
        [sys.executable, "tools/reference.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": ""},
    )
    assert done.returncode == 0, done.stderr + "run: python tools/reference.py"
