"""``MOVED_TO`` edges over a generated history, and the queries that ask them, on both stores."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cgx.queries import get
from cgx.store import Store, open_store
from cgx.workflow.indexing import run_index
from cgx.workflow.moved import run_moved

MODEL = """class Block(torch.nn.Module):
    def __init__(self, width):
        self.width = width
        self.scale = width * 3
        self.drop = torch.nn.Dropout(0.1)

    def reset(self, generator):
        for name, value in self.named_parameters():
            value.data.normal_(0.0, 0.02, generator=generator)
        return self

    def forward(self, batch, mask):
        batch = self.attend(batch, mask, heads=8)
        batch = self.merge(batch, scale=self.scale)
        batch = batch + mask * 4
        return batch


def train(model, loader):
    for batch in loader:
        loss = model(batch).sum()
        loss.backward()
"""
EXTRACTED = """        batch = self.mix(batch, mask)
        batch = batch + mask * 4
        return batch

    def mix(self, batch, mask):
        batch = self.attend(batch, mask, heads=8)
        batch = self.merge(batch, scale=self.scale)
        return batch
"""
ENV = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@t", "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@t"}
EDGES = (
    "MATCH (a)-[m:MOVED_TO {old_commit: $old, new_commit: $new}]->(b) "
    "RETURN m.status AS status, a.anchor AS before, b.anchor AS after ORDER BY before, after, status"
)


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, env={**os.environ, **ENV}, capture_output=True, text=True, check=True).stdout.strip()


def commit(folder: Path, files: dict[str, str | None]) -> str:
    for path, text in files.items():
        if text is None:
            (folder / path).unlink()
        else:
            (folder / path).write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "step")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def history(tmp_path: Path) -> tuple[Path, list[str]]:
    """Three commits: as it is; the class renamed, shifted, and a method extracted; the file renamed and a function edited."""
    folder = tmp_path / "job"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    shas = [commit(folder, {"model.py": MODEL, "same.py": "def untouched():\n    return 1\n"})]
    start, stop = MODEL.index("        batch = self.attend"), MODEL.index("\n\ndef train")
    second = "LIMIT = 1\n\n\n" + (MODEL[:start] + EXTRACTED + MODEL[stop:]).replace("Block", "Layer")
    shas.append(commit(folder, {"model.py": second}))
    third = second.replace("loss.backward()", "loss.backward(retain_graph=True)")
    shas.append(commit(folder, {"model.py": None, "nets.py": third}))
    return folder, shas


@pytest.fixture(params=["embedded", pytest.param("neo4j", marks=pytest.mark.neo4j)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "embedded":
        return str(tmp_path / "store")
    found: str = request.getfixturevalue("neo4j_url")
    with open_store(found, "job") as opened, opened._driver.session(database=opened._database) as session:  # type: ignore[attr-defined]
        session.run("MATCH (n) DETACH DELETE n").consume()
    return found


def index(folder: Path, url: str, rev: str, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    assert run_index(source=str(folder), rev=rev, worktree=False, launch=None, env=[], store=url, jobs=1, deep=0, strict=False, quiet=True, json=True) == 0
    rows = json.loads(capsys.readouterr().out)
    return rows if isinstance(rows, list) else [rows]


@pytest.fixture
def store(history: tuple[Path, list[str]], url: str, capsys: pytest.CaptureFixture[str]) -> Iterator[Store]:
    folder, shas = history
    index(folder, url, shas[0], capsys)
    rows = index(folder, url, f"{shas[0]}..HEAD", capsys)
    assert [row["moved"] > 0 for row in rows] == [True, True]
    with open_store(url, "job", read_only=True) as opened:
        yield opened


def rows(store: Store, text: str, **params: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in store.run(text, params).rows]


def test_edges_between_consecutive_commits(history: tuple[Path, list[str]], store: Store) -> None:
    _, (one, two, three) = history
    assert rows(store, EDGES, old=one, new=two) == [
        ("renamed", "model.py:Block.__init__:2", "model.py:Layer.__init__:5"),
        ("renamed", "model.py:Block.forward:12", "model.py:Layer.forward:15"),
        ("split", "model.py:Block.forward:12", "model.py:Layer.mix:20"),
        ("renamed", "model.py:Block.reset:7", "model.py:Layer.reset:10"),
        ("renamed", "model.py:Block:1", "model.py:Layer:4"),
        ("shifted", "model.py:train:19", "model.py:train:26"),
    ]
    second = rows(store, EDGES, old=two, new=three)
    assert {status for status, *_ in second} == {"moved"}
    assert ("moved", "model.py:Layer.mix:20", "nets.py:Layer.mix:20") in second
    assert ("moved", None, None) in second  # the file itself
    assert rows(store, EDGES, old=one, new=three) == []


def test_shipped_queries_have_rows(history: tuple[Path, list[str]], store: Store) -> None:
    _, (one, two, _) = history
    moved = rows(store, get("moved").text, old=one, new=two)
    assert ("renamed", "model.py:Block:1", "model.py:Layer:4") in [row[:3] for row in moved]
    most = rows(store, get("moved_most").text, count=20)
    assert (2, "model.train") in most and (1, "model.Block.forward") in most
    assert {row[1] for row in rows(store, get("symbol_history").text, symbol="model.train")} == {"model.py:train:19", "model.py:train:26"}


def test_order_and_repetition_change_nothing(history: tuple[Path, list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, shas = history
    edges = []
    for name, revs in (("range", [shas[0], f"{shas[0]}..HEAD"]), ("single", [*shas, shas[1], shas[2]])):
        for rev in revs:
            index(folder, str(tmp_path / name), rev, capsys)
        with open_store(str(tmp_path / name), "job", read_only=True) as opened:
            graph = opened.graph(["MOVED_TO"])
            edges.append(sorted((a, b, json.dumps(data, sort_keys=True)) for a, b, data in graph.edges(data=True)))
    assert edges[0] == edges[1] and edges[0]


def test_a_deleted_commit_takes_its_edges_along(history: tuple[Path, list[str]], store: Store, url: str) -> None:
    _, (one, two, three) = history
    store.close()
    with open_store(url, "job") as opened:
        opened.delete_scope(two)
        assert rows(opened, "MATCH (a)-[m:MOVED_TO]->(b) RETURN m.status AS status ORDER BY status") == []
        assert rows(opened, "MATCH (c:Commit) RETURN c.id AS id ORDER BY id") == sorted([(one,), (three,)])


def test_moved_writes_edges_where_both_commits_are_indexed(
    history: tuple[Path, list[str]], url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, (one, _, three) = history
    for rev in (three, one):  # the later one first: nothing before it was there to follow from
        index(folder, url, rev, capsys)
    asked = {"source": str(folder), "quiet": False, "json": True, "rewrite": False, "store": url}
    run_moved(["model.py:train:19"], from_rev=three, to_rev=one, **asked)  # type: ignore[arg-type]
    assert "MOVED_TO" not in capsys.readouterr().err  # backwards: no later version
    run_moved(["model.py:train:19"], from_rev=one, to_rev=three, **asked)  # type: ignore[arg-type]
    said = capsys.readouterr().err
    assert f"{one[:12]} -> {three[:12]}; 7 MOVED_TO edges stored" in said
    commit(folder, {"same.py": "x = 1\n"})
    run_moved(["model.py:train:19"], from_rev=one, to_rev=three, **asked)  # type: ignore[arg-type]
    said = capsys.readouterr().err
    assert "edges" not in said and "the index is behind: HEAD" in said
    with open_store(url, "job", read_only=True) as opened:
        assert ("moved", "model.py:train:19", "nets.py:train:26") in rows(opened, EDGES, old=one, new=three)
