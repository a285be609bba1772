"""Abstract values.

Python's own immutable constants stand for themselves: int, float, complex, str, bytes, bool, None, Ellipsis, and tuples
of values. ``range`` and ``slice`` objects stand for themselves too. Everything else is a class below. Mutable values are
changed only through :class:`cgx.indexer.interpreter.trail.Trail`, so that a branch can be undone.

An unknown is a value with a reason, never an exception.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cgx.model.anchors import Anchor

if TYPE_CHECKING:
    from cgx.indexer.interpreter.scopes import Scope

Value = Any  # one of the classes here, or a Python constant as the module's docstring says


class Unknown:
    """A value that was not derived. ``name`` is the source text that ``--set`` takes; ``reason`` a row of REASONS."""

    __slots__ = ("anchor", "guard", "hint", "least", "name", "offset", "reason", "settle", "under")

    def __init__(
        self,
        name: str = "",
        reason: str = "unmodelled",
        anchor: Anchor | None = None,
        hint: str = "",
        settle: tuple[str, str] | None = None,
        guard: str = "",
    ) -> None:
        self.name, self.reason, self.anchor = name, reason, anchor
        self.hint = hint  # type where known: int, float, bool, str, tensor, module, callable
        self.settle = settle  # (option, name): what would settle it, if not `--set NAME`
        self.guard = guard
        self.offset: tuple[Any, Any] | None = None  # (another value, constant): this is their sum
        self.least: int | None = None  # a number that is at least so much; of a text, its length
        self.under: Unknown | None = None  # what decides whether it is met at all

    def __repr__(self) -> str:
        return f"Unknown({self.name!r}, {self.reason})"


@dataclass(eq=False, slots=True)
class Alternatives:
    """A few possible values: ``options`` are (condition text, value). More than MAX_OPTIONS become Unknown."""

    options: tuple[tuple[str, Value], ...]
    anchor: Anchor | None = None


@dataclass(eq=False, slots=True)
class ByRank:
    """A value that differs between the ranks of the job: one entry for each modelled rank, rank 0 first."""

    values: tuple[Value, ...]


@dataclass(eq=False, slots=True)
class ListValue:
    """A list. ``open`` means more elements may be there than are listed; MAYBE, that the listed ones may be missing too."""

    items: list[Value] = field(default_factory=list)
    open: bool = False
    cls: ClassValue | None = None  # a user's subclass of list
    keys: bool = False  # the keys of a dict: compared as a set is


@dataclass(eq=False, slots=True)
class SetValue:
    """A set or frozenset; items keep insertion order."""

    items: list[Value] = field(default_factory=list)
    open: bool = False
    frozen: bool = False
    index: tuple[int, set[Any]] | None = None  # (number of items, their keys): what ``add`` looks up


@dataclass(eq=False, slots=True)
class DictValue:
    """A dict from hashable Python constants (or values hashed by identity) to values. ``open``: may hold other keys."""

    items: dict[Any, Value] = field(default_factory=dict)
    open: bool = False
    kind: str = "dict"  # dict, OrderedDict, defaultdict, Counter, namespace
    default: Value = None  # the factory of a defaultdict
    origins: dict[Any, Anchor] = field(default_factory=dict)
    other: Value = None  # an object that stands under a key that is not known
    under: Value = None  # that key, where it was put there under one


@dataclass(eq=False, slots=True)
class Sequence:
    """An iterable whose elements are not known one by one: ``element`` stands for each of them.

    ``length`` is an int, a Dim or an Unknown. ``qname`` is the class where known (torch.utils.data.DataLoader).
    """

    element: Value
    length: Value
    qname: str = ""
    anchor: Anchor | None = None
    attrs: dict[str, Value] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class TensorValue:
    """A tensor (or a NumPy array, ``library`` = "numpy").

    ``shape`` is a tuple of int, Dim or None (size unknown), or None where not even the rank is known. ``dtype`` is
    torch's short name ("float32") or None. ``device`` is "cpu", "cuda", "meta" or None where unknown. ``const`` holds the
    elements (nested tuples of numbers) of a small host tensor where they are known.
    """

    shape: tuple[Any, ...] | None = None
    dtype: str | None = None
    device: str | None = None
    pinned: bool | None = None
    library: str = "torch"
    parameter: bool = False
    requires_grad: bool | None = None
    const: Any = None
    name: str = ""
    anchor: Anchor | None = None
    attrs: dict[str, Value] = field(default_factory=dict)
    cls: ClassValue | None = None  # a user's subclass of Tensor or Parameter


@dataclass(frozen=True, slots=True)
class External:
    """A name outside the source that is read: a class, function, module or constant, by its qualified name."""

    qname: str

    @property
    def tail(self) -> str:
        return self.qname.rpartition(".")[2]


@dataclass(frozen=True, slots=True)
class DType:
    """A torch dtype by its short name: DType("bfloat16")."""

    name: str


@dataclass(frozen=True, slots=True)
class Device:
    """torch.device. ``index`` is an int, None or a ByRank."""

    type: str | None
    index: Any = None


@dataclass(eq=False, slots=True, repr=False)
class ModuleObject:
    """A Python module of the source that is read."""

    name: str
    path: str
    scope: Scope
    package: bool = False
    state: str = "new"  # new, running, done

    def __repr__(self) -> str:
        return f"<module {self.name}>"


@dataclass(eq=False, slots=True, repr=False)
class FunctionValue:
    """A function or lambda of the source that is read."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    name: str
    qname: str  # module.Class.method, with <locals> left out
    symbol: str  # the anchor's symbol
    path: str
    module: ModuleObject
    closure: Scope
    defaults: list[Value] = field(default_factory=list)
    kw_defaults: dict[str, Value] = field(default_factory=dict)
    owner: ClassValue | None = None  # the class whose body holds it, for zero-argument super()
    generator: bool = False
    attrs: dict[str, Value] = field(default_factory=dict)
    annotations: dict[str, ast.expr] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<function {self.qname}>"


