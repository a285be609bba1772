"""Write ``indexer/names/tables/torch_names.tsv`` from an installed torch. A maintainer's tool; the product never imports torch.

Run it with a Python that has torch:  python tools/generate_torch_names.py > indexer/names/tables/torch_names.tsv

One row a public name: qualified name, kind (M module, c class, f function, m method, p property or field, v value, a alias),
and what it gives: the return annotation, the bases of a class (after which the rest is members of its own), or the name
an alias stands for. Names are facts about torch's interface; no code of it is copied.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
import types
import typing
import warnings
from pathlib import Path

warnings.simplefilter("ignore")
import torch  # noqa: E402

MODULES = [
    "torch",
    "torch.nn",
    "torch.nn.functional",
    "torch.nn.init",
    "torch.nn.utils",
    "torch.nn.utils.rnn",
    "torch.nn.utils.clip_grad",
    "torch.nn.utils.parametrize",
    "torch.nn.utils.parametrizations",
    "torch.nn.utils.fusion",
    "torch.nn.utils.prune",
    "torch.nn.utils.stateless",
    "torch.nn.utils.convert_parameters",
    "torch.nn.utils.weight_norm",
    "torch.nn.utils.spectral_norm",
    "torch.nn.parallel",
    "torch.nn.parallel.distributed",
    "torch.nn.parameter",
    "torch.nn.attention",
    "torch.nn.attention.flex_attention",
    "torch.nn.attention.bias",
    "torch.nn.modules",
    "torch.nn.modules.module",
    "torch.nn.modules.utils",
    "torch.nn.modules.batchnorm",
    "torch.nn.modules.linear",
    "torch.nn.modules.conv",
    "torch.nn.modules.container",
    "torch.nn.modules.activation",
    "torch.nn.modules.loss",
    "torch.nn.modules.normalization",
    "torch.nn.modules.dropout",
    "torch.nn.modules.sparse",
    "torch.nn.modules.pooling",
    "torch.nn.modules.padding",
    "torch.nn.modules.transformer",
    "torch.nn.modules.rnn",
    "torch.nn.modules.upsampling",
    "torch.optim",
    "torch.optim.lr_scheduler",
    "torch.optim.swa_utils",
    "torch.optim.optimizer",
    "torch.optim.adam",
    "torch.optim.adamw",
    "torch.optim.sgd",
    "torch.utils",
    "torch.utils.data",
    "torch.utils.data.distributed",
    "torch.utils.data.dataloader",
    "torch.utils.data._utils",
    "torch.utils.data._utils.collate",
    "torch.utils.data.dataset",
    "torch.utils.data.sampler",
    "torch.utils.checkpoint",
    "torch.utils.hooks",
    "torch.utils.dlpack",
    "torch.utils.model_zoo",
    "torch.utils.benchmark",
    "torch.utils.cpp_extension",
    "torch.utils._pytree",
    "torch.utils.collect_env",
    "torch.utils.flop_counter",
    "torch.utils._python_dispatch",
    "torch.utils._foreach_utils",
    "torch.utils._device",
    "torch.utils.mobile_optimizer",
    "torch.utils.bundled_inputs",
    "torch.utils._triton",
    "torch.utils._ordered_set",
    "torch.cuda",
    "torch.cuda.amp",
    "torch.cuda.nvtx",
    "torch.cuda.memory",
    "torch.cuda.streams",
    "torch.cuda.graphs",
    "torch.cuda.comm",
    "torch.cuda.random",
    "torch.cuda.profiler",
    "torch.cuda.nccl",
    "torch.amp",
    "torch.amp.autocast_mode",
    "torch.amp.grad_scaler",
    "torch.accelerator",
    "torch.autograd",
    "torch.autograd.function",
    "torch.autograd.functional",
    "torch.autograd.profiler",
    "torch.autograd.graph",
    "torch.autograd.grad_mode",
    "torch.autograd.forward_ad",
    "torch.autograd.profiler_util",
    "torch.distributed",
    "torch.distributed.distributed_c10d",
    "torch.distributed.fsdp",
    "torch.distributed.fsdp.wrap",
    "torch.distributed.fsdp.sharded_grad_scaler",
    "torch.distributed.fsdp.fully_sharded_data_parallel",
    "torch.distributed.tensor",
    "torch.distributed.tensor.parallel",
    "torch.distributed.tensor.placement_types",
    "torch.distributed.tensor.experimental",
    "torch.distributed.tensor.experimental._attention",
    "torch.distributed.tensor.debug",
    "torch.distributed.tensor.parallel.style",
    "torch.distributed.tensor.device_mesh",
    "torch.distributed._tensor",
    "torch.distributed.device_mesh",
    "torch.distributed.checkpoint",
    "torch.distributed.checkpoint.state_dict",
    "torch.distributed.checkpoint.stateful",
    "torch.distributed.checkpoint.planner",
    "torch.distributed.checkpoint.filesystem",
    "torch.distributed.checkpoint.metadata",
    "torch.distributed.checkpoint.state_dict_saver",
    "torch.distributed.checkpoint.staging",
    "torch.distributed.checkpoint.state_dict_loader",
    "torch.distributed.checkpoint.default_planner",
    "torch.distributed.checkpoint.format_utils",
    "torch.distributed.checkpoint.optimizer",
    "torch.distributed.checkpoint.storage",
    "torch.distributed.checkpoint.utils",
    "torch.distributed.checkpoint.hf_storage",
    "torch.distributed.checkpoint.quantized_hf_storage",
    "torch.distributed.pipelining",
    "torch.distributed.pipelining.schedules",
    "torch.distributed.pipelining.stage",
    "torch.distributed.elastic",
    "torch.distributed.elastic.multiprocessing",
    "torch.distributed.elastic.multiprocessing.errors",
    "torch.distributed.rpc",
    "torch.distributed.optim",
    "torch.distributed.nn",
    "torch.distributed.nn.functional",
    "torch.distributed._functional_collectives",
    "torch.distributed._composable",
    "torch.distributed._composable.fsdp",
    "torch.distributed._composable.replicate",
    "torch.distributed._symmetric_memory",
    "torch.distributed.run",
    "torch.distributed.launch",
    "torch.distributed.algorithms",
    "torch.distributed.algorithms.join",
    "torch.distributed.algorithms._checkpoint",
    "torch.distributed.algorithms._checkpoint.checkpoint_wrapper",
    "torch.distributed.algorithms.ddp_comm_hooks",
    "torch.distributed.algorithms.ddp_comm_hooks.default_hooks",
    "torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook",
    "torch.distributed.utils",
    "torch.distributed._shard",
    "torch.distributed._shard.checkpoint",
    "torch.distributed.argparse_util",
    "torch.distributed._tools",
    "torch.distributed.rendezvous",
    "torch.distributed._state_dict_utils",
    "torch.profiler",
    "torch.fft",
    "torch.linalg",
    "torch.special",
    "torch.sparse",
    "torch.random",
    "torch.onnx",
    "torch.jit",
    "torch.fx",
    "torch.fx.experimental",
    "torch.fx.experimental.proxy_tensor",
    "torch.fx.passes",
    "torch.fx.node",
    "torch.fx.graph",
    "torch.fx.graph_module",
    "torch.fx.traceback",
    "torch.export",
    "torch._dynamo",
    "torch._dynamo.config",
    "torch._inductor",
    "torch._inductor.config",
    "torch._functorch",
    "torch._functorch.config",
    "torch._functorch.partitioners",
    "torch.compiler",
    "torch.backends",
    "torch.backends.cuda",
    "torch.backends.cudnn",
    "torch.backends.mps",
    "torch.backends.mkldnn",
    "torch.backends.mkl",
    "torch.backends.quantized",
    "torch.backends.openmp",
    "torch.mps",
    "torch.xpu",
    "torch.cpu",
    "torch.mtia",
    "torch.hub",
    "torch.func",
    "torch.library",
    "torch.overrides",
    "torch.multiprocessing",
    "torch.multiprocessing.spawn",
    "torch.ao",
    "torch.ao.quantization",
    "torch.ao.nn",
    "torch.masked",
    "torch.monitor",
    "torch.testing",
    "torch.serialization",
    "torch.storage",
    "torch.types",
    "torch.version",
    "torch.distributions",
    "torch.functional",
    "torch.return_types",
    "torch._utils",
    "torch.package",
    "torch.signal",
    "torch.nested",
    "torch.futures",
    "torch._C",
    "torch._C._distributed_c10d",
    "torch._ops",
    "torch._subclasses",
    "torch._subclasses.fake_tensor",
    "torch._higher_order_ops",
    "torch._guards",
    "torch._logging",
    "torch.nn.quantized",
    "torch.utils.data.backward_compatibility",
    "torch.utils.weak",
    "torch.torch_version",
]

TENSOR = "torch.Tensor"
SIMPLE = {
    "Tensor": TENSOR, "_int": "int", "_bool": "bool", "_float": "float", "_size": "torch.Size", "Size": "torch.Size",
    "_dtype": "torch.dtype", "_device": "torch.device", "_layout": "torch.layout", "LongTensor": TENSOR, "BoolTensor": TENSOR,
    "Number": "float", "SymInt": "int", "str": "str", "bool": "bool", "int": "int", "float": "float", "None": "None",
    "tensor": TENSOR, "ByteTensor": TENSOR, "Parameter": "torch.nn.Parameter", "dtype": "torch.dtype",
}  # fmt: skip
WORDS = {"tuple", "list", "dict", "Iterator", "Sequence", "set", "Optional", "Union", "Iterable"}
SELF_METHODS = {
    "to",
    "cuda",
    "cpu",
    "train",
    "eval",
    "half",
    "float",
    "double",
    "bfloat16",
    "requires_grad_",
    "apply",
    "to_empty",
}


CANONICAL: dict[int, str] = {}
SCOPE: list[dict[str, object]] = [{}]  # globals of the function whose annotation is read


def annotation(node: ast.expr | None) -> str:
    """A stub's annotation in full names, or '' where it says nothing we use."""
    if node is None:
        return ""
    if isinstance(node, ast.Constant):
        if not isinstance(node.value, str):
            return "None" if node.value is None else ""
        try:
            return annotation(ast.parse(node.value, mode="eval").body)
        except SyntaxError:
            return ""
    if isinstance(node, ast.Name):
        known = CANONICAL.get(id(SCOPE[0].get(node.id)), "")
        return SIMPLE.get(node.id, "Self" if node.id in ("Self", "T") else known)
    if isinstance(node, ast.Attribute):
        text = ast.unparse(node)
        if text.startswith("torch.return_types."):
            return "tuple[torch.Tensor, torch.Tensor]"
        return SIMPLE.get(node.attr, text if text.startswith("torch.") else "")
    if isinstance(node, ast.Subscript):
        head = (
            ast.unparse(node.value)
            .rpartition(".")[2]
            .replace("List", "list")
            .replace("Tuple", "tuple")
            .replace("Dict", "dict")
        )
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        inner = ["..." if isinstance(i, ast.Constant) and i.value is ... else annotation(i) for i in items]
        return f"{head}[{', '.join(inner)}]" if head in WORDS and all(inner) else ""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        sides = [annotation(node.left), annotation(node.right)]
        return " | ".join(dict.fromkeys(sides)) if all(sides) else ""
    return ""


