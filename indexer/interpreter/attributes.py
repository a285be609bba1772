"""Attribute access, by the kind of the owner."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from cgx.indexer.interpreter import batches, kinship, loaded, operators
from cgx.indexer.interpreter.dataclass_fields import fields_of
from cgx.indexer.interpreter.memo import read_value
from cgx.indexer.interpreter.placing import placed
from cgx.indexer.interpreter.scopes import Site
from cgx.indexer.interpreter.stdlib.array_values import scalar_member
from cgx.indexer.interpreter.values import (
    DELEGATE,
    MISSING,
    Alternatives,
    BoundMethod,
    ByRank,
    ClassMethod,
    ClassValue,
    Device,
    DictValue,
    DType,
    External,
    FunctionValue,
    GeneratorValue,
    Instance,
    ListValue,
    ModuleInstance,
    ModuleObject,
    Native,
    Opaque,
    Partial,
    Property,
    Sequence,
    SetValue,
    StaticMethod,
    Super,
    TensorValue,
    Unknown,
    Value,
)
from cgx.indexer.ops.dims import Dim
from cgx.indexer.ops.results import NamedResult

if TYPE_CHECKING:
    from cgx.indexer.interpreter.interp import Interp


def get_attribute(interp: Interp, owner: Value, name: str, site: Site) -> Value:
    reader = READERS.get(type(owner))
    if reader is not None:
        return reader(interp, owner, name, site)
    if isinstance(owner, NamedResult) and name in owner.fields:
        return owner.field(name)
    for kind in (bool, int, float, complex, str, bytes, tuple, range, slice):
        if isinstance(owner, kind):
            return _builtin(interp, owner, kind.__name__, name, site)
    return interp.unknown(site.text, "unsupported", site)


def _several(interp: Interp, owner: Alternatives | ByRank, name: str, site: Site) -> Value:
    if isinstance(owner, ByRank):
        return operators.lift(interp, (owner,), lambda one: get_attribute(interp, one, name, site))
    fitting = tuple((text, one) for text, one in owner.options if not _lacks(one, name))
    if fitting and len(fitting) < len(owner.options):  # whoever asks counts on the others
        owner = Alternatives(fitting, owner.anchor) if len(fitting) > 1 else fitting[0][1]
    return operators.lift(interp, (owner,), lambda one: get_attribute(interp, one, name, site))


def _lacks(value: Value, name: str) -> bool:
    """An exception that a function returns where it should raise it."""
    kind = getattr(builtins, value.qname, None) if isinstance(value, Opaque) else None
    return isinstance(kind, type) and issubclass(kind, BaseException) and not hasattr(kind, name)


def _unknown(interp: Interp, owner: Unknown, name: str, site: Site) -> Value:
    if batches.is_batch(owner) and (found := batches.attribute(interp, owner, name, site)) is not MISSING:
        return found
    if loaded.is_loaded(owner):
        found = loaded.attribute(interp, owner, name, site)
        return loaded.part_of(owner, site) if found is MISSING else found
    return Unknown(site.text, owner.reason, owner.anchor or site.anchor, settle=owner.settle or ("--set", owner.name))


# ------------------------------------------------------------------ instances


def bind(interp: Interp, found: Value, owner: Instance | ClassValue, cls: ClassValue, name: str, site: Site) -> Value:
    """A class attribute as seen through an instance or a class."""
    instance = owner if isinstance(owner, Instance) else None
    if isinstance(found, Property):
        if instance is None:
            return found
        value = interp.call(found.getter, [instance], {}, site)
        if found.cached:
            interp.trail.set_item(instance.attrs, name, value)
        return value
    if isinstance(found, StaticMethod):
        return found.func
    if isinstance(found, ClassMethod):
        return BoundMethod(found.func, instance.cls if instance is not None else owner, cls)
    if instance is not None and isinstance(found, FunctionValue | Native):
        return BoundMethod(found, instance, cls)
    if instance is not None and isinstance(found, Partial) and found.kwargs.get("__partialmethod__"):
        kwargs = {k: v for k, v in found.kwargs.items() if k != "__partialmethod__"}
        return Partial(found.func, (instance, *found.args), kwargs)
    if isinstance(found, Instance) and found.cls.lookup("__get__") is not MISSING:
        return interp.call_method(found, "__get__", [instance, instance.cls if instance is not None else owner], {}, site)
    return found


def find_in_mro(cls: ClassValue, name: str, after: ClassValue | None = None) -> tuple[ClassValue | None, Value, Value]:
    """(class that holds it, value, first external or unknown base on the way)."""
    outside: Value = None
    started = after is None
    for parent in cls.mro:
        if not started:
            started = parent is after
            continue
        if isinstance(parent, ClassValue):
            if name in parent.namespace:
                return parent, parent.namespace[name], outside
        elif outside is None and not (isinstance(parent, External) and parent.qname in PLAIN_BASES):
            outside = parent
    return None, MISSING, outside


OBJECT_METHODS = frozenset({"__setattr__", "__getattribute__", "__delattr__", "__init_subclass__"})
CUSTOM_OP = frozenset({"register_fake", "register_autograd", "register_kernel", "register_vmap", "register_torch_dispatch"})
def closed(cls: ClassValue, interp: Interp | None = None, name: str = "") -> bool:
    """Every base is read, or one whose members are known: what is not found is not there. ``name`` is asked of tables that list members."""
    from cgx.indexer.interpreter.externals import BUILTIN_BASES

    def knows(base: Value) -> bool:
        if isinstance(base, ClassValue):
            return True
        if not isinstance(base, External):
            return False
        return base.qname in PLAIN_BASES or base.qname in BUILTIN_BASES or (interp is not None and interp.lacks(base.qname, name))

    return all(map(knows, cls.mro))


PLAIN_BASES = frozenset({"object", "abc.ABC", "typing.Generic", "typing.Protocol", "typing_extensions.Protocol"})


def _instance(interp: Interp, owner: Instance, name: str, site: Site) -> Value:
    cls = owner.cls
    hook = cls.lookup("__getattribute__")
    if hook is not MISSING and isinstance(hook, FunctionValue) and not name.startswith("__") and interp.enter_hook(owner, name):
        try:
            return interp.call(hook, [owner, name], {}, site)
        finally:
            interp.leave_hook(owner, name)
    home, found, outside = find_in_mro(cls, name)
    if isinstance(found, Property) and not (found.cached and name in owner.attrs):
        return bind(interp, found, owner, home or cls, name, site)
    if interp.readings:
        interp.note_read(owner, name, read_value(owner, name))
    if name in owner.attrs:
        return interp.pick(owner.attrs[name])
    if isinstance(owner, ModuleInstance):
        for table in (owner.parameters, owner.buffers, owner.children):
            if name in table:
                return interp.pick(table[name])
        special = _module_special(interp, owner, name)
        if special is not MISSING:
            return special
    if found is not MISSING and isinstance(outside, External) and DELEGATE in owner.attrs:
        value = interp.external_member(outside, name, owner, site)  # an outside base that comes before the one that has it
        if value is not MISSING:
            return value
    if found is not MISSING:
        # A modelled base that stands before the class that has the name wins, as in Python's order.
        earlier = interp.external_member(outside, name, owner, site) if isinstance(outside, External) else MISSING
        return earlier if earlier is not MISSING else bind(interp, found, owner, home or cls, name, site)
    if name == "__getattr__" and isinstance(owner, ModuleInstance):
        return BoundMethod(External("torch.nn.Module.__getattr__"), owner)
    special = _special(interp, owner, name)
    if special is not MISSING:
        return special
    if isinstance(outside, External):
        value = interp.external_member(outside, name, owner, site)
        if value is not MISSING:
            return value
    getter = cls.lookup("__getattr__")
    if getter is not MISSING and not name.startswith("__") and interp.enter_hook(owner, name):
        try:
            return interp.call(getter, [owner, name], {}, site)
        finally:
            interp.leave_hook(owner, name)
    if cls.info.get("namedtuple") and name in ("_fields", "_asdict", "_replace", "count", "index"):
        return BoundMethod(External(f"namedtuple.{name}"), owner) if name != "_fields" else tuple(cls.info["fields"])
    if owner.open or not closed(cls, interp, name):
        if isinstance(owner, ModuleInstance) and loaded.WHOLE in owner.attrs:
            return loaded.inside(owner, site)
        reason = outside.reason if isinstance(outside, Unknown) else "missing-module" if outside is not None else "unmodelled"
        return Unknown(site.text, reason, site.anchor)
    return interp.raise_("AttributeError", f"{cls.name!r} object has no attribute {name!r}", site)


def _special(interp: Interp, owner: Instance, name: str) -> Value:
    if name == "__class__":
        return owner.cls
    if name == "__dict__":
        return DictValue(owner.attrs)
    if name == "__module__":
        return owner.cls.module.name if owner.cls.module is not None else ""
    if name == "__doc__":
        return None
    if name == "__dataclass_fields__" and (fields := fields_of(interp, owner.cls)) is not None:
        return DictValue(dict(fields))
    if name in ("__init__", "__setattr__", "__getattribute__", "__repr__", "__str__", "__eq__", "__hash__", "__init_subclass__", "__reduce__", "__format__", "__delattr__", "__post_init__"):
        return BoundMethod(External(f"object.{name}"), owner) if name != "__post_init__" else MISSING
    return MISSING


def _module_special(interp: Interp, owner: ModuleInstance, name: str) -> Value:
    if name == "training":
        return owner.training
    if name == "_compiled_call_impl":  # set by ``compile()``
        compiled = any(wrapper == "torch.compile" for wrapper, _ in owner.wrappers)
        return Opaque("torch._dynamo.call") if compiled else None
    if name == "_modules":
        return DictValue(owner.children)
    if name == "_parameters":
        return DictValue(owner.parameters)
    if name == "_buffers":
        return DictValue(owner.buffers)
    if name in ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_non_persistent_buffers_set", "_state_dict_hooks"):
        return DictValue(open=True)
    if name in ("device", "dtype") and owner.open:  # of an outside model: those of its weights
        held = next((one for one in owner.parameters.values() if isinstance(one, TensorValue)), None)
        if held is not None and name == "device" and held.device is not None:
            return Device(held.device)
        if held is not None and name == "dtype" and held.dtype is not None:
            return DType(held.dtype)
    if owner.wrappers and name not in ("forward", "__call__") and any(interp.handlers(f"torch.nn.Module.{name}")):
        return BoundMethod(External(f"torch.nn.Module.{name}"), owner)  # what a wrapper in place adds, fully_shard for one
    return MISSING


def generated_init(cls: ClassValue, behind: ClassValue | None = None) -> Native | None:
    """The constructor that ``@dataclass`` writes, where it is the one that the MRO gives."""
    rest = cls.mro[cls.mro.index(behind) + 1 :] if behind in cls.mro else cls.mro
    for parent in rest:
        if not isinstance(parent, ClassValue) or "__init__" in parent.namespace:
            return None
        if "dataclass" in parent.info:
            return Native(f"{parent.qname}.__init__", partial(_run_generated, parent))
    return None


def _run_generated(home: ClassValue, interp: Interp, site: Site, args: list[Value], kwargs: dict[str, Value]) -> Value:
    from cgx.indexer.interpreter.classes import dataclass_init

    dataclass_init(interp, home, args[0], args[1:], kwargs, site)
    return None


def _super(interp: Interp, owner: Super, name: str, site: Site) -> Value:
    instance = owner.self
    cls = instance.cls if isinstance(instance, Instance) else instance
    if not isinstance(cls, ClassValue):
        return interp.unknown(site.text, "unsupported", site)
    if name == "__init__" and (made := generated_init(cls, owner.cls)) is not None:
        return BoundMethod(made, instance)
    home, found, outside = find_in_mro(cls, name, owner.cls)
    if name == "__call__" and found is MISSING and isinstance(instance, ModuleInstance):
        name = "_call_impl"  # what nn.Module.__call__ is; its own name would hide that a class overrides it
        home, found, outside = find_in_mro(cls, name, owner.cls)
    if found is not MISSING and home is not None:
        if isinstance(outside, External) and (name != "__init__" or interp.has_handler(outside.qname, name)):
            value = interp.external_member(outside, name, instance, site)
            if value is not MISSING:
                return value
        if name == "__new__":
            return found.func if isinstance(found, StaticMethod) else found
        return bind(interp, found, instance, home, name, site)
    if isinstance(outside, External):
        value = interp.external_member(outside, name, instance, site)
        if value is not MISSING:
            return value
        plain = name in OBJECT_METHODS or (name == "__new__" and not interp.has_handler(outside.qname, name))
        kind = "object" if plain else outside.qname
        return BoundMethod(External(f"{kind}.{name}"), instance)
    if isinstance(outside, Unknown):
        return Unknown(site.text, outside.reason, site.anchor)
    if name in ("__setattr__", "__getattribute__", "__getattr__", "__delattr__") and isinstance(instance, Instance):
        return BoundMethod(External(f"object.{name}"), instance)
    if name.startswith("__"):
        return BoundMethod(External(f"object.{name}"), instance)
    return interp.raise_("AttributeError", f"'super' object has no attribute {name!r}", site)


# ------------------------------------------------------------------ classes, modules, functions


def _class(interp: Interp, owner: ClassValue, name: str, site: Site) -> Value:
    if name == "__init__" and (made := generated_init(owner)) is not None:
        return made
    home, found, outside = find_in_mro(owner, name)
    if found is not MISSING:
        return bind(interp, found, owner, home or owner, name, site)
    if name == "__name__" or name == "__qualname__":
        return owner.name if name == "__name__" else owner.symbol
    if name == "__mro__":
        return tuple(owner.mro)
    if name == "__bases__":
        return tuple(owner.bases)
    if name == "__dict__":
        return DictValue(owner.namespace)
    if name == "__module__":
        return owner.module.name if owner.module is not None else owner.qname.rpartition(".")[0]
    if name == "__doc__":
        return None
    if name == "__class__":
        return owner.metaclass or External("type")
    if name == "__annotations__":
        frame = owner.info.get("frame")
        table = owner.info.get("annotations", {})
        return DictValue({key: interp.annotation(node, frame) for key, node in table.items()})
    if name == "__members__" and "members" in owner.info:
        return DictValue(dict(owner.info["members"]), kind="OrderedDict")
    if name == "__dataclass_fields__" and (fields := fields_of(interp, owner)) is not None:
        return DictValue(dict(fields))
    if name == "__subclasses__":
        return BoundMethod(External("type.__subclasses__"), owner)
    if isinstance(owner.metaclass, ClassValue):
        home, found, _ = find_in_mro(owner.metaclass, name)
        if found is not MISSING:
            if isinstance(found, Property):
                return interp.call(found.getter, [owner], {}, site)
            return BoundMethod(found, owner, home) if isinstance(found, FunctionValue) else found
        getter = owner.metaclass.lookup("__getattr__")
        if getter is not MISSING:
            return interp.call(getter, [owner, name], {}, site)
    if isinstance(outside, External) and not interp.lacks(outside.qname, name):
        value = interp.external_member(outside, name, owner, site)
        if value is not MISSING:
            return value
        return BoundMethod(External(f"{outside.qname}.{name}"), owner) if not name.isupper() else Unknown(site.text, "missing-module", site.anchor)
    if isinstance(outside, Unknown):
        return Unknown(site.text, outside.reason, site.anchor)
    if name in ("__init__", "__new__", "__setattr__", "__getattribute__", "__eq__", "__repr__"):
        return External(f"object.{name}")
    return interp.raise_("AttributeError", f"type object {owner.name!r} has no attribute {name!r}", site)


def _module(interp: Interp, owner: ModuleObject, name: str, site: Site) -> Value:
    if interp.answered(f"{owner.name}.{name}"):
        return External(f"{owner.name}.{name}")
    if name in owner.scope.vars:
        return interp.pick(owner.scope.vars[name])
    if name == "__dict__":
        return DictValue(owner.scope.vars, open=False, kind="namespace")
    if owner.package:
        found = interp.submodule(owner, name, site)
        if found is not MISSING:
            return found
    late = interp.late_name(owner.scope, name)
    if late is not MISSING:
        return late
    getter = owner.scope.vars.get("__getattr__")
    if getter is not None and not name.startswith("__"):
        return interp.call(getter, [name], {}, site)
    if name in ("__name__", "__file__", "__doc__", "__package__", "__path__", "__spec__"):
        folder = ListValue([owner.path]) if owner.package else None  # one without an __init__.py
        return {"__name__": owner.name, "__file__": owner.path, "__package__": owner.name, "__path__": folder}.get(name)
    if "*" in owner.scope.vars:
        return interp.unknown(site.text, "unresolved-name", site)
    return interp.raise_("AttributeError", f"module {owner.name!r} has no attribute {name!r}", site)


def _external(interp: Interp, owner: External, name: str, site: Site) -> Value:
    return interp.external(f"{owner.qname}.{name}", site)


def _function(interp: Interp, owner: FunctionValue, name: str, site: Site) -> Value:
    if name in owner.attrs:
        return owner.attrs[name]
    if name == "__name__":
        return owner.name
    if name == "__qualname__":
        return owner.symbol
    if name == "__module__":
        if owner.module is not None and owner.module is interp.modules.get("__main__"):
            return "__main__"
        return owner.module.name if owner.module else ""
    if name == "__doc__":
        return ast.get_docstring(owner.node) if not isinstance(owner.node, ast.Lambda) else None
    if name == "__wrapped__":
        return interp.raise_("AttributeError", "__wrapped__", site)
    if name == "__class__":
        return External("types.FunctionType")
    if name in CUSTOM_OP:
        return Native(f"torch.library.CustomOpDef.{name}", lambda i, s, a, k: a[0] if a else Native(name, lambda i, s, a, k: a[0]))
    if name == "__get__":
        return Native("function.__get__", lambda i, s, a, k: BoundMethod(owner, a[0]) if a and a[0] is not None else owner)
    if name == "__closure__":
        return None
    if name in ("__code__", "__signature__", "__globals__", "__dict__", "__annotations__", "__defaults__", "__kwdefaults__"):
        return Opaque(f"function.{name}", {"function": owner})
    return interp.raise_("AttributeError", f"function {owner.name!r} has no attribute {name!r}", site)


def _bound(interp: Interp, owner: BoundMethod, name: str, site: Site) -> Value:
    if name == "__func__":
        return owner.func
    if name == "__self__":
        return owner.self
    if isinstance(owner.func, External):
        return owner.func.tail if name == "__name__" else interp.unknown(site.text, "unsupported", site)
    return get_attribute(interp, owner.func, name, site)


def _native(interp: Interp, owner: Native, name: str, site: Site) -> Value:
    if name in owner.attrs:
        return owner.attrs[name]
    if name in ("__name__", "__qualname__"):
        return owner.qname.rpartition(".")[2]
    if name == "__doc__":
        return None
    return interp.external(f"{owner.qname}.{name}", site)


def _partial(interp: Interp, owner: Partial, name: str, site: Site) -> Value:
    if name == "func":
        return owner.func
    if name == "args":
        return owner.args
    if name == "keywords":
        return DictValue(owner.kwargs)
    if name == "__name__":
        return interp.raise_("AttributeError", "'functools.partial' object has no attribute '__name__'", site)
    return interp.unknown(site.text, "unsupported", site)


def _property(interp: Interp, owner: Property, name: str, site: Site) -> Value:
    if name == "setter":
        return Native("property.setter", lambda i, s, a, k: Property(owner.getter, a[0], owner.cached))
    if name in ("getter", "deleter"):
        return Native("property.getter", lambda i, s, a, k: owner)
    if name == "fget":
        return owner.getter
    return interp.unknown(site.text, "unsupported", site)


# ------------------------------------------------------------------ data


def _tensor(interp: Interp, owner: TensorValue, name: str, site: Site) -> Value:
    if name in owner.attrs:
        return owner.attrs[name]
    if owner.cls is not None:
        home, found, _ = find_in_mro(owner.cls, name)
        if isinstance(found, Property):
            return interp.call(found.getter, [owner], {}, site)
        if isinstance(found, FunctionValue | Native):
            return BoundMethod(found, owner, home)
        if found is not MISSING:
            return found
    if name == "data" and owner.library == "torch":
        return owner
    value = interp.tensor_attribute(owner, name, site)
    if value is not MISSING:
        return placed(value, site, bool(owner.name))
    return BoundMethod(External(f"{'numpy.ndarray' if owner.library == 'numpy' else 'torch.Tensor'}.{name}"), owner)


def _opaque(interp: Interp, owner: Opaque, name: str, site: Site) -> Value:
    if name in owner.attrs:
        return interp.pick(owner.attrs[name])
    if interp.has_handler(owner.qname, name):
        return BoundMethod(External(f"{owner.qname}.{name}"), owner)
    value = interp.call_opaque(owner, "__getattr__", [name], {}, site)
    if value is not NotImplemented:
        return value
    if name == "__class__":
        return External(owner.qname)
    constant = interp.constant(f"{owner.qname}.{name}")  # of the class, asked of an instance
    return BoundMethod(External(f"{owner.qname}.{name}"), owner) if constant is MISSING else constant


def _dtype(interp: Interp, owner: DType, name: str, site: Site) -> Value:
    if not isinstance(owner.name, str):  # of a cast to a dtype that a branch decides
        return interp.unknown(site.text, "undecided-branch", site)
    if name == "is_floating_point":
        return owner.name.startswith(("float", "bfloat"))
    if name == "is_complex":
        return owner.name.startswith("complex")
    if name == "itemsize":
        digits = "".join(c for c in owner.name.partition("_")[0] if c.isdigit())
        return int(digits) // 8 if digits else 1
    return interp.unknown(site.text, "unsupported", site)


def _device(interp: Interp, owner: Device, name: str, site: Site) -> Value:
    if name in ("type", "index"):
        return owner.type if name == "type" else owner.index
    return BoundMethod(External(f"torch.device.{name}"), owner)


def _sequence(interp: Interp, owner: Sequence, name: str, site: Site) -> Value:
    if name in owner.attrs:
        return owner.attrs[name]
    if owner.qname and interp.has_handler(owner.qname, name):
        return BoundMethod(External(f"{owner.qname}.{name}"), owner)
    return BoundMethod(External(f"{owner.qname if '.' in owner.qname else 'list'}.{name}"), owner)


def _dict(interp: Interp, owner: DictValue, name: str, site: Site) -> Value:
    if name == "__class__":
        return External("dict")
    return BoundMethod(External(f"dict.{name}"), owner)


def _list(interp: Interp, owner: ListValue, name: str, site: Site) -> Value:
    if owner.cls is not None:
        home, found, _ = find_in_mro(owner.cls, name)
        if found is not MISSING:
            return BoundMethod(found, owner, home) if isinstance(found, FunctionValue) else found
    if name == "__class__":
        return owner.cls or External("list")
    return BoundMethod(External(f"list.{name}"), owner)


def _set(interp: Interp, owner: SetValue, name: str, site: Site) -> Value:
    if name == "__class__":
        return External("frozenset" if owner.frozen else "set")
    return BoundMethod(External(f"set.{name}"), owner)


def _generator(interp: Interp, owner: GeneratorValue, name: str, site: Site) -> Value:
    return BoundMethod(External(f"generator.{name}"), owner)


def _dim(interp: Interp, owner: Dim, name: str, site: Site) -> Value:
    return BoundMethod(External(f"int.{name}"), owner)


def _none(interp: Interp, owner: None, name: str, site: Site) -> Value:
    if name == "__class__":
        return External("NoneType")
    return interp.raise_("AttributeError", f"'NoneType' object has no attribute {name!r}", site)


def _builtin(interp: Interp, owner: Value, kind: str, name: str, site: Site) -> Value:
    if kind in ("int", "bool", "float", "complex") and name in ("real", "imag", "numerator", "denominator"):
        return getattr(owner, name)
    if kind in ("int", "bool", "float") and not hasattr(owner, name):
        scalar = scalar_member(owner, name)  # NumPy's scalars stand for themselves as Python numbers
        if scalar is not MISSING:
            return scalar
    if kind == "range" and name in ("start", "stop", "step"):
        return getattr(owner, name)
    if kind == "slice" and name in ("start", "stop", "step"):
        return getattr(owner, name)
    if name == "__class__":
        return External(kind)
    if isinstance(owner, NamedResult) and owner.field(name) is not MISSING:
        return owner.field(name)
    if kind == "tuple" and not hasattr(tuple, name) and name not in ("numel",):
        return interp.raise_("AttributeError", f"'tuple' object has no attribute {name!r}", site)
    if kind == "str" and name == "value":
        return owner  # a member of a StrEnum that was a dict's key
    if kind != "tuple" and not hasattr(owner, name):
        return interp.raise_("AttributeError", f"{kind!r} object has no attribute {name!r}", site)
    return BoundMethod(External(f"{kind}.{name}"), owner)


Reader = Callable[[Any, Any, str, Any], Value]
READERS: dict[type, Reader] = {
    ByRank: _several,
    Alternatives: _several,
    Unknown: _unknown,
    Instance: _instance,
    ModuleInstance: _instance,
    Super: _super,
    ClassValue: _class,
    ModuleObject: _module,
    External: _external,
    FunctionValue: _function,
    BoundMethod: _bound,
    Native: _native,
    Partial: _partial,
    Property: _property,
    TensorValue: _tensor,
    Opaque: _opaque,
    DType: _dtype,
    Device: _device,
    Sequence: _sequence,
    DictValue: _dict,
    ListValue: _list,
    SetValue: _set,
    GeneratorValue: _generator,
    Dim: _dim,
    type(None): _none,
}


# ------------------------------------------------------------------ setting


def set_attribute(interp: Interp, owner: Value, name: str, value: Value, site: Site) -> None:
    if isinstance(owner, Alternatives):
        for _, option in interp.options_of(owner):
            set_attribute(interp, option, name, value, site)
        return
    if isinstance(owner, Instance):
        _set_on_instance(interp, owner, name, value, site)
    elif isinstance(owner, ClassValue):
        _set_on_class(interp, owner, name, value, site)
    elif isinstance(owner, ModuleObject):
        interp.trail.set_item(owner.scope.vars, name, value)
    elif isinstance(owner, Opaque):
        handled = interp.call_opaque(owner, "__setattr__", [name, value], {}, site)
        if handled is NotImplemented:
            interp.trail.set_item(owner.attrs, name, value)
    elif isinstance(owner, TensorValue):
        if name in ("requires_grad", "device", "dtype"):
            interp.trail.set(owner, name, value.name if isinstance(value, DType) else value)
        elif name == "data" and isinstance(value, TensorValue):
            kinship.written(interp, "", owner, [value], site)
            interp.trail.set(owner, "shape", value.shape)
            if value.device is not None and value.device != owner.device:
                interp.trail.set(owner, "device", value.device)
        else:
            interp.trail.set_item(owner.attrs, name, value)
    elif isinstance(owner, (FunctionValue | Native, Sequence)):
        interp.trail.set_item(owner.attrs, name, value)
    elif isinstance(owner, BoundMethod):
        set_attribute(interp, owner.func, name, value, site)
    elif isinstance(owner, External):
        interp.external_set(owner, name, value, site)


def _set_on_class(interp: Interp, owner: ClassValue, name: str, value: Value, site: Site) -> None:
    if name in ("__name__", "__qualname__") and isinstance(value, str):
        interp.trail.set(owner, "name", value.rpartition(".")[2])
    elif name == "__bases__" and isinstance(value, tuple) and all(isinstance(base, ClassValue | External) for base in value):
        from cgx.indexer.interpreter.classes import linearise  # it imports this module

        interp.trail.set(owner, "bases", list(value))
        interp.trail.set(owner, "mro", linearise(owner))
    else:
        interp.trail.set_item(owner.namespace, name, value)
        owner.origins[name] = site.anchor
    home = owner.namespace.get("__module__")
    if name in ("__name__", "__qualname__", "__module__") and isinstance(home, str) and isinstance(value, str):
        interp.trail.set(owner, "qname", f"{home}.{owner.name}")  # a decorator's class takes the place of the one it wraps


def _set_on_instance(interp: Interp, owner: Instance, name: str, value: Value, site: Site) -> None:
    hook = owner.cls.lookup("__setattr__")
    if isinstance(hook, FunctionValue) and interp.enter_hook(owner, f"set {name}"):
        try:
            interp.call(hook, [owner, name, value], {}, site)
        finally:
            interp.leave_hook(owner, f"set {name}")
        return
    plain_set(interp, owner, name, declared(owner, name, value), site)


def declared(owner: Instance, name: str, value: Value) -> Value:
    """An unknown value of a field that its class declares as a number is a number of that kind."""
    if not isinstance(value, Unknown) or value.hint or not isinstance(owner.cls, ClassValue):
        return value
    for base in owner.cls.mro:
        node = base.info.get("annotations", {}).get(name) if isinstance(base, ClassValue) else None
        if node is not None:
            if isinstance(node, ast.Name) and node.id in ("int", "float", "bool"):
                return Unknown(value.name, value.reason, value.anchor, node.id, value.settle, value.guard)
            break
    return value


def plain_set(interp: Interp, owner: Instance, name: str, value: Value, site: Site) -> None:
    """``object.__setattr__``, or ``nn.Module``'s where the owner is one."""
    if name == "__class__" and isinstance(value, ClassValue):
        interp.trail.set(owner, "cls", value)
        return
    found = owner.cls.lookup(name)
    if isinstance(found, Property) and found.setter is not None:
        interp.call(found.setter, [owner, value], {}, site)
        return
    interp.trail.set_item(owner.origins, name, site.anchor)
    if isinstance(owner, ModuleInstance):
        interp.set_on_module(owner, name, value, site)
        return
    interp.trail.set_item(owner.attrs, name, value)


