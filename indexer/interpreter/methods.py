"""Methods of Python's own types on abstract values: ``METHODS["list.append"]`` and so on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from cgx.indexer.interpreter import open_dicts, operators
from cgx.indexer.interpreter.joins import same
from cgx.indexer.interpreter.text_format import formatted
from cgx.indexer.interpreter.values import (
    MISSING,
    ByRank,
    DictValue,
    GeneratorValue,
    Instance,
    ListValue,
    SetValue,
    TensorValue,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from cgx.indexer.interpreter.interp import Interp
    from cgx.indexer.interpreter.scopes import Site

Handler = Callable[[Any, Any, list[Value], dict[str, Value]], Value]
METHODS: dict[str, Handler] = {}


def _method(*names: str) -> Callable[[Handler], Handler]:
    def add(function: Handler) -> Handler:
        for name in names:
            METHODS[name] = function
        return function

    return add


# ------------------------------------------------------------------ list


@_method("list.append", "deque.append")
def _append(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if isinstance(args[0], ListValue):
        interp.trail.append(args[0], args[1])
        # a loop of the job is widened at its end; until then a stack that is pushed and popped in one round stays known
        if interp.unknown_loops > 0 and interp.in_model and interp.loop_is_unknown(args[0]):
            args[0].open = True
    return None


@_method("list.extend")
def _extend(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    owner = args[0]
    items = interp.iterate(args[1], site)
    if isinstance(owner, ListValue):
        interp.trail.touch(owner)
        if isinstance(items, list):
            owner.items.extend(items)
        else:
            owner.open = True
    return None


@_method("list.insert")
def _insert(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    owner = args[0]
    if isinstance(owner, ListValue):
        interp.trail.touch(owner)
        if isinstance(args[1], int):
            owner.items.insert(args[1], args[2])
        else:
            owner.open = True
    return None


@_method("list.pop", "deque.pop")
def _pop(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    owner = args[0]
    index = args[1] if len(args) > 1 else -1
    if not isinstance(owner, ListValue) or owner.open or not isinstance(index, int):
        return interp.unknown(site.text, "data", site)
    if not -len(owner.items) <= index < len(owner.items):
        return interp.raise_("IndexError", "pop index out of range", site)
    interp.trail.touch(owner)
    return owner.items.pop(index)


@_method("list.popleft", "deque.popleft")
def _popleft(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return _pop(interp, site, [args[0], 0], {})


@_method("list.appendleft", "deque.appendleft")
def _appendleft(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return _insert(interp, site, [args[0], 0, args[1]], {})


@_method("list.remove", "deque.remove")
def _remove(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    owner = args[0]
    if not isinstance(owner, ListValue):
        return None
    for index, item in enumerate(owner.items):
        verdict = interp.equal(item, args[1])
        if verdict is True:
            interp.trail.touch(owner)
            del owner.items[index]
            return None
        if verdict is None:  # one of the rest goes: as many are left, each the one there or its neighbour
            interp.trail.touch(owner)
            left = [_either(interp, a, b, site) for a, b in zip(owner.items[index:], owner.items[index + 1 :])]
            owner.items[index:] = left
            return None
    if not owner.open:
        return interp.raise_("ValueError", "list.remove(x): x not in list", site)
    return None


def _either(interp: Interp, first: Value, second: Value, site: Site) -> Value:
    return first if same(first, second) else interp.unknown(site.text, "data", site)


@_method("list.clear")
def _clear(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if isinstance(args[0], ListValue | SetValue):
        interp.trail.replace(args[0], [])
        args[0].open = False
    return None


@_method("list.reverse")
def _reverse(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if isinstance(args[0], ListValue):
        interp.trail.replace(args[0], reversed(list(args[0].items)))
    return None


@_method("list.sort")
def _sort(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    owner = args[0]
    if not isinstance(owner, ListValue):
        return None
    result = interp.sorted(owner.items, kwargs.get("key"), kwargs.get("reverse"), site)
    if result is None:
        interp.trail.touch(owner)
        owner.open = True
    else:
        interp.trail.replace(owner, result)
    return None


@_method("list.copy")
def _list_copy(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return ListValue(list(args[0].items), args[0].open) if isinstance(args[0], ListValue) else args[0]


def _known_items(owner: Value) -> Sequence[Value] | None:
    """The elements of a list or tuple; None for what is not known one by one."""
    if isinstance(owner, tuple):
        return owner
    return owner.items if isinstance(owner, ListValue) and not owner.open else None


@_method("list.index", "tuple.index")
def _index(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    items = _known_items(args[0])
    if items is None:
        return interp.unknown(site.text, "data", site, "int")
    if isinstance(args[1], ByRank):  # its place differs between the ranks that come here
        return operators.lift(interp, (args[1],), lambda one: _index(interp, site, [args[0], one, *args[2:]], kwargs))
    for index, item in enumerate(items):
        verdict = interp.equal(item, args[1])
        if verdict is True:
            return index
        if verdict is None:
            return interp.unknown(site.text, "data", site, "int")
    return interp.raise_("ValueError", "not in list", site)


@_method("list.count", "tuple.count")
def _count(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    items = _known_items(args[0])
    if items is None:
        return interp.unknown(site.text, "data", site, "int")
    answers = [interp.equal(item, args[1]) for item in items]
    return interp.unknown(site.text, "data", site, "int") if None in answers else answers.count(True)


@_method("tuple.numel")
def _numel(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    total: Value = 1
    for size in args[0]:
        if not hasattr(size, "__mul__"):
            return interp.unknown(site.text, "data", site, "int")
        total = total * size
    return total


# ------------------------------------------------------------------ dict


def _open_result(interp: Interp, owner: Value, site: Site) -> Value:
    return interp.unknown(site.text, getattr(owner, "reason", "data"), site)


@_method("dict.get")
def _get(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    owner, default = args[0], args[2] if len(args) > 2 else kwargs.get("default")
    if not isinstance(owner, DictValue):
        return _open_result(interp, owner, site)
    return interp.lifted((args[1],), lambda one: _get_one(interp, owner, one, default, site))


def _get_one(interp: Interp, owner: DictValue, asked: Value, default: Value, site: Site) -> Value:
    key = interp.key(asked)
    if key is MISSING:
        return interp.unknown(site.text, getattr(asked, "reason", "data"), site)
    if key in owner.items:
        return interp.pick(owner.items[key])
    return interp.unknown(site.text, "missing-file", site) if owner.open else default


@_method("dict.keys")
def _keys(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if not isinstance(args[0], DictValue):
        return _open_result(interp, args[0], site)
    return open_dicts.listed(interp, args[0], "keys", site) or ListValue(interp.unkeys(args[0]), open_dicts.extent(args[0]), keys=True)


@_method("dict.values")
def _values(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if not isinstance(args[0], DictValue):
        return _open_result(interp, args[0], site)
    return open_dicts.listed(interp, args[0], "values", site) or ListValue(list(args[0].items.values()), open_dicts.extent(args[0]))


@_method("dict.items")
def _items(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if not isinstance(args[0], DictValue):
        return _open_result(interp, args[0], site)
    return open_dicts.listed(interp, args[0], "items", site) or ListValue(
        list(zip(interp.unkeys(args[0]), args[0].items.values())), open_dicts.extent(args[0])
    )


@_method("dict.update")
def _update(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    owner = args[0]
    if not isinstance(owner, DictValue):
        return None
    for source in args[1:]:
        found = interp.as_mapping(source, site)
        if found is None:
            interp.trail.set(owner, "open", True)
            continue
        for key, value in found.items():
            interp.trail.set_item(owner.items, key, value)
        if isinstance(source, DictValue) and source.open:
            interp.trail.set(owner, "open", True)
            interp.trail.set(owner, "other", source.other if owner.other is None else open_dicts.gathered(owner.other, source.other))
    for key, value in kwargs.items():
        interp.trail.set_item(owner.items, key, value)
    return None


@_method("dict.pop")
def _dict_pop(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    owner = args[0]
    key = interp.key(args[1])
    if not isinstance(owner, DictValue) or key is MISSING:
        return _open_result(interp, owner, site)
    if key in owner.items:
        value = owner.items[key]
        interp.trail.del_item(owner.items, key)
        return value
    if owner.open:
        if len(args) > 2:
            unknown = Unknown(site.text, "missing-file", site.anchor)
            return unknown
        return open_dicts.standing(owner) or _open_result(interp, owner, site)
    return args[2] if len(args) > 2 else interp.raise_("KeyError", repr(key), site)


@_method("dict.popitem")
def _popitem(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    owner = args[0]
    if not isinstance(owner, DictValue) or owner.open or not owner.items:
        return _open_result(interp, owner, site)
    key = next(iter(owner.items)) if kwargs.get("last") is False else list(owner.items)[-1]
    value = owner.items[key]
    interp.trail.del_item(owner.items, key)
    return (interp.unkey(key), value)


@_method("dict.setdefault")
def _setdefault(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    owner, key = args[0], interp.key(args[1])
    if not isinstance(owner, DictValue) or key is MISSING:
        return _open_result(interp, owner, site)
    if key not in owner.items:
        interp.trail.set_item(owner.items, key, args[2] if len(args) > 2 else None)
    return owner.items[key]


@_method("dict.copy")
def _dict_copy(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    owner = args[0]
    if not isinstance(owner, DictValue):
        return owner
    return DictValue(dict(owner.items), owner.open, owner.kind, owner.default, dict(owner.origins), owner.other)


@_method("dict.clear")
def _dict_clear(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if isinstance(args[0], DictValue):
        for key in list(args[0].items):
            interp.trail.del_item(args[0].items, key)
        for name, value in (("open", False), ("other", None), ("under", None)):
            interp.trail.set(args[0], name, value)
    return None


@_method("dict.fromkeys")
def _fromkeys(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    items = interp.iterate(args[-2] if len(args) > 2 else args[0], site)
    if not isinstance(items, list):
        return DictValue(open=True)
    value = args[-1] if len(args) > 1 and not isinstance(args[-1], ListValue | tuple) else None
    return DictValue({interp.key(item): value for item in items})


@_method("dict.move_to_end")
def _move_to_end(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return None


@_method("dict.__contains__")
def _dict_contains(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    key = interp.key(args[1])
    return key in args[0].items if key is not MISSING and not args[0].open else interp.unknown(site.text, "data", site, "bool")


@_method("dict.__getitem__", "list.__getitem__", "tuple.__getitem__", "str.__getitem__")
def _getitem(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return interp.getitem(args[0], args[1], site)


@_method("dict.__setitem__", "list.__setitem__")
def _setitem(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    interp.setitem(args[0], args[1], args[2], site)
    return None


@_method("dict.most_common")
def _most_common(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return ListValue([], True)


# ------------------------------------------------------------------ set


@_method("set.add")
def _add(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    owner = args[0]
    if not isinstance(owner, SetValue):
        return None
    key = interp.key(args[1])
    if key is MISSING:
        interp.trail.touch(owner)
        owner.open = True
        return None
    if owner.index is None or owner.index[0] != len(owner.items):
        owner.index = (len(owner.items), {interp.key(item) for item in owner.items})
    if key not in owner.index[1]:
        keys = owner.index[1]
        interp.trail.append(owner, args[1])
        keys.add(key)
        owner.index = (len(owner.items), keys)
    return None


@_method("set.update")
def _set_update(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    for source in args[1:]:
        items = interp.iterate(source, site)
        if isinstance(items, list):
            for item in items:
                _add(interp, site, [args[0], item], {})
        elif isinstance(args[0], SetValue):
            interp.trail.touch(args[0])
            args[0].open = True
    return None


@_method("set.discard", "set.remove")
def _discard(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    owner = args[0]
    if isinstance(owner, SetValue):
        verdicts = [same(item, args[1]) or interp.equal(item, args[1]) for item in owner.items]
        if any(verdict is None for verdict in verdicts) and True not in verdicts:
            interp.trail.replace(owner, [])  # which one goes is not known
            owner.open = True
            return None
        interp.trail.replace(owner, [item for item, verdict in zip(owner.items, verdicts) if verdict is not True])
    return None


def _combine(name: str) -> Handler:
    def run(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
        result = args[0]
        for other in args[1:]:
            items = interp.iterate(other, site)
            other_set = interp.make_set(items, False) if isinstance(items, list) else SetValue([], True)
            result = interp.set_operation(name, result, other_set)
        return result

    return run


for _name, _op in (("union", "or"), ("intersection", "and"), ("difference", "sub"), ("symmetric_difference", "xor")):
    METHODS[f"set.{_name}"] = _combine(_op)


@_method("set.issubset")
def _issubset(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    items = interp.iterate(args[1], site)
    if not isinstance(items, list) or args[0].open:
        return interp.unknown(site.text, "data", site, "bool")
    return all(any(same(item, other) for other in items) for item in args[0].items)


@_method("set.issuperset")
def _issuperset(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    items = interp.iterate(args[1], site)
    if not isinstance(items, list) or args[0].open:
        return interp.unknown(site.text, "data", site, "bool")
    return all(any(same(item, other) for other in args[0].items) for item in items)


@_method("set.isdisjoint")
def _isdisjoint(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    items = interp.iterate(args[1], site)
    if not isinstance(items, list) or args[0].open:
        return interp.unknown(site.text, "data", site, "bool")
    return not any(same(item, other) for item in args[0].items for other in items)


@_method("set.copy")
def _set_copy(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return SetValue(list(args[0].items), args[0].open, args[0].frozen)


@_method("set.pop")
def _set_pop(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    owner = args[0]
    if isinstance(owner, SetValue) and len(owner.items) == 1 and not owner.open:
        item = owner.items[0]
        interp.trail.replace(owner, [])
        return item
    return interp.unknown(site.text, "data", site)


# ------------------------------------------------------------------ str, bytes, numbers: Python's own on constants

MAX_TEXT = 1_000_000


def _plain(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value], name: str) -> Value:
    """Call the method of a constant with constant arguments; iterables of constants are converted both ways."""
    owner = args[0]
    if name == "join":  # of a table: its keys, whatever it holds
        args = [owner, *(ListValue(interp.unkeys(arg), arg.open) if isinstance(arg, DictValue) else arg for arg in args[1:])]
    plain_args = [interp.plain(arg) for arg in args[1:]]
    plain_kwargs = {key: interp.plain(value) for key, value in kwargs.items()}
    if any(interp.not_plain(value) for value in [*plain_args, *plain_kwargs.values()]):
        if name == "format" and isinstance(owner, str):
            from cgx.indexer.interpreter.expressions import shown  # it imports this module

            return formatted(interp, site, owner, args[1:], kwargs, shown)
        for arg in [*args[1:], *kwargs.values()]:
            if isinstance(arg, TensorValue) and name == "join":
                interp.transfer("print", arg, site)
        unknown = next((a for a in [*args[1:], *kwargs.values()] if isinstance(a, Unknown)), None)
        if unknown is not None:
            return Unknown(site.text, unknown.reason, unknown.anchor, "str" if isinstance(owner, str) else "", unknown.settle or ("--set", unknown.name))
        return interp.unknown(site.text, "unsupported", site, "str" if isinstance(owner, str) else "")
    if name in ("ljust", "rjust", "center", "zfill", "expandtabs") and any(isinstance(a, int) and a > MAX_TEXT for a in plain_args):
        return interp.unknown(site.text, "budget", site)
    try:
        return interp.wrap(getattr(owner, name)(*plain_args, **plain_kwargs))
    except Exception as error:
        return interp.raise_(type(error).__name__, str(error), site)


def plain_method(kind: str, name: str) -> Handler | None:
    """The handler of a method that Python's own constant types have."""
    types: dict[str, type] = {"str": str, "bytes": bytes, "int": int, "float": float, "bool": bool, "complex": complex, "range": range, "tuple": tuple}
    if kind not in types or not hasattr(types[kind], name) or (name.startswith("__") and name not in SAFE_DUNDERS):
        return None
    return lambda interp, site, args, kwargs: _plain(interp, site, args, kwargs, name)


