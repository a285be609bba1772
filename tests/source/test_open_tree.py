"""Commits, work trees and folders are read right, and what cannot be read is counted or said in one line."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cgx.errors import UserError
from cgx.indexer.source import find_module, module_name, open_tree, source_roots

from .conftest import git, write

Make = Callable[..., Path]


def test_commit_is_read_without_the_work_tree(make_repo: Make) -> None:
    folder = make_repo({"a.py": "x = 1\n", "pkg/b.py": "y = 2\n"})
    head = git(folder, "rev-parse", "HEAD")
    write(folder, {"a.py": "changed\n"})
    with open_tree(folder) as tree:
        assert (tree.name, tree.commit, tree.prefix) == ("job", head, "")
        assert tree.paths() == ["a.py", "pkg/b.py"]
        assert tree.read("a.py") == b"x = 1\n"
        assert tree.blob("a.py") == git(folder, "rev-parse", "HEAD:a.py")
        assert dict(tree.read_many(["pkg/b.py", "nowhere.py"])) == {"pkg/b.py": b"y = 2\n"}
        assert tree.isdir("pkg") and not tree.isdir("a.py") and tree.listdir("") == ["a.py", "pkg"]


def test_older_revision(make_repo: Make) -> None:
    folder = make_repo({"a.py": "old\n"})
    write(folder, {"a.py": "new\n"})
    git(folder, "commit", "-qam", "second")
    with open_tree(folder, rev="HEAD~1") as tree:
        assert tree.read("a.py") == b"old\n"


def test_work_tree_has_new_files_not_ignored_ones(make_repo: Make) -> None:
    folder = make_repo({"a.py": "x\n", ".gitignore": "secret.py\n"})
    with open_tree(folder, worktree=True) as tree:
        assert not tree.modified
    write(folder, {"new.py": "n\n", "secret.py": "s\n"})
    with open_tree(folder, worktree=True) as tree:
        assert tree.modified and tree.commit
        assert tree.paths() == [".gitignore", "a.py", "new.py"]
        assert tree.read("new.py") == b"n\n"


def test_deleted_file_means_modified(make_repo: Make) -> None:
    folder = make_repo({"a.py": "x\n", "b.py": "x\n"})
    (folder / "b.py").unlink()
    with open_tree(folder, worktree=True) as tree:
        assert tree.modified and tree.paths() == ["a.py"]


def test_sub_folder_paths_are_relative_to_it(make_repo: Make) -> None:
    folder = make_repo({"top.py": "", "sub/in/a.py": "x\n"})
    for options in ({}, {"worktree": True}):
        with open_tree(folder / "sub", **options) as tree:
            assert (tree.prefix, tree.paths()) == ("sub", ["in/a.py"])


def test_plain_folder_has_a_digest_of_its_content(tmp_path: Path) -> None:
    write(tmp_path / "one", {"a.py": "x\n", "b/c.py": "y\n"})
    write(tmp_path / "two", {"a.py": "x\n", "b/c.py": "y\n"})
    one, two = open_tree(tmp_path / "one"), open_tree(tmp_path / "two")
    assert one.commit is None and one.digest == two.digest
    write(tmp_path / "two", {"a.py": "z\n"})
    assert open_tree(tmp_path / "two").digest != one.digest


def test_ignored_folder_inside_a_repository_is_a_plain_folder(make_repo: Make) -> None:
    folder = make_repo({"a.py": "", ".gitignore": "env/\n"})
    write(folder, {"env/lib/m.py": "x\n"})
    with open_tree(folder / "env") as tree:
        assert tree.commit is None and tree.paths() == ["lib/m.py"]


def test_links_and_submodules_are_skipped_and_counted(make_repo: Make, tmp_path: Path) -> None:
    other = make_repo({"m.py": ""}, name="other")
    folder = make_repo({"a.py": "x\n", "d/b.py": ""})
    os.symlink(".", folder / "d" / "loop")
    os.symlink("a.py", folder / "link.py")
    git(folder, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "sub")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "links")
    expected = [("d/loop", "symbolic link"), ("link.py", "symbolic link"), ("sub", "submodule")]
    for options in ({}, {"worktree": True}):
        with open_tree(folder, **options) as tree:
            assert [path for path in tree.paths() if path.endswith(".py")] == ["a.py", "d/b.py"]
            assert tree.skipped == expected
    plain = tmp_path / "plain"
    write(plain, {"a.py": ""})
    os.symlink("..", plain / "up")
    tree = open_tree(plain)
    assert tree.paths() == ["a.py"] and tree.skipped == [("up", "symbolic link")]


def test_bare_and_linked_work_tree(make_repo: Make, tmp_path: Path) -> None:
    folder = make_repo({"a.py": "x\n"})
    git(tmp_path, "clone", "-q", "--bare", str(folder), "bare.git")
    with open_tree(tmp_path / "bare.git") as tree:
        assert tree.read("a.py") == b"x\n"
    with pytest.raises(UserError, match="bare repository"):
        open_tree(tmp_path / "bare.git", worktree=True)
    git(folder, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    with open_tree(tmp_path / "side", worktree=True) as tree, open_tree(folder) as main:
        assert tree.read("a.py") == b"x\n" and tree.repository_key == main.repository_key


def test_sha256_repository(make_repo: Make) -> None:
    folder = make_repo({"a.py": "x\n"}, init=("--object-format=sha256",))
    with open_tree(folder) as tree, open_tree(folder, worktree=True) as work:
        assert len(tree.commit or "") == 64 and tree.blob("a.py") == work.blob("a.py") and not work.modified


def test_strange_paths(make_repo: Make) -> None:
    folder = make_repo({"é x/ü.py": "x\n", 'q"\n.py': "y\n"})
    for options in ({}, {"worktree": True}):
        with open_tree(folder, **options) as tree:
            assert {tree.read(path) for path in tree.paths()} == {b"x\n", b"y\n"}


def test_name_comes_from_the_remote(make_repo: Make) -> None:
    folder = make_repo({"a.py": ""})
    git(folder, "remote", "add", "origin", "git@host:team/real-name.git")
    with open_tree(folder) as tree:
        assert tree.name == "real-name"


@pytest.mark.parametrize(
    ("options", "message"),
    [({"rev": "nope"}, "unknown revision 'nope'"), ({"rev": "--help"}, "unknown revision"), ({"rev": ""}, "unknown")],
)
def test_wrong_revision(make_repo: Make, options: dict[str, str], message: str) -> None:
    folder = make_repo({"a.py": ""})
    with pytest.raises(UserError, match=message) as caught:
        open_tree(folder, **options)
    assert "\n" not in str(caught.value)


def test_wrong_source(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such folder"):
        open_tree(tmp_path / "nowhere")
    with pytest.raises(UserError, match="not in a git repository"):
        open_tree(tmp_path, rev="HEAD")
    git(tmp_path, "init", "-q")
    with pytest.raises(UserError, match="no commit yet"):
        open_tree(tmp_path)


def test_partial_clone_misses_objects_without_fetching(make_repo: Make, tmp_path: Path) -> None:
    folder = make_repo({"a.py": "x\n", "b.py": "y\n", "c.py": "z\n"})
    git(folder, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "-c", "protocol.file.allow=always", "clone", "-q", "--no-checkout", "--filter=blob:none",
        f"file://{folder}", "part")  # fmt: skip
    with open_tree(tmp_path / "part") as tree:
        assert dict(tree.read_many(tree.paths())) == {"a.py": None, "b.py": None, "c.py": None}
        assert len(tree.skipped) == 3


def test_environment_is_looked_into_not_listed(tmp_path: Path) -> None:
    write(tmp_path, {"pkg/__init__.py": "", "pkg/m.py": "x\n"})
    tree = open_tree(tmp_path, env=True)
    assert find_module(tree, "pkg.m") == "pkg/m.py" and find_module(tree, "pkg") == "pkg/__init__.py"
    assert find_module(tree, "none") is None and tree.isdir("pkg") and tree.listdir("pkg") == ["__init__.py", "m.py"]


def test_source_roots_and_names(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "src/lib1/__init__.py": "", "src/lib1/ns/deep/__init__.py": "", "train.py": "",
            "jobs/run.py": "", "jobs/helpers/__init__.py": "", "plain/nested/pkg/__init__.py": "",
        },
    )  # fmt: skip
    tree = open_tree(tmp_path)
    roots = source_roots(tree)
    assert roots == ["", "src", "jobs"]
    assert module_name("src/lib1/ns/deep/__init__.py", roots) == "lib1.ns.deep"
    assert module_name("plain/nested/pkg/__init__.py", roots) == "plain.nested.pkg"
    assert find_module(tree, "helpers") == "jobs/helpers/__init__.py"
    assert find_module(tree, "lib1") == "src/lib1/__init__.py"


def test_matching_is_what_a_shell_finds(tmp_path: Path) -> None:
    for name in ("a.py", "b/c.py", "b/d.txt", "b/e/f.py", "b[1]/g.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    tree = open_tree(tmp_path)
    assert tree.matching("*.py") == ["a.py"]
    assert tree.matching("b/*") == ["b/c.py", "b/d.txt"]
    assert tree.matching("*/*/*.py") == ["b/e/f.py"]
    assert tree.matching("b/[cd].*") == ["b/c.py", "b/d.txt"]
    assert tree.matching("nothing/*.py") == tree.matching("../*.py") == []
