"""The records go into the graph and come out of it unchanged."""

import sample

from cgx.model import schema
from cgx.model.job_entries import records
from cgx.store import Store


def test_the_delta_fits_the_schema():
    schema.check(sample.full_delta())


def test_records_come_back_entry_for_entry(filled: Store):
    text = "MATCH (:Job {id: $job})-[h:HAS_ENTRY]->(e) RETURN h.section AS section, h.order AS position, e.entry_json AS entry ORDER BY section, position"
    sections = records(filled.run(text, {"job": sample.JOB}).rows)
    schedule = sample.schedule_record()
    assert sections["modules"] == sample.graph_record(12)["modules"]
    assert sections["phases"] == schedule["phases"]
    assert sections["syncs"] == schedule["host_device"]["syncs"]
    assert sections["device_device"] == schedule["device_device"]
    assert [entry["value"] for entry in sections["compute"]] == [4, "bfloat16", "TF32", "h.[0-11]"]


def test_entries_are_flattened_for_queries():
    nodes = {node.id: node for node in sample.job("j", sample.NEW, 12).nodes}
    block = nodes["j/m2"].properties
    assert (block["repeat_count"], block["repeat_expr"], block["multiplicity"], block["depth"]) == (
        12,
        "config.n_layer",
        12,
        1,
    )
    assert (block["path"], block["symbol"], block["line"]) == ("model.py", "Block.forward", 48)
    assert nodes["j/m5"].properties["runs"] is False and "multiplicity" not in nodes["j/m5"].properties
    assert nodes["j/m4"].properties["parameter_count"] == 64 * 64 + 64
    assert nodes["j/compute/1"].properties["item"] == "precision"
    assert nodes["j/copies/0"].properties["per"] == "micro-step"


def test_entries_are_tied_to_the_code(filled: Store):
    rows = filled.run("MATCH (s:Sync)-[:RUNS_AT]->(f:Symbol) RETURN s.kind AS kind, f.qname AS q ORDER BY kind").rows
    assert rows == [("branch", "model.GPT.forward"), ("item", "train.step")]
    rows = filled.run(
        "MATCH (:Job {id: $job})-[:HAS_ENTRY]->(a)-[:SHARES]->(b) RETURN a.module_path AS a, b.module_path AS b",
        {"job": sample.JOB},
    ).rows
    assert rows == [("lm_head", "wte")]
    assert filled.run("MATCH (u:UnresolvedEntry)-[:MISSING_FROM]->(l:LoopEntry) RETURN count(l) AS n").rows == [(2,)]
