"""Binary, unary and comparison operators on abstract values."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from cgx.indexer.interpreter.blocks import turned
from cgx.indexer.interpreter.joins import join, same
from cgx.indexer.interpreter.signals import Raised
from cgx.indexer.interpreter.trace import BranchNode
from cgx.indexer.interpreter.values import (
    MISSING,
    Alternatives,
    ByRank,
    ClassValue,
    Device,
    DictValue,
    DType,
    External,
    Instance,
    ListValue,
    Opaque,
    Sequence,
    SetValue,
    TensorValue,
    Unknown,
    Value,
    same_name,
)
from cgx.indexer.ops.dims import Dim, less

if TYPE_CHECKING:
    from cgx.indexer.interpreter.interp import Interp
    from cgx.indexer.interpreter.scopes import Site

BINARY: dict[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("add", operator.add),
    ast.Sub: ("sub", operator.sub),
    ast.Mult: ("mul", operator.mul),
    ast.Div: ("truediv", operator.truediv),
    ast.FloorDiv: ("floordiv", operator.floordiv),
    ast.Mod: ("mod", operator.mod),
    ast.Pow: ("pow", operator.pow),
    ast.MatMult: ("matmul", operator.matmul),
    ast.BitAnd: ("and", operator.and_),
    ast.BitOr: ("or", operator.or_),
    ast.BitXor: ("xor", operator.xor),
    ast.LShift: ("lshift", operator.lshift),
    ast.RShift: ("rshift", operator.rshift),
}
UNARY: dict[type[ast.unaryop], tuple[str, Callable[[Any], Any]]] = {
    ast.USub: ("neg", operator.neg),
    ast.UAdd: ("pos", operator.pos),
    ast.Invert: ("invert", operator.invert),
}
COMPARE: dict[type[ast.cmpop], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Eq: ("eq", operator.eq),
    ast.NotEq: ("ne", operator.ne),
    ast.Lt: ("lt", operator.lt),
    ast.LtE: ("le", operator.le),
    ast.Gt: ("gt", operator.gt),
    ast.GtE: ("ge", operator.ge),
}
REFLECTED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
PLAIN = (int, float, complex, str, bytes, bool)
MAX_POWER = 4096  # bits of an integer power, and elements of a repeated sequence: larger ones are not evaluated
MAX_REPEAT = 1_000_000


def lift(interp: Interp, values: tuple[Value, ...], function: Callable[..., Value]) -> Value:
    """Apply a function for each rank, or for each alternative, where one of the values has several."""
    for index, value in enumerate(values):
        if isinstance(value, ByRank):
            size = len(value.values)
            results = []
            here = ranks_here(interp, size)
            for rank in here:
                picked = tuple(v.values[rank] if isinstance(v, ByRank) and len(v.values) == size else v for v in values)
                results.append(function(*picked))
            if len(here) < size:  # what the others have is not looked at
                results = [results[here.index(rank)] if rank in here else results[0] for rank in range(size)]
            return by_rank(results)
        if isinstance(value, Alternatives):
            return _each_option(interp, value, partial(_in_place, function, values, index))
    return function(*values)


def ranks_here(interp: Interp, size: int) -> list[int]:
    """The modelled ranks that reach this place: those that every open branch on the rank lets in."""
    here = list(range(size))
    for node in interp.stack:
        if isinstance(node, BranchNode) and node.ranks:
            here = [rank for rank in here if rank in node.ranks] or here
    return here


def _each_option(interp: Interp, value: Alternatives, function: Callable[[Value], Value]) -> Value:
    """The result for each alternative. One for which the code would raise is none: the job runs."""
    found: Value = MISSING
    error: Raised | None = None
    for condition, option in interp.options_of(value):
        try:
            with interp.catching():
                result = function(option)
        except Raised as raised:
            error = raised
            continue
        found = result if found is MISSING else join(result, found, condition, value.anchor)
    if found is MISSING and error is not None:
        raise error
    return found


def by_rank(results: list[Value]) -> Value:
    """One value where it is the same on all ranks, or unknown on all of them for one reason."""
    first = results[0]
    if isinstance(first, Unknown) and all(isinstance(other, Unknown) and alike(first, other) for other in results):
        return first
    return first if all(same(first, other) for other in results) else ByRank(tuple(results))


def alike(one: Unknown, other: Unknown) -> bool:
    return (one.name, one.reason, one.anchor, one.hint) == (other.name, other.reason, other.anchor, other.hint)


def several(*values: Value) -> bool:
    return any(isinstance(value, ByRank | Alternatives) for value in values)


def binary(interp: Interp, kind: type[ast.operator], left: Value, right: Value, site: Site, inplace: bool = False) -> Value:
    name, function = BINARY[kind]
    if several(left, right) and not isinstance(left, TensorValue) and not isinstance(right, TensorValue):
        return lift(interp, (left, right), lambda a, b: binary(interp, kind, a, b, site, inplace))
    if isinstance(left, PLAIN) and isinstance(right, PLAIN):
        return arithmetic(interp, name, function, left, right, site)
    if is_tensor(left) or is_tensor(right):
        result = tensor_binary(interp, name, left, right, site, inplace)
        if result is not NotImplemented:
            return result
    if isinstance(left, Dim) or isinstance(right, Dim):
        return dim_arithmetic(interp, function, left, right, site)
    if inplace and isinstance(left, ListValue) and name == "add":
        items = interp.iterate(right, site)
        interp.trail.touch(left)
        if isinstance(items, list):
            left.items.extend(items)
        else:
            left.open = True
        return left
    found = containers(interp, name, left, right)
    if found is not NotImplemented:
        return found
    found = dunder(interp, name, left, right, site, inplace)
    if found is not NotImplemented:
        return found
    if name == "mod" and isinstance(left, str):
        return percent(interp, left, right, site)
    if name == "or" and all(isinstance(v, ClassValue | External | type(None)) or _is_union(v) for v in (left, right)):
        return Opaque(UNION, {"__args__": (*_union_parts(left), *_union_parts(right))}, site.anchor)
    if name == "or" and all(isinstance(v, ClassValue | External | type(None) | Unknown) or _is_union(v) for v in (left, right)):
        return Unknown(site.text, "unsupported", site.anchor, hint="union")
    if name in ("mod", "floordiv", "truediv") and isinstance(left, Unknown) and type(right) is int and right == 0:
        interp.raise_("ZeroDivisionError", "division by zero", site)
    if name == "mod" and right == 1 and isinstance(right, int) and isinstance(left, Unknown) and left.hint == "int":
        return 0
    result = derived(interp, (left, right), site, number_hint(name, left, right))
    result.offset = offset_of(name, left, right)
    return result


def number_hint(name: str, left: Value, right: Value) -> str:
    """int or float, where the operands' types tell the result's."""
    kinds = [value.hint if isinstance(value, Unknown) else type(value).__name__ for value in (left, right)]
    if not all(kind in ("int", "float", "bool", "Dim") for kind in kinds):
        return ""
    return "float" if "float" in kinds or name == "truediv" else "int"


def offset_of(name: str, left: Value, right: Value) -> tuple[Value, Value] | None:
    """(value, constant) where the result is the sum of the two: what the length of ``x[i : i + n]`` is read from."""
    if name == "add" and isinstance(left, int | Dim) and not isinstance(left, bool):
        left, right = right, left
    if name not in ("add", "sub") or not isinstance(right, int | Dim) or isinstance(right, bool):
        return None
    if not isinstance(left, Unknown | TensorValue):
        return None
    known = base_offset(left)
    return (known[0], known[1] + right if name == "add" else known[1] - right)


def base_offset(value: Value) -> tuple[Value, Value]:
    found = value.offset if isinstance(value, Unknown) else value.attrs.get("cgx.offset") if isinstance(value, TensorValue) else None
    return found if found is not None else (value, 0)


def sized(key: Value) -> Value:
    """``i : i + n`` as a slice of n elements; any other key as it is. Takes it that the slice lies within what it is cut from."""
    if isinstance(key, tuple):
        return tuple(sized(part) for part in key)
    if not isinstance(key, slice) or key.step not in (None, 1):
        return key
    (start, low), (stop, high) = base_offset(key.start), base_offset(key.stop)
    unknown = isinstance(start, Unknown | TensorValue) and start is stop
    length = high - low if unknown else None
    return slice(0, length) if isinstance(length, int | Dim) and not (isinstance(length, int) and length < 0) else key


UNION = "types.UnionType"


def _is_union(value: Value) -> bool:
    return isinstance(value, Opaque) and value.qname == UNION


def _union_parts(value: Value) -> tuple[Value, ...]:
    if isinstance(value, Opaque):
        return tuple(value.attrs["__args__"])
    return (External("NoneType"),) if value is None else (value,)


def derived(interp: Interp, values: tuple[Value, ...], site: Site, hint: str = "") -> Unknown:
    """The unknown that follows from an unknown operand: it keeps the first one's reason and what settles it."""
    first = next((value for value in values if isinstance(value, Unknown)), None)
    if first is None:
        return interp.unknown(site.text, "unsupported", site, hint)
    guard = first.guard if first.reason == "undecided-branch" else ""
    return Unknown(site.text, first.reason, first.anchor or site.anchor, hint, first.settle or ("--set", first.name), guard)