def stub_returns(path: str) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    module = ast.parse((Path(torch.__file__).parent / path).read_text())

    def note(prefix: str, body: list[ast.stmt]) -> None:
        for item in body:
            if isinstance(item, ast.FunctionDef):
                found.setdefault(prefix + item.name, []).append(annotation(item.returns))
            elif isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                found.setdefault(prefix + item.target.id, []).append(annotation(item.annotation))
            elif isinstance(item, ast.ClassDef):
                note(prefix + item.name + ".", item.body)

    note("", module.body)
    return {name: " | ".join(dict.fromkeys(rows)) if all(rows) else "" for name, rows in found.items()}


FUNCTIONS = stub_returns("_C/_VariableFunctions.pyi")
CLASSES = stub_returns("_C/__init__.pyi")
C10D = stub_returns("_C/_distributed_c10d.pyi")
NN = stub_returns("_C/_nn.pyi")


def plain(value: object, canonical: dict[int, str]) -> str:
    """A run-time annotation in full names."""
    if value is None or value is type(None):
        return "None"
    if isinstance(value, str):
        try:
            return annotation(ast.parse(value, mode="eval").body)
        except SyntaxError:
            return ""
    if isinstance(value, typing.TypeVar):
        return "Self" if value.__name__ in ("T", "Self") else ""
    if value is getattr(typing, "Self", 0) or getattr(value, "_name", "") == "Self":
        return "Self"
    origin, args = typing.get_origin(value), typing.get_args(value)
    if origin is None:
        if isinstance(value, type):
            if value.__module__ == "builtins":
                return value.__name__
            return canonical.get(id(value), "")
        return ""
    inner = ["..." if item is ... else plain(item, canonical) for item in args]
    if not all(inner):
        return ""
    if origin in (typing.Union, types.UnionType):
        return " | ".join(dict.fromkeys(inner))
    head = getattr(origin, "__name__", "")
    return (
        f"{head}[{', '.join(inner)}]"
        if head in ("tuple", "list", "dict", "set", "Iterator", "Iterable", "Generator", "Sequence")
        else ""
    )


