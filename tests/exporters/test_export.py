"""`cgx export` from a repository and a launch line to both records, and every way it can be asked wrongly."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from cgx.cli import main

EXAMPLE = Path(__file__).parents[2] / "examples" / "char_gpt"
LAUNCH = "torchrun --nproc_per_node=8 train.py"


def git(folder: Path, *words: str) -> str:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    done = subprocess.run(
        ["git", *identity, *words], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture(scope="module")
def repository(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("source") / "char_gpt"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "one")
    return folder


def run(repository: Path, workspace: Path, *words: str) -> int:
    return main(
        [
            "export",
            str(repository),
            "--workspace",
            str(workspace),
            "--store",
            str(workspace / "store"),
            "--quiet",
            *words,
        ]
    )


@pytest.fixture(scope="module")
def exported(repository, tmp_path_factory) -> Path:
    workspace = tmp_path_factory.mktemp("out")
    assert run(repository, workspace, "--launch", LAUNCH) == 0
    return workspace


def record(workspace: Path, name: str = "computation_graph") -> dict:
    return json.loads((workspace / "records" / f"{name}.json").read_text(encoding="utf-8"))


def test_both_records_come_out_and_hold(repository, exported, capsys):
    graph, schedule = record(exported), record(exported, "execution_schedule")
    assert graph["commit"] == git(repository, "rev-parse", "HEAD") and graph["job_type"] == "training"
    paths = {row.get("path"): row for row in graph["modules"]}
    assert paths["blocks.[0-5].attention.qkv"]["multiplicity"] == 4 * 6
    assert paths["blocks.[0-5]"]["repeat"]["expr"] == "range(config.layers)"
    assert paths["head"]["shares"] == "tokens"
    assert "DistributedDataParallel" in paths[""]["wrapped_by"]
    assert {"data", "forward", "backward", "optimizer", "evaluation"} <= {phase["name"] for phase in schedule["phases"]}
    assert any(one["issued_by"] == "DistributedDataParallel" for one in schedule["device_device"])
    files = [str(exported / "records" / f"{name}.json") for name in ("computation_graph", "execution_schedule")]
    capsys.readouterr()
    assert main(["check", *files, "--source", str(repository)]) == 0, capsys.readouterr().out


def test_nothing_is_written_in_the_source(repository, exported):
    assert git(repository, "status", "--porcelain", "--ignored") == ""


def test_the_same_question_gives_the_same_bytes(repository, exported, tmp_path):
    assert run(repository, tmp_path, "--launch", LAUNCH) == 0
    for name in ("computation_graph", "execution_schedule"):
        assert (tmp_path / "records" / f"{name}.json").read_bytes() == (
            exported / "records" / f"{name}.json"
        ).read_bytes()


def test_a_record_is_made_again_from_its_header(repository, exported, tmp_path):
    made = exported / "records" / "computation_graph.json"
    assert run(repository, tmp_path, "--again", str(made)) == 0
    assert (tmp_path / "records" / "computation_graph.json").read_bytes() == made.read_bytes()


def test_a_build_gives_the_graph_of_the_model_alone(repository, tmp_path):
    words = ["--build", "model.py:CharGPT(ModelConfig(layers=2))", "--input", "tokens=int64[B,16]", "--mode", "eval"]
    assert run(repository, tmp_path, *words) == 0
    graph = record(tmp_path)
    assert "job_type" not in graph and "entrypoint" not in graph and graph["mode"] == "eval"
    assert "B" in graph["symbols"] and not (tmp_path / "records" / "execution_schedule.json").exists()
    assert {row.get("path") for row in graph["modules"]} >= {"", "blocks.[0-1].mlp.0"}


def test_values_given_by_hand_are_used_and_said(repository, tmp_path):
    assert run(repository, tmp_path, "--launch", LAUNCH, "--set", "args.accumulate=2", "--only", "graph") == 0
    graph = record(tmp_path)
    assert graph["assumed"] == {"args.accumulate": 2}
    assert next(row for row in graph["modules"] if row["level"] == "model")["multiplicity"] == 2
    assert not (tmp_path / "records" / "execution_schedule.json").exists()


def test_a_name_that_nothing_asks_for_is_an_error_under_strict(repository, tmp_path, capsys):
    assert run(repository, tmp_path, "--launch", LAUNCH, "--set", "args.acumulate=2", "--strict") == 1


def test_the_plan_writes_nothing(repository, tmp_path, capsys):
    assert run(repository, tmp_path, "--launch", LAUNCH, "--plan") == 0
    out = capsys.readouterr().out
    assert "blocks.[0-5].attention.qkv x24" in out and "step: train.py:main:" in out
    assert list(tmp_path.iterdir()) == []


def test_the_summary_for_machines(repository, tmp_path, capsys):
    assert run(repository, tmp_path, "--launch", LAUNCH, "--json") == 0
    summary = json.loads(capsys.readouterr().out)
    assert len(summary["records"]) == 2 and summary["faults"] == [] and summary["counts"]["modules"] > 40


WRONG = {
    "neither": ([], "--launch 'LINE'"),
    "both": (["--launch", LAUNCH, "--build", "model.py:CharGPT()"], "both are given"),
    "revision": (["--launch", LAUNCH, "--rev", "no-such-branch"], "no-such-branch"),
    "script": (["--launch", "python trian.py"], "train.py"),
    "no program": (["--launch", "make train"], "make"),
    "file of build": (["--build", "modle.py:Net()"], "modle.py"),
    "expression of build": (["--build", "model.py:CharGPT("], "no expression"),
    "no module": (["--build", "model.py:ModelConfig()"], "no nn.Module"),
    "mode": (["--launch", LAUNCH, "--mode", "fast"], "train or eval"),
    "only": (["--launch", LAUNCH, "--only", "half"], "graph or schedule"),
    "set": (["--launch", LAUNCH, "--set", "novalue"], "NAME=VALUE"),
    "file": (["--launch", LAUNCH, "--file", "config.json=/no/such/file"], "no such file"),
    "env": (["--launch", LAUNCH, "--env", "/no/such/folder"], "no such folder"),
    "again": (["--again", "/no/such/record.json"], "/no/such/record.json"),
    "store": (["--launch", LAUNCH, "--store", "bolt://127.0.0.1:1"], "127.0.0.1:1"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_question_gets_one_line_and_loses_nothing(name, repository, tmp_path, capsys):
    words, text = WRONG[name]
    kept = tmp_path / "records" / "computation_graph.json"
    kept.parent.mkdir()
    kept.write_text('{"schema": "cgx/computation_graph/1"}')
    assert run(repository, tmp_path, *words) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1 and text in lines[0], lines
    assert kept.read_text() == '{"schema": "cgx/computation_graph/1"}'


def test_a_source_that_is_not_there(tmp_path, capsys):
    assert run(tmp_path / "nothing", tmp_path, "--launch", LAUNCH) == 2
    assert "no such folder" in capsys.readouterr().err


def test_a_script_that_does_not_parse(tmp_path, capsys):
    (tmp_path / "train.py").write_text("def broken(:\n")
    assert run(tmp_path, tmp_path / "out", "--launch", "python train.py") == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_a_job_without_a_model(tmp_path, capsys):
    (tmp_path / "train.py").write_text("import os\nprint(os.getcwd())\n")
    assert run(tmp_path, tmp_path / "out", "--launch", "python train.py") == 2
    assert "no model" in capsys.readouterr().err


def test_a_file_that_is_not_ours_is_kept(repository, tmp_path, capsys):
    kept = tmp_path / "records" / "execution_schedule.json"
    kept.parent.mkdir()
    kept.write_text("my own notes")
    assert run(repository, tmp_path, "--launch", LAUNCH) == 2
    assert "--force" in capsys.readouterr().err and kept.read_text() == "my own notes"
    assert not (tmp_path / "records" / "computation_graph.json").exists()
    assert run(repository, tmp_path, "--launch", LAUNCH, "--force") == 0
    assert record(tmp_path, "execution_schedule")["schema"] == "cgx/execution_schedule/1"


def test_a_plain_folder_has_a_digest_in_place_of_a_commit(tmp_path):
    shutil.copytree(EXAMPLE, tmp_path / "job", ignore=shutil.ignore_patterns("__pycache__"))
    assert run(tmp_path / "job", tmp_path / "out", "--launch", "python train.py") == 0
    graph = record(tmp_path / "out")
    assert "commit" not in graph and len(graph["tree"]) == 40
