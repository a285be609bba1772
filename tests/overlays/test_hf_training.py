"""Small training scripts on the Hugging Face Trainer, read without its source: the life cycle that the overlay states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cgx.indexer.job import JobRequest, read_job
from cgx.indexer.source import open_tree

SCRIPT = """
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments, {names}


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 640

    def __getitem__(self, index):
        return dict(input_ids=torch.zeros(16, dtype=torch.long), labels=torch.zeros(16, dtype=torch.long))


{classes}


def main():
    model = AutoModelForCausalLM.from_pretrained("some/model")
    args = TrainingArguments(output_dir="out", {options})
    trainer = {trainer}(model=model, args=args, train_dataset=Data(), {more})
    {train}


main()
"""


def read(folder: Path, launch: str = "python job.py", *, options: str = "", more: str = "", classes: str = "", trainer: str = "Trainer",
         names: str = "TrainerCallback", train: str = "trainer.train()") -> dict[str, Any]:  # fmt: skip
    text = SCRIPT.format(options=options, more=more, classes=classes, trainer=trainer, names=names, train=train)
    (folder / "job.py").write_text(text)
    rows = read_job(open_tree(folder), [], JobRequest(launch=launch), [])
    assert not rows.trace.faults
    assert rows.schedule is not None
    return {**rows.schedule, "entrypoint": rows.header.get("entrypoint"), "job_type": rows.header["job_type"]}


def rows(record: dict[str, Any], key: str, **fields: Any) -> list[dict[str, Any]]:
    held = record["host_device"][key] if key in ("copies", "syncs") else record[key]
    return [row for row in held if all(row.get(name) == value for name, value in fields.items())]


def one(record: dict[str, Any], key: str, **fields: Any) -> dict[str, Any]:
    found = rows(record, key, **fields)
    assert len(found) == 1, (fields, found)
    return found[0]


def test_defaults_of_one_process(tmp_path: Path) -> None:
    found = read(tmp_path)
    assert found["job_type"] == "training"
    assert [(row["unit"], row["count"]) for row in found["loops"]] == [("epoch", 3), ("step", 80)]
    batch = rows(found, "copies", phase="data")
    assert {row["what"] for row in batch} == {"inputs['input_ids']", "inputs['labels']"}
    assert all(
        row["source"] == "pinned" and row["blocks_host"] and row["frequency"] == {"per": "step"} for row in batch
    )
    assert one(found, "syncs", kind="item", what="tr_loss")["frequency"]["every"] == 500
    assert one(found, "phases", name="checkpoint")["every"]["count"] == 500
    assert not rows(found, "phases", name="evaluation") and not found["device_device"]
    assert found["compute"]["optimizer"]["value"] == "torch.optim.AdamW(fused)"
    assert found["compute"]["grad_clip"]["value"] == 1.0


def test_every_micro_step_looks_at_the_loss_unless_the_filter_is_off(tmp_path: Path) -> None:
    found = read(tmp_path, options="gradient_accumulation_steps=4")
    looks = rows(found, "syncs", kind="branch")
    assert {row["what"] for row in looks} == {"torch.isnan(tr_loss_step)", "torch.isinf(tr_loss_step)"}
    assert all(row["frequency"]["per"] == "micro-step" and row["phase"] == "logging" for row in looks)
    assert not rows(read(tmp_path, options="logging_nan_inf_filter=False"), "syncs", kind="branch")


def test_accumulation_is_a_loop_of_micro_steps(tmp_path: Path) -> None:
    found = read(tmp_path, options="gradient_accumulation_steps=4, per_device_train_batch_size=16")
    assert [(row["unit"], row["count"]) for row in found["loops"]] == [("epoch", 3), ("step", 10), ("micro-step", 4)]
    assert found["compute"]["gradient_accumulation"]["value"] == 4
    assert {row["name"]: row["repeat"] for row in found["phases"] if row["name"] in ("data", "forward", "backward", "optimizer")} == {
        "data": 4, "forward": 4, "backward": 4, "optimizer": 1}  # fmt: skip
    assert one(found, "copies", what="inputs['labels']")["frequency"] == {"per": "micro-step"}


def test_several_processes_reduce_in_the_last_micro_step_and_gather_what_they_log(tmp_path: Path) -> None:
    found = read(
        tmp_path, "torchrun --nproc_per_node=4 job.py", options="gradient_accumulation_steps=4, logging_steps=10"
    )
    assert one(found, "device_device", collective="all_reduce")["frequency"] == {"per": "step"}
    logged = one(found, "device_device", collective="all_gather", phase="logging")
    assert logged["frequency"]["every"] == 10 and logged["repeat"] == 2
    assert one(found, "phases", name="checkpoint")["ranks"] == "rank 0"
    assert [(row["unit"], row["count"]) for row in found["loops"]][1] == ("step", 5)


@pytest.mark.parametrize(
    ("options", "wrapper"),
    [("fsdp='full_shard auto_wrap'", "FullyShardedDataParallel"), ("fsdp=True", "fully_shard"), ("fsdp=True, fsdp_config={'version': 1}", "FullyShardedDataParallel")],
)  # fmt: skip
def test_sharding_gathers_scatters_and_sums_the_norm(tmp_path: Path, options: str, wrapper: str) -> None:
    found = read(tmp_path, "torchrun --nproc_per_node=4 job.py", options=options)
    sent = [
        (row["collective"], row["phase"])
        for row in rows(found, "device_device", issued_by=wrapper)
        if row["phase"] not in ("startup", "checkpoint")
    ]
    assert sent == [
        ("all_gather", "forward"),
        ("all_gather", "backward"),
        ("reduce_scatter", "backward"),
        ("all_reduce", "optimizer"),
    ]
    assert one(found, "copies", phase="startup")["code_anchor"].endswith(":21")  # not in the constructor


def test_evaluation_gathers_losses_and_reads_them_once(tmp_path: Path) -> None:
    options = "eval_strategy='steps', eval_steps=50, per_device_eval_batch_size=32"
    found = read(tmp_path, "torchrun --nproc_per_node=2 job.py", options=options, more="eval_dataset=Data()")
    assert one(found, "phases", name="evaluation")["every"] == {
        "count": 50,
        "unit": "step",
        "guard": "global_step % 50 == 0",
    }
    losses = one(found, "device_device", phase="evaluation", collective="all_gather")
    assert losses["repeat"] == 10 and losses["frequency"]["every"] == 50
    assert one(found, "syncs", phase="evaluation", kind="cpu")["what"] == "gathered losses"
    assert one(found, "loops", unit="evaluation batch")["count"] == 10


def test_metrics_bring_logits_and_labels_to_the_host(tmp_path: Path) -> None:
    found = read(tmp_path, options="eval_strategy='epoch'", more="eval_dataset=Data(), compute_metrics=lambda p: {}")
    assert one(found, "phases", name="evaluation")["every"]["unit"] == "epoch"
    assert {row["what"] for row in rows(found, "syncs", phase="evaluation", kind="cpu")} == {
        "gathered losses", "gathered logits", "gathered labels", "sizes of logits", "sizes of labels"}  # fmt: skip


def test_switches(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        options="fp16=True, optim='adamw_torch', gradient_checkpointing=True, torch_compile=True, max_grad_norm=0, tf32=True",
    )
    compute = found["compute"]
    assert compute["grad_scaler"]["enabled"] is True and "grad_clip" not in compute
    assert one(found, "syncs", what="found_inf")["phase"] == "optimizer"
    assert "activation_checkpointing" in compute and "compile" in compute
    assert {row["value"] for row in compute["precision"]} == {"float16", "tf32"}
    assert not rows(found, "syncs", what="grad_norm")


def test_old_spellings(tmp_path: Path) -> None:
    found = read(tmp_path, options="evaluation_strategy='steps', eval_steps=7", more="eval_dataset=Data()")
    assert one(found, "phases", name="evaluation")["every"]["count"] == 7


def test_overrides_and_callbacks_of_the_user(tmp_path: Path) -> None:
    classes = """
