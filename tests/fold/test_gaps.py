"""What a record lists as missing, and what it does not."""

from __future__ import annotations

from .build import by_path, call, folded, linear, module, op


def test_an_empty_sequential_gives_back_what_it_takes_and_hides_nothing() -> None:
    net = module("Net", short=module("Sequential"), fc=linear(4, 4))
    rows = folded(net, call(net, call(net.children["short"], line=20), call(net.children["fc"], line=30), op("operator.add", 31)))
    assert "short" in by_path(rows)
    assert [row for row in rows.unresolved if row["field"] == "children" and "Sequential" in row["name"]] == []
