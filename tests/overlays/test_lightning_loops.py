"""Small Lightning jobs, read without its source: the life cycle of fit, validation and checkpoints that the overlay states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cgx.indexer.job import JobRequest, read_job
from cgx.indexer.source import open_tree

SCRIPT = """
import torch
import {package} as pl
from torch.utils.data import DataLoader, TensorDataset


class Net(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)
{init}

    def forward(self, x):
        return self.layer(x)

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = torch.nn.functional.mse_loss(self(x), y)
        {log}
        return loss
{methods}

    def configure_optimizers(self):
        {optimizers}


def loader():
    return DataLoader(TensorDataset(torch.zeros(640, 8), torch.zeros(640, 8)), batch_size=16, shuffle=True{loader})

{classes}

trainer = pl.Trainer({options})
trainer.fit(Net(), loader(){fit})
{after}
"""
VALIDATION = """
    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("val_loss", torch.nn.functional.mse_loss(self(x), y){more})
"""
ADAM = "return torch.optim.Adam(self.parameters(), lr=1e-3)"


def read(folder: Path, launch: str = "python job.py", **parts: str) -> dict[str, Any]:
    filled = {"package": "lightning", "init": "", "log": "pass", "methods": "", "optimizers": ADAM, "loader": "", "classes": "", "options": "max_epochs=3",
              "fit": "", "after": "", **parts}  # fmt: skip
    (folder / "job.py").write_text(SCRIPT.format(**filled))
    rows = read_job(open_tree(folder), [], JobRequest(launch=launch), [])
    assert not rows.trace.faults
    assert rows.schedule is not None
    return {**rows.schedule, "modules": rows.graph["modules"]}


def rows(record: dict[str, Any], key: str, **fields: Any) -> list[dict[str, Any]]:
    held = record["host_device"][key] if key in ("copies", "syncs") else record[key]
    return [row for row in held if all(row.get(name) == value for name, value in fields.items())]


def one(record: dict[str, Any], key: str, **fields: Any) -> dict[str, Any]:
    found = rows(record, key, **fields)
    assert len(found) == 1, (fields, found)
    return found[0]


def test_one_device(tmp_path: Path) -> None:
    found = read(tmp_path)
    assert [(row["unit"], row["count"]) for row in found["loops"]] == [("epoch", 3), ("step", 40)]
    copies = rows(found, "copies", phase="data")
    assert [row["what"] for row in copies] == ["batch[0]", "batch[1]"]
    assert all(row["non_blocking"] and row["source"] == "pageable" and row["blocks_host"] for row in copies)
    assert one(found, "phases", name="forward")["code_anchor"] == "job.py:Net.training_step:18"
    assert one(found, "phases", name="checkpoint")["every"]["unit"] == "epoch"
    assert not found["device_device"] and not rows(found, "syncs", kind="item")
    assert {row["path"] for row in found["modules"] if "path" in row} >= {"layer"}


def test_pinned_batches_do_not_block(tmp_path: Path) -> None:
    found = read(tmp_path, loader=", pin_memory=True, num_workers=2")
    assert all(row["source"] == "pinned" and not row["blocks_host"] for row in rows(found, "copies", phase="data"))


@pytest.mark.parametrize(
    ("log", "per_step", "at_logging", "per_epoch"),
    [("self.log('loss', loss)", 0, 1, 0), ("self.log('loss', loss, prog_bar=True)", 1, 1, 0), ("self.log('loss', loss, on_epoch=True)", 0, 1, 1),
     ("self.log('loss', loss, on_step=False, on_epoch=True, prog_bar=True)", 0, 0, 2), ("self.log('loss', loss, logger=False)", 0, 0, 0),
     ("self.log_dict({'a': loss, 'b': loss}, prog_bar=True)", 2, 2, 0)],
)  # fmt: skip
def test_what_is_logged_is_read_when_somebody_needs_it(
    tmp_path: Path, log: str, per_step: int, at_logging: int, per_epoch: int
) -> None:
    found = read(tmp_path, log=log)
    reads = rows(found, "syncs", kind="item")
    assert all(row["code_anchor"] == "job.py:Net.training_step:19" and row["phase"] == "logging" for row in reads)

    def total(**rate: Any) -> int:
        return sum(
            row["repeat"]
            for row in reads
            if {key: row["frequency"].get(key) for key in ("per", "every")} == {"every": None, **rate}
        )

    assert (total(per="step"), total(per="step", every=50), total(per="epoch")) == (per_step, at_logging, per_epoch)


def test_logged_numbers_are_copied_to_the_device(tmp_path: Path) -> None:
    copy = one(read(tmp_path, log="self.log('lr', 0.1)"), "copies", what="logged number lr")
    assert copy["phase"] == "logging" and copy["code_anchor"].endswith(":19")


def test_validation_runs_before_the_first_epoch_and_after_each(tmp_path: Path) -> None:
    found = read(tmp_path, methods=VALIDATION.format(more=""), fit=", loader()")
    assert [(row["unit"], row["count"]) for row in found["loops"]] == [
        ("evaluation batch", 2),
        ("epoch", 3),
        ("step", 40),
        ("evaluation batch", 40),
    ]
    evaluation = rows(found, "phases", name="evaluation")
    assert [row.get("every") for row in evaluation if row["kind"] == "periodic"] == [{"count": 1, "unit": "epoch"}]
    read_ = one(found, "syncs", kind="item", phase="evaluation")
    assert read_["frequency"] == {"per": "epoch"} and read_["code_anchor"] == "job.py:Net.validation_step:24"
    assert {row["value"] for row in [found["compute"]["no_grad"]]} == {
        "torch.no_grad"
    } and "inference_mode" not in found["compute"]


def test_no_sanity_check_and_validation_inside_the_epoch(tmp_path: Path) -> None:
    options = "max_epochs=3, num_sanity_val_steps=0, val_check_interval=0.5"
    found = read(tmp_path, methods=VALIDATION.format(more=""), fit=", loader()", options=options)
    assert one(found, "phases", name="evaluation")["every"]["count"] == 20
    assert one(found, "loops", unit="evaluation batch")["count"] == 40


def test_several_devices(tmp_path: Path) -> None:
    options = "max_epochs=3, devices=4, accelerator='gpu', accumulate_grad_batches=2"
    found = read(tmp_path, methods=VALIDATION.format(more=", sync_dist=True"), fit=", loader()", options=options)
    assert [row["count"] for row in found["loops"] if row["unit"] == "micro-step"] == [
        10
    ]  # 640 samples, 4 devices, batches of 16
    assert (
        one(found, "device_device", issued_by="DistributedDataParallel", phase="backward")["frequency"]["per"] == "step"
    )
    flag = one(found, "device_device", collective="broadcast", phase="data")
    assert flag["frequency"] == {"per": "micro-step"}
    assert one(found, "syncs", what="signal flag", kind="item")["frequency"] == {"per": "micro-step"}
    reduced = one(found, "device_device", issued_by="LightningModule.log", collective="all_reduce")
    assert reduced["phase"] == "evaluation" and reduced["repeat"] == 2 and reduced["frequency"] == {"per": "epoch"}
    assert rows(found, "data_path", hop="sample")[0]["by"] == "torch.utils.data.distributed.DistributedSampler"
    assert one(found, "phases", name="checkpoint")["ranks"] == "rank 0"
    assert one(found, "device_device", collective="barrier", phase="checkpoint")["ranks"] == "all"


def test_older_versions_say_nothing_about_signals(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("torch\npytorch-lightning==1.4.2\n")
    found = read(tmp_path, package="pytorch_lightning", options="gpus='0,1', accelerator='ddp', max_epochs=2")
    assert not rows(found, "device_device", phase="data")
    assert one(found, "device_device", phase="backward")["collective"] == "all_reduce"


def test_precision_clipping_and_accumulation(tmp_path: Path) -> None:
    found = read(
        tmp_path, options="max_epochs=1, precision='16-mixed', gradient_clip_val=0.5, accumulate_grad_batches=4"
    )
    assert found["compute"]["precision"]["value"] == "float16" and found["compute"]["grad_clip"]["value"] == 0.5
    assert one(found, "syncs", what="found_inf")["phase"] == "optimizer"
    assert found["compute"]["gradient_accumulation"]["value"] == 4


@pytest.mark.parametrize(
    ("optimizers", "per"),
    [("o = torch.optim.SGD(self.parameters(), 0.1); return [o], [torch.optim.lr_scheduler.StepLR(o, 2)]", "epoch"),
     ("o = torch.optim.SGD(self.parameters(), 0.1); return {'optimizer': o, 'lr_scheduler': {'scheduler': torch.optim.lr_scheduler.StepLR(o, 2), 'interval': 'step'}}", "step")],
)  # fmt: skip
def test_schedulers_step_by_their_interval(tmp_path: Path, optimizers: str, per: str) -> None:
    found = read(tmp_path, optimizers=optimizers)
    stepped = [row for row in found["compute"]["lr_schedule"] if row["value"] == "step"]
    assert [row["frequency"]["per"] for row in stepped] == [per]


def test_manual_optimization_is_the_users(tmp_path: Path) -> None:
    log = "opt = self.optimizers(); opt.zero_grad(); self.manual_backward(loss); opt.step()"
    found = read(tmp_path, init="        self.automatic_optimization = False", log=log)
    assert found["compute"]["backward"]["code_anchor"] == "job.py:Net.training_step:19"
    assert found["compute"]["optimizer_step"]["code_anchor"] == "job.py:Net.training_step:19"


def test_monitored_checkpoints_and_early_stopping_ask_the_device(tmp_path: Path) -> None:
    options = "max_epochs=2, num_sanity_val_steps=0, callbacks=[pl.pytorch.callbacks.ModelCheckpoint(monitor='val_loss'), pl.pytorch.callbacks.EarlyStopping(monitor='val_loss')]"
    found = read(tmp_path, methods=VALIDATION.format(more=""), fit=", loader()", options=options)
    assert one(found, "syncs", phase="checkpoint", kind="branch")["frequency"] == {"per": "epoch"}
    assert one(found, "syncs", phase="evaluation", kind="branch")["what"].startswith("val_loss")


def test_checkpoints_by_steps_or_not_at_all(tmp_path: Path) -> None:
    options = "max_epochs=2, callbacks=[pl.pytorch.callbacks.ModelCheckpoint(every_n_train_steps=30)]"
    assert one(read(tmp_path, options=options), "phases", name="checkpoint")["every"]["count"] == 30
    assert not rows(read(tmp_path, options="max_epochs=2, enable_checkpointing=False"), "phases", name="checkpoint")


def test_callbacks_of_the_user_and_unknown_names(tmp_path: Path) -> None:
    classes = """
