"""Rows as text."""

from __future__ import annotations

import csv
import io
import json

import pytest

from cgx.ask import cells, output
from cgx.errors import UserError
from cgx.store.base import Rows
from cgx.store.values import EdgeValue, NodeValue, PathValue

GPT = NodeValue("Class", "c1", {"id": "c1", "qname": "model.GPT", "anchor": "model.py:GPT:60"})
BASE = NodeValue("External", "torch.nn.Module", {"id": "torch.nn.Module", "qname": "torch.nn.Module"})
PATH = PathValue(
    (GPT, BASE, GPT),
    (
        EdgeValue("INHERITS", {"text": "nn.Module"}, "c1", "torch.nn.Module"),
        EdgeValue("X", {}, "c1", "torch.nn.Module"),
    ),
)


def text(rows: Rows, format: str = "table", width: int | None = None) -> list[str]:
    return list(output.lines(rows, format, width))


def test_a_table_aligns_numbers_right_and_shows_null_as_nothing():
    assert text(Rows(["name", "n"], [("a", 5), ("bcd", 120), ("e", None)])) == [
        "name |   n",
        "-----+----",
        "a    |   5",
        "bcd  | 120",
        "e    |",
    ]


def test_values_are_readable():
    assert cells.cell(GPT) == "(:Class model.GPT model.py:GPT:60)"
    assert cells.cell(EdgeValue("CALLS", {"text": "self.attn", "line": 3})) == "-[:CALLS self.attn 3]->"
    assert (
        cells.cell(PATH)
        == "(:Class model.GPT model.py:GPT:60)-[:INHERITS nn.Module]->(:External torch.nn.Module)<-[:X]-(:Class model.GPT model.py:GPT:60)"
    )
    assert cells.cell([1, None, "x", True]) == "[1, , x, true]"
    assert cells.cell(list(range(30))) == "[0, 1, 2, 3, 4, 5, 6, 7, … 30 in all]"
    assert cells.cell({"a": [1]}) == "{a: [1]}"
    assert cells.cell(16.70001) == "16.7"


def test_text_of_a_repository_cannot_steer_the_terminal():
    assert cells.cell("a\x1b[31mred\nb\u202e") == "a\\u001b[31mred\\nb\\u202e"


def test_wide_values_are_cut_and_anchors_are_cut_last():
    rows = Rows(["text", "anchor"], [("x" * 60, "model.py:GPT.forward:60")])
    line = text(rows, width=50)[2]
    assert len(line) <= 50 and line.endswith("model.py:GPT.forward:60") and "…" in line
    line = text(rows, width=20)[2]
    assert len(line) <= 20 and line.count("…") == 2
    assert "x" * 60 in text(rows)[2]


def test_wide_characters_keep_the_columns_straight():
    lines = text(Rows(["a", "b"], [("漢字", 1), ("ab", 2)]))
    assert cells.display_width(lines[2].partition("|")[0]) == cells.display_width(lines[3].partition("|")[0])
    assert cells.cut("漢字漢字", 5) == "漢字…"


def test_json_jsonl_and_csv_carry_the_same_values():
    rows = Rows(["n", "t", "l", "node"], [(1, 'say "hi", x', ["a", None], GPT), (None, "", [], None)])
    objects = json.loads("\n".join(text(rows, "json")))
    assert objects[0]["node"] == {"label": "Class", "anchor": "model.py:GPT:60", "id": "c1", "qname": "model.GPT"}
    assert [json.loads(line) for line in text(rows, "jsonl")] == objects
    read = list(csv.reader(io.StringIO("\n".join(text(rows, "csv")))))
    assert read[0] == ["n", "t", "l", "node"]
    assert read[1][:3] == ["1", 'say "hi", x', '["a", null]']
    assert read[2] == ["", "", "[]", ""]


def test_no_rows():
    assert text(Rows(["a"], [])) == ["a", "-"]
    assert text(Rows(["a"], []), "json") == ["[]"]
    assert text(Rows(["a"], []), "jsonl") == []
    assert text(Rows([], [])) == []


def test_the_summary_says_when_rows_were_cut():
    assert output.summary(Rows(["a"], [(1,)], seconds=0.0123), 10) == "1 row in 12 ms"
    assert "CUT at the limit of 2" in output.summary(Rows(["a"], [(1,), (2,)], truncated=True), 2)


def test_an_unknown_format():
    with pytest.raises(UserError, match="no format 'xml'"):
        text(Rows(["a"], []), "xml")
