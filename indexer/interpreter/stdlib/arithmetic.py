"""``math``, ``cmath``, ``statistics``, ``fractions``, ``operator`` and ``bisect`` on known numbers and on symbolic dims."""

from __future__ import annotations

import bisect
import math
import operator
import statistics
from typing import Any

from cgx.indexer.interpreter.stdlib.support import (
    Args,
    Handler,
    Kwargs,
    derived,
    first,
    items_of,
    lift,
    pure,
)
from cgx.indexer.interpreter.values import TensorValue, Unknown, Value

_FLOATS = [
    "sqrt",
    "exp",
    "log",
    "log2",
    "log10",
    "log1p",
    "expm1",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "atan2",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "pow",
    "hypot",
    "fabs",
    "fmod",
    "degrees",
    "radians",
    "erf",
    "erfc",
    "gamma",
    "lgamma",
    "ldexp",
    "copysign",
    "fsum",
    "dist",
    "remainder",
    "exp2",
    "cbrt",
]
_INTS = ["gcd", "lcm", "factorial", "comb", "perm", "isqrt"]
_BOOLS = ["isnan", "isinf", "isfinite", "isclose"]


def number(name: str, hint: str) -> Handler:
    """A function of ``math``. A device tensor that is taken as a number makes the host wait."""
    handler = pure(getattr(math, name, operator.abs), hint)

    def call(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        for arg in args:
            if isinstance(arg, TensorValue) and arg.const is None:
                transfer = getattr(interp, "transfer", None)
                if transfer is not None:
                    transfer("conversion", arg, site)
                return Unknown(site.text, "data", site.anchor, hint)
        return handler(interp, site, args, kwargs)

    return call


def _rounded(name: str) -> Handler:
    """``ceil``, ``floor``, ``trunc``: a symbolic dim is whole already."""
    handler = number(name, "int")

    def call(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        return args[0] if args and type(args[0]).__name__ == "Dim" else handler(interp, site, args, kwargs)

    return call


def _prod(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    items = items_of(interp, args[0], site)
    start = kwargs.get("start", 1)
    if items is None:
        return derived(site, args[:1], "int")

    def once(*values: Value) -> Value:
        total: Value = start
        for value in values:
            if isinstance(value, Unknown | TensorValue):
                return derived(site, [value], "int", "data")
            try:
                total = total * value
            except TypeError:
                return derived(site, [value], "int")
        return total

    return lift(once, items)


ENTRIES: dict[str, Handler] = {
    **{f"math.{name}": number(name, "float") for name in _FLOATS if hasattr(math, name)},
    **{f"math.{name}": number(name, "int") for name in _INTS},
    **{f"math.{name}": number(name, "bool") for name in _BOOLS},
    **{f"math.{name}": _rounded(name) for name in ("ceil", "floor", "trunc")},
    "math.modf": number("modf", "tuple"),
    "math.frexp": number("frexp", "tuple"),
    "math.prod": _prod,
    **{
        f"statistics.{name}": pure(getattr(statistics, name), "float")
        for name in ("mean", "median", "stdev", "pstdev", "variance", "fmean", "mode")
    },
    **{f"bisect.{name}": pure(getattr(bisect, name), "int") for name in ("bisect", "bisect_left", "bisect_right")},
    **{
        f"operator.{name}": pure(getattr(operator, name))
        for name in (
            "neg",
            "pos",
            "not_",
            "and_",
            "or_",
            "xor",
            "invert",
            "lshift",
            "rshift",
            "contains",
            "index",
            "concat",
            "truth",
        )
    },
    "operator.is_": lambda interp, site, args, kwargs: args[0] is args[1],
    "operator.methodcaller": lambda interp, site, args, kwargs: _methodcaller(args, kwargs),
    "fractions.Fraction": lambda interp, site, args, kwargs: derived(site, args, "float"),
    "decimal.Decimal": lambda interp, site, args, kwargs: derived(site, args, "float"),
    "numbers.Number": first,
}


def _methodcaller(args: Args, kwargs: Kwargs) -> Value:
    from cgx.indexer.interpreter.values import Native

    def call(interp: Any, site: Any, inner: Args, _kwargs: Kwargs) -> Value:
        return interp.call(interp.getattr(inner[0], args[0], site), args[1:], kwargs, site)

    return Native("operator.methodcaller", call)


CONSTANTS: dict[str, Value] = {
    "math.pi": math.pi,
    "math.e": math.e,
    "math.tau": math.tau,
    "math.inf": math.inf,
    "math.nan": math.nan,
    "cmath.pi": math.pi,
}