def arithmetic(interp: Interp, name: str, function: Callable[[Any, Any], Any], left: Any, right: Any, site: Site) -> Value:
    try:
        if name == "pow" and isinstance(left, int) and isinstance(right, int) and right > 0:
            if left.bit_length() * right > MAX_POWER:
                return interp.unknown(site.text, "budget", site)
        if name == "mul" and isinstance(left, str | bytes) ^ isinstance(right, str | bytes):
            size = len(left) * right if isinstance(left, str | bytes) else left * len(right)
            if size > MAX_REPEAT:
                return interp.unknown(site.text, "budget", site)
        if name == "lshift" and right > MAX_POWER:
            return interp.unknown(site.text, "budget", site)
        return function(left, right)
    except ZeroDivisionError:
        return interp.raise_("ZeroDivisionError", "division by zero", site)
    except (TypeError, ValueError, OverflowError) as error:
        return interp.raise_(type(error).__name__, str(error), site)


def dim_arithmetic(interp: Interp, function: Callable[[Any, Any], Any], left: Value, right: Value, site: Site) -> Value:
    if all(isinstance(v, int | float | Dim) for v in (left, right)):
        try:
            result = function(left, right)
            if isinstance(result, int | float | Dim):
                return result
        except (TypeError, ValueError, ZeroDivisionError, NotImplementedError):
            pass
    if isinstance(left, str) and function is operator.mod:
        return interp.unknown(site.text, "data", site, "str")
    return interp.unknown(site.text, "data", site, "float" if function is operator.truediv else "")


