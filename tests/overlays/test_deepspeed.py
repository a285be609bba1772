"""Jobs of DeepSpeed: what its configuration says is sent, waited for and made."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "interpreter"))
from interpreted import job

from cgx.indexer.interpreter.trace import Trace
from cgx.indexer.passes.schedule import schedule

SOURCE = """
import argparse, torch, torch.nn as nn, deepspeed
from deepspeed.accelerator import get_accelerator
from torch.utils.data import TensorDataset
parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int, default=-1)
parser = deepspeed.add_config_arguments(parser)
args = parser.parse_args()
deepspeed.init_distributed()
net = nn.Linear(4, 2)
engine, optimizer, loader, _ = deepspeed.initialize(args=args, model=net, model_parameters=net.parameters(),
                                                    training_data=TensorDataset(torch.zeros(512, 4), torch.zeros(512, 2)))
device = get_accelerator().device_name(engine.local_rank)
for epoch in range(2):
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        loss = nn.functional.mse_loss(engine(x), y)
        engine.backward(loss)
        engine.step()
        if engine.fp16_enabled():
            print(loss.item())
engine.save_checkpoint("out")
"""
LINE = "deepspeed --num_gpus 4 main.py --deepspeed --deepspeed_config ds.json"


def run(folder: Path, config: dict[str, Any], line: str = LINE, source: str = SOURCE) -> dict[str, Any]:
    trace: Trace = job(folder, {"main.py": source, "ds.json": json.dumps(config)}, line)
    return dict(schedule(trace).rows)


def sent(rows: dict[str, Any], phase: str) -> list[tuple[str, str, bool]]:
    """(collective, per, blocking) of one phase."""
    return [(row["collective"], row["frequency"]["per"], row["blocking"]) for row in rows["device_device"] if row["phase"] == phase]


def kinds(rows: dict[str, Any], what: str) -> list[str]:
    return [row["kind"] for row in rows["host_device"]["syncs"] if what in row["what"]]


def test_batch_sizes_and_the_engines_loader(tmp_path: Path) -> None:
    rows = run(tmp_path, {"train_batch_size": 32, "gradient_accumulation_steps": 2, "optimizer": {"type": "AdamW", "params": {"lr": 1e-3}}})
    assert rows["compute"]["gradient_accumulation"]["value"] == 2
    steps = next(row for row in rows["loops"] if row["unit"] == "micro-step")
    assert steps["count"] == 512 // 4 // 4  # four ranks, four samples each
    hops = {row["hop"]: row for row in rows["data_path"]}
    assert hops["worker queue"]["workers"] == 2 and hops["sample"]["by"].endswith("DistributedSampler") and "pin" in hops
    assert {row["source"] for row in rows["host_device"]["copies"] if row["what"] in ("x", "y")} == {"pinned"}
    assert rows["compute"]["optimizer"]["value"] == "deepspeed.ops.adam.FusedAdam"


def test_without_sharding_gradients_are_reduced_behind_the_last_backward(tmp_path: Path) -> None:
    rows = run(tmp_path, {"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2, "zero_optimization": {"overlap_comm": True}})
    assert sent(rows, "startup") == [("broadcast", "job", True)]
    assert sent(rows, "backward") == [("all_reduce", "step", True)] and not sent(rows, "optimizer")
    assert not [row for row in rows["overlap"] if "grad" in row["what"]]


@pytest.mark.parametrize(("stage", "per"), [(1, "step"), (2, "micro-step")])
def test_sharded_optimizer_states_are_gathered_at_the_end_of_the_step(tmp_path: Path, stage: int, per: str) -> None:
    config = {"train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2, "bf16": {"enabled": True},
              "zero_optimization": {"stage": stage, "overlap_comm": True}, "gradient_clipping": 1.0}  # fmt: skip
    rows = run(tmp_path, config)
    assert sent(rows, "backward") == [("all_reduce", per, False)]
    assert sent(rows, "optimizer") == [("all_reduce", "step", True), ("all_gather", "step", True)]
    assert [row["repeat"] for row in rows["device_device"] if row["phase"] == "optimizer"] == [2, 1]  # overflow flag and norm, parameters
    assert rows["compute"]["grad_clip"]["value"] == 1.0 and rows["compute"]["precision"]["value"] == "bfloat16"
    assert [row["mechanism"] for row in rows["overlap"] if "gradients" in row["what"]] == ["bucketed all_reduce"]
    assert kinds(rows, "the stream that reduces") == ["synchronize"] and kinds(rows, "overflow") == ["item"]
    assert "grad_scaler" not in rows["compute"]


def test_sharded_parameters_are_gathered_round_forward_and_backward(tmp_path: Path) -> None:
    rows = run(tmp_path, {"train_micro_batch_size_per_gpu": 4, "fp16": {"enabled": True}, "zero_optimization": {"stage": 3}})
    assert sent(rows, "forward") == [("all_gather", "step", False)]
    assert sent(rows, "backward") == [("all_gather", "step", False), ("reduce_scatter", "step", False)]
    assert rows["compute"]["grad_scaler"]["value"] == "dynamic"
    assert kinds(rows, "loss.item()") == ["item"]


def test_an_offloaded_optimizer_steps_on_the_host(tmp_path: Path) -> None:
    config = {"train_micro_batch_size_per_gpu": 4, "optimizer": {"type": "Adam", "params": {"lr": 1e-3}},
              "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu", "pin_memory": True}}}  # fmt: skip
    rows = run(tmp_path, config)
    assert rows["compute"]["optimizer"]["value"] == "deepspeed.ops.adam.DeepSpeedCPUAdam"
    moved = [(row["direction"], row["phase"], row["blocks_host"]) for row in rows["host_device"]["copies"] if "partition" in row["what"]]
    assert moved == [("D2H", "backward", False), ("H2D", "optimizer", False)]


def test_the_throughput_timer_waits_unless_switched_off(tmp_path: Path) -> None:
    waiting = run(tmp_path / "a", {"train_micro_batch_size_per_gpu": 4})
    assert kinds(waiting, "throughput timer") == ["synchronize"] * 2
    quiet = run(tmp_path / "b", {"train_micro_batch_size_per_gpu": 4, "timers": {"throughput": {"enabled": False}}})
    assert not kinds(quiet, "throughput timer")


def test_what_the_configuration_does_not_tell_is_not_guessed(tmp_path: Path) -> None:
    rows = run(tmp_path, {"train_batch_size": "auto", "gradient_accumulation_steps": "auto", "zero_optimization": {"stage": 1}})
    assert "value" not in rows["compute"]["gradient_accumulation"] or rows["compute"]["gradient_accumulation"]["value"] is None
    gone = run(tmp_path / "b", {}, LINE.replace("ds.json", "other.json"))
    assert [one["settle_with"] for one in gone["unresolved"] if one["name"] == "other.json"] == [{"option": "--file", "name": "other.json"}]
    assert not sent(gone, "backward")


def test_an_unknown_number_of_processes_is_listed_and_sends(tmp_path: Path) -> None:
    rows = run(tmp_path, {"train_micro_batch_size_per_gpu": 4}, LINE.replace("--num_gpus 4 ", ""))
    assert ("all_reduce", "step", True) in sent(rows, "backward")
    assert {"option": "--set", "name": "num_gpus"} in [one["settle_with"] for one in rows["unresolved"]]


PIPELINE = """
import torch, torch.nn as nn, deepspeed
from torch.utils.data import TensorDataset
from deepspeed.pipe import PipelineModule, LayerSpec, TiedLayerSpec
deepspeed.init_distributed()
net = PipelineModule([LayerSpec(nn.Linear, 4, 4), nn.ReLU(), TIED LayerSpec(nn.Linear, 4, 2)], num_stages=2, loss_fn=nn.CrossEntropyLoss())
engine, *_ = deepspeed.initialize(model=net, config="ds.json", model_parameters=net.parameters(),
                                  training_data=TensorDataset(torch.zeros(512, 4), torch.zeros(512, dtype=torch.long)))
