"""Interpreted stand-ins: library code written anew as Python text that the interpreter reads when the library's source is not given.

The files are data and are never imported. Each class or function that they stand for is listed here, by every qualified name
that code uses for it.
"""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple


class Polyfill(NamedTuple):
    """Where a stand-in is: ``path`` of its file as anchors name it, ``symbol`` in it."""

    path: str
    symbol: str


PREFIX = "cgx:polyfills/"
COMPOSITE = "torch_nn_composite.py.txt"
PARAMETRIZE = "torch_nn_parametrize.py.txt"
COLLECTIONS = "collections_abc.py.txt"
DIFFUSERS = "diffusers_mixins.py.txt"
OFFLOAD = "accelerate_hooks.py.txt"
COLOSSAL = "colossalai_booster.py.txt"
PIPELINE = "deepspeed_pipe.py.txt"
FAIRSCALE = "fairscale_layers.py.txt"
XFUSER = "xfuser_parallel.py.txt"
FLASHY = "flashy_solver.py.txt"
REGISTRABLE = "dataclass_extensions.py.txt"
CATALOGUE = "catalogue_registry.py.txt"
COMPOSER = "composer_parts.py.txt"
COMPOSER_TRAINER = "composer_trainer.py.txt"
ENGINE = "transformer_engine_layers.py.txt"

MODULES: dict[str, str] = {COMPOSITE: "torch.nn.modules.composite", PARAMETRIZE: "torch.nn.utils.parametrize", COLLECTIONS: "collections.abc",
                           PIPELINE: "deepspeed.pipe", DIFFUSERS: "diffusers.mixins", FAIRSCALE: "fairscale.nn.model_parallel", XFUSER: "xfuser.core.distributed",
                           FLASHY: "flashy", REGISTRABLE: "dataclass_extensions.registrable", OFFLOAD: "accelerate.hooks", CATALOGUE: "catalogue",
                           COMPOSER: "composer", COMPOSER_TRAINER: "composer.trainer", ENGINE: "transformer_engine.pytorch", COLOSSAL: "colossalai"}  # fmt: skip