def is_tensor(value: Value) -> bool:
    return isinstance(value, TensorValue)


def tensor_binary(interp: Interp, name: str, left: Value, right: Value, site: Site, inplace: bool) -> Value:
    if isinstance(left, ListValue | DictValue | str) and name in ("add", "mod"):
        return NotImplemented
    other = right if is_tensor(left) else left
    if isinstance(other, Instance) and not isinstance(other, TensorValue):
        found = dunder(interp, name, left, right, site, inplace)
        if found is not NotImplemented:
            return found
    result = interp.op(f"operator.{'i' if inplace else ''}{name}", [left, right], {}, site)
    if isinstance(result, TensorValue) and result.shape == () and not inplace and result is not left:
        offset = offset_of(name, left, right)
        if offset is not None:
            result.attrs["cgx.offset"] = offset
    return result


def containers(interp: Interp, name: str, left: Value, right: Value) -> Value:
    if name == "add":
        if isinstance(left, ListValue) and isinstance(right, ListValue):
            return ListValue([*left.items, *right.items], left.open or right.open)
        if isinstance(left, tuple) and isinstance(right, tuple):
            return left + right
    if name == "mul":
        count, items = (right, left) if isinstance(left, ListValue | tuple) else (left, right)
        if isinstance(count, int) and isinstance(items, ListValue | tuple):
            length = len(items) if isinstance(items, tuple) else len(items.items)
            if length * count <= MAX_REPEAT:
                return items * count if isinstance(items, tuple) else ListValue(items.items * count, items.open)
        elif isinstance(items, ListValue) and isinstance(count, Unknown | Dim):
            element = items.items[0] if items.items else None
            return Sequence(element, count, "list")
    if isinstance(left, SetValue) and isinstance(right, SetValue):
        return sets(interp, name, left, right)
    if name in ("or", "and", "sub", "xor") and isinstance(left, SetValue | ListValue) and isinstance(right, SetValue | ListValue):
        return sets(interp, name, interp.make_set(left.items, left.open), interp.make_set(right.items, right.open))  # views of keys
    if name == "or" and isinstance(left, DictValue) and isinstance(right, DictValue):
        return DictValue({**left.items, **right.items}, left.open or right.open, left.kind, other=right.other if left.other is None else left.other)
    return NotImplemented


