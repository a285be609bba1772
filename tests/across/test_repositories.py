"""Every kind of repository works for `index`, `moved` and `export`, or says in one line why not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from test_moved_edges import commit, git, index

from cgx.errors import UserError
from cgx.store import open_store
from cgx.workflow.export import export
from cgx.workflow.moved import run_moved
from cgx.workflow.request import Request

NET = """import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        return self.fc(x).relu()
"""
BUILD = "net:Net()"
ANCHOR, THERE = "net.py:Net.forward:10", "net.py:Net.forward:12"


def make(folder: Path, *init: str) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main", *init)
    commit(folder, {"net.py": NET})
    commit(folder, {"net.py": "import torch\n\n" + NET})
    return folder


def clone(source: Path, target: Path, *options: str) -> Path:
    git(source.parent, "-c", "protocol.file.allow=always", "clone", "-q", *options, f"file://{source}", str(target))
    return target


def follow(folder: Path, capsys: pytest.CaptureFixture[str], anchor: str = ANCHOR, old: str = "HEAD~1", new: str = "HEAD") -> str | None:
    assert run_moved([anchor], from_rev=old, to_rev=new, rewrite=False, source=str(folder), quiet=True, json=True, store=str(folder.parent / "no")) == 0
    (row,) = json.loads(capsys.readouterr().out)
    to: str | None = row["to"]
    return to


def classes(folder: Path, tmp_path: Path) -> list[str]:
    work = tmp_path / f"work-{folder.name}"
    export(Request(str(folder), build=BUILD, inputs=["x=float32[2,3]"], workspace=work, store=str(work / "store"), deep=0, quiet=True))
    record = json.loads((work / "records" / "computation_graph.json").read_text())
    return [entry["type"] for entry in record["modules"] if entry["level"] == "layer"]


def works(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = index(folder, str(tmp_path / "store"), "HEAD~1..HEAD", capsys)
    assert [row["files"] for row in rows] == [1]
    assert classes(folder, tmp_path) == ["torch.nn.Linear"]
    capsys.readouterr()
    assert follow(folder, capsys) == THERE


@pytest.mark.parametrize("init", [(), ("--object-format=sha256",)])
def test_plain_and_sha256(init: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    works(make(tmp_path / "job", *init), tmp_path, capsys)


def test_bare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make(tmp_path / "job")
    works(clone(tmp_path / "job", tmp_path / "bare.git", "--bare"), tmp_path, capsys)


def test_linked_work_tree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    git(make(tmp_path / "job"), "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    works(tmp_path / "side", tmp_path, capsys)


def test_submodule(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inner, outer = make(tmp_path / "inner"), make(tmp_path / "outer")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner), "part")
    commit(outer, {"net.py": "import torch\n\n\n" + NET})
    works(outer / "part", tmp_path, capsys)
    assert follow(outer, capsys, THERE) == "net.py:Net.forward:13"
    assert follow(outer, capsys, "part/net.py:Net.forward:10") is None  # its files are the submodule's own


def test_shallow(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shallow = clone(make(tmp_path / "job"), tmp_path / "shallow", "--depth=1")
    assert index(shallow, str(tmp_path / "store"), "HEAD", capsys)[0]["files"] == 1
    assert classes(shallow, tmp_path) == ["torch.nn.Linear"]
    with pytest.raises(UserError, match="shallow clone: fetch more of its history") as caught:
        follow(shallow, capsys)
    assert "\n" not in str(caught.value)


def test_partial_clone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    full = make(tmp_path / "job")
    git(full, "config", "uploadpack.allowFilter", "true")
    part = clone(full, tmp_path / "part", "--filter=blob:none")  # has what is checked out, and nothing older
    assert index(part, str(tmp_path / "store"), "HEAD", capsys)[0]["files"] == 1
    assert classes(part, tmp_path) == ["torch.nn.Linear"]
    capsys.readouterr()
    with pytest.raises(UserError, match=r"partial clone: net\.py") as caught:
        follow(part, capsys)
    assert "\n" not in str(caught.value)


def test_merge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make(tmp_path / "job")
    git(folder, "checkout", "-q", "-b", "side", "HEAD~1")
    commit(folder, {"other.py": "def other():\n    return 1\n"})
    git(folder, "checkout", "-q", "main")
    git(folder, "merge", "-q", "--no-ff", "-m", "merged", "side")
    rows = index(folder, str(tmp_path / "store"), "HEAD~2..HEAD", capsys)
    assert len(rows) == 3
    index(folder, str(tmp_path / "store"), "HEAD~2", capsys)
    assert follow(folder, capsys, "other.py:other:2", "side", "HEAD") == "other.py:other:2"
    assert follow(folder, capsys, ANCHOR, "side", "HEAD") == THERE
    assert classes(folder, tmp_path) == ["torch.nn.Linear"]


def test_case_and_unicode_in_paths(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "jöb ü"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    names = {"Net.py": NET, "nét 网.py": NET, "q'\"x.py": NET.replace("Net", "Quoted")}
    commit(folder, {**names, "net.py": NET})
    commit(folder, {**{name: f"import torch\n\n{text}" for name, text in names.items()}, "net.py": "\n" + NET})
    assert follow(folder, capsys, "Net.py:Net.forward:10") == "Net.py:Net.forward:12"
    assert follow(folder, capsys, "net.py:Net.forward:10") == "net.py:Net.forward:11"
    assert follow(folder, capsys, "nét 网.py:Net.forward:10") == "nét 网.py:Net.forward:12"
    assert index(folder, str(tmp_path / "store"), "HEAD", capsys)[0]["files"] == 4
    assert classes(folder, tmp_path) == ["torch.nn.Linear"]


def test_a_moved_root_and_a_second_clone_share_one_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The remote tells that they are one repository; without one, the root commit does."""
    first = make(tmp_path / "job")
    url = str(tmp_path / "store")
    index(first, url, "HEAD~1", capsys)
    second = tmp_path / "elsewhere" / "job"
    shutil.copytree(first, second)
    assert index(second, url, "HEAD", capsys)[0]["moved"] > 0  # from the commit that the other one indexed
    shutil.move(first, tmp_path / "renamed")
    assert index(tmp_path / "renamed", url, "HEAD", capsys)[0]["written"] == 0
    with open_store(url, "job", read_only=True) as opened:
        assert len(opened.ids("Commit")) == 2


def test_rewritten_history(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make(tmp_path / "job")
    lost = git(folder, "rev-parse", "HEAD")
    git(folder, "commit", "-q", "--amend", "-m", "other words")
    assert follow(folder, capsys, THERE, lost, "HEAD") == THERE  # git keeps it for a while
    git(folder, "reflog", "expire", "--expire=now", "--all")
    git(folder, "gc", "-q", "--prune=now")
    with pytest.raises(UserError, match="unknown revision"):
        follow(folder, capsys, THERE, lost, "HEAD")


def test_all_tags(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make(tmp_path / "job")
    with pytest.raises(UserError, match="has no tags"):
        index(folder, str(tmp_path / "store"), "tags", capsys)
    git(folder, "tag", "v1", "HEAD~1")
    git(folder, "tag", "-a", "-m", "two", "v2", "HEAD")
    git(folder, "tag", "same", "HEAD")
    rows = index(folder, str(tmp_path / "store"), "tags", capsys)
    assert [row["commit"] for row in rows] == [git(folder, "rev-parse", "HEAD~1"), git(folder, "rev-parse", "HEAD")]
    assert "moved" not in rows[0] and rows[1]["moved"] > 0
