"""What a row of an op table is, how a call is bound to it, and how its rule is asked."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal

from cgx.indexer.interpreter.values import MISSING, TensorValue, Unknown, Value
from cgx.indexer.ops.shapes import Undetermined

Kind = Literal["op", "query", "factory", "view"]


@dataclass(frozen=True, slots=True)
class Defaults:
    """What torch takes where nothing is named: torch.set_default_dtype, torch.set_default_device."""

    dtype: str = "float32"
    device: str | None = "cpu"
    legacy: str = "cpu"  # where torch.Tensor(2, 3) lies: the default tensor type alone says so


DEFAULTS = Defaults()


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a signature; ``default`` is MISSING where there is none."""

    name: str
    default: Value
    star: bool = False  # *name: takes the remaining positional arguments, or one list of them
    keyword: bool = False  # after a bare *: by name only


@cache
def parameters(signature: str) -> tuple[Parameter, ...]:
    """Read a signature text ("input, *size, dim=-1, *, dtype=None")."""
    tree = ast.parse(f"def f({signature}): ...").body[0]
    assert isinstance(tree, ast.FunctionDef)
    spec = tree.args
    plain = [*spec.posonlyargs, *spec.args]
    blank = [MISSING] * (len(plain) - len(spec.defaults))
    found = [Parameter(arg.arg, value) for arg, value in zip(plain, [*blank, *map(_default, spec.defaults)])]
    if spec.vararg:
        found.append(Parameter(spec.vararg.arg, (), star=True))
    for arg, node in zip(spec.kwonlyargs, spec.kw_defaults):
        found.append(Parameter(arg.arg, MISSING if node is None else _default(node), keyword=True))
    return tuple(found)


def _default(node: ast.expr) -> Value:
    return ast.literal_eval(node)


SYNONYMS: dict[str, tuple[str, ...]] = {
    "axis": ("dim", "dims"), "keepdims": ("keepdim",), "x": ("input",), "a": ("input",), "self": ("input",), "tensor": ("input", "other"), "A": ("input",),
    "x1": ("input",), "x2": ("other",), "mat2": ("other",), "vec": ("other", "mat2"), "mat": ("mat1",), "batch1": ("mat1",), "batch2": ("mat2",),
    "split_size": ("split_size_or_sections",), "split_sizes": ("split_size_or_sections",), "sections": ("indices_or_sections",),
    "indices": ("indices_or_sections", "input"), "tensor_indices_or_sections": ("indices_or_sections",), "axis0": ("dim0",), "axis1": ("dim1",),
    "values": ("other",), "obj": ("data",), "ndarray": ("input",), "element": ("elements",), "test_element": ("test_elements",),
    "the_template": ("other",), "weight": ("input",), "sizes": ("size",), "shape": ("size",), "size": ("shape",), "dims": ("dim",), "dim": ("dims",),
}  # fmt: skip
"""Other words that torch takes for a parameter (NumPy's, and those of single overloads)."""


def _renamed(kwargs: Mapping[str, Value], names: Sequence[str], taken: int) -> dict[str, Value]:
    """Keyword arguments by the signature's own words."""
    found = {name: value for name, value in kwargs.items() if name in names}
    for name, value in kwargs.items():
        if name in names:
            continue
        open_names = [word for word in SYNONYMS.get(name, ()) if word in names and word not in found and names.index(word) >= taken]
        found[open_names[0] if open_names else name] = value
    return found


