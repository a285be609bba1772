"""Parsers that make flags from dataclasses: transformers' HfArgumentParser, simple_parsing, pyrallis, draccus, chz-like."""

from __future__ import annotations

import json
from typing import Any

import yaml

from cgx.errors import UserError
from cgx.indexer.interpreter.stdlib.argument_parsing import parse
from cgx.indexer.interpreter.stdlib.arguments import ENTRIES as ARGPARSE
from cgx.indexer.interpreter.stdlib.arguments import PARSER
from cgx.indexer.interpreter.stdlib.files_in_tree import missing, read_bytes
from cgx.indexer.interpreter.stdlib.formats import parse_yaml
from cgx.indexer.interpreter.stdlib.imports import make_plain
from cgx.indexer.interpreter.stdlib.support import Args, Handler, Kwargs, from_python, items_of, text_of
from cgx.indexer.interpreter.values import (
    MISSING,
    ClassValue,
    DictValue,
    External,
    Instance,
    ListValue,
    Native,
    Opaque,
    Unknown,
    Value,
)
from cgx.indexer.overlays.annotation_types import Type
from cgx.indexer.overlays.command_words import by_rank_apart, merge, take_apart
from cgx.indexer.overlays.config_interpolation import load_text
from cgx.indexer.overlays.typed_values import Field, Mismatch, fields_of, from_text, make_record, record_fields

PACKAGES = ("simple_parsing", "pyrallis", "draccus")
TRL = ("trl.TrlParser", "trl.scripts.TrlParser", "trl.scripts.utils.TrlParser")  # reads a file of defaults too
NAMES = ("transformers.HfArgumentParser", "transformers.hf_argparser.HfArgumentParser", *TRL)
HF, SIMPLE = "transformers.HfArgumentParser", "simple_parsing.ArgumentParser"


# -- flags from fields -----------------------------------------------------------------------------------------------------


def add_fields(interp: Any, site: Any, parser: Opaque, fields: list[Field], nested: bool) -> None:
    """An ``add_argument`` for each field. ``nested``: fields of inner records are flags of their own."""
    for item in fields:
        record = next((part for part in item.type.members() if part.kind == "fields"), None)
        if nested and record is not None:
            add_fields(interp, site, parser, record_fields(interp, record.value, site), nested)
            continue
        flags = [f"--{item.name}", *([f"--{item.name.replace('_', '-')}"] if "_" in item.name else [])]
        aliases = item.metadata.items.get("aliases") if isinstance(item.metadata, DictValue) else None
        for alias in items_of(interp, aliases, site) or [] if aliases is not None else []:
            flags.append(str(alias))
        ARGPARSE[f"{PARSER}.add_argument"](interp, site, [parser, *flags], _options(interp, item))


def _options(interp: Any, item: Field) -> dict[str, Value]:
    many = next((part for part in item.type.members() if part.kind == "list"), None)
    options: dict[str, Value] = {
        "dest": item.name,
        "default": None if item.default is MISSING else item.default,
        "required": item.default is MISSING,
    }
    if any(part.kind == "bool" for part in item.type.members()) and many is None:
        options |= {"type": _converter(Type("bool")), "nargs": "?", "const": True}
        return {**options, "default": False if item.default is MISSING else item.default, "required": False}
    inner = (many.args[0] if many.args else Type("any")) if many is not None else item.type
    options["type"] = _converter(inner)
    if many is not None:
        options["nargs"] = "+" if item.default is MISSING else "*"
        if isinstance(item.default, str):
            options["default"] = None  # a plain default of a list field is not handed to argparse
    literal = next((part for part in inner.members() if part.kind == "literal"), None)
    if literal is not None and not item.type.optional:
        options["choices"] = ListValue(list(literal.args))
    return options


