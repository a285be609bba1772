"""``importlib``, ``inspect``, ``types`` and ``pkgutil``: modules by a computed name, signatures, plain objects."""

from __future__ import annotations

import ast
from functools import cache
from typing import Any

from cgx.indexer.interpreter.stdlib.files_in_tree import candidates, locate
from cgx.indexer.interpreter.stdlib.support import (
    Args,
    Handler,
    Kwargs,
    constant,
    derived,
    first,
    lift,
    nothing,
    text_of,
    unknown,
)
from cgx.indexer.interpreter.values import (
    MISSING,
    BoundMethod,
    ClassValue,
    DictValue,
    External,
    FunctionValue,
    Instance,
    ListValue,
    ModuleObject,
    Native,
    Opaque,
    Partial,
    Unknown,
    Value,
)

SIGNATURE, PARAMETER = "inspect.Signature", "inspect.Parameter"
EMPTY = External("inspect.Parameter.empty")
KINDS = ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD", "VAR_POSITIONAL", "KEYWORD_ONLY", "VAR_KEYWORD")


def import_module(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``importlib.import_module(name, package)``."""
    package = text_of(args[1] if len(args) > 1 else kwargs.get("package"))

    def once(name: Value) -> Value:
        text = text_of(name)
        if text is None:
            return derived(site, [name], "module")
        if text.startswith(".") and package:
            level = len(text) - len(text.lstrip("."))
            base = package.split(".")[: len(package.split(".")) - level + 1]
            text = ".".join([*base, *([text.lstrip(".")] if text.lstrip(".") else [])])
        return interp.import_module(text, site)

    return lift(once, [args[0] if args else kwargs.get("name")])


def _spec_from_file(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    path = args[1] if len(args) > 1 else kwargs.get("location")
    attrs = {"name": args[0] if args else kwargs.get("name"), "origin": path}
    attrs["loader"] = Opaque("importlib.abc.Loader", {"path": path}, site.anchor)
    return Opaque("importlib.machinery.ModuleSpec", attrs, site.anchor)


def _module_from_spec(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """The module of a file: read where it stands in the source."""
    spec = args[0]
    path = text_of(spec.attrs.get("origin")) if isinstance(spec, Opaque) else None
    sources = getattr(interp, "sources", None)
    if path is not None and sources is not None:
        for place in candidates(interp, path):
            dotted = place.removesuffix(".py").replace("/", ".")
            if place.endswith(".py") and sources.find(dotted) is not None:
                return interp.import_module(dotted, site)
    return derived(site, args, "module", "missing-module")


def _resource(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``resource_filename(package, name)``: the file in the package; in a checkout it may stand where a build takes it from."""
    package, name = text_of(args[0]), text_of(args[1]) if len(args) > 1 else ""
    if package is None or name is None:
        return derived(site, args, "str")
    whole = f"{package.replace('.', '/')}/{name}".rstrip("/")
    if locate(interp, whole) is None and not interp.tree.isdir(whole):
        parts = name.split("/")
        for skip in range(len(parts)):
            shorter = "/".join(parts[skip:])
            if locate(interp, shorter) is not None:
                return shorter
    return whole


def _version(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    return Unknown(site.text, "environment", site.anchor, "str")


# -- inspect -----------------------------------------------------------------------------------------------------------


def function_of(value: Value) -> tuple[FunctionValue | None, int]:
    """The function behind a callable, and how many leading parameters are bound already."""
    if isinstance(value, FunctionValue):
        return value, 0
    if isinstance(value, BoundMethod):
        inner, bound = function_of(value.func)
        return inner, bound + 1
    if isinstance(value, Partial):
        inner, bound = function_of(value.func)
        return inner, bound + len(value.args)
    if isinstance(value, ClassValue):
        init = value.lookup("__init__")
        return (init, 1) if isinstance(init, FunctionValue) else (None, 0)
    if isinstance(value, Instance):
        method = value.cls.lookup("__call__")
        method = method if method is not MISSING else value.cls.lookup("forward")
        return (method, 1) if isinstance(method, FunctionValue) else (None, 0)
    return None, 0


def parameters(function: FunctionValue) -> list[tuple[str, str, Value, ast.expr | None]]:
    """(name, kind, default or EMPTY, annotation) of each parameter, in order."""
    spec = function.node.args
    plain = [*spec.posonlyargs, *spec.args]
    defaults = [EMPTY] * (len(plain) - len(function.defaults)) + list(function.defaults)
    found: list[tuple[str, str, Value, ast.expr | None]] = []
    for place, (arg, default) in enumerate(zip(plain, defaults)):
        kind = KINDS[0] if place < len(spec.posonlyargs) else KINDS[1]
        found.append((arg.arg, kind, default, arg.annotation))
    if spec.vararg is not None:
        found.append((spec.vararg.arg, KINDS[2], EMPTY, spec.vararg.annotation))
    for arg in spec.kwonlyargs:
        found.append((arg.arg, KINDS[3], function.kw_defaults.get(arg.arg, EMPTY), arg.annotation))
    if spec.kwarg is not None:
        found.append((spec.kwarg.arg, KINDS[4], EMPTY, spec.kwarg.annotation))
    return found


def _signature(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    function, bound = function_of(args[0])
    if function is None:
        fields = _dataclass_parameters(args[0]) or _external_parameters(args[0])
        return (
            derived(site, args, "", "missing-module")
            if fields is None
            else Opaque(SIGNATURE, {"parameters": fields}, site.anchor)
        )
    while kwargs.get("follow_wrapped") is not False and isinstance(function.attrs.get("__wrapped__"), FunctionValue):
        function = function.attrs["__wrapped__"]
    rows = parameters(function)[bound:]
    table = {
        name: Opaque(
            PARAMETER,
            {
                "name": name,
                "kind": External(f"{PARAMETER}.{kind}"),
                "default": default,
                "annotation": _annotation(note),
            },
        )
        for name, kind, default, note in rows
    }
    return Opaque(
        SIGNATURE, {"parameters": DictValue(dict(table), kind="OrderedDict"), "return_annotation": EMPTY}, site.anchor
    )


def _dataclass_parameters(value: Value) -> DictValue | None:
    if not (isinstance(value, ClassValue) and "dataclass" in value.info):
        return None
    rows = {name: Opaque(PARAMETER, {"name": name, "default": EMPTY}) for name in value.info["dataclass"]}
    return DictValue(dict(rows), kind="OrderedDict")


def _external_parameters(value: Value) -> DictValue | None:
    """The parameters of a modelled name, as its table's signature lists them."""
    method = value.func if isinstance(value, BoundMethod) else value
    if isinstance(method, Native):
        return _layer_parameters(method.qname, bound=isinstance(value, BoundMethod))
    if isinstance(value, ClassValue) and value.native:
        value = External(value.native)
    if not isinstance(value, External):
        return None
    from cgx.indexer.ops import layers, registry
    from cgx.indexer.overlays import OVERLAYS

    row = layers.layer(value.qname) or registry.find(value.qname)
    text = row.signature if row is not None else None
    for table in OVERLAYS:
        text = getattr(table, "SIGNATURES", {}).get(value.qname, text)
    if text is None:
        return None
    return _named_parameters(
        [part.partition("=")[0].strip(" *") for part in (text.split(",") if "," in text else text.split())]
    )


def _named_parameters(names: list[str]) -> DictValue:
    kind = External(f"{PARAMETER}.{KINDS[1]}")
    rows = {
        name: Opaque(PARAMETER, {"name": name, "kind": kind, "default": Unknown(name, "unmodelled")})
        for name in names
        if name
    }
    return DictValue(dict(rows), kind="OrderedDict")


def _layer_parameters(qname: str, bound: bool) -> DictValue | None:
    """The parameters of a torch layer's method (``torch.nn.RMSNorm.forward``)."""
    from cgx.indexer.ops import layers

    owner, _, method = qname.rpartition(".")
    row = layers.layer(owner)
    if row is None or method not in row.methods:
        return None
    names = [part.partition("=")[0].strip() for part in row.methods[method].signature.split(",")]
    return _named_parameters(names if bound else ["self", *names])


def _annotation(note: ast.expr | None) -> Value:
    return EMPTY if note is None else ast.unparse(note)


def _getfullargspec(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    function, _bound = function_of(args[0])
    if function is None:
        fields = _dataclass_parameters(args[0]) or _external_parameters(args[0])
        if fields is None:
            return derived(site, args, "", "missing-module")
        listed = ListValue([name for name in fields.items if isinstance(name, str)])
        none: dict[str, Value] = {"varargs": None, "varkw": None, "kwonlyargs": ListValue([]), "annotations": DictValue({})}
        return Opaque("inspect.FullArgSpec", {"args": listed, **none}, site.anchor)
    rows = parameters(function)
    names = [name for name, kind, _default, _note in rows if kind in KINDS[:2]]
    attrs: dict[str, Value] = {
        "args": ListValue(list(names)),
        "varargs": next((name for name, kind, _d, _n in rows if kind == KINDS[2]), None),
        "varkw": next((name for name, kind, _d, _n in rows if kind == KINDS[4]), None),
        "kwonlyargs": ListValue([name for name, kind, _d, _n in rows if kind == KINDS[3]]),
        "defaults": tuple(function.defaults) or None,
        "kwonlydefaults": DictValue(dict(function.kw_defaults)),
        "annotations": DictValue({name: _annotation(note) for name, _k, _d, note in rows if note is not None}),
    }
    return Opaque("inspect.FullArgSpec", attrs, site.anchor)


def _is_kind(*kinds: type) -> Handler:
    def call(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        value = args[0]
        if isinstance(value, Unknown):
            return derived(site, [value], "bool")
        if isinstance(value, External) and ClassValue in kinds:
            return value.tail[:1].isupper() or derived(site, [], "bool", "missing-module")
        return isinstance(value, kinds)

    return call


def _is_generator(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    function, _bound = function_of(args[0])
    return derived(site, args, "bool") if function is None else function.generator


def _is_coroutine(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    function, _bound = function_of(args[0])
    return derived(site, args, "bool") if function is None else isinstance(function.node, ast.AsyncFunctionDef)


def _members(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``inspect.getmembers``: names and values of a module or class of the source, sorted."""
    owner = args[0]
    test = args[1] if len(args) > 1 else kwargs.get("predicate")
    table = (
        owner.scope.vars
        if isinstance(owner, ModuleObject)
        else owner.namespace
        if isinstance(owner, ClassValue)
        else None
    )
    if table is None:
        return derived(site, args, "list")
    found = []
    for name in sorted(table):
        if test is None or interp.truth(interp.call(test, [table[name]], {}, site)):
            found.append((name, table[name]))
    return ListValue(list(found))


def _source_file(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    return getattr(args[0], "path", None) or derived(site, args, "str")


# -- types -------------------------------------------------------------------------------------------------------------


@cache
def plain_class(qname: str) -> ClassValue:
    """A class without members for objects that only hold attributes: ``argparse.Namespace``, ``types.SimpleNamespace``."""
    cls = ClassValue(
        qname.rpartition(".")[2], qname, qname.rpartition(".")[2], "", None, [External("object")], [], {}, native=qname
    )
    cls.mro = [cls, External("object")]
    cls.namespace["__contains__"] = Native(f"{qname}.__contains__", _holds)
    cls.namespace["__eq__"] = Native(f"{qname}.__eq__", _same_attributes)
    return cls


def _holds(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    return args[1] in args[0].attrs if isinstance(args[1], str) else derived(site, args[1:], "bool")


def _same_attributes(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    one, other = args[0], args[1]
    if not (isinstance(other, Instance) and other.cls is one.cls):
        return False
    return True if one is other or one.attrs == other.attrs else derived(site, [], "bool")


def make_plain(qname: str, attrs: dict[str, Value], site: Any) -> Instance:
    """An object of :func:`plain_class` with attributes; each is anchored at the call."""
    return Instance(plain_class(qname), attrs, site.anchor, dict.fromkeys(attrs, site.anchor))


def _simple_namespace(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    given = dict(args[0].items) if args and isinstance(args[0], DictValue) else {}
    instance = make_plain("types.SimpleNamespace", {**given, **{k: v for k, v in kwargs.items() if k != "*"}}, site)
    instance.open = "*" in kwargs or bool(args and isinstance(args[0], DictValue) and args[0].open)
    return instance


def _mapping_proxy(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    return args[0]


ENTRIES: dict[str, Handler] = {
    "importlib.import_module": import_module,
    "importlib.__import__": import_module,
    "importlib.reload": first,
    "importlib.invalidate_caches": nothing,
    "importlib.util.spec_from_file_location": _spec_from_file,
    "importlib.util.module_from_spec": _module_from_spec,
    "importlib.abc.Loader.exec_module": nothing,
    "importlib.metadata.metadata": _version,
    "importlib.metadata.entry_points": unknown("environment"),
    "pkg_resources.get_distribution": _version,
    "pkg_resources.resource_filename": _resource,
    "inspect.signature": _signature,
    "inspect.getfullargspec": _getfullargspec,
    "inspect.isclass": _is_kind(ClassValue),
    "inspect.isfunction": _is_kind(FunctionValue),
    "inspect.ismethod": _is_kind(BoundMethod),
    "inspect.ismodule": _is_kind(ModuleObject),
    "inspect.isroutine": _is_kind(FunctionValue, BoundMethod, Native),
    "inspect.isgeneratorfunction": _is_generator,
    "inspect.iscoroutinefunction": _is_coroutine,
    "asyncio.iscoroutinefunction": _is_coroutine,
    "inspect.isabstract": constant(False),
    "inspect.getmembers": _members,
    "inspect.getfile": _source_file,
    "inspect.getsourcefile": _source_file,
    "inspect.getdoc": unknown("unsupported", "str"),
    "inspect.stack": unknown("unsupported"),
    "inspect.currentframe": unknown("unsupported"),
    "inspect.getmodule": unknown("unsupported"),
    "inspect.unwrap": first,
    "types.SimpleNamespace": _simple_namespace,
    "argparse.Namespace": lambda interp, site, args, kwargs: make_plain("argparse.Namespace", dict(kwargs), site),
    "types.MappingProxyType": _mapping_proxy,
    "types.ModuleType": unknown("unsupported", "module"),
}

CONSTANTS: dict[str, Value] = {
    "inspect.Parameter.empty": EMPTY,
    "inspect._empty": EMPTY,
    "inspect.Signature.empty": EMPTY,
    **{f"inspect.Parameter.{kind}": External(f"{PARAMETER}.{kind}") for kind in KINDS},
}