DOC = re.compile(r"^\s*(?:[\w.]+\s*)?\(.*?\)\s*->\s*([^\n]+)", re.S)


def from_doc(value: object) -> str:
    head = (getattr(value, "__doc__", "") or "")[:600]
    match = re.search(r"\)\s*->\s*([^\n]+)", head)
    if not match:
        return ""
    text = match.group(1).strip().rstrip(".")
    if text.startswith("(") and text.endswith(")"):
        parts = [SIMPLE.get(part.strip().split(" ")[0], "") for part in text[1:-1].split(",")]
        return f"tuple[{', '.join(parts)}]" if parts and all(parts) else ""
    return SIMPLE.get(text.split(" ")[0].rstrip(","), "")


def main() -> None:
    objects: dict[str, object] = {}
    modules = []
    for name in MODULES:
        try:
            modules.append((name, importlib.import_module(name)))
        except Exception as error:  # a part of torch that this build lacks
            print(f"left out {name}: {error}", file=sys.stderr)
    for name, module in modules:
        objects[name] = module
        for key in sorted(set(dir(module)) | set(getattr(module, "__all__", ()))):
            if key.startswith("_"):
                continue
            try:
                value = getattr(module, key)
            except Exception:
                continue
            home = getattr(value, "__module__", "") or ""
            if isinstance(value, types.ModuleType):
                if value.__name__.startswith("torch"):
                    objects[f"{name}.{key}"] = value
            elif isinstance(value, type) or callable(value):
                if home.startswith("torch") or home == "" or isinstance(value, types.BuiltinFunctionType):
                    objects[f"{name}.{key}"] = value
            elif isinstance(value, torch.dtype | torch.layout | torch.memory_format):
                objects[f"{name}.{key}"] = value

    def rank(path: str, value: object) -> tuple[object, ...]:
        parts = path.split(".")
        home = getattr(value, "__module__", "") or ""
        tail = getattr(value, "__name__", parts[-1])
        return (
            parts[-1] != tail,
            any(part.startswith("_") for part in parts),
            len(parts),
            f"{home}.{tail}" != path,
            path,
        )

    groups: dict[int, list[str]] = {}
    for path, value in objects.items():
        groups.setdefault(id(value), []).append(path)
    canonical = CANONICAL
    for key, paths in groups.items():
        value = objects[paths[0]]
        if isinstance(value, types.ModuleType) and value.__name__ in paths:
            canonical[key] = value.__name__
            continue
        public = [path for path in paths if path.count(".") <= 2 and not path.startswith("torch._")]
        canonical[key] = min(public or paths, key=lambda path: rank(path, value))
    fixed = "Tensor nn.Parameter nn.Module float32 float64 float16 int64 int32 int16 uint8 complex64 complex128 fx.Node fx.Graph"
    for name in fixed.split():
        value = torch
        for part in name.split("."):
            value = getattr(value, part)
        canonical[id(value)] = f"torch.{name}"
        objects[f"torch.{name}"] = value
    rows: dict[str, tuple[str, str]] = {}
    for path, value in sorted(objects.items()):
        name = canonical[id(value)]
        home = getattr(value, "__module__", "") or ""
        if isinstance(value, type | types.FunctionType) and home.startswith("torch"):
            native = f"{home}.{value.__qualname__}"
            if native != name and "<" not in native:
                rows.setdefault(native, ("a", name))
        if path != name:
            rows[path] = ("a", name)
        elif isinstance(value, types.ModuleType):
            rows[path] = ("M", "")
        elif type(value).__name__ == "tensortype":
            rows[path] = ("f", TENSOR)  # torch.FloatTensor(...) and its kind
        elif isinstance(value, type):
            class_rows(rows, path, value, canonical)
        elif callable(value):
            tail = path.rpartition(".")[2]
            hint = getattr(value, "__annotations__", {}).get("return", 0)
            SCOPE[0] = getattr(value, "__globals__", {})
            given = plain(hint, canonical) if hint != 0 else ""
            if not given and path.count(".") == 1:
                given = FUNCTIONS.get(tail, "")
            if not given and path.startswith("torch.nn.functional."):
                given = NN.get(tail, "") or from_doc(value) or FUNCTIONS.get(tail, "") or TENSOR
            if not given and path.startswith("torch.nn.init."):
                given = TENSOR
            given = given or from_doc(value)
            if not given and path.startswith(("torch.fft.", "torch.special.")):
                given = TENSOR
            rows[path] = ("f", given)
        else:
            rows[path] = ("v", "torch." + type(value).__name__)
    print("# generated by tools/generate_torch_names.py from torch", torch.__version__.split("+")[0])
    for path in sorted(rows):
        print("\t".join((path, *rows[path])))


