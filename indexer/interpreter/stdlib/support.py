"""What the models of the standard library share: calls on constants, ranks and alternatives, values that are not known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cgx.indexer.interpreter.values import (
    MISSING,
    Alternatives,
    ByRank,
    DictValue,
    ListValue,
    Opaque,
    SetValue,
    TensorValue,
    Unknown,
    Value,
)

Args = list[Value]
Kwargs = dict[str, Value]
Handler = Callable[[Any, Any, Args, Kwargs], Value]
Maker = Callable[[Any], Value]  # a value that belongs to one run, made when its name is first read

MAX_ITEMS = 100_000  # elements of a result that is built here
PATH_CLASS = "pathlib.Path"
PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), range)


class NotPlain(Exception):
    """A value holds something that is not a Python constant. ``value`` is the first such part."""

    def __init__(self, value: Value) -> None:
        super().__init__(type(value).__name__)
        self.value = value


def to_python(value: Value) -> Any:
    """The Python object that an abstract value stands for; raises :class:`NotPlain`."""
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, tuple):
        return tuple(to_python(item) for item in value)
    if isinstance(value, ListValue) and not value.open:
        return [to_python(item) for item in value.items]
    if isinstance(value, DictValue) and not value.open:
        return {key: to_python(item) for key, item in value.items.items()}
    if isinstance(value, SetValue) and not value.open:
        return {to_python(item) for item in value.items}
    if isinstance(value, Opaque) and value.qname == PATH_CLASS and isinstance(value.attrs.get("__text__"), str):
        return value.attrs["__text__"]
    if isinstance(value, TensorValue) and value.const is not None and isinstance(value.const, int | float | bool):
        return value.const
    raise NotPlain(value)


def from_python(value: Any) -> Value:
    """Lists, dicts and sets as abstract values; abstract values and constants stay."""
    if isinstance(value, list):
        return ListValue([from_python(item) for item in value])
    if isinstance(value, dict):
        return DictValue({key: from_python(item) for key, item in value.items()})
    if isinstance(value, set | frozenset):
        return SetValue([from_python(item) for item in sorted(value, key=repr)], frozen=isinstance(value, frozenset))
    if isinstance(value, tuple):
        return tuple(from_python(item) for item in value)
    return value


def lift(function: Callable[..., Value], values: Sequence[Value]) -> Value:
    """``function(*values)`` for each rank, or for each alternative, where one of the values has several."""
    for place, value in enumerate(values):
        if isinstance(value, ByRank):
            count = len(value.values)
            results = [
                lift(
                    function,
                    [v.values[rank] if isinstance(v, ByRank) and len(v.values) == count else v for v in values],
                )
                for rank in range(count)
            ]
            return by_rank(results)
        if isinstance(value, Alternatives):
            options = tuple(
                (text, lift(function, [*values[:place], option, *values[place + 1 :]]))
                for text, option in value.options
            )
            first = options[0][1]
            if all(_equal(first, option) for _text, option in options):
                return first
            return Alternatives(options, value.anchor)
    return function(*values)


def by_rank(results: Sequence[Value]) -> Value:
    """One value where all ranks agree."""
    return results[0] if all(_equal(results[0], other) for other in results) else ByRank(tuple(results))


def _equal(one: Value, other: Value) -> bool:
    if one is other:
        return True
    try:
        left, right = to_python(one), to_python(other)
    except NotPlain:
        return False
    return type(left) is type(right) and bool(left == right)


def several(values: Sequence[Value]) -> bool:
    return any(isinstance(value, ByRank | Alternatives) for value in values)


def derived(site: Any, values: Sequence[Value], hint: str = "", reason: str = "unsupported") -> Unknown:
    """The unknown that follows from the first unknown among ``values``; what settles it is kept."""
    for value in values:
        if isinstance(value, Unknown):
            settle = value.settle or (("--set", value.name) if value.name else None)
            return Unknown(site.text, value.reason, value.anchor or site.anchor, hint, settle)
    return Unknown(site.text, reason, site.anchor, hint)


def unknown(reason: str, hint: str = "", least: int | None = None) -> Handler:
    """A handler for a call whose result only the run knows. ``least``: what it is at least."""

    def call(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        made = Unknown(site.text, reason, site.anchor, hint)
        made.least = least
        return made

    return call


def pure(function: Callable[..., Any], hint: str = "", raises: tuple[type[Exception], ...] = (Exception,)) -> Handler:
    """A handler that calls Python's own ``function`` where every argument is a constant."""

    def call(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        names = list(kwargs)

        def once(*values: Value) -> Value:
            try:
                plain = [to_python(value) for value in values]
            except NotPlain as error:
                return derived(site, [error.value], hint)
            try:
                result = function(*plain[: len(args)], **dict(zip(names, plain[len(args) :])))
            except raises as error:
                return interp.raise_(type(error).__name__, str(error), site)
            return from_python(result)

        return lift(once, [*args, *kwargs.values()])

    return call


def constant(value: Value) -> Handler:
    """A handler whose result does not depend on the call."""
    return lambda interp, site, args, kwargs: value


def nothing(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """A call without an effect that matters."""
    return None


def first(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """A call that gives its first argument back (a method: its receiver)."""
    return args[0] if args else None


def holder(qname: str) -> Handler:
    """A constructor of an object that only remembers what it is given by name."""
    return lambda interp, site, args, kwargs: Opaque(qname, dict(kwargs), site.anchor)


def bind(names: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> dict[str, Value]:
    """Arguments by name; ``names`` are the positional parameters in order."""
    bound = dict(zip(names.split(), args))
    bound.update(kwargs)
    return bound


def text_of(value: Value) -> str | None:
    """A string, or the text of a path, where it is known."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, Opaque) and isinstance(value.attrs.get("__text__"), str):
        return str(value.attrs["__text__"])
    return None


def items_of(interp: Any, value: Value, site: Any) -> list[Value] | None:
    """The elements of an iterable where each is known, else None."""
    if isinstance(value, tuple | range | str):
        return list(value)
    if isinstance(value, ListValue | SetValue) and not value.open:
        return list(value.items)
    if isinstance(value, DictValue) and not value.open:
        return list(value.items)
    if isinstance(value, Unknown):
        return None
    found = interp.iterate(value, site)
    return found if isinstance(found, list) else None


def known(value: Value) -> bool:
    """Nothing in the value is unknown at its top."""
    return not isinstance(value, Unknown | Alternatives | ByRank) and value is not MISSING
