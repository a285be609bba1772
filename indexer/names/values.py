"""What a name may stand for, as the linker sees it.

A set of values is a tuple without doubles, in order of finding: the same input gives the same tuple. ``ANY`` in it means
that something else may be there too that was not derived.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from cgx.indexer.names.facts import BINDINGS, END_LINE, KIND, LINE, MORE, NAME, PARENT

if TYPE_CHECKING:
    from cgx.indexer.names.modules import Module

MAX_VALUES = 12  # more than these are cut and ANY is added

Values = tuple[Any, ...]


class Any_:
    """Not known."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ANY"


class None_:
    """Python's None."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "NONE"


ANY = Any_()
NONE = None_()


class Scope:
    """A scope of a file: where names are looked up."""

    __slots__ = (
        "bindings",
        "end_line",
        "index",
        "kind",
        "line",
        "memo",
        "module",
        "more",
        "name",
        "owner",
        "parent",
        "symbol",
    )

    def __init__(self, module: Module, index: int, fact: tuple[Any, ...], parent: Scope | None) -> None:
        self.module, self.index, self.parent = module, index, parent
        self.kind: str = fact[KIND]
        self.name: str = fact[NAME]
        self.line: int = fact[LINE]
        self.end_line: int = fact[END_LINE]
        self.bindings: dict[str, list[Any]] = fact[BINDINGS]
        self.more: dict[str, Any] = fact[MORE]
        self.memo: dict[str, Values] = {}
        self.owner: Class | Function | None = None  # what this scope is the body of
        assert parent is None or fact[PARENT] == parent.index
        if parent is None:
            self.symbol = "<module>"
        elif self.kind in ("comp", "lambda"):
            self.symbol = parent.symbol
        else:
            self.symbol = self.name if parent.symbol == "<module>" else f"{parent.symbol}.{self.name}"

    @property
    def holder(self) -> Scope:
        """The function, class or module whose code this is (comprehensions and lambdas belong to what is round them)."""
        scope = self
        while scope.kind in ("comp", "lambda") and scope.parent is not None:
            scope = scope.parent
        return scope


class Class:
    """A class of the source or of the standard library's stubs."""

    __slots__ = ("declared", "instance", "members", "mro", "qname", "scope")

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.qname = f"{scope.module.published}.{scope.symbol}" if scope.module.published else scope.symbol
        self.mro: tuple[Any, ...] | None = None
        self.members: dict[str, Values] = {}
        self.instance = Instance(self)
        self.declared = self.instance if scope.module.standard else Instance(self, True)

    def __repr__(self) -> str:
        return f"<class {self.qname}>"


class Function:
    """A function, method or lambda."""

    __slots__ = ("cls", "flavour", "qname", "result", "scope")

    def __init__(self, scope: Scope, cls: Class | None) -> None:
        self.scope = scope
        self.cls = cls  # the class whose body holds it
        self.qname = f"{scope.module.published}.{scope.symbol}" if scope.module.published else scope.symbol
        self.result: Values | None = None
        self.flavour = ""  # "", property, static, class, context, overload

    def __repr__(self) -> str:
        return f"<function {self.qname}>"


class Instance:
    """An object of a class. ``declared``: only a declaration says so, hence it may be of a class that inherits from it."""

    __slots__ = ("cls", "declared")

    def __init__(self, cls: Class, declared: bool = False) -> None:
        self.cls, self.declared = cls, declared

    def __repr__(self) -> str:
        return f"<{self.cls.qname} object>"


class Bound:
    """A method on its receiver."""

    __slots__ = ("func", "receiver")

    def __init__(self, func: Any, receiver: Any) -> None:
        self.func, self.receiver = func, receiver

    def __eq__(self, other: object) -> bool:
        return type(other) is Bound and self.func is other.func and self.receiver == other.receiver

    def __hash__(self) -> int:
        return hash((Bound, id(self.func)))

    def __repr__(self) -> str:
        return f"<bound {self.func!r}>"


class External:
    """A name outside: module, class, function; which of them a table may say. One object for each name."""

    __slots__ = ("guess", "qname")

    def __init__(self, qname: str, guess: bool = False) -> None:
        self.qname, self.guess = qname, guess

    def __repr__(self) -> str:
        return f"<{self.qname}>"


class ExternalInstance:
    """An object of an external class. ``guess``: only the spelling of the name says that it is a class."""

    __slots__ = ("guess", "qname")

    def __init__(self, qname: str, guess: bool = False) -> None:
        self.qname, self.guess = qname, guess

    def __repr__(self) -> str:
        return f"<{self.qname} object>"


class Result:
    """What an external callable gives, of which only the text of where it came from is known: ``numpy.load()``."""

    __slots__ = ("prefix",)

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix

    def __eq__(self, other: object) -> bool:
        return type(other) is Result and self.prefix == other.prefix

    def __hash__(self) -> int:
        return hash(self.prefix)

    def __repr__(self) -> str:
        return f"<from {self.prefix}>"


