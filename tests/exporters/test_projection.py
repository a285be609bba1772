"""Rows of a job through a real store and back into records."""

from __future__ import annotations

from cgx.exporters.projection import project
from cgx.model.facts import Edge, GraphDelta, Node
from cgx.model.job_entries import job_delta
from cgx.store.opening import open_store

from .test_records import HEADER, MODULES, PHASE

GRAPH = {"symbols": {"B": {"expr": "B"}}, "modules": MODULES, "unresolved": []}
SCHEDULE = {
    "phases": [PHASE],
    "host_device": {"copies": [], "syncs": [{"kind": "item", "what": "loss.item()", "phase": "forward", "code_anchor": "train.py:<module>:12"}]},
    "compute": {
        "no_grad": [{"value": True, "code_anchor": "train.py:<module>:3"}, {"value": False, "code_anchor": "train.py:<module>:5"}],
        "forward": {"value": "model", "code_anchor": "train.py:<module>:9"},
        "ema": [{"value": 1, "code_anchor": "train.py:<module>:7"}],
    },
    "unresolved": [{"name": "n", "field": "repeat.count", "code_anchor": None, "reason": "data", "settle_with": {"option": "--set", "name": "n"}}],
}  # fmt: skip


def stored(tmp_path, graph, schedule):
    commit = GraphDelta(
        [Node("Repository", "toy", {"name": "toy"}), Node("Commit", "c", {"name": "c", "repository": "toy", "complete": False})],
        [Edge("OF_REPOSITORY", "c", "toy")],
    )  # fmt: skip
    with open_store(str(tmp_path / "store"), "toy") as store:
        store.write(commit)
        store.replace("job:1", job_delta("job:1", HEADER, graph, schedule, commit_id="c"))
        store.replace("job:1", job_delta("job:1", HEADER, graph, schedule, commit_id="c"))
        return project(store, "job:1")


def test_records_come_back_from_the_store_as_they_went_in(tmp_path):
    made = stored(tmp_path, GRAPH, SCHEDULE)
    assert set(made) == {"computation_graph.json", "execution_schedule.json"}
    graph, schedule = made["computation_graph.json"], made["execution_schedule.json"]
    assert graph["modules"] == MODULES and graph["symbols"] == {"B": {"expr": "B"}}
    assert list(schedule["compute"]) == ["no_grad", "forward", "ema"]
    assert schedule["compute"] == SCHEDULE["compute"]
    assert schedule["host_device"]["syncs"] == SCHEDULE["host_device"]["syncs"]
    assert schedule["unresolved"] == SCHEDULE["unresolved"] and graph["unresolved"] == []


def test_a_build_gives_the_graph_alone(tmp_path):
    assert set(stored(tmp_path, GRAPH, None)) == {"computation_graph.json"}
