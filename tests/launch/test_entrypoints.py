"""``cgx entrypoints``: jobs found, ranked, anchored, and what must not be among them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cgx.cli import main
from cgx.indexer.launch import parse_launch, tries
from cgx.indexer.launch.entrypoints import find_entrypoints
from cgx.indexer.launch.tries import Memory

MakeTree = Callable[..., Any]  # the fixture of conftest.py

FILES = {
    "train.py": "import torch\nloss = 1\nfor step in range(3):\n    loss.backward()\n",
    "pkg/__init__.py": "",
    "pkg/model.py": "import torch\nclass Net: ...\n",
    "pkg/cli.py": "import torch\ndef main(): ...\n\nif __name__ == '__main__':\n    main()\n",
    "tests/test_net.py": "import torch\nif __name__ == '__main__':\n    pass\n",
    "run.sh": "torchrun --nproc_per_node=8 train.py\n",
    "setup_env.sh": "pip install torch\n",
    "README.md": "Run\n```\n$ torchrun --nproc_per_node=2 \\\n    train.py --lr 1\npython gone.py\n```\n",
    "pyproject.toml": '[project.scripts]\nfit = "pkg.cli:main"\n',
}


def test_what_is_found(make_tree: MakeTree) -> None:
    found = {entry.line: entry for entry in find_entrypoints(make_tree(FILES))}
    assert set(found) == {
        "python train.py", "bash run.sh", "torchrun --nproc_per_node=2 train.py --lr 1", "fit", "python -m pkg.cli", "python tests/test_net.py",
    }  # fmt: skip
    assert str(found["torchrun --nproc_per_node=2 train.py --lr 1"].anchor) == "README.md:<module>:3"
    assert str(found["python -m pkg.cli"].anchor) == "pkg/cli.py:<module>:4"
    lines = list(found)
    assert lines[-1] == "python tests/test_net.py" and lines.index("python train.py") < lines.index("python -m pkg.cli")


def test_command(make_tree: MakeTree, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_tree(FILES)
    assert main(["entrypoints", str(tmp_path / "repo"), "--json", "--limit", "2"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) == 2 and set(rows[0]) == {"line", "kind", "anchor", "why", "score"}
    assert main(["entrypoints", str(tmp_path / "repo"), "--limit", "2"]) == 0
    assert "4 more" in capsys.readouterr().out


CHANGES: list[dict[str, str]] = [
    {"run.sh": "torchrun --nproc_per_node=4 other.py\n"},  # the script itself: nothing is started any more
    {"train.py": "import torch\n"},  # what a document starts: no job by itself
    {"other.py": "import torch\n"},  # a new file
    {"recipes/c.sh": "for f in ../jobs/*.py; do python $f; done\n", "jobs/one.py": ""},
    {"pyproject.toml": "[project.scripts]\n"},
]


@pytest.mark.parametrize("change", CHANGES)
def test_what_was_found_before_is_kept_only_where_nothing_of_it_changed(make_tree: MakeTree, change: dict[str, str]) -> None:
    glob = {"recipes/c.sh": "cd ..\nfor f in jobs/*.py; do torchrun $f; done\n", "jobs/one.py": "", "jobs/two.py": ""}
    first = {**FILES, **glob}
    memory = Memory()
    before, after = make_tree(first, "before"), make_tree({**first, **change}, "after")
    assert find_entrypoints(before, memory) == find_entrypoints(before)
    assert find_entrypoints(after, memory) == find_entrypoints(after)
    assert find_entrypoints(before, memory) == find_entrypoints(before)


def test_a_line_is_read_again_only_where_its_files_changed(make_tree: MakeTree, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr(tries, "parse_launch", lambda line, tree: read.append(line) or parse_launch(line, tree))
    memory = Memory()
    find_entrypoints(make_tree(FILES, "before"), memory)
    read.clear()
    find_entrypoints(make_tree({**FILES, "run.sh": "torchrun --nproc_per_node=8 train.py --more\n", "new.py": ""}, "after"), memory)
    assert read == ["bash run.sh"]
