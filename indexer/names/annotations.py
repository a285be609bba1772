"""Annotations to instances: what a value that is declared ``Optional[list[Block]]`` may be."""

from __future__ import annotations

from typing import Any

from cgx.indexer.names.attributes import Attributes
from cgx.indexer.names.base import UNKNOWN_VALUES
from cgx.indexer.names.facts import Expr
from cgx.indexer.names.values import (
    NONE,
    Callback,
    Class,
    External,
    Function,
    Instance,
    Mapping,
    ModuleRef,
    Result,
    Row,
    Scope,
    Sequence,
    TypeOf,
    TypeVariable,
    Values,
    union,
)

SEQUENCES = {
    "list": "list", "List": "list", "set": "set", "Set": "set", "frozenset": "set", "FrozenSet": "set", "deque": "deque",
    "Deque": "deque", "Sequence": "list", "MutableSequence": "list", "Collection": "list", "AbstractSet": "set",
    "Iterable": "gen", "Iterator": "gen", "AsyncIterator": "gen", "AsyncIterable": "gen", "Generator": "gen",
    "AsyncGenerator": "gen", "KeysView": "gen", "ValuesView": "gen", "Container": "list", "ModuleList": "torch.nn.ModuleList",
    "filter": "gen", "map": "gen", "enumerate": "gen", "zip": "gen", "reversed": "gen", "MutableSet": "set",
}  # fmt: skip
MAPPINGS = frozenset(
    {"dict", "Dict", "Mapping", "MutableMapping", "OrderedDict", "defaultdict", "DefaultDict", "Counter", "ChainMap"}
)
TRANSPARENT = frozenset(
    {
        "Optional",
        "Final",
        "ClassVar",
        "Annotated",
        "Required",
        "NotRequired",
        "ReadOnly",
        "Awaitable",
        "Coroutine",
        "InitVar",
    }
)
_BUILTIN_TYPES = frozenset({"str", "int", "float", "bool", "bytes", "complex", "object"})