def class_rows(rows: dict[str, tuple[str, str]], path: str, cls: type, canonical: dict[int, str]) -> None:
    bases = []
    for base in cls.__bases__:
        if id(base) in canonical and not canonical[id(base)].startswith("torch._C"):
            bases.append(canonical[id(base)])
        elif base.__module__.startswith("torch"):
            members(rows, path, base, canonical)  # a private base: its members are the class's own
            bases += [
                canonical[id(up)] for up in base.__mro__[1:] if id(up) in canonical and canonical[id(up)] not in bases
            ]
        elif base is not object:
            bases.append(f"{base.__module__}.{base.__qualname__}")
    rows[path] = ("c", ", ".join(dict.fromkeys(bases)))
    members(rows, path, cls, canonical)


KEPT_DUNDERS = {"__call__", "__enter__", "__iter__", "__len__", "__getitem__", "__next__"}


def members(rows: dict[str, tuple[str, str]], path: str, cls: type, canonical: dict[int, str]) -> None:
    stub = {"torch.Tensor": "TensorBase"}.get(path, cls.__name__)
    names = set(vars(cls)) | set(vars(cls).get("__annotations__", {}))
    for name in sorted(names):
        if name.startswith("_") and name not in KEPT_DUNDERS:
            continue
        row = f"{path}.{name}"
        value = vars(cls).get(name)
        value = getattr(value, "__func__", value)
        given = CLASSES.get(f"{stub}.{name}", "") or C10D.get(f"{stub}.{name}", "")
        inner = value.fget if isinstance(value, property) else value
        SCOPE[0] = getattr(inspect.unwrap(inner) if callable(inner) else inner, "__globals__", {})
        if isinstance(value, property):
            hint = getattr(value.fget, "__annotations__", {}).get("return", 0)
            rows.setdefault(row, ("p", given or (plain(hint, canonical) if hint != 0 else "")))
        elif isinstance(value, type):
            rows.setdefault(row, ("c", ""))
        elif callable(value) or inspect.ismethoddescriptor(value):
            hint = getattr(value, "__annotations__", {}).get("return", 0)
            if not given and hint != 0:
                given = plain(hint, canonical)
            if path == "torch.nn.Module" and name in SELF_METHODS:
                given = "Self"
            if not given and name == "forward" and path.startswith("torch.nn."):
                given = TENSOR
            if not given and path == TENSOR:
                given = from_doc(value)
            if name == "__call__" and path == "torch.nn.Module":
                continue
            rows.setdefault(row, ("m", given))
        else:
            hint = vars(cls).get("__annotations__", {}).get(name, 0)
            rows.setdefault(row, ("p", given or (plain(hint, canonical) if hint != 0 else "")))


main()
