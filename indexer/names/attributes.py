"""Attributes: class linearisation, inherited and instance attributes, modules, external names."""

from __future__ import annotations

from typing import Any

from cgx.indexer.names.base import UNKNOWN_VALUES, informative
from cgx.indexer.names.facts import Expr
from cgx.indexer.names.linearise import Linearisation
from cgx.indexer.names.values import (
    ANY,
    Bound,
    Class,
    External,
    ExternalInstance,
    Function,
    Instance,
    Mapping,
    ModuleRef,
    Partial,
    Result,
    Row,
    Sequence,
    Super,
    TypeOf,
    Values,
    union,
)

MODULE = "torch.nn.Module"
_STRINGS = frozenset({"__name__", "__qualname__", "__doc__", "__module__", "__file__"})
# Bases that only matter to type checkers: they give no attribute to anything.
MARKERS = frozenset({"typing.Generic", "typing.Protocol", "typing_extensions.Protocol", "typing_extensions.Generic"})


class Attributes(Linearisation):
    """Adds attribute lookup to the evaluator."""

    def attribute(self, value: Any, name: str) -> Values:
        kind = type(value)
        if kind is Instance:
            return self._of_instance(value, name)
        if kind is ModuleRef:
            if name in _STRINGS:
                return self.builtin("str")
            found = self.module_attribute(value.module, name)
            return () if found is None else found
        if kind is External:
            return self._of_external(value, name)
        if kind is ExternalInstance:
            return self.external_member(value.qname, name, value, value.guess)
        if kind is Class:
            return self._of_class(value, name)
        if kind is Super:
            return self._of_super(value, name)
        if kind is Sequence or kind is Mapping or kind is Row:
            return self._of_container(value, name)
        if kind is Result:
            return (Result(f"{value.prefix}.{name}"),)
        if kind is TypeOf:
            return self._of_type(value, name)
        if kind is Partial and name == "func":
            return value.funcs
        if kind is Function or kind is Bound:
            if name in _STRINGS:
                return self.builtin("str")
            if kind is Bound and name == "__self__":
                return (value.receiver,)
            return UNKNOWN_VALUES if name not in ("__func__", "__wrapped__") else (value,)
        return UNKNOWN_VALUES if value is ANY else ()

    # Instances and classes

    def _of_instance(self, value: Instance, name: str) -> Values:
        cls = value.cls
        known = cls.members.get(name)
        if known is None:
            cls.members[name] = ()
            known = cls.members[name] = self._find(cls, self.mro(cls), name, cls.instance)
        if not value.declared:
            return known
        return tuple([Bound(v.func, value) if type(v) is Bound and v.receiver is cls.instance else v for v in known])

    def _of_class(self, cls: Class, name: str) -> Values:
        if name in _STRINGS:
            return self.builtin("str")
        if name == "__class__":
            return UNKNOWN_VALUES
        for base in self.mro(cls):
            if type(base) is Class:
                if name in base.scope.bindings:
                    values = self.bound(base.scope, name)
                    if not base.scope.module.standard and self.is_enum(cls) and self._is_member(base, name):
                        return (cls.instance,)
                    if informative(values):
                        return tuple([self._on_class(item, cls) for item in values])
            elif type(base) is External and base.qname not in MARKERS:
                found = self._external_base(base, name, None)
                if found:
                    return found
        if any(
            type(base) is External and not self.library.knows(base.qname) and base.qname not in MARKERS
            for base in self.mro(cls)
        ):
            return self._assumed(cls, name)
        for base in self.mro(cls):  # set on instances only; a class used as one (registries) still answers
            if type(base) is Class and name in base.scope.more["attributes"]:
                return UNKNOWN_VALUES
        return () if name not in ("__dict__", "__mro__", "__bases__", "__subclasses__", "mro") else UNKNOWN_VALUES

    def _on_class(self, item: Any, cls: Class) -> Any:
        if type(item) is Function and self.flavour(item) == "class":
            return Bound(item, cls)
        return item

    def is_enum(self, cls: Class) -> bool:
        return any(type(base) is Class and base.qname == "enum.Enum" for base in self.mro(cls))

    @staticmethod
    def _is_member(cls: Class, name: str) -> bool:
        return not name.startswith("_") and all(
            item[0] not in ("def", "cls", "ann") for item in cls.scope.bindings[name]
        )

    def _of_super(self, value: Super, name: str) -> Values:
        receiver = value.receiver
        owner = receiver.cls if type(receiver) is Instance else receiver if type(receiver) is Class else value.cls
        order = self.mro(owner)
        position = order.index(value.cls) if value.cls in order else 0
        return self._find(value.cls, order[position + 1 :], name, receiver)

    def _of_type(self, value: TypeOf, name: str) -> Values:
        found = []
        for item in value.instances:
            if type(item) is Instance:
                found.append(self._of_class(item.cls, name))
            elif type(item) is ExternalInstance:
                found.append(self._of_external(self.external(item.qname), name))
        return union(found) or UNKNOWN_VALUES

    def _find(self, cls: Class, order: tuple[Any, ...], name: str, receiver: Any) -> Values:
        """An attribute along an MRO. External bases claim what their table lists; unknown ones only as a last resort."""
        nothing: Values = ()
        for base in order:
            if type(base) is Class:
                found = self._own(base, name, receiver)
                if informative(found):
                    return found
                nothing = nothing or found
            elif type(base) is External and base.qname not in MARKERS:
                found = self._external_base(base, name, receiver)
                if found:
                    return found
        for base in order:
            if base is ANY:
                return UNKNOWN_VALUES
            if type(base) is External and base.qname not in MARKERS and not self.library.knows(base.qname):
                return self._assumed(cls, name, receiver)
        if name == "__class__" and type(receiver) is Instance:
            return (receiver.cls,)
        if name == "__dict__":
            return (Mapping((), self.builtin("str"), UNKNOWN_VALUES),)
        if nothing:
            return nothing
        if name.startswith("__"):
            root = self.builtin_class("object")
            if root is not None and name in root.scope.bindings:
                return self._own(root, name, receiver)
        if any(type(base) is Class and "__getattr__" in base.scope.bindings for base in order):
            return UNKNOWN_VALUES
        return ()

    def _own(self, cls: Class, name: str, receiver: Any) -> Values:
        """What one class of an MRO gives: its body and what its methods bind on ``self``."""
        scope = cls.scope
        parts: list[Values] = []
        if name in scope.bindings:
            values = self.bound(scope, name)
            parts.append(union([self._bind(item, receiver) for item in values]))
            if any(type(item) is Function for item in values):
                return parts[0]
            if informative(values) and any(item[0] == "ann" for item in scope.bindings[name]):
                return parts[0]
        attributes = scope.more["attributes"].get(name)
        if attributes:
            key = f"self.{name}"
            known = scope.memo.get(key)
            if known is None:
                scope.memo[key] = ()
                known = scope.memo[key] = self.settle(scope, attributes)
            parts.append(known)
        return union(parts)

    def _bind(self, item: Any, receiver: Any) -> Values:
        if type(item) is not Function:
            return (item,)
        flavour = self.flavour(item)
        if flavour == "property":
            return self.result(item, receiver, None, (), ())
        if flavour == "static":
            return (item,)
        if flavour == "class":
            owner = receiver.cls if type(receiver) is Instance else receiver
            return (Bound(item, owner),)
        return (Bound(item, receiver),)

    def flavour(self, function: Function) -> str:
        """How a function is bound: property, static, class, context, or ``-`` for a plain one."""
        if not function.flavour:
            function.flavour = "-"
            for decorator in function.scope.more.get("decorators", ()):
                named = decorator[1] if decorator[0] == "c" else decorator
                last = named[-1] if named[0] in ("n", "a") else ""
                flavour = _FLAVOURS.get(last)
                if flavour:
                    function.flavour = flavour
                elif last.endswith("property"):
                    function.flavour = "property"
        return function.flavour

    def result(self, function: Function, receiver: Any, scope: Any, args: tuple[Expr, ...], keywords: Any) -> Values:
        """What calling a function of the source gives."""
        raise NotImplementedError

    # External names

    def _external_base(self, base: External, name: str, receiver: Any) -> Values:
        member = self.library.member(base.qname, name) if self.library.knows(base.qname) else None
        if member is None:
            return ()
        return self._member(member, receiver)

    def _assumed(self, cls: Class, name: str, receiver: Any = None) -> Values:
        """A base outside the source, of which no table knows the members, is taken to have what nobody else has."""
        for base in self.mro(cls):
            if type(base) is External and base.qname not in MARKERS and not self.library.knows(base.qname):
                qname = f"{base.qname}.{name}"
                known = self._externals.get("?" + qname)
                if known is None:
                    known = self._externals["?" + qname] = External(qname, guess=True)
                return (Bound(known, receiver) if receiver is not None else known,)
        return ()

    def _member(self, member: str, receiver: Any) -> Values:
        if self.library.kind(member) == "p":
            given = self.library.gives(member)
            return self.given(given, receiver, member) if given is not None else (Result(member),)
        found = self.external(member)
        return (Bound(found, receiver),) if receiver is not None else (found,)

    def external_member(self, cls: str, name: str, receiver: Any, guess: bool = False) -> Values:
        """A member of an external class's instance."""
        if self.library.knows(cls):
            member = self.library.member(cls, name)
            if member is not None:
                return self._member(member, receiver)
            if name == "__class__":
                return (self.external(cls),)
            if self.library.derives(cls, MODULE):
                return UNKNOWN_VALUES  # registered children and buffers have any name
            return ()
        qname = f"{cls}.{name}"
        known = self._externals.get("?" + qname)
        if known is None:
            known = self._externals["?" + qname] = External(qname, guess=True)
        return (Bound(known, receiver),)

    def _of_external(self, value: External, name: str) -> Values:
        qname = value.qname
        kind = self.library.kind(qname)
        if kind == "c":
            member = self.library.member(qname, name)
            if member is not None:
                return (self.external(member),)
        elif kind == "v":
            given = self.library.gives(qname)
            if given is not None:
                return union([self.attribute(item, name) for item in self.given(given, None, qname)])
        elif self.modules.is_folder(qname):
            inner = self.modules.source(f"{qname}.{name}")
            if inner is not None:
                return (ModuleRef(inner),)
        if name in _STRINGS:
            return self.builtin("str")
        return (self.external(f"{qname}.{name}"),)

    def given(self, annotation: Expr, receiver: Any, qname: str) -> Values:
        """Instances of an annotation of the torch table, whose names are full ones."""
        raise NotImplementedError

    def _of_container(self, value: Any, name: str) -> Values:
        kind = value.kind if type(value) is not Row else "tuple"
        if "." in kind:
            if type(value) is Mapping:
                entry = value.get(name)
                if entry:
                    return entry
            found = self.external_member(kind, name, value)
            if found == UNKNOWN_VALUES and type(value) is Mapping:
                return value.any_value or UNKNOWN_VALUES
            return found
        cls = self.builtin_class(_BUILTINS.get(kind, kind)) or self.standard_class("collections", kind)
        if cls is None:
            return UNKNOWN_VALUES
        return tuple(
            [Bound(item.func, value) if type(item) is Bound else item for item in self._of_instance(cls.instance, name)]
        )


_FLAVOURS = {
    "property": "property", "cached_property": "property", "lazy_property": "property", "abstractproperty": "property",
    "staticmethod": "static", "classmethod": "class", "contextmanager": "context", "asynccontextmanager": "context",
}  # fmt: skip
_BUILTINS = {"gen": "map", "context": "object"}
