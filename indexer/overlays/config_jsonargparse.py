"""jsonargparse: ``CLI`` over functions and classes, typed by their annotations, with ``--config`` files and ``class_path``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cgx.errors import UserError
from cgx.indexer.interpreter.stdlib.arguments import ENTRIES as ARGPARSE
from cgx.indexer.interpreter.stdlib.arguments import PARSER
from cgx.indexer.interpreter.stdlib.imports import make_plain
from cgx.indexer.interpreter.stdlib.support import Handler, from_python, nothing, text_of
from cgx.indexer.interpreter.values import (
    MISSING,
    ByRank,
    ClassValue,
    DictValue,
    FunctionValue,
    Instance,
    ListValue,
    ModuleObject,
    Opaque,
    Unknown,
    Value,
)
from cgx.indexer.overlays.annotation_types import Type
from cgx.indexer.overlays.command_words import by_rank_apart, is_option, load_config, merge, take_apart
from cgx.indexer.overlays.typed_values import (
    Field,
    Mismatch,
    class_by_path,
    fields_of,
    from_plain,
    from_text,
    make_record,
)

PACKAGES = ("jsonargparse",)
SPARE = frozenset({"config", "print_config", "help", "print_shtab"})


# -- CLI -------------------------------------------------------------------------------------------------------------------


def cli(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``CLI(components, args=None)``: choose the component, fill its parameters, call it."""
    components = args[0] if args else kwargs.get("components")
    if components is None:
        components = _components_of_caller(interp, site)
    given = kwargs.get("args")
    words = list(given.items) if isinstance(given, ListValue) else by_rank_apart(list(interp.argv[1:]))
    return _dispatch(interp, site, components, words)


def _components_of_caller(interp: Any, site: Any) -> Value:
    """The functions and classes that the calling module defines itself."""
    scope = site.frame.scope.globals or site.frame.scope
    module = scope.module.path if scope.module is not None else ""
    rows = {
        name: value
        for name, value in scope.vars.items()
        if isinstance(value, FunctionValue | ClassValue) and value.path == module and not name.startswith("_")
    }
    return next(iter(rows.values())) if len(rows) == 1 else DictValue(dict(rows))


def _dispatch(interp: Any, site: Any, component: Value, words: list[Value]) -> Value:
    if isinstance(component, ListValue | tuple):
        items = component.items if isinstance(component, ListValue) else list(component)
        component = (
            items[0]
            if len(items) == 1
            else DictValue({getattr(item, "name", str(place)): item for place, item in enumerate(items)})
        )
    if isinstance(component, DictValue):
        place = next((place for place, word in enumerate(words) if not is_option(word)), None)
        name = text_of(words[place]) if place is not None else None
        if name not in component.items:
            raise UserError(f"the launch line names no subcommand of: {', '.join(str(key) for key in component.items)}")
        return _dispatch(interp, site, component.items[name], words[:place] + words[(place or 0) + 1 :])
    if isinstance(component, ClassValue) and not any(
        "dataclass" in cls.info for cls in component.mro if isinstance(cls, ClassValue)
    ):
        return _class_with_methods(interp, site, component, words)
    return interp.call(component, [], fill(interp, site, component, words), site)


def _class_with_methods(interp: Any, site: Any, cls: ClassValue, words: list[Value]) -> Value:
    methods = [
        name for name, value in cls.namespace.items() if isinstance(value, FunctionValue) and not name.startswith("_")
    ]
    place = next((place for place, word in enumerate(words) if word in methods), None)
    if not methods or place is None:
        return interp.call(cls, [], fill(interp, site, cls, words), site)
    instance = interp.call(cls, [], fill(interp, site, cls, words[:place]), site)
    method = interp.getattr(instance, str(words[place]), site)
    return interp.call(method, [], fill(interp, site, method, words[place + 1 :]), site)


