"""What an expression may stand for: lookup of names, and the plain forms of expressions.

Flow-insensitive: a name stands for all that is bound to it in its scope. Results are remembered; a name that is asked for
while it is being looked up adds nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cgx.indexer.names.facts import Expr
from cgx.indexer.names.library import library
from cgx.indexer.names.modules import Module, Modules
from cgx.indexer.names.stdlib import StandardLibrary
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
    ModuleRef,
    Result,
    Row,
    Scope,
    Sequence,
    TypeOf,
    Values,
    union,
)

MAX_DEPTH = 60  # nested evaluations; deeper ones are not known
UNKNOWN_VALUES: Values = (ANY,)
TENSORS = ("torch.Tensor", "torch.nn.Parameter", "torch.distributed.tensor.DTensor", "torch.nn.parameter.Buffer")


class EvaluatorBase:
    """The state all parts of the evaluator share, and the interface between them."""

    def __init__(self, modules: Modules, standard: StandardLibrary) -> None:
        self.modules = modules
        self.library = library()
        self.depth = 0
        self._externals = standard.externals
        self._external_instances = standard.external_instances
        self._builtin_instances = standard.builtin_instances

    def ev(self, scope: Scope, expr: Expr) -> Values:
        """What an expression may stand for where ``scope`` is."""
        raise NotImplementedError

    def attribute(self, value: Any, name: str) -> Values:
        """What ``value.name`` may stand for."""
        raise NotImplementedError

    def call(self, value: Any, scope: Scope, args: tuple[Expr, ...], keywords: tuple[Any, ...]) -> Values:
        """What calling ``value`` may give."""
        raise NotImplementedError

    def annotated(self, scope: Scope, annotation: Expr) -> Values:
        """Instances of an annotation."""
        raise NotImplementedError

    def elements(self, value: Any) -> Values:
        """What iterating over ``value`` may give."""
        raise NotImplementedError

    def item(self, value: Any, key: Expr) -> Values:
        """What ``value[key]`` may give."""
        raise NotImplementedError

    def external(self, qname: str) -> External:
        """The one object for a name outside."""
        qname = self.library.canonical(qname)
        known = self._externals.get(qname)
        if known is None:
            known = self._externals[qname] = External(qname)
        return known

    def external_instance(self, qname: str, guess: bool = False) -> ExternalInstance:
        qname = self.library.canonical(qname)
        known = self._external_instances.get(qname)
        if known is None:
            known = self._external_instances[qname] = ExternalInstance(qname, guess)
        return known

    def builtin(self, name: str) -> Values:
        """An instance of a built-in type."""
        known = self._builtin_instances.get(name)
        if known is None:
            known = self._builtin_instances[name] = self._make_builtin(name)
        return known

    def builtin_class(self, name: str) -> Class | None:
        return self.standard_class("builtins", name)

    def standard_class(self, module_name: str, name: str) -> Class | None:
        module = self.modules.standard(module_name)
        top = module.top if module is not None else None
        values = self.bound(top, name) if top is not None and name in top.bindings else ()
        return next((value for value in values if type(value) is Class), None)

    def _make_builtin(self, name: str) -> Values:
        if name == "None" or name == "NoneType":
            return (NONE,)
        cls = self.builtin_class(name)
        return (cls.instance,) if cls is not None else (self.external_instance(f"builtins.{name}"),)

    def bound(self, scope: Scope, name: str) -> Values:
        """What a name bound in this very scope may stand for."""
        raise NotImplementedError


class Evaluator(EvaluatorBase):
    """Names, displays, operators. Attributes, calls and containers are added by the classes that build on this."""

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

    # Names

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
        result = []
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
            return value.instances  # type: ignore[no-any-return]
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
            return value.items if value.kind == "context" else UNKNOWN_VALUES  # type: ignore[no-any-return]
        if kind is Instance or kind is ExternalInstance:
            methods = self.attribute(value, "__enter__") or self.attribute(value, "__aenter__")
            found = union([self.call(method, scope, (), ()) for method in methods])
            if not informative(found) and kind is ExternalInstance:
                return (value,)
            return found or UNKNOWN_VALUES
        return (value,) if kind is Result else UNKNOWN_VALUES

    # Operators

    def is_tensor(self, value: Any) -> bool:
        return type(value) is ExternalInstance and (
            value.qname in TENSORS or self.library.derives(value.qname, "torch.Tensor")
        )

    def tensor(self) -> Values:
        return (self.external_instance("torch.Tensor"),)

    def _ev_compare(self, scope: Scope, expr: Expr) -> Values:
        known = True
        for side in expr[2:]:
            values = self.ev(scope, side)
            if any(self.is_tensor(value) for value in values):
                return self.tensor()
            known = known and not any(value is ANY or type(value) is Result for value in values)
        return self.builtin("bool") if known else UNKNOWN_VALUES

    def _ev_operator(self, scope: Scope, expr: Expr) -> Values:
        _, operator, left, right = expr
        lefts, rights = self.ev(scope, left), self.ev(scope, right)
        for value in (*lefts, *rights):
            if self.is_tensor(value):
                return self.tensor()
        results: list[Values] = []
        for value in lefts:
            results.append(self._operated(value, operator, rights, scope, right))
        found = union(results)
        return found if informative(found) or not lefts else union([found, UNKNOWN_VALUES])

    def _operated(self, value: Any, operator: str, rights: Values, scope: Scope, right: Expr) -> Values:
        kind = type(value)
        if kind is Sequence or kind is Row:
            if operator == "*":
                return (Sequence("list" if kind is Sequence else "tuple", self.elements(value)),)
            if operator == "+":
                rest = [self.elements(other) for other in rights if type(other) in (Sequence, Row)]
                name = value.kind if kind is Sequence else "tuple"
                return (Sequence(name, union([self.elements(value), *rest])),)
            return (value,)
        if kind is Instance and value.cls.scope.module.standard:
            name = value.cls.scope.name
            if name in ("int", "float", "bool"):
                return self._number(name, operator, rights)
            if name in ("str", "bytes"):
                return (value,)
            if name in ("Path", "PurePath", "PosixPath") and operator == "/":
                return (value,)
            if name in ("datetime", "timedelta", "Counter"):
                return (value,)
        if kind is Instance:
            method = _DUNDERS.get(operator)
            if method:
                found = [self.call(item, scope, (right,), ()) for item in self.attribute(value, method)]
                return union(found) or UNKNOWN_VALUES
        if kind is Class or kind is External or value is NONE:  # ``A | None`` in an annotation or isinstance
            return union([(value,), rights]) if operator == "|" else UNKNOWN_VALUES
        if kind is Mapping and operator == "|":
            return (value,)
        return UNKNOWN_VALUES

    def _number(self, name: str, operator: str, rights: Values) -> Values:
        floats = (
            operator == "/"
            or name == "float"
            or any(type(other) is Instance and other.cls.scope.name == "float" for other in rights)
        )
        if any(other is ANY or type(other) in (Result, ExternalInstance) for other in rights):
            return union([self.builtin("float" if floats else "int"), UNKNOWN_VALUES])
        for other in rights:  # 2 * [x], 2 * "x"
            if operator == "*" and (
                type(other) in (Sequence, Row) or (type(other) is Instance and other.cls.scope.name == "str")
            ):
                return (other,)
        return self.builtin("float" if floats else "int")


_DUNDERS = {
    "+": "__add__", "-": "__sub__", "*": "__mul__", "/": "__truediv__", "//": "__floordiv__", "%": "__mod__",
    "**": "__pow__", "@": "__matmul__", "|": "__or__", "&": "__and__", "^": "__xor__",
}  # fmt: skip


def informative(values: Values) -> bool:
    """Whether the values say more than None, or that nothing is known."""
    return any(value is not ANY and value is not NONE for value in values)


def is_weak(value: Any) -> bool:
    """A value that a declaration gives and that names nothing: any callable, a dict of any callables."""
    kind = type(value)
    if kind is Callback or value is ANY or value is NONE:
        return True
    if kind is Sequence:
        return all(is_weak(item) for item in value.items)
    if kind is Mapping:
        return not value.entries and all(is_weak(item) for item in value.any_value)
    return kind is TypeOf and all(is_weak(item) for item in value.instances)


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


__all__ = ["UNKNOWN_VALUES", "Bound", "Evaluator", "EvaluatorBase", "informative"]
