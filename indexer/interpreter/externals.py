"""Names outside the source: who answers for them, in which order, and what is left when nobody does."""

from __future__ import annotations

import ast
import builtins
import dataclasses
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

from cgx.indexer import polyfills
from cgx.indexer.interpreter import (
    builtin_functions,
    core_library,
    generics,
    kinship,
    loaded,
    methods,
    nn_module,
    operators,
    torch_basics,
)
from cgx.indexer.interpreter.devices import is_index, listed_device, share_device, tensors_listed
from cgx.indexer.interpreter.placing import placed
from cgx.indexer.interpreter.scopes import Site
from cgx.indexer.interpreter.stdlib.array_values import array_attribute
from cgx.indexer.interpreter.trace import OpNode
from cgx.indexer.interpreter.values import (
    DELEGATE,
    HELD,
    MISSING,
    Alternatives,
    BoundMethod,
    ClassValue,
    Device,
    DictValue,
    DType,
    External,
    FunctionValue,
    Instance,
    ListValue,
    ModuleInstance,
    Native,
    Opaque,
    Property,
    Sequence,
    SetValue,
    TensorValue,
    Unknown,
    Value,
    handed_on,
    walk_values,
)
from cgx.indexer.ops import attributes as tensor_attributes
from cgx.indexer.ops import registry
from cgx.indexer.ops.names import CONSTANTS, TORCH_VERSION, torch_name
from cgx.indexer.ops.rows import Defaults
from cgx.indexer.ops.rules.factory import LITERAL

Args = list[Value]
Kwargs = dict[str, Value]
DTYPES = frozenset(
    ["float16", "float32", "float64", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool", "complex32", "complex64", "complex128", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn_x2", "quint8", "qint8", "qint32"]
)
DTYPE_ALIASES = {"float": "float32", "half": "float16", "double": "float64", "int": "int32", "long": "int64", "short": "int16", "cfloat": "complex64", "cdouble": "complex128"}
PREFIXES = (
    ("torch.nn.modules.container.", "torch.nn."),
    ("torch.nn.modules.module.", "torch.nn."),
    ("torch.nn.modules.", "torch.nn.modules."),
    ("torch.nn.parameter.", "torch.nn."),
    ("torch._tensor.", "torch."),
    ("torch.autograd.function.", "torch.autograd."),
    ("typing_extensions.", "typing."),
    ("torch.utils.data.dataloader.", "torch.utils.data."),
    ("torch.utils.data.dataset.", "torch.utils.data."),
    ("torch.utils.data.distributed.", "torch.utils.data.distributed."),
)


