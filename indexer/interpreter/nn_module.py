"""``torch.nn.Module`` and its containers: what construction, attribute setting and calls do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from cgx.indexer.interpreter.attributes import find_in_mro
from cgx.indexer.interpreter.placing import placed
from cgx.indexer.interpreter.scopes import Site
from cgx.indexer.interpreter.values import (
    MISSING,
    ClassValue,
    DictValue,
    DType,
    External,
    ListValue,
    ModuleInstance,
    Native,
    Opaque,
    Sequence,
    TensorValue,
    Unknown,
    Value,
)
from cgx.indexer.overlays.arguments import device_type

if TYPE_CHECKING:
    from cgx.indexer.interpreter.interp import Interp

Args = list[Value]
Kwargs = dict[str, Value]
Handler = Callable[[Any, Any, Args, Kwargs], Value]
MODULE = "torch.nn.Module"
SEQUENTIAL, MODULE_LIST, MODULE_DICT = "torch.nn.Sequential", "torch.nn.ModuleList", "torch.nn.ModuleDict"
PARAMETER_LIST, PARAMETER_DICT = "torch.nn.ParameterList", "torch.nn.ParameterDict"
TRANSIENT = "cgx.transient"  # in the attrs of a buffer that no state_dict holds; None where that is not known
CONTAINERS = (SEQUENTIAL, MODULE_LIST, MODULE_DICT, PARAMETER_LIST, PARAMETER_DICT)


# ------------------------------------------------------------------ state


def set_on_module(interp: Interp, owner: ModuleInstance, name: str, value: Value, site: Site) -> None:
    """``nn.Module.__setattr__``: parameters, children and buffers go to their own tables."""
    trail = interp.trail
    if isinstance(value, TensorValue) and value.parameter:
        for table in (owner.attrs, owner.buffers, owner.children):
            if name in table:
                trail.del_item(table, name)
        trail.set_item(owner.parameters, name, value)
        if not value.name:
            value.name = name
    elif isinstance(value, ModuleInstance) or (name in owner.children and (value is None or _holds_module(value))) or _holds_module(value):
        for table in (owner.attrs, owner.buffers, owner.parameters):
            if name in table:
                trail.del_item(table, name)
        trail.set_item(owner.children, name, value)
    elif name in owner.parameters and value is None:
        trail.set_item(owner.parameters, name, None)
    elif isinstance(value, TensorValue) and value.attrs.get("cgx.buffer") and name not in owner.buffers:
        for table in (owner.attrs, owner.parameters, owner.children):
            if name in table:
                trail.del_item(table, name)
        trail.set_item(owner.buffers, name, value)
    elif name in owner.buffers and (value is None or isinstance(value, TensorValue)):
        trail.set_item(owner.buffers, name, value)
    elif name == "training":
        trail.set(owner, "training", value)
    else:
        trail.set_item(owner.attrs, name, value)


def _holds_module(value: Value) -> bool:
    options = getattr(value, "options", None)
    return options is not None and any(isinstance(option, ModuleInstance) for _, option in options)


def modules_of(module: ModuleInstance, seen: set[int] | None = None) -> Iterator[ModuleInstance]:
    """The module and all below it, each once, in the order of ``modules()``."""
    seen = set() if seen is None else seen
    if id(module) in seen:
        return
    seen.add(id(module))
    yield module
    for child in module.children.values():
        if isinstance(child, ModuleInstance):
            yield from modules_of(child, seen)


def named_modules(module: ModuleInstance, prefix: str = "", seen: set[int] | None = None) -> Iterator[tuple[str, ModuleInstance]]:
    seen = set() if seen is None else seen
    if id(module) in seen:
        return
    seen.add(id(module))
    yield prefix, module
    for name, child in module.children.items():
        if isinstance(child, ModuleInstance):
            yield from named_modules(child, f"{prefix}.{name}" if prefix else str(name), seen)


def every_name(module: ModuleInstance, prefix: str = "") -> Iterator[tuple[str, ModuleInstance]]:
    """``named_modules(remove_duplicate=False)``: a shared module under each of its names."""
    yield prefix, module
    for name, child in module.children.items():
        if isinstance(child, ModuleInstance):
            yield from every_name(child, f"{prefix}.{name}" if prefix else str(name))


def named_parameters(interp: Interp, module: ModuleInstance, once: bool = True) -> list[tuple[str, TensorValue]]:
    """(name, parameter); each parameter ``once``, or under every name it has."""
    found: list[tuple[str, TensorValue]] = []
    seen: set[int] = set()
    for path, inner in named_modules(module) if once else every_name(module):
        for name, value in interp.materialise(inner).parameters.items():
            if isinstance(value, TensorValue) and not (once and id(value) in seen):
                seen.add(id(value))
                found.append((f"{path}.{name}" if path else name, value))
    return found


def is_open(module: ModuleInstance) -> bool:
    """There may be more below it than is held: a part of it, or the length of a list of parts, is not known."""
    return any(inner.open or "*" in inner.children or isinstance(inner.attrs.get("__cgx_length__"), Unknown) for inner in modules_of(module))


# ------------------------------------------------------------------ methods of nn.Module

METHODS: dict[str, Handler] = {}


def _method(*names: str) -> Callable[[Handler], Handler]:
    def add(function: Handler) -> Handler:
        for name in names:
            METHODS[name] = function
        return function

    return add


@_method("__init__")
def _init(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    return None


@_method("register_buffer")
def _register_buffer(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    owner = args[0]
    name = args[1] if len(args) > 1 else kwargs.get("name")
    value = args[2] if len(args) > 2 else kwargs.get("tensor")
    persistent = args[3] if len(args) > 3 else kwargs.get("persistent", True)
    if isinstance(owner, ModuleInstance) and isinstance(name, str):
        if isinstance(value, TensorValue) and persistent is not True:
            interp.trail.set_item(value.attrs, TRANSIENT, persistent is False or None)
        interp.trail.del_item(owner.attrs, name)
        interp.trail.set_item(owner.buffers, name, value)
        interp.trail.set_item(owner.origins, name, site.anchor)
    return None


@_method("register_parameter")
def _register_parameter(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    owner = args[0]
    name = args[1] if len(args) > 1 else kwargs.get("name")
    value = args[2] if len(args) > 2 else kwargs.get("param")
    if isinstance(owner, ModuleInstance) and isinstance(name, str):
        interp.trail.set_item(owner.parameters, name, value)
    return None


@_method("add_module", "register_module")
def _add_module(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    owner = args[0]
    name = args[1] if len(args) > 1 else kwargs.get("name")
    value = args[2] if len(args) > 2 else kwargs.get("module")
    if isinstance(owner, ModuleInstance):
        if isinstance(name, str):
            interp.trail.set_item(owner.children, name, value)
            interp.trail.set_item(owner.origins, name, site.anchor)
        else:
            interp.trail.set(owner, "open", True)
    return None


@_method("parameters")
def _parameters(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    owner = args[0]
    if not isinstance(owner, ModuleInstance):
        return interp.unknown(site.text, "unsupported", site)
    own = not _recurses(args, kwargs, 1)
    return ListValue([value for name, value in named_parameters(interp, owner) if not own or name in owner.parameters], is_open(owner))


@_method("named_parameters")
def _named_parameters(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    owner = args[0]
    if not isinstance(owner, ModuleInstance):
        return interp.unknown(site.text, "unsupported", site)
    prefix = kwargs.get("prefix", args[1] if len(args) > 1 else "")
    head = f"{prefix}." if isinstance(prefix, str) and prefix else ""
    own = not _recurses(args, kwargs, 2)
    once = kwargs.get("remove_duplicate") is not False
    found = [(head + name, value) for name, value in named_parameters(interp, owner, once) if not own or name in owner.parameters]
    return ListValue(found, is_open(owner))


def _recurses(args: Args, kwargs: Kwargs, place: int) -> bool:
    """The argument ``recurse``, True where it is not given."""
    return kwargs.get("recurse", args[place] if len(args) > place else True) is not False


@_method("buffers")
def _buffers(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    inside = modules_of(args[0]) if _recurses(args, kwargs, 1) else [args[0]]
    return ListValue([value for inner in inside for value in inner.buffers.values() if value is not None], is_open(args[0]))


@_method("named_buffers")
def _named_buffers(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    found = [
        (f"{path}.{name}" if path else name, value)
        for path, inner in (named_modules(args[0]) if _recurses(args, kwargs, 2) else [("", args[0])])
        for name, value in inner.buffers.items()
        if value is not None
    ]
    return ListValue(found, is_open(args[0]))


@_method("children")
def _children(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    owner = interp.materialise(args[0])
    return ListValue([child for child in owner.children.values() if child is not None], owner.open)


@_method("named_children")
def _named_children(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    owner = interp.materialise(args[0])
    return ListValue([(name, child) for name, child in owner.children.items() if child is not None], owner.open)


@_method("modules")
def _modules(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    return ListValue(list(modules_of(interp.materialise_all(args[0]))), is_open(args[0]))


@_method("named_modules")
def _named_modules(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    return ListValue(list(named_modules(interp.materialise_all(args[0]))), is_open(args[0]))


@_method("state_dict")
def _state_dict(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    """Parameters under every name they have, and the buffers that are kept."""
    owner = args[0]
    table: dict[str, Value] = {}
    unsure = is_open(owner)
    for path, inner in every_name(owner):
        inner = interp.materialise(inner)
        for name, value in (*inner.parameters.items(), *inner.buffers.items()):
            left_out = value.attrs.get(TRANSIENT, False) if isinstance(value, TensorValue) else value is None or None
            unsure |= left_out is None
            if left_out is False:
                table[f"{path}.{name}" if path else name] = value
    return DictValue(table, open=unsure, kind="OrderedDict")


@_method("_save_to_state_dict")
def _save_to_state_dict(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    """What a module itself puts into a state dict: its own parameters and kept buffers."""
    names = ("destination", "prefix", "keep_vars")
    given = {**dict(zip(names, args[1:])), **kwargs}
    owner, held, prefix = interp.materialise(args[0]), given.get("destination"), given.get("prefix", "")
    if isinstance(held, DictValue):
        for name, value in (*owner.parameters.items(), *owner.buffers.items()):
            if isinstance(value, TensorValue) and value.attrs.get(TRANSIENT, False) is False:
                interp.setitem(held, f"{prefix}{name}" if isinstance(prefix, str) else interp.unknown(name, "data", site, "str"), value, site)
    return None


@_method("load_state_dict")
def _load_state_dict(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    for handler in interp.handlers("torch.nn.Module.load_state_dict"):
        handler(interp, site, args, kwargs)
    return (ListValue([], True), ListValue([], True))


@_method("train")
def _train(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    mode = args[1] if len(args) > 1 else kwargs.get("mode", True)
    return _mode(interp, args[0], mode)


@_method("eval")
def _eval(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    return _mode(interp, args[0], False)


def _mode(interp: Interp, owner: Value, mode: Value) -> Value:
    if isinstance(owner, ModuleInstance):
        for inner in modules_of(owner):
            if inner.training is not mode:
                interp.trail.set(inner, "training", mode)
    return owner


@_method("to", "cuda", "cpu", "half", "float", "double", "bfloat16", "type", "to_empty", "xpu", "npu")
def _to(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    name = interp.called_name(site)
    return interp.move_module(args[0], name, args[1:], kwargs, site)


@_method("apply")
def _apply(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    owner = args[0]
    func = args[1] if len(args) > 1 else kwargs.get("fn")
    for inner in reversed(list(modules_of(owner))):
        interp.attempt(partial(interp.call, func, [inner], {}, site))
    return owner


@_method("_apply")
def _apply_to_tensors(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    """Each parameter and buffer takes what the function makes of it; a parameter stays the object it is, as in torch."""
    owner = args[0]
    func = args[1] if len(args) > 1 else kwargs.get("fn")
    seen: set[int] = set()
    for inner in list(modules_of(owner)) if _recurses(args, kwargs, 2) else [owner]:
        held = interp.materialise(inner)
        for tensor in [*held.parameters.values(), *held.buffers.values()]:
            if isinstance(tensor, TensorValue) and id(tensor) not in seen:
                seen.add(id(tensor))
                made = interp.attempt(partial(interp.call, func, [tensor], {}, site))
                for name in ("shape", "dtype", "device"):
                    interp.trail.set(tensor, name, getattr(made, name, None))
    return owner


@_method("zero_grad", "requires_grad_", "share_memory", "register_state_dict_hook", "register_state_dict_post_hook", "register_state_dict_pre_hook", "register_load_state_dict_post_hook",
         "_register_load_state_dict_pre_hook", "register_load_state_dict_pre_hook", "_register_state_dict_hook", "extra_repr",
         "register_full_backward_hook", "register_full_backward_pre_hook", "register_backward_hook", "set_extra_state",
         "reset_parameters", "__setstate__")  # fmt: skip
def _self(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    if interp.called_name(site) == "zero_grad":
        for handler in interp.handlers("torch.nn.Module.zero_grad"):
            handler(interp, site, args, kwargs)
    if interp.called_name(site) == "requires_grad_" and isinstance(args[0], ModuleInstance):
        mode = args[1] if len(args) > 1 else kwargs.get("requires_grad", True)
        for _, value in named_parameters(interp, args[0]):
            interp.trail.set(value, "requires_grad", mode)
    return args[0]


@_method("register_forward_hook", "register_forward_pre_hook")
def _hook(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    kind = "pre" if interp.called_name(site).endswith("pre_hook") else "post"
    owner = args[0]
    if isinstance(owner, ModuleInstance):
        options = (kind, bool(kwargs.get("with_kwargs")))
        interp.trail.set(owner, "hooks", [*owner.hooks, (":".join(map(str, options)), args[1] if len(args) > 1 else kwargs.get("hook"))])
    return Opaque("torch.utils.hooks.RemovableHandle", anchor=site.anchor)


@_method("get_submodule", "get_parameter", "get_buffer")
def _get_submodule(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    value, target = args[0], args[1]
    if not isinstance(target, str):
        return interp.unknown(site.text, "unsupported", site)
    for part in target.split(".") if target else []:
        value = interp.getattr(value, part, site)
    return value


@_method("compile")
def _compile(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    interp.call(External("torch.compile"), [args[0]], kwargs, site)
    return None


@_method("__call__", "_call_impl")
def _call(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    return interp.call_module(args[0], list(args[1:]), kwargs, site, direct=True)


@_method("_get_name")
def _get_name(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    return args[0].cls.name


@_method("__dir__")
def _dir(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    owner = args[0]
    return ListValue([*owner.attrs, *owner.parameters, *owner.buffers, *owner.children], True)


@_method("__setattr__")
def _setattr(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    if isinstance(args[1], str):
        interp.plain_set(args[0], args[1], args[2], site)
    return None


@_method("__getattr__")
def _getattr(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    owner, name = args[0], args[1]
    for table in (owner.attrs, owner.parameters, owner.buffers, owner.children):
        if name in table:
            return table[name]
    return interp.raise_("AttributeError", f"{owner.cls.name!r} object has no attribute {name!r}", site)


@_method("__delattr__")
def _delattr(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    interp.delattr(args[0], args[1], site)
    return None


# ------------------------------------------------------------------ containers


def _names(count: int, start: int = 0) -> list[str]:
    return [str(start + index) for index in range(count)]


def _fill(interp: Interp, owner: ModuleInstance, source: Value, site: Site, table: str = "children") -> None:
    """Append the elements of an iterable under their running number."""
    into = getattr(owner, table)
    items = interp.iterate(source, site)
    if isinstance(items, list):
        for name, item in zip(_names(len(items), len(_held(owner))), items):
            if table == "parameters" and not isinstance(item, TensorValue | ModuleInstance):
                interp.trail.set_item(owner.attrs, name, item)
                continue
            interp.trail.set_item(_into(owner, item), name, item)
    elif isinstance(items, Sequence) and isinstance(items.element, ModuleInstance | TensorValue):
        interp.trail.set_item(into, "*", items.element)
        interp.trail.set_item(owner.attrs, "__cgx_length__", items.length)
        interp.note_unknown(items.length)
    else:
        interp.trail.set(owner, "open", True)
        interp.note_unknown(items)


def _sequential_init(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    owner = args[0]
    if len(args) == 2 and isinstance(args[1], DictValue):
        for key, item in args[1].items.items():
            interp.trail.set_item(owner.children, key, item)
    else:
        spread = kwargs.get("*")
        _fill(interp, owner, tuple(args[1:]), site)
        if spread is not None:
            _fill(interp, owner, spread, site)
    return None


def _list_init(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    source = args[1] if len(args) > 1 else kwargs.get("modules", kwargs.get("values"))
    if source is not None:
        _fill(interp, args[0], source, site, _table(args[0]))
    return None


def _table(owner: ModuleInstance) -> str:
    return "parameters" if owner.cls.derives(PARAMETER_LIST) or owner.cls.derives(PARAMETER_DICT) else "children"


def _into(owner: ModuleInstance, item: Value) -> dict[str, Value]:
    """Where torch registers a member: a list of parameters may hold further lists, which are modules."""
    return owner.children if isinstance(item, ModuleInstance) else _table_of(owner)


def _table_of(owner: ModuleInstance) -> dict[str, Value]:
    found: dict[str, Value] = getattr(owner, _table(owner))
    return found


def _held(owner: ModuleInstance) -> dict[str, Value]:
    """The members by name, in their order."""
    table = _table_of(owner)
    if table is owner.children or not owner.children:
        return table
    both = {**table, **owner.children}
    return dict(sorted(both.items(), key=lambda pair: int(pair[0]) if pair[0].isdigit() else 0))


def _dict_init(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    source = args[1] if len(args) > 1 else kwargs.get("modules", kwargs.get("parameters"))
    if source is not None:
        _dict_update(interp, site, [args[0], source], {})
    return None


def _dict_update(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    owner = args[0]
    if isinstance(args[1], ModuleInstance):
        found: dict[Any, Value] | None = dict(args[1].children)
    else:
        found = interp.as_mapping(args[1], site)
    if found is None or (isinstance(args[1], DictValue) and args[1].open):
        interp.trail.set(owner, "open", True)
    for key, value in (found or {}).items():
        interp.trail.set_item(_into(owner, value), key, value)
    return None


def _members(owner: ModuleInstance) -> list[Value]:
    return list(_held(owner).values())


def _container_iter(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    owner = interp.materialise(args[0])
    table = _held(owner)
    if "*" in table:
        return Sequence(table["*"], owner.attrs.get("__cgx_length__"), "container", site.anchor)
    return ListValue(list(table.values()), owner.open)


def _container_len(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    owner = interp.materialise(args[0])
    if "*" in owner.children:
        return owner.attrs.get("__cgx_length__")
    if owner.open:
        return interp.unknown(site.text, "data", site, "int")
    return len(_held(owner))


def _container_getitem(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    owner, key = interp.materialise(args[0]), args[1]
    table = _held(owner)
    if isinstance(key, str):
        if key in table:
            return interp.pick(table[key])
        return interp.unknown(site.text, "data", site) if owner.open else interp.raise_("KeyError", repr(key), site)
    if "*" in table:
        return table["*"] if not isinstance(key, slice) else Sequence(table["*"], interp.unknown(f"len({site.text})", "data", site, "int"), "container")
    values = list(table.values())
    if isinstance(key, slice):
        picked = interp.getitem(ListValue(values, owner.open), key, site)
        if isinstance(picked, ListValue) and (owner.cls.derives(SEQUENTIAL) or owner.cls.derives(MODULE_LIST)):
            names = list(table)[key]
            made = interp.new_instance(owner.cls, site)
            assert isinstance(made, ModuleInstance)
            made.attrs["__cgx_view__"] = True
            renumbered = names if owner.cls.derives(SEQUENTIAL) else _names(len(names))
            made.children = dict(zip(renumbered, picked.items))
            return made
        return picked
    return interp.getitem(ListValue(values, owner.open), key, site)


def _container_setitem(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    owner, key, value = interp.materialise(args[0]), args[1], args[2]
    table = _into(owner, value)
    if isinstance(key, str):
        interp.trail.set_item(table, key, value)
        interp.trail.set_item(owner.origins, key, site.anchor)
    elif isinstance(key, int):
        names = list(_held(owner))
        if -len(names) <= key < len(names):
            interp.trail.set_item(table, names[key], value)
    else:
        plain = interp.key(key)
        if plain is MISSING:
            interp.trail.set(owner, "open", True)
        else:
            interp.trail.set_item(table, str(plain), value)
    return None


def _container_delitem(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    owner, key = args[0], args[1]
    if isinstance(key, str):
        interp.trail.del_item(owner.children, key)
    elif isinstance(key, int | slice):
        names = list(owner.children)
        gone = names[key] if isinstance(key, slice) else [names[key]]
        rest = [(name, child) for name, child in owner.children.items() if name not in gone]
        for name in names:
            interp.trail.del_item(owner.children, name)
        for index, (name, child) in enumerate(rest):
            interp.trail.set_item(owner.children, name if owner.cls.derives(MODULE_DICT) else str(index), child)
    return None


def _append(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    owner = interp.materialise(args[0])
    table = _into(owner, args[1])
    if interp.unknown_loops > 0:
        interp.trail.set_item(table, "*", args[1])
        interp.trail.set_item(owner.attrs, "__cgx_length__", interp.loops[-1].count if interp.loops else None)
        return owner
    interp.trail.set_item(table, str(len(_held(owner))), args[1])
    return owner


def _insert(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    owner, index, value = args[0], args[1], args[2]
    values = list(owner.children.values())
    if isinstance(index, int):
        values.insert(index, value)
        for name, item in zip(_names(len(values)), values):
            interp.trail.set_item(owner.children, name, item)
    return None


def _extend(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    _fill(interp, args[0], args[1], site, _table(args[0]))
    return args[0]


def _plus(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    made = interp.new_instance(args[0].cls, site)
    assert isinstance(made, ModuleInstance)
    for part in args[:2]:
        _fill(interp, made, part, site, _table(made))
    return made


def _pop(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    owner, key = args[0], args[1]
    found = _container_getitem(interp, site, [owner, key], {})
    _container_delitem(interp, site, [owner, key], {})
    return found


def _keys(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    owner = interp.materialise(args[0])
    return ListValue(list(_held(owner)), owner.open)


def _values(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    return _container_iter(interp, site, args, kwargs)


def _items(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    owner = interp.materialise(args[0])
    return ListValue(list(_held(owner).items()), owner.open)


def _contains(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    owner = interp.materialise(args[0])
    table = _held(owner)
    if isinstance(args[1], str):
        return args[1] in table
    return any(args[1] is value for value in table.values())


def _sequential_forward(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    owner, value = interp.materialise(args[0]), args[1] if len(args) > 1 else kwargs.get("input")
    if "*" in owner.children:
        return interp.repeat_member(owner, value, site)
    for child in owner.children.values():
        if child is not None:
            value = interp.call(child, [value], {}, site)
    return value


def _no_forward(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
    return interp.raise_("NotImplementedError", "forward", site)


COMMON: dict[str, Handler] = {
    "__iter__": _container_iter,
    "__len__": _container_len,
    "__getitem__": _container_getitem,
    "__setitem__": _container_setitem,
    "__delitem__": _container_delitem,
    "__contains__": _contains,
    "append": _append,
    "extend": _extend,
    "__iadd__": _extend,
    "__add__": _plus,
    "insert": _insert,
    "pop": _pop,
}
CONTAINER_METHODS: dict[str, dict[str, Handler]] = {
    SEQUENTIAL: {**COMMON, "__init__": _sequential_init, "forward": _sequential_forward},
    MODULE_LIST: {**COMMON, "__init__": _list_init},
    PARAMETER_LIST: {**COMMON, "__init__": _list_init},
    MODULE_DICT: {**COMMON, "__init__": _dict_init, "keys": _keys, "values": _values, "items": _items, "update": _dict_update, "__iter__": _keys},
    PARAMETER_DICT: {**COMMON, "__init__": _dict_init, "keys": _keys, "values": _values, "items": _items, "update": _dict_update, "__iter__": _keys},
}


# ------------------------------------------------------------------ classes


def module_class() -> ClassValue:
    """``torch.nn.Module`` as a class."""
    cls = ClassValue("Module", MODULE, "Module", "", None, [], [], {}, native=MODULE)
    cls.mro = [cls, External("object")]
    cls.namespace.update({name: Native(f"{MODULE}.{name}", handler) for name, handler in METHODS.items()})
    cls.namespace.pop("__setattr__")
    cls.namespace.pop("__getattr__")
    cls.namespace.pop("__call__")
    cls.namespace.pop("extra_repr", None)
    return cls


def container_class(qname: str, base: ClassValue) -> ClassValue:
    name = qname.rpartition(".")[2]
    cls = ClassValue(name, qname, name, "", None, [base], [], {}, native=qname)
    cls.mro = [cls, *base.mro]
    cls.namespace.update({key: Native(f"{qname}.{key}", handler) for key, handler in CONTAINER_METHODS[qname].items()})
    return cls


def layer_class(qname: str, row: Any, bases: list[ClassValue]) -> ClassValue:
    """A torch layer that a table describes: its constructor and forward come from the row."""
    name = qname.rpartition(".")[2]
    cls = ClassValue(name, qname, name, "", None, list(bases), [], {}, native=qname)
    cls.mro = [cls, *bases[0].mro]
    cls.info["row"] = row
    cls.namespace["__init__"] = Native(f"{qname}.__init__", _layer_init(row))
    for method in row.methods:
        cls.namespace[method] = Native(f"{qname}.{method}", _layer_forward(row, method))
    for method in row.idle:
        cls.namespace[method] = Native(f"{qname}.{method}", lambda i, s, a, k: None)
    return cls


def _layer_init(row: Any) -> Handler:
    def init(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
        owner = args[0]
        bound = interp.bind_signature(row.signature, args[1:], kwargs, site)
        if bound is None:
            interp.trail.set(owner, "open", True)
            return None
        plain = {name: interp.export(value) for name, value in bound.items()}
        for name, value in row.attributes(plain).items():
            interp.trail.set_item(owner.attrs, name, interp.wrap(placed(value, site, True)))
        dtype, device = bound.get("dtype"), bound.get("device")
        shapes = row.parameters(plain)
        if not owner.cls.native:
            interp.trail.set_item(owner.attrs, WEIGHTS, tuple(shapes))
        for name, shape in shapes.items():
            interp.trail.set_item(owner.parameters, name, None if shape is None else _parameter(interp, shape, dtype, device, name, site))
        for name, buffer in row.buffers(plain).items():
            if buffer is not None:
                buffer.device = _made_on(interp, device)
            interp.trail.set_item(owner.buffers, name, buffer)
        return None

    return init


WEIGHTS = "__cgx_weights__"  # of a layer under a class of the source: the parameters that are the layer's own


def _made_on(interp: Interp, device: Value) -> str | None:
    """Where a layer's tensors are made: the argument, else the default; None where that is not known."""
    return device_type(device) if device is not None else interp.flags.get("default_device", "cpu")


def _parameter(interp: Interp, shape: Any, dtype: Value, device: Value, name: str, site: Site) -> TensorValue:
    kind = dtype.name if isinstance(dtype, DType) else interp.flags.get("default_dtype", "float32")
    sizes = tuple(None if isinstance(size, Unknown) else size for size in shape) if shape is not MISSING else None
    return TensorValue(sizes, kind, _made_on(interp, device), parameter=True, requires_grad=True, name=name, anchor=site.anchor)


def _layer_forward(row: Any, method: str) -> Handler:
    def forward(interp: Interp, site: Site, args: Args, kwargs: Kwargs) -> Value:
        owner = interp.materialise(args[0])
        return interp.run_layer(owner, row, list(args[1:]), kwargs, site, method)

    return forward


def forward_of(module: ModuleInstance) -> tuple[ClassValue | None, Value]:
    """What a call of the module runs: an instance attribute, else the class's ``forward``."""
    if "forward" in module.attrs:
        return None, module.attrs["forward"]
    home, found, _ = find_in_mro(module.cls, "forward")
    return home, found


