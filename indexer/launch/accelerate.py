"""``accelerate launch``: its flags, its YAML file in the repository, and the variables that ``Accelerator`` reads."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from typing import Any

import yaml

from cgx.indexer.interpreter.values import Unknown
from cgx.indexer.launch.draft import Draft, last, take_options
from cgx.indexer.launch.launchers import SAY_HOW_MANY, set_ranks

FLAGS = frozenset(
    [
        "m",
        "module",
        "no_python",
        "quiet",
        "q",
        "cpu",
        "tpu",
        "multi_gpu",
        "use_deepspeed",
        "use_fsdp",
        "use_megatron_lm",
        "use_parallelism_config",
        "same_network",
        "dynamo_use_dynamic",
        "dynamo_use_fullgraph",
        "dynamo_use_regional_compilation",
        "use_xpu",
        "ipex",
        "debug",
        "downcast_bf16",
        "tpu_cluster",
        "no_tpu_cluster",
        "tpu_use_cluster",
        "tpu_use_sudo",
        "standalone",
        "use_mps_device",
        "use_cpu",
        "enable_cpu_affinity",
    ]
)

SECTIONS = ("fsdp_config", "deepspeed_config", "dynamo_config")  # of the YAML file

# Rows: flag or YAML key -> the variable that the launched program reads.
VARIABLES: dict[str, str] = {
    "mixed_precision": "ACCELERATE_MIXED_PRECISION",
    "gradient_accumulation_steps": "ACCELERATE_GRADIENT_ACCUMULATION_STEPS",
    "dynamo_backend": "ACCELERATE_DYNAMO_BACKEND",
    "dynamo_mode": "ACCELERATE_DYNAMO_MODE",
    "debug": "ACCELERATE_DEBUG_MODE",
}
FSDP_VARIABLES: dict[str, str] = {
    "fsdp_version": "FSDP_VERSION",
    "fsdp_sharding_strategy": "FSDP_SHARDING_STRATEGY",
    "fsdp_reshard_after_forward": "FSDP_RESHARD_AFTER_FORWARD",
    "fsdp_offload_params": "FSDP_OFFLOAD_PARAMS",
    "fsdp_auto_wrap_policy": "FSDP_AUTO_WRAP_POLICY",
    "fsdp_transformer_layer_cls_to_wrap": "FSDP_TRANSFORMER_CLS_TO_WRAP",
    "fsdp_min_num_params": "FSDP_MIN_NUM_PARAMS",
    "fsdp_backward_prefetch": "FSDP_BACKWARD_PREFETCH",
    "fsdp_forward_prefetch": "FSDP_FORWARD_PREFETCH",
    "fsdp_use_orig_params": "FSDP_USE_ORIG_PARAMS",
    "fsdp_state_dict_type": "FSDP_STATE_DICT_TYPE",
    "fsdp_cpu_ram_efficient_loading": "FSDP_CPU_RAM_EFFICIENT_LOADING",
    "fsdp_sync_module_states": "FSDP_SYNC_MODULE_STATES",
    "fsdp_activation_checkpointing": "FSDP_ACTIVATION_CHECKPOINTING",
}
DEEPSPEED_VARIABLES: dict[str, str] = {
    "zero_stage": "ACCELERATE_DEEPSPEED_ZERO_STAGE",
    "offload_optimizer_device": "ACCELERATE_DEEPSPEED_OFFLOAD_OPTIMIZER_DEVICE",
    "offload_param_device": "ACCELERATE_DEEPSPEED_OFFLOAD_PARAM_DEVICE",
    "gradient_clipping": "ACCELERATE_GRADIENT_CLIPPING",
    "zero3_init_flag": "ACCELERATE_DEEPSPEED_ZERO3_INIT",
    "zero3_save_16bit_model": "ACCELERATE_DEEPSPEED_ZERO3_SAVE_16BIT_MODEL",
    "deepspeed_config_file": "ACCELERATE_DEEPSPEED_CONFIG_FILE",
}


def accelerate(draft: Draft) -> None:
    """Flags win over the YAML file. Without a count in either, every GPU of the machine gets a process: an unknown number."""
    plan = draft.plan
    if draft.words[:1] == ["launch"]:
        draft.words.pop(0)
    options, draft.words = take_options(draft.words, FLAGS)
    settings = _file(draft, last(options, "config_file"))
    nested = {name: held for section in SECTIONS for name, held in (settings.get(section) or {}).items()}

    def value(name: str) -> str | None:
        given = last(options, name)
        if given is not None:
            return given or "true"
        held = settings.get(name, nested.get(name))
        return None if held is None else str(held)

    kind = str(settings.get("distributed_type", "")).upper()
    on_host = "cpu" in options or "use_cpu" in options or str(settings.get("use_cpu", "")).lower() == "true"
    _processes(draft, value, one=on_host or kind == "NO")
    draft.module |= "m" in options or "module" in options
    draft.direct = "no_python" in options
    for name, variable in VARIABLES.items():
        if (text := value(name)) is not None:
            plan.env[variable] = text
    if on_host:
        plan.env["ACCELERATE_USE_CPU"] = "true"
    if "use_fsdp" in options or kind == "FSDP":
        plan.env["ACCELERATE_USE_FSDP"] = "true"
        _export(plan.env, FSDP_VARIABLES, value)
    if "use_deepspeed" in options or kind == "DEEPSPEED":
        plan.env["ACCELERATE_USE_DEEPSPEED"] = "true"
        _export(plan.env, DEEPSPEED_VARIABLES, value)
    if plan.world_size != 1:
        set_ranks(draft, value("main_process_ip"), value("main_process_port"))


def _processes(draft: Draft, value: Callable[[str], str | None], one: bool) -> None:
    """``num_processes`` counts those of all machines."""
    plan = draft.plan
    total = draft.size(value("num_processes"), "num_processes", 1 if one else None)
    plan.nnodes = draft.size(value("num_machines"), "num_machines")
    known = isinstance(total, int) and isinstance(plan.nnodes, int)
    plan.nproc_per_node = max(1, total // plan.nnodes) if known else total  # type: ignore[operator]
    if isinstance(total, Unknown):
        plan.problems.append(f"accelerate starts a process for every GPU of the machine; {SAY_HOW_MANY.format('num_processes')}")


def _export(env: dict[str, Any], rows: dict[str, str], value: Any) -> None:
    for name, variable in rows.items():
        if (text := value(name)) is not None:
            env[variable] = text


def _file(draft: Draft, name: str | None) -> dict[str, Any]:
    """The settings of ``--config_file``; empty where the repository does not hold it."""
    if name is None:
        return {}
    path = posixpath.normpath(posixpath.join(draft.plan.cwd, name))
    data = draft.tree.read(path)
    if data is None:
        draft.plan.problems.append(f"accelerate's config file is not in the source: {name}")
        return {}
    try:
        loaded = yaml.safe_load(data)
    except yaml.YAMLError as error:
        draft.plan.problems.append(f"{name}: not YAML: {str(error).splitlines()[0]}")
        return {}
    return loaded if isinstance(loaded, dict) else {}
