"""Between abstract values and plain Python ones: truth, keys, text, classes, alternatives."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cgx.indexer.interpreter import builtin_functions, generics, open_dicts, operators, protocols
from cgx.indexer.interpreter.joins import same
from cgx.indexer.interpreter.signals import Raised
from cgx.indexer.interpreter.values import (
    HELD,
    MAYBE,
    MISSING,
    Alternatives,
    ByRank,
    ClassValue,
    Device,
    DictValue,
    DType,
    External,
    FunctionValue,
    GeneratorValue,
    Instance,
    ListValue,
    Native,
    Opaque,
    Property,
    Sequence,
    SetValue,
    TensorValue,
    Unknown,
    Value,
    handed_on,
    same_name,
)
from cgx.indexer.ops.dims import Dim, less

if TYPE_CHECKING:
    from cgx.indexer.interpreter.scopes import Frame, Site

PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), range)
TENSOR_NAMES = frozenset({"torch.Tensor", "torch.FloatTensor", "torch.cuda.FloatTensor"})
PARAMETER_NAMES = frozenset({"torch.nn.Parameter", "torch.nn.parameter.Parameter"})
ABSTRACT = {
    "collections.abc.Callable": ("FunctionValue", "BoundMethod", "Partial", "ClassValue", "Native", "External", "ModuleInstance"),
    "collections.abc.Sequence": ("ListValue", "tuple", "str", "range"),
    "collections.abc.MutableSequence": ("ListValue",),
    "collections.abc.Mapping": ("DictValue",),
    "collections.abc.MutableMapping": ("DictValue",),
    "collections.abc.Iterable": ("ListValue", "tuple", "str", "range", "DictValue", "SetValue", "Sequence", "GeneratorValue"),
    "collections.abc.Set": ("SetValue",),
    "collections.OrderedDict": ("DictValue",),
    "numbers.Number": ("int", "float", "bool", "complex"),
    "numbers.Integral": ("int", "bool"),
    "numbers.Real": ("int", "float", "bool"),
    "types.FunctionType": ("FunctionValue",),
    "types.LambdaType": ("FunctionValue",),
    "types.MethodType": ("BoundMethod",),
    "types.ModuleType": ("ModuleObject",),
    "types.GeneratorType": ("GeneratorValue",),
    "functools.partial": ("Partial",),
    "torch.dtype": ("DType",),
    "torch.device": ("Device",),
    "torch.Size": ("tuple",),
}


class Conversion:
    """The part of the interpreter that converts. Mixed into Interp."""

    # ------------------------------------------------------------------ plain values

    def plain(self: Any, value: Value) -> Any:
        """Python's own value for a constant, with lists, dicts and sets of constants; else the abstract value itself."""
        if isinstance(value, ListValue) and not value.open:
            found = [self.plain(item) for item in value.items]
            return value if any(self.not_plain(item) for item in found) else found
        if isinstance(value, tuple):
            found = [self.plain(item) for item in value]
            return value if any(self.not_plain(item) for item in found) else tuple(found)
        if isinstance(value, DictValue) and not value.open:
            table = {key: self.plain(item) for key, item in value.items.items()}
            return value if any(self.not_plain(item) for item in table.values()) else table
        if isinstance(value, SetValue) and not value.open:
            found = [self.plain(item) for item in value.items]
            return value if any(self.not_plain(item) for item in found) else set(found)
        if isinstance(value, TensorValue) and isinstance(value.const, int | float | bool):
            return value.const
        if isinstance(value, Instance) and "members" in value.cls.info and isinstance(value.attrs.get("value"), int | str):
            if any(getattr(base, "qname", "") in ("int", "str", "enum.IntEnum", "enum.StrEnum") for base in value.cls.mro):
                return value.attrs["value"]
        return value

    def not_plain(self, value: Any) -> bool:
        if isinstance(value, list | tuple | set):
            return any(self.not_plain(item) for item in value)
        if isinstance(value, dict):
            return any(self.not_plain(item) for item in value.values())
        return not isinstance(value, PLAIN)

    def wrap(self: Any, value: Any) -> Value:
        """The abstract value of a Python one: lists, dicts and sets become ours."""
        if isinstance(value, list):
            return ListValue([self.wrap(item) for item in value])
        if isinstance(value, tuple):
            if hasattr(value, "_fields"):
                return self.wrap_namedtuple(value)
            return tuple(self.wrap(item) for item in value)
        if isinstance(value, dict):
            return DictValue({key: self.wrap(item) for key, item in value.items()})
        if isinstance(value, set | frozenset):
            return SetValue([self.wrap(item) for item in sorted(value, key=repr)])
        return value

    def wrap_namedtuple(self: Any, value: Any) -> Value:
        fields = list(value._fields)
        cls = ClassValue(type(value).__name__, type(value).__name__, type(value).__name__, "", None, [], [], {})
        cls.mro = [cls]
        cls.info.update(fields=fields, namedtuple=True)
        return Instance(cls, {name: self.wrap(item) for name, item in zip(fields, value)})

    def export(self: Any, value: Value) -> Any:
        """What the op tables take: lists as Python lists, one value for alternatives, tensors and unknowns as they are."""
        if isinstance(value, ListValue):
            if value.open:
                return Unknown("list", "data", None)
            return [self.export(item) for item in value.items]
        if isinstance(value, TensorValue) and value.library == "numpy" and value.shape == () and isinstance(value.const, int | float):
            return value.const
        if isinstance(value, tuple):
            return tuple(self.export(item) for item in value)
        if isinstance(value, slice):
            return slice(*(self.export(part) for part in (value.start, value.stop, value.step)))
        if isinstance(value, Alternatives):
            value = self.pick(value)
            if isinstance(value, Alternatives):
                tensors = [option for _, option in value.options if isinstance(option, TensorValue)]
                if tensors:
                    return tensors[0]
                return Unknown("alternatives", "undecided-branch", value.anchor)
            return self.export(value)
        if isinstance(value, ByRank):
            return self.export(value.values[0])
        if isinstance(value, Instance):
            if value.cls.info.get("namedtuple"):
                return tuple(self.export(value.attrs[name]) for name in value.cls.info["fields"])
            plain = self.plain(value)
            if plain is not value:
                return plain
            inner = value.attrs.get("data")
            return inner if isinstance(inner, TensorValue) else Unknown(value.cls.name, "unsupported", None)
        if isinstance(value, Sequence):
            return value if isinstance(value.element, TensorValue) else Unknown("sequence", "data", value.anchor)
        if isinstance(value, DictValue):
            return {key: self.export(item) for key, item in value.items.items()}
        return value

    # ------------------------------------------------------------------ alternatives and ranks

    def pick(self: Any, value: Value) -> Value:
        """Of alternatives, the one that the assumed conditions leave; of values by rank that of the one rank that gets here."""
        if isinstance(value, ByRank):
            here = operators.ranks_here(self, len(value.values))
            return value.values[here[0]] if len(here) == 1 else value
        if not isinstance(value, Alternatives) or not self.assumptions:
            return value
        left = list(self.options_of(value))
        if len(left) == 1:
            return left[0][1]
        return value if len(left) == len(value.options) else Alternatives(tuple(left), value.anchor)

    def options_of(self: Any, value: Alternatives) -> Iterator[tuple[str, Value]]:
        """The options that no assumed condition excludes."""
        chosen = [(text, option) for text, option in value.options if self.assumptions.get(text) is True]
        if len(chosen) == 1:
            yield from chosen
            return
        for text, option in value.options:
            if self.assumptions.get(text) is False or (text.startswith("not (") and self.assumptions.get(text[5:-1]) is True):
                continue
            yield text, option


    def for_rank(self, value: Value, rank: int) -> Value:
        return value.values[rank] if isinstance(value, ByRank) and rank < len(value.values) else value

    def lifted(self: Any, values: tuple[Value, ...], function: Callable[..., Value]) -> Value:
        return operators.lift(self, values, function)

    # ------------------------------------------------------------------ truth

    def truth(self: Any, value: Value) -> bool | None:
        """True, False, or None where it is not known. Rank 0 speaks for ranks that differ."""
        if isinstance(value, bool):
            return value
        if value is None:
            return False
        if isinstance(value, int | float | complex | str | bytes | tuple | range):
            return bool(value)
        if isinstance(value, Unknown):
            return True if value.least else self.assumed_truth(value)
        if isinstance(value, ListValue) and value.open == MAYBE:
            return None
        if isinstance(value, ListValue | SetValue | DictValue):
            return True if value.items else None if value.open else False
        if isinstance(value, ByRank):
            return self.truth(value.values[0])
        if isinstance(value, Alternatives):
            answers = {self.truth(option) for _, option in self.options_of(value)}
            return answers.pop() if len(answers) == 1 else None
        if isinstance(value, TensorValue):
            if isinstance(value.const, bool | int | float):
                return bool(value.const)
            return None
        if isinstance(value, Dim):
            return True if less(0, value) else None
        if isinstance(value, Instance):
            return self._instance_truth(value)
        if isinstance(value, Sequence):
            return bool(value.length) if isinstance(value.length, int) else None
        if isinstance(value, Opaque):
            return True if value.qname != "builtins.id" else None
        return True

    def _instance_truth(self: Any, value: Instance) -> bool | None:
        for name in ("__bool__", "__len__"):
            found = value.cls.lookup(name)
            if isinstance(found, FunctionValue | Native):
                result: bool | None = self.truth(self.call_method(value, name, [], {}, self.no_site))
                return result
        if "members" in value.cls.info:
            plain = self.plain(value)
            return True if plain is value else bool(plain)
        if value.cls.info.get("namedtuple"):
            return bool(value.cls.info["fields"])
        return True

    def truth_at(self: Any, value: Value, site: Site) -> bool | None:
        """The truth of a value that is tested at a place: a tensor tested there makes the host wait."""
        truth: bool | None = self.truth(value)
        if truth is None and isinstance(value, TensorValue):
            self.transfer("branch", value, site)
        return truth

    # ------------------------------------------------------------------ keys and mappings

    def key(self: Any, value: Value) -> Any:
        """What a dict holds a value under: constants themselves, other values by identity. MISSING where not known."""
        if isinstance(value, ByRank):
            return self.key(value.values[0])
        if isinstance(value, bool | int | float | str | bytes | type(None) | DType | Device | External | type(Ellipsis)):
            return value
        if isinstance(value, tuple):
            parts = tuple(self.key(item) for item in value)
            return MISSING if any(part is MISSING for part in parts) else parts
        if isinstance(value, Unknown | Alternatives | ListValue | DictValue | SetValue | Sequence):
            return MISSING
        if isinstance(value, Instance):
            plain = self.plain(value)
            if plain is not value:
                return plain
            if value.cls.info.get("options", {}).get("frozen") is True and value.cls.lookup("__hash__") is MISSING:
                parts = tuple(self.key(value.attrs.get(name)) for name in value.cls.info["dataclass"])
                return Held(value) if any(part is MISSING for part in parts) else Record(value, parts)
        return Held(value)

    def unkey(self, key: Any) -> Value:
        if isinstance(key, Held | Record):
            return key.value
        if isinstance(key, tuple):
            return tuple(self.unkey(part) for part in key)
        return key

    def unkeys(self, table: DictValue) -> list[Value]:
        return [self.unkey(key) for key in table.items]

    def as_keywords(self: Any, value: Value, site: Site) -> dict[str, Value] | None:
        """``**value`` as keyword arguments; an open dict gives a ``*`` entry. None where it is not known."""
        if isinstance(value, DictValue):
            found = {key: self.pick(item) for key, item in value.items.items() if isinstance(key, str)}
            if value.open:
                found["*"] = open_dicts.standing(value) or Unknown(site.text, "missing-file", site.anchor)
            return found
        return keywords_of_either(value) or self.as_mapping(value, site)

    def as_mapping(self: Any, value: Value, site: Site) -> dict[Any, Value] | None:
        value = self.pick(value)
        if isinstance(value, DictValue):
            return dict(value.items)
        if isinstance(value, Instance):
            data = value.attrs.get(HELD)
            if isinstance(data, DictValue):
                return dict(data.items)
            keys = value.cls.lookup("keys")
            if keys is not MISSING and not (isinstance(keys, Property)):
                names = self.iterate(self.call_method(value, "keys", [], {}, site), site)
                if isinstance(names, list):
                    return {self.key(name): self.getitem(value, name, site) for name in names}
            if value.cls.lookup("items") is not MISSING:
                return self.as_mapping(self.call_method(value, "items", [], {}, site), site)
            return None
        if isinstance(value, Opaque):
            found = self.call_opaque(value, "items", [], {}, site)
            return None if found is NotImplemented else self.as_mapping(found, site)
        if isinstance(value, Unknown | Sequence) or value is None:
            return None
        rows = self.iterate(value, site)
        if not isinstance(rows, list):
            return None
        result: dict[Any, Value] = {}
        for row in rows:
            pair = self.iterate(row, site) if not isinstance(row, tuple) else list(row)
            if not isinstance(pair, list) or len(pair) != 2:
                return None
            key = self.key(pair[0])
            if key is MISSING:
                return None
            result[key] = pair[1]
        return result

    def make_set(self: Any, values: list[Value], is_open: bool) -> SetValue:
        result: list[Value] = []
        seen: set[Any] = set()
        for value in values:
            key = self.key(value)
            if key is MISSING:
                is_open = True
                continue
            if key not in seen:
                seen.add(key)
                result.append(value)
        return SetValue(result, is_open)

    def set_operation(self: Any, name: str, left: Value, right: SetValue) -> Value:
        if not isinstance(left, SetValue):
            return self.unknown(name, "unsupported", None)
        return operators.sets(self, name, left, right)

    # ------------------------------------------------------------------ order, equality, text

    def equal(self: Any, left: Value, right: Value) -> bool | None:
        if isinstance(left, Dim) or isinstance(right, Dim):
            found = operators.compare_dims("eq", left, right)
            return None if found is NotImplemented else found
        return operators.equality(self, self.plain(left), self.plain(right))

    def sorted(self: Any, values: list[Value], key: Value, reverse: Value, site: Site) -> list[Value] | None:
        keys = [self.plain(value if key is None else self.call(key, [value], {}, site)) for value in values]
        if any(self.not_plain(one) for one in keys):
            return list(values) if len(values) < 2 else None
        try:
            order = sorted(range(len(values)), key=lambda index: keys[index], reverse=self.truth(reverse) is True)
        except TypeError:
            return None
        return [values[index] for index in order]

    def to_text(self: Any, value: Value, site: Site, quoted: bool = False) -> Value:
        """``str(value)``, or ``repr(value)`` where ``quoted``; Unknown where it is not known."""
        plain = self.plain(value)
        if not self.not_plain(plain):
            return repr(plain) if quoted else str(plain)
        if isinstance(value, Dim):
            return self.unknown(site.text, "data", site, "str")
        if isinstance(value, DType):
            return f"torch.{value.name}"
        if isinstance(value, Device) and isinstance(value.index, int | type(None)) and value.type is not None:
            return value.type if value.index is None else f"{value.type}:{value.index}"
        if isinstance(value, Device) and isinstance(value.index, ByRank):
            return ByRank(tuple(f"{value.type}:{index}" for index in value.index.values))
        if isinstance(value, TensorValue):
            self.transfer("print", value, site)
            return self.unknown(site.text, "data", site, "str")
        if isinstance(value, Instance):
            for name in ("__repr__", "__str__") if quoted else ("__str__", "__repr__"):
                if isinstance(value.cls.lookup(name), FunctionValue):
                    return self.call_method(value, name, [], {}, site)
            if "members" in value.cls.info:
                return f"{value.cls.name}.{value.attrs['name']}"
        if isinstance(value, ClassValue):
            return f"<class '{value.qname}'>"
        if isinstance(value, External) and (value.tail[:1].isupper() or value.qname in builtin_functions.TYPES):
            return f"<class '{value.qname}'>"
        if isinstance(value, tuple | ListValue) and not (isinstance(value, ListValue) and value.open):
            return self._items_text(value, site)
        if (written := generics.text(value)) is not None:
            return written
        if isinstance(value, Opaque):
            found = self.call_opaque(value, "__str__", [], {}, site)
            if found is not NotImplemented:
                return found
        if isinstance(value, ByRank):
            return operators.lift(self, (value,), lambda one: self.to_text(one, site, quoted))
        return operators.derived(self, (value,), site, "str")

    def _items_text(self: Any, value: Value, site: Site) -> Value:
        items = list(value) if isinstance(value, tuple) else value.items
        parts = [self.to_text(item, site, True) for item in items]
        if not all(isinstance(part, str) for part in parts):
            return operators.derived(self, tuple(items), site, "str")
        if isinstance(value, tuple):
            return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
        return f"[{', '.join(parts)}]"

    # ------------------------------------------------------------------ classes

    def as_class(self: Any, value: Value) -> Value:
        """A value used as a base or in isinstance: externals that tables describe become classes."""
        value = self.pick(value)
        if isinstance(value, External):
            found = self.native_class(value.qname)
            return value if found is None else found
        if isinstance(value, ClassValue | Unknown):
            return value
        if isinstance(value, Alternatives):
            return Unknown("base", "undecided-branch", value.anchor)
        if isinstance(value, Opaque):
            return External(value.qname)
        return Unknown("base", getattr(value, "reason", "unsupported"), getattr(value, "anchor", None))

    def is_subclass(self: Any, cls: Value, kind: Value) -> bool | None:
        if isinstance(kind, Unknown) or isinstance(cls, Unknown):
            return None
        if isinstance(kind, External) and kind.qname == "object":
            return True
        if isinstance(cls, ClassValue):
            for base in cls.mro:
                if base is kind or same_name(base, kind) or (isinstance(base, External) and self.derives_outside(base, kind)):
                    return True
            if any(isinstance(base, Unknown) for base in cls.mro):
                return None
            return False
        if isinstance(cls, External) and isinstance(kind, External):
            return cls.qname == kind.qname or kind.qname in self.lineage(cls.qname)
        return False

    def derives_outside(self: Any, base: External, kind: Value) -> bool:
        """A class of a library, by what the tables say of its bases."""
        return isinstance(kind, External | ClassValue) and any(kind.qname == name or handed_on(kind.qname, name) for name in self.lineage(base.qname))

    def is_instance(self: Any, value: Value, kind: Value) -> bool | None:
        value = self.pick(value)
        if isinstance(kind, Opaque) and "__args__" in kind.attrs:
            kind = kind.attrs["__args__"]  # int | str
        if isinstance(kind, tuple):
            answers = [self.is_instance(value, one) for one in kind]
            return True if True in answers else None if None in answers else False
        if isinstance(kind, Unknown):
            if kind.hint == "union":
                return None
            return None
        kind = self.as_class(kind)
        if isinstance(kind, Unknown):
            return None
        qname = kind.qname
        if protocols.is_protocol(kind) and not (isinstance(value, Instance) and self.is_subclass(value.cls, kind)):
            return protocols.fulfils(self, value, kind)
        if isinstance(value, Unknown):
            return self._unknown_is(value, qname)
        if qname == "type" and isinstance(value, Opaque) and value.qname in (generics.ALIAS, generics.UNION, generics.LITERAL):
            return False
        if qname == NO_DEFAULT_TYPE:
            return isinstance(value, External) and value.qname == "dataclasses.MISSING"
        if isinstance(value, Alternatives | ByRank):
            each = {self.is_instance(option, kind) for option in (value.values if isinstance(value, ByRank) else [o for _, o in self.options_of(value)])}
            return each.pop() if len(each) == 1 else None
        if isinstance(value, Instance):
            if value.open and isinstance(value.cls, Unknown):
                return None
            if qname.endswith(".FSDPModule") and any(name == "fully_shard" for name, _ in getattr(value, "wrappers", ())):
                return True
            return self.is_subclass(value.cls, kind)
        if isinstance(value, TensorValue):
            if qname.endswith(".DTensor"):
                return "cgx.placement" in value.attrs
            if value.cls is not None and self.is_subclass(value.cls, kind):
                return True
            if qname in TENSOR_NAMES:
                return value.library == "torch"
            if qname in PARAMETER_NAMES:
                return value.parameter
            return qname == "numpy.ndarray" and value.library == "numpy"
        if isinstance(value, ClassValue):
            return qname == "type" or (isinstance(value.metaclass, ClassValue) and bool(self.is_subclass(value.metaclass, kind)))
        if qname in ABSTRACT and type(value).__name__ in ABSTRACT[qname]:
            return True if not (qname == "collections.OrderedDict" and isinstance(value, DictValue)) else value.kind == "OrderedDict"
        if isinstance(value, ListValue):
            if value.cls is not None and self.is_subclass(value.cls, kind):
                return True
            return qname == "list"
        if isinstance(value, Sequence) and value.qname in ("list", "tuple") and "." not in qname:
            return qname == value.qname
        if isinstance(value, DictValue):
            return qname in ("dict", "collections.OrderedDict", "collections.defaultdict") and (qname == "dict" or qname.endswith(value.kind))
        if isinstance(value, SetValue):
            return qname in ("set", "frozenset")
        if isinstance(value, Dim):
            return qname in ("int", "numbers.Number", "numbers.Integral", "torch.SymInt")
        if isinstance(value, Opaque):
            return self.opaque_is(value, qname)
        if isinstance(value, External):
            return self._external_is(value, qname)
        if isinstance(value, Raised):
            return None
        return qname in [cls.__name__ for cls in type(value).__mro__] or qname in {f"{cls.__module__}.{cls.__name__}" for cls in type(value).__mro__}

    def _unknown_is(self, value: Unknown, qname: str) -> bool | None:
        hint = value.hint
        if hint in ("int", "float", "str", "bool"):
            return qname == hint or (hint == "bool" and qname == "int") if "." not in qname else False
        if hint == "tensor":
            return None if qname.endswith(".DTensor") else qname in TENSOR_NAMES
        if hint == "number":  # which kind of number is open
            return None if qname in ("int", "float", "bool") else False
        return None

    def _external_is(self: Any, value: External, qname: str) -> bool | None:
        """Of an outside name only what it surely is not: a class or function is no str, int, list, ..."""
        known = self.native_class(value.qname) is not None or self.has_external(value.qname) or value.tail[:1].isupper()
        if value.qname in builtin_functions.ENTRIES or value.qname in builtin_functions.TYPES or known:
            if qname == "type":
                return value.tail[:1].isupper() or value.qname in builtin_functions.TYPES
            return False if "." not in qname or qname in ABSTRACT or qname.startswith("torch.nn") else None
        return None

    def has_builtin_attribute(self: Any, owner: Value, name: str) -> bool:
        kinds: dict[type, type] = {ListValue: list, DictValue: dict, SetValue: set}
        for kind, python in kinds.items():
            if isinstance(owner, kind):
                return hasattr(python, name)
        if isinstance(owner, TensorValue):
            return name in owner.attrs or self.has_external(f"torch.Tensor.{name}") is True
        if isinstance(owner, GeneratorValue | Sequence):
            return name in ("__iter__", "__next__")
        return hasattr(owner, name)

    def make_type(self: Any, name: Value, bases: Value, namespace: Value, site: Site) -> Value:
        """``type(name, bases, namespace)``."""
        if not isinstance(name, str) or not isinstance(bases, tuple) or not isinstance(namespace, DictValue):
            return self.unknown(site.text, "unsupported", site)
        from cgx.indexer.interpreter.classes import linearise

        parents = [self.as_class(base) for base in bases]
        cls = ClassValue(name, name, name, site.frame.path, site.frame.scope.module, parents, [], dict(namespace.items), site.anchor.line)
        cls.mro = linearise(cls)
        cls.info["annotations"] = {}
        return cls

    def annotation(self: Any, node: ast.expr, frame: Frame | None) -> Value:
        """The value of an annotation; a string one is read as source."""
        if frame is None:
            return Unknown(ast.unparse(node), "unsupported", None)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                node = ast.parse(node.value, mode="eval").body
            except SyntaxError:
                return Unknown(str(node.value), "unsupported", None)  # type: ignore[attr-defined]
        return self.attempt(lambda final=node: generics.read(self, final, frame))


def keywords_of_either(value: Value) -> dict[str, Value] | None:
    """``**`` of one of several dicts with the same keys."""
    tables = [(text, one.items) for text, one in value.options if isinstance(one, DictValue) and not one.open] if isinstance(value, Alternatives) else []
    if not tables or len(tables) < len(value.options) or any(table.keys() != tables[0][1].keys() for _, table in tables):
        return None
    return {
        key: held if all(same(held, table[key]) for _, table in tables) else Alternatives(tuple((text, table[key]) for text, table in tables))
        for key, held in tables[0][1].items() if isinstance(key, str)
    }  # fmt: skip


NO_DEFAULT_TYPE = "dataclasses._MISSING_TYPE"  # of the mark of a field that has no default


@dataclass(frozen=True, slots=True)
class Record:
    """A dict key by its fields: an instance of a frozen dataclass."""

    value: Value = field(compare=False)
    parts: tuple[Any, ...]
    cls: Any = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "cls", Held(self.value.cls))


class Held:
    """A dict key by identity, for objects whose hash is their identity."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Held) and self.value is other.value

    def __repr__(self) -> str:
        return f"<{type(self.value).__name__}>"