def sets(interp: Interp, name: str, left: SetValue, right: SetValue) -> Value:
    def inside(item: Value, group: SetValue) -> bool:
        return any(same(item, other) for other in group.items)

    is_open = left.open or right.open
    if name == "or":
        return SetValue([*left.items, *(item for item in right.items if not inside(item, left))], is_open)
    if name == "and":
        return SetValue([item for item in left.items if inside(item, right)], is_open)
    if name == "sub":
        return SetValue([item for item in left.items if not inside(item, right)], is_open)
    if name == "xor":
        mine = [item for item in left.items if not inside(item, right)]
        return SetValue([*mine, *(item for item in right.items if not inside(item, left))], is_open)
    return NotImplemented


def dunder(interp: Interp, name: str, left: Value, right: Value, site: Site, inplace: bool) -> Value:
    """User classes and modelled objects with operator methods."""
    tries = [(left, f"__{name}__", right), (right, f"__r{name}__", left)]
    if inplace:
        tries.insert(0, (left, f"__i{name}__", right))
    for owner, method, other in tries:
        if isinstance(owner, Instance):
            found = owner.cls.lookup(method)
            if found is not MISSING:
                return interp.call_method(owner, method, [other], {}, site)
        elif isinstance(owner, Opaque):
            result = interp.call_opaque(owner, method, [other], {}, site)
            if result is not NotImplemented:
                return result
    return NotImplemented


def percent(interp: Interp, template: str, values: Value, site: Site) -> Value:
    """``"%d" % value``: what is shown of a tensor is read from the device."""
    for value in values if isinstance(values, tuple) else values.items.values() if isinstance(values, DictValue) else (values,):
        if isinstance(value, TensorValue):
            interp.transfer("print", value, site)
    plain = interp.plain(values)
    try:
        return template % plain
    except Exception:
        return interp.unknown(site.text, "unsupported", site, "str")


def unary(interp: Interp, kind: type[ast.unaryop], value: Value, site: Site) -> Value:
    if kind is ast.Not:
        truth = lift(interp, (value,), lambda v: _negate(interp, v, site)) if several(value) else _negate(interp, value, site)
        return truth
    name, function = UNARY[kind]
    if several(value):
        return lift(interp, (value,), lambda v: unary(interp, kind, v, site))
    if is_tensor(value):
        return interp.op(f"operator.{name}", [value], {}, site)
    if isinstance(value, int | float | complex | bool | Dim):
        try:
            return function(value)
        except TypeError:
            pass
    if isinstance(value, Instance) and value.cls.lookup(f"__{name}__") is not MISSING:
        return interp.call_method(value, f"__{name}__", [], {}, site)
    return derived(interp, (value,), site)