for step in range(10):
    loss = engine.train_batch()
"""


def pipeline(folder: Path, tied: str = "") -> list[tuple[str, str, str, int, str]]:
    config = {"train_batch_size": 64, "train_micro_batch_size_per_gpu": 8}
    rows = run(folder, config, LINE, PIPELINE.replace("TIED", tied))
    assert {row["unit"]: row["count"] for row in rows["loops"]} == {"step": 10, "micro-step": 4}
    copies = [(row["what"], row["ranks"]) for row in rows["host_device"]["copies"] if row["phase"] == "data"]
    assert copies == [("inputs", "first stage"), ("labels", "last stage")]
    return [(row["collective"], row["parallelism"], row["phase"], row["repeat"], row["ranks"]) for row in rows["device_device"]]


def test_a_pipeline_sends_activations_on_and_gradients_back(tmp_path: Path) -> None:
    found = pipeline(tmp_path)
    assert ("recv", "pipeline", "forward", 1, "not the first stage") in found and ("send", "pipeline", "forward", 1, "not the last stage") in found
    assert ("recv", "pipeline", "backward", 1, "not the last stage") in found and ("send", "pipeline", "backward", 1, "not the first stage") in found
    assert ("all_reduce", "data", "backward", 1, "all") in found and ("broadcast", "pipeline", "logging", 1, "all") in found
    assert ("all_reduce", "pipeline", "backward", 1, "all") not in found


def test_tied_weights_are_summed_over_the_stages(tmp_path: Path) -> None:
    tied = 'TiedLayerSpec("e", nn.Linear, 4, 4), TiedLayerSpec("e", nn.Linear, 4, 4),'
    assert ("all_reduce", "pipeline", "backward", 1, "all") in pipeline(tmp_path, tied)
