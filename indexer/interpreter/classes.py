"""Class statements, MRO, dataclasses, enums and instantiation."""

from __future__ import annotations

import ast
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from cgx.indexer.interpreter.attributes import bind
from cgx.indexer.interpreter.dataclass_fields import keyword_only
from cgx.indexer.interpreter.enums import ENUMS, functional, make_members
from cgx.indexer.interpreter.scopes import Frame, Scope, Site
from cgx.indexer.interpreter.values import (
    MISSING,
    ClassMethod,
    ClassValue,
    DictValue,
    External,
    FunctionValue,
    Instance,
    ModuleInstance,
    Native,
    Opaque,
    Partial,
    Property,
    StaticMethod,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from cgx.indexer.interpreter.interp import Interp

MODULE = "torch.nn.Module"


def qualify(frame: Frame, name: str) -> tuple[str, str]:
    """(anchor symbol, qualified name) of something defined in this frame."""
    symbol = name if frame.symbol == "<module>" else f"{frame.symbol}.{name}"
    module = frame.scope.module.name if frame.scope.module is not None else ""
    return symbol, f"{module}.{symbol}" if module else symbol


def make_class(interp: Interp, node: ast.ClassDef, frame: Frame) -> Value:
    """Evaluate a class statement. The body runs in a class scope; decorators and metaclasses follow."""
    symbol, qname = qualify(frame, node.name)
    bases: list[Value] = []
    for base in node.bases:
        value = interp.pick(interp.eval(base.value if isinstance(base, ast.Starred) else base, frame))
        bases.append(interp.as_class(value))
    bases += behind(interp, bases)
    keywords = {k.arg: interp.eval(k.value, frame) for k in node.keywords if k.arg}
    scope = Scope("class", frame.scope, module=frame.scope.module, globals=frame.scope.globals)
    cls = ClassValue(node.name, qname, symbol, frame.path, frame.scope.module, bases, [], scope.vars, node.lineno)
    if frame.function is not None:
        cls.info["local"] = True  # each run of the function makes another class of this name
    cls.metaclass = keywords.pop("metaclass", None)
    cls.mro = linearise(cls)
    scope.vars["__module__"] = frame.scope.module.name if frame.scope.module is not None else ""
    scope.vars["__qualname__"] = symbol
    if ast.get_docstring(node, clean=False) is not None:
        scope.vars["__doc__"] = ast.get_docstring(node)
    inner = Frame(scope, frame.code, symbol, frame.function, cls)
    for statement in node.body:
        interp.exec(statement, inner)
    cls.origins = scope.origins
    fields = scope.vars.pop("__cgx_fields__", None)
    cls.info["annotations"] = fields or {}
    cls.info["frame"] = inner
    _flavour(interp, cls, Site(node, frame))
    made: Value = cls
    _metaclass_init(interp, cls, bases, scope, Site(node, frame))
    for parent in cls.mro[1:]:
        hook = parent.namespace.get("__init_subclass__") if isinstance(parent, ClassValue) else None
        if hook is not None:
            func = hook.func if isinstance(hook, ClassMethod) else hook
            interp.attempt(partial(interp.call, func, [cls], keywords, Site(node, frame)))
            break
    for decorator in reversed(node.decorator_list):
        made = interp.decorate(interp.eval(decorator, frame), made, Site(decorator, frame), frame)
    return made


def _metaclass_init(interp: Interp, cls: ClassValue, bases: list[Value], scope: Scope, site: Site) -> None:
    """``__init__`` of the metaclass of the source, which every class of that kind goes through when it is made."""
    meta = next((one.metaclass for one in cls.mro if isinstance(one, ClassValue) and isinstance(one.metaclass, ClassValue)), None)
    init = meta.lookup("__init__") if meta is not None else MISSING
    if isinstance(init, FunctionValue):
        interp.attempt(lambda: interp.call(init, [cls, cls.name, tuple(bases), DictValue(dict(scope.vars))], {}, site))


def behind(interp: Interp, bases: list[Value]) -> list[Value]:
    """``torch.nn.Module`` as a base of its own, where a modelled class outside derives from it (Lightning's, a library's models).

    Not behind wrappers such as DDP: what they are is the object that a table makes of them, and it hands calls on.
    """
    if any(isinstance(base, ClassValue) and base.derives(MODULE) for base in bases):
        return []
    outside = [base for base in bases if isinstance(base, External) and base.qname != MODULE and not interp.has_handler(base.qname, "__call__")]
    found = interp.native_class(MODULE) if any(MODULE in interp.lineage(base.qname) for base in outside) else None
    return [found] if found is not None else []


def linearise(cls: ClassValue) -> list[Value]:
    """C3 over the known bases; an inconsistent order falls back to depth first."""
    sequences = [list(base.mro) if isinstance(base, ClassValue) else [base] for base in cls.bases]
    sequences.append(list(cls.bases))
    result: list[Value] = [cls]
    while any(sequences):
        for sequence in sequences:
            if not sequence:
                continue
            head = sequence[0]
            if not any(_in(head, other[1:]) for other in sequences):
                break
        else:
            for sequence in sequences:
                result.extend(item for item in sequence if not _in(item, result))
            return result
        result.append(head)
        for sequence in sequences:
            if sequence and (sequence[0] is head or sequence[0] == head):
                del sequence[0]
    return result


def _in(item: Value, group: list[Value]) -> bool:
    return any(item is other or (isinstance(item, External) and item == other) for other in group)


def _flavour(interp: Interp, cls: ClassValue, site: Site) -> None:
    """Enums and NamedTuples are told by their bases; dataclasses by their decorator or base."""
    names = {base.qname for base in cls.mro if isinstance(base, External | ClassValue)}
    if names & ENUMS:
        make_members(interp, cls, site)
    elif "typing.NamedTuple" in names or "collections.namedtuple" in names:
        cls.info["fields"] = list(cls.info["annotations"])
        cls.info["namedtuple"] = True
    elif any(isinstance(base, ClassValue) and "dataclass_transform" in base.info for base in cls.mro[1:]):
        make_dataclass(interp, cls, {}, site)


# ------------------------------------------------------------------ dataclasses


def make_dataclass(interp: Interp, cls: ClassValue, options: dict[str, Value], site: Site) -> ClassValue:
    """Collect the fields, in order, over the MRO. The constructor is built in when the class is called."""
    fields: dict[str, Value] = {}
    for parent in reversed(cls.mro):
        if isinstance(parent, ClassValue):
            if parent is not cls and "dataclass" in parent.info:
                for name in parent.info["dataclass"]:
                    fields.setdefault(name, parent)
            elif parent is cls:
                for name, annotation in cls.info["annotations"].items():
                    text = ast.unparse(annotation)
                    if text.startswith(("ClassVar", "typing.ClassVar")) or text.endswith("KW_ONLY"):
                        continue
                    fields[name] = cls
    cls.info["dataclass"] = fields
    cls.info["options"] = options
    cls.info["own_init"] = "__init__" in cls.namespace
    if options.get("slots") is True:
        cls.namespace.setdefault("__slots__", tuple(fields))
    return cls


@dataclass(frozen=True, slots=True)
class Constructor:
    """What a dataclass's ``__init__`` does, as ``@dataclass`` fixes it once a class.

    ``plain``: fields that are stored as they come, with no ``__setattr__`` or property of the class in between.
    """

    names: frozenset[str]  # that may be given
    positional: tuple[str, ...]
    passed_on: frozenset[str]  # ``InitVar``: only ``__post_init__`` sees them
    plain: frozenset[str]
    post: bool


def constructor_of(cls: ClassValue) -> Constructor:
    """The constructor of a dataclass; worked out once."""
    found: Constructor | None = cls.info.get("constructor")
    if found is None:
        names = [name for name in cls.info["dataclass"] if not _no_init(cls, name)]
        free = cls.lookup("__setattr__") is MISSING
        found = cls.info["constructor"] = Constructor(
            frozenset(names),
            tuple(name for name in names if not keyword_only(cls, name)),
            frozenset(name for name in cls.info["dataclass"] if "InitVar" in ast.unparse(_annotation(cls, name))),
            frozenset(name for name in cls.info["dataclass"] if free and not isinstance(cls.lookup(name), Property)),
            cls.lookup("__post_init__") is not MISSING,
        )
    return found


def dataclass_init(interp: Interp, cls: ClassValue, instance: Instance, args: list[Value], kwargs: dict[str, Value], site: Site) -> None:
    made = constructor_of(cls)
    inherited = interp.outside_fields(cls, site)  # of a base whose source is not there
    outer = inherited or {}
    positional = (*outer, *(name for name in made.positional if name not in outer))
    given = dict(zip(positional, args))
    unexpected = set() if inherited is not None else kwargs.keys() - made.names - {"*"}
    if len(args) > len(positional) or unexpected:
        what = ", ".join(sorted(unexpected)) or f"{len(args)} positional arguments"
        interp.raise_("TypeError", f"{cls.name}() got {what}", site)
    given.update(kwargs)
    spread = given.pop("*", None)
    direct = type(instance) is Instance and instance.cls is cls
    anchor = site.anchor
    post: list[Value] = []
    for name in cls.info["dataclass"]:
        if name in given:
            value = given[name]
        elif spread is not None:
            value = Unknown(f"{cls.name}.{name}", getattr(spread, "reason", "unsupported"), anchor, settle=getattr(spread, "settle", None))
        else:
            value = field_default(interp, cls, name, site)
        if value is MISSING:
            if name not in made.names:
                continue
            interp.raise_("TypeError", f"{cls.name}() misses {name}", site)
        if name in made.passed_on:
            post.append(value)
        elif direct and name in made.plain:
            interp.trail.set_item(instance.attrs, name, value)
            interp.trail.set_item(instance.origins, name, anchor if name in given else cls.origins.get(name, anchor))
        else:
            interp.setattr(instance, name, value, site)
            if name not in given and name in cls.origins:
                instance.origins[name] = cls.origins[name]
    for name, value in {**outer, **given}.items():
        if name not in cls.info["dataclass"]:
            interp.trail.set_item(instance.attrs, name, value)
    if made.post:
        interp.call_method(instance, "__post_init__", post, {}, site)


def _annotation(cls: ClassValue, name: str) -> ast.expr:
    for parent in cls.mro:
        if isinstance(parent, ClassValue) and name in parent.info.get("annotations", {}):
            found: ast.expr = parent.info["annotations"][name]
            return found
    return ast.Constant("")


def _field_call(cls: ClassValue, name: str) -> Opaque | None:
    value = cls.lookup(name)
    return value if isinstance(value, Opaque) and value.qname == "dataclasses.Field" else None


def _no_init(cls: ClassValue, name: str) -> bool:
    field = _field_call(cls, name)
    return field is not None and field.attrs.get("init") is False


def field_default(interp: Interp, cls: ClassValue, name: str, site: Site) -> Value:
    value = cls.lookup(name)
    field = _field_call(cls, name)
    if field is None:
        return value
    if "default" in field.attrs:
        return field.attrs["default"]
    if "default_factory" in field.attrs:
        return interp.call(field.attrs["default_factory"], [], {}, site)
    return MISSING


# ------------------------------------------------------------------ instantiation


def instantiate(interp: Interp, cls: ClassValue, args: list[Value], kwargs: dict[str, Value], site: Site) -> Value:
    """``cls(...)``: metaclass ``__call__``, ``__new__``, ``__init__`` by Python's rules."""
    meta = cls.metaclass
    if meta is None:
        meta = next((c.metaclass for c in cls.mro if isinstance(c, ClassValue) and c.metaclass is not None), None)
    if isinstance(meta, ClassValue) and not interp.in_meta(cls):
        hook = meta.lookup("__call__")
        if hook is not MISSING:
            with interp.meta_call(cls):
                return interp.call(hook, [cls, *args], kwargs, site)
    members = next((c.info["members"] for c in cls.mro if isinstance(c, ClassValue) and "members" in c.info), None)
    if members is not None and not members and len(args) > 1:
        return functional(interp, cls, args[0], args[1], site)
    if members is not None and args:
        return _enum_member(interp, cls, members, args[0], site)
    if cls.info.get("namedtuple"):
        return _namedtuple(interp, cls, args, kwargs, site)
    found = interp.instantiate_native(cls, args, kwargs, site)
    if found is not NotImplemented:
        return found
    new = cls.lookup("__new__")
    if (new is MISSING or isinstance(new, Native)) and interp.is_module_class(cls):
        return interp.construct(cls, args, kwargs, site, lambda: _build(interp, cls, args, kwargs, site))
    if new is not MISSING and not isinstance(new, Native):
        func = new.func if isinstance(new, StaticMethod) else new
        instance = interp.call(func, [cls, *args], kwargs, site)
        if not (isinstance(instance, Instance) and cls in instance.cls.mro):
            return instance
    else:
        return _build(interp, cls, args, kwargs, site)
    initialise(interp, instance, args, kwargs, site)
    return instance


def _build(interp: Interp, cls: ClassValue, args: list[Value], kwargs: dict[str, Value], site: Site) -> Instance:
    instance = interp.new_instance(cls, site)
    initialise(interp, instance, args, kwargs, site)
    return instance


def initialise(interp: Interp, instance: Instance, args: list[Value], kwargs: dict[str, Value], site: Site) -> None:
    cls = instance.cls
    for parent in cls.mro:
        if isinstance(parent, ClassValue):
            if "__init__" in parent.namespace:
                init, given = parent.namespace["__init__"], [instance, *args]
                if isinstance(init, Partial):  # `__init__ = partialmethod(Base.__init__, ...)`
                    init, given = bind(interp, init, instance, parent, "__init__", site), args
                with interp.constructing(instance) if isinstance(instance, ModuleInstance) else nullcontext():
                    interp.call(init, given, kwargs, site)
                return
            if "dataclass" in parent.info:
                dataclass_init(interp, parent if parent is cls else cls if "dataclass" in cls.info else parent, instance, args, kwargs, site)
                return
        elif isinstance(parent, External | Unknown) and getattr(parent, "qname", "") not in ("object", "abc.ABC", "typing.Generic", "typing.Protocol"):
            handled = interp.external_init(parent, instance, args, kwargs, site)
            if handled:
                return
            instance.open = True
    return


def _enum_member(interp: Interp, cls: ClassValue, members: dict[str, Value], value: Value, site: Site) -> Value:
    if isinstance(value, Instance):
        return value
    for member in members.values():
        if interp.equal(member.attrs["value"], value) is True:
            return member
    if isinstance(value, Unknown):
        return Unknown(site.text, value.reason, value.anchor)
    missing = cls.lookup("_missing_")
    if missing is not MISSING:
        return interp.call(missing.func if isinstance(missing, ClassMethod) else missing, [cls, value], {}, site)
    return interp.raise_("ValueError", f"{value!r} is not a valid {cls.name}", site)


def _namedtuple(interp: Interp, cls: ClassValue, args: list[Value], kwargs: dict[str, Value], site: Site) -> Instance:
    instance = Instance(cls, constructed_at=site.anchor)
    names = cls.info["fields"]
    for name, value in [*zip(names, args), *kwargs.items()]:
        instance.attrs[name] = value
    for name in names:
        if name not in instance.attrs:
            default = cls.namespace.get(name, MISSING)
            instance.attrs[name] = interp.unknown(f"{cls.name}.{name}", "parameter", site) if default is MISSING else default
    return instance


