"""`cgx check`: each way a record can be wrong is told, and a sound one passes."""

from __future__ import annotations

import copy
import json

import pytest

from cgx.exporters.checking import instances, problems
from cgx.workflow.check import check, run_check

SOURCE = """import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 4)

    def forward(self, x):
        return self.fc(x)


class Same(torch.nn.Module):
    def forward(self, x):
        return x
"""

RECORD = {
    "schema": "cgx/computation_graph/1", "generator": {"name": "cgx", "version": "0"}, "repository": "toy", "build": "model.py:Net()",
    "inputs": [], "mode": "train", "files": [], "env": [], "assumed": {}, "symbols": {"B": {"expr": "B"}},
    "modules": [
        {"id": "e1", "level": "model", "name": "Net", "path": "", "type": "model.Net", "parent": None, "order": 0,
         "code_anchor": "model.py:Net.forward:9", "multiplicity": 1, "shapes": {"in": [{"name": "x", "dims": ["B", 4]}], "out": []}},
        {"id": "e2", "level": "layer", "name": "fc", "path": "fc.[0-1]", "type": "torch.nn.Linear", "parent": "e1", "order": 0,
         "code_anchor": "model.py:Net.forward:10", "constructed_at": "model.py:Net.__init__:7", "called_from": "model.py:Net.forward:10",
         "repeat": {"unit": "torch.nn.Linear", "count": 2, "by": "instances"}, "multiplicity": 2},
        {"id": "e3", "level": "op", "name": "linear", "type": "torch.nn.functional.linear", "parent": "e2", "order": 0,
         "code_anchor": "model.py:Net.forward:10", "multiplicity": 2},
    ],
    "unresolved": [],
}  # fmt: skip


@pytest.fixture
def toy(tmp_path):
    folder = tmp_path / "toy"
    folder.mkdir()
    (folder / "model.py").write_text(SOURCE)
    return folder


def changed(change):
    record = copy.deepcopy(RECORD)
    change(record, record["modules"])
    return record


def test_a_sound_record_passes(toy, tmp_path, capsys):
    assert check(RECORD, str(toy), []) == []
    path = tmp_path / "record.json"
    path.write_text(json.dumps(RECORD))
    assert run_check([path], source=str(toy), env=[], json=False) == 0
    assert capsys.readouterr().out.endswith("record.json: ok\n")


WRONG = {
    "schema": (lambda r, m: r.update(schema="other/1"), "none that this version knows"),
    "field": (lambda r, m: m[0].pop("multiplicity"), "multiplicity"),
    "place": (
        lambda r, m: r.update(unresolved=[{"name": "item", "field": "value", "code_anchor": None, "reason": "data"}]),
        "item has no place in the code",
    ),
    "twice": (lambda r, m: m[2].update(id="e2"), "not unique"),
    "parent": (lambda r, m: m[2].update(parent="e9"), "no entry has the id e9"),
    "before": (lambda r, m: m.reverse(), "stands before its parent"),
    "order": (lambda r, m: m[1].update(order=1), "orders of its children"),
    "product": (lambda r, m: m[2].update(multiplicity=4), "the counts down to it give 2"),
    "count": (lambda r, m: m[1]["repeat"].update(count=3), "the path stands for 2, the count is 3"),
    "null": (
        lambda r, m: (m[1]["repeat"].update(count=None), m[1].update(multiplicity=None), m[2].update(multiplicity=None)),
        "its count is null",
    ),
    "symbol": (lambda r, m: r["symbols"].clear(), "size B is not among"),
    "shares": (lambda r, m: m[1].update(shares="wte"), "shares wte"),
    "depth": (lambda r, m: m.pop(), "neither children nor ops"),
    "unresolved": (
        lambda r, m: r["unresolved"].append({"name": "x", "field": "y", "entry": "e7", "code_anchor": None, "reason": "data"}),
        "not there: e7",
    ),
    "file": (lambda r, m: m[2].update(code_anchor="other.py:Net.forward:10"), "no such file"),
    "symbol name": (lambda r, m: m[2].update(code_anchor="model.py:Net.backward:10"), "no such symbol"),
    "line": (lambda r, m: m[2].update(code_anchor="model.py:Net.forward:7"), "outside the symbol"),
    "blank": (lambda r, m: m[2].update(code_anchor="model.py:<module>:3"), "blank"),
    "module level": (lambda r, m: m[2].update(code_anchor="model.py:<module>:10"), "inside a function or class"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_told(toy, name):
    change, text = WRONG[name]
    lines = check(changed(change), str(toy), [])
    assert any(text in line for line in lines), lines


def test_a_module_that_hands_on_what_it_got_may_be_empty(toy):
    def same(r, m):
        m[1:] = [{"id": "e2", "level": "layer", "name": "same", "path": "same", "type": "model.Same", "parent": "e1", "order": 0,
                  "code_anchor": "model.py:Same.forward:14", "multiplicity": 1}]  # fmt: skip

    assert check(changed(same), str(toy), []) == []


def test_a_folder_that_changed_is_stale(toy):
    record = {**RECORD, "tree": "0" * 40}
    assert any(line.startswith("stale") for line in check(record, str(toy), []))


@pytest.mark.parametrize(
    "path, count",
    [("", 1), ("h.[0-11]", 12), ("a.[0,2,4].b.[0-1]", 6), ("l.[0-2,5]", 4), ("l.[*]", None), ("m.[a,b]", 2)],
)
def test_a_path_says_how_many_it_stands_for(path, count):
    assert instances(path) == count


def test_a_schedule_names_only_its_own_phases():
    record = {
        "schema": "cgx/execution_schedule/1", "generator": {"name": "cgx", "version": "0"}, "repository": "toy", "files": [], "env": [],
        "assumed": {}, "phases": [], "data_path": [], "device_device": [], "compute": {}, "overlap": [], "unresolved": [],
        "host_device": {"copies": [], "syncs": [{"kind": "item", "what": "x", "phase": "forward", "code_anchor": None}]},
        "loops": [{"unit": "step", "count": None, "expr": "range(n)", "code_anchor": None}],
    }  # fmt: skip
    lines = list(problems(record))
    assert any("no phase" in line for line in lines) and any("not among the phases" in line for line in lines)
    assert any("loops[0]" in line for line in lines)


def test_a_class_with_the_forward_of_a_library_layer_needs_no_op(toy):
    def inherits(r, m):
        m.pop()
        m[1] |= {"type": "model.MyLinear"}

    assert check(changed(inherits), str(toy), []) == []
