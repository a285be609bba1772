"""Subscripts and iteration."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from cgx.indexer.interpreter import batches, loaded, open_dicts, operators
from cgx.indexer.interpreter.joins import join, join_tensors, same, stand_in
from cgx.indexer.interpreter.scopes import Site
from cgx.indexer.interpreter.stdlib.array_values import host
from cgx.indexer.interpreter.values import (
    MISSING,
    Alternatives,
    ByRank,
    ClassMethod,
    ClassValue,
    DictValue,
    External,
    FunctionValue,
    GeneratorValue,
    Instance,
    ListValue,
    ModuleInstance,
    Opaque,
    Sequence,
    SetValue,
    TensorValue,
    Unknown,
    Value,
)
from cgx.indexer.ops.dims import Dim

if TYPE_CHECKING:
    from cgx.indexer.interpreter.interp import Interp

MAX_ROWS = 256  # rows of a tensor that are iterated one by one
MAX_RANGE = 100_000


def get_item(interp: Interp, owner: Value, key: Value, site: Site) -> Value:
    if operators.several(owner, key) and not isinstance(owner, TensorValue):
        return operators.lift(interp, (owner, key), lambda o, k: get_item(interp, o, k, site))
    if isinstance(owner, TensorValue):
        return _from_tensor(interp, owner, key, site)
    if isinstance(owner, ListValue | tuple):
        return _from_list(interp, owner, key, site)
    if isinstance(owner, str | bytes | range):
        try:
            return owner[key]
        except (TypeError, IndexError, ValueError) as error:
            if isinstance(key, Unknown) or (isinstance(key, slice) and not _plain_slice(key)):
                return operators.derived(interp, (key,), site, "str" if isinstance(owner, str) else "")
            return interp.raise_(type(error).__name__, str(error), site)
    if isinstance(owner, DictValue):
        return _from_dict(interp, owner, key, site)
    if isinstance(owner, Instance):
        return _from_instance(interp, owner, key, site)
    if isinstance(owner, Sequence):
        if owner.qname and interp.has_handler(owner.qname, "__getitem__"):
            return interp.call(External(f"{owner.qname}.__getitem__"), [owner, key], {}, site)
        if isinstance(key, slice):
            return Sequence(owner.element, interp.unknown(f"len({site.text})", "data", site, "int"), owner.qname)
        return owner.element
    if isinstance(owner, ClassValue):
        hook = owner.lookup("__class_getitem__")
        if hook is not MISSING:
            return interp.call(hook.func if isinstance(hook, ClassMethod) else hook, [owner, key], {}, site)
        if "members" in owner.info:
            return owner.info["members"].get(key, interp.unknown(site.text, "data", site))
        meta = owner.metaclass.lookup("__getitem__") if isinstance(owner.metaclass, ClassValue) else MISSING
        return interp.call(meta, [owner, key], {}, site) if meta is not MISSING else owner
    if isinstance(owner, External):
        if owner.tail == "__dict__" and isinstance(key, str):  # a module's names
            return interp.external(f"{owner.qname.removesuffix('__dict__')}{key}", site)
        found = interp.external_item(owner, key, site)
        return owner if found is MISSING else found
    if isinstance(owner, FunctionValue):
        return interp.call(External("kernel.__getitem__"), [owner, key], {}, site)
    if isinstance(owner, Opaque):
        found = interp.call_opaque(owner, "__getitem__", [key], {}, site)
        return interp.unknown(site.text, "unmodelled", site) if found is NotImplemented else found
    if owner is None:
        return interp.raise_("TypeError", "'NoneType' object is not subscriptable", site)
    if batches.is_batch(owner):
        return batches.part_of(owner, site)
    if loaded.is_loaded(owner):
        return loaded.part_of(owner, site)
    return operators.derived(interp, (owner,), site)


def _from_tensor(interp: Interp, owner: TensorValue, key: Value, site: Site) -> Value:
    """A tensor's subscript. ``x[i : i + n]`` has n rows, also where neither i nor the size of x is known."""
    exact = operators.sized(key)
    indices_moved(interp, owner, exact, site)
    result = interp.op("operator.getitem", [owner, exact], {}, site)
    if exact is not key and isinstance(exact, slice) and isinstance(result, TensorValue) and result.shape and result.shape[0] is None:
        result.shape = (exact.stop, *result.shape[1:])
    return host(result) if owner.library == "numpy" else result


