"""NumPy on the host: scalars by Python's own arithmetic, arrays by torch's shape rules. No op of the job comes from it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from cgx.indexer.interpreter.stdlib.array_random import DRAWS, GENERATOR, make_generator
from cgx.indexer.interpreter.stdlib.array_values import DTYPES, as_array, dtype_of, exported, host, quiet, scalar_dtype
from cgx.indexer.interpreter.stdlib.support import (
    Args,
    Handler,
    Kwargs,
    bind,
    derived,
    lift,
    nothing,
    text_of,
)
from cgx.indexer.interpreter.values import (
    DType,
    External,
    ListValue,
    Opaque,
    TensorValue,
    Unknown,
    Value,
)
from cgx.indexer.ops.tensors import size

AUTHOR = "stdlib.arrays"
SPACED = ("torch.linspace", "torch.logspace")
KEYWORDS = {
    "axis": "dim",
    "axes": "dims",
    "keepdims": "keepdim",
    "a": "input",
    "x": "input",
    "num": "steps",
    "stop": "end",
    "repeats": "repeats",
}


def array(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``np.array`` and its kind. A torch tensor becomes an array; one on the device makes the host wait."""
    bound = bind("object dtype", args, kwargs)
    source = bound.get("object", bound.get("a", bound.get("obj")))

    def once(one: Value) -> Value:
        dtype = dtype_of(bound.get("dtype"))
        if isinstance(one, TensorValue):
            if one.library == "torch" and getattr(interp, "transfer", None) is not None:
                interp.transfer("numpy", one, site)
            return TensorValue(
                one.shape, dtype or one.dtype, "cpu", library="numpy", const=one.const, anchor=site.anchor
            )
        found = as_array(one)
        if isinstance(found, int | float | bool):
            return TensorValue(
                (), dtype or scalar_dtype(found), "cpu", library="numpy", const=found, anchor=site.anchor
            )
        if isinstance(found, TensorValue):
            kind = dtype or ("int64" if found.dtype == "int64" else "bool" if found.dtype == "bool" else "float64")
            return TensorValue(found.shape, kind, "cpu", library="numpy", const=found.const, anchor=site.anchor)
        return TensorValue(None, dtype, "cpu", library="numpy", anchor=site.anchor)

    return lift(once, [source])