def fill(interp: Any, site: Any, component: Value, words: list[Value]) -> dict[str, Value]:
    """The keyword arguments of a component: defaults, then config files, then the words."""
    fields = fields_of(interp, component, site)
    if fields is None:
        return {}
    apart = take_apart(words)
    given: dict[str, Any] = {}
    unknown: Unknown | None = None
    for config in apart.configs:
        loaded = load_config(interp, site, config)
        if isinstance(loaded, Unknown):
            unknown = loaded
        else:
            merge(given, loaded)
    required = [item for item in fields if item.default is MISSING]
    for item, word in zip(required, apart.plain):
        given[item.name] = Raw(word)
    merge(given, as_raw(apart.options))
    names = {item.name for item in fields}
    wrong = [name for name in given if name not in names | SPARE]
    if wrong:
        raise UserError(
            f"the launch line's arguments do not fit {getattr(component, 'name', 'the command')}: no option --{wrong[0]}"
        )
    lacking = [item.name for item in required if item.name not in given]
    if lacking and unknown is None:
        raise UserError(f"the launch line lacks {lacking[0]} of {getattr(component, 'name', 'the command')}")
    values: dict[str, Value] = {}
    for item in fields:
        if item.name in given:
            values[item.name] = value_for(interp, site, item, given[item.name])
        elif unknown is not None:
            values[item.name] = Unknown(item.name, unknown.reason, unknown.anchor, "", unknown.settle)
        elif item.default is not MISSING:
            values[item.name] = item.default
    return values


@dataclass(frozen=True, slots=True)
class Raw:
    """A word of the line, not yet read as its type."""

    word: Value


def as_raw(table: dict[str, Any]) -> dict[str, Any]:
    return {key: as_raw(value) if isinstance(value, dict) else Raw(value) for key, value in table.items()}


def value_for(interp: Any, site: Any, item: Field, given: Any) -> Value:
    """The value of one parameter from what the line and the files give."""
    try:
        return _typed(interp, site, item.type, given, item.default)
    except Mismatch as error:
        raise UserError(f"the launch line's arguments do not fit --{item.name}: {error}") from None


def _typed(interp: Any, site: Any, kind: Type, given: Any, default: Value) -> Value:
    if isinstance(given, Raw):
        return _word(interp, site, kind, given.word)
    record = next((part for part in kind.members() if part.kind == "fields"), None)
    if isinstance(given, dict) and record is not None:
        base = default if isinstance(default, Instance) else None
        return make_record(interp, record.value, _plain(interp, site, record, given), site, base)
    if (
        isinstance(given, dict)
        and any(part.kind == "class" for part in kind.members())
        and ("class_path" in given or "" in given)
    ):
        return instance_of(interp, site, kind, given)
    if isinstance(given, dict):
        return from_plain(
            interp,
            kind,
            {key: _typed(interp, site, Type("any"), value, MISSING) for key, value in given.items() if key},
            site,
        )
    return from_plain(interp, kind, given, site)


def _plain(interp: Any, site: Any, record: Type, given: dict[str, Any]) -> dict[str, Any]:
    """The fields of a nested record, each typed."""
    kinds = {item.name: item for item in fields_of(interp, record.value, site) or []}
    found: dict[str, Any] = {}
    for name, value in given.items():
        if not name:
            continue
        if name not in kinds:
            raise Mismatch(f"{record.name} has no field {name!r}")
        found[name] = _typed(interp, site, kinds[name].type, value, kinds[name].default)
    return found


def _word(interp: Any, site: Any, kind: Type, word: Value) -> Value:
    if isinstance(word, Unknown | ByRank):
        return word
    text = text_of(word) or ""
    if any(part.kind == "class" for part in kind.members()) and not any(
        part.kind == "plain" for part in kind.members()
    ):
        return instance_of(interp, site, kind, {"": Raw(text)})
    if text.endswith((".yaml", ".yml", ".json")) and any(
        part.kind in ("fields", "dict", "class") for part in kind.members()
    ):
        return _typed(interp, site, kind, load_config(interp, site, text), MISSING)
    return from_text(interp, kind, text, site)


