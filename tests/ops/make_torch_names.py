"""Writes the table of torch's names from an installed torch: python tests/ops/make_torch_names.py > indexer/ops/data/torch_names.txt

A developer's tool, run when the tables move to another version of torch. It imports torch (ours, never analysed code).
"""

from __future__ import annotations

import importlib
import inspect
import types
import warnings

import torch

MODULES = ["torch", "torch.nn", "torch.nn.functional", "torch.nn.init", "torch.nn.modules", "torch.nn.modules.module", "torch.nn.modules.activation", "torch.nn.modules.batchnorm", "torch.nn.modules.container", "torch.nn.modules.conv", "torch.nn.modules.dropout", "torch.nn.modules.flatten", "torch.nn.modules.linear", "torch.nn.modules.loss", "torch.nn.modules.normalization", "torch.nn.modules.instancenorm", "torch.nn.modules.padding", "torch.nn.modules.pooling", "torch.nn.modules.rnn", "torch.nn.modules.sparse", "torch.nn.modules.transformer", "torch.nn.modules.upsampling", "torch.nn.modules.utils", "torch.nn.modules.lazy", "torch.nn.parameter", "torch.nn.parallel", "torch.nn.parallel.distributed", "torch.nn.attention", "torch.nn.attention.flex_attention", "torch.nn.attention.bias", "torch.nn.utils", "torch.nn.utils.rnn", "torch.nn.utils.parametrizations", "torch.nn.utils.parametrize", "torch.nn.utils.prune", "torch.nn.utils.clip_grad", "torch.nn.utils.stateless", "torch.nn.utils.fusion", "torch.nn.utils.weight_norm", "torch.nn.grad", "torch.optim", "torch.optim.lr_scheduler", "torch.optim.swa_utils", "torch.optim.optimizer", "torch.cuda", "torch.cuda.amp", "torch.cuda.nvtx", "torch.cuda.memory", "torch.cuda.graphs", "torch.cuda.random", "torch.cuda.comm", "torch.cuda.nccl", "torch.amp", "torch.amp.grad_scaler", "torch.amp.autocast_mode", "torch.cpu", "torch.mps", "torch.xpu", "torch.mtia", "torch.accelerator", "torch.autograd", "torch.autograd.function", "torch.autograd.functional", "torch.autograd.profiler", "torch.autograd.graph", "torch.autograd.grad_mode", "torch.autograd.forward_ad", "torch.backends", "torch.backends.cuda", "torch.backends.cudnn", "torch.backends.mps", "torch.backends.mkldnn", "torch.backends.mkl", "torch.backends.openmp", "torch.backends.mha", "torch.backends.opt_einsum", "torch.backends.cpu", "torch.backends.quantized", "torch.distributed", "torch.distributed.distributed_c10d", "torch.distributed.device_mesh", "torch.distributed.fsdp", "torch.distributed.fsdp.wrap", "torch.distributed.fsdp.sharded_grad_scaler", "torch.distributed._tensor", "torch.distributed.tensor", "torch.distributed.tensor.parallel", "torch.distributed.tensor.experimental", "torch.distributed.tensor.placement_types", "torch.distributed._composable", "torch.distributed._composable.fsdp", "torch.distributed._composable.replicate", "torch.distributed._functional_collectives", "torch.distributed.nn", "torch.distributed.nn.functional", "torch.distributed.optim", "torch.distributed.checkpoint", "torch.distributed.checkpoint.state_dict", "torch.distributed.checkpoint.stateful", "torch.distributed.checkpoint.state_dict_saver", "torch.distributed.checkpoint.state_dict_loader", "torch.distributed.checkpoint.format_utils", "torch.distributed.pipelining", "torch.distributed.algorithms", "torch.distributed.algorithms.join", "torch.distributed.algorithms._checkpoint.checkpoint_wrapper", "torch.distributed.algorithms.ddp_comm_hooks", "torch.distributed.algorithms.ddp_comm_hooks.default_hooks", "torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook", "torch.distributed.elastic", "torch.distributed.elastic.multiprocessing", "torch.distributed.elastic.multiprocessing.errors", "torch.distributed.run", "torch.distributed.launch", "torch.distributed.launcher", "torch.distributed.rpc", "torch.distributed.autograd", "torch.distributed.utils", "torch.utils", "torch.utils.data", "torch.utils.data.dataloader", "torch.utils.data.dataset", "torch.utils.data.sampler", "torch.utils.data.distributed", "torch.utils.data._utils", "torch.utils.data._utils.collate", "torch.utils.checkpoint", "torch.utils.cpp_extension", "torch.utils.tensorboard_missing", "torch.utils._pytree", "torch.utils._python_dispatch", "torch.utils._device", "torch.utils.benchmark", "torch.utils.bottleneck", "torch.utils.dlpack", "torch.utils.flop_counter", "torch.utils.model_zoo", "torch.utils.hooks", "torch.utils.weak", "torch.utils.collect_env", "torch.utils._foreach_utils", "torch.utils._triton", "torch.linalg", "torch.fft", "torch.special", "torch.sparse", "torch.nested", "torch.signal", "torch.signal.windows", "torch.func", "torch.masked", "torch.random", "torch.hub", "torch.serialization", "torch.functional", "torch._VF", "torch.jit", "torch.fx", "torch.fx.experimental", "torch.fx.experimental.symbolic_shapes", "torch.fx.experimental.proxy_tensor", "torch.compiler", "torch._dynamo", "torch._dynamo.config", "torch._inductor", "torch._inductor.config", "torch._higher_order_ops", "torch._C", "torch._C._distributed_c10d", "torch._utils", "torch._tensor", "torch._prims_common", "torch._subclasses", "torch._subclasses.fake_tensor", "torch._functorch", "torch._logging", "torch._jit_internal", "torch._six_missing", "torch.profiler", "torch.library", "torch.export", "torch.onnx", "torch.overrides", "torch.multiprocessing", "torch.monitor", "torch.package", "torch.testing", "torch.types", "torch.version", "torch.storage", "torch.return_types", "torch.ao", "torch.ao.quantization", "torch.ao.nn", "torch.quantization", "torch.distributions", "torch.distributions.categorical", "torch.distributions.normal", "torch.distributions.utils", "torch.futures", "torch.torch_version", "torch.config_missing", "torch.__config__", "torch.backends.xnnpack"]


