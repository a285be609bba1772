"""Names: scopes outward, star imports, built-ins; and what several bindings of one name say together."""

from __future__ import annotations

from typing import Any

from cgx.indexer.names.base import UNKNOWN_VALUES, informative, is_weak
from cgx.indexer.names.facts import Expr
from cgx.indexer.names.modules import Module
from cgx.indexer.names.operators import Operators
from cgx.indexer.names.values import ANY, Function, Mapping, ModuleRef, Scope, Sequence, Values, union


class Lookup(Operators):
    """Adds lookup of names.

    Flow-insensitive: a name stands for all that is bound to it in its scope. Results are remembered; a name that is asked
    for while it is being looked up adds nothing.
    """

    def lookup(self, scope: Scope, name: str) -> Values | None:
        """What a name stands for, or None where nothing binds it."""
        here: Scope | None = scope
        while here is not None:
            if name in here.bindings and (here.kind != "class" or here is scope):
                return self.bound(here, name)
            if here.parent is None:
                break
            here = here.parent
        assert here is not None
        found = self.starred(here.module, name)
        if found is not None:
            return found
        builtins = self.modules.standard("builtins")
        if builtins is not None and builtins.top is not None and name in builtins.top.bindings:
            return self.bound(builtins.top, name)
        if name in ("__file__", "__name__", "__doc__", "__qualname__"):
            return self.builtin("str")
        return None

    def bound(self, scope: Scope, name: str) -> Values:
        known = scope.memo.get(name)
        if known is not None:
            return known
        scope.memo[name] = ()
        result = self.settle(scope, scope.bindings[name])
        scope.memo[name] = result
        return result

    def settle(self, scope: Scope, bindings: list[Expr]) -> Values:
        """The values of a name's bindings together: what annotations, assignments, narrowings and additions say."""
        if len(bindings) == 1 and bindings[0][0] not in ("add", "nar"):
            return self.ev(scope, bindings[0])
        plain: list[Values] = []
        added: list[Expr] = []
        narrowed: list[Expr] = []
        declared: Values = ()
        for binding in bindings:
            inner, tag = binding, binding[0]
            while tag == "@":
                inner = inner[2]
                tag = inner[0]
            if tag == "ann":
                values = self.ev(scope, binding)
                if informative(values) and not all(is_weak(value) for value in values):
                    return values
                declared = union([declared, values])
            elif tag == "add":
                added.append(binding)
            elif tag == "nar":
                narrowed.append(binding)
            else:
                plain.append(self.ev(scope, binding))
        values = _without_shadowed(union(plain))
        if informative(declared) and not informative(values):
            values = (
                declared  # a declaration that says little gives way to what is assigned, but is better than nothing
            )
        if added:
            values = self.with_added(values, [self.ev(scope, item) for item in added])
        if narrowed and not informative(values):
            values = union([*(self.ev(scope, item) for item in narrowed), UNKNOWN_VALUES])
        return values

    def with_added(self, values: Values, added: list[Values]) -> Values:
        """Containers with what is appended or stored into them elsewhere."""
        more = union([self.elements(value) for part in added for value in part if type(value) is Sequence])
        entries = [value for part in added for value in part if type(value) is Mapping]
        result: list[Any] = []
        for value in values:
            if type(value) is Sequence:
                result.append(Sequence(value.kind, union([_known(value.items), more])))
            elif type(value) is Mapping and entries:
                merged = dict(value.entries)
                for entry in entries:
                    for key, held in entry.entries:
                        merged[key] = union([merged.get(key, ()), held])
                any_value = union([_known(value.any_value), *(_known(entry.any_value) for entry in entries)])
                keys = union([_known(value.any_key), *(_known(entry.any_key) for entry in entries)])
                result.append(Mapping(tuple(merged.items()), keys, any_value, value.kind))
            else:
                result.append(value)
        return tuple(result) if result else values

    def starred(self, module: Module, name: str, seen: frozenset[int] = frozenset()) -> Values | None:
        """A name that ``from m import *`` brings in."""
        stars = module.facts["stars"]
        if not stars or id(module) in seen or name.startswith("__"):
            return None
        seen = seen | {id(module)}
        for level, wanted, _ in reversed(stars):
            source = self.modules.find(module, level, wanted)
            if source is None:
                continue
            exports = source.facts["exports"]
            if exports is not None and name not in exports:
                continue
            if exports is None and name.startswith("_"):
                continue
            top = source.top
            if top is not None and name in top.bindings:
                return self.bound(top, name)
            found = self.starred(source, name, seen)
            if found is None and exports is not None:
                inner = self.submodule(source, name)
                found = (ModuleRef(inner),) if inner is not None else None
            if found is not None:
                return found
        for level, wanted, _ in reversed(stars):
            if not level and self.modules.find(module, level, wanted) is None:
                qname = f"{wanted}.{name}"
                if self.library.kind(wanted) == "M" and self.library.kind(self.library.canonical(qname)):
                    return (self.external(qname),)
        return None

    def submodule(self, module: Module, name: str) -> Module | None:
        full = f"{module.name}.{name}" if module.name else name
        return self.modules.standard(full) if module.standard else self.modules.source(full)

    def module_attribute(self, module: Module, name: str) -> Values | None:
        """A name of a module: bound there, star-imported, or a submodule. None where there is no such thing."""
        top = module.top
        if top is not None and name in top.bindings:
            found = self.bound(top, name)
            if found and found != UNKNOWN_VALUES:
                return found
        found_star = self.starred(module, name)
        if found_star is not None:
            return found_star
        inner = self.submodule(module, name)
        if inner is not None:
            return (ModuleRef(inner),)
        if top is not None and (name in top.bindings or "__getattr__" in top.bindings):
            return UNKNOWN_VALUES
        return None


def _known(values: Values) -> Values:
    return tuple(value for value in values if value is not ANY)


def _without_shadowed(values: Values) -> Values:
    """Of several functions of one name, a property's setter and overloads that a definition follows are none of their own."""
    functions = [value for value in values if type(value) is Function]
    if len(functions) < 2:
        return values
    dropped = set()
    for value in functions:
        for decorator in value.scope.more.get("decorators", ()):
            last = decorator[-1] if decorator[0] in ("n", "a") else ""
            if last in ("setter", "deleter") or (
                last == "overload" and any(other.qname == value.qname and not _overload(other) for other in functions)
            ):
                dropped.add(id(value))
    return tuple(value for value in values if id(value) not in dropped)


def _overload(function: Function) -> bool:
    return any(item[0] in ("n", "a") and item[-1] == "overload" for item in function.scope.more.get("decorators", ()))
