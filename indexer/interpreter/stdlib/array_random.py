"""NumPy's random numbers: shapes are known, values are not."""

from __future__ import annotations

from typing import Any

from cgx.indexer.interpreter.stdlib.array_values import dtype_of, exported
from cgx.indexer.interpreter.stdlib.support import (
    Args,
    Handler,
    Kwargs,
    nothing,
    unknown,
)
from cgx.indexer.interpreter.values import (
    ListValue,
    Opaque,
    TensorValue,
    Unknown,
    Value,
)
from cgx.indexer.ops.dims import Dim

GENERATOR = "numpy.random.Generator"


def _size(args: Args, kwargs: Kwargs, place: int) -> Value:
    return kwargs.get("size", args[place] if len(args) > place else None)


def drawn(place: int, dtype: str = "float64") -> Handler:
    """A random draw: an array of ``size`` (the positional argument at ``place``), or a number that is not known."""

    def call(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        given = kwargs.get("dtype")
        name = dtype if given is None else dtype_of(given)
        size = _size([arg for arg in args if not (isinstance(arg, Opaque) and arg.qname == GENERATOR)], kwargs, place)
        if size is None:
            return Unknown(site.text, "random", site.anchor, "int" if dtype == "int64" else "float")
        shape = (
            tuple(exported(size))
            if isinstance(size, ListValue | tuple)
            else (exported(size) if not isinstance(size, Unknown) else None,)
        )
        return TensorValue(
            tuple(dim if isinstance(dim, int | Dim) else None for dim in shape),
            name,
            "cpu",
            library="numpy",
            anchor=site.anchor,
        )

    return call


def _rand(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``np.random.rand(d0, d1, ...)``."""
    return drawn(0)(interp, site, [tuple(args)] if args else [], {})


def make_generator(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    return Opaque(GENERATOR, {}, site.anchor)


def _permutation(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    size = args[-1] if args else None
    if isinstance(size, TensorValue):
        return TensorValue(size.shape, size.dtype, "cpu", library="numpy", anchor=site.anchor)
    return TensorValue((size if isinstance(size, int) else None,), "int64", "cpu", library="numpy", anchor=site.anchor)


DRAWS: dict[str, Handler] = {
    **dict.fromkeys(("uniform", "normal", "laplace", "gumbel", "logistic", "lognormal", "beta", "gamma"), drawn(2)),
    **dict.fromkeys(("standard_normal", "random", "random_sample", "ranf", "sample"), drawn(0)),
    **dict.fromkeys(("exponential", "poisson", "rayleigh", "dirichlet"), drawn(1)),
    "randint": drawn(2, "int64"),
    "integers": drawn(2, "int64"),
    "binomial": drawn(2, "int64"),
    "choice": unknown("random"),
    "multinomial": unknown("random", "tensor"),
    "shuffle": nothing,
    "permutation": _permutation,
    "seed": nothing,
    "get_state": unknown("random"),
    "set_state": nothing,
    "rand": _rand,
    "randn": _rand,
    "bytes": unknown("random", "bytes"),
}
