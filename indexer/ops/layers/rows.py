"""What a row of a layer table is: constructor, attributes, parameters, buffers and the op that forward runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from cgx.indexer.interpreter.values import MISSING, TensorValue, Unknown, Value
from cgx.indexer.ops.registry import find
from cgx.indexer.ops.rows import DEFAULTS, Defaults, Step, bind, parameters
from cgx.indexer.ops.shapes import Shape
from cgx.indexer.ops.tensors import size, spatial

Bound = Mapping[str, Value]
Shapes = dict[str, Shape]  # name -> shape; None: registered, but absent (bias=False)
Buffers = dict[str, "tuple[Shape, str] | None"]  # name -> (shape, dtype); None: registered as None
Rule = Callable[["LayerCall"], Value]

MODULE = "torch.nn.Module"
NOT_STORED = ("device", "dtype")


@dataclass(frozen=True, slots=True)
class Forward:
    """A method that runs an op. ``arguments`` are the op's, by the names of the method's parameters, of the layer's
    parameters and buffers, or of its attributes: "input, weight, bias, stride=stride". ``op`` "" gives the input back.
    """

    signature: str = "input"
    op: str = ""
    arguments: str = "input"
    rule: Rule | None = None  # instead of the op's own rule
    ops: Callable[[LayerCall], tuple[str, ...]] | None = None  # where more than ``op`` runs, in order
    steps: Callable[[LayerCall], list[Step]] | None = None


@dataclass(slots=True)
class LayerCall:
    """One call of a layer's method."""

    row: LayerRow
    attrs: Bound
    params: Bound
    bound: dict[str, Value]
    defaults: Defaults = DEFAULTS

    def value(self, name: str, default: Value = None) -> Value:
        """The argument, parameter, buffer or attribute of that name."""
        for source in (self.bound, self.params, self.attrs):
            if name in source and source[name] is not MISSING:
                return source[name]
        return default

    def tensor(self, name: str = "input") -> TensorValue:
        value = self.value(name)
        return value if isinstance(value, TensorValue) else TensorValue()


@dataclass(frozen=True, slots=True)
class LayerRow:
    """What is known of one ``torch.nn`` class.

    ``bases`` are the qualified names of its base classes, nearest first. ``forward_op`` is the op that its forward runs
    ("" for none); ``call`` the shape rule of forward, given the attributes and parameters that the instance has now.
    """

    name: str
    home: str
    signature: str
    example: str = ""
    bases: tuple[str, ...] = (MODULE,)
    shapes: Callable[[Bound], Shapes] | None = None
    kept: Callable[[Bound], Buffers] | None = None
    tuples: Mapping[str, int] = field(default_factory=dict)
    stored: Callable[[Bound], dict[str, Value]] | None = None
    dropped: tuple[str, ...] = ()
    methods: Mapping[str, Forward] = field(default_factory=dict)
    idle: tuple[str, ...] = ("reset_parameters",)  # methods that do nothing a record tells

    @property
    def forward_op(self) -> str:
        return self.methods["forward"].op if "forward" in self.methods else ""

    @property
    def names(self) -> tuple[str, ...]:
        """All qualified names: torch.nn.X, torch.nn.modules.X, torch.nn.modules.home.X."""
        tail = self.name.rpartition(".")[2]
        own = (self.name,)
        if not self.name.startswith("torch.nn."):
            return own
        return tuple(dict.fromkeys((*own, f"torch.nn.{tail}", f"torch.nn.modules.{tail}", f"torch.nn.modules.{self.home}.{tail}")))

    def bind(self, args: Sequence[Value], kwargs: Mapping[str, Value]) -> dict[str, Value]:
        """The constructor's arguments by name, defaults filled in; one that is required but not given is Unknown."""
        bound, _ = bind(self.signature, args, kwargs)
        return {name: Unknown(name, "parameter") if value is MISSING else value for name, value in bound.items()}

    def parameters(self, bound: Bound) -> Shapes:
        """Shapes of the parameters by name; None where it is registered as absent."""
        return self.shapes(self._complete(bound)) if self.shapes else {}

    def buffers(self, bound: Bound) -> dict[str, TensorValue | None]:
        """The buffers by name, fresh and on the host; None where it is registered as None."""
        kept = self.kept(self._complete(bound)) if self.kept else {}
        return {name: None if spec is None else TensorValue(spec[0], spec[1], "cpu", name=name) for name, spec in kept.items()}

    def _complete(self, bound: Bound) -> Bound:
        """The constructor's arguments, with Unknown for those that are required but not there."""
        return {**{item.name: Unknown(item.name, "parameter") for item in parameters(self.signature) if item.name not in bound}, **bound}

    def attributes(self, bound: Bound) -> dict[str, Value]:
        """Plain attributes that the constructor sets."""
        bound = self._complete(bound)
        taken = {*self.parameters(bound), *self.buffers(bound), *NOT_STORED, *self.dropped}
        found = {name: value for name, value in bound.items() if name not in taken and name not in ("args", "kwargs")}
        for name, count in self.tuples.items():
            if name in found:
                found[name] = as_tuple(found[name], count)
        if self.stored:
            found.update(self.stored(bound))
        return found

    def call(
        self,
        attrs: Bound,
        params: Bound,
        args: Sequence[Value],
        kwargs: Mapping[str, Value],
        method: str = "forward",
        defaults: Defaults = DEFAULTS,
    ) -> Value:
        """What ``method`` gives. ``params`` holds parameters and buffers as tensors. Never raises."""
        spec = self.methods.get(method)
        if spec is None:
            return Unknown(f"{self.name}.{method}", "unmodelled")
        call = self._bind_call(spec, attrs, params, args, kwargs, defaults)
        try:
            return _run(spec, call)
        except Exception:  # as for ops: not knowing is a value
            return TensorValue()

    def ops(
        self, attrs: Bound, params: Bound, args: Sequence[Value], kwargs: Mapping[str, Value], method: str = "forward"
    ) -> tuple[str, ...]:
        """Names of all ops that the call runs, in order. ``attrs["training"]`` counts where it is there."""
        spec = self.methods.get(method)
        if spec is None or (not spec.op and spec.ops is None):
            return ()
        if spec.ops is None:
            return (spec.op,)
        try:
            return spec.ops(self._bind_call(spec, attrs, params, args, kwargs, DEFAULTS))
        except Exception:
            return (spec.op,)

    def steps(self, attrs: Bound, params: Bound, args: Sequence[Value], kwargs: Mapping[str, Value], method: str = "forward") -> list[Step] | None:
        """The ops of a library's layer with their tensors; None where ``ops`` says it all."""
        spec = self.methods.get(method)
        if spec is None or spec.steps is None:
            return None
        try:
            return spec.steps(self._bind_call(spec, attrs, params, args, kwargs, DEFAULTS))
        except Exception:
            return None

    def _bind_call(
        self, spec: Forward, attrs: Bound, params: Bound, args: Sequence[Value], kwargs: Mapping[str, Value], defaults: Defaults
    ) -> LayerCall:
        bound, _ = bind(spec.signature, args, kwargs)
        return LayerCall(self, attrs, params, bound, defaults)


