"""Nothing of an analysed repository is ever run: not its code, not what its git configuration asks git to run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import cgx

from .conftest import git, write

COMMANDS = {
    "index": ["index", "{repo}", "--store", "{out}/store", "--deep", "5", "--json"],
    "index of the work tree": ["index", "{repo}", "--worktree", "--store", "{out}/store", "--deep", "5", "--json"],
    "entry points": ["entrypoints", "{repo}", "--json"],
    "resolve": ["resolve", "train.py:4", "--source", "{repo}", "--deep", "--json"],
}


@pytest.fixture
def trap(tmp_path: Path) -> tuple[Path, Path]:
    """A repository in which everything that could run writes a mark, and the folder of the marks."""
    marks = tmp_path / "marks"
    marks.mkdir()
    repo = tmp_path / "job"
    repo.mkdir()
    git(repo, "init", "-q", "-b", "main")

    def python(name: str) -> str:
        return f"open({str(marks / name)!r}, 'w').close()\n"

    script = tmp_path / "evil.sh"
    script.write_text(f'#!/bin/sh\ntouch "{marks}/git-$1"\ncat\n')
    script.chmod(0o755)
    packages = ("indexer", "exporters", "queries", "jedi", "parso", "kglite", "torch", "numpy", "typing_extensions")
    files = {f"{name}/__init__.py": python(f"package-{name}") for name in packages}
    files |= {
        name: python(name)
        for name in ("conftest.py", "setup.py", "usercustomize.py", "models.py", "ast.py", "git.py", "tokenize.py")
    }
    files["indexer/pipeline.py"] = python("indexer.pipeline")
    files["train.py"] = (
        python("train.py") + "import models\nfrom indexer import pipeline\nmodels.build(print)\nx = lambda y: y.go()\n"
    )
    files["evil.pth"] = f"import os; open({str(marks / 'pth')!r}, 'w')\n"
    files["config.py"] = python("config.py") + "batch = 1\n"
    files[".gitattributes"] = "*.py filter=evil diff=evil merge=evil ident working-tree-encoding=UTF-8\n"
    write(repo, files)
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "first")
    for key, value in {
        "core.fsmonitor": f"{script} fsmonitor", "core.sshCommand": f"{script} ssh", "core.pager": f"{script} pager",
        "core.editor": f"{script} editor", "filter.evil.clean": f"{script} clean", "filter.evil.smudge": f"{script} smudge",
        "filter.evil.process": f"{script} process", "filter.evil.required": "true", "diff.evil.textconv": f"{script} textconv",
        "diff.evil.command": f"{script} diffcommand", "diff.external": f"{script} external", "core.hooksPath": str(tmp_path / "hooks"),
        "gpg.program": str(script), "log.showSignature": "true", "alias.ls-tree": f"!{script} alias", "credential.helper": f"!{script}",
        "uploadpack.packObjectsHook": f"{script} hook", "core.gitProxy": f"{script} proxy", "core.askPass": f"{script} askpass",
        "remote.origin.url": f"ext::{script} transport", "remote.origin.promisor": "true", "remote.origin.uploadpack": str(script),
        "core.alternateRefsCommand": f"{script} refs", "core.worktree": str(repo),
    }.items():  # fmt: skip
        git(repo, "-c", "core.fsmonitor=false", "config", key, value)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for folder in (hooks, repo / ".git" / "hooks"):
        folder.mkdir(exist_ok=True)
        for name in (
            "post-checkout",
            "post-index-change",
            "reference-transaction",
            "pre-auto-gc",
            "fsmonitor-watchman",
        ):
            (folder / name).write_text(f"#!/bin/sh\ntouch '{marks}/hook-{name}'\n")
            (folder / name).chmod(0o755)
    for path in marks.iterdir():
        path.unlink()  # what git itself ran while the trap was built
    return repo, marks


def test_the_trap_is_armed(trap: tuple[Path, Path]) -> None:
    """An ordinary git status and an ordinary import do fall for it, else the tests below would prove nothing."""
    repo, marks = trap
    (repo / "train.py").write_text("changed\n")
    subprocess.run(["git", "status"], cwd=repo, capture_output=True, check=False)
    subprocess.run([sys.executable, "-c", "import indexer"], cwd=repo, capture_output=True, check=False)
    assert {"git-fsmonitor", "package-indexer"} <= {path.name for path in marks.iterdir()}


def snapshot(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("edited", [False, True], ids=["clean", "edited"])
def test_nothing_runs_and_nothing_is_written(name: str, edited: bool, trap: tuple[Path, Path], tmp_path: Path) -> None:
    repo, marks = trap
    if edited:
        (repo / "train.py").write_text((repo / "train.py").read_text() + "models.other()\n")
    before = snapshot(repo)
    starter = tmp_path / "bin" / "run_cgx.py"  # as the console script does it: its own folder is first on sys.path
    starter.parent.mkdir()
    starter.write_text("import sys\nfrom cgx.cli import main\nsys.exit(main())\n")
    source = str(Path(cgx.__file__).resolve().parent.parent)
    env = {
        **os.environ, "PYTHONPATH": os.pathsep.join([source, str(tmp_path / "safe")]), "CGX_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    words = [word.format(repo=repo, out=tmp_path) for word in COMMANDS[name]]
    done = subprocess.run([sys.executable, str(starter), *words], cwd=repo, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    json.loads(done.stdout)
    assert sorted(path.name for path in marks.iterdir()) == []
    assert snapshot(repo) == before


def test_python_dash_m_in_the_folder_of_the_job(trap: tuple[Path, Path], tmp_path: Path) -> None:
    repo, marks = trap
    source = str(Path(cgx.__file__).resolve().parent.parent)
    env = {**os.environ, "PYTHONPATH": source, "CGX_CACHE_DIR": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    for name in ("ast.py", "tokenize.py"):
        (
            repo / name
        ).unlink()  # Python's own start of `-m` imports these from the current folder, before any of our code
    words = ["index", ".", "--store", str(tmp_path / "store"), "--deep", "0"]
    done = subprocess.run([sys.executable, "-m", "cgx", *words], cwd=repo, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in marks.iterdir()) == []


def test_packages_of_the_job_do_not_take_the_place_of_ours(trap: tuple[Path, Path], tmp_path: Path) -> None:
    """Its ``indexer/``, ``exporters/`` and ``queries/`` stand on PYTHONPATH, in front."""
    repo, marks = trap
    for name in ("jedi", "parso", "kglite", "torch", "numpy", "typing_extensions"):
        (repo / name / "__init__.py").unlink()  # these would shadow libraries: what PYTHONPATH does to any program
    for name in ("ast.py", "tokenize.py", "git.py", "usercustomize.py"):
        (repo / name).unlink()
    source = str(Path(cgx.__file__).resolve().parent.parent)
    env = {
        **os.environ, "PYTHONPATH": os.pathsep.join([str(repo), source]), "CGX_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    code = "import sys; from cgx.cli import main; sys.exit(main(sys.argv[1:]))"
    words = ["index", str(repo), "--store", str(tmp_path / "store"), "--deep", "0"]
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, *words], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in marks.iterdir()) == []
