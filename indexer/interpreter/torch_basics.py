"""Parts of torch that are neither ops, nor layers, nor schedule: parameters, init, devices, dtypes, modes, parametrizations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cgx.indexer.interpreter import open_dicts
from cgx.indexer.interpreter.core_library import first_argument
from cgx.indexer.interpreter.scopes import Site
from cgx.indexer.interpreter.stdlib.support import first, nothing
from cgx.indexer.interpreter.values import (
    MISSING,
    ByRank,
    ClassValue,
    Device,
    DictValue,
    DType,
    FunctionValue,
    Instance,
    ListValue,
    ModuleObject,
    Native,
    Opaque,
    TensorValue,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from cgx.indexer.interpreter.interp import Interp

Args = list[Value]
Kwargs = dict[str, Value]
Handler = Callable[[Any, Any, Args, Kwargs], Value]


def _parameter(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    """``nn.Parameter(data, requires_grad=True)``."""
    data = args[0] if args else kwargs.get("data", TensorValue((0,), "float32", "cpu"))
    grad = args[1] if len(args) > 1 else kwargs.get("requires_grad", True)
    if isinstance(data, TensorValue):
        return replace(data, parameter=True, requires_grad=grad, anchor=site.anchor, name="", attrs={}, const=None)
    reason = getattr(data, "reason", "unmodelled")
    if reason:
        interp.note_unknown(data)
    return TensorValue(None, None, "cpu", parameter=True, requires_grad=grad, anchor=site.anchor)


def _parameter_new(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    """``nn.Parameter.__new__(cls, data, requires_grad)`` in a subclass: a parameter of that class."""
    made = _parameter(interp, site, args[1:], kwargs)
    return replace(made, cls=args[0]) if args and isinstance(args[0], ClassValue) and isinstance(made, TensorValue) else made


def _uninitialized(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    return TensorValue(None, None, "cpu", parameter=True, requires_grad=True, anchor=site.anchor)


def _buffer(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    """``nn.Buffer(data, persistent=True)``: a buffer of the module that it is assigned to."""
    data = args[0] if args else kwargs.get("data")
    return replace(data, attrs={**data.attrs, "cgx.buffer": True}) if isinstance(data, TensorValue) else TensorValue()


def _device(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    """``torch.device("cuda", 0)``, ``torch.device("cuda:1")``, of a device, of an index."""
    value = args[0] if args else kwargs.get("type", kwargs.get("device"))
    index = args[1] if len(args) > 1 else kwargs.get("index")
    return interp.lifted((value,), lambda one: _one_device(one, index, site))


def _one_device(value: Value, index: Value, site: Site) -> Value:
    if isinstance(value, Device):
        return value
    if isinstance(value, str):
        kind, _, number = value.partition(":")
        return Device(kind, int(number) if number.isdigit() else index)
    if isinstance(value, int) or (isinstance(value, Unknown) and value.hint == "int"):
        return Device("cuda", value)
    return Unknown(site.text, getattr(value, "reason", "environment"), site.anchor, settle=getattr(value, "settle", None))


def _dtype_default(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    if args and isinstance(args[0], DType):
        interp.trail.set_item(interp.flags, "default_dtype", args[0].name)
        _lower_precision(interp, args[0].name, site)
    return None


def _get_dtype_default(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    name = interp.flags.get("default_dtype", "float32")
    return DType(name) if name is not None else interp.unknown(site.text, "undecided-branch", site)


def _set_device_default(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    value = args[0] if args else None
    kind = value.type if isinstance(value, Device) else value.partition(":")[0] if isinstance(value, str) else None
    if isinstance(value, ByRank):
        first = value.values[0]
        kind = first.partition(":")[0] if isinstance(first, str) else getattr(first, "type", None)
    interp.trail.set_item(interp.flags, "default_device", kind)
    return None


def _set_tensor_type(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    """``torch.set_default_tensor_type(torch.cuda.HalfTensor)``: device and dtype of what is made from here on."""
    value = args[0] if args else None
    name = value if isinstance(value, str) else getattr(value, "qname", "")
    kind = TENSOR_TYPES.get(name.rpartition(".")[2])
    if kind is not None:
        interp.trail.set_item(interp.flags, "default_dtype", kind)
        place = "cuda" if ".cuda." in name else "cpu"
        interp.trail.set_item(interp.flags, "default_device", place)
        interp.trail.set_item(interp.flags, "legacy_device", place)
        _lower_precision(interp, kind, site)
    return None


def _lower_precision(interp: Interp, dtype: str, site: Site) -> None:
    """Parameters and activations are made in fewer bits from here on."""
    if dtype in ("float16", "bfloat16"):
        interp.event("compute", site, author="interpreter.torch_basics", key="precision", value=dtype, how="default dtype")


def _false(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    return False


def _is_tensor(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    if isinstance(args[0], Unknown):
        return True if args[0].hint == "tensor" else interp.unknown(site.text, args[0].reason, site, "bool")
    return isinstance(args[0], TensorValue) and args[0].library == "torch"


def _grad_enabled(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    return bool(interp.flags.get("grad", True))


def _autocast_enabled(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    return interp.flags.get("autocast") is not None


def _autocast_dtype(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    return DType(interp.flags.get("autocast") or "float16")


FINFO = {"float32": 3.4028234663852886e38, "float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float64": 1.7976931348623157e308}
EPS = {"float32": 1.1920928955078125e-07, "float16": 0.0009765625, "bfloat16": 0.0078125, "float64": 2.220446049250313e-16}
TINY = {"float32": 1.1754943508222875e-38, "float16": 6.103515625e-05, "bfloat16": 1.1754943508222875e-38, "float64": 2.2250738585072014e-308}


def _finfo(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    name = args[0].name if args and isinstance(args[0], DType) else "float32" if not args else ""
    if name not in FINFO:
        return Opaque("torch.finfo", {"min": interp.unknown(f"{site.text}.min", "data", site, "float"), "max": interp.unknown(f"{site.text}.max", "data", site, "float")})
    return Opaque("torch.finfo", {"min": -FINFO[name], "max": FINFO[name], "eps": EPS[name], "tiny": TINY[name], "smallest_normal": TINY[name], "bits": 8 * DTYPE_BYTES[name], "dtype": name})


DTYPE_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2, "float64": 8, "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1}


def _iinfo(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    name = args[0].name if args and isinstance(args[0], DType) else ""
    if name not in DTYPE_BYTES:
        return Opaque("torch.iinfo", {})
    bits = 8 * DTYPE_BYTES[name]
    low, high = (0, 2**bits - 1) if name.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return Opaque("torch.iinfo", {"min": low, "max": high, "bits": bits})


def _size(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    items = interp.iterate(args[0], site) if args else []
    return tuple(items) if isinstance(items, list) else interp.unknown(site.text, "data", site)


def _jit_script(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    if args:
        return args[0]
    return Native("torch.jit.script", first_argument)


def _generator(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    given = kwargs.get("device", args[0] if args else "cpu")
    return Opaque("torch.Generator", {"device": _device(interp, site, [given], {})}, site.anchor)


def _default_generator(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    return Opaque("torch.Generator", {"device": Device("cpu")}, site.anchor)


def _init(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    return args[0] if args else kwargs.get("tensor")


def _gain(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    return interp.unknown(site.text, "unmodelled", site, "float")


def _custom_function(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    """``torch.library.custom_op(name)(f)``: the function stays callable, as an op of its own."""
    if args and isinstance(args[0], FunctionValue):
        return args[0]
    return Native("torch.library.custom_op", first_argument)


def _parameters_to_vector(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    return TensorValue((None,), "float32")


def _tree_map(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    func, tree = args[0], args[1]

    def walk(value: Value) -> Value:
        if isinstance(value, ListValue):
            return ListValue([walk(item) for item in value.items], value.open)
        if isinstance(value, tuple):
            return tuple(walk(item) for item in value)
        if isinstance(value, DictValue):
            made = DictValue({key: walk(item) for key, item in value.items.items()}, value.open)
            made.other = open_dicts.gathered(None, walk(rest)) if (rest := open_dicts.standing(value)) is not None else None
            return made
        return interp.call(func, [value], {}, site)

    return walk(tree)


SPEC = "torch.utils._pytree.TreeSpec"


def _tree_flatten(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    """The leaves in order, and what puts others in their place."""
    leaves: list[Value] = []
    return (ListValue(leaves), Opaque(SPEC, {"tree": args[0]}, site.anchor)) if _leaves(args[0], leaves) else NotImplemented


def _tree_leaves(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    leaves: list[Value] = []
    return ListValue(leaves) if _leaves(args[0], leaves) else NotImplemented


def _leaves(value: Value, found: list[Value]) -> bool:
    """Append the leaves, None too; False where it is not known which these are."""
    if isinstance(value, Unknown) or (isinstance(value, Instance) and value.cls.info.get("namedtuple")):
        return False
    if isinstance(value, ListValue | DictValue | tuple):
        if not isinstance(value, tuple) and value.open:
            return False
        parts = value if isinstance(value, tuple) else value.items.values() if isinstance(value, DictValue) else value.items
        return all(_leaves(part, found) for part in list(parts))
    found.append(value)
    return True


def _tree_unflatten(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    leaves, spec = (args[0], args[1]) if isinstance(args[1], Opaque) else (args[1], args[0])
    listed = interp.iterate(leaves, site)
    if not isinstance(spec, Opaque) or spec.qname != SPEC or not isinstance(listed, list):
        return NotImplemented
    rest = iter(listed)

    def walk(value: Value) -> Value:
        if isinstance(value, ListValue):
            return ListValue([walk(item) for item in value.items])
        if isinstance(value, tuple):
            return tuple(walk(item) for item in value)
        if isinstance(value, DictValue):
            return DictValue({key: walk(item) for key, item in value.items.items()})
        return next(rest, None)

    return walk(spec.attrs["tree"])


INITS = ["uniform_", "normal_", "constant_", "ones_", "zeros_", "eye_", "dirac_", "xavier_uniform_", "xavier_normal_", "kaiming_uniform_", "kaiming_normal_", "trunc_normal_", "orthogonal_", "sparse_", "xavier_uniform", "kaiming_normal", "normal", "constant"]
ADDRESS, ALIGNMENT = "torch.Tensor.address", 64  # what torch's allocators align to on every device, in bytes


def _address(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    """``data_ptr()``: a number that is not known but for its alignment."""
    return Opaque(ADDRESS, {"of": args[0]}, site.anchor) if isinstance(args[0], TensorValue) else NotImplemented


def _aligned(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    step = args[1]
    known = isinstance(step, int) and step > 0 and ALIGNMENT % step == 0
    return 0 if known else interp.unknown(site.text, "data", site, "int")


TENSOR_TYPES = {"HalfTensor": "float16", "FloatTensor": "float32", "DoubleTensor": "float64", "BFloat16Tensor": "bfloat16"}
ENTRIES: dict[str, Handler] = {
    "torch.Tensor.data_ptr": _address,
    f"{ADDRESS}.__mod__": _aligned,
    "torch.nn.Parameter": _parameter,
    "torch.nn.Parameter.__new__": _parameter_new,
    "torch.nn.parameter.Parameter": _parameter,
    "torch.nn.UninitializedParameter": _uninitialized,
    "torch.nn.Buffer": _buffer,
    "torch.device": _device,
    "torch.set_default_dtype": _dtype_default,
    "torch.get_default_dtype": _get_dtype_default,
    "torch.set_default_device": _set_device_default,
    "torch.set_default_tensor_type": _set_tensor_type,
    "torch.is_tensor": _is_tensor,
    "torch.is_grad_enabled": _grad_enabled,
    "torch.is_inference_mode_enabled": lambda i, s, a, k: False,
    "torch.is_autocast_enabled": _autocast_enabled,
    "torch.get_autocast_dtype": _autocast_dtype,
    "torch.get_autocast_gpu_dtype": _autocast_dtype,
    "torch.finfo": _finfo,
    "torch.iinfo": _iinfo,
    "torch.Size": _size,
    "torch.Generator": _generator,
    "torch.Generator.manual_seed": first,
    "torch.Generator.seed": first,
    "torch.manual_seed": _default_generator,
    "torch.seed": _gain,
    "torch.use_deterministic_algorithms": nothing,
    "torch.set_float32_matmul_precision": nothing,
    "torch.set_num_threads": nothing,
    "torch.set_printoptions": nothing,
    "torch._assert": nothing,
    "torch._check": nothing,
    "torch._check_is_size": nothing,
    "torch._C._log_api_usage_once": nothing,
    "torch.jit.script": _jit_script,
    "torch.jit.script_if_tracing": _jit_script,
    "torch.jit.trace": _jit_script,
    "torch.jit.ignore": _jit_script,
    "torch.jit.unused": _jit_script,
    "torch.jit.export": _jit_script,
    "torch.jit.is_scripting": _false,
    "torch.jit.is_tracing": _false,
    "torch._C._get_tracing_state": nothing,
    "torch.jit._overload_method": first_argument,
    "torch.jit.annotate": lambda i, s, a, k: a[1],
    "torch.onnx.is_in_onnx_export": _false,
    "torch.fx.wrap": first_argument,
    "torch.fx._symbolic_trace.is_fx_tracing": _false,
    **{f"torch.fx.experimental.symbolic_shapes.{name}": first_argument for name in ("guard_or_false", "guard_or_true", "statically_known_true", "guard_size_oblivious")},
    "torch.compiler.is_compiling": _false,
    "torch.compiler.is_dynamo_compiling": _false,
    "torch._dynamo.is_compiling": _false,
    "torch.overrides.has_torch_function": _false,
    "torch.overrides.has_torch_function_unary": _false,
    "torch.overrides.has_torch_function_variadic": _false,
    "torch.overrides.is_tensor_method_or_property": _false,
    "torch.cuda.is_current_stream_capturing": _false,
    "torch.xpu.is_current_stream_capturing": _false,
    "torch.get_default_device": lambda i, s, a, k: _one_device(i.flags.get("default_device", "cpu"), None, s),
    "torch.nn.utils.fusion.fuse_conv_bn_eval": first_argument,
    "torch.nn.utils.parameters_to_vector": _parameters_to_vector,
    "torch.nn.init.calculate_gain": _gain,
    "torch.nn.init._calculate_fan_in_and_fan_out": lambda i, s, a, k: (_gain(i, s, a, k), _gain(i, s, a, k)),
    "torch.nn.init._calculate_correct_fan": _gain,
    "torch.library.custom_op": _custom_function,
    "torch.library.register_fake": lambda i, s, a, k: Native("register_fake", first_argument),
    "torch.library.triton_op": _custom_function,
    "torch.library.Library": lambda i, s, a, k: Opaque("torch.library.Library"),
    "torch.library.Library.define": nothing,
    "torch.library.Library.impl": nothing,
    "torch.utils._pytree.tree_map": _tree_map,
    "torch.utils._pytree.tree_flatten": _tree_flatten,
    "torch.utils._pytree.tree_leaves": _tree_leaves,
    "torch.utils._pytree.tree_unflatten": _tree_unflatten,
    "torch.utils._pytree.register_pytree_node": nothing,
    "torch.serialization.add_safe_globals": nothing,
    **{f"torch.nn.init.{name}": _init for name in INITS},
}


def has_polyfill(qname: str) -> bool:
    from cgx.indexer import polyfills

    return polyfills.find(qname) is not None


def polyfill(interp: Any, qname: str) -> Value:
    """The class that a polyfill file gives for a name outside the source, or MISSING."""
    try:
        from cgx.indexer import polyfills
    except ImportError:
        return MISSING
    found = polyfills.find(qname)
    if found is None:
        return MISSING
    path, name = found
    module = interp.polyfill_module(path)
    if not isinstance(module, ModuleObject):
        return MISSING
    value = module.scope.vars.get(name, MISSING)
    if type(value).__name__ == "ClassValue" and polyfills.find(value.qname) != found:
        value.qname, value.native = qname, qname
    return value