class Externals:
    """The part of the interpreter that asks the tables. Mixed into Interp."""

    def __init__(self) -> None:
        self._handlers: dict[str, list[Any]] = {}
        self._bases: dict[str, tuple[str, ...]] = {}
        self._values: dict[str, Any] = {}
        self._constants: dict[str, Value] = dict(CONSTANTS)
        self._tops: set[str] = set()
        self._families: dict[str, list[Any]] = {}  # package -> handlers that tell by the name itself
        self._packages: set[str] = set()  # whose tables win over their source
        self._names: set[str] = set()  # single names of which the same is true
        self._around: dict[tuple[str, str], list[tuple[str, Any]]] = {}  # BEFORE or AFTER, method -> (library class, what to do round a user's own)
        self._members: dict[str, frozenset[str]] = {}  # classes whose members are all listed
        self._made: dict[str, Value] = {}
        self._classes: dict[str, ClassValue | None] = {}
        self.external_overrides: dict[str, Value] = {}
        self.text_origins: dict[str, str] = {}
        for table in _tables():
            for name, handler in table.ENTRIES.items():
                self._handlers.setdefault(name, []).append(handler)
                self._tops.add(name.partition(".")[0])
            self._bases.update(getattr(table, "BASES", {}))
            for when in ("BEFORE", "AFTER"):
                for name, handler in getattr(table, when, {}).items():
                    owner, _, method = name.rpartition(".")
                    self._around.setdefault((when, method), []).append((owner, handler))
            self._packages.update(getattr(table, "PACKAGES", ()))
            for top, handler in getattr(table, "FAMILIES", ()):
                self._families.setdefault(top, []).append(handler)
            self._names.update(getattr(table, "NAMES", ()))
            self._members.update(getattr(table, "MEMBERS", {}))
            self._values.update(getattr(table, "MAKERS", {}))
            self._constants.update(getattr(table, "CONSTANTS", {}))

    # ------------------------------------------------------------------ who knows a name

    def handlers(self, qname: str) -> Iterable[Any]:
        return self._handlers.get(qname) or self._handlers.get(f"builtins.{qname}") or ()

    def overlaid(self, func: FunctionValue) -> Iterable[Any]:
        """Table rows that answer for a function of a library even where its source is read."""
        return self._handlers.get(func.qname, ()) if not func.path.startswith("cgx:") else ()

    def overridden(self, when: str, name: str, owner: Instance) -> Iterator[Any]:
        """What a table does before or behind a method of the source that stands in for one of a library's class."""
        for base, handler in self._around.get((when, name), ()):
            if base == "*" or any(isinstance(cls, External) and base in self.lineage(cls.qname) for cls in owner.cls.mro):
                yield handler

    def has_tables(self, top: str) -> bool:
        return top in self._tops or top in LIBRARIES

    def modelled(self, dotted: str) -> bool:
        """A package that tables answer for even where its source is given."""
        parts = dotted.split(".")
        return parts[0] in ALWAYS_MODELLED or any(".".join(parts[:end]) in self._packages for end in range(1, len(parts) + 1))

    def answered(self, qname: str) -> bool:
        """A single name that a table answers for even where its source is given."""
        return qname in self._names

    def lacks(self, qname: str, name: str) -> bool:
        """A class outside whose members a table lists has none of that name."""
        listed = [self._members[one] for one in self.lineage(qname) if one in self._members]
        return bool(listed) and not any(name in names for names in listed)

    def lineage(self, qname: str) -> list[str]:
        """The class and its modelled bases, nearest first."""
        found, queue = [], [qname]
        while queue:
            name = queue.pop(0)
            if name not in found:
                found.append(name)
                queue.extend(self._bases.get(name, ()))
        return found

    def derive(self, qname: str, base: str) -> None:
        """A class of a library whose source is not given is taken to be of a modelled base."""
        self._bases.setdefault(qname, (base,))

    def has_handler(self, qname: str, member: str) -> bool:
        return any(f"{name}.{member}" in self._handlers for name in self.lineage(qname))

    def opaque_is(self: Any, value: Opaque, qname: str) -> bool | None:
        names = self.lineage(value.qname)
        if qname in names or any(handed_on(qname, name) for name in names):
            return True
        if value.attrs.get("__bases__"):
            return qname in value.attrs["__bases__"]
        return False if value.qname in self._bases or self.has_handler(value.qname, "__init__") or "." in value.qname else None

    def decorates(self, qname: str) -> bool:
        """A decorator that a table answers for; others leave what they decorate as it is."""
        return qname in self._handlers or qname in builtin_functions.ENTRIES or torch_basics.has_polyfill(qname)

    def has_external(self: Any, qname: str) -> bool | None:
        """Whether a name of an outside module exists; None where no table tells."""
        if qname in self._handlers or qname in self._constants or qname in self._values or registry.find(qname) is not None or polyfills.find(qname) is not None:
            return True
        head, _, name = qname.rpartition(".")
        if head in builtin_functions.TYPES:
            return hasattr(getattr(builtins, head, None), name)
        if qname.startswith("torch"):
            tail = qname.removeprefix("torch.").partition(".")[0]
            if tail in DTYPES or tail in DTYPE_ALIASES:
                return True
            if torch_name(qname) is not None:
                return True
            module = qname.rpartition(".")[0]
            return False if torch_name(module) is not None or module == "torch" else None
        return None

    # ------------------------------------------------------------------ names

    def external(self: Any, qname: str, site: Site | None) -> Value:
        """What an outside name stands for: a constant, a class that tables describe, else the name itself."""
        if qname in self.external_overrides:
            return self.external_overrides[qname]
        if qname.endswith("TYPE_CHECKING"):
            return bool(self.flags.get("type_checking"))
        for prefix, other in PREFIXES:
            if qname.startswith(prefix):
                qname = other + qname[len(prefix) :]
        if qname in self._constants:
            held = self._constants[qname]
            if isinstance(held, Unknown) and site is not None:  # one for all runs: it stands where it is asked for
                return Unknown(held.name, held.reason, site.anchor, held.hint, held.settle)
            return held
        if qname.startswith("six.moves.") and hasattr(builtins, qname[10:]):
            return External(qname[10:])
        if qname in self._values:
            if qname not in self._made:
                self._made[qname] = self._values[qname](self)
            return self._made[qname]
        head, _, tail = qname.rpartition(".")
        if head == "torch" and (tail in DTYPES or tail in DTYPE_ALIASES):
            return DType(DTYPE_ALIASES.get(tail, tail))
        if tail == "__version__" and head == "torch":
            return TORCH_VERSION
        if tail in ("__name__", "__qualname__") and head:
            return head.rpartition(".")[2]
        if tail == "__module__" and head:
            return head.rpartition(".")[0]
        if tail == "__class__":
            return External("type")
        held = torch_basics.polyfill(self, qname)
        if held is MISSING and isinstance(holder := torch_basics.polyfill(self, head), ClassValue):
            held = holder.lookup(tail)
        return held if isinstance(held, Instance | str) else External(qname)  # an object of a stand-in, a member of its enum, its version

    def constant(self: Any, qname: str) -> Value:
        return self._constants.get(qname, MISSING)

    def external_set(self: Any, owner: External, name: str, value: Value, site: Site) -> None:
        """A switch of a library (``torch.backends.cuda.matmul.allow_tf32 = True``), or a patched name."""
        qname = f"{owner.qname}.{name}"
        for handler in self.handlers(f"{owner.qname}.__setattr__"):
            if handler(self, site, [owner, name, value], {}) is not NotImplemented:
                return
        for handler in self.handlers(f"{qname}.__set__"):
            if handler(self, site, [owner, name, value], {}) is not NotImplemented:
                return
        self.trail.set_item(self.external_overrides, qname, value)
        if qname.startswith("torch.backends") or "tf32" in name:
            self.event("compute", site, author="interpreter.externals", key="precision", value=site.text, setting=qname, to=value)

    def external_item(self: Any, owner: External, key: Value, site: Site) -> Value:
        for handler in self.handlers(f"{owner.qname}.__getitem__"):
            found = handler(self, site, [owner, key], {})
            if found is not NotImplemented:
                return found
        if owner.qname in ("typing.Literal", "typing_extensions.Literal"):
            return Opaque("typing.Literal", {"values": key if isinstance(key, tuple) else (key,)})
        if owner.qname in ("typing.Union", "typing.Optional"):
            return generics.union(key if isinstance(key, tuple) else (key,), owner.tail == "Optional")
        return MISSING

    # ------------------------------------------------------------------ calls

    def call_external(self: Any, qname: str, args: Args, kwargs: Kwargs, site: Site) -> Value:
        """Tables first, then classes that tables describe, then ops, then nothing is known."""
        for handler in self.handlers(qname):
            found = handler(self, site, args, kwargs)
            if found is not NotImplemented:
                return found
        entry = builtin_functions.ENTRIES.get(qname)
        if entry is not None:
            if "*" in kwargs and qname not in ("print", "dict"):  # what is spread is not known
                return operators.derived(self, (kwargs["*"],), site)
            return entry(self, site, args, kwargs)
        if qname in builtin_functions.EXCEPTIONS:
            return Opaque(qname, {"args": tuple(args)}, site.anchor)
        kind, _, name = qname.rpartition(".")
        if kind in BUILTIN_KINDS and args:
            return self.call_member(qname, args[0], args[1:], kwargs, site)
        cls = self.native_class(qname)
        if cls is not None:
            return self.call(cls, args, kwargs, site)
        stand_in = torch_basics.polyfill(self, qname)
        if isinstance(stand_in, FunctionValue):
            return self.call_stand_in(stand_in, args, kwargs, site)
        holder = torch_basics.polyfill(self, kind) if kind else MISSING
        if isinstance(holder, ClassValue) and holder.lookup(name) is not MISSING:  # a static method of a layer
            return self.call_stand_in(self.getattr(holder, name, site), args, kwargs, site)
        if registry.find(qname) is not None:
            return self.op(qname, args, kwargs, site)
        if kind.startswith("torch.nn.Module"):
            method = nn_module.METHODS.get(name)
            if method is not None and args:
                return method(self, site, args, kwargs)
        owner = self.native_class(kind) if kind else None
        if owner is not None:
            method = owner.lookup(name)
            if isinstance(method, Native):
                return self.call(method, args, kwargs, site)
        for family in self._families.get(qname.partition(".")[0], ()):
            found = family(self, qname, site, args, kwargs)
            if found is not NotImplemented:
                return found
        for handler in self._families.get("*", ()):
            found = handler(self, qname, site, args, kwargs)
            if found is not NotImplemented:
                return found
        return self.opaque_result(qname, args, kwargs, site)

    def call_stand_in(self: Any, func: FunctionValue, args: Args, kwargs: Kwargs, site: Site) -> Value:
        """A library function written as Python of ours: what it makes is made at the line that called it."""
        if site.anchor.path.startswith("cgx:"):
            return self.call(func, args, kwargs, site)
        self.site_stack.append(site.anchor)
        try:
            return self.call(func, args, kwargs, site)
        finally:
            self.site_stack.pop()

    def opaque_result(self: Any, qname: str, args: Args, kwargs: Kwargs, site: Site, func: Value = None) -> Value:
        """Nobody knows the callee. Tensors that go in make it an op of its own inside a forward."""
        tensors = [value for arg in [*args, *kwargs.values()] for value in walk_values(arg) if isinstance(value, TensorValue)]
        torch_tensors = [value for value in tensors if value.library == "torch"]
        if self.forward_depth and torch_tensors and qname and not qname.startswith("builtins"):
            result = Unknown(site.text, "unmodelled", site.anchor, settle=("--env", qname.partition(".")[0]))
            self.emit(OpNode(site.anchor, site.text, qname=qname, inputs=torch_tensors, outputs=[], opaque=True))
            return result
        if torch_tensors and not self.forward_depth and (isinstance(func, Unknown | Opaque) or qname.partition(".")[0] not in ("torch", "builtins", "numpy")):
            from cgx.indexer.overlays.outside_models import number_by_use

            number = number_by_use(self, site, torch_tensors)
            if number is not NotImplemented:
                return number
        if not torch_tensors and isinstance(site.node, ast.Call):
            from cgx.indexer.overlays.schedulers import step_by_name

            step_by_name(self, site, qname)
        if isinstance(func, Unknown):
            method = site.node.func.attr if isinstance(site.node, ast.Call) and isinstance(site.node.func, ast.Attribute) else ""
            if method == "backward" and not self.in_model:
                return self.call_external("torch.Tensor.backward", [None, *args], kwargs, site)  # whatever the loss is
            if method == "get_group" and args and isinstance(args[0], str):  # of whatever mesh: its dim's name says what for
                return self.call_external(f"{MESH}.get_group", [Opaque(MESH, {}, site.anchor), *args], kwargs, site)
            if loaded.is_loaded(func):
                return loaded.called(func, torch_tensors, site)
            return Unknown(site.text, func.reason, func.anchor or site.anchor, settle=func.settle)
        if not isinstance(func, Opaque) and (qname[:1].isupper() or (qname.rpartition(".")[2][:1].isupper() and "." in qname)):
            from cgx.indexer.overlays.outside_optimizers import outside_optimizer

            made = outside_optimizer(self, qname, list(args), kwargs, site)
            return Opaque(qname, {}, site.anchor) if made is NotImplemented else made  # a class, and not what calling an instance of it gives
        top = qname.partition(".")[0]
        return Unknown(site.text, "missing-module" if top not in self._tops else "unmodelled", site.anchor)

    def call_member(self: Any, qname: str, owner: Value, args: Args, kwargs: Kwargs, site: Site) -> Value:
        """A method by the qualified name of its class."""
        kind, _, name = qname.rpartition(".")
        if qname == "tuple.__new__" and args:  # a user's subclass of tuple is kept as a plain one
            found = self.iterate(args[-1], site)
            return tuple(found) if isinstance(found, list) else self.unknown(site.text, "data", site)
        if kind in BUILTIN_KINDS:
            if kind == "list" and isinstance(owner, Sequence):
                return self.sequence_method(owner, name, site)
            method = methods.METHODS.get(qname)
            if method is None and isinstance(owner, (str, bytes, int, float, bool, complex, range, tuple)):
                method = methods.plain_method(kind, name)
            if method is None:
                return self.unknown(site.text, "unsupported", site)
            return method(self, site, [owner, *args], kwargs)
        for cls in self.lineage(kind):
            for handler in self.handlers(f"{cls}.{name}"):
                found = handler(self, site, [owner, *args], kwargs)
                if found is not NotImplemented:
                    return found
        if isinstance(owner, TensorValue):
            if owner.library == "numpy":
                return self.numpy_member(owner, name, args, kwargs, site)
            return self.op(qname, [owner, *args], kwargs, site)
        if qname in methods.METHODS:
            return methods.METHODS[qname](self, site, [owner, *args], kwargs)
        if name == "__init__" and isinstance(owner, Instance) and self.external_init(External(kind), owner, args, kwargs, site):
            return None
        if isinstance(owner, ModuleInstance) and name in nn_module.METHODS:
            return nn_module.METHODS[name](self, site, [owner, *args], kwargs)
        if isinstance(owner, ListValue | SetValue | tuple):
            return self.unknown(site.text, "unsupported", site)
        return self.opaque_result(qname, [owner, *args], kwargs, site)

    def sequence_method(self: Any, owner: Sequence, name: str, site: Site) -> Value:
        """A list method on a list whose elements are not known one by one."""
        if name in ("index", "count", "__len__"):
            return self.unknown(site.text, "data", site, "int")
        if name in ("append", "extend", "insert", "remove", "clear", "pop"):
            self.trail.set(owner, "length", self.unknown(f"len({site.text})", "data", site, "int"))
        if name in ("copy", "__iter__"):
            return owner
        return owner.element if name == "pop" else None

    def call_opaque(self: Any, owner: Opaque, name: str, args: Args, kwargs: Kwargs, site: Site) -> Value:
        """A method of a modelled object, or NotImplemented."""
        for cls in self.lineage(owner.qname):
            for handler in self.handlers(f"{cls}.{name}"):
                found = handler(self, site, [owner, *args], kwargs)
                if found is not NotImplemented:
                    return found
        entry = builtin_functions.ENTRIES.get(f"{owner.qname}.{name}")
        return entry(self, site, [owner, *args], kwargs) if entry is not None else NotImplemented

    def external_member(self: Any, base: External, name: str, owner: Value, site: Site) -> Value:
        """A member that a class of the source inherits from outside. MISSING where no table has it."""
        held = owner.attrs.get(DELEGATE) if isinstance(owner, Instance) else None
        if isinstance(held, Opaque) and name != "__init__":
            if name in held.attrs:
                return self.pick(held.attrs[name])
            if self.has_handler(held.qname, name):
                return BoundMethod(External(f"{held.qname}.{name}"), held)
        for cls in self.lineage(base.qname):
            if f"{cls}.{name}" in self._handlers:
                return BoundMethod(External(f"{cls}.{name}"), owner)
        if base.qname == "torch.autograd.Function" and name == "apply":
            return Native("torch.autograd.Function.apply", lambda i, s, a, k: i.autograd_apply(owner, a, k, s))
        kind = BUILTIN_BASES.get(base.qname)
        if kind is not None and isinstance(owner, Instance):
            return self.builtin_member(kind, name, owner)
        return MISSING

    def builtin_member(self: Any, kind: str, name: str, owner: Instance) -> Value:
        """A method of a user's subclass of dict, list, ...: it works on the data that it holds."""
        inherited = getattr(getattr(builtins, kind), name, MISSING) is getattr(object, name, None) and name != "__init__"
        if inherited or name in ("__getattribute__", "__new__", "__class__"):
            return MISSING
        data = owner.attrs.get(HELD)
        if data is None:
            data = {"dict": DictValue, "list": ListValue}.get(kind, lambda: MISSING)()
            if data is MISSING:
                return MISSING
            self.trail.set_item(owner.attrs, HELD, data)
        if name == "__init__":
            return Native(f"{kind}.__init__", lambda i, s, a, k: i.fill_builtin(kind, data, a, k, s))
        if f"{kind}.{name}" in methods.METHODS or hasattr(getattr(builtins, kind), name):
            return BoundMethod(External(f"{kind}.{name}"), data)
        return MISSING

    def fill_builtin(self: Any, kind: str, data: Value, args: Args, kwargs: Kwargs, site: Site) -> Value:
        if kind == "dict":
            methods.METHODS["dict.update"](self, site, [data, *args], kwargs)
        elif args:
            methods.METHODS["list.extend"](self, site, [data, args[0]], {})
        return None

    def external_method(self: Any, owner: Instance, name: str, args: Args, kwargs: Kwargs, site: Site) -> Value:
        """A special method that an instance inherits from outside, or NotImplemented."""
        for base in owner.cls.mro:
            if isinstance(base, External):
                found = self.external_member(base, name, owner, site)
                if found is not MISSING:
                    return self.call(found, args, kwargs, site)
        return NotImplemented

    def external_init(self: Any, base: Value, owner: Instance, args: Args, kwargs: Kwargs, site: Site) -> bool:
        """``__init__`` of an outside base. True where a table answered."""
        if not isinstance(base, External):
            return False
        if base.qname == "property":
            for name, value in zip(("fget", "fset", "fdel", "__doc__"), args):
                self.trail.set_item(owner.attrs, name, value)
            return True
        member = self.external_member(base, "__init__", owner, site)
        if member is not MISSING:
            self.call(member, args, kwargs, site)
            return True
        if base.qname in self._handlers and base.qname not in QUIET_BASES:
            made = self.call_external(base.qname, args, kwargs, site)
            if isinstance(made, Opaque):  # what the base is, under the class of the source: its methods work on it
                self.trail.set_item(owner.attrs, DELEGATE, made)
                return True
            if isinstance(made, Instance) and not isinstance(made, ModuleInstance):  # a plain holder of attributes
                for name, value in made.attrs.items():
                    self.trail.set_item(owner.attrs, name, value)
                return True
        return base.qname in QUIET_BASES

    def outside_fields(self: Any, cls: ClassValue, site: Site) -> dict[str, Value] | None:
        """Fields with their defaults that a dataclass inherits from a modelled base outside; {} of another one outside, None without any."""
        found: dict[str, Value] | None = None
        for base in cls.mro:
            if not isinstance(base, External) or base.qname in QUIET_BASES:
                continue
            found = {} if found is None else found
            for name in self.lineage(base.qname):
                for handler in self.handlers(f"{name}.__cgx_fields__"):
                    return dict(handler(self, site, [cls], {}))
        return found

    def autograd_apply(self: Any, cls: Value, args: Args, kwargs: Kwargs, site: Site) -> Value:
        """``Function.apply``: the class's ``forward`` with a context, as one op of its own with what it issues inside."""
        if not isinstance(cls, ClassValue):
            return self.unknown(site.text, "unsupported", site)
        forward = self.getattr(cls, "forward", site)
        context = Opaque("torch.autograd.function.FunctionCtx", {"needs_input_grad": tuple(True for _ in args)}, site.anchor)
        separate = cls.lookup("setup_context") is not MISSING
        return self.call(forward, list(args) if separate else [context, *args], kwargs, site)

    # ------------------------------------------------------------------ classes

    def native_class(self: Any, qname: str) -> ClassValue | None:
        """A torch class that tables describe, as a class; None for any other name."""
        if qname not in self._classes:
            self._classes[qname] = None
            self._classes[qname] = self._make_class(qname)
        found: ClassValue | None = self._classes[qname]
        return found

    def _make_class(self: Any, qname: str) -> ClassValue | None:
        for prefix, other in PREFIXES:
            if qname.startswith(prefix):
                qname = other + qname[len(prefix) :]
        if qname == nn_module.MODULE:
            return nn_module.module_class()
        if qname in nn_module.CONTAINERS:
            return nn_module.container_class(qname, self.native_class(nn_module.MODULE))
        polyfill = self.polyfill_class(qname)
        if polyfill is not None:
            return polyfill
        if not qname.startswith(("torch.", "einops.")):
            return None
        from cgx.indexer.ops import layers

        row = layers.layer(qname)
        if row is None:
            return None
        names = row.bases if isinstance(row.bases, tuple) else (row.bases,)
        bases = [self.native_class(name) or self.native_class(nn_module.MODULE) for name in names]
        return nn_module.layer_class(row.name if getattr(row, "name", "") else qname, row, bases)

    def polyfill_class(self: Any, qname: str) -> ClassValue | None:
        """A library class written as Python that the interpreter reads (``cgx.indexer.polyfills``)."""
        found = torch_basics.polyfill(self, qname)
        return found if isinstance(found, ClassValue) else None

    def instantiate_native(self: Any, cls: ClassValue, args: Args, kwargs: Kwargs, site: Site) -> Value:
        """Construction that is not Python's: subclasses of str, int, dict, Tensor, ... NotImplemented for all else."""
        for base in cls.mro[1:]:
            if not isinstance(base, External):
                continue
            if base.qname in ("str", "int", "float") and "members" not in cls.info and cls.lookup("__new__") is MISSING:
                return self.call(External(base.qname), args, kwargs, site)
            if base.qname in ("torch.Tensor", "torch.nn.Parameter") and cls.lookup("__new__") is MISSING:
                value = self.call(External("torch.nn.Parameter"), args, kwargs, site) if base.qname.endswith("Parameter") else self.op("torch.Tensor.detach", args[:1], {}, site)
                if isinstance(value, TensorValue):
                    value.cls = cls
                return value
            if base.qname == "property" and cls.lookup("__get__") is MISSING:
                return Property(args[0] if args else kwargs.get("fget"), args[1] if len(args) > 1 else kwargs.get("fset"))
            for handler in self.handlers(f"{base.qname}.__cgx_new__"):
                found = handler(self, site, [cls, *args], kwargs)
                if found is not NotImplemented:
                    return found
        return NotImplemented

    def is_module_class(self, cls: Value) -> bool:
        return isinstance(cls, ClassValue) and cls.derives(nn_module.MODULE)

    def new_instance(self: Any, cls: Value, site: Site) -> Value:
        if not isinstance(cls, ClassValue):
            return self.unknown(site.text, "unsupported", site)
        if cls.derives(nn_module.MODULE):
            hidden = site.anchor.path.startswith("cgx:") and self.site_stack
            module = ModuleInstance(cls, constructed_at=self.site_stack[-1] if hidden else site.anchor, passing=self.forward_depth > 0)
            self.register_module(module, site)
            return module
        instance = Instance(cls, constructed_at=site.anchor)
        self.note_fresh(instance.attrs)
        self.note_fresh(instance.origins)
        instance.open = any(isinstance(base, Unknown) for base in cls.mro)
        return instance

    def bind_signature(self: Any, signature: str, args: Args, kwargs: Kwargs, site: Site) -> dict[str, Value] | None:
        from cgx.indexer.ops.rows import bind

        if "*" in kwargs:
            kwargs = {key: value for key, value in kwargs.items() if key != "*"}
            return None
        bound, _ = bind(signature, args, kwargs)
        return {key: value for key, value in bound.items() if value is not MISSING}

    # ------------------------------------------------------------------ ops on tensors

    def op(self: Any, qname: str, args: Args, kwargs: Kwargs, site: Site) -> Value:
        """Record an op and give its result. ``args`` are abstract values."""
        row = registry.find(qname)
        if is_index(kwargs.get("device")):
            kwargs = {**kwargs, "device": Device("cuda")}
        plain_args = [self.export(arg) for arg in args]
        plain_kwargs = {key: self.export(value) for key, value in kwargs.items() if key != "*"}
        inputs = [value for arg in [*plain_args, *plain_kwargs.values()] for value in tensors_listed(arg)]
        held = inputs or [value for value in [*args, *kwargs.values()] if isinstance(value, TensorValue)]  # exported as a number
        numpy = bool(held) and all(value.library == "numpy" for value in held)
        if row is None:
            return self._unknown_op(qname, inputs, site)
        made = (row.kind == "factory" or row.signature == "data=None") and not qname.startswith("torch.Tensor.")  # torch.tensor(array) is a tensor
        numpy &= not made
        if row.opaque and not inputs:
            return Unknown(site.text, "unmodelled", site.anchor)  # a query of an extension, or its loading: no op on tensors
        defaults = Defaults(self.flags.get("default_dtype", "float32"), self.flags.get("default_device", "cpu"), self.flags.get("legacy_device", "cpu"))
        result = placed(row.call(plain_args, plain_kwargs, defaults), site, bool(inputs and inputs[0].name))
        if isinstance(result, Unknown) and row.kind == "query" and inputs and not inputs[0].name:
            result.name = site.text  # what --set takes
        if _open_positions(kwargs, site) and row.name.rpartition(".")[2] not in CONVERSIONS:
            for tensor in tensors_listed(result):  # sizes and axes may stand among what is spread
                tensor.shape = tensor.const = None
        share_device(inputs, result)
        if len(inputs) == 1 and inputs[0].pinned and (row.kind == "view" or row.name == "operator.getitem") and isinstance(result, TensorValue):
            result.device, result.pinned = inputs[0].device, True  # a part of pinned memory, whatever its shape
        if not inputs and isinstance(result, TensorValue) and result.device is None and row.kind != "factory":
            listed_device(args, result)
        autocast = self.flags.get("autocast")
        if autocast and row.autocast in ("lower", "fp32") and any(value.device not in ("cpu", "meta") for value in inputs):
            for tensor in tensors_listed(result):
                if tensor.dtype is not None and tensor.dtype.startswith(("float", "bfloat")):
                    tensor.dtype = autocast if row.autocast == "lower" else "float32"
        if numpy:
            for tensor in tensors_listed(result):
                tensor.library, tensor.device = "numpy", "cpu"
        elif made:
            for tensor in tensors_listed(result):
                tensor.library = "torch"
        if row.kind != "query" and not numpy:
            outputs = [] if row.name == "operator.setitem" else tensors_listed(result)
            given = [*zip(args[1:], plain_args[1:]), *((kwargs[key], plain) for key, plain in plain_kwargs.items())]
            sure = [*plain_args[:1], *(plain for one, plain in given if not self._may_be_none(one))]
            taken = [tensor for plain in sure for tensor in tensors_listed(plain) if tensor.library == "torch"]  # an array is no tensor yet
            steps = row.steps(plain_args, plain_kwargs)  # a library function that runs several ops in turn
            anchor, text = self.line_of(site)
            for step in steps or ():
                self.emit(OpNode(anchor, text, qname=step.name, inputs=list(step.inputs), outputs=list(step.outputs)))
            if steps is None:
                self.emit(OpNode(anchor, text, qname=row.name, inputs=taken, outputs=outputs, opaque=row.opaque))
        sync = row.sync_of(plain_args, plain_kwargs)
        if sync is not None and inputs:
            self.transfer(sync, inputs[0], site)
        if self.loops and not numpy and row.kind in ("op", "view"):
            if row.inplace and args:
                kinship.written(self, row.name.rpartition(".")[2], args[0], [*args[1:], *kwargs.values()], site)
            else:
                kinship.mark(result, [*args, *kwargs.values()], row.kind == "view")
        if row.inplace and args:
            return self._write_back(args[0], result, row.name.rpartition(".")[2] in RESHAPING)
        return self.wrap(result) if isinstance(result, list | dict) else result

    def _write_back(self: Any, target: Value, result: Value, reshaping: bool) -> Value:
        """What an in-place op leaves in its target: all but a few keep its shape and dtype, whatever the operand is."""
        if isinstance(target, TensorValue) and isinstance(result, TensorValue):
            self.trail.del_item(target.attrs, LITERAL)
            known = target.shape is not None and target.dtype is not None
            for name in ("const",) if known and not reshaping else ("shape", "dtype", "const"):
                if getattr(target, name) != getattr(result, name):
                    self.trail.set(target, name, getattr(result, name))
            return target
        return target if isinstance(target, TensorValue) else result

    def _may_be_none(self: Any, given: Value) -> bool:
        """An optional argument that the code leaves open: no tensor that the op surely takes."""
        given = self.pick(given)
        return isinstance(given, Alternatives) and any(option is None for _, option in given.options)

    def _unknown_op(self: Any, qname: str, inputs: list[TensorValue], site: Site) -> Value:
        if inputs and all(value.library == "numpy" for value in inputs):
            return TensorValue(library="numpy", device="cpu")
        known = torch_name(qname) is not None
        if self.forward_depth and inputs:
            self.emit(OpNode(site.anchor, site.text, qname=qname, inputs=inputs, outputs=[], opaque=not known))
        devices = {value.device for value in inputs}
        if qname.startswith("torch.Tensor.") and not known:
            return Unknown(site.text, "unmodelled", site.anchor)
        return TensorValue(device=devices.pop() if len(devices) == 1 else None) if known else Unknown(site.text, "unmodelled", site.anchor)

    def numpy_member(self: Any, owner: TensorValue, name: str, args: Args, kwargs: Kwargs, site: Site) -> Value:
        """A method of a NumPy array: the tensor's rule of that name gives the shape; all of it happens on the host."""
        if name == "astype":
            name, args = "to", [args[0]] if args and isinstance(args[0], DType) else []
        if name == "copy":
            return dataclasses.replace(owner)
        if registry.find(f"torch.Tensor.{name}") is None:
            return TensorValue(library="numpy", device="cpu") if name in NUMPY_ARRAYS else self.unknown(site.text, "data", site)
        if name in ("item", "tolist"):
            return self.unknown(site.text, "data", site)
        result = self.op(f"torch.Tensor.{name}", [owner, *args], {k: v for k, v in kwargs.items() if k in ("dim", "keepdim")}, site)
        if isinstance(result, TensorValue):
            result.library, result.device = "numpy", "cpu"
        return result

    def tensor_attribute(self: Any, owner: Value, name: str, site: Site) -> Value:
        if isinstance(owner, TensorValue) and owner.library == "numpy":
            held = array_attribute(owner, name, site)
            if held is not MISSING:
                return held
        view = tensor_attributes.VIEW_ATTRIBUTES.get(name)
        if view is not None and name != "data" and isinstance(owner, TensorValue) and owner.library == "torch":
            return self.op(view, [owner], {}, site)
        found = tensor_attributes.attribute(owner, name)
        if isinstance(found, Unknown):
            return Unknown(site.text, found.reason, found.anchor or site.anchor, found.hint)
        return found

    def row_of(self: Any, tensor: TensorValue) -> TensorValue:
        """One element along the first axis."""
        shape = tensor.shape[1:] if tensor.shape else None
        return TensorValue(shape, tensor.dtype, tensor.device, tensor.pinned, tensor.library)

    def transfer(self: Any, kind: str, tensor: Value, site: Site) -> None:
        """The host looks at a tensor's value: a sync, where it lies on the device."""
        from cgx.indexer.overlays import transfer

        transfer.sync(self, kind, tensor, site)

    def index_copy(self: Any, index: TensorValue, device: str, site: Site) -> None:
        """A host index into a device tensor goes there first."""
        from cgx.indexer.overlays import transfer

        transfer.index_copy(self, index, device, site)

    def element_copy(self: Any, owner: TensorValue, value: TensorValue, site: Site) -> None:
        """A tensor written into a part of one that lies on the other side."""
        from cgx.indexer.overlays import transfer

        transfer.copy(self, value, owner.device, False, site, what=site.text)


