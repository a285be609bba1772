"""Schedule passes on hand-built traces."""

from __future__ import annotations

from typing import Any

import pytest
from schedule_traces import accumulation_job, at, epoch_job, generation_job

from cgx.exporters.execution_schedule import ExecutionSchedule
from cgx.indexer.interpreter.trace import BranchNode
from cgx.indexer.passes.schedule import schedule
from cgx.indexer.passes.schedule.merge import fold_names
from cgx.indexer.passes.schedule.ranks import ranks_of


def line(row: dict[str, Any]) -> int:
    return int(row["code_anchor"].rpartition(":")[2])


def pick(rows: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    found = [row for row in rows if all(row.get(name) == value for name, value in fields.items())]
    assert len(found) == 1, (fields, rows)
    return found[0]


@pytest.mark.parametrize("job", [accumulation_job, epoch_job, generation_job])
def test_rows_fit_the_record(job: Any) -> None:
    rows = schedule(job()).rows
    header = {
        "schema": "cgx/execution_schedule/1",
        "generator": {"name": "cgx", "version": "0"},
        "repository": "r",
        "assumed": {},
        "files": [],
        "env": [],
    }
    ExecutionSchedule.model_validate({**header, **rows})


def test_step_is_the_loop_with_backward_and_optimizer() -> None:
    found = schedule(accumulation_job())
    assert found.job_type == "training" and str(found.entrypoint) == "train.py:<module>:50"
    assert [(row["unit"], row["count"]) for row in found.rows["loops"] if row["unit"] in ("step", "micro-step")] == [
        ("step", None),
        ("micro-step", 5),
    ]


def test_step_in_a_function_of_its_own_is_the_loop_over_batches() -> None:
    found = schedule(epoch_job())
    assert str(found.entrypoint) == "train.py:train:21"
    assert [row["unit"] for row in found.rows["loops"]] == ["epoch", "step", "evaluation batch"]


def test_phases_of_a_job_with_micro_steps() -> None:
    rows = schedule(accumulation_job()).rows["phases"]
    assert [(row["name"], row["kind"], row["repeat"], line(row)) for row in rows] == [
        ("startup", "one-off", 1, 10), ("evaluation", "periodic", 400, 52), ("checkpoint", "periodic", 1, 56), ("forward", "repeated", 5, 63),
        ("data", "repeated", 5, 64), ("backward", "repeated", 5, 65), ("optimizer", "repeated", 1, 71), ("logging", "periodic", 1, 75),
        ("teardown", "one-off", 1, 90)]  # fmt: skip
    assert pick(rows, name="evaluation")["every"] == {
        "count": 2000,
        "unit": "step",
        "guard": "step % 2000 == 0 and rank == 0",
    }
    assert [row["runs_on"] for row in rows] == ["host and device", "host and device", "host and device", "device", "host and device", "device", "device",
                                               "host and device", "host"]  # fmt: skip
    assert {row["name"] for row in rows if row["ranks"] == "rank 0"} == {"evaluation", "checkpoint", "logging"}


def test_one_line_on_three_paths_is_three_copies() -> None:
    rows = [row for row in schedule(accumulation_job()).rows["host_device"]["copies"] if line(row) == 22]
    assert [(row["phase"], row["frequency"]["per"], row["repeat"], row["called_from"]) for row in rows] == [
        ("data", "micro-step", 1, "train.py:<module>:64"), ("evaluation", "step", 400, "train.py:<module>:33"), ("startup", "job", 1, "train.py:<module>:40")]  # fmt: skip


def test_syncs_and_the_copies_behind_them() -> None:
    rows = schedule(accumulation_job()).rows["host_device"]
    logged = pick(rows["syncs"], kind="item", phase="logging")
    assert (
        logged["frequency"] == {"per": "step", "every": 1, "guard": "step % 1 == 0 and rank == 0"}
        and logged["ranks"] == "rank 0"
    )
    assert pick(rows["syncs"], kind="item", phase="evaluation")["repeat"] == 400
    assert pick(rows["syncs"], kind="other", phase="checkpoint")["code_anchor"].endswith(":56")
    assert pick(rows["copies"], direction="D2H", phase="logging")["what"] == "loss.item()"


def test_gradients_are_reduced_once_a_step() -> None:
    found = schedule(accumulation_job())
    rows = found.rows["device_device"]
    reduce = pick(rows, collective="all_reduce")
    assert (
        reduce["phase"] == "backward"
        and reduce["frequency"] == {"per": "step", "guard": "micro == 4"}
        and reduce["blocking"] is False
    )
    assert reduce["waited_at"] == "train.py:<module>:65" and line(reduce) == 12
    assert pick(rows, collective="broadcast")["phase"] == "startup"
    assert "bucketed all_reduce" in {row["mechanism"] for row in found.rows["overlap"]}


def test_a_single_process_sends_nothing() -> None:
    assert schedule(accumulation_job(world=1)).rows["device_device"] == []


def test_compute_of_a_training_job() -> None:
    compute = schedule(accumulation_job()).rows["compute"]
    assert compute["gradient_accumulation"]["value"] == 5 and compute["precision"]["value"] == "bfloat16"
    assert compute["zero_grad"]["value"] == {"set_to_none": True}
    assert [row["phase"] for row in compute["forward"]] == ["evaluation", "forward"]


def test_own_data_path_blocks_the_step() -> None:
    rows = schedule(accumulation_job()).rows["data_path"]
    inside = [row for row in rows if row["repeat"] == 5]
    assert [(row["hop"], row["blocks_step"], row["workers"]) for row in inside] == [
        ("read", True, 0),
        ("pin", True, 0),
        ("copy", False, 0),
    ]


def test_loader_hops_and_overlap() -> None:
    rows = schedule(epoch_job()).rows
    assert [(row["hop"], row["blocks_step"]) for row in rows["data_path"] if row["hop"] == "read"] == [("read", False)]
    joined = [(row["mechanism"], row["joined_at"]) for row in rows["overlap"] if row["mechanism"] == "worker processes"]
    assert joined == [("worker processes", "train.py:train:21"), ("worker processes", "train.py:validate:32")]
    assert not [row for row in schedule(epoch_job(0)).rows["overlap"] if row["mechanism"] == "worker processes"]


def test_phases_of_epochs() -> None:
    rows = schedule(epoch_job()).rows["phases"]
    found = {row["name"]: (row["kind"], row.get("every"), line(row)) for row in rows}
    assert found["evaluation"] == ("periodic", {"count": 1, "unit": "epoch"}, 52)
    assert found["data"][0] == "repeated" and found["data"][2] == 21
    assert found["logging"] == ("periodic", {"count": 10, "unit": "step", "guard": "i % 10 == 0"}, 28)
    assert found["checkpoint"] == ("periodic", {"count": 1, "unit": "epoch"}, 54)


def test_equal_syncs_of_one_line_are_added() -> None:
    row = pick(schedule(epoch_job()).rows["host_device"]["syncs"], kind="print")
    assert (row["repeat"], row["phase"], row["frequency"]) == (
        2,
        "logging",
        {"per": "step", "every": 10, "guard": "i % 10 == 0"},
    )


def test_loops_without_a_count_are_unresolved() -> None:
    names = {row["name"]: row["field"] for row in schedule(epoch_job()).rows["unresolved"]}
    assert names == {"len(loader)": "count"}
    assert schedule(accumulation_job()).rows["unresolved"][0]["reason"] == "missing-file"


def test_generation() -> None:
    found = schedule(generation_job())
    rows = found.rows
    assert found.job_type == "inference serving" and str(found.entrypoint) == "train.py:<module>:50"
    assert [(row["name"], row["repeat"], line(row)) for row in rows["phases"] if row["name"] in ("prefill", "decode", "respond")] == [
        ("prefill", 1, 6), ("decode", 199, 9), ("respond", 1, 53)]  # fmt: skip
    assert pick(rows["host_device"]["syncs"], kind="synchronize")["phase"] == "logging"
    assert pick(rows["host_device"]["syncs"], kind="tolist")["phase"] == "respond"
    assert pick(rows["host_device"]["copies"], what="torch.tensor([T], device=d)")["phase"] == "prefill"
    assert [row["unit"] for row in rows["loops"]] == ["request", "token"]
    assert [phase for phase, _ in found.graphs] == ["prefill", "decode"]


def test_evaluation_is_no_part_of_the_step() -> None:
    found = schedule(accumulation_job())
    calls = [node for top in found.step for node in top.walk() if type(node).__name__ == "ModuleCall"]
    assert [node.called_from.line for node in calls] == [63]


@pytest.mark.parametrize(
    ("text", "ranks", "answer"),
    [("master_process", None, "rank 0"), ("rank == 0", (0,), "rank 0"), ("not (rank == 0)", (1, 2, 3), "not (rank == 0)"),
     ("epoch > 3", None, "all"), ("is_main_process()", None, "rank 0"), ("rank < 9", (0, 1, 2, 3), "all")],
)  # fmt: skip
def test_ranks(text: str, ranks: tuple[int, ...] | None, answer: str) -> None:
    assert ranks_of([BranchNode(at(1), text, ranks=ranks)], 4) == answer


def test_names_fold() -> None:
    assert fold_names([f"layers.{index}.attn" for index in range(32)]) == "layers.[0-31].attn"
    assert fold_names(["norm", "head"]) == "norm, head"