def _negate(interp: Interp, value: Value, site: Site) -> Value:
    truth = interp.truth(value)
    if truth is None:
        unknown = derived(interp, (value,), site, "bool")
        unknown.guard = turned(getattr(value, "guard", ""))
        if isinstance(value, TensorValue):
            interp.transfer("branch", value, site)
        return unknown
    return not truth


def compare(interp: Interp, kind: type[ast.cmpop], left: Value, right: Value, site: Site) -> Value:
    if kind in (ast.Is, ast.IsNot):
        return _flip(identical(interp, left, right, site), kind is ast.IsNot)
    if kind in (ast.In, ast.NotIn):
        return _flip(contains(interp, left, right, site), kind is ast.NotIn)
    name, function = COMPARE[kind]
    if all(isinstance(one, SetValue) or (isinstance(one, ListValue) and one.keys) for one in (left, right)):
        left, right = (interp.make_set(one.items, one.open) if isinstance(one, ListValue) else one for one in (left, right))
    left, right = beside_tensor(left, right), beside_tensor(right, left)
    if several(left, right):
        return lift(interp, (left, right), lambda a, b: compare(interp, kind, a, b, site))
    if isinstance(left, (*PLAIN, type(None))) and isinstance(right, (*PLAIN, type(None))):
        try:
            return bool(function(left, right))
        except TypeError as error:
            return interp.raise_("TypeError", str(error), site)
    if is_tensor(left) or is_tensor(right):
        if left is None or right is None or isinstance(left, str) or isinstance(right, str):
            return name == "ne"
        if not is_tensor(left) and isinstance(left, (*PLAIN, Dim)):  # numbers leave it to the tensor
            name, left, right = REFLECTED[name], right, left
        return interp.op(f"operator.{name}", [left, right], {}, site)
    found = compare_dims(name, left, right)
    if found is not NotImplemented:
        return found if found is not None else interp.unknown(site.text, "data", site, "bool")
    for owner, other, method in ((left, right, name), (right, left, REFLECTED[name])):
        if isinstance(owner, Instance) and owner.cls.lookup(f"__{method}__") is not MISSING:
            return interp.call_method(owner, f"__{method}__", [other], {}, site)
        if isinstance(owner, Opaque):
            result = interp.call_opaque(owner, f"__{method}__", [other], {}, site)
            if result is not NotImplemented:
                return result
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        bounded = at_least(name, left, right)
        return derived(interp, (left, right), site, "bool") if bounded is None else bounded
    if name in ("eq", "ne"):
        equal = equality(interp, left, right)
        return interp.unknown(site.text, "unsupported", site, "bool") if equal is None else equal == (name == "eq")
    plain_left, plain_right = interp.plain(left), interp.plain(right)
    try:
        return bool(function(plain_left, plain_right))
    except Exception:
        return interp.unknown(site.text, "unsupported", site, "bool")


INFINITY = float("inf")
ENDLESS = {"gt": False, "ge": False, "lt": True, "le": True, "eq": False, "ne": True}  # a count or a time against no limit


def at_least(name: str, left: Value, right: Value) -> bool | None:
    """What a lower bound of one side tells: a count of devices is above 0."""
    if isinstance(right, Unknown) and not isinstance(left, Unknown):
        name, left, right = REFLECTED[name], right, left
    if isinstance(left, Unknown) and right == INFINITY and left.hint in ("int", "float") and name in ENDLESS:
        return ENDLESS[name]
    if not isinstance(left, Unknown) or left.least is None or not isinstance(right, int):
        return None
    if name in ("gt", "le"):
        return (name == "gt") if left.least > right else None
    if name in ("ge", "lt"):
        return (name == "ge") if left.least >= right else None
    return (name == "ne") if left.least > right else None