def _converter(kind: Type) -> Value:
    def convert(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        try:
            return from_text(interp, kind, args[0], site)
        except Mismatch as error:
            return interp.raise_("ValueError", str(error), site)

    return Native(kind.name or kind.kind, convert)


# -- HfArgumentParser ------------------------------------------------------------------------------------------------------


def _hf(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    given = args[0] if args else kwargs.get("dataclass_types", ListValue())
    classes = [given] if isinstance(given, ClassValue | External) else items_of(interp, given, site) or []
    parser = Opaque(HF, {"dataclass_types": ListValue(list(classes))}, site.anchor)
    parser.attrs.update(ARGPARSE[PARSER](interp, site, [], {}).attrs)
    for cls in classes:
        fields = fields_of(interp, cls, site) if isinstance(cls, ClassValue) else None
        if fields is None or _has_outside_base(cls):
            parser.attrs["__unknown__"] = Unknown(site.text, "missing-module", site.anchor)
        add_fields(interp, site, parser, fields or [], nested=False)
    return parser


def _hf_parse(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``parse_args_into_dataclasses``: one instance for each class, in order, and what no class has."""
    parser = args[0]
    words_given = args[1] if len(args) > 1 else kwargs.get("args")
    words = by_rank_apart(list(interp.argv[1:])) if words_given is None else items_of(interp, words_given, site) or []
    unknown = parser.attrs.get("__unknown__")
    rest_allowed = kwargs.get("return_remaining_strings") is True or unknown is not None
    namespace, rest = parse(interp, site, parser, words, None, rest_allowed)
    made: list[Value] = []
    used: set[str] = set()
    for cls in parser.attrs["dataclass_types"].items:
        if not isinstance(cls, ClassValue):
            # Its fields are not known, but what the line gives for it is.
            options = _given_rest(rest)
            made.append(
                interp.call(cls, [], options, site)
                if isinstance(cls, External)
                else Opaque("dataclass", options, site.anchor)
            )
            continue
        names = [item.name for item in record_fields(interp, cls, site)]
        used.update(names)
        options = {name: namespace.attrs[name] for name in names if name in namespace.attrs}
        if _has_outside_base(cls):  # what the line gives beyond the known fields is the base's
            options = {**{name: value for name, value in _given_rest(rest).items() if name not in names}, **options}
        instance = interp.call(cls, [], options, site)
        if isinstance(instance, Instance) and _has_outside_base(cls):
            interp.trail.set(instance, "open", True)
        made.append(instance)
    left = {name: value for name, value in namespace.attrs.items() if name not in used}
    if left:
        made.append(make_plain("argparse.Namespace", left, site))
    if kwargs.get("return_remaining_strings") is True:
        made.append(rest)
    return tuple(made)


def _hf_with_file(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``TrlParser.parse_args_and_config``: ``--config FILE`` gives defaults, under the words of the line."""
    given = args[1] if len(args) > 1 else kwargs.get("args")
    words = list(interp.argv[1:]) if given is None else list(items_of(interp, given, site) or [])
    if "--config" in words[:-1]:
        place = words.index("--config")
        data = read_bytes(interp, words[place + 1])
        if data is None:
            return missing(site, words[place + 1])
        loaded = parse_yaml(data)
        words = [*_as_words(loaded if isinstance(loaded, dict) else {}), *words[:place], *words[place + 2 :]]
    rest = {"return_remaining_strings": kwargs["return_remaining_strings"]} if "return_remaining_strings" in kwargs else {}
    return _hf_parse(interp, site, [args[0], ListValue(words)], rest)


def _as_words(table: dict[str, Any]) -> list[str]:
    """The values of a file as a command line would have them; ``env`` sets variables, and nested tables stay JSON."""
    words: list[str] = []
    for key, value in table.items():
        if key == "env" or value is None:
            continue
        values = value if isinstance(value, list) else [json.dumps(value) if isinstance(value, dict) else value]
        words += [f"--{key}", *map(str, values)]
    return words


def _has_outside_base(cls: Value) -> bool:
    """A field may come from a base whose source is not there (``transformers.TrainingArguments``)."""
    return isinstance(cls, ClassValue) and any(
        isinstance(base, External) and base.qname not in PLAIN_BASES for base in cls.mro
    )


def _given_rest(rest: Value) -> dict[str, Value]:
    """What the words give beyond the known fields."""
    apart = take_apart([word for word in rest.items if isinstance(word, str)])
    return {name: _loose(value) for name, value in apart.options.items() if not isinstance(value, dict)}


PLAIN_BASES = frozenset({"object", "abc.ABC", "typing.Generic"})


def _loose(value: Value) -> Value:
    text = text_of(value)
    if text is None:
        return value
    try:
        return from_python(load_text(text))
    except yaml.YAMLError:
        return text


def _hf_file(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``parse_json_file`` and ``parse_yaml_file``."""
    name = args[1] if len(args) > 1 else next(iter(kwargs.values()), None)
    data = read_bytes(interp, name)
    if data is None:
        return missing(site, name)
    loaded = parse_yaml(data)
    return _from_mapping(interp, site, args[0], loaded if isinstance(loaded, dict) else {})


def _hf_dict(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    table = args[1] if len(args) > 1 else kwargs.get("args")
    return _from_mapping(interp, site, args[0], table.items) if isinstance(table, DictValue) else missing(site, table)


def _from_mapping(interp: Any, site: Any, parser: Opaque, table: dict[Any, Any]) -> Value:
    made: list[Value] = []
    for cls in parser.attrs["dataclass_types"].items:
        if not isinstance(cls, ClassValue):
            made.append(Opaque(getattr(cls, "qname", "dataclass"), dict(table), site.anchor))
            continue
        names = {item.name for item in record_fields(interp, cls, site)}
        made.append(make_record(interp, cls, {key: value for key, value in table.items() if key in names}, site))
    return tuple(made)


# -- simple_parsing and pyrallis -------------------------------------------------------------------------------------------


def _simple(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    parser = Opaque(SIMPLE, {"__records__": []}, site.anchor)
    parser.attrs.update(ARGPARSE[PARSER](interp, site, [], {}).attrs)
    return parser


def _add_arguments(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``parser.add_arguments(Options, dest="options")``."""
    cls = args[1] if len(args) > 1 else kwargs.get("dataclass")
    dest = text_of(args[2] if len(args) > 2 else kwargs.get("dest")) or "options"
    default = kwargs.get("default")
    if isinstance(cls, Instance):
        cls, default = cls.cls, cls
    args[0].attrs["__records__"].append((dest, cls, default))
    if isinstance(cls, ClassValue):
        add_fields(interp, site, args[0], record_fields(interp, cls, site), nested=True)
    return None


def _simple_parse(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    parser = args[0]
    given = args[1] if len(args) > 1 else kwargs.get("args")
    words = by_rank_apart(list(interp.argv[1:])) if given is None else items_of(interp, given, site) or []
    namespace, _rest = parse(interp, site, parser, words, None, False)
    for dest, cls, _default in parser.attrs["__records__"]:
        if isinstance(cls, ClassValue):
            namespace.attrs[dest] = _filled(interp, site, cls, namespace.attrs)
    return namespace


def _filled(interp: Any, site: Any, cls: ClassValue, values: dict[str, Value]) -> Value:
    table: dict[str, Value] = {}
    for item in record_fields(interp, cls, site):
        record = next((part for part in item.type.members() if part.kind == "fields"), None)
        if record is not None:
            table[item.name] = _filled(interp, site, record.value, values)
        elif item.name in values:
            table[item.name] = values.pop(item.name)
    return interp.call(cls, [], table, site)


def _nested(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``pyrallis.parse(config_class=C)``, ``simple_parsing.parse(C)``: ``--a.b value`` over a file over the defaults."""
    cls = args[0] if args else kwargs.get("config_class")
    if not isinstance(cls, ClassValue):
        return Unknown(site.text, "missing-module", site.anchor)
    words_given = kwargs.get("args")
    words = by_rank_apart(list(interp.argv[1:])) if words_given is None else items_of(interp, words_given, site) or []
    apart = take_apart(words)
    given: dict[str, Any] = {}
    names = [*apart.configs, *[apart.options.pop(name) for name in ("config_path", "config") if name in apart.options]]
    if kwargs.get("config_path") is not None:
        names.insert(0, kwargs["config_path"])
    for name in names:
        data = read_bytes(interp, name)
        if data is None:
            return missing(site, name)
        loaded = parse_yaml(data)
        merge(given, loaded if isinstance(loaded, dict) else {})
    merge(given, _typed(interp, site, cls, apart.options))
    return make_record(interp, cls, given, site)


def _typed(interp: Any, site: Any, cls: ClassValue, options: dict[str, Any]) -> dict[str, Any]:
    kinds = {item.name: item.type for item in record_fields(interp, cls, site)}
    found: dict[str, Any] = {}
    for name, value in options.items():
        clean = name.replace("-", "_")
        if clean not in kinds:
            raise UserError(f"the launch line's arguments do not fit {cls.name}: no option --{name}")
        record = next((part for part in kinds[clean].members() if part.kind == "fields"), None)
        if isinstance(value, dict) and record is not None:
            found[clean] = _typed(interp, site, record.value, value)
        elif isinstance(value, Unknown):
            found[clean] = value
        else:
            try:
                found[clean] = from_text(interp, kinds[clean], text_of(value) or "", site)
            except Mismatch as error:
                raise UserError(f"the launch line's arguments do not fit --{name}: {error}") from None
    return found


def _wrap(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``@pyrallis.wrap()``: the function is called with its parsed configuration."""

    def decorate(interp: Any, site: Any, inner: Args, _kwargs: Kwargs) -> Value:
        function = inner[0]

        def call(interp: Any, site: Any, given: Args, given_kwargs: Kwargs) -> Value:
            if given or given_kwargs:
                return interp.call(function, given, given_kwargs, site)
            fields = fields_of(interp, function, site) or []
            record = next(
                (part.value for item in fields[:1] for part in item.type.members() if part.kind == "fields"), None
            )
            return interp.call(function, [_nested(interp, site, [record], dict(kwargs))], {}, site)

        return Native("pyrallis.wrap", call)

    return Native("pyrallis.wrap", decorate)


def _field(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``simple_parsing.field`` and ``pyrallis.field``: a dataclass field with more words."""
    names = ("default", "default_factory", "init", "metadata")
    options = {key: value for key, value in kwargs.items() if key in names}
    if args:
        options.setdefault("default", args[0])
    for key in ("is_mutable",):
        kwargs.pop(key, None)
    return Opaque("dataclasses.Field", options, site.anchor)


def _mutable(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``mutable_field(factory, *args)``."""
    factory = Native(
        "mutable_field", lambda interp, site, inner, inner_kwargs: interp.call(args[0], args[1:], kwargs, site)
    )
    return Opaque("dataclasses.Field", {"default_factory": factory}, site.anchor)


def _choice(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    return Opaque("dataclasses.Field", {"default": kwargs["default"]} if "default" in kwargs else {}, site.anchor)


ENTRIES: dict[str, Handler] = {
    **dict.fromkeys((HF, "transformers.hf_argparser.HfArgumentParser", *TRL), _hf),
    f"{HF}.parse_args_into_dataclasses": _hf_parse,
    f"{HF}.parse_args_and_config": _hf_with_file,
    f"{HF}.parse_json_file": _hf_file,
    f"{HF}.parse_yaml_file": _hf_file,
    f"{HF}.parse_dict": _hf_dict,
    SIMPLE: _simple,
    f"{SIMPLE}.add_arguments": _add_arguments,
    f"{SIMPLE}.parse_args": _simple_parse,
    "simple_parsing.parse": _nested,
    "simple_parsing.field": _field,
    "simple_parsing.helpers.field": _field,
    "simple_parsing.mutable_field": _mutable,
    "simple_parsing.helpers.mutable_field": _mutable,
    "simple_parsing.choice": _choice,
    "simple_parsing.subgroups": _choice,
    "pyrallis.parse": _nested,
    "pyrallis.argparsing.parse": _nested,
    "pyrallis.wrap": _wrap,
    "pyrallis.field": _field,
    "draccus.parse": _nested,
    "draccus.wrap": _wrap,
    "draccus.field": _field,
}
BASES: dict[str, tuple[str, ...]] = {HF: (PARSER,), SIMPLE: (PARSER,)}
