"""All names that objects of Lightning's base classes have (read from lightning 2.0-2.6, with hooks of 1.x): another name is the user's, or not there."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.stdlib.support import nothing
from cgx.indexer.interpreter.values import Device, External, Instance, Value
from cgx.indexer.overlays.transfer import FOLLOWS

MODULE, DATA, CALLBACK = "lightning.pytorch.LightningModule", "lightning.pytorch.LightningDataModule", "lightning.pytorch.callbacks.Callback"
PACKAGES_OF = ("lightning", "lightning.pytorch", "pytorch_lightning", "lightning.pytorch.core", "pytorch_lightning.core", "lightning.pytorch.core.module",
               "pytorch_lightning.core.module", "pytorch_lightning.core.lightning", "lightning.pytorch.core.datamodule", "pytorch_lightning.core.datamodule",
               "lightning.pytorch.callbacks", "pytorch_lightning.callbacks", "lightning.pytorch.callbacks.callback", "pytorch_lightning.callbacks.base",
               "pytorch_lightning.callbacks.callback")  # fmt: skip
STAGES = ("train", "validation", "test", "predict")
LIFE = ("start", "end", "epoch_start", "epoch_end", "batch_start", "batch_end", "model_eval", "model_train", "model_zero_grad")
HOOKS = " ".join(f"on_{stage}_{moment}" for stage in STAGES for moment in LIFE)
SHARED = (
    f"{HOOKS} on_fit_start on_fit_end on_after_backward on_before_backward on_before_optimizer_step on_before_zero_grad on_save_checkpoint on_load_checkpoint "
    "setup teardown state_dict load_state_dict on_exception on_keyboard_interrupt on_pretrain_routine_start on_pretrain_routine_end on_sanity_check_start "
    "on_sanity_check_end on_init_start on_init_end on_epoch_start on_epoch_end on_batch_start on_batch_end on_configure_sharded_model state_key"
)
LOADERS = "prepare_data prepare_data_per_node train_dataloader val_dataloader test_dataloader predict_dataloader on_before_batch_transfer on_after_batch_transfer transfer_batch_to_device"
PARAMETERS = "save_hyperparameters hparams hparams_initial remove_ignored_hparams _hparams _set_hparams _to_hparams_dict _log_hyperparams trainer _trainer"
OF_MODULE = (
    "all_gather allow_zero_length_dataloader_with_multiple_devices automatic_optimization backward clip_gradients configure_callbacks configure_gradient_clipping "
    "configure_model configure_optimizers configure_sharded_model current_epoch device device_mesh dtype example_input_array fabric forward freeze get_progress_bar_dict "
    "global_rank global_step load_from_checkpoint local_rank log log_dict logger loggers lr_scheduler_step lr_schedulers manual_backward on_gpu optimizer_step "
    "optimizer_zero_grad optimizers predict_step print strict_loading summarize test_epoch_end test_step test_step_end to_onnx to_tensorrt to_torchscript "
    "toggle_optimizer toggled_optimizer training_epoch_end training_step training_step_end truncated_bptt_steps unfreeze untoggle_optimizer use_amp "
    "validation_epoch_end validation_step validation_step_end _automatic_optimization _current_fx_name _device _device_mesh _dtype _example_input_array _fabric "
    "_fabric_optimizers _metric_attributes _param_requires_grad_state _strict_loading"
)
MEMBERS: dict[str, frozenset[str]] = {
    MODULE: frozenset(f"{SHARED} {LOADERS} {PARAMETERS} {OF_MODULE}".split()),
    DATA: frozenset(f"{SHARED} {LOADERS} {PARAMETERS} name load_from_checkpoint from_datasets allow_zero_length_dataloader_with_multiple_devices CHECKPOINT_HYPER_PARAMS_KEY".split()),
    CALLBACK: frozenset(SHARED.split()),
}  # fmt: skip


def module_made(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``LightningModule.__init__``."""
    if isinstance(args[0], Instance):
        for name, value in (("automatic_optimization", True), ("device", Device("cpu")), (FOLLOWS, True), ("example_input_array", None), ("prepare_data_per_node", True)):
            interp.trail.set_item(args[0].attrs, name, value)
    return None


def vision_model(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``get_torchvision_model(name, ...)`` is torchvision's ``get_model``."""
    return interp.call(External("torchvision.models.get_model"), args, kwargs, site)


ENTRIES: dict[str, Any] = {f"{MODULE}.__init__": module_made, f"{DATA}.__init__": nothing, f"{CALLBACK}.__init__": nothing}
ENTRIES |= {f"{package}.utilities.model_helpers.get_torchvision_model": vision_model for package in ("lightning.pytorch", "pytorch_lightning")}
BASES: dict[str, tuple[str, ...]] = {
    f"{package}.{canonical.rpartition('.')[2]}": (canonical,)
    for package in PACKAGES_OF
    for canonical in (MODULE, DATA, CALLBACK)
    if f"{package}.{canonical.rpartition('.')[2]}" != canonical
}
