"""From words to typed values, and what is filled in."""

from __future__ import annotations

import pytest
import sample

from cgx import queries
from cgx.ask import parameters
from cgx.ask.where import Place, Where
from cgx.errors import UserError
from cgx.store import open_store


def test_used_leaves_out_strings_and_comments():
    assert parameters.used("MATCH (n {id: $a}) WHERE n.x = '$b' AND n.y = \"$c\" // $d\nRETURN $e, $a") == ["a", "e"]


def test_a_shipped_query_gets_typed_values_and_its_defaults(where: Where):
    assert parameters.for_query(queries.get("largest_functions"), {"count": "3"}, where) == {
        "commit": sample.NEW,
        "count": 3,
    }
    assert parameters.for_query(queries.get("moved"), {}, where) == {"old": sample.OLD, "new": sample.NEW}
    assert parameters.for_query(queries.get("repeat_changes"), {}, where) == {
        "old_job": sample.OLD_JOB,
        "new_job": sample.JOB,
    }


@pytest.mark.parametrize(
    ("name", "given", "says"),
    [
        ("callers", {}, "callers needs --param symbol"),
        ("callers", {"symbols": "x", "symbol": "y"}, "did you mean symbol"),
        ("largest_functions", {"count": "many"}, "count is of type int"),
        ("phases", {"job": "nope"}, "no job 'nope'"),
        ("files", {"commit": "cccc"}, "the store holds no such commit"),
    ],
)
def test_wrong_parameters_say_what_is_wrong(where: Where, name: str, given: dict[str, str], says: str):
    with pytest.raises(UserError, match=says):
        parameters.for_query(queries.get(name), given, where)


def test_a_statement_gets_commits_and_jobs_by_name(where: Where):
    text = "MATCH (:Commit {id: $old}), (:Job {id: $job}) WHERE $n = 3 AND $s = 'x' AND $l = [] RETURN $commit"
    values = parameters.for_statement(text, {"n": "3", "s": "main", "l": '["a"]'}, where)
    assert values == {"old": sample.OLD, "job": sample.JOB, "n": 3, "s": "main", "l": ["a"], "commit": sample.NEW}
    with pytest.raises(UserError, match=r"uses \$x: give --param x="):
        parameters.for_statement("RETURN $x", {}, where)


def test_commits_are_found_by_the_start_of_their_sha(where: Where):
    assert where.commit("aaaa") == sample.OLD
    assert where.commit("latest") == sample.NEW
    assert where.commit("previous") == sample.OLD
    with pytest.raises(UserError):
        where.commit("aa")  # too short to be a sha


def test_the_head_of_the_source_goes_before_the_newest(store_folder: str):
    where = Where(open_store(store_folder, "toy", read_only=True), Place("toy", "toy", sample.OLD))
    assert where.commit() == sample.OLD
    assert where.commit("previous") == sample.NEW
    assert where.freshness() == ""


def test_an_index_behind_head_says_so(store_folder: str):
    where = Where(open_store(store_folder, "toy", read_only=True), Place("toy", "toy", "c" * 40))
    assert where.commit() == sample.NEW
    assert "the index is behind: HEAD cccccccccc" in where.freshness()
    foreign = Where(where.store, Place("other", "other", "c" * 40))
    assert foreign.freshness() == ""


def test_an_empty_store_says_what_to_run(tmp_path):
    with open_store(str(tmp_path), "r") as store:
        where = Where(store, Place())
        with pytest.raises(UserError, match="run `cgx index` first"):
            where.commit()