@dataclass(eq=False, slots=True, repr=False)
class ClassValue:
    """A class of the source that is read, or one that a table describes (``native``: qualified name of the row)."""

    name: str
    qname: str
    symbol: str
    path: str
    module: ModuleObject | None
    bases: list[Value]  # ClassValue, External or Unknown
    mro: list[Value] = field()  # explicit: a bare annotation would take `type.mro` for its default
    namespace: dict[str, Value]
    line: int = 0
    native: str = ""
    metaclass: Value = None
    origins: dict[str, Anchor] = field(default_factory=dict)
    info: dict[str, Any] = field(default_factory=dict)  # dataclass fields, enum members, ...

    def lookup(self, name: str) -> Value:
        """The attribute in MRO order, or MISSING. Externals in the MRO are skipped here."""
        for cls in self.mro:
            if isinstance(cls, ClassValue) and name in cls.namespace:
                return cls.namespace[name]
        return MISSING

    def derives(self, qname: str) -> bool:
        return any((cls.qname == qname) for cls in self.mro if isinstance(cls, ClassValue | External))

    @property
    def complete(self) -> bool:
        """No base is unknown or outside: what is not found is not there."""
        return not any(isinstance(cls, Unknown) or (isinstance(cls, External) and cls.qname != "object") for cls in self.mro)

    def __repr__(self) -> str:
        return f"<class {self.qname}>"


@dataclass(eq=False, slots=True, repr=False)
class Instance:
    """An object of a ClassValue. ``origins`` says where each attribute was last bound."""

    cls: ClassValue
    attrs: dict[str, Value] = field(default_factory=dict)
    constructed_at: Anchor | None = None
    origins: dict[str, Anchor] = field(default_factory=dict)
    open: bool = False  # attributes may exist that are not listed

    def __repr__(self) -> str:
        return f"<{self.cls.qname} object>"


@dataclass(eq=False, slots=True)
class Make:
    """One construction of a module. ``copies``: how many modules were copied from it."""

    copies: int = 0


@dataclass(eq=False, slots=True, repr=False)
class ModuleInstance(Instance):
    """An nn.Module. Children, parameters and buffers are also in ``attrs``-like lookup order of torch.

    ``children``: name -> ModuleInstance or None; an insertion-ordered dict as in ``_modules``.
    ``via`` lists the call sites outward from ``constructed_at``. ``loops`` are the loops round the constructor call.
    """

    children: dict[str, Value] = field(default_factory=dict)
    parameters: dict[str, Value] = field(default_factory=dict)
    buffers: dict[str, Value] = field(default_factory=dict)
    training: Any = True
    via: tuple[Anchor, ...] = ()
    loops: tuple[LoopContext, ...] = ()
    hooks: list[tuple[str, Value]] = field(default_factory=list)
    wrappers: list[tuple[str, Anchor]] = field(default_factory=list)  # (qualified name, where) round it
    device: str | None = "cpu"
    serial: int = 0  # order of construction
    passing: bool = False  # built while a forward ran, such as a slice of a Sequential: holds others' children and stands nowhere
    make: Make | None = None  # shared by copies of one construction that nobody wrote to since (cgx.indexer.interpreter.clones)