def indices_moved(interp: Interp, owner: TensorValue, key: Value, site: Site) -> None:
    """An index that lies on the host is copied to a device tensor before it is looked up there."""
    if owner.device in ("cpu", "meta", None) or owner.library != "torch":
        return
    for one in key if isinstance(key, tuple) else (key,):
        if isinstance(one, TensorValue) and one.device == "cpu" and (one.shape is None or one.shape != ()):
            interp.index_copy(one, owner.device, site)


def _plain_slice(key: slice) -> bool:
    return all(part is None or isinstance(part, int) for part in (key.start, key.stop, key.step))


def _from_list(interp: Interp, owner: ListValue | tuple[Value, ...], key: Value, site: Site) -> Value:
    items = list(owner) if isinstance(owner, tuple) else owner.items
    is_open = isinstance(owner, ListValue) and owner.open
    if isinstance(key, bool):
        key = int(key)
    if isinstance(key, int):
        if -len(items) <= key < len(items) and not (is_open and key < 0):
            return interp.pick(items[key])
        return interp.unknown(site.text, "data", site) if is_open else interp.raise_("IndexError", "index out of range", site)
    if isinstance(key, slice):
        if not _plain_slice(key) or is_open:
            element = items[0] if items else Unknown(site.text, "data", site.anchor)
            for item in items[1:]:
                element = join(element, item, "another element")
            return Sequence(element, interp.unknown(f"len({site.text})", "data", site, "int"), "slice") if items else ListValue([], True)
        return tuple(items[key]) if isinstance(owner, tuple) else ListValue(items[key])
    if items and isinstance(key, Unknown | Dim) and same_kind(items):
        return items[0]
    if items and isinstance(key, Unknown | Dim):
        element = items[0]
        for item in items[1:]:
            element = join(element, item, "another element", site.anchor, site.text)
        return element if not isinstance(element, int | str | float | bool) or len(items) == 1 else interp.unknown(site.text, getattr(key, "reason", "data"), site)
    if isinstance(key, TensorValue):
        const = key.const
        if isinstance(const, int) and -len(items) <= const < len(items):
            return items[const]
        interp.transfer("conversion", key, site)
    return interp.unknown(site.text, getattr(key, "reason", "data"), site)


def same_kind(values: list[Value]) -> bool:
    """Objects outside the source that nothing but their identity tells apart, as captured graphs: one stands for each."""
    first = values[0]
    return isinstance(first, Opaque) and all(isinstance(one, Opaque) and one.qname == first.qname and not one.attrs for one in values)


def _from_dict(interp: Interp, owner: DictValue, key: Value, site: Site) -> Value:
    found = interp.key(key)
    if found is MISSING:
        if isinstance(key, Unknown) and (tensor := open_dicts.element(owner)) is not None:
            return tensor
        if isinstance(key, Unknown) and isinstance(owner.default, ClassValue):  # an entry of its own, as far as is known
            if owner.other is not None and owner.under is key:
                return owner.other
            made = interp.call(owner.default, [], {}, site)
            set_item(interp, owner, key, made, site)
            return made
        if owner.items and isinstance(key, Unknown):
            values = list(owner.items.values())
            if all(value is values[0] for value in values) or same_kind(values):
                return values[0]
        if isinstance(key, Unknown) and (inner := open_dicts.inner(owner) or _made_for(interp, owner)) is not None:
            return inner
        if isinstance(key, Unknown) and owner.other is not None and (not owner.items or owner.under is key):
            return owner.other
        return operators.derived(interp, (key,), site) if isinstance(key, Unknown) else interp.unknown(site.text, "data", site)
    if found in owner.items:
        return interp.pick(owner.items[found])
    if owner.kind == "Counter":
        return 0
    if owner.default is not None:
        value = interp.call(owner.default, [], {}, site)
        interp.trail.set_item(owner.items, found, value)
        return value
    if owner.open:
        return open_dicts.standing(owner) or open_dicts.inner(owner) or interp.unknown(site.text, "missing-file", site)
    standing = [value for held, value in owner.items.items() if isinstance(key, TensorValue) and isinstance(getattr(held, "value", None), TensorValue)]
    if standing:  # a tensor that stands for several: so did those that are held
        element = standing[0]
        for one in standing[1:]:
            element = join(element, one, "another element")
        return element
    return interp.raise_("KeyError", repr(found), site)