def factory(name: str, dtype: str | None = "float64") -> Handler:
    """``zeros``, ``arange``, ``linspace`` and their kind."""

    def call(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        values = list(args)
        options = {KEYWORDS.get(key, key): exported(value) for key, value in kwargs.items()}
        given = dtype_of(options.pop("dtype", None))
        if "shape" in options:
            values.insert(0, options.pop("shape"))
        if name in ("torch.zeros", "torch.ones", "torch.empty", "torch.full") and len(values) > (
            2 if name == "torch.full" else 1
        ):
            given = dtype_of(values.pop()) or given
        for key in ("order", "like", "endpoint", "copy", "subok"):
            options.pop(key, None)

        def once(*each: Value) -> Value:
            if any(isinstance(value, Unknown) for value in each) and name not in (
                "torch.zeros",
                "torch.ones",
                "torch.empty",
                "torch.full",
            ):
                if name in SPACED:  # ends that are not known leave the number of elements as it is
                    count = options.get("steps", each[2] if len(each) > 2 else 50)
                    return TensorValue((count if isinstance(count, int) else None,), given or dtype, "cpu", library="numpy", anchor=site.anchor)
                return TensorValue((None,), given or dtype, "cpu", library="numpy", anchor=site.anchor)
            result = quiet(
                name, [exported(value) for value in each], {**options, **({"dtype": DType(given)} if given else {})}
            )
            if not isinstance(result, TensorValue):
                return TensorValue(None, given or dtype, "cpu", library="numpy", anchor=site.anchor)
            result.library, result.device, result.anchor = "numpy", "cpu", site.anchor
            return result

        return lift(once, values)

    return call


def rule(name: str, scalar: Callable[..., Any] | None = None, hint: str = "float", listed: bool = False) -> Handler:
    """A function that is ``scalar`` on numbers and the torch op ``name`` on arrays and lists."""

    def call(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        options = {
            KEYWORDS.get(key, key): exported(value)
            for key, value in kwargs.items()
            if value is not None and key not in ("out", "dtype", "where")
        }

        def once(*each: Value) -> Value:
            if scalar is not None and not options and all(isinstance(value, int | float | bool) for value in each):
                try:
                    return scalar(*each)
                except (ValueError, OverflowError, ZeroDivisionError, TypeError):
                    return math.nan
            if any(isinstance(value, Unknown) for value in each):
                return derived(site, list(each), hint)
            if any(isinstance(value, TensorValue) and value.library == "torch" for value in each):
                return interp.op(name, list(each), options, site)
            values = [exported(value) for value in each]
            if values and not listed:
                values[0] = _first(each[0], values[0])
            elif values and isinstance(values[0], list):
                values[0] = [as_array(item) if not isinstance(item, TensorValue) else item for item in each[0].items]
            result = quiet(name, values, options)
            if result is None:
                return (
                    Unknown(site.text, "unmodelled", site.anchor, "tensor")
                    if hint == "float"
                    else TensorValue(None, None, "cpu", library="numpy")
                )
            return host(result)

        return lift(once, list(args))

    return call


def _first(given: Value, plain: Any) -> Any:
    """What an array function works on: a number is an array without dimensions."""
    if isinstance(given, int | float):
        return TensorValue((), scalar_dtype(given), "cpu", library="numpy", const=given)
    found = as_array(given)
    return plain if found is None else found


def _filter(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``scipy.signal.firwin`` (1.17): one coefficient a tap."""
    return TensorValue((size(bind("numtaps", args, kwargs).get("numtaps")),), "float64", "cpu", library="numpy", anchor=site.anchor)


def _prod(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``np.prod`` over sizes, symbolic ones too."""
    value = args[0] if args else kwargs.get("a")
    if isinstance(value, TensorValue):
        return rule("torch.prod", None, "int")(interp, site, args, kwargs)
    if isinstance(value, int | float) or type(value).__name__ == "Dim":
        return value
    return interp.call(External("math.prod"), [value], {}, site)


# -- files ---------------------------------------------------------------------------------------------------------------


def _read(by: str, dtype_place: int, shape_known: bool = False) -> Handler:
    """An array read from a file: a hop of the data path; its length is not known."""

    def call(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        dtype = dtype_of(kwargs.get("dtype", args[dtype_place] if len(args) > dtype_place else None), None)
        shape = kwargs.get("shape")
        dims: tuple[Any, ...] | None = (
            tuple(exported(shape)) if isinstance(shape, tuple | ListValue) else (None,) if by != "numpy.load" else None
        )
        what = text_of(args[0]) if args else None
        interp.event("data", site, author=AUTHOR, hop="read", by=by, workers=0, asynchronous=False, blocks_step=True)
        return TensorValue(
            dims,
            dtype or ("uint8" if by == "numpy.memmap" else None),
            "cpu",
            library="numpy",
            name=what or site.text,
            anchor=site.anchor,
        )

    return call


def _member(name: str) -> Handler:
    """``tolist``, ``item`` of an array whose elements are known."""

    def call(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        owner = args[0]
        if not isinstance(owner, TensorValue) or owner.library != "numpy":
            return NotImplemented
        const = owner.const
        if const is None or (name == "item" and isinstance(const, tuple) and len(const) != 1):
            return Unknown(site.text, "data", site.anchor, "list" if name == "tolist" else "")
        if name == "item":
            return const[0] if isinstance(const, tuple) else const
        return _listed(const)

    return call


def _listed(const: Any) -> Value:
    return ListValue([_listed(item) for item in const]) if isinstance(const, tuple) else const


def _append(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``np.append(array, values, axis=None)``: one flat array where no axis is named."""
    bound = bind("arr values axis", args, kwargs)
    if bound.get("axis") is not None:
        return interp.call(
            External("numpy.concatenate"), [(bound["arr"], bound["values"])], {"axis": bound["axis"]}, site
        )
    total: Any = 0
    for part in (bound.get("arr"), bound.get("values")):
        count = _count(part)
        total = None if count is None or total is None else total + count
    first = bound.get("arr") if isinstance(bound.get("arr"), TensorValue) else bound.get("values")
    return TensorValue((total,), getattr(first, "dtype", None), "cpu", library="numpy", anchor=site.anchor)


def _count(part: Value) -> Any:
    """Number of elements of an array, list or scalar; None where it is not known."""
    if isinstance(part, TensorValue):
        if part.shape is None or any(size is None for size in part.shape):
            return None
        return math.prod(part.shape) if part.shape else 1
    if isinstance(part, ListValue):
        return None if part.open else len(part.items)
    return len(part) if isinstance(part, tuple) else 1 if isinstance(part, int | float) else None


def _from_text(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``np.fromstring("1-2-3", dtype=int, sep="-")``."""
    bound = bind("string dtype count sep", args, kwargs)
    kind = dtype_of(bound.get("dtype"), "float64") or "float64"
    separator = bound.get("sep", "")

    def once(source: Value) -> Value:
        if isinstance(source, str) and isinstance(separator, str) and separator:
            convert = int if "int" in kind else float
            try:
                numbers = tuple(convert(part) for part in source.split(separator.strip() or None) if part.strip())
            except ValueError as error:
                return interp.raise_("ValueError", str(error), site)
            return TensorValue((len(numbers),), kind, "cpu", library="numpy", const=numbers, anchor=site.anchor)
        return TensorValue((None,), kind, "cpu", library="numpy", anchor=site.anchor)

    return lift(once, [bound.get("string")])


def _finfo(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    return interp.call(External("torch.finfo"), [DType(dtype_of(args[0]) or "float64")], {}, site)


def _iinfo(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    name = dtype_of(args[0]) or "int64"
    bits = int("".join(char for char in name if char.isdigit()) or "64")
    unsigned = name.startswith("u")
    limits = {
        "min": 0 if unsigned else -(2 ** (bits - 1)),
        "max": 2 ** (bits if unsigned else bits - 1) - 1,
        "bits": bits,
    }
    return Opaque("numpy.iinfo", limits, site.anchor)


def _dtype(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    name = dtype_of(args[0])
    return DType(name) if name else derived(site, args)


_UNARY: dict[str, tuple[str, Callable[..., Any]]] = {
    "sqrt": ("torch.sqrt", math.sqrt), "exp": ("torch.exp", math.exp), "exp2": ("torch.exp2", lambda x: 2.0**x), "log": ("torch.log", math.log), "log2": ("torch.log2", math.log2),
    "log10": ("torch.log10", math.log10), "log1p": ("torch.log1p", math.log1p), "sin": ("torch.sin", math.sin), "cos": ("torch.cos", math.cos),
    "tan": ("torch.tan", math.tan), "tanh": ("torch.tanh", math.tanh), "abs": ("torch.abs", abs), "absolute": ("torch.abs", abs),
    "floor": ("torch.floor", lambda x: float(math.floor(x))), "ceil": ("torch.ceil", lambda x: float(math.ceil(x))),
    "sign": ("torch.sign", lambda x: (x > 0) - (x < 0)), "square": ("torch.square", lambda x: x * x), "isnan": ("torch.isnan", math.isnan),
    "isinf": ("torch.isinf", math.isinf), "isfinite": ("torch.isfinite", math.isfinite), "deg2rad": ("torch.deg2rad", math.radians),
    "arctan": ("torch.atan", math.atan), "negative": ("torch.neg", lambda x: -x), "rint": ("torch.round", lambda x: float(round(x))),
}  # fmt: skip
_BINARY: dict[str, tuple[str, Callable[..., Any]]] = {
    "add": ("torch.add", lambda a, b: a + b), "subtract": ("torch.sub", lambda a, b: a - b), "multiply": ("torch.mul", lambda a, b: a * b),
    "divide": ("torch.div", lambda a, b: a / b), "true_divide": ("torch.div", lambda a, b: a / b), "power": ("torch.pow", lambda a, b: a**b),
    "maximum": ("torch.maximum", max), "minimum": ("torch.minimum", min), "mod": ("torch.remainder", lambda a, b: a % b),
    "floor_divide": ("torch.floor_divide", lambda a, b: a // b), "arctan2": ("torch.atan2", math.atan2), "hypot": ("torch.hypot", math.hypot),
    "equal": ("torch.eq", lambda a, b: a == b), "greater": ("torch.gt", lambda a, b: a > b), "less": ("torch.lt", lambda a, b: a < b),
    "gcd": ("torch.gcd", math.gcd), "lcm": ("torch.lcm", math.lcm),
}  # fmt: skip


def _transpose(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``a.transpose(*axes)``, ``a.transpose((axes))``, or reversed."""
    owner, order = args[0], args[1:]
    if len(order) == 1 and not isinstance(order[0], int):
        order = list(exported(order[0])) if isinstance(exported(order[0]), list | tuple) else order
    if not order and isinstance(owner, TensorValue) and owner.shape is not None:
        order = list(range(len(owner.shape)))[::-1]
    found = host(quiet("torch.permute", [owner, tuple(order)], {}))
    return found if found is not None else TensorValue(None, getattr(owner, "dtype", None), "cpu", library="numpy", anchor=site.anchor)


_REDUCED: dict[str, str] = {
    "sum": "torch.sum", "mean": "torch.mean", "std": "torch.std", "var": "torch.var", "max": "torch.amax", "min": "torch.amin",
    "amax": "torch.amax", "amin": "torch.amin", "argmax": "torch.argmax", "argmin": "torch.argmin", "median": "torch.median",
    "any": "torch.any", "all": "torch.all", "cumsum": "torch.cumsum", "cumprod": "torch.cumprod", "sort": "torch.sort", "argsort": "torch.argsort",
    "unique": "torch.unique", "flip": "torch.flip", "roll": "torch.roll", "tile": "torch.tile", "repeat": "torch.repeat_interleave",
    "reshape": "torch.reshape", "squeeze": "torch.squeeze", "expand_dims": "torch.unsqueeze", "ravel": "torch.ravel", "transpose": "torch.permute",
    "moveaxis": "torch.movedim", "swapaxes": "torch.swapaxes", "broadcast_to": "torch.broadcast_to", "clip": "torch.clamp", "round": "torch.round",
    "diff": "torch.diff", "nonzero": "torch.nonzero", "where": "torch.where", "matmul": "torch.matmul", "dot": "torch.matmul", "outer": "torch.outer",
    "bincount": "torch.bincount", "triu": "torch.triu", "tril": "torch.tril", "diag": "torch.diag", "split": "torch.tensor_split",
    "array_split": "torch.tensor_split", "take": "torch.take", "isclose": "torch.isclose", "searchsorted": "torch.searchsorted", "trace": "torch.trace",
    "linalg.norm": "torch.linalg.norm", "linalg.inv": "torch.linalg.inv", "linalg.svd": "torch.linalg.svd",
}  # fmt: skip
_JOINED: dict[str, str] = {
    "concatenate": "torch.cat", "stack": "torch.stack", "vstack": "torch.vstack", "hstack": "torch.hstack", "dstack": "torch.dstack",
    "column_stack": "torch.column_stack",
}  # fmt: skip
_FACTORIES: dict[str, tuple[str, str | None]] = {
    "zeros": ("torch.zeros", "float64"), "ones": ("torch.ones", "float64"), "empty": ("torch.empty", "float64"), "full": ("torch.full", None),
    "arange": ("torch.arange", "int64"), "linspace": ("torch.linspace", "float64"), "logspace": ("torch.logspace", "float64"),
    "eye": ("torch.eye", "float64"), "identity": ("torch.eye", "float64"), "zeros_like": ("torch.zeros_like", None),
    "ones_like": ("torch.ones_like", None), "empty_like": ("torch.empty_like", None), "full_like": ("torch.full_like", None),
}  # fmt: skip

ENTRIES: dict[str, Handler] = {
    **dict.fromkeys(
        (
            "numpy.array",
            "numpy.asarray",
            "numpy.ascontiguousarray",
            "numpy.asanyarray",
            "numpy.atleast_1d",
            "numpy.copy",
        ),
        array,
    ),
    "numpy.fromiter": array,
    **{f"numpy.{name}": factory(*row) for name, row in _FACTORIES.items()},
    **{f"numpy.{name}": rule(*row) for name, row in _UNARY.items()},
    **{f"numpy.{name}": rule(*row) for name, row in _BINARY.items()},
    **{f"numpy.{name}": rule(target, None, "tensor") for name, target in _REDUCED.items()},
    **{f"numpy.{name}": rule(target, None, "tensor", listed=True) for name, target in _JOINED.items()},
    "scipy.signal.firwin": _filter,
    "numpy.einsum": rule("torch.einsum", None, "tensor", listed=True),
    "numpy.prod": _prod,
    "numpy.product": _prod,
    "numpy.append": _append,
    "numpy.memmap": _read("numpy.memmap", 1),
    "numpy.fromfile": _read("numpy.fromfile", 1),
    "numpy.load": _read("numpy.load", 9),
    "numpy.loadtxt": _read("numpy.loadtxt", 1),
    "numpy.genfromtxt": _read("numpy.genfromtxt", 1),
    "numpy.lib.format.open_memmap": _read("numpy.memmap", 2),
    "numpy.frombuffer": lambda interp, site, args, kwargs: TensorValue(
        (None,),
        dtype_of(kwargs.get("dtype", args[1] if len(args) > 1 else None)),
        "cpu",
        library="numpy",
        anchor=site.anchor,
    ),
    "numpy.fromstring": _from_text,
    "numpy.save": nothing,
    "numpy.savez": nothing,
    "numpy.savetxt": nothing,
    "numpy.ndarray.transpose": _transpose,
    "numpy.ndarray.tolist": _member("tolist"),
    "numpy.ndarray.item": _member("item"),
    "numpy.finfo": _finfo,
    "numpy.iinfo": _iinfo,
    "numpy.dtype": _dtype,
    "numpy.seterr": nothing,
    "numpy.set_printoptions": nothing,
    "numpy.errstate": lambda interp, site, args, kwargs: Opaque("contextlib.nullcontext"),
    "numpy.isscalar": lambda interp, site, args, kwargs: isinstance(args[0], int | float | complex | str),
    "numpy.ndim": lambda interp, site, args, kwargs: interp.getattr(args[0], "ndim", site),
    "numpy.shape": lambda interp, site, args, kwargs: interp.getattr(args[0], "shape", site),
    "numpy.testing.assert_allclose": nothing,
    **{f"numpy.random.{name}": handler for name, handler in DRAWS.items()},
    **{f"{GENERATOR}.{name}": handler for name, handler in DRAWS.items()},
    "numpy.random.RandomState": make_generator,
    "numpy.random.default_rng": make_generator,
    "numpy.random.Generator": make_generator,
    "numpy.random.SeedSequence": make_generator,
    "numpy.random.PCG64": make_generator,
}

CONSTANTS: dict[str, Value] = {
    **{f"numpy.{name}": DType(name) for name in DTYPES},
    "numpy.bool_": DType("bool"),
    "numpy.float_": DType("float64"),
    "numpy.int_": DType("int64"),
    "numpy.double": DType("float64"),
    "numpy.single": DType("float32"),
    "numpy.half": DType("float16"),
    "numpy.pi": math.pi,
    "numpy.e": math.e,
    "numpy.inf": math.inf,
    "numpy.Inf": math.inf,
    "numpy.nan": math.nan,
    "numpy.NaN": math.nan,
    "numpy.newaxis": None,
}