class Mine(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss, outputs = super().compute_loss(model, inputs, return_outputs=True)
        self.last = loss.item()
        return (loss, outputs) if return_outputs else loss


class Watch(TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        torch.cuda.synchronize()
"""
    found = read(tmp_path, classes=classes, trainer="Mine", more="callbacks=[Watch()]")
    assert one(found, "syncs", what="loss.item()")["code_anchor"] == "job.py:Mine.compute_loss:18"
    assert one(found, "syncs", kind="synchronize")["code_anchor"] == "job.py:Watch.on_step_end:24"


def test_deepspeed_is_read_from_its_file(tmp_path: Path) -> None:
    (tmp_path / "zero.json").write_text('{"zero_optimization": {"stage": 3}, "bf16": {"enabled": "auto"}}')
    found = read(
        tmp_path,
        "torchrun --nproc_per_node=2 job.py",
        options="deepspeed='zero.json', bf16=True, gradient_accumulation_steps=2",
    )
    assert {row["collective"] for row in rows(found, "device_device", issued_by="DeepSpeedEngine")} >= {
        "all_gather",
        "reduce_scatter",
    }
    assert "grad_sync" not in found["compute"]  # the engine knows the boundary itself


def test_generation_asks_the_device_after_each_token(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(
        "from transformers import AutoModelForCausalLM, AutoTokenizer\n"
        "name = 'some/model'\n"
        "model = AutoModelForCausalLM.from_pretrained(name, device_map='cuda')\n"
        "tokenizer = AutoTokenizer.from_pretrained(name)\n"
        "inputs = tokenizer('hello', return_tensors='pt').to('cuda')\n"
        "print(tokenizer.decode(model.generate(**inputs, max_new_tokens=20)[0]))\n"
    )
    rows_ = read_job(open_tree(tmp_path), [], JobRequest(launch="python job.py"), [])
    found = rows_.schedule
    assert found is not None and rows_.header["job_type"] == "inference serving"
    assert one(found, "syncs", kind="branch")["code_anchor"].endswith(":6")
    assert any(row["count"] == 20 for row in found["loops"])


def test_a_dataclass_that_derives_from_the_arguments_has_their_defaults(tmp_path: Path) -> None:
    classes = """
from dataclasses import dataclass, field


@dataclass
class Mine(TrainingArguments):
    logging_steps: float = field(default=10)
    bf16: bool | None = field(default=None)

    def __post_init__(self):
        self.bf16 = not self.fp16 if self.bf16 is None else self.bf16


TrainingArguments = Mine
"""
    found = read(tmp_path, classes=classes, options="gradient_accumulation_steps=2")
    assert one(found, "phases", name="logging")["every"]["count"] == 10
    assert found["compute"]["precision"]["value"] == "bfloat16"
    assert found["compute"]["gradient_accumulation"]["value"] == 2


def test_trl_parser_takes_defaults_from_a_file_under_the_words_of_the_line(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text("max_steps: 7\nlogging_steps: 3\n")
    (tmp_path / "job.py").write_text(
        "import torch\nfrom transformers import AutoModelForCausalLM, Trainer, TrainingArguments\nfrom trl import TrlParser\n"
        "(args,) = TrlParser((TrainingArguments,)).parse_args_and_config()\n"
        "data = [dict(input_ids=torch.zeros(4), labels=torch.zeros(4))]\n"
        "Trainer(AutoModelForCausalLM.from_pretrained('m'), args, train_dataset=data).train()\n"
    )
    launch = "python job.py --config job.yaml --logging_steps 5 --output_dir out"
    rows_ = read_job(open_tree(tmp_path), [], JobRequest(launch=launch), [])
    assert rows_.schedule is not None
    assert one(rows_.schedule, "phases", name="logging")["every"]["count"] == 5
    assert sum(1 for row in rows_.schedule["loops"] if row["unit"] in ("epoch", "step")) == 2
    assert [row["count"] for row in rows_.schedule["loops"]] == [7, 1]


RESUMED = """
    from pathlib import Path
    if list(Path(args.output_dir).glob("checkpoint-*")):
        trainer.train(resume_from_checkpoint=True)
    else:
        trainer.train()
"""


def test_a_run_takes_one_of_two_ways_to_train(tmp_path: Path) -> None:
    found = read(tmp_path, train=RESUMED, options="logging_steps=10")
    assert [row["unit"] for row in found["loops"]] == ["epoch", "step"]
    assert isinstance(found["compute"]["backward"], dict)  # one row
    assert [row["frequency"] for row in rows(found, "syncs", what="tr_loss")] == [
        {"per": "step", "every": 10, "guard": "global_step % 10 == 0"}
    ]
    assert any("glob" in row["name"] for row in found["unresolved"])


CACHED = """
class Cached(Data):
    def __init__(self):
        self.kept = {}

    def __getitem__(self, index):
        if index in self.kept:
            return self.kept[index]
        made = super().__getitem__(index)
        self.kept[index] = made
        return made
"""


def test_a_cached_element_is_like_one_that_is_made(tmp_path: Path) -> None:
    found = read(
        tmp_path, classes=CACHED, more="eval_dataset=None", train="trainer.train_dataset = Cached(); trainer.train()"
    )
    assert {row["what"] for row in rows(found, "copies", phase="data")} == {"inputs['input_ids']", "inputs['labels']"}


GENERATES = """
class Own(Trainer):
    def get_train_dataloader(self):
        return self._get_dataloader(self.train_dataset, description="Training", batch_size=self._train_batch_size * 2, is_training=True)

    def training_step(self, model, inputs, num_items_in_batch):
        return super().training_step(model, inputs, num_items_in_batch)

    def _prepare_inputs(self, inputs):
        tokens = AutoTokenizer.from_pretrained("some/model")(["a"], return_tensors="pt")
        tokens = super()._prepare_inputs(tokens)
        with torch.no_grad():
            made = self.model.generate(**tokens)
        lengths = torch.tensor([len(row) for row in input().split()], device=self.accelerator.device)
        self.seen = self.state.global_step
        return {"input_ids": made, "lengths": lengths}

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(inputs["input_ids"])
        self.told = self.accelerator.gather_for_metrics(outputs.figures).mean().item()
        return outputs.loss
"""


def test_a_trainer_that_generates_what_it_learns_from(tmp_path: Path) -> None:
    found = read(tmp_path, "torchrun --nproc_per_node=4 job.py", classes=GENERATES, trainer="Own")
    batch = [row["what"] for row in rows(found, "copies", direction="H2D", phase="data")]
    assert "inputs['attention_mask']" in batch and any(what.startswith("torch.tensor([len(row)") for what in batch)
    assert [row["phase"] for row in found["compute"]["forward"]] == ["data", "forward"]
    assert one(found, "syncs", kind="item", what="self.accelerator.gather_for_metrics(outputs.figures).mean().item()")["frequency"] == {"per": "step"}
    assert [(row["unit"], row["count"]) for row in found["loops"]][1] == ("step", 10)


def test_a_batch_of_one_of_several_collators_is_moved(tmp_path: Path) -> None:
    classes = """
def collate(rows):
    ids = torch.stack([row["input_ids"] for row in rows])
    if input():
        return {"input_ids": ids, "labels": ids}
    return {"input_ids": ids + 1, "labels": ids}
"""
    found = read(tmp_path, classes=classes, more="data_collator=collate")
    assert [row["what"] for row in rows(found, "copies", direction="H2D", phase="data")] == ["inputs['input_ids']", "inputs['labels']"]