def _made_for(interp: Interp, owner: DictValue) -> Value:
    """The table that a defaultdict makes for a key that is not known."""
    if owner.default is None or owner.items or owner.other is not None:
        return None
    kind = owner.default.qname if isinstance(owner.default, External) else ""
    made: Value = DictValue() if kind == "dict" else ListValue() if kind == "list" else None
    if made is not None:
        interp.trail.set(owner, "open", True)
        interp.trail.set(owner, "other", made)
    return made


def _from_instance(interp: Interp, owner: Instance, key: Value, site: Site) -> Value:
    hook = owner.cls.lookup("__getitem__")
    if hook is not MISSING:
        return interp.call_method(owner, "__getitem__", [key], {}, site)
    if owner.cls.info.get("namedtuple") and isinstance(key, int | slice):
        return get_item(interp, tuple(owner.attrs[name] for name in owner.cls.info["fields"]), key, site)
    hook = owner.cls.lookup("__getattr__")
    if owner.open or not owner.cls.complete:
        found = interp.external_method(owner, "__getitem__", [key], {}, site)
        return interp.unknown(site.text, "missing-module", site) if found is NotImplemented else found
    return interp.raise_("TypeError", f"{owner.cls.name!r} object is not subscriptable", site)


def under_unknown(held: Value, value: Value) -> Value:
    """What stands for the names that are not known once ``value`` is put under one: a tensor for all of them, else one object."""
    if (tensor := open_dicts.gathered(held, value)) is not None:
        return tensor
    if (table := open_dicts.shared(held, value)) is not None:
        return table
    return value if (isinstance(value, Opaque) and not isinstance(held, Opaque)) or same_kind([held, value]) else None


def set_item(interp: Interp, owner: Value, key: Value, value: Value, site: Site) -> None:
    if isinstance(owner, ByRank | Alternatives):  # whichever table it is, from now on it holds the key
        for one in owner.values if isinstance(owner, ByRank) else [option for _, option in owner.options]:
            if isinstance(one, DictValue):
                set_item(interp, one, key, value, site)
        return
    if isinstance(owner, TensorValue):
        indices_moved(interp, owner, key, site)
        if isinstance(value, TensorValue) and owner.device is not None and value.shape != ():
            interp.element_copy(owner, value, site)
        interp.op("operator.setitem", [owner, key, value], {}, site)
    elif isinstance(owner, ListValue):
        interp.trail.touch(owner)
        if isinstance(key, int) and -len(owner.items) <= key < len(owner.items):
            owner.items[key] = value
        elif isinstance(key, slice) and _plain_slice(key):
            items = interp.iterate(value, site)
            if isinstance(items, list):
                owner.items[key] = items
            else:
                owner.open = True
        else:
            owner.items[:] = [join(item, value, site.text, site.anchor) for item in owner.items]
    elif isinstance(owner, Sequence):
        if not isinstance(key, slice):  # each of them may be the one
            interp.trail.set(owner, "element", join(owner.element, value, site.text, site.anchor))
    elif isinstance(owner, DictValue):
        found = interp.key(key)
        if found is MISSING:
            for held, item in owner.items.items():  # any of them may be meant
                if isinstance(item, TensorValue) and isinstance(value, TensorValue) and not item.parameter:
                    interp.trail.set_item(owner.items, held, join(item, value, site.text, site.anchor))
            interp.trail.set(owner, "open", True)
            interp.trail.set(owner, "under", key if isinstance(value, Instance) and (owner.other is None or owner.under is key) else None)
            interp.trail.set(owner, "other", value if owner.under is not None else under_unknown(owner.other, value))
        else:
            if found == "lr" and "params" in owner.items and interp.loops:  # a group of an optimizer
                interp.event("compute", site, author="interpreter.items", key="lr_schedule", value="set by hand", at="step")
            interp.trail.set_item(owner.items, found, value)
            interp.trail.set_item(owner.origins, found, site.anchor)
    elif isinstance(owner, Instance):
        if owner.cls.lookup("__setitem__") is not MISSING:
            interp.call_method(owner, "__setitem__", [key, value], {}, site)
        else:
            interp.external_method(owner, "__setitem__", [key, value], {}, site)
    elif isinstance(owner, Opaque):
        interp.call_opaque(owner, "__setitem__", [key, value], {}, site)