def floating(tensor: TensorValue) -> bool:
    return tensor.dtype is None or tensor.dtype.startswith(("float", "bfloat", "complex"))


def _open_positions(kwargs: Kwargs, site: Site) -> bool:
    """``f(*rest)`` where nobody knows what is in ``rest``."""
    return "*" in kwargs and isinstance(site.node, ast.Call) and any(isinstance(arg, ast.Starred) for arg in site.node.args)


def _tables() -> list[ModuleType]:
    """Every handler table, in the order they are asked."""
    from cgx.indexer.interpreter import stdlib
    from cgx.indexer.overlays import OVERLAYS

    return [*OVERLAYS, torch_basics, core_library, *stdlib.TABLES]


BUILTIN_KINDS = frozenset(["str", "bytes", "int", "float", "bool", "complex", "range", "tuple", "list", "dict", "set", "generator", "object", "namedtuple", "slice", "deque"])
BUILTIN_BASES = {
    **{kind: kind for kind in ("dict", "list", "str", "int", "tuple")},
    "collections.OrderedDict": "dict",
    "collections.defaultdict": "dict",
    "collections.Counter": "dict",
    "weakref.WeakKeyDictionary": "dict",
    "typing.TypedDict": "dict",
    "typing_extensions.TypedDict": "dict",
}
CONVERSIONS = frozenset({"to", "type", "type_as", "cuda", "cpu"})
RESHAPING = frozenset({"resize_", "resize_as_", "set_", "squeeze_", "unsqueeze_", "transpose_", "t_", "swapaxes_", "swapdims_", "as_strided_"})
QUIET_BASES = frozenset(
    ["object", "abc.ABC", "typing.Generic", "typing.Protocol", "enum.Enum", "torch.autograd.Function", "torch.utils.data.Dataset", "torch.utils.data.IterableDataset", "Exception", "ValueError", "RuntimeError", "threading.local", "logging.Logger", "nn.Module"]
)
MESH = "torch.distributed.device_mesh.DeviceMesh"
ALWAYS_MODELLED: frozenset[str] = frozenset({"torch", "numpy", "tqdm", "einops", "einx"})
LIBRARIES: frozenset[str] = frozenset({"typing_extensions"})
NUMPY_ARRAYS = frozenset(["copy", "reshape", "astype", "transpose", "flatten", "ravel", "squeeze", "repeat", "clip", "round", "sum", "mean", "max", "min", "std", "var", "view"])