class Watch(pl.Callback):
    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        if hasattr(pl_module, "not_there"):
            torch.cuda.empty_cache()
            print(pl_module.layer.weight.sum().item())
        torch.cuda.synchronize()
"""
    found = read(tmp_path, package="lightning.pytorch", classes=classes, options="max_epochs=1, callbacks=[Watch()]")
    assert one(found, "syncs", kind="synchronize")["code_anchor"].startswith("job.py:Watch.on_train_batch_end")
    assert not rows(found, "syncs", kind="item") and not rows(found, "unresolved", reason="missing-module")


def test_after_fit_the_model_returns_and_predictions_come_to_the_host(tmp_path: Path) -> None:
    methods = "\n    def predict_step(self, batch, batch_idx):\n        return self(batch[0])\n"
    found = read(tmp_path, methods=methods, after="trainer.predict(dataloaders=loader())")
    moves = [row["direction"] for row in rows(found, "copies", what="model")]
    assert sorted(moves) == ["D2H", "D2H", "H2D", "H2D"]
    assert one(found, "syncs", what="predictions")["repeat"] == 40
    assert found["compute"]["inference_mode"]["value"] == "torch.inference_mode"


def test_fsdp_has_the_units_of_its_policy(tmp_path: Path) -> None:
    options = "max_epochs=1, devices=2, strategy=pl.pytorch.strategies.FSDPStrategy(auto_wrap_policy={torch.nn.Linear})"
    found = read(tmp_path, options=options)
    sent = {
        (row["collective"], row["phase"]) for row in rows(found, "device_device", issued_by="FullyShardedDataParallel")
    }
    assert {
        ("all_gather", "forward"),
        ("all_gather", "backward"),
        ("reduce_scatter", "backward"),
        ("all_gather", "checkpoint"),
    } <= sent


def test_a_metric_object_gathers_its_states_at_the_end_of_the_epoch(tmp_path: Path) -> None:
    found = read(tmp_path, init="        import torchmetrics\n        self.mean = torchmetrics.MeanMetric()",
                 log='self.mean(loss); self.log("loss", self.mean, on_step=False, on_epoch=True, sync_dist=True)', options="max_epochs=3, devices=2")  # fmt: skip
    gathers = rows(found, "device_device", issued_by="torchmetrics")
    assert [(row["collective"], row["repeat"], row["phase"], row["frequency"]["per"]) for row in gathers] == [
        ("barrier", 2, "logging", "epoch"), ("all_gather", 2, "logging", "epoch"),
    ]  # fmt: skip
    assert not rows(found, "device_device", issued_by="LightningModule.log")
    assert [row["what"].partition(" in ")[0] for row in rows(found, "syncs", kind="branch")] == [
        "nans.any()",
        "nans_weight.any()",
    ]


def test_hooks_of_the_first_versions_and_callbacks_that_log(tmp_path: Path) -> None:
    methods = """
    def training_step_end(self, output):
        self.trainer.last = output

    def training_epoch_end(self, outputs):
        print(torch.stack([one["loss"] for one in outputs]).mean().item())
