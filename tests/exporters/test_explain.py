"""`cgx explain`: the chain behind a value, and the reason where there is none."""

from __future__ import annotations

import json

import pytest

from cgx.errors import UserError
from cgx.workflow.explain import find, run_explain

from .test_checking import RECORD, toy  # noqa: F401 - a fixture


def texts(evidence):
    return [f"{step['what']} {step.get('text', '')}" for step in evidence["chain"]]


def test_a_count_is_explained_by_its_bound():
    record = json.loads(json.dumps(RECORD))
    record["modules"][1]["repeat"] |= {"expr": "config.n_layer", "code_anchor": "model.py:Net.__init__:7"}
    (evidence,) = find(record, "e3")
    assert "fc.[0-1] repeats: 2 instances of torch.nn.Linear config.n_layer" in texts(evidence)
    assert "multiplicity 2 = 2" in texts(evidence)
    assert any(text.startswith("shape rule table row") for text in texts(evidence))


def test_an_anchor_finds_all_that_stands_there():
    assert {evidence["entry"] for evidence in find(RECORD, "model.py:Net.forward:10")} == {"e2", "e3"}


def test_a_missing_value_is_explained_by_its_reason():
    record = json.loads(json.dumps(RECORD))
    record["unresolved"] = [{"name": "n", "field": "repeat.count", "entry": "e2", "code_anchor": "model.py:Net.__init__:7", "reason": "data",
                             "settle_with": {"option": "--set", "name": "n"}}]  # fmt: skip
    (evidence,) = find(record, "fc.[0-1]")
    assert evidence["unresolved"][0]["name"] == "n"
    assert any("read at run time" in text and "--set n" in text for text in texts(next(find(record, "n"))))


def test_the_command_shows_the_source_line(toy, tmp_path, capsys):  # noqa: F811
    path = tmp_path / "record.json"
    path.write_text(json.dumps(RECORD))
    assert run_explain("e2", record=path, source=str(toy), workspace=tmp_path, store=None, json=False) == 0
    assert "self.fc = torch.nn.Linear(4, 4)" in capsys.readouterr().out
    with pytest.raises(UserError, match=r"near are fc\.\[0-1\]"):
        run_explain("fc.[0-2]", record=path, source=str(toy), workspace=tmp_path, store=None, json=False)