def _flip(value: Value, negate: bool) -> Value:
    if not negate:
        return value
    if isinstance(value, bool):
        return not value
    if isinstance(value, ByRank):
        return ByRank(tuple(not v for v in value.values))
    if isinstance(value, Unknown):
        return Unknown(f"not {value.name}", value.reason, value.anchor, "bool", value.settle, value.guard)
    return value


def beside_tensor(value: Value, other: Value) -> Value:
    """A number that each rank has of its own is one operand of one op on a tensor."""
    one_op = isinstance(other, TensorValue) and isinstance(value, ByRank) and all(isinstance(item, int | float) for item in value.values)
    return value.values[0] if one_op else value


def compare_dims(name: str, left: Value, right: Value) -> Value:
    """True, False, None where it cannot be told; NotImplemented where these are no sizes. Symbols are at least 1."""
    if not (isinstance(left, Dim) or isinstance(right, Dim)):
        return NotImplemented
    if not all(isinstance(v, int | float | Dim) for v in (left, right)):
        return (name == "ne") if name in ("eq", "ne") and (left is None or right is None) else NotImplemented
    if name in ("eq", "ne"):
        if left == right:
            return name == "eq"
        lower, upper = less(left, right), less(right, left)
        return name == "ne" if lower or upper else None
    if name in ("gt", "le"):
        answer = less(right, left)
        return answer if name == "gt" or answer is None else not answer
    answer = less(left, right)
    return answer if name == "lt" or answer is None else not answer


def _in_place(function: Callable[..., Value], values: tuple[Value, ...], index: int, option: Value) -> Value:
    """The function with one of its arguments replaced."""
    return function(*values[:index], option, *values[index + 1 :])



SENTINELS = frozenset({"dataclasses.MISSING", "inspect.Parameter.empty", "inspect._empty", "argparse.SUPPRESS"})  # what no machine gives


def identical(interp: Interp, left: Value, right: Value, site: Site) -> Value:
    if several(left, right):
        return lift(interp, (left, right), lambda a, b: identical(interp, a, b, site))
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        if left is right:
            return True
        unknown = left if isinstance(left, Unknown) else right
        if (left is None or right is None) and unknown.hint in ("tensor", "module", "int", "float", "str", "bool", "callable", "number", "batch", "pinned batch"):
            return False
        other = right if unknown is left else left
        if isinstance(other, External) and other.qname in SENTINELS and (unknown.reason == "environment" or unknown.hint):
            return False
        return derived(interp, (left, right), site, "bool")
    if left is right:
        return True
    if isinstance(left, DType | Device | External | bool | str | int | tuple) and type(left) is type(right):
        return bool(left == right)
    return same_name(left, right)


BY_VALUE = frozenset({"torch.distributed.tensor.Placement"})  # objects that are equal where their parts are


