"""Results as diagrams."""

from __future__ import annotations

import re

import pytest

from cgx.ask import output
from cgx.ask.where import Where
from cgx.errors import UserError
from cgx.store.base import Rows
from cgx.store.values import NodeValue

TEXT = "MATCH p = (f:Function {id: 'train.py@t2:step'})-[:CALLS]->(x) RETURN p ORDER BY x.id"


def test_dot(where: Where):
    lines = list(output.lines(where.store.run(TEXT), "dot", None))
    assert lines[0] == "digraph cgx {" and lines[-1] == "}"
    assert sum(line.count("->") for line in lines) == 4
    assert '  "train.py@t2:step" [label="Function\\ntrain.step"];' in lines


def test_mermaid(where: Where):
    lines = list(output.lines(where.store.run(TEXT), "mermaid", None))
    assert lines[0] == "flowchart LR"
    assert '  n0["Function<br/>train.step"]' in lines
    assert sum("-->" in line for line in lines) == 4


def test_odd_names_stay_inside_their_label():
    node = NodeValue("Reason", 'a"]; evil', {"name": 'x"] --> y; <b>'})
    assert re.fullmatch(
        r'  n0\["[^"\]<>]*<br/>[^"\]<>]*"\]', list(output.lines(Rows(["n"], [(node,)]), "mermaid", None))[1]
    )
    assert list(output.lines(Rows(["n"], [(node,)]), "dot", None))[2].count('\\"') == 2


def test_rows_without_nodes_say_what_to_return():
    with pytest.raises(UserError, match="return nodes or paths"):
        list(output.lines(Rows(["n"], [(1,)]), "dot", None))