@cache
def _arguments(text: str) -> tuple[tuple[str | None, str], ...]:
    """ "input, weight, dim=dim" as (keyword or None, source name)."""
    pairs = []
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        key, equals, source = part.partition("=")
        pairs.append((key.strip(), source.strip()) if equals else (None, key.strip()))
    return tuple(pairs)


def _run(spec: Forward, call: LayerCall) -> Value:
    if spec.rule is not None:
        return spec.rule(call)
    if not spec.op:
        return call.value("input")
    entry = find(spec.op)
    if entry is None:
        return TensorValue()
    pairs = _arguments(spec.arguments)
    args = [call.value(source) for key, source in pairs if key is None]
    kwargs = {key: call.value(source) for key, source in pairs if key is not None}
    return entry.call(args, kwargs, call.defaults)


def as_tuple(value: Value, count: int) -> Value:
    """A size as torch keeps it: one number becomes a tuple of ``count``; text and what is not known stay."""
    if isinstance(value, list | tuple):
        return tuple(value)
    return value if isinstance(value, str | Unknown) or value is None else (value,) * count


def sizes_of(value: Value, count: int) -> tuple[Any, ...]:
    """``count`` sizes; each None where not known."""
    try:
        return spatial(value, count)
    except Exception:
        return (None,) * count


def optional(flag: Value, shape: Shape) -> Shape:
    """The shape of a parameter that a flag turns off. A flag that is not known leaves it there, of unknown shape."""
    if flag is False or flag is None:
        return None
    return shape


def extent(value: Value) -> Any:
    """A size, None where not known."""
    return size(value)


def layer(name: str, home: str, signature: str, example: str = "", *, op: str = "", arguments: str = "input", takes: str = "input",
          bases: str = "", **fields: Any) -> LayerRow:  # fmt: skip
    """One row of ``torch.nn``. ``op`` "F.relu" stands for torch.nn.functional.relu; ``bases`` are names beside ``home``."""
    qname = name if "." in name else f"torch.nn.{name}"
    methods = dict(fields.pop("methods", {}))
    rule, ops, steps = fields.pop("rule", None), fields.pop("ops", None), fields.pop("steps", None)
    methods.setdefault("forward", Forward(takes, op.replace("F.", "torch.nn.functional."), arguments, rule, ops, steps))
    above = tuple(base if "." in base else f"torch.nn.modules.{home}.{base}" for base in bases.split())
    return LayerRow(qname, home, signature, example, (*above, MODULE), methods=methods, **fields)