def bind(signature: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> tuple[dict[str, Value], list[Value]]:
    """Arguments by parameter name, and the positional ones that are left over. Lenient: an overload may take more."""
    bound: dict[str, Value] = {}
    rest = list(args)
    if kwargs:
        kwargs = _renamed(kwargs, [parameter.name for parameter in parameters(signature)], len(args))
    for parameter in parameters(signature):
        if parameter.star:
            bound[parameter.name] = _star(rest) if rest else _listed(kwargs.get(parameter.name, ()))
            rest = []
        elif not parameter.keyword and rest:
            bound[parameter.name] = rest.pop(0)
        else:
            bound[parameter.name] = kwargs.get(parameter.name, parameter.default)
    for name, value in kwargs.items():
        bound.setdefault(name, value)
    return bound, rest


def _star(values: list[Value]) -> Value:
    return _listed(values[0]) if len(values) == 1 else tuple(values)


def _listed(value: Value) -> Value:
    """One list of sizes as a tuple; a single size as a tuple of it; something not known stays."""
    if isinstance(value, list | tuple):
        return tuple(value)
    return value if isinstance(value, Unknown) else (value,)


@dataclass(slots=True)
class Call:
    """One call of an op with its arguments by name."""

    row: OpRow
    bound: dict[str, Value]
    rest: list[Value]
    defaults: Defaults

    def get(self, name: str, default: Value = None) -> Value:
        """The argument, or ``default`` where it was not given and has no default of its own."""
        value = self.bound.get(name, MISSING)
        return default if value is MISSING else value

    def known(self, name: str, default: Value = None) -> Value:
        """The argument; Undetermined where it is not known."""
        value = self.get(name, default)
        if isinstance(value, Unknown):
            raise Undetermined(name)
        return value

    def tensor(self, name: str = "input") -> TensorValue:
        """The argument as a tensor: one without shape where it is not known. Undetermined where it is no tensor."""
        value = self.bound.get(name, MISSING)
        if isinstance(value, TensorValue):
            return value
        if isinstance(value, Unknown):
            return TensorValue()
        raise Undetermined(f"{name} is no tensor")

    def given(self, name: str) -> bool:
        """The argument was given and is not None."""
        return self.bound.get(name, MISSING) not in (MISSING, None)

    def tensors(self) -> list[TensorValue]:
        """All tensor arguments, in order, those in lists too."""
        found: list[TensorValue] = []
        for value in [*self.bound.values(), *self.rest]:
            items = value if isinstance(value, list | tuple) else (value,)
            found.extend(item for item in items if isinstance(item, TensorValue))
        return found


Rule = Callable[[Call], Value]


@dataclass(frozen=True, slots=True)
class Step:
    """One op inside a library function: its name, and the tensors that go in and come out."""

    name: str
    inputs: tuple[TensorValue, ...]
    outputs: tuple[TensorValue, ...]


StepsRule = Callable[[Call], "list[Step]"]
SyncRule = Callable[[Call], "str | None"]


@dataclass(frozen=True, slots=True)
class OpRow:
    """What is known of one op.

    ``kind``: an ``op`` launches work, a ``view`` only makes another tensor of the same memory, a ``factory`` makes a tensor
    without one, a ``query`` gives no tensor and is no entry of a record. ``sync``: the contract's kind where it makes the
    host wait on a device tensor (``sync_of`` where that hangs on the arguments). ``autocast``: "lower", "fp32" or "promote".
    ``inplace``: the op changes its first tensor. ``call`` then still gives a new value, whose shape, dtype and ``const`` the
    interpreter writes back into that tensor. ``example`` is the row's own test: "args -> result".
    """

    name: str
    signature: str
    rule: Rule
    kind: Kind = "op"
    example: str = ""
    sync: str | None = None
    sync_rule: SyncRule | None = None
    autocast: str | None = None
    inplace: bool = False
    has_inplace: bool = False
    opaque: bool = False
    note: str = ""
    steps_rule: StepsRule | None = None
    names: tuple[str, ...] = field(default=(), repr=False)

    def bind(self, args: Sequence[Value], kwargs: Mapping[str, Value], defaults: Defaults = DEFAULTS) -> Call:
        bound, rest = bind(self.signature, args, kwargs)
        return Call(self, bound, rest, defaults)

    def apply(self, args: Sequence[Value], kwargs: Mapping[str, Value], defaults: Defaults = DEFAULTS) -> Value:
        """The result; raises Undetermined where the rule cannot tell it."""
        return self.rule(self.bind(args, kwargs, defaults))

    def call(self, args: Sequence[Value], kwargs: Mapping[str, Value], defaults: Defaults = DEFAULTS) -> Value:
        """The result, or a tensor of unknown shape (queries: Unknown) where the rule cannot tell it. Never raises."""
        try:
            return self.apply(args, kwargs, defaults)
        except Exception:  # Undetermined, or odd input: that is the analysed program's fault, and not knowing is a value
            return self._fallback(args, kwargs, defaults)

    def steps(self, args: Sequence[Value], kwargs: Mapping[str, Value]) -> list[Step] | None:
        """The ops that a library function runs in turn; None where it counts as one op of its own name."""
        if self.steps_rule is None:
            return None
        try:
            return self.steps_rule(self.bind(args, kwargs))
        except Exception:
            return None

    def sync_of(self, args: Sequence[Value], kwargs: Mapping[str, Value]) -> str | None:
        """The kind of host sync this call makes if its tensors are on a device."""
        if self.sync_rule is None:
            return self.sync
        try:
            return self.sync_rule(self.bind(args, kwargs))
        except Exception:
            return self.sync

    def _fallback(self, args: Sequence[Value], kwargs: Mapping[str, Value], defaults: Defaults) -> Value:
        if self.kind == "query":
            return Unknown(self.name, "unmodelled")
        if self.kind == "factory" and (made := self._made(args, kwargs, defaults)) is not None:
            return made
        devices = {t.device for t in Call(self, dict(kwargs), list(args), DEFAULTS).tensors()}
        return TensorValue(device=devices.pop() if len(devices) == 1 else None)


    def _made(self, args: Sequence[Value], kwargs: Mapping[str, Value], defaults: Defaults) -> TensorValue | None:
        """A new tensor of unknown shape: where it lies is known even so. None where it may lie where its data does."""
        from cgx.indexer.ops.tensors import device_argument  # it imports this module

        try:
            call = self.bind(args, kwargs, defaults)
        except Exception:
            return None
        if not call.given("device") and any(name in call.bound for name in ("data", "input", "self", "obj", "ndarray")):
            return None
        device = device_argument(call, defaults.device)
        return TensorValue(device=device, pinned=call.get("pin_memory") is True if device == "cpu" else None)


HOMES: dict[str, str] = {
    "torch": "torch.", "Tensor": "torch.Tensor.", "F": "torch.nn.functional.", "operator": "operator.",
    "linalg": "torch.linalg.", "special": "torch.special.", "fft": "torch.fft.",
}  # fmt: skip


def row(name: str, homes: str, signature: str, rule: Rule, example: str = "", *, aliases: str = "", **fields: Any) -> OpRow:
    """One row. ``homes`` are words of HOMES that hold the op under ``name`` and under each of ``aliases``.

    A name or alias with a dot is a qualified name already.
    """
    names: list[str] = []
    for word in (name, *aliases.split()):
        names += [word] if "." in word else [HOMES[home] + word for home in homes.split()]
    return OpRow(name=names[0], signature=signature, rule=rule, example=example, names=tuple(names), **fields)


def renamed(base: OpRow, name: str, inplace: bool = False) -> OpRow:
    """The row under another of its names."""
    return replace(base, name=name, inplace=base.inplace or inplace)
