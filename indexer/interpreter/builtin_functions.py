"""Python's builtin functions and types on abstract values: ENTRIES by bare name."""

from __future__ import annotations

import ast
import builtins
import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cgx.indexer.interpreter import open_dicts, operators
from cgx.indexer.interpreter.items import opened
from cgx.indexer.interpreter.joins import join, same
from cgx.indexer.interpreter.scopes import Site
from cgx.indexer.interpreter.signals import Raised
from cgx.indexer.interpreter.values import (
    MISSING,
    Alternatives,
    BoundMethod,
    ByRank,
    ClassValue,
    DictValue,
    External,
    FunctionValue,
    GeneratorValue,
    Instance,
    ListValue,
    ModuleInstance,
    Native,
    Opaque,
    Partial,
    Sequence,
    SetValue,
    Super,
    TensorValue,
    Unknown,
    Value,
)
from cgx.indexer.ops.dims import Dim, less

if TYPE_CHECKING:
    from cgx.indexer.interpreter.interp import Interp

Args = list[Value]
Kwargs = dict[str, Value]
Handler = Callable[[Any, Any, Args, Kwargs], Value]


def _len(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    value = args[0]
    if operators.several(value):
        return operators.lift(interp, (value,), lambda v: _len(interp, site, [v], {}))
    if isinstance(value, tuple | str | bytes | range):
        return len(value)
    if isinstance(value, Unknown) and value.hint == "str" and value.least:
        length = operators.derived(interp, (value,), site, "int")
        length.least = value.least
        return length
    if isinstance(value, ListValue | SetValue | DictValue):
        unsure = open_dicts.extent(value) if isinstance(value, DictValue) else value.open
        return interp.unknown(site.text, "data", site, "int") if unsure else len(value.items)
    if isinstance(value, Sequence):
        return value.length
    if isinstance(value, TensorValue):
        size = value.shape[0] if value.shape else None
        return interp.unknown(site.text, "data", site, "int") if size is None else size
    if isinstance(value, Instance):
        value = interp.materialise(value)
        if value.cls.lookup("__len__") is not MISSING:
            return _of_data(value, interp.call_method(value, "__len__", [], {}, site), site)
        if value.cls.info.get("namedtuple"):
            return len(value.cls.info["fields"])
        found = interp.external_method(value, "__len__", [], {}, site)
        if found is not NotImplemented:
            return found
    if isinstance(value, Opaque):
        found = interp.call_opaque(value, "__len__", [], {}, site)
        if found is not NotImplemented:
            return found
    if isinstance(value, ClassValue) and "members" in value.info:
        return len(value.info["members"])
    if isinstance(value, Unknown):
        return Unknown(site.text, value.reason, value.anchor, "int")
    return interp.unknown(site.text, "data", site, "int")


def _of_data(owner: Instance, length: Value, site: Site) -> Value:
    """The length of a data set that nobody knows is at least 1: the job runs on it."""
    if not isinstance(length, Unknown) or length.least is not None or not owner.cls.derives("torch.utils.data.Dataset"):
        return length
    found = Unknown(length.name, length.reason, length.anchor or site.anchor, "int", length.settle, length.guard)
    found.least = 1
    return found


def _range(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    if operators.several(*args):
        return operators.lift(interp, tuple(args), lambda *each: _range(interp, site, list(each), {}))
    values = [_as_int(arg) for arg in args]
    if all(isinstance(value, int) for value in values):
        try:
            return range(*values)
        except (TypeError, ValueError) as error:
            return interp.raise_(type(error).__name__, str(error), site)
    for value in args:
        if isinstance(value, TensorValue):
            interp.transfer("conversion", value, site)
    index = Unknown("i", "loop-carried", site.anchor, "int")
    start, stop = (0, args[0]) if len(args) == 1 else (args[0], args[1])
    length: Value = stop
    if isinstance(stop, int | Dim) and isinstance(start, int | Dim) and len(args) < 3:
        length = stop - start
    elif not (isinstance(start, int) and start == 0 and len(args) < 3) or not isinstance(stop, Unknown):
        length = operators.derived(interp, tuple(args), site, "int")
    return Sequence(index, length, "range", site.anchor)


def _as_int(value: Value) -> Value:
    if isinstance(value, TensorValue) and isinstance(value.const, int):
        return value.const
    return value


def _number(kind: type) -> Handler:
    def convert(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
        if not args:
            return kind()
        value = args[0]
        if operators.several(value):
            return operators.lift(interp, (value,), lambda v: convert(interp, site, [v, *args[1:]], {}))
        if isinstance(value, TensorValue):
            if isinstance(value.const, int | float | bool):
                return kind(value.const)
            interp.transfer("conversion", value, site)
            return interp.unknown(site.text, "data", site, kind.__name__)
        if isinstance(value, Dim) and kind is int:
            return value
        if isinstance(value, Unknown):
            return Unknown(site.text, value.reason, value.anchor, kind.__name__, value.settle or ("--set", value.name))
        if isinstance(value, Instance):
            method = f"__{kind.__name__}__"
            if value.cls.lookup(method) is not MISSING:
                return interp.call_method(value, method, [], {}, site)
            if isinstance(value.attrs.get("value"), int | float | str):
                value = value.attrs["value"]
        if isinstance(value, Opaque):
            found = interp.call_opaque(value, f"__{kind.__name__}__", [], {}, site)
            if found is not NotImplemented:
                return found
        try:
            return kind(value, *args[1:])
        except (TypeError, ValueError, OverflowError) as error:
            if isinstance(value, int | float | str | bytes | type(None)):
                return interp.raise_(type(error).__name__, str(error), site)
            return interp.unknown(site.text, "unsupported", site, kind.__name__)

    return convert


def _bool(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    if not args:
        return False
    value = args[0]
    if operators.several(value):
        return operators.lift(interp, (value,), lambda v: _bool(interp, site, [v], {}))
    truth = interp.truth(value)
    if truth is None:
        if isinstance(value, TensorValue):
            interp.transfer("conversion", value, site)
        return operators.derived(interp, (value,), site, "bool")
    return truth


def _str(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    if not args:
        return ""
    return operators.lift(interp, (args[0],), lambda v: interp.to_text(v, site))


def _repr(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    return operators.lift(interp, (args[0],), lambda v: interp.to_text(v, site, True))


def _listing(make: Callable[[Interp, list[Value], bool], Value]) -> Handler:
    def build(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
        if not args:
            return make(interp, [], False)
        value = args[0]
        if isinstance(value, Alternatives):
            return operators.lift(interp, (value,), lambda v: build(interp, site, [v], {}))
        items = interp.iterate(value, site)
        if isinstance(items, list):
            return make(interp, items, False)
        if isinstance(items, Sequence):
            return Sequence(items.element, items.length, "list", site.anchor)
        return Unknown(site.text, items.reason, items.anchor) if not isinstance(value, ListValue) else ListValue(list(value.items), True)

    return build


def _to_list(interp: Interp, items: list[Value], is_open: bool) -> Value:
    return ListValue(list(items), is_open)


def _to_tuple(interp: Interp, items: list[Value], is_open: bool) -> Value:
    return tuple(items)


def _to_set(interp: Interp, items: list[Value], is_open: bool) -> Value:
    return interp.make_set(items, is_open)


def _dict(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    result = DictValue()
    if args:
        found = interp.as_mapping(args[0], site)
        if found is None:
            result.open = True
        else:
            result.items.update(found)
            result.open = isinstance(args[0], DictValue) and args[0].open
            if isinstance(args[0], DictValue):
                result.other = args[0].other
                result.origins.update(args[0].origins)
    spread = kwargs.pop("*", MISSING)
    result.items.update(kwargs)
    node = site.node
    if isinstance(node, ast.Call):
        for keyword in node.keywords:
            if keyword.arg:
                result.origins[keyword.arg] = site.frame.anchor(keyword.value)
    result.open |= spread is not MISSING
    return result


def _isinstance(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    return operators.lift(interp, (args[0],), lambda v: _isinstance_one(interp, v, args[1], site))


def _isinstance_one(interp: Interp, value: Value, kind: Value, site: Site) -> Value:
    verdict = interp.is_instance(value, kind)
    return operators.derived(interp, (value, kind), site, "bool") if verdict is None else verdict


def _issubclass(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    kinds = args[1] if isinstance(args[1], tuple) else (args[1],)
    cls = interp.as_class(args[0])
    if isinstance(cls, Unknown):
        return operators.derived(interp, (args[0],), site, "bool")
    answers = [interp.is_subclass(cls, interp.as_class(kind)) for kind in kinds]
    return True if True in answers else interp.unknown(site.text, "missing-module", site, "bool") if None in answers else False


def _no_attribute(error: Raised) -> bool:
    return error.kind == "AttributeError"


def _getattr(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    owner, name = args[0], args[1]
    if operators.several(name):
        return operators.lift(interp, (name,), lambda n: _getattr(interp, site, [owner, n, *args[2:]], {}))
    if not isinstance(name, str):
        return operators.derived(interp, (name,), site)
    if len(args) < 3:
        return interp.getattr(owner, name, site)
    if isinstance(owner, External) and interp.has_external(f"{owner.qname}.{name}") is False:
        return args[2]
    if isinstance(owner, TensorValue) and owner.library == "torch" and owner.cls is None and not interp.has_builtin_attribute(owner, name):
        return args[2]  # a mark that jobs set on some parameters
    try:
        with interp.catching(_no_attribute):
            found = interp.getattr(owner, name, site)
    except Raised as error:
        if error.kind == "AttributeError":
            return args[2]
        raise
    if isinstance(found, Unknown) and isinstance(owner, Unknown):
        return Unknown(site.text, owner.reason, owner.anchor, settle=owner.settle or ("--set", owner.name))
    return found


def _hasattr(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    owner, name = args[0], args[1]
    if operators.several(owner):
        return operators.lift(interp, (owner,), lambda o: _hasattr(interp, site, [o, name], {}))
    if not isinstance(name, str):
        return operators.derived(interp, (name,), site, "bool")
    if isinstance(owner, Instance | ModuleInstance) and name.startswith("__") and not name.endswith("__"):
        return False  # what a class body writes with two underscores has the class's name before it
    if isinstance(owner, External):
        known = interp.has_external(f"{owner.qname}.{name}")
        return interp.unknown(site.text, "missing-module", site, "bool") if known is None else known
    if isinstance(owner, Opaque):
        known = interp.call_opaque(owner, "__hasattr__", [name], {}, site)
        if known is not NotImplemented:
            return known
        return True if name in owner.attrs or interp.has_handler(owner.qname, name) else interp.unknown(site.text, "unmodelled", site, "bool")
    if isinstance(owner, TensorValue | ListValue | DictValue | SetValue | tuple | str | int | float | Sequence | GeneratorValue | type(None)):
        return interp.has_builtin_attribute(owner, name)
    try:
        with interp.catching(_no_attribute):
            found = interp.getattr(owner, name, site)
    except Raised as error:
        if error.kind == "AttributeError":
            return False
        raise
    if isinstance(found, Unknown) and not (isinstance(owner, Instance) and name in owner.attrs):
        return operators.derived(interp, (found,), site, "bool")
    return True


def _setattr(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    if isinstance(args[1], str):
        interp.setattr(args[0], args[1], args[2], site)
    elif isinstance(args[0], Instance):
        interp.trail.set(args[0], "open", True)
        _doubt_defaults(interp, args[0], args[1], site)
    return None


def _doubt_defaults(interp: Interp, owner: Instance, key: Value, site: Site) -> None:
    """An attribute whose name is not known is set: any default that its class states may be another value."""
    for cls in owner.cls.mro:
        for name, value in cls.namespace.items() if isinstance(cls, ClassValue) and not cls.native else ():
            if name not in owner.attrs and not name.startswith("__") and (value is None or isinstance(value, int | float | str | bool)):
                text = f"{owner.cls.name}.{name}"
                found = Unknown(text, getattr(key, "reason", "data"), site.anchor, settle=("--set", text))
                interp.trail.set_item(owner.attrs, name, found)


def _delattr(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    if isinstance(args[1], str):
        interp.delattr(args[0], args[1], site)
    return None


def _callable(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    value = args[0]
    if isinstance(value, FunctionValue | ClassValue | BoundMethod | Partial | Native | ModuleInstance):
        return True
    if isinstance(value, External):
        return True
    if isinstance(value, Instance):
        return value.cls.lookup("__call__") is not MISSING
    if isinstance(value, Unknown | Opaque | Alternatives | ByRank):
        return operators.derived(interp, (value,), site, "bool")
    return False


def _type(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    if len(args) == 3:
        return interp.make_type(args[0], args[1], args[2], site)
    value = args[0]
    if operators.several(value):
        return operators.lift(interp, (value,), lambda v: _type(interp, site, [v], {}))
    if isinstance(value, Instance):
        return value.cls
    if isinstance(value, External) and value.qname == "dataclasses.MISSING":
        return External("dataclasses._MISSING_TYPE")
    if isinstance(value, ClassValue):
        return value.metaclass or External("type")
    if isinstance(value, TensorValue):
        return value.cls or External("torch.nn.Parameter" if value.parameter else "torch.Tensor" if value.library == "torch" else "numpy.ndarray")
    if isinstance(value, ListValue | DictValue | SetValue):
        return External({ListValue: "list", DictValue: "dict", SetValue: "set"}[type(value)])
    if isinstance(value, Opaque):
        return External(value.qname)
    if value is None:
        return External("NoneType")
    for kind in (bool, int, float, complex, str, bytes, tuple, range, slice):
        if isinstance(value, kind):
            return External(kind.__name__)
    if isinstance(value, Dim):
        return External("int")
    if isinstance(value, FunctionValue):
        return External("types.FunctionType")
    return operators.derived(interp, (value,), site)


def _enumerate(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    start = args[1] if len(args) > 1 else kwargs.get("start", 0)
    source = interp.pick(args[0])
    if isinstance(source, GeneratorValue):
        return Opaque("builtins.enumerate", {"source": source, "start": start})
    items = opened(interp, source, site) if isinstance(source, Instance) else interp.iterate(source, site)
    if isinstance(items, GeneratorValue):
        return Opaque("builtins.enumerate", {"source": items, "start": start})
    if isinstance(items, list):
        if isinstance(start, int):
            return ListValue([(start + index, item) for index, item in enumerate(items)])
        return ListValue([(operators.derived(interp, (start,), site, "int"), item) for item in items])
    index = numbered(site, start)
    if isinstance(items, Sequence):
        return Sequence((index, items.element), items.length, items.qname, items.anchor, _wrap_next(interp, items, lambda v: (index, v)))
    return Sequence((index, Unknown(f"element of {site.text}", items.reason, items.anchor)), items, "")


def numbered(site: Site, start: Value) -> Unknown:
    """The number of a round: never below the first."""
    index = Unknown("i", "loop-carried", site.anchor, "int")
    index.least = start if isinstance(start, int) else None
    return index


def _enumerate_iter(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    """``enumerate(generator)`` where all its elements are asked for at once."""
    items = interp.iterate(args[0].attrs["source"], site)
    if isinstance(items, Unknown):
        return items
    return _enumerate(interp, site, [ListValue(items) if isinstance(items, list) else items, args[0].attrs["start"]], {})


def _enumerate_next(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    return (numbered(site, args[0].attrs["start"]), interp.next(args[0].attrs["source"], site))


def _wrap_next(interp: Interp, items: Sequence, shape: Callable[[Value], Value]) -> dict[str, Value]:
    on_next = items.attrs.get("on_next")
    if on_next is None:
        return {}
    return {"on_next": Native("enumerate.__next__", lambda i, s, a, k: shape(i.call(on_next, [], {}, s)))}


def _zip(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    if not args:
        return ListValue()
    found = [interp.iterate(arg, site) for arg in args]
    lists = [items for items in found if isinstance(items, list)]
    if len(lists) == len(found):
        return ListValue([tuple(row) for row in zip(*lists)])
    elements: list[Value] = []
    length: Value = None
    for items in found:
        if isinstance(items, list):
            elements.append(_join_items(items, site))
        elif isinstance(items, Sequence):
            elements.append(items.element)
            length = items.length if length is None else length
        else:
            elements.append(Unknown(f"element of {site.text}", items.reason, items.anchor))
            length = items if length is None else length
    if lists:
        shortest = min(len(items) for items in lists)
        others = [items.length for items in found if isinstance(items, Sequence)]
        if any(isinstance(size, int) and size >= shortest for size in others) or any(getattr(s, "qname", "") == "itertools.count" for s in found):
            return ListValue([tuple(items[i] if isinstance(items, list) else elements[j] for j, items in enumerate(found)) for i in range(shortest)])
    return Sequence(tuple(elements), length, "zip", site.anchor)


def _join_items(items: list[Value], site: Site) -> Value:
    if not items:
        return Unknown(f"element of {site.text}", "data", site.anchor)
    result = items[0]
    for item in items[1:]:
        result = join(result, item, "another element", site.anchor, site.text)
    return result


def _map(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    found = [interp.iterate(arg, site) for arg in args[1:]]
    if all(isinstance(items, list) for items in found):
        return ListValue([interp.call(args[0], list(row), {}, site) for row in zip(*found)])
    first = next(items for items in found if not isinstance(items, list))
    elements = [
        _join_items(items, site) if isinstance(items, list) else items.element if isinstance(items, Sequence) else Unknown(f"element of {site.text}", items.reason, items.anchor)
        for items in found
    ]
    return Sequence(interp.call(args[0], elements, {}, site), first.length if isinstance(first, Sequence) else first, "map", site.anchor)


def _filter(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    items = interp.iterate(args[1], site)
    if not isinstance(items, list):
        element = items.element if isinstance(items, Sequence) else items
        return Sequence(element, interp.unknown(f"len({site.text})", "data", site, "int"), "filter")
    result = ListValue()
    for item in items:
        truth = interp.truth(item if args[0] is None else interp.call(args[0], [item], {}, site))
        if truth is None:
            result.open = True
        elif truth:
            result.items.append(item)
    return result


def _reduced(pick: Callable[[Any], Any], name: str) -> Handler:
    def run(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
        if len(args) == 1:
            if isinstance(args[0], TensorValue):
                return interp.op(f"torch.Tensor.{name}", [args[0]], {}, site)
            items = interp.iterate(args[0], site)
            if not isinstance(items, list):
                return operators.derived(interp, (items if isinstance(items, Unknown) else items.length,), site)
        else:
            items = list(args)
        if not items:
            return kwargs["default"] if "default" in kwargs else interp.raise_("ValueError", f"{name}() arg is an empty sequence", site)
        if operators.several(*items):
            return operators.lift(interp, tuple(items), lambda *each: run(interp, site, list(each), kwargs) if len(each) > 1 else each[0])
        key = kwargs.get("key")
        keys = [interp.plain(interp.call(key, [item], {}, site) if key is not None else item) for item in items]
        if not any(interp.not_plain(one) for one in keys):
            try:
                return items[keys.index(pick(keys))]
            except TypeError as error:
                return interp.raise_("TypeError", str(error), site)
        return _reduce_dims(interp, name, items, site)

    return run


def _reduce_dims(interp: Interp, name: str, items: list[Value], site: Site) -> Value:
    if any(isinstance(item, TensorValue) for item in items):
        for best, item in itertools.pairwise(items):
            operators.compare(interp, ast.Gt if name == "max" else ast.Lt, item, best, site)
        for item in items:
            if isinstance(item, TensorValue):
                interp.transfer("branch", item, site)
        return interp.unknown(site.text, "data", site)
    best = items[0]
    for item in items[1:]:
        if same(best, item):
            continue
        if not all(isinstance(v, int | float | Dim) for v in (best, item)):
            return operators.derived(interp, (best, item), site)
        smaller = less(item, best)
        larger = less(best, item)
        if smaller is None and larger is None:
            return interp.unknown(site.text, "data", site, "int")
        if (name == "min" and smaller) or (name == "max" and larger):
            best = item
    return best


def _sum(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    items = interp.iterate(args[0], site)
    total = args[1] if len(args) > 1 else kwargs.get("start", 0)
    if not isinstance(items, list):
        element = items.element if isinstance(items, Sequence) else items
        if isinstance(element, TensorValue):
            return interp.op("operator.add", [element, element], {}, site)
        return operators.derived(interp, (items if isinstance(items, Unknown) else items.length,), site)
    for item in items:
        total = operators.binary(interp, ast.Add, total, item, site)
    return total


def _any_all(stop: bool) -> Handler:
    def run(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
        if isinstance(args[0], TensorValue) and args[0].library == "torch":
            interp.transfer("branch", args[0], site)  # its elements are asked one by one, until one ends it
            return interp.unknown(site.text, "data", site, "bool")
        items = interp.iterate(args[0], site)
        if not isinstance(items, list):
            if isinstance(items, Sequence) and isinstance(items.element, TensorValue):
                interp.transfer("branch", items.element, site)
            return operators.derived(interp, (items if isinstance(items, Unknown) else items.length,), site, "bool")
        undecided: list[Value] = []
        for item in items:
            truth = interp.truth_at(item, site)
            if truth is stop:
                return stop
            if truth is None:
                undecided.append(item)
        return operators.derived(interp, tuple(undecided), site, "bool") if undecided else not stop

    return run


def _sorted(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    items = interp.iterate(args[0], site)
    if not isinstance(items, list):
        return Sequence(items.element, items.length, "list") if isinstance(items, Sequence) else Unknown(site.text, items.reason, items.anchor)
    found = interp.sorted(items, kwargs.get("key"), kwargs.get("reverse"), site)
    return Sequence(_join_items(items, site), len(items), "list") if found is None else ListValue(found)


def _reversed(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    items = interp.iterate(args[0], site)
    if isinstance(items, list):
        return ListValue(list(reversed(items)))
    return items


def _iter(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    if len(args) == 2:  # iter(function, sentinel): each round calls it
        on_next = Native("iter.__next__", lambda i, at, a, k: i.call(args[0], [], {}, at))
        length = interp.unknown(f"len({site.text})", "data", site, "int")
        return Sequence(interp.unknown(site.text, "data", site), length, "generator", site.anchor, {"on_next": on_next})
    value = interp.pick(args[0])
    if isinstance(value, GeneratorValue):
        return value
    items = opened(interp, value, site) if isinstance(value, Instance) else interp.iterate(value, site)
    if isinstance(items, GeneratorValue):
        return items  # its rounds run where they are taken
    if isinstance(items, list):
        return Opaque("builtins.iterator", {"rest": ListValue(items)})
    return items


def _iterator_next(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    rest = args[0].attrs["rest"]
    if not rest.items:
        return interp.raise_("StopIteration", "", site)
    interp.trail.touch(rest)
    return rest.items.pop(0)


def _next(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    try:
        with interp.catching(lambda error: len(args) > 1 and error.kind == "StopIteration"):
            return interp.next(args[0], site)
    except Raised as error:
        if len(args) > 1 and error.kind == "StopIteration":
            return args[1]
        raise


def _abs(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    if isinstance(args[0], TensorValue):
        return interp.op("torch.Tensor.abs", [args[0]], {}, site)
    return _pure("abs")(interp, site, args, kwargs)


def _pure(name: str) -> Handler:
    function = getattr(builtins, name)

    def run(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
        if operators.several(*args):
            return operators.lift(interp, tuple(args), lambda *each: run(interp, site, list(each), kwargs))
        plain = [interp.plain(arg) for arg in args]
        if any(interp.not_plain(one) for one in plain):
            tensor = next((arg for arg in args if isinstance(arg, TensorValue)), None)
            if tensor is not None:
                interp.transfer("conversion", tensor, site)
            return operators.derived(interp, tuple(args), site)
        try:
            return interp.wrap(function(*plain, **{key: interp.plain(value) for key, value in kwargs.items()}))
        except Exception as error:
            return interp.raise_(type(error).__name__, str(error), site)

    return run


def _id(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    """The same object for the same value: it holds the value, so that no other takes its id."""
    found: Value = interp._made.setdefault(f"id:{id(args[0])}", Opaque("builtins.id", {"of": args[0]}))
    return found


def _print(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    for arg in args:
        if isinstance(arg, TensorValue):
            interp.transfer("print", arg, site)
    interp.event("log", site, author="builtins.print", what=site.text)
    return None


def _super(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    above = interp.as_class(args[0]) if len(args) == 2 and isinstance(args[0], External) else args[0] if len(args) == 2 else None
    if isinstance(above, ClassValue):
        return Super(above, args[1])
    return interp.unknown(site.text, "unsupported", site)


def _slice(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    return slice(*args)


def _object(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    return Opaque("object", anchor=site.anchor)


def _property(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    from cgx.indexer.interpreter.values import Property

    return Property(args[0] if args else None, args[1] if len(args) > 1 else None)


def _staticmethod(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    from cgx.indexer.interpreter.values import StaticMethod

    return StaticMethod(args[0])


def _classmethod(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    from cgx.indexer.interpreter.values import ClassMethod

    return ClassMethod(args[0])


def _import(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    """``__import__``: the top package, or with a ``fromlist`` the module itself."""
    name = args[0] if args else kwargs.get("name")
    if not isinstance(name, str):
        return interp.unknown(site.text, "data", site)
    module = interp.import_module(name, site)
    wanted = args[3] if len(args) > 3 else kwargs.get("fromlist")
    return module if interp.truth(wanted) else interp.import_module(name.partition(".")[0], site)


def _input(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    return interp.unknown(site.text, "data", site, "str")


def _exit(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    raise Raised(Opaque("SystemExit", {"args": tuple(args)}), site.anchor)


ENTRIES: dict[str, Handler] = {
    "len": _len,
    "range": _range,
    "int": _number(int),
    "float": _number(float),
    "complex": _number(complex),
    "bool": _bool,
    "str": _str,
    "repr": _repr,
    "list": _listing(_to_list),
    "tuple": _listing(_to_tuple),
    "set": _listing(_to_set),
    "frozenset": _listing(_to_set),
    "dict": _dict,
    "isinstance": _isinstance,
    "issubclass": _issubclass,
    "getattr": _getattr,
    "hasattr": _hasattr,
    "setattr": _setattr,
    "delattr": _delattr,
    "callable": _callable,
    "type": _type,
    "enumerate": _enumerate,
    "zip": _zip,
    "map": _map,
    "filter": _filter,
    "min": _reduced(min, "min"),
    "max": _reduced(max, "max"),
    "sum": _sum,
    "any": _any_all(True),
    "all": _any_all(False),
    "sorted": _sorted,
    "reversed": _reversed,
    "iter": _iter,
    "next": _next,
    "abs": _abs,
    "round": _pure("round"),
    "divmod": _pure("divmod"),
    "pow": _pure("pow"),
    "ord": _pure("ord"),
    "chr": _pure("chr"),
    "hex": _pure("hex"),
    "bin": _pure("bin"),
    "oct": _pure("oct"),
    "ascii": _pure("ascii"),
    "format": _pure("format"),
    "bytes": _pure("bytes"),
    "hash": _id,
    "id": _id,
    "print": _print,
    "super": _super,
    "slice": _slice,
    "object": _object,
    "property": _property,
    "staticmethod": _staticmethod,
    "classmethod": _classmethod,
    "__import__": _import,
    "input": _input,
    "exit": _exit,
    "quit": _exit,
    "breakpoint": lambda interp, site, args, kwargs: None,
    "builtins.enumerate.__iter__": _enumerate_iter,
    "builtins.enumerate.__next__": _enumerate_next,
    "builtins.dir.__contains__": lambda interp, site, args, kwargs: _hasattr(interp, site, [args[0].attrs["of"], args[1]], {}),
    "builtins.iterator.__next__": _iterator_next,
    "builtins.iterator.__iter__": lambda interp, site, args, kwargs: args[0].attrs["rest"],
}
TYPES = frozenset(
    ["int", "float", "complex", "bool", "str", "bytes", "list", "tuple", "set", "frozenset", "dict", "object", "type", "range", "slice", "bytearray", "memoryview", "NoneType", "property", "staticmethod", "classmethod"]
)
EXCEPTIONS = frozenset(name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException))
CONSTANTS: dict[str, Value] = {"NotImplemented": External("NotImplemented"), "Ellipsis": ..., "__debug__": True}

