"""sdist, then wheel from it, installed into an empty environment: `cgx` runs from there, with all its folders."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def call(*words: object, cwd: Path) -> str:
    done = subprocess.run([str(word) for word in words], cwd=cwd, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.slow
def test_wheel_from_sdist_runs(tmp_path: Path) -> None:
    call(sys.executable, "-m", "build", "--outdir", tmp_path / "dist", ".", cwd=ROOT)
    (sdist,) = (tmp_path / "dist").glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"README.md", "LICENSE", "pyproject.toml"} <= names
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    call(python, "-m", "pip", "install", "-q", wheel, cwd=tmp_path)
    job = tmp_path / "job"
    (job / "indexer").mkdir(parents=True)  # a job's own package of that name must not be taken for ours
    (job / "indexer" / "__init__.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    (job / "train.py").write_text("import torch\nmodel = torch.nn.Linear(3, 4)\nmodel(torch.zeros(2, 3)).sum().backward()\n")
    cgx = tmp_path / "env" / "bin" / "cgx"
    call(cgx, "export", ".", "--launch", "python train.py", "--workspace", tmp_path / "out", "--store", tmp_path / "store", cwd=job)
    assert (tmp_path / "out" / "records" / "computation_graph.json").is_file()
    assert (tmp_path / "out" / "records" / "execution_schedule.json").is_file()
    assert "syncs" in call(cgx, "queries", cwd=job)
    assert not (tmp_path / "ran").exists()
