"""Callables whose result depends on their arguments: one row each.

A row is a function of the linker, the scope of the call, its arguments and keywords; None means "not in this case".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cgx.indexer.names.base import UNKNOWN_VALUES
from cgx.indexer.names.facts import Expr
from cgx.indexer.names.values import (
    NONE,
    Class,
    ExternalInstance,
    Function,
    Instance,
    Mapping,
    Partial,
    Row,
    Scope,
    Sequence,
    Super,
    TypeVariable,
    Values,
    union,
)

if TYPE_CHECKING:
    from cgx.indexer.names.calls import Linker

Arguments = tuple[Expr, ...]
Keywords = Any
Row_ = Callable[["Linker", Scope, Arguments, Keywords], "Values | None"]


def _super(linker: Linker, scope: Scope, args: Arguments, keywords: Keywords) -> Values | None:
    holder: Scope | None = scope
    while holder is not None and not (
        holder.kind == "function" and isinstance(holder.owner, Function) and holder.owner.cls
    ):
        holder = holder.parent
    if holder is None or not isinstance(holder.owner, Function) or holder.owner.cls is None:
        return None
    cls = holder.owner.cls
    if args:
        named = next((value for value in linker.ev(scope, args[0]) if type(value) is Class), None)
        cls = named or cls
    flavour = linker.flavour(holder.owner)
    receiver: Any = cls if flavour == "class" or holder.name == "__new__" else cls.instance
    return (Super(cls, receiver),)


def _type(linker: Linker, scope: Scope, args: Arguments, keywords: Keywords) -> Values | None:
    if len(args) != 1:
        return UNKNOWN_VALUES
    found: list[Values] = []
    for value in linker.ev(scope, args[0]):
        if type(value) is Instance:
            found.append((value.cls,))
        elif type(value) is ExternalInstance:
            found.append((linker.external(value.qname),))
    return union(found) or UNKNOWN_VALUES


def _getattr(linker: Linker, scope: Scope, args: Arguments, keywords: Keywords) -> Values | None:
    if len(args) < 2 or args[1][0] != "s":
        return UNKNOWN_VALUES
    found = [linker.attribute(value, args[1][1]) for value in linker.ev(scope, args[0])]
    default = linker.ev(scope, args[2]) if len(args) > 2 else ()
    return union([*found, default]) or UNKNOWN_VALUES


def _first(linker: Linker, scope: Scope, args: Arguments, keywords: Keywords) -> Values | None:
    """Gives back its first argument: ``copy.deepcopy``, ``torch.compile``."""
    if args:
        return linker.ev(scope, args[0])
    return linker.ev(scope, keywords[0][1]) if keywords else None


def _same_elements(kind: str) -> Row_:
    def row(linker: Linker, scope: Scope, args: Arguments, keywords: Keywords) -> Values | None:
        if not args:
            return (Sequence(kind, ()),)
        return (Sequence(kind, union([linker.elements(value) for value in linker.ev(scope, args[0])])),)

    return row


def _cast(linker: Linker, scope: Scope, args: Arguments, keywords: Keywords) -> Values | None:
    return linker.annotated(scope, args[0]) if args and args[0][0] != "s" else None


def _enumerate(linker: Linker, scope: Scope, args: Arguments, keywords: Keywords) -> Values | None:
    if not args:
        return None
    inner = union([linker.elements(value) for value in linker.ev(scope, args[0])])
    return (Sequence("gen", (Row((linker.builtin("int"), inner)),)),)


def _zip(linker: Linker, scope: Scope, args: Arguments, keywords: Keywords) -> Values | None:
    if any(item[0] == "*" for item in args):
        return (Sequence("gen", (Sequence("tuple", UNKNOWN_VALUES),)),)
    items = [union([linker.elements(value) for value in linker.ev(scope, item)]) for item in args]
    return (Sequence("gen", (Row(tuple(items)),)),)


def _next(linker: Linker, scope: Scope, args: Arguments, keywords: Keywords) -> Values | None:
    if not args:
        return None
    found = [linker.elements(value) for value in linker.ev(scope, args[0])]
    return union([*found, linker.ev(scope, args[1]) if len(args) > 1 else ()])


def _map(linker: Linker, scope: Scope, args: Arguments, keywords: Keywords) -> Values | None:
    if not args:
        return None
    return (Sequence("gen", union([linker.call(value, scope, (), ()) for value in linker.ev(scope, args[0])])),)


def _filter(linker: Linker, scope: Scope, args: Arguments, keywords: Keywords) -> Values | None:
    if len(args) < 2:
        return None
    return (Sequence("gen", union([linker.elements(value) for value in linker.ev(scope, args[1])])),)


def _chain(linker: Linker, scope: Scope, args: Arguments, keywords: Keywords) -> Values | None:
    parts = [linker.elements(value) for item in args for value in linker.ev(scope, item)]
    return (Sequence("gen", union(parts)),)


def _mapping(kind: str) -> Row_:
    """``dict(h=...)``, ``OrderedDict([("a", x)])``, ``nn.ModuleDict({...})``."""

    def row(linker: Linker, scope: Scope, args: Arguments, keywords: Keywords) -> Values | None:
        entries: dict[str, Values] = {}
        keys: list[Values] = []
        others: list[Values] = []
        for item in args[:1]:
            if (
                item[0] == "L"
                and item[2]
                and all(pair[0] == "T" and len(pair[1]) == 2 and pair[1][0][0] == "s" for pair in item[2])
            ):
                for pair in item[2]:
                    entries[pair[1][0][1]] = linker.ev(scope, pair[1][1])
                continue
            for value in linker.ev(scope, item):
                if type(value) is Mapping:
                    entries.update(value.entries)
                    others.append(value.any_value)
                    keys.append(value.any_key)
                else:
                    for element in linker.elements(value):
                        if type(element) is Row and len(element.items) == 2:
                            keys.append(element.items[0])
                            others.append(element.items[1])
        for name, expr in keywords:
            if name == "**":
                others.append(UNKNOWN_VALUES)
            else:
                entries[name] = linker.ev(scope, expr)
        if entries:
            keys.append(linker.builtin("str"))
        return (Mapping(tuple(entries.items()), union(keys), union(others), kind),)

    return row


def _defaultdict(linker: Linker, scope: Scope, args: Arguments, keywords: Keywords) -> Values | None:
    made = union([linker.call(value, scope, (), ()) for value in linker.ev(scope, args[0])]) if args else ()
    return (Mapping((), UNKNOWN_VALUES, made or UNKNOWN_VALUES),)


def _sequential(kind: str) -> Row_:
    def row(linker: Linker, scope: Scope, args: Arguments, keywords: Keywords) -> Values | None:
        items: list[Values] = []
        for item in args:
            values = linker.ev(scope, item[1] if item[0] == "*" else item)
            if item[0] == "*" or kind != "torch.nn.Sequential":
                items.extend(linker.elements(value) for value in values)
            else:
                for value in values:
                    if type(value) is Mapping and len(args) == 1 and "." not in value.kind:
                        return (Mapping(value.entries, value.any_key, value.any_value, kind),)
                items.append(values)
        return (Sequence(kind, union(items)),)

    return row


def _partial(linker: Linker, scope: Scope, args: Arguments, keywords: Keywords) -> Values | None:
    if not args:
        return None
    funcs: list[Values] = []
    for value in linker.ev(scope, args[0]):
        funcs.append(value.funcs if type(value) is Partial else (value,))
    return (Partial(union(funcs)),)


def _wraps(linker: Linker, scope: Scope, args: Arguments, keywords: Keywords) -> Values | None:
    return UNKNOWN_VALUES


def _field(linker: Linker, scope: Scope, args: Arguments, keywords: Keywords) -> Values | None:
    for name, expr in keywords:
        if name == "default":
            return linker.ev(scope, expr)
        if name in ("default_factory", "factory"):
            return union([linker.call(value, scope, (), ()) for value in linker.ev(scope, expr)])
    return UNKNOWN_VALUES


def _type_variable(linker: Linker, scope: Scope, args: Arguments, keywords: Keywords) -> Values | None:
    for name, expr in keywords:
        if name == "bound":
            return (TypeVariable(tuple(v for v in linker.annotated(scope, _quoted(expr)) if v is not NONE)),)
    if len(args) > 1:  # constraints
        return (TypeVariable(union([linker.annotated(scope, _quoted(item)) for item in args[1:]])),)
    return (TypeVariable(UNKNOWN_VALUES),)


def _quoted(expr: Expr) -> Expr:
    if expr[0] == "s" and expr[1].replace(".", "").isidentifier():
        first, *rest = expr[1].split(".")
        result: Expr = ("n", first)
        for part in rest:
            result = ("a", result, part)
        return result
    return expr


def _open(linker: Linker, scope: Scope, args: Arguments, keywords: Keywords) -> Values | None:
    mode = args[1] if len(args) > 1 else next((expr for name, expr in keywords if name == "mode"), ("s", "r"))
    name = "TextIOWrapper" if mode[0] == "s" and "b" not in mode[1] else "BufferedReader"
    module = linker.modules.standard("_io") or linker.modules.standard("io")
    if module is None or module.top is None or name not in module.top.bindings:
        return None
    return tuple([value.instance for value in linker.bound(module.top, name) if type(value) is Class])


def _call_first(linker: Linker, scope: Scope, args: Arguments, keywords: Keywords) -> Values | None:
    """``checkpoint(function, *args)`` gives what the function gives."""
    if not args:
        return None
    return union([linker.call(value, scope, args[1:], ()) for value in linker.ev(scope, args[0])])


def _enter(linker: Linker, scope: Scope, args: Arguments, keywords: Keywords) -> Values | None:
    return union([linker.entered(value, scope) for value in linker.ev(scope, args[0])]) if args else None


def _extreme(linker: Linker, scope: Scope, args: Arguments, keywords: Keywords) -> Values | None:
    """``max`` and ``min``: one of the arguments, or of the elements of a single one."""
    if not args:
        return None
    values = [linker.ev(scope, item) for item in args]
    if len(args) == 1:
        return union([linker.elements(value) for value in values[0]])
    return union(values)


def _sum(linker: Linker, scope: Scope, args: Arguments, keywords: Keywords) -> Values | None:
    return union([linker.elements(value) for value in linker.ev(scope, args[0])]) if args else None


def _reduced(linker: Linker, scope: Scope, args: Arguments, keywords: Keywords) -> Values | None:
    return union([linker.call(value, scope, (), ()) for value in linker.ev(scope, args[0])]) if args else None


def _new_type(linker: Linker, scope: Scope, args: Arguments, keywords: Keywords) -> Values | None:
    return linker.ev(scope, args[1]) if len(args) > 1 else None


def _import_module(linker: Linker, scope: Scope, args: Arguments, keywords: Keywords) -> Values | None:
    if args and args[0][0] == "s":
        return linker.ev(scope, ("im", 0, args[0][1], ""))
    return UNKNOWN_VALUES


SPECIAL: dict[str, Row_] = {
    "builtins.super": _super,
    "builtins.type": _type,
    "builtins.getattr": _getattr,
    "builtins.list": _same_elements("list"),
    "builtins.tuple": _same_elements("tuple"),
    "builtins.set": _same_elements("set"),
    "builtins.frozenset": _same_elements("set"),
    "builtins.sorted": _same_elements("list"),
    "builtins.reversed": _same_elements("gen"),
    "builtins.iter": _same_elements("gen"),
    "builtins.enumerate": _enumerate,
    "builtins.zip": _zip,
    "builtins.next": _next,
    "builtins.map": _map,
    "builtins.filter": _filter,
    "builtins.dict": _mapping("dict"),
    "builtins.max": _extreme,
    "builtins.min": _extreme,
    "builtins.sum": _sum,
    "builtins.abs": _first,
    "builtins.open": _open,
    "collections.OrderedDict": _mapping("OrderedDict"),
    "collections.deque": _same_elements("deque"),
    "collections.defaultdict": _defaultdict,
    "typing.cast": _cast,
    "typing_extensions.cast": _cast,
    "typing.TypeVar": _type_variable,
    "typing_extensions.TypeVar": _type_variable,
    "typing.NewType": _new_type,
    "copy.copy": _first,
    "copy.deepcopy": _first,
    "dataclasses.field": _field,
    "dataclasses.replace": _first,
    "functools.partial": _partial,
    "functools.wraps": _wraps,
    "functools.reduce": _reduced,
    "itertools.chain": _chain,
    "itertools.islice": _same_elements("gen"),
    "itertools.cycle": _same_elements("gen"),
    "contextlib.nullcontext": lambda linker, scope, args, keywords: (
        (Sequence("context", linker.ev(scope, args[0])),) if args else None
    ),
    "contextlib.ExitStack.enter_context": _enter,
    "contextlib._BaseExitStack.enter_context": _enter,
    "contextlib.closing": lambda linker, scope, args, keywords: (
        (Sequence("context", linker.ev(scope, args[0])),) if args else None
    ),
    "importlib.import_module": _import_module,
    "tqdm.tqdm": _same_elements("gen"),
    "tqdm.auto.tqdm": _same_elements("gen"),
    "tqdm.trange": lambda linker, scope, args, keywords: (Sequence("gen", linker.builtin("int")),),
    "attr.field": _field,
    "attrs.field": _field,
    "pydantic.Field": _field,
    "torch.nn.ModuleList": _sequential("torch.nn.ModuleList"),
    "torch.nn.Sequential": _sequential("torch.nn.Sequential"),
    "torch.nn.ParameterList": _sequential("torch.nn.ParameterList"),
    "torch.nn.ModuleDict": _mapping("torch.nn.ModuleDict"),
    "torch.nn.ParameterDict": _mapping("torch.nn.ParameterDict"),
    "torch.compile": _first,
    "torch.jit.script": _first,
    "torch.jit.trace": _first,
    "torch.distributed.fsdp.fully_shard": _first,
    "torch.utils.checkpoint.checkpoint": _call_first,
    "torch.export.export": lambda linker, scope, args, keywords: (
        (linker.external_instance("torch.export.ExportedProgram"),)
    ),
}
