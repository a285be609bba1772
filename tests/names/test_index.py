"""The whole of ``cgx index``: what is stored, what a second run and a second commit add."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cgx.cli import main
from cgx.indexer import pipeline
from cgx.indexer.names.cache import FactsCache
from cgx.indexer.pipeline import index_tree
from cgx.indexer.source import open_tree
from cgx.store import Store, open_store

FILES = {
    "pkg/__init__.py": "",
    "pkg/model.py": (
        "from torch import nn\n\n\nclass Block(nn.Module):\n    def __init__(self, n):\n        super().__init__()\n"
        "        self.fc = nn.Linear(n, n)\n\n    def forward(self, x):\n        return helper(self.fc(x))\n\n\n"
        "def helper(x):\n    return x.go()\n"
    ),
    "train.py": "from pkg.model import Block\n\nmodel = Block(4)\nmodel(1)\n",
}
CALLS = (
    "MATCH (:Commit {id: $c})-[:HAS]->(f:File)-[:DEFINES]->(a)-[e:CALLS|CONSTRUCTS]->(t) "
    "RETURN a.qname AS caller, type(e) AS kind, t.qname AS callee, e.line AS line ORDER BY caller, line, kind, callee"
)


def git(folder: Path, *args: str) -> str:
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@t",
           "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@t"}  # fmt: skip
    return subprocess.run(
        ["git", *args], cwd=folder, env=env, check=True, capture_output=True, text=True
    ).stdout.strip()


def commit(folder: Path, files: dict[str, str | None], message: str = "change") -> str:
    for path, text in files.items():
        place = folder / path
        if text is None:
            place.unlink()
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", message)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "job"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    commit(folder, dict(FILES), "first")
    return folder


@pytest.fixture(params=["embedded", pytest.param("neo4j", marks=pytest.mark.neo4j)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """An empty store of each kind."""
    url = str(tmp_path / "store") if request.param == "embedded" else request.getfixturevalue("neo4j_url")
    with open_store(url, "job") as opened:
        if request.param == "neo4j":
            with opened._driver.session(database=opened._database) as session:  # type: ignore[attr-defined]
                session.run("MATCH (n) DETACH DELETE n").consume()
        yield opened


def index(folder: Path, store: Store, cache: FactsCache, rev: str | None = None) -> Any:
    with open_tree(folder, rev) as tree:
        return index_tree(tree, store, cache=cache, jobs=1)


def rows(store: Store, query: str, **params: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in store.run(query, params).rows]


def dump(store: Store) -> list[Any]:
    """Everything in a store, in a comparable form."""
    graph = store.graph()
    nodes = sorted((name, json.dumps(data, sort_keys=True, default=str)) for name, data in graph.nodes(data=True))
    edges = sorted((a, b, json.dumps(data, sort_keys=True, default=str)) for a, b, data in graph.edges(data=True))
    return [nodes, edges]


def test_what_is_stored(repo: Path, store: Store, facts_cache: FactsCache) -> None:
    figures = index(repo, store, facts_cache)
    head = git(repo, "rev-parse", "HEAD")
    assert rows(store, CALLS, c=head) == [
        ("pkg.model.Block.__init__", "CALLS", "builtins.super", 6),
        ("pkg.model.Block.__init__", "CALLS", "torch.nn.Module.__init__", 6),
        ("pkg.model.Block.__init__", "CONSTRUCTS", "torch.nn.Linear", 7),
        ("pkg.model.Block.forward", "CALLS", "pkg.model.helper", 10),
        ("pkg.model.Block.forward", "CALLS", "torch.nn.Linear.forward", 10),
        ("train.<module>", "CALLS", "pkg.model.Block.__init__", 3),
        ("train.<module>", "CONSTRUCTS", "pkg.model.Block", 3),
        ("train.<module>", "CALLS", "pkg.model.Block.forward", 4),
    ]
    assert (figures.files, figures.sites, figures.resolved, figures.external, figures.unresolved) == (3, 8, 3, 4, 1)
    assert figures.reasons == {"parameter": 1}
    unresolved = (
        "MATCH (f:Function)-[e:UNRESOLVED_CALL]->(r:Reason) RETURN f.qname AS f, e.text AS t, r.name AS r ORDER BY f"
    )
    assert rows(store, unresolved) == [("pkg.model.helper", "x.go", "parameter")]
    constructs = "MATCH (:Function)-[e:CONSTRUCTS]->(t:External) RETURN t.qname AS q, e.bound_to AS b, e.arguments AS a ORDER BY q"
    assert rows(store, constructs) == [("torch.nn.Linear", "self.fc", ["n", "n"])]
    bases = "MATCH (c:Class)-[:INHERITS]->(b) RETURN c.qname AS c, b.qname AS b ORDER BY c"
    assert rows(store, bases) == [("pkg.model.Block", "torch.nn.Module")]
    imports = "MATCH (f:File)-[:IMPORTS]->(t) RETURN f.path AS f, t.qname AS t ORDER BY f, t"
    assert rows(store, imports) == [("pkg/model.py", "torch.nn"), ("train.py", "pkg.model.Block")]


def test_a_second_run_only_looks(repo: Path, store: Store, facts_cache: FactsCache) -> None:
    first = index(repo, store, facts_cache)
    before = dump(store)
    second = index(repo, store, facts_cache)
    assert second.unchanged and not first.unchanged and second.written == 0
    assert (second.sites, second.resolved, second.files) == (first.sites, first.resolved, first.files)
    assert dump(store) == before


def test_two_commits_share_what_did_not_change(repo: Path, store: Store, facts_cache: FactsCache) -> None:
    one = git(repo, "rev-parse", "HEAD")
    index(repo, store, facts_cache)
    two = commit(repo, {"pkg/model.py": "# moved down by a line\n" + FILES["pkg/model.py"]})
    figures = index(repo, store, facts_cache)
    assert figures.written == 1  # train.py calls identities, so it is the same version
    versions = "MATCH (c:Commit)-[:HAS]->(f:File) WITH f, count(c) AS n RETURN f.path AS path, n ORDER BY path, n"
    assert rows(store, versions) == [("pkg/__init__.py", 2), ("pkg/model.py", 1), ("pkg/model.py", 1), ("train.py", 2)]
    lines = {
        commit: [row[3] for row in rows(store, CALLS, c=commit) if row[2] == "pkg.model.helper"]
        for commit in (one, two)
    }
    assert lines == {one: [10], two: [11]}
    callers = (
        "MATCH (:Commit {id: $c})-[:HAS]->(:File)-[:DEFINES]->(f:Function)-[:CALLS]->(:Symbol {qname: $q}) "
        "RETURN f.anchor AS anchor ORDER BY anchor"
    )
    assert rows(store, callers, c=two, q="pkg.model.helper") == [("pkg/model.py:Block.forward:10",)]
    assert rows(store, callers, c=one, q="pkg.model.helper") == [("pkg/model.py:Block.forward:9",)]


def test_an_edit_elsewhere_that_changes_an_answer_makes_a_version(
    repo: Path, store: Store, facts_cache: FactsCache
) -> None:
    index(repo, store, facts_cache)
    two = commit(repo, {"pkg/model.py": FILES["pkg/model.py"].replace("def forward", "def other")})
    assert index(repo, store, facts_cache).written == 2
    callees = {row[2] for row in rows(store, CALLS, c=two) if row[0] == "train.<module>"}
    assert "pkg.model.Block.forward" not in callees


def test_incremental_equals_clean(repo: Path, tmp_path: Path, facts_cache: FactsCache) -> None:
    steps = [
        {"pkg/model.py": FILES["pkg/model.py"] + "\n\ndef late():\n    return helper(1)\n"},
        {
            "pkg/extra.py": "from pkg.model import helper\nhelper(2)\n",
            "train.py": "from pkg import extra\nextra.helper(1)\n",
        },
        {"pkg/extra.py": None, "train.py": FILES["train.py"]},
        {"pkg/model.py": FILES["pkg/model.py"]},
    ]
    commits = [git(repo, "rev-parse", "HEAD")] + [commit(repo, dict(step)) for step in steps]
    with open_store(str(tmp_path / "grown"), "job") as grown:
        for one in commits:
            index(repo, grown, facts_cache, one)
        for one in commits:
            with open_store(str(tmp_path / f"clean{one[:6]}"), "job") as clean:
                index(repo, clean, facts_cache, one)
                assert rows(grown, CALLS, c=one) == rows(clean, CALLS, c=one)
                files = "MATCH (:Commit {id: $c})-[:HAS]->(f:File) RETURN f.id AS id ORDER BY id"
                assert rows(grown, files, c=one) == rows(clean, files, c=one)


def test_same_input_same_graph(repo: Path, tmp_path: Path, facts_cache: FactsCache) -> None:
    found = []
    for name in ("one", "two"):
        with open_store(str(tmp_path / name), "job") as store:
            index(repo, store, FactsCache(tmp_path / f"facts-{name}"))
            found.append(dump(store))
    assert found[0] == found[1]


def test_written_in_portions(
    repo: Path, tmp_path: Path, facts_cache: FactsCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for portion in (100_000, 1):
        monkeypatch.setattr(pipeline, "PORTION", portion)
        with open_store(str(tmp_path / f"s{portion}"), "job") as store:
            index(repo, store, facts_cache)
            found.append(dump(store))
    assert found[0] == found[1]


def test_command(
    repo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CGX_CACHE_DIR", str(tmp_path / "cache"))
    assert main(["index", str(repo), "--store", str(tmp_path / "s"), "--deep", "0", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert (row["commit"], row["files"], row["unresolved"]) == (git(repo, "rev-parse", "HEAD"), 3, 1)
    assert main(["index", str(repo), "--store", str(tmp_path / "s"), "--deep", "0", "--strict"]) == 1
    assert main(["index", str(repo), "--rev", "nope", "--store", str(tmp_path / "s")]) == 2
    assert "unknown revision" in capsys.readouterr().err
    head = commit(repo, {"new.py": "print(1)\n"})
    assert (
        main(
            ["index", str(repo), "--rev", f"{head}~1..{head}", "--store", str(tmp_path / "s"), "--deep", "0", "--json"]
        )
        == 0
    )
    assert json.loads(capsys.readouterr().out)["commit"] == head


def test_broken_files_are_counted_and_the_rest_is_indexed(repo: Path, store: Store, facts_cache: FactsCache) -> None:
    commit(repo, {"bad.py": "def ok():\n    print(1)\nx = (\n", "latin.py": "# fine\n"})
    (repo / "latin.py").write_bytes(b"x = '\xe9'\nprint(x)\n")
    os.symlink("train.py", repo / "link.py")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "more")
    figures = index(repo, store, facts_cache)
    assert figures.files == 5 and figures.skipped == ["link.py: symbolic link"] and not figures.faults
    assert [text.split(":")[0] for text in figures.partial] == ["bad.py"]
    parsed = "MATCH (f:File) WHERE f.parsed <> 'whole' RETURN f.path AS path, f.parsed AS how ORDER BY path"
    assert rows(store, parsed) == [("bad.py", "partial")]


def test_entry_points_hang_on_their_commit(tmp_path):
    from cgx.indexer.passes.entry_points import entry_point_delta
    from cgx.indexer.source import open_tree
    from cgx.model import schema

    (tmp_path / "train.py").write_text("import torch\n\nif __name__ == '__main__':\n    torch.zeros(1).sum().backward()\n")
    tree = open_tree(tmp_path)
    delta = entry_point_delta(tree)
    schema.check(delta)
    assert [node.properties["command"] for node in delta.nodes] == ["python train.py"]
    assert [(edge.kind, edge.source) for edge in delta.edges] == [("OFFERS", f"tree:{tree.digest}")]