@dataclass(frozen=True, slots=True)
class LoopContext:
    """A loop or comprehension that was running: source text of its bound, count where known, place of the bound."""

    expr: str
    count: Any
    anchor: Anchor


@dataclass(eq=False, slots=True)
class BoundMethod:
    func: Value
    self: Value
    owner: ClassValue | None = None


@dataclass(eq=False, slots=True)
class Partial:
    func: Value
    args: tuple[Value, ...]
    kwargs: dict[str, Value]


@dataclass(eq=False, slots=True)
class Native:
    """A function of the interpreter that stands for one outside the source: ``call(interp, args, kwargs, site)``."""

    qname: str
    call: Callable[..., Value]
    attrs: dict[str, Value] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Property:
    getter: Value
    setter: Value = None
    cached: bool = False


@dataclass(eq=False, slots=True)
class StaticMethod:
    func: Value


@dataclass(eq=False, slots=True)
class ClassMethod:
    func: Value


@dataclass(eq=False, slots=True)
class Super:
    cls: ClassValue
    self: Value


@dataclass(eq=False, slots=True, repr=False)
class GeneratorValue:
    """A generator that has not been run: the consumer's body is run inside it, yield by yield."""

    func: FunctionValue
    scope: Scope
    anchor: Anchor | None = None
    context: Any = None
    started: bool = False

    def __repr__(self) -> str:
        return f"<generator {self.func.qname}>"


@dataclass(eq=False, slots=True)
class Opaque:
    """An object of a library that is modelled: ``qname`` its class, ``attrs`` what is known of it.

    Examples: an optimizer, a GradScaler, a DataLoader, an open file, a process group, a CUDA stream.
    """

    qname: str
    attrs: dict[str, Value] = field(default_factory=dict)
    anchor: Anchor | None = None
    name: str = ""


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"

    def __bool__(self) -> bool:
        return False


MISSING = _Missing()
CONTAINERS = (tuple, ListValue, DictValue, SetValue)
MAYBE: Any = 2  # a value of ``open``
MAX_OPTIONS = 4
HELD = "__cgx_data__"  # attribute of an instance of a subclass of dict or list: what it holds
DELEGATE = "__cgx_delegate__"  # attribute of an instance: the modelled object of an outside class that it inherits from


def is_constant(value: Value) -> bool:
    """A Python constant all the way down."""
    if isinstance(value, tuple):
        return all(is_constant(item) for item in value)
    return value is None or isinstance(value, (bool, int, float, complex, str, bytes, type(Ellipsis), range, DType))


def walk_values(value: Value) -> Iterator[Value]:
    """The value and what its containers hold (lists, tuples, dicts, sets), not attributes of objects."""
    stack, seen = [value], set()
    while stack:
        item = stack.pop()
        yield item
        if id(item) in seen:
            continue
        if isinstance(item, tuple):
            stack.extend(reversed(item))
        elif isinstance(item, ListValue | SetValue):
            seen.add(id(item))
            stack.extend(reversed(item.items))
        elif isinstance(item, DictValue):
            seen.add(id(item))
            stack.extend(reversed(list(item.items.values())))


def same_name(one: Value, other: Value) -> bool:
    """Whether two class values name one class: a file read twice, or a class of torch and its table row."""
    if not isinstance(one, External | ClassValue) or not isinstance(other, External | ClassValue) or one.qname != other.qname:
        return False
    return not any(isinstance(cls, ClassValue) and "local" in cls.info for cls in (one, other))


def handed_on(one: str, other: str) -> bool:
    """Whether these are one class of a package, by the name under which it is handed on at the top and by where it is defined."""
    (top, *inner), (top_too, *inner_too) = one.split("."), other.split(".")
    return top == top_too and inner[-1:] == inner_too[-1:] and 1 in (len(inner), len(inner_too))
