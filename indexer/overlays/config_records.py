"""Record classes of libraries: pydantic models and attrs classes. Their instances are plain ones with checked defaults."""

from __future__ import annotations

import ast
from typing import Any

from cgx.indexer.interpreter.classes import make_dataclass
from cgx.indexer.interpreter.stdlib.support import Args, Handler, Kwargs, constant, first, nothing
from cgx.indexer.interpreter.values import (
    MISSING,
    ClassMethod,
    ClassValue,
    DictValue,
    FunctionValue,
    Instance,
    ListValue,
    Native,
    Opaque,
    Unknown,
    Value,
)
from cgx.indexer.overlays.annotation_types import ANY
from cgx.indexer.overlays.typed_values import Mismatch, from_plain, from_text, record_fields

MODEL = "pydantic.BaseModel"
SETTINGS = "pydantic_settings.BaseSettings"
FIELD = "dataclasses.Field"
VALIDATOR = "pydantic.Validator"


# -- pydantic --------------------------------------------------------------------------------------------------------------


def new_model(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``Model(**values)``: values over defaults, converted to the annotated types; validators of the code run after."""
    cls = args[0]
    given = {key: value for key, value in kwargs.items() if key != "*"}
    for source in args[1:]:
        if isinstance(source, DictValue):
            given.update(source.items)
    fields = {item.name: item for item in record_fields(interp, cls, site)}
    aliases = {_alias(cls, name): name for name in fields if _alias(cls, name)}
    given = {aliases.get(key, key): value for key, value in given.items()}
    given = _before(interp, site, cls, given)
    instance = Instance(cls, constructed_at=site.anchor)
    for name, item in fields.items():
        if name in given:
            value = _convert(interp, site, item.type, given[name])
        elif "*" in kwargs:
            value = Unknown(f"{cls.name}.{name}", getattr(kwargs["*"], "reason", "missing-file"), site.anchor)
        elif cls.derives(SETTINGS) and (found := _from_environment(interp, cls, item)) is not MISSING:
            value = found
        elif item.default is not MISSING:
            value = item.default
        elif item.type.optional and "Optional" in ast.unparse(item.annotation or ast.Constant("")):
            value = None
        else:
            return interp.raise_("pydantic.ValidationError", f"{cls.name}: field {name} is required", site)
        value = _validated(interp, site, cls, name, value)
        instance.attrs[name] = value
        instance.origins[name] = site.anchor if name in given else cls.origins.get(name, site.anchor)
    extra = {key: value for key, value in given.items() if key not in fields}
    if extra and _allows_extra(cls):
        instance.attrs.update(extra)
    return _after(interp, site, instance)


def _alias(cls: ClassValue, name: str) -> str:
    held = cls.lookup(name)
    alias = held.attrs.get("alias") if isinstance(held, Opaque) else None
    return alias if isinstance(alias, str) else ""


def _allows_extra(cls: ClassValue) -> bool:
    config = cls.lookup("model_config")
    if isinstance(config, DictValue):
        return config.items.get("extra") == "allow"
    inner = cls.lookup("Config")
    return isinstance(inner, ClassValue) and inner.lookup("extra") == "allow"


def _convert(interp: Any, site: Any, kind: Any, value: Value) -> Value:
    if kind is ANY or isinstance(value, Unknown):
        return value
    try:
        if isinstance(value, str) and not any(
            part.kind in ("any", "class") or part.name == "str" for part in kind.members()
        ):
            return from_text(interp, kind, value, site)
        return from_plain(interp, kind, value, site)
    except Mismatch as error:
        return interp.raise_("pydantic.ValidationError", str(error), site)


def _from_environment(interp: Any, cls: ClassValue, item: Any) -> Value:
    prefix = ""
    config = cls.lookup("model_config")
    if isinstance(config, DictValue) and isinstance(config.items.get("env_prefix"), str):
        prefix = config.items["env_prefix"]
    for name in (f"{prefix}{item.name}", f"{prefix}{item.name}".upper()):
        if name in interp.env:
            value = interp.env[name]
            return from_text(interp, item.type, value, None) if isinstance(value, str) else value
    return MISSING


def _validators(cls: ClassValue, kind: str) -> list[tuple[Opaque, Value]]:
    found = []
    for parent in reversed(cls.mro):
        if isinstance(parent, ClassValue):
            for value in parent.namespace.values():
                if isinstance(value, Opaque) and value.qname == VALIDATOR and value.attrs["kind"] == kind:
                    found.append((value, value.attrs["function"]))
    return found


def _validated(interp: Any, site: Any, cls: ClassValue, name: str, value: Value) -> Value:
    for row, function in _validators(cls, "field"):
        if name in row.attrs["names"] or "*" in row.attrs["names"]:
            target = function.func if isinstance(function, ClassMethod) else function
            takes = len(target.node.args.args) if isinstance(target, FunctionValue) else 2
            value = interp.call(target, [cls, value, *[Opaque("pydantic.ValidationInfo", {})] * (takes - 2)], {}, site)
    return value


def _before(interp: Any, site: Any, cls: ClassValue, given: dict[str, Value]) -> dict[str, Value]:
    for _row, function in _validators(cls, "before"):
        target = function.func if isinstance(function, ClassMethod) else function
        result = interp.call(target, [cls, DictValue(dict(given))], {}, site)
        if isinstance(result, DictValue):
            given = dict(result.items)
    return given


def _after(interp: Any, site: Any, instance: Instance) -> Value:
    for _row, function in _validators(instance.cls, "after"):
        interp.call(function, [instance], {}, site)
    hook = instance.cls.lookup("model_post_init")
    if isinstance(hook, FunctionValue):
        interp.call(hook, [instance, None], {}, site)
    return instance


def _validator(kind: str) -> Handler:
    """``@field_validator("a")``, ``@model_validator(mode="after")`` and pydantic 1's ``@validator``, ``@root_validator``."""

    def make(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        mode = (
            "field" if kind == "field" else str(kwargs.get("mode", "before" if kwargs.get("pre") is True else "after"))
        )
        names = tuple(arg for arg in args if isinstance(arg, str))

        def decorate(interp: Any, site: Any, inner: Args, _kwargs: Kwargs) -> Value:
            return Opaque(
                VALIDATOR,
                {"kind": "before" if mode == "wrap" else mode, "names": names, "function": inner[0]},
                site.anchor,
            )

        if args and not isinstance(args[0], str):
            return decorate(interp, site, [args[0]], {})
        return Native("pydantic.validator", decorate)

    return make


def _model_init(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``super().__init__(**values)`` in a model's own constructor."""
    made = new_model(interp, site, [args[0].cls], kwargs)
    if isinstance(made, Instance):
        args[0].attrs.update(made.attrs)
        args[0].origins.update(made.origins)
    return None


def _new(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """Models with a constructor of their own are made as plain instances; it calls :func:`_model_init`."""
    own = args[0].lookup("__init__")
    return NotImplemented if isinstance(own, FunctionValue) else new_model(interp, site, args, kwargs)


def _dump(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    return DictValue({name: _plain(value) for name, value in args[0].attrs.items()})


def _plain(value: Value) -> Value:
    if isinstance(value, Instance) and value.cls.derives(MODEL):
        return DictValue({name: _plain(item) for name, item in value.attrs.items()})
    if isinstance(value, ListValue):
        return ListValue([_plain(item) for item in value.items], value.open)
    if isinstance(value, DictValue):
        return DictValue({key: _plain(item) for key, item in value.items.items()}, value.open)
    return value


def _from_mapping(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``Model.model_validate(mapping)`` and ``parse_obj``."""
    cls, source = args[0], args[1] if len(args) > 1 else None
    if not isinstance(source, DictValue):
        return (
            source
            if isinstance(source, Instance)
            else Unknown(site.text, getattr(source, "reason", "unsupported"), site.anchor)
        )
    return interp.call(cls, [], {str(key): value for key, value in source.items.items()}, site)


def _field(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``Field(default, ...)``; ``Field(...)`` is required."""
    options = {key: value for key, value in kwargs.items() if key in ("default", "default_factory", "alias")}
    if args and args[0] is not ...:
        options["default"] = args[0]
    if options.get("default") is ...:
        del options["default"]
    return Opaque(FIELD, options, site.anchor)


def _copy(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    update = kwargs.get("update")
    made = Instance(args[0].cls, dict(args[0].attrs), site.anchor, dict(args[0].origins))
    if isinstance(update, DictValue):
        made.attrs.update(update.items)
    return made


_METHODS: dict[str, Handler] = {
    "__cgx_new__": _new,
    "__init__": _model_init,
    "model_dump": _dump,
    "dict": _dump,
    "model_copy": _copy,
    "copy": _copy,
    "model_validate": _from_mapping,
    "parse_obj": _from_mapping,
    "model_construct": lambda interp, site, args, kwargs: new_model(interp, site, args, kwargs),
    "model_rebuild": nothing,
    "update_forward_refs": nothing,
}


# -- attrs -----------------------------------------------------------------------------------------------------------------


def _define(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``@attr.s``, ``@attrs.define``: the fields become a dataclass's."""

    def decorate(interp: Any, site: Any, inner: Args, _kwargs: Kwargs) -> Value:
        cls = inner[0]
        if not isinstance(cls, ClassValue):
            return cls
        for name, value in cls.namespace.items():
            if isinstance(value, Opaque) and value.qname == FIELD:
                cls.info["annotations"].setdefault(name, ast.Constant("Any"))
        if "__attrs_post_init__" in cls.namespace:
            cls.namespace.setdefault("__post_init__", cls.namespace["__attrs_post_init__"])
        return make_dataclass(interp, cls, {"kw_only": kwargs.get("kw_only", False)}, site)

    if args and isinstance(args[0], ClassValue):
        return decorate(interp, site, args, {})
    return Native("attrs.define", decorate)


def _attribute(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``attr.ib(default=..., factory=...)``."""
    options: dict[str, Value] = {
        key: kwargs[key] for key in ("default", "init", "metadata", "kw_only") if key in kwargs
    }
    if args:
        options["default"] = args[0]
    if "factory" in kwargs:
        options["default_factory"] = kwargs["factory"]
    held = options.get("default")
    if isinstance(held, Opaque) and held.qname == "attr.Factory":
        del options["default"]
        options["default_factory"] = held.attrs["factory"]
    return Opaque(FIELD, options, site.anchor)


def _default_of(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``@x.default``: the decorated method makes the default; it needs the instance, so the value is not known here."""
    interp.trail.set_item(args[0].attrs, "default", Unknown(site.text, "unsupported", site.anchor))
    return args[1]


ENTRIES: dict[str, Handler] = {
    **{f"{MODEL}.{name}": handler for name, handler in _METHODS.items()},
    **{f"{SETTINGS}.{name}": handler for name, handler in _METHODS.items()},
    "pydantic.Field": _field,
    "pydantic.PrivateAttr": _field,
    "pydantic.field_validator": _validator("field"),
    "pydantic.validator": _validator("field"),
    "pydantic.model_validator": _validator("model"),
    "pydantic.root_validator": _validator("model"),
    "pydantic.ConfigDict": lambda interp, site, args, kwargs: DictValue(dict(kwargs)),
    "pydantic_settings.SettingsConfigDict": lambda interp, site, args, kwargs: DictValue(dict(kwargs)),
    "pydantic.computed_field": first,
    "pydantic.dataclasses.dataclass": lambda interp, site, args, kwargs: _define(interp, site, args, kwargs),
    "pydantic.conint": constant(None),
    **dict.fromkeys(
        (
            "attr.s",
            "attr.attrs",
            "attr.define",
            "attrs.define",
            "attr.dataclass",
            "attrs.frozen",
            "attr.frozen",
            "attrs.mutable",
        ),
        _define,
    ),
    **dict.fromkeys(("attr.ib", "attr.attrib", "attrs.field", "attr.field"), _attribute),
    "attr.Factory": lambda interp, site, args, kwargs: Opaque("attr.Factory", {"factory": args[0]}),
    "attrs.Factory": lambda interp, site, args, kwargs: Opaque("attr.Factory", {"factory": args[0]}),
    "attr.asdict": _dump,
    "attrs.asdict": _dump,
    f"{FIELD}.default": _default_of,
    f"{FIELD}.validator": lambda interp, site, args, kwargs: args[-1],
    **{
        f"{package}.validators.{name}": constant(None)
        for package in ("attr", "attrs")
        for name in ("instance_of", "in_", "optional", "ge", "gt", "le", "lt")
    },
}
PACKAGES = ("pydantic", "attr", "attrs", "pydantic_settings")
BASES: dict[str, tuple[str, ...]] = {SETTINGS: (MODEL,)}
