"""Writing: whole or not at all, and nothing of other people's is lost."""

from __future__ import annotations

import os

import pytest

from cgx.errors import UserError
from cgx.exporters.writing import check_writable, is_ours, write_atomically


@pytest.mark.parametrize(
    "text",
    ["", "\n \n", "// a scaffold\n# of comments\n", '{"schema": "cgx/computation_graph/1"}', "{}", "/* x\n * y\n */"],
)
def test_records_and_scaffolds_may_be_replaced(tmp_path, text):
    path = tmp_path / "computation_graph.json"
    path.write_text(text)
    assert is_ours(path)
    check_writable([path], force=False)


@pytest.mark.parametrize("text", ['{"my": "notes"}', "[1, 2]", "not json", '{"schema": "other/1"}'])
def test_other_files_are_kept_unless_forced(tmp_path, text):
    path = tmp_path / "computation_graph.json"
    path.write_text(text)
    with pytest.raises(UserError, match="--force"):
        check_writable([path], force=False)
    check_writable([path], force=True)
    assert path.read_text() == text


def test_a_failed_write_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "records" / "computation_graph.json"
    write_atomically(path, "one\n")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError, match="No space left"):
        write_atomically(path, "two\n")
    assert path.read_text() == "one\n"
    assert [item.name for item in path.parent.iterdir()] == ["computation_graph.json"]


def test_a_folder_in_the_way_is_said(tmp_path):
    (tmp_path / "computation_graph.json").mkdir()
    with pytest.raises(UserError, match="folder"):
        check_writable([tmp_path / "computation_graph.json"], force=True)