"""
    classes = """
class Watch(pl.Callback):
    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.log("shown", trainer.last.item(), prog_bar=True)
        if trainer.global_step == 700:
            torch.save(pl_module.state_dict(), "last.pt")
"""
    found = read(tmp_path, package="pytorch_lightning", methods=methods, classes=classes, options="max_epochs=1, callbacks=[Watch()]")
    reads = rows(found, "syncs", kind="item", phase="logging")
    assert {(row["code_anchor"].split(":")[1], row["frequency"]["per"], row["frequency"].get("every")) for row in reads} == {
        ("Watch.on_train_batch_end", "step", None), ("Watch.on_train_batch_end", "step", 50), ("Net.training_epoch_end", "epoch", None),
    }  # fmt: skip
    assert one(found, "copies", what="logged number shown")["phase"] == "logging"
    assert not rows(found, "unresolved", reason="error")


def test_deepspeed_casts_the_weights_and_its_options_can_be_changed(tmp_path: Path) -> None:
    classes = """
def change(trainer):
    if isinstance(trainer.strategy, pl.strategies.DeepSpeedStrategy):
        trainer.strategy.config["zero_optimization"]["reduce_bucket_size"] = 1000
    return trainer
"""
    found = read(tmp_path, package="pytorch_lightning", classes=classes, fit=") if change(trainer) else (None",
                 options="max_epochs=1, devices=2, accelerator='gpu', strategy='deepspeed_stage_2', precision='bf16'")  # fmt: skip
    assert found["compute"]["precision"] == {**found["compute"]["precision"], "value": "bfloat16", "how": "parameters cast by DeepSpeed; no autocast"}
    assert one(found, "device_device", collective="broadcast", phase="startup")["issued_by"] == "DeepSpeedEngine"
    assert not rows(found, "unresolved", reason="error")


def test_a_strategy_without_a_count_takes_all_devices_there_are(tmp_path: Path) -> None:
    found = read(tmp_path, options="max_epochs=1, strategy='ddp'")
    assert one(found, "unresolved", name="trainer.devices")["reason"] == "environment"
    assert rows(found, "device_device", issued_by="DistributedDataParallel", collective="all_reduce")


def test_no_loader_no_validation(tmp_path: Path) -> None:
    found = read(tmp_path, methods=VALIDATION.format(more="") + "\n    def val_dataloader(self):\n        return []\n")
    assert not rows(found, "phases", name="evaluation")


def test_a_loss_that_is_a_part_leaves_the_model_its_forward(tmp_path: Path) -> None:
    init = "        self.loss = Loss()\n"
    classes = ""
    source = SCRIPT.replace("class Net(", "class Loss(torch.nn.Module):\n    def forward(self, a, b):\n        scale = a.new_tensor([1.0, 2.0])\n        return ((a - b) ** 2).mean() * scale.sum()\n\n\nclass Net(").replace(
        "loss = torch.nn.functional.mse_loss(self(x), y)", "loss = self.loss(self(x), y)")  # fmt: skip
    filled = {"package": "lightning", "init": init, "log": "pass", "methods": "", "optimizers": ADAM, "loader": "", "classes": classes, "options": "max_epochs=3", "fit": "", "after": ""}
    (tmp_path / "job.py").write_text(source.format(**filled))
    rows_ = read_job(open_tree(tmp_path), [], JobRequest(launch="python job.py"), [])
    assert rows_.schedule is not None
    found = {**rows_.schedule, "modules": rows_.graph["modules"]}
    assert [row["path"] for row in found["modules"] if row.get("path") is not None] == ["", "layer", "loss"]
    assert found["modules"][0]["code_anchor"].startswith("job.py:Net.forward")
    assert one(found, "copies", what="a.new_tensor([1.0, 2.0])")["phase"] == "forward"
