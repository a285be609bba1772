"""`cgx diff`: what two records do not have in common."""

from __future__ import annotations

import copy
import json

import pytest

from cgx.errors import UserError
from cgx.exporters.comparing import compare
from cgx.workflow.diff import run_diff

from .test_checking import RECORD
from .test_records import schedule


def test_the_same_record_has_no_difference():
    assert compare(RECORD, copy.deepcopy(RECORD)) == []
    assert compare(schedule(), schedule()) == []


def test_a_count_that_changed_and_what_hangs_on_it():
    new = copy.deepcopy(RECORD)
    new["modules"][1]["repeat"]["count"] = 4
    new["modules"][1]["multiplicity"] = new["modules"][2]["multiplicity"] = 4
    found = {(change.kind, change.name, change.field): (change.before, change.after) for change in compare(RECORD, new)}
    assert found[("changed", "fc.[0-1]", "repeat.count")] == (2, 4)
    assert found[("changed", "fc.[0-1] linear", "multiplicity")] == (2, 4)


def test_an_edit_above_only_moves():
    new = json.loads(json.dumps(RECORD).replace("Net.forward:10", "Net.forward:14"))
    assert {change.kind for change in compare(RECORD, new)} == {"moved"}


def test_added_and_removed_entries():
    new = copy.deepcopy(RECORD)
    extra = {**new["modules"][2], "id": "e4", "type": "torch.relu", "name": "relu", "order": 1}
    new["modules"].append(extra)
    assert [(change.kind, change.name) for change in compare(RECORD, new)] == [("added", "fc.[0-1] relu")]
    assert [(change.kind, change.name) for change in compare(new, RECORD)] == [("removed", "fc.[0-1] relu")]


def test_a_schedule_says_which_sync_is_new():
    new = copy.deepcopy(schedule())
    new["host_device"]["syncs"].append({"kind": "item", "what": "norm.item()", "code_anchor": "train.py:<module>:20"})
    assert [(change.kind, change.name) for change in compare(schedule(), new)] == [("added", "syncs item norm.item()")]


def test_the_command_prints_and_refuses_unlike_records(tmp_path, capsys):
    for name, record in (("a.json", RECORD), ("b.json", RECORD), ("c.json", schedule())):
        (tmp_path / name).write_text(json.dumps(record))
    assert run_diff(str(tmp_path / "a.json"), str(tmp_path / "b.json"), source=".", json=False) == 0
    assert capsys.readouterr().out == "no difference\n"
    with pytest.raises(UserError, match="one kind"):
        run_diff(str(tmp_path / "a.json"), str(tmp_path / "c.json"), source=".", json=False)
    with pytest.raises(UserError, match="no such file"):
        run_diff("v1", "v2", source=".", json=False)