def del_item(interp: Interp, owner: Value, key: Value, site: Site) -> None:
    if isinstance(owner, ListValue):
        interp.trail.touch(owner)
        try:
            del owner.items[key]
        except (TypeError, IndexError):
            owner.open = True
    elif isinstance(owner, DictValue):
        found = interp.key(key)
        if found is not MISSING:
            interp.trail.del_item(owner.items, found)
    elif isinstance(owner, Instance) and owner.cls.lookup("__delitem__") is not MISSING:
        interp.call_method(owner, "__delitem__", [key], {}, site)
    elif isinstance(owner, Opaque):
        interp.call_opaque(owner, "__delitem__", [key], {}, site)


def iterate(interp: Interp, value: Value, site: Site) -> list[Value] | Sequence | Unknown:
    """The elements one by one where they are known, else a Sequence, else Unknown."""
    value = interp.pick(value)
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, ListValue):
        if value.cls is not None and value.cls.lookup("__iter__") is not MISSING:
            return iterate(interp, interp.call(value.cls.lookup("__iter__"), [value], {}, site), site)
        return _maybe_open(interp, value.items, value.open, site)
    if isinstance(value, SetValue):
        return _maybe_open(interp, value.items, value.open, site)
    if isinstance(value, DictValue):
        return open_dicts.listed(interp, value, "keys", site) or _maybe_open(interp, interp.unkeys(value), open_dicts.extent(value), site)
    if isinstance(value, range):
        return list(value) if len(value) <= MAX_RANGE else Sequence(Unknown("i", "loop-carried", site.anchor, "int"), len(value), "range")
    if isinstance(value, str | bytes):
        return list(value)
    if isinstance(value, Sequence):
        if value.qname and "." in value.qname and interp.has_handler(value.qname, "__iter__"):
            return iterate(interp, interp.call(External(f"{value.qname}.__iter__"), [value], {}, site), site)
        return value
    if isinstance(value, GeneratorValue):
        found = interp.collect(value, site)
        return found if isinstance(found, Sequence) else _maybe_open(interp, found.items, found.open, site)
    if isinstance(value, TensorValue):
        return _rows(interp, value, site)
    if isinstance(value, ByRank):
        return iterate(interp, value.values[0], site)
    if isinstance(value, Alternatives):
        return _alternatives(interp, value, site)
    if isinstance(value, Instance):
        return _instance(interp, value, site)
    if isinstance(value, ClassValue) and "members" in value.info:
        return list(value.info["members"].values())
    if isinstance(value, ClassValue) and isinstance(value.metaclass, ClassValue):
        hook = value.metaclass.lookup("__iter__")
        if hook is not MISSING:
            return iterate(interp, interp.call(hook, [value], {}, site), site)
    if isinstance(value, Opaque):
        found = interp.call_opaque(value, "__iter__", [], {}, site)
        if found is not NotImplemented:
            return found if isinstance(found, Sequence | Unknown) else iterate(interp, found, site)
    if isinstance(value, Unknown):
        return value
    if value is None or isinstance(value, int | float):
        interp.raise_("TypeError", f"{type(value).__name__!r} object is not iterable", site)
    return interp.unknown(site.text, "unsupported", site)


def _maybe_open(interp: Interp, items: list[Value], is_open: bool, site: Site) -> list[Value] | Sequence:
    if not is_open:
        return list(items)
    alike = stand_in(items)
    element: Value = items[0] if items else Unknown(f"element of {site.text}", "data", site.anchor)
    for item in items[1:] if alike is None else ():
        element = join(element, item, "another element", site.anchor, site.text)
    return Sequence(alike or element, Unknown(f"len({site.text})", "data", site.anchor, "int"), "list")