def equality(interp: Interp, left: Value, right: Value) -> bool | None:
    if left is right:
        return True
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return None
    if isinstance(left, Instance) != isinstance(right, Instance):  # a member of a StrEnum equals its text
        left, right = interp.plain(left), interp.plain(right)
    if isinstance(left, ListValue | tuple) and isinstance(right, ListValue | tuple):
        if any(isinstance(v, ListValue) and v.open for v in (left, right)):
            return None  # a tuple with an unknown part is held as an open list
        if isinstance(left, tuple) != isinstance(right, tuple):
            return False
        mine = left if isinstance(left, tuple) else left.items
        theirs = right if isinstance(right, tuple) else right.items
        if any(isinstance(v, ListValue) and v.open for v in (left, right)):
            return None
        if len(mine) != len(theirs):
            return False
        answers = [_same_dim(a, b) if isinstance(a, Dim) or isinstance(b, Dim) else equality(interp, a, b) for a, b in zip(mine, theirs)]
        return False if False in answers else None if None in answers else True
    if isinstance(left, DictValue) and isinstance(right, DictValue):
        if left.open or right.open:
            return None
        if left.items.keys() != right.items.keys():
            return False
        answers = [equality(interp, left.items[k], right.items[k]) for k in left.items]
        return False if False in answers else None if None in answers else True
    if isinstance(left, SetValue) and isinstance(right, SetValue):
        if left.open or right.open:
            return None
        inside = [any(same(a, b) for b in right.items) for a in left.items]
        return len(left.items) == len(right.items) and all(inside)
    if (isinstance(left, Device) and isinstance(right, str)) or (isinstance(left, str) and isinstance(right, Device)):
        return None
    if isinstance(left, Instance) and isinstance(right, Instance) and left.cls is right.cls and left.cls.info.get("dataclass"):
        answers = [equality(interp, left.attrs.get(k), right.attrs.get(k)) for k in left.cls.info["dataclass"]]
        return False if False in answers else None if None in answers else True
    if same_name(left, right):
        return True
    if isinstance(left, Opaque) and isinstance(right, Opaque) and left.qname == right.qname and left.qname in BY_VALUE:
        answers = [equality(interp, left.attrs.get(k), right.attrs.get(k)) for k in {**left.attrs, **right.attrs}]
        return False if False in answers else None if None in answers else True
    if type(left) is type(right) and isinstance(left, DType | Device | External | int | float | str | bytes | range):
        return bool(left == right)
    return bool(left == right) if isinstance(left, PLAIN) and isinstance(right, PLAIN) else False


def _same_dim(left: Value, right: Value) -> bool | None:
    found = compare_dims("eq", left, right)
    return None if found is NotImplemented else found


def _members(group: SetValue) -> set[Any]:
    """The constants in a set, kept with it."""
    if group.index is None or group.index[0] != len(group.items):
        group.index = (len(group.items), set(group.items))
    return group.index[1]


def contains(interp: Interp, item: Value, group: Value, site: Site) -> Value:
    if several(item, group):
        return lift(interp, (item, group), lambda a, b: contains(interp, a, b, site))
    if isinstance(group, str | bytes) and isinstance(item, str | bytes):
        try:
            return item in group  # type: ignore[operator]
        except TypeError:
            return False
    if isinstance(group, range) and isinstance(item, int):
        return item in group
    if isinstance(group, DictValue):
        key = interp.key(item)
        if key is MISSING:
            if not group.items and not group.open:
                return False
            return True if group.under is item else derived(interp, (item,), site, "bool")
        if key in group.items:
            return True
        return interp.unknown(site.text, "missing-file", site, "bool") if group.open else False
    if isinstance(group, tuple | ListValue | SetValue):
        items = group if isinstance(group, tuple) else group.items
        if isinstance(item, int | str) and len(items) > 8 and all(type(other) is type(item) for other in items):
            known = item in (_members(group) if isinstance(group, SetValue) else items)
            return known or (interp.unknown(site.text, "data", site, "bool") if getattr(group, "open", False) else False)
        answers = [identical(interp, item, other, site) is True or equality(interp, item, other) for other in items]
        if True in answers:
            return True
        is_open = isinstance(group, ListValue | SetValue) and group.open
        return derived(interp, (item, *items), site, "bool") if None in answers or is_open else False
    if isinstance(group, Instance):
        if group.cls.lookup("__contains__") is not MISSING:
            return interp.call_method(group, "__contains__", [item], {}, site)
        found = interp.external_method(group, "__contains__", [item], {}, site)
        if found is not NotImplemented:
            return found
        listed = interp.iterate(group, site)
        if isinstance(listed, list):
            return contains(interp, item, tuple(listed), site)
    if isinstance(group, Opaque):
        result = interp.call_opaque(group, "__contains__", [item], {}, site)
        if result is not NotImplemented:
            return result
    if isinstance(group, TensorValue):
        interp.transfer("conversion", group, site)
        return interp.unknown(site.text, "data", site, "bool")
    return derived(interp, (item, group), site, "bool")
