"""The standard library that is part of how Python code is put together: functools, collections, copy, typing, contextlib,
dataclasses, enum, abc, types. The rest of the standard library is in ``stdlib/``."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cgx.indexer.interpreter import generics, operators
from cgx.indexer.interpreter.cached_functions import cached
from cgx.indexer.interpreter.classes import constructor_of, make_dataclass
from cgx.indexer.interpreter.copies import deep_copy, shallow_copy
from cgx.indexer.interpreter.dataclass_fields import fields_of
from cgx.indexer.interpreter.enums import ENUMS, functional
from cgx.indexer.interpreter.scopes import Site
from cgx.indexer.interpreter.stdlib.support import nothing
from cgx.indexer.interpreter.trace import ScopeNode
from cgx.indexer.interpreter.values import (
    MISSING,
    BoundMethod,
    ClassValue,
    DictValue,
    External,
    FunctionValue,
    GeneratorValue,
    Instance,
    ListValue,
    Native,
    Opaque,
    Partial,
    Property,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from cgx.indexer.interpreter.interp import Interp

Args = list[Value]
Kwargs = dict[str, Value]
Handler = Callable[[Any, Any, Args, Kwargs], Value]


def first_argument(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    """A decorator or call that gives its first argument back."""
    return args[0] if args else kwargs.get("func", Native("identity", first_argument))


# ------------------------------------------------------------------ functools


def _partial(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    func = args[0]
    if isinstance(func, Partial):
        return Partial(func.func, (*func.args, *args[1:]), {**func.kwargs, **kwargs})
    return Partial(func, tuple(args[1:]), kwargs)


def _partialmethod(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    return Partial(args[0], tuple(args[1:]), {**kwargs, "__partialmethod__": True})


def _wraps(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    wrapped = args[0]

    def decorate(interp: Interp, site: Site, inner: Args, kwargs: Kwargs) -> Value:
        if isinstance(inner[0], FunctionValue):
            inner[0].attrs["__wrapped__"] = wrapped
            name = getattr(wrapped, "name", None)
            if isinstance(name, str):
                inner[0].attrs["__name__"] = name
        return inner[0]

    return Native("functools.wraps", decorate)


def _update_wrapper(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    if isinstance(args[0], FunctionValue) and len(args) > 1:
        args[0].attrs["__wrapped__"] = args[1]
    return args[0]


def _cache(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    """``@cache``, ``@lru_cache``, ``@lru_cache(maxsize=...)``."""
    if args and not isinstance(args[0], int | type(None)):
        return cached(args[0], kwargs.get("maxsize", 128))
    size = args[0] if args else kwargs.get("maxsize", 128)
    return Native("functools.lru_cache", lambda interp, site, args, kwargs: cached(args[0], size) if args else NotImplemented)


def _cached_property(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    return Property(args[0], cached=True)


def _reduce(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    items = interp.iterate(args[1], site)
    if not isinstance(items, list):
        return interp.unknown(site.text, "data", site)
    rest = list(items)
    if len(args) > 2:
        value = args[2]
    elif rest:
        value = rest.pop(0)
    else:
        return interp.raise_("TypeError", "reduce() of empty iterable", site)
    for item in rest:
        value = interp.call(args[0], [value, item], {}, site)
    return value


def _singledispatch(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    func = args[0]
    table: list[tuple[Value, Value]] = []

    def call(interp: Interp, site: Site, inner: Args, kw: Kwargs) -> Value:
        for kind, target in table:
            if interp.is_instance(inner[0], kind):
                return interp.call(target, inner, kw, site)
        return interp.call(func, inner, kw, site)

    def register(interp: Interp, site: Site, inner: Args, kw: Kwargs) -> Value:
        kind = inner[0]
        if len(inner) > 1:
            table.append((kind, inner[1]))
            return inner[1]
        if isinstance(kind, FunctionValue) and kind.annotations:
            annotation = next(iter(kind.annotations.values()))
            table.append((interp.annotation(annotation, None), kind))
            return kind

        def add(interp: Interp, site: Site, more: Args, kw: Kwargs) -> Value:
            table.append((kind, more[0]))
            return more[0]

        return Native("singledispatch.register", add)

    return Native("singledispatch", call, {"register": Native("singledispatch.register", register), "__name__": getattr(func, "name", "")})


# ------------------------------------------------------------------ collections


def _ordered(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    result = interp.call(External("dict"), args, kwargs, site)
    if isinstance(result, DictValue):
        result.kind = "OrderedDict"
    return result


def _defaultdict(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    result = interp.call(External("dict"), args[1:], kwargs, site)
    if isinstance(result, DictValue):
        result.kind, result.default = "defaultdict", args[0] if args else None
    return result


def _counter(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    result = DictValue(kind="Counter")
    if args:
        items = interp.iterate(args[0], site)
        if not isinstance(items, list):
            result.open = True
            return result
        for item in items:
            key = interp.key(item)
            result.items[key] = result.items.get(key, 0) + 1
    return result


def _deque(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    return interp.call(External("list"), args[:1], {}, site)


def _namedtuple(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    names = args[1] if len(args) > 1 else kwargs.get("field_names")
    fields = names.replace(",", " ").split() if isinstance(names, str) else interp.iterate(names, site)
    if not isinstance(args[0], str) or not isinstance(fields, list):
        return interp.unknown(site.text, "unsupported", site)
    cls = ClassValue(args[0], args[0], args[0], site.frame.path, site.frame.scope.module, [], [], {}, site.anchor.line)
    cls.mro = [cls]
    cls.info.update(fields=fields, namedtuple=True)
    defaults = interp.iterate(kwargs["defaults"], site) if kwargs.get("defaults") is not None else []
    if isinstance(defaults, list):
        cls.namespace.update(zip(fields[len(fields) - len(defaults) :], defaults))
    return cls


# ------------------------------------------------------------------ copy


def _deepcopy(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    return deep_copy(interp, args[0], site)


def _copy(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    return shallow_copy(interp, args[0], site)


# ------------------------------------------------------------------ typing


def _cast(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    return args[1]


def _new_type(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    return Native("typing.NewType", first_argument)


def _type_var(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    return External("typing.Any")


def _get_args(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    if isinstance(args[0], Unknown):
        return operators.derived(interp, (args[0],), site)
    return generics.arguments_of(args[0])


def _get_origin(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    if isinstance(args[0], Unknown):
        return operators.derived(interp, (args[0],), site)
    return generics.origin_of(args[0])


# ------------------------------------------------------------------ contextlib


def _contextmanager(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    return args[0]


def _suppress(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    return Opaque("contextlib.suppress", {"kinds": tuple(args)})


def _nullcontext(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    return Opaque("contextlib.nullcontext", {"enter_result": args[0] if args else None})


def _null_enter(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    return args[0].attrs.get("enter_result")


def _enter_context(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    manager = args[1]
    if isinstance(manager, Opaque):
        entered = interp.call_opaque(manager, "__enter__", [], {}, site)
        interp.flags.update(manager.attrs.get("flags") or {})
        return manager if entered is NotImplemented else entered
    if isinstance(manager, Instance) and manager.cls.lookup("__enter__") is not MISSING:
        return interp.call_method(manager, "__enter__", [], {}, site)
    return _enter_generator(interp, args[0], manager, site) if isinstance(manager, GeneratorValue) else manager


def _enter_generator(interp: Interp, stack: Value, manager: GeneratorValue, site: Site) -> Value:
    """What it yields is looked up without a trace; it runs round the rest of the ``with`` block of the stack."""
    interp.trail.begin()
    mark = interp.mark()
    try:
        with interp.inside(ScopeNode(site.anchor, site.text), emit=False):
            value = interp.next(manager, site)
    finally:
        interp.trail.rollback()
        interp.reset(mark)
    if isinstance(stack, Opaque):
        stack.attrs.setdefault("cgx.pending", []).append(manager)
    return value


def _exit_stack(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    return Opaque("contextlib.ExitStack")


# ------------------------------------------------------------------ dataclasses


def _dataclass(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    if args and isinstance(args[0], ClassValue):
        return make_dataclass(interp, args[0], kwargs, site)
    options = dict(kwargs)

    def decorate(interp: Interp, site: Site, inner: Args, kw: Kwargs) -> Value:
        return make_dataclass(interp, inner[0], options, site) if isinstance(inner[0], ClassValue) else inner[0]

    return Native("dataclasses.dataclass", decorate)


def _field(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    return Opaque("dataclasses.Field", dict(kwargs), site.anchor)


def _fields(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    cls = args[0].cls if isinstance(args[0], Instance) else args[0]
    if not isinstance(cls, ClassValue):
        return interp.unknown(site.text, "unsupported", site)
    found = fields_of(interp, cls)
    if found is None:
        return interp.raise_("TypeError", "must be called with a dataclass type or instance", site)
    passed_on = constructor_of(next(one for one in cls.mro if isinstance(one, ClassValue) and "dataclass" in one.info)).passed_on
    return tuple(value for name, value in found.items() if name not in passed_on)


def _asdict(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    return _to_dict(interp, args[0], site)


def _to_dict(interp: Interp, value: Value, site: Site) -> Value:
    if isinstance(value, Instance) and any("dataclass" in c.info for c in value.cls.mro if isinstance(c, ClassValue)):
        names = next(c.info["dataclass"] for c in value.cls.mro if isinstance(c, ClassValue) and "dataclass" in c.info)
        result = DictValue({name: _to_dict(interp, value.attrs[name], site) for name in names if name in value.attrs})
        result.origins.update({name: value.origins[name] for name in names if name in value.origins})
        return result
    if isinstance(value, ListValue):
        return ListValue([_to_dict(interp, item, site) for item in value.items], value.open)
    if isinstance(value, DictValue):
        return DictValue({key: _to_dict(interp, item, site) for key, item in value.items.items()}, value.open)
    return value


def _replace(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    value = args[0]
    if not isinstance(value, Instance):
        return operators.derived(interp, (value,), site)
    names: Any = next((c.info["dataclass"] for c in value.cls.mro if isinstance(c, ClassValue) and "dataclass" in c.info), {})
    given = {name: value.attrs[name] for name in names if name in value.attrs and name not in kwargs}
    return interp.call(value.cls, [], {**given, **kwargs}, site)


def _is_dataclass(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    cls = args[0].cls if isinstance(args[0], Instance) else args[0]
    return isinstance(cls, ClassValue) and any("dataclass" in c.info for c in cls.mro if isinstance(c, ClassValue))


# ------------------------------------------------------------------ enum, types, abc, weakref


def _functional_enum(qname: str) -> Callable[..., Value]:
    def call(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
        names = args[1] if len(args) > 1 else kwargs.get("names")
        return NotImplemented if not args or names is None else functional(interp, External(qname), args[0], names, site)

    return call


def _enum_auto(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    return Opaque("enum.auto")


def _method_type(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    return BoundMethod(args[0], args[1])


def _weakref(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    target = args[0]
    return Native("weakref.ref", lambda i, s, a, k: target)


def _itemgetter(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    keys = list(args)
    return Native("operator.itemgetter", lambda i, s, a, k: i.getitem(a[0], keys[0], s) if len(keys) == 1 else tuple(i.getitem(a[0], key, s) for key in keys))


def _attrgetter(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    names = list(args)

    def get(interp: Interp, site: Site, inner: Args, kw: Kwargs) -> Value:
        found = []
        for name in names:
            value = inner[0]
            for part in str(name).split("."):
                value = interp.getattr(value, part, site)
            found.append(value)
        return found[0] if len(found) == 1 else tuple(found)

    return Native("operator.attrgetter", get)


def _operator(kind: type[ast.operator]) -> Handler:
    return lambda interp, site, args, kwargs: operators.binary(interp, kind, args[0], args[1], site)


def _compare(kind: type[ast.cmpop]) -> Handler:
    return lambda interp, site, args, kwargs: operators.compare(interp, kind, args[0], args[1], site)


ENTRIES: dict[str, Handler] = {
    "functools.partial": _partial,
    "functools.partialmethod": _partialmethod,
    "functools.wraps": _wraps,
    "functools.update_wrapper": _update_wrapper,
    "functools.lru_cache": _cache,
    "functools.cache": lambda i, s, a, k: cached(a[0], None),
    "functools.cached_property": _cached_property,
    "functools.reduce": _reduce,
    "functools.singledispatch": _singledispatch,
    "functools.total_ordering": first_argument,
    "collections.OrderedDict": _ordered,
    "collections.defaultdict": _defaultdict,
    "collections.Counter": _counter,
    "collections.deque": _deque,
    "collections.namedtuple": _namedtuple,
    "typing.OrderedDict": _ordered,
    "typing.DefaultDict": _defaultdict,
    "typing.Counter": _counter,
    "typing.Deque": _deque,
    "copy.deepcopy": _deepcopy,
    "copy.copy": _copy,
    "typing.cast": _cast,
    "typing.NewType": _new_type,
    "typing.TypeVar": _type_var,
    "typing.ParamSpec": _type_var,
    "typing.TypeVarTuple": _type_var,
    "typing_extensions.TypeVar": _type_var,
    "typing_extensions.ParamSpec": _type_var,
    "typing.get_args": _get_args,
    "typing.get_origin": _get_origin,
    "typing.overload": first_argument,
    "typing.final": first_argument,
    "typing.runtime_checkable": first_argument,
    "typing.no_type_check": first_argument,
    "typing.override": first_argument,
    "typing_extensions.override": first_argument,
    "typing_extensions.deprecated": lambda i, s, a, k: Native("deprecated", first_argument),
    "warnings.deprecated": lambda i, s, a, k: Native("deprecated", first_argument),
    "typing.dataclass_transform": lambda i, s, a, k: Native("dataclass_transform", first_argument),
    "contextlib.contextmanager": _contextmanager,
    "contextlib.asynccontextmanager": _contextmanager,
    "contextlib.suppress": _suppress,
    "contextlib.nullcontext": _nullcontext,
    "contextlib.nullcontext.__enter__": _null_enter,
    "contextlib.ExitStack": _exit_stack,
    "contextlib.ExitStack.enter_context": _enter_context,
    "contextlib.ExitStack.callback": nothing,
    "contextlib.ExitStack.close": nothing,
    "contextlib.redirect_stdout": _suppress,
    "dataclasses.dataclass": _dataclass,
    "dataclasses.field": _field,
    "dataclasses.fields": _fields,
    "dataclasses.asdict": _asdict,
    "dataclasses.replace": _replace,
    "dataclasses.is_dataclass": _is_dataclass,
    "enum.auto": _enum_auto,
    **{qname: _functional_enum(qname) for qname in sorted(ENUMS)},
    "enum.unique": first_argument,
    "types.MethodType": _method_type,
    "abc.abstractmethod": first_argument,
    "abc.abstractproperty": lambda i, s, a, k: Property(a[0]),
    "weakref.ref": _weakref,
    "weakref.proxy": first_argument,
    "operator.itemgetter": _itemgetter,
    "operator.attrgetter": _attrgetter,
    "operator.add": _operator(ast.Add),
    "operator.mul": _operator(ast.Mult),
    "operator.sub": _operator(ast.Sub),
    "operator.truediv": _operator(ast.Div),
    "operator.floordiv": _operator(ast.FloorDiv),
    "operator.mod": _operator(ast.Mod),
    "operator.pow": _operator(ast.Pow),
    "operator.eq": _compare(ast.Eq),
    "operator.ne": _compare(ast.NotEq),
    "operator.lt": _compare(ast.Lt),
    "operator.le": _compare(ast.LtE),
    "operator.gt": _compare(ast.Gt),
    "operator.ge": _compare(ast.GtE),
    "atexit.register": first_argument,
}
CONSTANTS: dict[str, Value] = {
    "typing.TYPE_CHECKING": False,
    "typing_extensions.TYPE_CHECKING": False,
}