def _rows(interp: Interp, tensor: TensorValue, site: Site) -> list[Value] | Sequence:
    """The rows, which torch's iterator makes by one unbind."""
    if interp.in_model and tensor.library == "torch" and tensor.shape != ():
        made = interp.op("torch.Tensor.unbind", [tensor], {}, site)
        if isinstance(made, tuple) and len(made) <= MAX_ROWS:
            return list(made)
    if isinstance(tensor.const, tuple):
        plain = tensor.library == "numpy"  # its numbers are equal to Python's
        shape = tensor.shape[1:] if tensor.shape else ()
        return [item if plain and not isinstance(item, tuple) else TensorValue(shape, tensor.dtype, tensor.device, const=item, library=tensor.library) for item in tensor.const]
    row = interp.row_of(tensor)
    size = tensor.shape[0] if tensor.shape else None
    if isinstance(size, int) and size <= MAX_ROWS and interp.in_model:
        return [interp.row_of(tensor) for _ in range(size)]
    return Sequence(row, size if size is not None else Unknown(f"len({site.text})", "data", site.anchor, "int"), "tensor")


def _alternatives(interp: Interp, value: Alternatives, site: Site) -> list[Value] | Sequence | Unknown:
    found = [iterate(interp, option, site) for _, option in interp.options_of(value) if option is not None]
    lists = [one for one in found if isinstance(one, list)]
    if found and len(lists) == len(found) and all(len(one) == len(lists[0]) for one in lists):
        return [join_all(items, site) for items in zip(*lists)]
    rows = [one for one in found if isinstance(one, Sequence) and not one.attrs]
    if rows and len(rows) == len(found):  # as many as one of them says, each like one of theirs
        length = rows[0].length if all(same(one.length, rows[0].length) for one in rows) else interp.unknown(f"len({site.text})", "data", site, "int")
        return Sequence(_like_any([one.element for one in rows], site), length, "list")
    return interp.unknown(site.text, "undecided-branch", site)


def _like_any(elements: list[Value], site: Site) -> Value:
    """One element that stands for several: tuples part by part, tensors as what they have in common."""
    first = elements[0]
    if isinstance(first, tuple) and all(isinstance(one, tuple) and len(one) == len(first) for one in elements):
        return tuple(_like_any(list(parts), site) for parts in zip(*elements))
    if isinstance(first, TensorValue) and all(isinstance(one, TensorValue) and one.device == first.device for one in elements):
        return reduce(join_tensors, elements)
    return join_all(tuple(elements), site)


def join_all(items: tuple[Value, ...], site: Site) -> Value:
    result = items[0]
    for item in items[1:]:
        result = join(result, item, "another branch", site.anchor, site.text)
    return result


def _instance(interp: Interp, value: Instance, site: Site) -> list[Value] | Sequence | Unknown:
    found = opened(interp, value, site)
    return iterate(interp, found, site) if isinstance(found, GeneratorValue) else found


def opened(interp: Interp, value: Instance, site: Site) -> list[Value] | Sequence | Unknown | GeneratorValue:
    """What an object of the source goes through; a generator, where its ``__iter__`` is one, is not yet run."""
    value = interp.materialise(value)
    if value.cls.lookup("__iter__") is not MISSING:
        found = interp.call_method(value, "__iter__", [], {}, site)
        if found is value:
            if value.cls.lookup("__next__") is MISSING:
                return interp.unknown(site.text, "unsupported", site)
            return Sequence(None, interp.unknown(f"len({site.text})", "data", site, "int"), value.cls.qname, site.anchor, {"on_next": interp.getattr(value, "__next__", site)})
        return found if isinstance(found, Sequence | Unknown | GeneratorValue) else iterate(interp, found, site)
    if value.cls.info.get("namedtuple"):
        return [value.attrs[name] for name in value.cls.info["fields"]]
    if value.cls.lookup("__getitem__") is not MISSING and not isinstance(value, ModuleInstance):
        element = interp.call_method(value, "__getitem__", [Unknown("index", "loop-carried", site.anchor, "int")], {}, site)
        length = interp.call_method(value, "__len__", [], {}, site) if value.cls.lookup("__len__") is not MISSING else interp.unknown(f"len({site.text})", "data", site, "int")
        return Sequence(element, length, value.cls.qname, site.anchor)
    found = interp.external_method(value, "__iter__", [], {}, site)
    if found is not NotImplemented:
        return found if isinstance(found, Sequence | Unknown) else iterate(interp, found, site)
    return interp.unknown(site.text, "unsupported", site)