SAFE_DUNDERS = frozenset({"__len__", "__contains__", "__add__", "__mul__", "__eq__", "__ne__", "__lt__", "__gt__", "__str__", "__repr__", "__hash__", "__int__", "__float__", "__bool__"})


# ------------------------------------------------------------------ generators, objects, namedtuples


@_method("generator.__next__", "generator.send")
def _next(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return interp.next(args[0], site) if isinstance(args[0], GeneratorValue) else interp.unknown(site.text, "unsupported", site)


@_method("generator.close", "generator.throw")
def _close(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return None


@_method("object.__init__", "object.__init_subclass__", "object.__post_init__", "object.__delattr__")
def _object_init(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return None


@_method("object.__setattr__")
def _object_setattr(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if len(args) == 3 and isinstance(args[0], Instance) and isinstance(args[1], str):
        interp.plain_set(args[0], args[1], args[2], site)
    return None


@_method("object.__getattribute__")
def _object_getattribute(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if len(args) == 2 and isinstance(args[1], str):
        return interp.getattr(args[0], args[1], site)
    return interp.unknown(site.text, "unsupported", site)


@_method("object.__new__")
def _object_new(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return interp.new_instance(args[0], site)


@_method("object.__repr__", "object.__str__", "object.__format__")
def _object_repr(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return interp.unknown(site.text, "unsupported", site, "str")


@_method("object.__eq__")
def _object_eq(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return args[0] is args[1]


@_method("object.__hash__")
def _object_hash(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return interp.unknown(site.text, "environment", site, "int")


@_method("namedtuple._asdict")
def _asdict(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return DictValue({name: args[0].attrs[name] for name in args[0].cls.info["fields"]})


@_method("namedtuple._replace")
def _replace(interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Instance(args[0].cls, {**args[0].attrs, **kwargs}, site.anchor)


