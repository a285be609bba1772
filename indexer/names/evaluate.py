"""What an expression may stand for: one method for each form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cgx.indexer.names.base import UNKNOWN_VALUES, informative, is_weak
from cgx.indexer.names.facts import Expr
from cgx.indexer.names.lookup import Lookup
from cgx.indexer.names.modules import Modules
from cgx.indexer.names.stdlib import StandardLibrary
from cgx.indexer.names.values import (
    NONE,
    Class,
    External,
    ExternalInstance,
    Function,
    Instance,
    Mapping,
    ModuleRef,
    Result,
    Row,
    Scope,
    Sequence,
    TypeOf,
    Values,
    union,
)  # fmt: skip

MAX_DEPTH = 60  # nested evaluations; deeper ones are not known


class Evaluator(Lookup):
    """Adds the forms of expressions. Attributes, calls and containers are added by the classes that build on this."""

    def __init__(self, modules: Modules, standard: StandardLibrary) -> None:
        super().__init__(modules, standard)
        self._forms: dict[str, Callable[[Scope, Expr], Values]] = {
            "n": self._ev_name, "a": self._ev_attribute, "c": self._ev_call, "i": self._ev_item, "s": self._ev_string,
            "int": self._ev_int, "k": self._ev_kind, "L": self._ev_list, "T": self._ev_tuple, "D": self._ev_dict,
            "o": self._ev_either, "b": self._ev_operator, "cmp": self._ev_compare, "lc": self._ev_comprehension,
            "dc": self._ev_dict_comprehension, "@": self._ev_elsewhere, "f": self._ev_lambda, "aw": self._ev_await,
            "im": self._ev_import, "sub": self._ev_nothing, "def": self._ev_owner, "cls": self._ev_owner,
            "el": self._ev_element, "en": self._ev_entered, "ti": self._ev_position, "st": self._ev_rest,
            "ann": self._ev_annotated, "exc": self._ev_caught, "par": self._ev_parameter, "nar": self._ev_narrowed,
            "x": self._ev_external, "*": self._ev_element, "add": self._ev_inner,
        }  # fmt: skip

    def ev(self, scope: Scope, expr: Expr) -> Values:
        if self.depth > MAX_DEPTH:
            return UNKNOWN_VALUES
        form = self._forms.get(expr[0])
        if form is None:
            return UNKNOWN_VALUES
        self.depth += 1
        try:
            return form(scope, expr)
        finally:
            self.depth -= 1

    # Names and imports

    def _ev_name(self, scope: Scope, expr: Expr) -> Values:
        found = self.lookup(scope, expr[1])
        return UNKNOWN_VALUES if found is None else found

    def _ev_import(self, scope: Scope, expr: Expr) -> Values:
        _, level, wanted, name = expr
        importer = scope.module
        source = self.modules.find(importer, level, wanted)
        if source is not None:
            if not name:
                return (ModuleRef(source),)
            found = self.module_attribute(source, name) if source is not importer or not importer.package else None
            if found is None:
                inner = self.submodule(source, name)
                found = (ModuleRef(inner),) if inner is not None else None
            if found is None and source is importer:
                found = self.module_attribute(source, name)
            return UNKNOWN_VALUES if found is None else found
        absolute = importer.absolute(level, wanted)
        if name:
            inner = self.modules.find(importer, level, f"{wanted}.{name}" if wanted else name)
            if inner is not None:
                return (ModuleRef(inner),)
        if level or self.modules.is_folder(absolute):
            # Inside the source: a module that is not there (built, generated), or a namespace package.
            if not name and self.modules.is_folder(absolute):
                return (self.external(absolute),)
            return (Result(f"{absolute}.{name}" if name else absolute),) if level else UNKNOWN_VALUES
        return (self.external(f"{absolute}.{name}" if name else absolute),)

    # Definitions and bindings

    def _ev_owner(self, scope: Scope, expr: Expr) -> Values:
        owner = scope.module.scopes[expr[1]].owner
        return () if owner is None else (owner,)

    def _ev_lambda(self, scope: Scope, expr: Expr) -> Values:
        return self._ev_owner(scope, expr)

    def _ev_elsewhere(self, scope: Scope, expr: Expr) -> Values:
        return self.ev(scope.module.scopes[expr[1]], expr[2])

    def _ev_nothing(self, scope: Scope, expr: Expr) -> Values:
        return ()

    def _ev_inner(self, scope: Scope, expr: Expr) -> Values:
        return self.ev(scope, expr[1])

    def _ev_external(self, scope: Scope, expr: Expr) -> Values:
        return (self.external_instance(expr[1]),)

    def _ev_annotated(self, scope: Scope, expr: Expr) -> Values:
        return self.annotated(scope, expr[1])

    def _ev_narrowed(self, scope: Scope, expr: Expr) -> Values:
        classes = self.ev(scope, expr[1])
        flat: list[Any] = []
        for value in classes:
            flat.extend(union(value.items) if type(value) is Row else [value])
        return union([self.instances_of(value) for value in flat])

    def _ev_caught(self, scope: Scope, expr: Expr) -> Values:
        return self._ev_narrowed(scope, expr)

    def instances_of(self, value: Any) -> Values:
        """Instances of what stands for a class."""
        kind = type(value)
        if kind is Class:
            return (value.declared,)
        if kind is External:
            return (self.external_instance(value.qname, not self.library.knows(value.qname)),)
        if kind is TypeOf:
            return value.instances
        return () if value is NONE else UNKNOWN_VALUES

    def _ev_parameter(self, scope: Scope, expr: Expr) -> Values:
        function = scope.owner
        _, how, hint, default = scope.more["parameters"][expr[1]]
        if isinstance(function, Function) and function.cls is not None and expr[1] == 0 and scope.more.get("self"):
            decorators = scope.more.get("decorators", ())
            if any(item[-1] == "classmethod" for item in decorators) or function.scope.name in (
                "__new__", "__init_subclass__", "__class_getitem__",
            ):  # fmt: skip
                return (function.cls,)
            return (function.cls.declared,)
        outer = scope.parent or scope
        if hint is not None:
            values = self.annotated(outer, hint)
            if how == 2:
                return (Sequence("tuple", values),)
            if how == 3:
                return (Mapping((), self.builtin("str"), values),)
            if informative(values):
                if default is not None and all(is_weak(value) or type(value) is TypeOf for value in values):
                    # ``norm: type[nn.Module] = LayerNorm``: what it is when nobody says otherwise
                    given = tuple(value for value in self.ev(outer, default) if value is not NONE)
                    return union([given, UNKNOWN_VALUES]) if informative(given) else values
                return values
        if how == 2:
            return (Sequence("tuple", UNKNOWN_VALUES),)
        if how == 3:
            return (Mapping((), self.builtin("str"), UNKNOWN_VALUES),)
        if default is not None:
            return union([tuple(v for v in self.ev(outer, default) if v is not NONE), UNKNOWN_VALUES])
        return UNKNOWN_VALUES

    # Plain forms

    def _ev_string(self, scope: Scope, expr: Expr) -> Values:
        return self.builtin("str")

    def _ev_int(self, scope: Scope, expr: Expr) -> Values:
        return self.builtin("int")

    def _ev_kind(self, scope: Scope, expr: Expr) -> Values:
        return self.builtin(expr[1])

    def _ev_attribute(self, scope: Scope, expr: Expr) -> Values:
        name = expr[2]
        base = self.ev(scope, expr[1])
        if len(base) == 1:
            return self.attribute(base[0], name)
        return union([self.attribute(value, name) for value in base])

    def _ev_call(self, scope: Scope, expr: Expr) -> Values:
        _, callee, args, keywords = expr
        values = self.ev(scope, callee)
        if len(values) == 1:
            return self.call(values[0], scope, args, keywords)
        return union([self.call(value, scope, args, keywords) for value in values])

    def _ev_item(self, scope: Scope, expr: Expr) -> Values:
        return union([self.item(value, expr[2]) for value in self.ev(scope, expr[1])])

    def _ev_list(self, scope: Scope, expr: Expr) -> Values:
        return (Sequence(expr[1], union([self.ev(scope, item) for item in expr[2]])),)

    def _ev_tuple(self, scope: Scope, expr: Expr) -> Values:
        items = expr[1]
        if len(items) > 12 or any(item[0] == "*" for item in items):
            return (Sequence("tuple", union([self.ev(scope, item) for item in items])),)
        return (Row(tuple([self.ev(scope, item) for item in items])),)

    def _ev_dict(self, scope: Scope, expr: Expr) -> Values:
        entries: dict[str, Values] = {}
        keys: list[Values] = []
        others: list[Values] = []
        for key, value in expr[1]:
            held = self.ev(scope, value)
            if key is None:  # a spread
                for spread in held:
                    if type(spread) is Mapping:
                        entries.update(spread.entries)
                        others.append(spread.any_value)
                        keys.append(spread.any_key)
            elif key[0] == "s":
                entries[key[1]] = held
            else:
                keys.append(self.ev(scope, key))
                others.append(held)
        if entries:
            keys.append(self.builtin("str"))
        return (Mapping(tuple(entries.items()), union(keys), union(others)),)

    def _ev_either(self, scope: Scope, expr: Expr) -> Values:
        return union([self.ev(scope, item) for item in expr[1]])

    def _ev_comprehension(self, scope: Scope, expr: Expr) -> Values:
        return (Sequence(expr[1], self.ev(scope, expr[2])),)

    def _ev_dict_comprehension(self, scope: Scope, expr: Expr) -> Values:
        for value in self.ev(scope, expr[1]):
            if type(value) is Row and len(value.items) == 2:
                return (Mapping((), value.items[0], value.items[1]),)
        return (Mapping((), UNKNOWN_VALUES, UNKNOWN_VALUES),)

    def _ev_await(self, scope: Scope, expr: Expr) -> Values:
        return self.ev(scope, expr[1])

    def _ev_element(self, scope: Scope, expr: Expr) -> Values:
        return union([self.elements(value) for value in self.ev(scope, expr[1])])

    def _ev_position(self, scope: Scope, expr: Expr) -> Values:
        return union([self._at(value, expr[2]) for value in self.ev(scope, expr[1])])

    def _at(self, value: Any, position: int) -> Values:
        if type(value) is Row:
            return value.items[position] if position < len(value.items) else ()
        return self.elements(value)

    def _ev_rest(self, scope: Scope, expr: Expr) -> Values:
        return (Sequence("list", union([self.elements(value) for value in self.ev(scope, expr[1])])),)

    def _ev_entered(self, scope: Scope, expr: Expr) -> Values:
        return union([self.entered(value, scope) for value in self.ev(scope, expr[1])])

    def entered(self, value: Any, scope: Scope) -> Values:
        """What ``with value as x`` binds."""
        kind = type(value)
        if kind is Sequence:
            return value.items if value.kind == "context" else UNKNOWN_VALUES
        if kind is Instance or kind is ExternalInstance:
            methods = self.attribute(value, "__enter__") or self.attribute(value, "__aenter__")
            found = union([self.call(method, scope, (), ()) for method in methods])
            if not informative(found) and kind is ExternalInstance:
                return (value,)
            return found or UNKNOWN_VALUES
        return (value,) if kind is Result else UNKNOWN_VALUES
