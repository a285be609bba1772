"""Every shipped query, on both stores, over the sample: the rows it gives and one that it must not."""

from __future__ import annotations

import json
import re

import pytest
import sample
from query_cases import CASES

from cgx import queries
from cgx.errors import Fault, UserError
from cgx.model import schema
from cgx.store import Store, open_store

RECORD_QUERIES = {"record_entries", "record_job"}  # read by the exporters, and tested with them
AUTOMATIC = {
    "commit": sample.NEW, "old": sample.OLD, "new": sample.NEW,
    "job": sample.JOB, "old_job": sample.OLD_JOB, "new_job": sample.JOB,
}  # fmt: skip


def parameters(name: str) -> dict[str, object]:
    query = queries.get(name)
    given = {param.name: AUTOMATIC[param.name] for param in query.params if param.kind in ("commit", "job")}
    return given | CASES[name].params


def cells(rows) -> set[object]:
    return {item for row in rows for cell in row for item in (cell if isinstance(cell, list) else [cell])}


@pytest.fixture(scope="module")
def embedded(tmp_path_factory) -> Store:
    store = open_store(str(tmp_path_factory.mktemp("store")), sample.REPO)
    store.write(sample.full_delta())
    return store


def test_every_query_has_a_case():
    assert set(CASES) | RECORD_QUERIES == set(queries.catalog())


def test_there_are_enough_and_every_group_has_some():
    groups = [query.group for query in queries.catalog().values()]
    assert len(groups) >= 40
    assert set(groups) == set(queries.GROUPS)


@pytest.mark.parametrize("name", sorted(CASES))
def test_rows_of_the_embedded_store(embedded: Store, name: str):
    query, case = queries.get(name), CASES[name]
    answer = embedded.run(query.text, parameters(name))
    assert answer.columns == [column for column, _ in query.returns]
    assert answer.rows == case.rows
    assert case.absent not in cells(answer.rows)


@pytest.mark.neo4j
def test_neo4j_gives_the_same_rows(neo4j_url):
    from wiped import neo4j_store

    with neo4j_store(neo4j_url) as store:
        store.write(sample.full_delta())
        wrong = {}
        for name, case in CASES.items():
            answer = store.run(queries.get(name).text, parameters(name))
            if answer.rows != case.rows or answer.columns != [column for column, _ in queries.get(name).returns]:
                wrong[name] = answer.rows
        assert not wrong


@pytest.mark.parametrize("name", sorted(CASES))
def test_column_types_are_as_the_header_says(embedded: Store, name: str):
    types = {"string": str, "int": int, "float": float, "bool": bool, "list": list}
    for row in CASES[name].rows:
        for cell, (column, kind) in zip(row, queries.get(name).returns):
            assert cell is None or type(cell) is types[kind], column


@pytest.mark.parametrize("name", sorted(queries.catalog()))
def test_the_dialect_both_stores_share(name: str):
    text = queries.get(name).text
    assert "ORDER BY" in text, "rows without an order"
    assert not re.search(r"\*(\d+\.\.)?\]|\*\.\.", text), "a path without an upper bound"
    assert not re.search(r"\bapoc\b|\bgds\b|/\*|elementId|\bid\(|CYPHER", text)
    plain = re.sub(r"'[^']*'", "''", text)
    assert set(re.findall(r"[:|]([A-Z]\w*)", plain)) <= set(schema.NODE_KINDS) | set(schema.EDGE_KINDS)
    assert set(re.findall(r"\b[a-z]\.(\w+)", plain)) <= set(schema.property_names())


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("// name: x\n// title: t\n// group: job\n// returns: a int\n", "a statement are needed"),
        ("// name: y\n// title: t\n// group: job\n// returns: a int\nRETURN 1 AS a", "are needed"),
        ("// name: x\n// title: t\n// group: fun\n// returns: a int\nRETURN 1 AS a", "its group is none of"),
        ("// name: x\n// title: t\n// group: job\n// returns: a thing\nRETURN 1 AS a", "not a column"),
        (
            "// name: x\n// title: t\n// group: job\n// param: p int the p\n// returns: a int\nRETURN $p AS a",
            "not a parameter line",
        ),
        ("// name: x\n// title: t\n// group: job\n// returns: a int\nRETURN $p AS a", "not those of the statement"),
        ("// nam: x\nRETURN 1 AS a", "unknown header line"),
    ],
)
def test_a_bad_header_is_a_fault_that_names_the_file(source: str, says: str):
    with pytest.raises(Fault, match=f"queries/x.cypher: .*{says}"):
        queries.parse("x", source)


def test_defaults_of_parameters():
    query = queries.parse(
        "x",
        '// name: x\n// title: t\n// group: job\n// param: a string = ""  d\n// param: b commit  d\n// param: c int = 3  d\n// param: e string  d\n// returns: r int\nRETURN $a + $b + $c + $e AS r',
    )
    assert [param.default for param in query.params] == ["", "latest", "3", None]


def test_an_unknown_name_suggests_near_ones():
    with pytest.raises(UserError, match="did you mean callers"):
        queries.get("caller")


def test_record_queries_give_back_the_records(embedded: Store):
    rows = embedded.run(queries.get("record_entries").text, {"job": sample.JOB}).dicts()
    modules = [json.loads(row["entry"]) for row in rows if row["section"] == "modules"]
    assert modules == sample.graph_record(12)["modules"]
