"""Jobs of accelerate: what the launcher and the arguments make ``prepare`` do, and what its calls send and wait for."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "interpreter"))
from interpreted import job

from cgx.indexer.passes.schedule import schedule

SOURCE = """
import torch, torch.nn as nn
from accelerate import Accelerator, DistributedType
from accelerate.logging import get_logger
from torch.utils.data import DataLoader, TensorDataset, IterableDataset
from transformers import get_scheduler
logger = get_logger(__name__)

class Stream(IterableDataset):
    def __iter__(self):
        while True:
            yield torch.zeros(4), torch.zeros(2)

class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
    def forward(self, x):
        return self.fc(x)

accelerator = Accelerator(ARGUMENTS)
def hook(models, weights, folder):
    if accelerator.is_main_process:
        for model in models:
            torch.save(model.state_dict(), folder)
accelerator.register_save_state_pre_hook(hook)
with accelerator.main_process_first():
    pass
model = nn.Sequential(Layer(), Layer(), nn.Linear(4, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
data = DATA
loader = DataLoader(data, batch_size=4, shuffle=SHUFFLE, num_workers=2, pin_memory=True)
scheduler = get_scheduler("cosine", optimizer=optimizer, num_warmup_steps=5, num_training_steps=100)
model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
global_step = 0
for epoch in range(3):
    for step, (x, y) in enumerate(loader):
        with accelerator.accumulate(model):
            loss = nn.functional.mse_loss(model(x), y)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
        if accelerator.sync_gradients:
            global_step += 1
            if global_step % 500 == 0:
                accelerator.save_state("out")
            mean = accelerator.gather(loss).mean()
            accelerator.log({"loss": mean.item()}, step=global_step)
    both = accelerator.gather_for_metrics((loss, y))
    logger.info(f"{both}")
if accelerator.distributed_type == DistributedType.DEEPSPEED:
    torch.cuda.synchronize()
accelerator.wait_for_everyone()
accelerator.end_training()
"""
LINE = "accelerate launch --num_processes 4 main.py"


def rows(folder: Path, arguments: str = "", line: str = LINE, data: str = "", files: dict[str, str] | None = None) -> dict[str, Any]:
    text = SOURCE.replace("ARGUMENTS", arguments).replace("SHUFFLE", "False" if data else "True")
    text = text.replace("DATA", data or "TensorDataset(torch.zeros(512, 4), torch.zeros(512, 2))")
    return dict(schedule(job(folder, {"main.py": text, **(files or {})}, line)).rows)


def sent(found: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    return [(row["collective"], row["issued_by"], row["phase"], row["frequency"]["per"]) for row in found["device_device"]]


def test_several_processes_are_wrapped_and_share_the_loader(tmp_path: Path) -> None:
    found = rows(tmp_path)
    assert ("all_reduce", "DistributedDataParallel", "backward", "step") in sent(found)
    assert [row["count"] for row in found["loops"] if row["unit"] == "step"] == [512 // 4 // 4]
    copies = [(row["what"], row["source"], row["blocks_host"]) for row in found["host_device"]["copies"] if row["what"].startswith("batch")]
    assert copies == [("batch[0]", "pinned", True), ("batch[1]", "pinned", True)]
    assert "gradient_accumulation" not in found["compute"] and "precision" not in found["compute"]
    assert {row["anchor"] if "anchor" in row else row["name"] for row in found["phases"]} >= {"startup", "checkpoint", "teardown"}


def test_a_shuffled_loader_makes_its_generator_the_same_each_epoch(tmp_path: Path) -> None:
    found = rows(tmp_path / "a")
    assert ("broadcast", "DataLoaderShard", "data", "epoch") in sent(found)
    assert ("cpu", "epoch") in [(row["kind"], row["frequency"]["per"]) for row in found["host_device"]["syncs"] if "generator" in row["what"]]
    alone = rows(tmp_path / "b", line="accelerate launch --num_processes 1 main.py")
    assert not alone["device_device"] and not [row for row in alone["host_device"]["copies"] if "generator" in row["what"]]


def test_a_stream_is_read_by_one_process_for_all(tmp_path: Path) -> None:
    found = rows(tmp_path, data="Stream()")
    assert ("broadcast", "DataLoaderDispatcher", "data", "step") in sent(found)
    assert "DataLoaderShard" not in [issuer for _, issuer, _, _ in sent(found)]


def test_accumulation_syncs_steps_and_counts_at_its_end(tmp_path: Path) -> None:
    found = rows(tmp_path, 'gradient_accumulation_steps=4, mixed_precision="fp16"')
    compute = found["compute"]
    assert compute["gradient_accumulation"]["value"] == 4 and compute["optimizer_step"]["frequency"] == {"per": "step"}
    assert ("all_reduce", "DistributedDataParallel", "backward", "step") in sent(found)
    assert ("all_gather", "call", "logging", "step") in sent(found)
    inside = {row["what"]: (row["kind"], row["phase"], row["frequency"]["per"]) for row in found["host_device"]["syncs"]}
    assert inside["found_inf"] == ("item", "optimizer", "step") and inside["mean.item()"] == ("item", "logging", "step")
    saves = [row for row in found["phases"] if row["name"] == "checkpoint"]
    assert (saves[0]["every"]["count"], saves[0]["every"]["unit"], saves[0]["ranks"]) == (500, "step", "all")
    assert {row["ranks"] for row in found["host_device"]["copies"] if row["phase"] == "checkpoint"} == {"rank 0"}
    assert compute["grad_scaler"]["value"] == "enabled" and {row["value"] for row in compute["lr_schedule"]} == {"cosine(num_warmup_steps=5, num_training_steps=100)", "step"}


def test_the_launchers_variables_win_where_the_code_is_silent(tmp_path: Path) -> None:
    line = LINE.replace("main.py", "--mixed_precision bf16 --gradient_accumulation_steps 2 main.py")
    found = rows(tmp_path, "", line)
    assert found["compute"]["precision"]["value"] == "bfloat16"
    assert found["compute"]["gradient_accumulation"]["value"] == 2 and "grad_scaler" not in found["compute"]
    assert "precision" not in rows(tmp_path / "b", 'mixed_precision="no"', line)["compute"]


def test_each_tensor_is_gathered_and_the_main_process_logs(tmp_path: Path) -> None:
    found = rows(tmp_path)
    gathers = [row for row in found["device_device"] if row["collective"] == "all_gather" and row["frequency"]["per"] == "epoch"]
    assert [row["repeat"] for row in gathers] == [2]
    assert [row["phase"] for row in found["device_device"] if row["collective"] == "barrier"] == ["startup", "teardown"]
    shown = [row for row in found["host_device"]["syncs"] if row["kind"] == "print"]
    assert {row["ranks"] for row in shown} <= {"all", "rank 0"}


def test_a_yaml_file_asks_for_sharding(tmp_path: Path) -> None:
    text = """
distributed_type: FSDP
mixed_precision: bf16
num_processes: 4
fsdp_config:
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_transformer_layer_cls_to_wrap: Layer
  fsdp_sharding_strategy: FULL_SHARD
  fsdp_sync_module_states: true
"""
    found = rows(tmp_path, line="accelerate launch --config_file acc.yaml main.py", files={"acc.yaml": text})
    sharded = [row for row in found["device_device"] if row["issued_by"] == "FullyShardedDataParallel"]
    assert sum(row["repeat"] for row in sharded if row["collective"] == "reduce_scatter") == 3  # two layers and the rest
    assert ("all_reduce", "FullyShardedDataParallel", "optimizer", "step") in sent(found)
    assert ("broadcast", "FullyShardedDataParallel", "startup", "job") in sent(found)


def test_deepspeed_takes_the_step_over(tmp_path: Path) -> None:
    config = {"zero_optimization": {"stage": 2}, "bf16": {"enabled": "auto"}, "gradient_accumulation_steps": "auto", "gradient_clipping": "auto",
              "train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto"}  # fmt: skip
    text = "distributed_type: DEEPSPEED\nmixed_precision: bf16\nnum_processes: 4\ndeepspeed_config: {deepspeed_config_file: ds.json}\n"
    line = "accelerate launch --config_file acc.yaml main.py"
    found = rows(tmp_path, "gradient_accumulation_steps=4", line, files={"acc.yaml": text, "ds.json": json.dumps(config)})
    assert ("all_reduce", "DeepSpeedEngine", "backward", "micro-step") in sent(found)
    assert ("all_gather", "DeepSpeedEngine", "optimizer", "step") in sent(found)
    compute = found["compute"]
    assert compute["gradient_accumulation"]["value"] == 4 and compute["precision"]["value"] == "bfloat16" and compute["grad_clip"]["value"] == 1.0
    assert "synchronize" in [row["kind"] for row in found["host_device"]["syncs"] if row["phase"] == "teardown"]
    assert compute["optimizer_step"]["value"] == "torch.optim.AdamW"


def test_only_the_host_is_used_where_the_launch_says_so(tmp_path: Path) -> None:
    found = rows(tmp_path, line="accelerate launch --cpu main.py")
    assert not found["host_device"]["copies"]