class Annotations(Attributes):
    """Adds the reading of annotations."""

    def annotated(self, scope: Scope, annotation: Expr) -> Values:
        tag = annotation[0]
        if tag == "n":
            return self._named(scope, annotation)
        if tag == "i":
            return self._generic(scope, annotation)
        if tag == "o":
            return union([self.annotated(scope, item) for item in annotation[1]])
        if tag == "k":
            return (NONE,) if annotation[1] == "None" else UNKNOWN_VALUES
        if tag == "a":
            return self._instances(self.ev(scope, annotation), annotation[2])
        if tag == "@":
            return self.annotated(scope.module.scopes[annotation[1]], annotation[2])
        return UNKNOWN_VALUES

    def given(self, annotation: Expr, receiver: Any, qname: str) -> Values:
        """An annotation of the torch table: names are full, ``Self`` is the receiver."""
        tag = annotation[0]
        if tag == "a":
            text = _dotted(annotation)
            return (self.external_instance(text),) if text else UNKNOWN_VALUES
        if tag == "n":
            if annotation[1] == "Self":
                return (receiver,) if receiver is not None else UNKNOWN_VALUES
            if annotation[1] in _BUILTIN_TYPES or annotation[1] in ("list", "dict", "tuple", "set"):
                return self._plain_container(annotation[1]) or self.builtin(annotation[1])
            return UNKNOWN_VALUES
        if tag == "k":
            return (NONE,)
        if tag == "o":
            return union([self.given(item, receiver, qname) for item in annotation[1]])
        if tag == "i":
            items = annotation[2][1] if annotation[2][0] == "T" else (annotation[2],)
            return self._shaped(_last(annotation[1]), [self.given(item, receiver, qname) for item in items], items)
        return UNKNOWN_VALUES

    def _named(self, scope: Scope, annotation: Expr) -> Values:
        name = annotation[1]
        if name == "Self":
            here: Scope | None = scope
            while here is not None and here.kind != "class":
                here = here.parent
            return (here.owner.declared,) if here is not None and isinstance(here.owner, Class) else UNKNOWN_VALUES
        found = self.lookup(scope, name)
        return UNKNOWN_VALUES if found is None else self._instances(found, name)

    def _instances(self, values: Values, name: str) -> Values:
        """Instances of what the name of an annotation stands for."""
        parts: list[Values] = []
        for value in values:
            kind = type(value)
            if kind is Class:
                plain = self._plain_container(value.scope.name) if value.scope.module.standard else ()
                parts.append(plain or self._standard(value) or (value.declared,))
            elif kind is External:
                parts.append((self.external_instance(value.qname, not self.library.knows(value.qname)),))
            elif kind is TypeOf or kind is Callback or kind is Mapping or kind is Sequence or kind is Row:
                parts.append((value,) if kind is not TypeOf else value.instances)
            elif kind is TypeVariable:
                parts.append(value.bound)
            elif kind is Result:
                parts.append((self.external_instance(value.prefix, True),))
            elif kind is Instance and not value.cls.scope.module.standard:
                parts.append((value,))  # a type alias that was evaluated as an annotation already
            elif value is NONE:
                parts.append((NONE,))
            elif kind is ModuleRef or kind is Function:
                parts.append(UNKNOWN_VALUES)
            else:
                parts.append(UNKNOWN_VALUES)
        return union(parts) or UNKNOWN_VALUES

    def _plain_container(self, name: str) -> Values:
        if name in SEQUENCES:
            return (Sequence(SEQUENCES[name], UNKNOWN_VALUES),)
        if name in MAPPINGS:
            return (Mapping((), UNKNOWN_VALUES, UNKNOWN_VALUES),)
        if name in ("tuple", "Tuple"):
            return (Sequence("tuple", UNKNOWN_VALUES),)
        return ()

    def _standard(self, cls: Class) -> Values:
        """Stub classes that say less than they seem to."""
        if not cls.scope.module.standard:
            return ()
        if cls.qname in (
            "typing.Any",
            "typing_extensions.Any",
            "typing.Callable",
            "builtins.object",
            "typing.Hashable",
            "types.ModuleType",
        ):
            return UNKNOWN_VALUES
        if cls.qname == "builtins.type":
            return (TypeOf(UNKNOWN_VALUES),)
        if cls.qname in ("typing.LiteralString", "typing.AnyStr", "typing.Text"):
            return self.builtin("str")
        return ()

    def _generic(self, scope: Scope, annotation: Expr) -> Values:
        head, inner = annotation[1], annotation[2]
        name = _last(head)
        items = inner[1] if inner[0] == "T" else (inner,)
        if name in TRANSPARENT:
            # Coroutine[send, yield, result] gives its last part; the others wrap their first.
            part = items[-1] if name == "Coroutine" else items[0]
            values = self.annotated(scope, part)
            return union([values, (NONE,)]) if name == "Optional" else values
        if name == "Union":
            return union([self.annotated(scope, item) for item in items])
        if name in ("Type", "type"):
            return (TypeOf(self.annotated(scope, items[0])),)
        if name == "Callable":
            return (Callback(self.annotated(scope, items[-1]) if len(items) > 1 else UNKNOWN_VALUES),)
        if name == "Literal":
            return union([self.ev(scope, item) for item in items])
        if (
            name in SEQUENCES
            or name in MAPPINGS
            or name in ("tuple", "Tuple", "ContextManager", "AbstractContextManager")
        ):
            found = self.ev(scope, head)
            if not any(type(value) is Class and not value.scope.module.standard for value in found):
                return self._shaped(name, [self.annotated(scope, item) for item in items], items)
        return self._instances(self.ev(scope, head), name)

    def _shaped(self, name: str, items: list[Values], exprs: Any) -> Values:
        """A generic container of what its arguments say."""
        if name in ("ContextManager", "AbstractContextManager"):
            return (Sequence("context", items[0]),)
        if name in ("tuple", "Tuple"):
            if len(exprs) == 2 and exprs[1] in (("k", "ellipsis"), ("?",)):
                return (Sequence("tuple", items[0]),)
            return (Row(tuple(items)),)
        if name in MAPPINGS:
            return (Mapping((), items[0], items[1] if len(items) > 1 else self.builtin("int")),)
        if name in SEQUENCES:
            return (Sequence(SEQUENCES[name], items[0]),)
        if name == "Optional":
            return union([items[0], (NONE,)])
        if name == "Union":
            return union(items)
        return UNKNOWN_VALUES


def _last(expr: Expr) -> str:
    return str(expr[-1]) if expr[0] in ("n", "a") else ""


def _dotted(expr: Expr) -> str:
    if expr[0] == "n":
        return str(expr[1])
    base = _dotted(expr[1]) if expr[0] == "a" else ""
    return f"{base}.{expr[2]}" if base else ""
