"""Records: models, published schemas, projection through a store, bytes."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from pydantic import ValidationError

from cgx.exporters.computation_graph import computation_graph
from cgx.exporters.execution_schedule import execution_schedule
from cgx.exporters.published import FOLDER, schema_texts
from cgx.exporters.writing import text_of

HEADER = {
    "generator": {"name": "cgx", "version": "0"}, "job_type": "training", "repository": "toy", "commit": "0" * 40,
    "launch": ["python", "train.py"], "files": [], "env": [], "assumed": {"n": 3}, "entrypoint": "train.py:<module>:9",
}  # fmt: skip
MODULES = [
    {"id": "e1", "level": "model", "name": "model", "path": "", "type": "model.Net", "parent": None, "order": 0,
     "code_anchor": "model.py:Net.forward:9", "multiplicity": 1, "shapes": {"in": [{"name": "x", "dims": ["B", None]}], "out": []}},
    {"id": "e2", "level": "layer", "name": "fc", "path": "fc", "type": "torch.nn.Linear", "parent": "e1", "order": None, "runs": False,
     "code_anchor": "model.py:Net.__init__:4", "multiplicity": 1, "parameters": {"weight": [4, 4]}},
]  # fmt: skip
PHASE = {
    "name": "forward", "kind": "repeated", "runs_on": "device", "ranks": "all", "code_anchor": "train.py:<module>:9",
}  # fmt: skip


def graph(**more):
    return computation_graph({**HEADER, **more}, {"modules": MODULES}, {"B": {"expr": "B"}})


def schedule():
    sync = {
        "code_anchor": "train.py:<module>:12",
        "kind": "item",
        "what": "loss.item()",
        "frequency": {"per": "step", "every": 10},
    }
    compute = {
        "forward": {"code_anchor": "train.py:<module>:9"},
        "no_grad": [{"code_anchor": "train.py:<module>:3", "value": True, "mode": "eval"}],
    }
    return execution_schedule(HEADER, {"phases": [PHASE], "syncs": [sync]}, compute)


def test_the_published_schemas_are_those_of_the_models():
    for name, text in schema_texts().items():
        assert (FOLDER / name).read_text(encoding="utf-8") == text, "run python -m cgx.exporters.published"


@pytest.mark.parametrize("name, record", [("computation_graph", graph()), ("execution_schedule", schedule())])
def test_records_hold_to_the_published_schemas(name, record):
    schema = json.loads((FOLDER / f"{name}.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(record)
    assert next(iter(record)) == "schema"
    broken = {**record, "unheard_of": 1}
    assert not jsonschema.Draft202012Validator(schema).is_valid(broken)


def test_nulls_that_were_given_stay_and_absent_keys_stay_absent():
    first, second = graph()["modules"]
    assert first["parent"] is None and "repeat" not in first and first["shapes"]["in"][0]["dims"] == ["B", None]
    assert second["order"] is None and second["runs"] is False


def test_keys_stand_in_the_order_of_the_contract():
    assert list(graph())[:4] == ["schema", "generator", "job_type", "repository"]
    assert list(graph())[-3:] == ["symbols", "modules", "unresolved"]
    assert list(schedule()["host_device"]["syncs"][0]) == ["kind", "what", "frequency", "code_anchor"]


def test_a_build_has_no_job_type():
    header = {key: value for key, value in HEADER.items() if key not in ("job_type", "launch", "entrypoint")}
    record = computation_graph({**header, "build": "model.py:Net()", "mode": "train"}, {"modules": MODULES}, {})
    assert "job_type" not in record and record["build"] == "model.py:Net()"


def test_a_wrong_word_is_refused():
    with pytest.raises(ValidationError):
        graph(job_type="sorting")
    with pytest.raises(ValidationError):
        execution_schedule(HEADER, {"phases": [{**PHASE, "name": "warmup"}]}, {})


def test_bytes_are_json_and_stable():
    text = text_of(graph())
    assert json.loads(text) == graph() and text == text_of(graph()) and text.endswith("}\n")
    assert max(map(len, text.splitlines())) < 400
    assert "[4, 4]" in text


def test_the_schema_folder_ships_with_the_package():
    assert Path(FOLDER).is_dir() and len(list(FOLDER.glob("*.schema.json"))) == 2