ROWS: tuple[tuple[str, str, str, str], ...] = (  # public name, module that defines it, file, symbol
    ("torch.nn.MultiheadAttention", "torch.nn.modules.activation", COMPOSITE, "MultiheadAttention"),
    ("torch.nn.TransformerEncoderLayer", "torch.nn.modules.transformer", COMPOSITE, "TransformerEncoderLayer"),
    ("torch.nn.TransformerEncoder", "torch.nn.modules.transformer", COMPOSITE, "TransformerEncoder"),
    ("torch.nn.TransformerDecoderLayer", "torch.nn.modules.transformer", COMPOSITE, "TransformerDecoderLayer"),
    ("torch.nn.TransformerDecoder", "torch.nn.modules.transformer", COMPOSITE, "TransformerDecoder"),
    ("torch.nn.Transformer", "torch.nn.modules.transformer", COMPOSITE, "Transformer"),
    ("torch.nn.AdaptiveLogSoftmaxWithLoss", "torch.nn.modules.adaptive", COMPOSITE, "AdaptiveLogSoftmaxWithLoss"),
    ("collections.abc.Mapping", "typing", COLLECTIONS, "Mapping"),
    ("collections.abc.MutableMapping", "typing", COLLECTIONS, "MutableMapping"),
    ("collections.abc.Sequence", "typing", COLLECTIONS, "Sequence"),
    ("collections.abc.MutableSequence", "typing", COLLECTIONS, "MutableSequence"),
    ("collections.UserDict", "collections", COLLECTIONS, "UserDict"),
    ("collections.UserList", "collections", COLLECTIONS, "UserList"),
    ("deepspeed.pipe.PipelineModule", "deepspeed.runtime.pipe.module", PIPELINE, "PipelineModule"),
    ("deepspeed.runtime.pipe.PipelineModule", "deepspeed", PIPELINE, "PipelineModule"),
    ("deepspeed.pipe.LayerSpec", "deepspeed.runtime.pipe.module", PIPELINE, "LayerSpec"),
    ("deepspeed.pipe.TiedLayerSpec", "deepspeed.runtime.pipe.module", PIPELINE, "TiedLayerSpec"),
    ("deepspeed.runtime.pipe.LayerSpec", "", PIPELINE, "LayerSpec"),
    ("deepspeed.runtime.pipe.TiedLayerSpec", "", PIPELINE, "TiedLayerSpec"),
    ("deepspeed.runtime.pipe.topology.ProcessTopology", "deepspeed.pipe", PIPELINE, "ProcessTopology"),
    ("deepspeed.runtime.pipe.topology.PipeDataParallelTopology", "deepspeed.pipe", PIPELINE, "PipeDataParallelTopology"),
    ("deepspeed.runtime.pipe.topology.PipeModelDataParallelTopology", "deepspeed.pipe", PIPELINE, "PipeModelDataParallelTopology"),
    ("diffusers.ConfigMixin", "diffusers.configuration_utils", DIFFUSERS, "ConfigMixin"),
    ("diffusers.configuration_utils.register_to_config", "", DIFFUSERS, "register_to_config"),
    ("diffusers.ModelMixin", "diffusers.models.modeling_utils", DIFFUSERS, "ModelMixin"),
    ("diffusers.models.ModelMixin", "", DIFFUSERS, "ModelMixin"),
    ("diffusers.SchedulerMixin", "diffusers.schedulers.scheduling_utils", DIFFUSERS, "SchedulerMixin"),
    ("diffusers.utils.BaseOutput", "diffusers.utils.outputs", DIFFUSERS, "BaseOutput"),
    ("diffusers.DiffusionPipeline", "diffusers.pipelines.pipeline_utils", DIFFUSERS, "DiffusionPipeline"),
    ("diffusers.pipelines.DiffusionPipeline", "", DIFFUSERS, "DiffusionPipeline"),
    ("diffusers.image_processor.VaeImageProcessor", "", DIFFUSERS, "VaeImageProcessor"),
    ("diffusers.video_processor.VideoProcessor", "", DIFFUSERS, "VideoProcessor"),
    ("colossalai.booster.Booster", "colossalai.booster.booster", COLOSSAL, "Booster"),
    ("colossalai.booster.plugin.LowLevelZeroPlugin", "colossalai.booster.plugin.low_level_zero_plugin", COLOSSAL, "LowLevelZeroPlugin"),
    ("colossalai.booster.plugin.HybridParallelPlugin", "colossalai.booster.plugin.hybrid_parallel_plugin", COLOSSAL, "HybridParallelPlugin"),
    ("colossalai.cluster.DistCoordinator", "colossalai.cluster.dist_coordinator", COLOSSAL, "DistCoordinator"),
    ("colossalai.zero.low_level.LowLevelZeroOptimizer", "colossalai.zero", COLOSSAL, "LowLevelZeroOptimizer"),
    ("colossalai.nn.optimizer.HybridAdam", "colossalai.nn.optimizer.hybrid_adam", COLOSSAL, "HybridAdam"),
    ("colossalai.utils.get_current_device", "", COLOSSAL, "get_current_device"),
    *((f"accelerate.{name}", "accelerate.big_modeling", OFFLOAD, name) for name in ("cpu_offload", "cpu_offload_with_hook")),
    *((f"accelerate.hooks.{name}", "", OFFLOAD, name) for name in (
        "add_hook_to_module", "remove_hook_from_module", "ModelHook", "AlignDevicesHook", "CpuOffload", "UserCpuOffloadHook")),
    *((f"fairscale.nn.model_parallel.initialize.{name}", "fairscale.nn.model_parallel", FAIRSCALE, name) for name in (
        "initialize_model_parallel", "model_parallel_is_initialized", "destroy_model_parallel", "get_model_parallel_group", "get_data_parallel_group",
        "get_model_parallel_world_size", "get_model_parallel_rank", "get_model_parallel_src_rank", "get_data_parallel_world_size", "get_data_parallel_rank")),
    *((f"fairscale.nn.model_parallel.layers.{name}", "fairscale.nn.model_parallel", FAIRSCALE, name) for name in (
        "ColumnParallelLinear", "RowParallelLinear", "ParallelEmbedding", "VocabParallelEmbedding")),
    *((f"fairscale.nn.model_parallel.mappings.{name}", "fairscale.nn.model_parallel", FAIRSCALE, name) for name in (
        "copy_to_model_parallel_region", "reduce_from_model_parallel_region", "scatter_to_model_parallel_region", "gather_from_model_parallel_region")),
    *((f"xfuser.core.distributed.{name}", "xfuser.core.distributed.parallel_state", XFUSER, name) for name in (
        "init_distributed_environment", "initialize_model_parallel", "model_parallel_is_initialized", "get_sequence_parallel_world_size",
        "get_sequence_parallel_rank", "get_ulysses_parallel_world_size", "get_ulysses_parallel_rank", "get_ring_parallel_world_size",
        "get_ring_parallel_rank", "get_classifier_free_guidance_world_size", "get_classifier_free_guidance_rank", "get_data_parallel_world_size",
        "get_data_parallel_rank", "get_sp_group", "get_cfg_group", "get_dp_group")),
    ("xfuser.core.long_ctx_attention.xFuserLongContextAttention", "xfuser.core.long_ctx_attention.hybrid", XFUSER, "xFuserLongContextAttention"),
    ("yunchang.LongContextAttention", "yunchang.hybrid", XFUSER, "LongContextAttention"),
    ("yunchang.set_seq_parallel_pg", "yunchang.globals", XFUSER, "set_seq_parallel_pg"),
    ("yunchang.globals.PROCESS_GROUP", "", XFUSER, "PROCESS_GROUP"),
    ("yunchang.kernels.AttnType", "", XFUSER, "AttnType"),
    ("yunchang.comm.SeqAllToAll4D", "yunchang.comm.all_to_all", XFUSER, "SeqAllToAll4D"),
    ("transformer_engine.__version__", "", ENGINE, "__version__"),
    *((f"transformer_engine.pytorch.{name}", f"transformer_engine.pytorch.{home}", ENGINE, name) for name, home in (
        ("Linear", "module.linear"), ("LayerNormLinear", "module.layernorm_linear"), ("LayerNorm", "module.layernorm"), ("RMSNorm", "module.rmsnorm"),
        ("DotProductAttention", "attention"))),
    *((f"transformer_engine.pytorch.optimizers.{name}", "", ENGINE, name) for name in ("multi_tensor_applier", "multi_tensor_l2norm", "multi_tensor_scale")),
    ("transformer_engine.pytorch.attention.rope.apply_rotary_pos_emb", "transformer_engine.pytorch.attention", ENGINE, "apply_rotary_pos_emb"),
    ("dataclass_extensions.Registrable", "dataclass_extensions.registrable", REGISTRABLE, "Registrable"),
    *((f"catalogue.{name}", "", CATALOGUE, name) for name in ("REGISTRY", "Registry", "RegistryError", "check_exists", "create")),
    ("composer.Trainer", "composer.trainer.trainer", COMPOSER_TRAINER, "Trainer"),
    ("composer.trainer.Trainer", "", COMPOSER_TRAINER, "Trainer"),
    *((f"{home}.{name}", defined, COMPOSER, name) for home, defined, names in (
        ("composer", "composer.core.callback", "Callback"),
        ("composer", "composer.core.algorithm", "Algorithm"),
        ("composer", "composer.core.event", "Event"),
        ("composer", "composer.core.state", "State"),
        ("composer", "composer.core.time", "Time TimeUnit Timestamp"),
        ("composer", "composer.core.data_spec", "DataSpec ensure_data_spec"),
        ("composer", "composer.core.evaluator", "Evaluator"),
        ("composer.core", "", "Callback Algorithm Event State Time TimeUnit Timestamp DataSpec Evaluator Precision ensure_time ensure_data_spec get_precision_context"),
        ("composer.core.precision", "", "Precision get_precision_context"),
        ("composer", "composer.models.base", "ComposerModel"),
        ("composer.models", "composer.models.huggingface", "ComposerModel HuggingFaceModel"),
        ("composer", "composer.loggers.logger", "Logger"),
        ("composer.loggers", "composer.loggers.logger_destination", "LoggerDestination Logger"),
        ("composer.utils", "composer.utils.device", "get_device"),
        ("composer.devices", "", "DeviceGPU"),
        ("composer.utils.dist", "", "get_world_size get_global_rank get_local_rank get_local_world_size is_initialized is_available barrier all_reduce "
                                    "broadcast broadcast_object_list all_gather_object initialize_dist get_sampler"),
        ("composer.algorithms", "composer.algorithms.gradient_clipping.gradient_clipping", "GradientClipping"),
        ("composer.callbacks", "", "SpeedMonitor"),
        ("composer.optim", "composer.optim.decoupled_weight_decay", "DecoupledSGDW DecoupledAdamW"),
        ("composer.optim", "composer.optim.scheduler", "ComposerScheduler LinearScheduler ConstantWithWarmupScheduler LinearWithWarmupScheduler "
                                                       "CosineAnnealingScheduler CosineAnnealingWithWarmupScheduler"),
    ) for name in names.split()),
    *((f"composer.callbacks.{name}", "", COMPOSER, "Quiet") for name in (
        "LRMonitor", "MemoryMonitor", "RuntimeEstimator", "CheckpointSaver", "EarlyStopper", "NaNMonitor", "MemorySnapshot", "OOMObserver", "OptimizerMonitor")),
    ("composer.callbacks.checkpoint_saver.CheckpointSaver", "", COMPOSER, "Quiet"),
    ("flashy.BaseSolver", "flashy.solver", FLASHY, "BaseSolver"),
    ("flashy.Formatter", "flashy.formatter", FLASHY, "Formatter"),
    ("flashy.averager", "flashy.utils", FLASHY, "averager"),
    ("dora.distrib.rank", "", FLASHY, "rank"),
    ("dora.distrib.world_size", "", FLASHY, "world_size"),
    *((f"flashy.distrib.{name}", "", FLASHY, name) for name in (
        "rank", "world_size", "is_rank_zero", "is_distributed", "rank_zero_only", "barrier", "all_reduce", "average_metrics", "average_tensors", "broadcast_tensors",
        "broadcast_model", "broadcast_object", "sync_gradients", "sync_model", "eager_sync_gradients", "eager_sync_model", "wrap", "loader")),
    ("torch.nn.utils.parametrize.ParametrizationList", "", PARAMETRIZE, "ParametrizationList"),
    ("torch.nn.utils.parametrize.register_parametrization", "", PARAMETRIZE, "register_parametrization"),
    ("torch.nn.utils.parametrize.remove_parametrizations", "", PARAMETRIZE, "remove_parametrizations"),
    ("torch.nn.utils.parametrize.is_parametrized", "", PARAMETRIZE, "is_parametrized"),
    ("torch.nn.utils.parametrizations.weight_norm", "", PARAMETRIZE, "weight_norm"),
    ("torch.nn.utils.parametrizations.spectral_norm", "", PARAMETRIZE, "spectral_norm"),
    ("torch.nn.utils.parametrizations.orthogonal", "", PARAMETRIZE, "orthogonal"),
    ("torch.nn.utils.parametrizations._WeightNorm", "", PARAMETRIZE, "_WeightNorm"),
    ("torch.nn.utils.weight_norm", "", PARAMETRIZE, "old_weight_norm"),
    ("torch.nn.utils.remove_weight_norm", "", PARAMETRIZE, "old_remove_weight_norm"),
    ("torch.nn.utils.spectral_norm", "", PARAMETRIZE, "old_spectral_norm"),
    ("torch.nn.modules.utils._ntuple", "", PARAMETRIZE, "_ntuple"),
    ("torch.nn.modules.utils._single", "", PARAMETRIZE, "_single"),
    ("torch.nn.modules.utils._pair", "", PARAMETRIZE, "_pair"),
    ("torch.nn.modules.utils._triple", "", PARAMETRIZE, "_triple"),
    ("torch.nn.modules.utils._quadruple", "", PARAMETRIZE, "_quadruple"),
    ("torch.nn.modules.utils._reverse_repeat_tuple", "", PARAMETRIZE, "_reverse_repeat_tuple"),
)


@lru_cache(maxsize=1)
def index() -> dict[str, Polyfill]:
    """Every qualified name to its stand-in."""
    found: dict[str, Polyfill] = {}
    for qname, home, file, symbol in ROWS:
        entry = Polyfill(PREFIX + file, symbol)
        found[qname] = entry
        if home:
            found[f"{home}.{symbol}"] = entry
        if home.startswith("torch.nn.modules."):
            found[f"torch.nn.modules.{symbol}"] = entry
    return found


def find(qname: str) -> Polyfill | None:
    """The stand-in for a qualified name, or None."""
    return index().get(qname)


def module_name(path: str) -> str:
    """The module that a stand-in's names seem to be in."""
    return MODULES[path.removeprefix(PREFIX)]


@cache
def read(path: str) -> str:
    """The text of a stand-in, by its path. Raises KeyError for one that is not listed."""
    file = path.removeprefix(PREFIX)
    if file not in MODULES:
        raise KeyError(path)
    return (Path(__file__).parent / file).read_text(encoding="utf-8")