class ModuleRef:
    """A module of the source or the standard library."""

    __slots__ = ("module",)

    def __init__(self, module: Module) -> None:
        self.module = module

    def __repr__(self) -> str:
        return f"<module {self.module.name}>"


class Sequence:
    """A list, set, iterator or other collection: what its elements may be, whatever the position."""

    __slots__ = ("items", "kind")

    def __init__(self, kind: str, items: Values) -> None:
        self.kind, self.items = kind, items

    def __eq__(self, other: object) -> bool:
        return type(other) is Sequence and self.kind == other.kind and self.items == other.items

    def __hash__(self) -> int:
        return hash((self.kind, len(self.items)))

    def __repr__(self) -> str:
        return f"{self.kind}[{self.items}]"


class Row:
    """A tuple whose items are known one by one."""

    __slots__ = ("items",)

    def __init__(self, items: tuple[Values, ...]) -> None:
        self.items = items

    def __eq__(self, other: object) -> bool:
        return type(other) is Row and self.items == other.items

    def __hash__(self) -> int:
        return hash((Row, len(self.items)))

    def __repr__(self) -> str:
        return f"tuple{self.items}"


class Mapping:
    """A dict: values by constant key where known, and what any value and any key may be."""

    __slots__ = ("any_key", "any_value", "entries", "kind")

    def __init__(
        self, entries: tuple[tuple[str, Values], ...], any_key: Values, any_value: Values, kind: str = "dict"
    ) -> None:
        self.entries, self.any_key, self.any_value, self.kind = entries, any_key, any_value, kind

    def get(self, key: str) -> Values:
        return next((values for name, values in self.entries if name == key), ())

    @property
    def values(self) -> Values:
        return union([*(values for _, values in self.entries), self.any_value])

    def __eq__(self, other: object) -> bool:
        return (
            type(other) is Mapping
            and self.kind == other.kind
            and self.entries == other.entries
            and self.any_value == other.any_value
            and self.any_key == other.any_key
        )

    def __hash__(self) -> int:
        return hash((Mapping, len(self.entries), len(self.any_value)))

    def __repr__(self) -> str:
        return f"dict[{self.values}]"


class Partial:
    """``functools.partial``."""

    __slots__ = ("funcs",)

    def __init__(self, funcs: Values) -> None:
        self.funcs = funcs

    def __eq__(self, other: object) -> bool:
        return type(other) is Partial and self.funcs == other.funcs

    def __hash__(self) -> int:
        return hash((Partial, len(self.funcs)))


class Super:
    """``super()`` in a method: lookup goes on after ``cls``, bound to ``receiver``."""

    __slots__ = ("cls", "receiver")

    def __init__(self, cls: Class, receiver: Any) -> None:
        self.cls, self.receiver = cls, receiver

    def __eq__(self, other: object) -> bool:
        return type(other) is Super and self.cls is other.cls

    def __hash__(self) -> int:
        return hash((Super, id(self.cls)))


class TypeOf:
    """A class as a value whose instances are known, but not the class itself: ``Type[X]`` of an external, ``type(x)``."""

    __slots__ = ("instances",)

    def __init__(self, instances: Values) -> None:
        self.instances = instances

    def __eq__(self, other: object) -> bool:
        return type(other) is TypeOf and self.instances == other.instances

    def __hash__(self) -> int:
        return hash((TypeOf, len(self.instances)))


class TypeVariable:
    """A ``TypeVar``. ``bound``: instances of its bound or constraints."""

    __slots__ = ("bound",)

    def __init__(self, bound: Values) -> None:
        self.bound = bound

    def __eq__(self, other: object) -> bool:
        return type(other) is TypeVariable and self.bound == other.bound

    def __hash__(self) -> int:
        return hash((TypeVariable, len(self.bound)))


class Callback:
    """A callable of which only the type of the result is known: ``Callable[..., X]``."""

    __slots__ = ("result",)

    def __init__(self, result: Values) -> None:
        self.result = result

    def __eq__(self, other: object) -> bool:
        return type(other) is Callback and self.result == other.result

    def __hash__(self) -> int:
        return hash((Callback, len(self.result)))


def union(parts: Iterable[Values]) -> Values:
    """All values, without doubles, in order."""
    filled = [part for part in parts if part]
    if not filled:
        return ()
    if len(filled) == 1:
        return filled[0]
    found = list(filled[0])
    for part in filled[1:]:
        for value in part:
            if value not in found:
                found.append(value)
    if len(found) > MAX_VALUES:
        found = [value for value in found if value is not ANY][:MAX_VALUES]
        found.append(ANY)
    return tuple(found)
