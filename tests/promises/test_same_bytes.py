"""Same input, same bytes: whatever the hash seed, the workspace, the store, and whether something was indexed before."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LAUNCH = "torchrun --nproc_per_node=8 train.py"
RECORDS = ("computation_graph.json", "execution_schedule.json")


def export(folder: Path, seed: str, source: Path) -> dict[str, bytes]:
    env = {**os.environ, "PYTHONHASHSEED": seed, "XDG_CACHE_HOME": str(folder / "cache")}
    words = [sys.executable, "-m", "cgx", "export", str(source), "--launch", LAUNCH, "--workspace", str(folder), "--deep", "0", "--quiet", "--force"]
    done = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return {name: (folder / "records" / name).read_bytes() for name in RECORDS}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """The bundled job as a plain folder, its files made in reverse order."""
    folder = tmp_path / "job"
    for path in sorted((ROOT / "examples" / "char_gpt").rglob("*"), reverse=True):
        if path.is_file():
            target = folder / path.relative_to(ROOT / "examples" / "char_gpt")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    return folder


def test_hash_seed_and_second_run_change_no_byte(tmp_path: Path, source: Path) -> None:
    first = export(tmp_path / "a", "0", source)
    assert export(tmp_path / "b", "4711", source) == first
    assert export(tmp_path / "b", "1", source) == first  # into a store that has the job already


def test_nothing_is_written_into_the_source(tmp_path: Path, source: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in [source, *source.rglob("*")]}
    export(tmp_path / "out", "0", source)
    assert {path: path.stat().st_mtime_ns for path in [source, *source.rglob("*")]} == before
