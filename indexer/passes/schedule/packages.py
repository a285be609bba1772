"""Packages that a job imports if they are there: which of them can change what runs on the device."""

from __future__ import annotations

WEIGHTY_NAMES = (
    "apex bitsandbytes causal_conv1d colossalai cupy deepspeed fairscale flash_attn flash_attn_interface flash_attn_3 flashinfer fused_dense_lib "
    "horovod intel_extension_for_pytorch kernels liger_kernel mamba_ssm megatron natten nvidia peft sageattention sgl_kernel spconv "
    "torch_scatter torch_sparse torch_xla torchao torchsparse transformer_engine triton vllm xformers"
)
WEIGHTY = frozenset(WEIGHTY_NAMES.split())
"""Kernels, quantisation, sharding: where they are there, the job takes another way."""
INERT_NAMES = (
    "IPython aim apscheduler boto3 clearml comet_ml fastapi gradio graphviz habana_frameworks hf_transfer ipywidgets jinja2 jsonlines "
    "lm_eval matplotlib mlflow mlperf_logging mlx msgpack neptune nltk onnx onnxruntime onnxscript openai orjson pandas plotly psutil pydot pygraphviz "
    "pynvml pytest regex rich sacrebleu scipy seaborn setproctitle sklearn swanlab tabulate tensorboard tensorboardX tensorflow thop "
    "torch_mlu torch_npu torchinfo torchviz tqdm trackio uvloop visdom wandb yaml"
)
INERT = frozenset(INERT_NAMES.split())
"""What shows, stores or serves numbers, and other devices than the one that is assumed."""


def may_matter(name: str, shown: bool) -> bool:
    """Whether a package that is not there belongs among what is unresolved. ``shown``: its importer's file has entries in the record."""
    return name in WEIGHTY or (shown and name not in INERT)