def kind_of(value: object) -> str:
    if isinstance(value, torch.dtype):
        return "dtype"
    if isinstance(value, types.ModuleType):
        return "module"
    if isinstance(value, type):
        return "class"
    if callable(value):
        return "function"
    return "constant"


def ours(module: str, name: str, value: object, kind: str) -> bool:
    """A name that belongs to torch and is not a helper's import."""
    if name.startswith("__") and name != "__version__":
        return False
    if kind == "module":
        return value.__name__.startswith("torch") or module == "torch._C"  # type: ignore[attr-defined]
    home = getattr(value, "__module__", None)
    if isinstance(home, str) and not home.startswith(("torch", "builtins")) and kind in ("class", "function"):
        return False
    return not (kind == "constant" and str(type(value)).startswith("<class 'typing"))


def write(owner: str, members: dict[str, list[str]]) -> None:
    for kind in ("module", "class", "function", "dtype", "constant"):
        if members.get(kind):
            print(f"{owner} {kind}: {' '.join(sorted(members[kind]))}")


def main() -> None:
    print(f"# Names of torch {torch.__version__.partition('+')[0]} by owner and kind; written by tests/ops/make_torch_names.py")
    warnings.simplefilter("ignore")
    for path in MODULES:
        try:
            module = importlib.import_module(path)
        except Exception:
            continue
        members: dict[str, list[str]] = {}
        for name in dir(module):
            value = getattr(module, name, None)
            kind = kind_of(value)
            if ours(path, name, value, kind):
                members.setdefault(kind, []).append(name)
        write(path, members)
    for path, cls in (("torch.Tensor", torch.Tensor), ("torch.nn.Module", torch.nn.Module), ("torch.nn.Parameter", torch.nn.Parameter),
                      ("torch.optim.Optimizer", torch.optim.Optimizer), ("torch.utils.data.DataLoader", torch.utils.data.DataLoader),
                      ("torch.autograd.Function", torch.autograd.Function), ("torch.device", torch.device), ("torch.dtype", torch.dtype),
                      ("torch.Generator", torch.Generator), ("torch.Size", torch.Size), ("torch.cuda.Stream", torch.cuda.Stream),
                      ("torch.cuda.Event", torch.cuda.Event), ("torch.distributed.ProcessGroup", torch.distributed.ProcessGroup),
                      ("torch.distributed.Work", torch.distributed.Work), ("torch.distributed.ReduceOp", torch.distributed.ReduceOp),
                      ("torch.nn.parallel.DistributedDataParallel", torch.nn.parallel.DistributedDataParallel)):  # fmt: skip
        members = {}
        for name in dir(cls):
            value = inspect.getattr_static(cls, name, None)
            plain = "function" if callable(value) or isinstance(value, classmethod | staticmethod) or type(value).__name__ == "method_descriptor" else "constant"
            if name not in dir(object) or name in ("__eq__", "__hash__"):
                members.setdefault(plain, []).append(name)
        write(path, members)


if __name__ == "__main__":
    main()
