"""`cgx moved` over a real repository: anchors, records, rewriting, and input that is wrong."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from cgx.errors import UserError
from cgx.workflow.export import export
from cgx.workflow.moved import run_moved
from cgx.workflow.request import Request

TRAIN = """import torch
from model import Net

model = Net(4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(10):
    loss = model(torch.zeros(2, 3)).sum()
    loss.backward()
    optimizer.step()
"""
MODEL = """import torch.nn as nn


class Net(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(depth)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu()
        return x
"""


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words], cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "job"
    folder.mkdir()
    git(folder, "init", "-q", ".")
    (folder / "train.py").write_text(TRAIN)
    (folder / "model.py").write_text(MODEL)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "one")
    (folder / "train.py").write_text(TRAIN.replace("Net(4)", "Net(6)").replace("import torch\n", "import torch\n\nSEED = 1\n"))
    (folder / "model.py").write_text(MODEL.replace("Net", "Stack"))
    git(folder, "mv", "model.py", "nets.py")
    (folder / "train.py").write_text((folder / "train.py").read_text().replace("from model import Net", "from nets import Stack as Net"))
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "two")
    return folder


def moved(capsys: pytest.CaptureFixture[str], folder: Path, *words: str, **options: object) -> list[dict[str, object]]:
    settings = {"from_rev": "HEAD~1", "to_rev": "HEAD", "rewrite": False, "source": str(folder), "quiet": True, "json": True, **options}
    assert run_moved(list(words), **settings) == 0  # type: ignore[arg-type]
    found: list[dict[str, object]] = json.loads(capsys.readouterr().out)
    return found


def test_anchors_in_both_directions(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (row,) = moved(capsys, repository, "model.py:Net.forward:11")
    assert (row["status"], row["to"]) == ("moved", "nets.py:Stack.forward:11")
    (back,) = moved(capsys, repository, "nets.py:Stack.forward:11", from_rev="HEAD", to_rev="HEAD~1")
    assert back["to"] == "model.py:Net.forward:11"
    (loss,) = moved(capsys, repository, "train.py:<module>:7")
    assert (loss["status"], loss["to"]) == ("shifted", "train.py:<module>:9")


def test_a_record_is_rewritten_at_the_new_commit(repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = tmp_path / "old"
    export(Request(str(repository), rev="HEAD~1", launch="python train.py", workspace=first, store=str(tmp_path / "store"), deep=0))
    record = first / "records" / "computation_graph.json"
    rows = moved(capsys, repository, str(record), rewrite=True, workspace=tmp_path / "new")
    assert {row["status"] for row in rows} <= {"unchanged", "shifted", "edited", "moved", "renamed"}
    new = json.loads((tmp_path / "new" / "records" / "computation_graph.json").read_text())
    assert new["commit"] == git(repository, "rev-parse", "HEAD")
    (fold,) = [entry for entry in new["modules"] if entry.get("path") == "layers.[0-5]"]
    assert fold["changed"] == ["new"]  # another fold than layers.[0-3]
    (loop,) = [entry for entry in new["modules"] if entry["level"] == "loop" and entry["repeat"]["by"] == "instances"]
    assert loop["repeat"]["count"] == 6
    assert "repeat" in loop["changed"]
    plain = tmp_path / "plain"
    export(Request(str(repository), rev="HEAD", launch="python train.py", workspace=plain, store=str(tmp_path / "store2"), deep=0))
    clean = json.loads((plain / "records" / "computation_graph.json").read_text())
    for entry in new["modules"]:
        entry.pop("changed", None)
    assert new["modules"] == clean["modules"]


@pytest.mark.parametrize(
    ("words", "options", "message"),
    [
        ([], {}, "give anchors"),
        (["nothing"], {}, "neither an anchor"),
        (["no.json"], {}, "no such record"),
        (["a.py:f:1"], {"to_rev": "nope"}, "unknown revision"),
        (["a.py:f:1"], {"rewrite": True}, "record files"),
    ],
)
def test_bad_input_is_one_line(repository: Path, words: list[str], options: dict[str, object], message: str) -> None:
    settings = {"from_rev": "HEAD~1", "to_rev": "HEAD", "rewrite": False, "source": str(repository), "quiet": True, "json": True, **options}
    with pytest.raises(UserError, match=message) as caught:
        run_moved(words, **settings)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