def instance_of(interp: Any, site: Any, kind: Type, given: dict[str, Any]) -> Value:
    """``{class_path, init_args}``, or a class by its short name with options under it."""
    path = given.get("class_path", given.get("", ""))
    path = path.word if isinstance(path, Raw) else path
    if isinstance(path, str) and path.lower() in ("none", "null") and kind.optional:
        return None
    cls = find_class(interp, site, kind, str(path))
    if not isinstance(cls, ClassValue):
        return Unknown(str(path), "missing-module", site.anchor)
    options = dict(given.get("init_args") or {})
    merge(options, {key: value for key, value in given.items() if key not in ("", "class_path", "init_args")})
    fields = {item.name: item for item in fields_of(interp, cls, site) or []}
    values = {
        key: value_for(interp, site, fields[key], value) if key in fields else from_python(value)
        for key, value in options.items()
    }
    return interp.call(cls, [], values, site)


def find_class(interp: Any, site: Any, kind: Type, path: str) -> Value:
    """A class by dotted path, else by name beside the annotated base class and in its package."""
    if "." in path:
        return class_by_path(interp, path, site)
    for part in kind.members():
        base = part.value
        if isinstance(base, ClassValue) and base.name == path:
            return base
        for module in _around(interp, base, site):
            found = module.scope.vars.get(path)
            if isinstance(found, ClassValue):
                return found
    for module in list(interp.modules.values()):
        found = module.scope.vars.get(path) if isinstance(module, ModuleObject) else None
        if isinstance(found, ClassValue):
            return found
    return MISSING


def _around(interp: Any, base: Value, site: Any) -> list[ModuleObject]:
    if not (isinstance(base, ClassValue) and base.module is not None):
        return []
    package = base.module.name.rpartition(".")[0]
    outer = interp.attempt(lambda: interp.import_module(package, site)) if package else None
    return [module for module in (base.module, outer) if isinstance(module, ModuleObject)]


# -- ArgumentParser ----------------------------------------------------------------------------------------------------------


def _add_class(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """``parser.add_class_arguments(cls, "name")`` and its kind."""
    nested = args[2] if len(args) > 2 else kwargs.get("nested_key")
    held = args[0].attrs.setdefault("__components__", [])
    held.append((nested if isinstance(nested, str) else "", args[1]))
    return ListValue()


def _parse(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    held = args[0].attrs.get("__components__")
    if not held:
        return ARGPARSE["argparse.ArgumentParser.parse_args"](interp, site, args, kwargs)
    apart = take_apart(by_rank_apart(list(interp.argv[1:])))
    found: dict[str, Value] = {}
    for prefix, component in held:
        options = apart.options.get(prefix, {}) if prefix else apart.options
        words = [word for key, value in options.items() if not isinstance(value, dict) for word in (f"--{key}", value)]
        values = fill(interp, site, component, words)
        found.update({prefix: make_plain("argparse.Namespace", values, site)} if prefix else values)
    return make_plain("argparse.Namespace", found, site)


def _parser(interp: Any, site: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    parser = ARGPARSE[PARSER](interp, site, args, kwargs)
    return Opaque("jsonargparse.ArgumentParser", parser.attrs, site.anchor)


ENTRIES: dict[str, Handler] = {
    "jsonargparse.CLI": cli,
    "jsonargparse.auto_cli": cli,
    "jsonargparse.auto_parser": _parser,
    "jsonargparse.ArgumentParser": _parser,
    **{
        f"jsonargparse.ArgumentParser.{name}": _add_class
        for name in (
            "add_class_arguments",
            "add_function_arguments",
            "add_dataclass_arguments",
            "add_subclass_arguments",
        )
    },
    "jsonargparse.ArgumentParser.parse_args": _parse,
    "jsonargparse.ArgumentParser.instantiate_classes": lambda interp, site, args, kwargs: args[1],
    "jsonargparse.set_config_read_mode": nothing,
    "jsonargparse.set_docstring_parse_options": nothing,
    "jsonargparse.set_parsing_settings": nothing,
    "jsonargparse.ActionConfigFile": nothing,
}
BASES: dict[str, tuple[str, ...]] = {"jsonargparse.ArgumentParser": (PARSER,)}
