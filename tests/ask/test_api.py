"""The graph from Python."""

from __future__ import annotations

import subprocess
import sys

import pytest
import sample

import cgx
from cgx.errors import UserError


def test_rows_pandas_and_networkx(store_folder: str):
    with cgx.open(store_folder) as graph:
        rows = graph.query("callers", symbol="train.step")
        assert list(rows) == [
            {"caller": "train.main", "line": 33, "text": "step", "basis": "exact", "anchor": "train.py:main:33"}
        ]
        assert rows[0]["line"] == 33 and len(rows) == 1
        assert rows.notes == ["commit bbbbbbbbbb"]
        assert graph.query("callers", {"symbol": "train.step", "commit": "aaaa"}).tuples()[0][1] == 30
        frame = graph.query(
            "MATCH (f:Function {name: $name}) RETURN f, f.line AS line ORDER BY line", name="step"
        ).to_pandas()
        assert list(frame["line"]) == [70, 73] and frame["f"][0]["label"] == "Function"
        calls = graph.graph(["CALLS"], commit="latest")
        assert "train.py@t2:step" in calls and "train.py@t1:step" not in calls
        assert {data["kind"] for *_, data in graph.graph("INHERITS").edges(data=True)} == {"INHERITS"}
        assert graph.commits() == [sample.NEW, sample.OLD]


def test_results_read_well(store_folder: str):
    with cgx.open(store_folder) as graph:
        rows = graph.query("phases")
        assert "optimizer" not in repr(rows) and "backward | repeated" in repr(rows)
        assert "<td>forward</td>" in rows._repr_html_()
        page = graph.query("RETURN '<script>' AS x")._repr_html_()
        assert "<script>" not in page and "&lt;script&gt;" in page
        assert repr(graph).startswith("<cgx graph at ")


def test_errors_are_user_errors(store_folder: str, tmp_path):
    with pytest.raises(UserError, match="no such folder"):
        cgx.open(tmp_path / "nothing")
    with cgx.open(store_folder) as graph:
        with pytest.raises(UserError, match="writes"):
            graph.query("CREATE (n:Reason {id: 'x'})")
        with pytest.raises(UserError, match="no shipped query"):
            graph.query("nope")


def test_importing_cgx_loads_no_store():
    code = "import sys, cgx; assert not {'kglite', 'neo4j', 'networkx', 'prompt_toolkit'} & set(sys.modules); print(cgx.__version__)"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
        == cgx.__version__
    )
