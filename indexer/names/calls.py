"""What a call gives: functions, classes, methods, external names."""

from __future__ import annotations

from typing import Any

from cgx.indexer.names.attributes import MODULE
from cgx.indexer.names.base import UNKNOWN_VALUES, informative
from cgx.indexer.names.containers import Containers
from cgx.indexer.names.facts import Expr
from cgx.indexer.names.rules import built_by_config
from cgx.indexer.names.special import SPECIAL
from cgx.indexer.names.values import (
    ANY,
    NONE,
    Bound,
    Callback,
    Class,
    External,
    ExternalInstance,
    Function,
    Instance,
    Mapping,
    Partial,
    Result,
    Row,
    Scope,
    Sequence,
    TypeOf,
    TypeVariable,
    Values,
    union,
)

Keywords = tuple[tuple[str, Expr], ...]


class Linker(Containers):
    """The whole evaluator."""

    def call(self, value: Any, scope: Scope | None, args: tuple[Expr, ...], keywords: Any) -> Values:
        if self.depth > 60:
            return UNKNOWN_VALUES
        self.depth += 1
        try:
            return self._call(value, scope, args, keywords)
        finally:
            self.depth -= 1

    def _call(self, value: Any, scope: Scope | None, args: tuple[Expr, ...], keywords: Keywords) -> Values:
        kind = type(value)
        if kind is Function:
            special = SPECIAL.get(value.qname) if value.scope.module.standard else None
            if special is not None and scope is not None:
                found = special(self, scope, args, keywords)
                if found is not None:
                    return found
            return self.result(value, None, scope, args, keywords)
        if kind is Bound:
            return self._call_bound(value, scope, args, keywords)
        if kind is Class:
            return self._construct(value, scope, args, keywords)
        if kind is External:
            return self._call_external(value, None, scope, args, keywords)
        if kind is Instance:
            return self._call_instance(value, scope, args, keywords)
        if kind is ExternalInstance:
            return self._call_external_instance(value, scope, args, keywords)
        if kind is Partial:
            return union([self.call(func, scope, (), ()) for func in value.funcs])
        if kind is Sequence and "." in value.kind:
            return self.tensor()
        if kind is TypeOf:
            return value.instances
        if kind is Callback:
            return value.result
        if kind is Result:
            return (Result(f"{value.prefix}()"),)
        return UNKNOWN_VALUES if value is ANY else ()

    # Functions of the source and of the stubs

    def result(self, function: Function, receiver: Any, scope: Any, args: tuple[Expr, ...], keywords: Any) -> Values:
        more = function.scope.more
        hint = more.get("result")
        if hint is not None and hint[0] == "n":
            by_argument = self._by_type_variable(function, hint[1], receiver, scope, args)
            if by_argument is not None:
                return by_argument
        known = function.result
        if known is not None:
            return known
        function.result = ()
        found = self._result(function, hint)
        if self.flavour(function) == "context":
            found = (Sequence("context", union([self.elements(value) for value in found])),)
        function.result = found
        return found

    def _result(self, function: Function, hint: Expr | None) -> Values:
        scope = function.scope
        if hint is not None:
            values = self.annotated(scope.parent or scope, hint)
            if informative(values) or hint == ("k", "None"):
                return values
        yields = scope.more.get("yields")
        if yields:
            return (Sequence("gen", union([self.ev(scope, item) for item in yields])),)
        returns = scope.more.get("returns")
        if not returns:
            return UNKNOWN_VALUES if scope.module.standard else (NONE,)
        return union([self.ev(scope, item) for item in returns])

    def _by_type_variable(
        self, function: Function, name: str, receiver: Any, scope: Any, args: tuple[Expr, ...]
    ) -> Values | None:
        """``def f(x: T) -> T`` gives what it is given; ``def f(c: type[T]) -> T`` an instance of it."""
        if name == "Self":
            return (receiver,) if receiver is not None and type(receiver) in (Instance, ExternalInstance) else None
        parameters = function.scope.more["parameters"]
        offset = 1 if receiver is not None and parameters and function.cls is not None else 0
        for position, (_, how, hint, _) in enumerate(parameters):
            if hint is None or how > 1:
                continue
            direct = hint == ("n", name)
            of_type = hint[0] == "i" and hint[1][-1] in ("type", "Type") and hint[2] == ("n", name)
            if not direct and not of_type:
                continue
            found = self.lookup(function.scope.parent or function.scope, name)
            if found is not None and not any(type(value) is TypeVariable for value in found):
                return None  # an ordinary name; one that nothing binds is a type parameter of Python 3.12
            if position == 0 and offset:
                if direct:
                    return (receiver,)
                return (receiver.instance,) if type(receiver) is Class else None
            if scope is not None and 0 <= position - offset < len(args):
                given = self.ev(scope, args[position - offset])
                return given if direct else union([self.instances_of(value) for value in given])
        return None

    def _call_bound(self, value: Bound, scope: Scope | None, args: tuple[Expr, ...], keywords: Keywords) -> Values:
        receiver, func = value.receiver, value.func
        if type(receiver) in (Sequence, Row, Mapping):
            name = func.scope.name if type(func) is Function else func.qname.rpartition(".")[2]
            found = self.container_method(receiver, name, [self.ev(scope, item) for item in args] if scope else [])
            if found is not None:
                return found
        if type(func) is External:
            return self._call_external(func, receiver, scope, args, keywords)
        if type(func) is Function:
            special = SPECIAL.get(func.qname) if func.scope.module.standard else None
            if special is not None and scope is not None:
                found = special(self, scope, args, keywords)
                if found is not None:
                    return found
            found = self.result(func, receiver, scope, args, keywords)
            return found if informative(found) else built_by_config(func, receiver) or found
        return UNKNOWN_VALUES

    # Classes

    def _construct(self, cls: Class, scope: Scope | None, args: tuple[Expr, ...], keywords: Keywords) -> Values:
        if cls.scope.module.standard:
            special = SPECIAL.get(cls.qname)
            if special is not None and scope is not None:
                found = special(self, scope, args, keywords)
                if found is not None:
                    return found
            plain = (
                self._plain_container(cls.scope.name) if cls.scope.module.name in ("builtins", "collections") else ()
            )
            if plain:
                return plain
        return (cls.instance,)

    def _call_instance(
        self, value: Instance, scope: Scope | None, args: tuple[Expr, ...], keywords: Keywords
    ) -> Values:
        methods = self.attribute(value, "__call__")
        methods = tuple(method for method in methods if method is not ANY)
        if not methods and self.derives(value.cls, MODULE):
            methods = self.attribute(value, "forward")
        return union([self.call(method, scope, args, keywords) for method in methods]) or UNKNOWN_VALUES

    # External names

    def _call_external(
        self, value: External, receiver: Any, scope: Scope | None, args: tuple[Expr, ...], keywords: Keywords
    ) -> Values:
        qname = value.qname
        special = SPECIAL.get(qname)
        if special is not None and scope is not None:
            found = special(self, scope, args, keywords)
            if found is not None:
                return found
        if qname == "torch.autograd.Function.apply" and type(receiver) is Class:
            return union([self.call(item, None, (), ()) for item in self.attribute(receiver, "forward")])
        kind = self.library.kind(qname)
        if kind == "c":
            return (self.external_instance(qname),)
        given = self.library.gives(qname)
        if given is not None:
            return self.given(given, receiver, qname)
        if kind == "" and not qname.startswith("torch.") and _spelled_as_class(qname):
            return (self.external_instance(qname, guess=True),)
        return (Result(f"{qname}()"),)

    def _call_external_instance(
        self, value: ExternalInstance, scope: Scope | None, args: tuple[Expr, ...], keywords: Keywords
    ) -> Values:
        if self.library.derives(value.qname, MODULE):
            member = self.library.member(value.qname, "forward")
            given = self.library.gives(member) if member is not None else None
            return self.given(given, value, value.qname) if given is not None else UNKNOWN_VALUES
        return (Result(f"{value.qname}()"),)


def _spelled_as_class(qname: str) -> bool:
    last = qname.rpartition(".")[2].lstrip("_")
    return last[:1].isupper() and not last.isupper()
