"""The facts cache: by content, and never a reason to fail."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from cgx.indexer.names.cache import FactsCache
from cgx.indexer.names.extract import extract, pack
from cgx.indexer.names.harvest import harvest
from cgx.indexer.source import open_tree


def tree(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "a.py").write_text("import b\nb.go()\n")
    (folder / "b.py").write_text("def go(): pass\n")
    return folder


def test_a_blob_is_read_once_whatever_its_path(tmp_path: Path) -> None:
    source, cache = tree(tmp_path / "job"), FactsCache(tmp_path / "facts")
    assert harvest(open_tree(source), cache).made == 2
    (source / "moved").mkdir()
    (source / "a.py").rename(source / "moved" / "c.py")
    again = harvest(open_tree(source), cache)
    assert again.made == 0 and [path for path, _ in again.files] == ["b.py", "moved/c.py"]


def test_facts_hold_no_path(tmp_path: Path) -> None:
    assert pack(extract(b"x = 1\n", "one/name.py")) == pack(extract(b"x = 1\n", "other/place.py"))


@pytest.mark.parametrize("damage", [b"not a database at all", b""])
def test_a_damaged_cache_is_made_anew(tmp_path: Path, damage: bytes) -> None:
    source = tree(tmp_path / "job")
    cache = FactsCache(tmp_path / "facts")
    harvest(open_tree(source), cache)
    cache.close()
    (file,) = (path for path in (tmp_path / "facts").iterdir() if path.suffix == ".sqlite")
    file.write_bytes(damage)
    assert len(harvest(open_tree(source), FactsCache(tmp_path / "facts")).files) == 2


def test_a_damaged_row_is_read_anew(tmp_path: Path) -> None:
    source = tree(tmp_path / "job")
    cache = FactsCache(tmp_path / "facts")
    harvest(open_tree(source), cache)
    cache.close()
    (file,) = (path for path in (tmp_path / "facts").iterdir() if path.suffix == ".sqlite")
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE facts SET data = X'00'")
    assert len(harvest(open_tree(source), FactsCache(tmp_path / "facts")).files) == 2


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert len(harvest(open_tree(tree(tmp_path / "job")), FactsCache(tmp_path / "file" / "facts")).files) == 2


def test_a_fault_in_one_file_keeps_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import cgx.indexer.names.harvest as module

    def broken(data: bytes, path: str) -> object:
        if b"import" in data:
            raise RuntimeError("ours")
        return extract(data, path)

    monkeypatch.setattr(module, "extract", broken)
    found = harvest(open_tree(tree(tmp_path / "job")), FactsCache(tmp_path / "facts"), jobs=1)
    assert [path for path, _ in found.files] == ["b.py"] and ("a.py", "RuntimeError: ours") in found.faults
