"""JSON, YAML, TOML, INI, CSV and pickle: texts of the source are read, pickles never are."""

from __future__ import annotations

import csv
import json
import tomllib
from collections.abc import Callable
from typing import Any

import yaml

from cgx.indexer.interpreter.loaded import HELD
from cgx.indexer.interpreter.stdlib.files import content_of
from cgx.indexer.interpreter.stdlib.files_in_tree import missing, read_bytes
from cgx.indexer.interpreter.stdlib.support import (
    Args,
    Handler,
    Kwargs,
    NotPlain,
    bind,
    derived,
    from_python,
    lift,
    nothing,
    text_of,
    to_python,
    unknown,
)
from cgx.indexer.interpreter.values import DictValue, ListValue, Unknown, Value


class SafeYaml(yaml.SafeLoader):
    """PyYAML's safe loader; a tag that it does not know gives an Unknown and not an error."""


def _tagged(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> Any:
    return Unknown(f"!{suffix}", "unmodelled")


SafeYaml.add_multi_constructor("!", _tagged)
SafeYaml.add_multi_constructor("tag:yaml.org,2002:python/", _tagged)
def _tuple(loader: yaml.SafeLoader, node: yaml.Node) -> Any:
    return tuple(loader.construct_sequence(node, deep=True)) if isinstance(node, yaml.SequenceNode) else _tagged(loader, "python/tuple", node)


SafeYaml.add_constructor("tag:yaml.org,2002:python/tuple", _tuple)


def parse_yaml(text: str | bytes) -> Any:
    """One YAML document; raises yaml.YAMLError."""
    return yaml.load(text, SafeYaml)


def parse_yaml_all(text: str | bytes) -> Any:
    return list(yaml.load_all(text, SafeYaml))


def parse_toml(text: str | bytes) -> Any:
    return tomllib.loads(text.decode() if isinstance(text, bytes) else text)


def loader(parse: Callable[[Any], Any], error: str) -> Handler:
    """A handler that parses a text or an open file. ``error``: the exception's class where it does not parse."""

    def call(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        def once(source: Value) -> Value:
            content = content_of(source)
            if content is None and text_of(source) is not None:
                data = read_bytes(interp, source)
                content = missing(site, source) if data is None else data.decode("utf-8", "replace")
            if isinstance(content, Unknown):
                return Unknown(content.name or site.text, content.reason, content.anchor, "dict", content.settle)
            if not isinstance(content, str | bytes):
                return derived(site, [source], "", "missing-file")
            try:
                return from_python(parse(content))
            except (ValueError, yaml.YAMLError, RecursionError, OverflowError) as problem:
                return interp.raise_(error, " ".join(str(problem).split()), site)

        values = list(args[:1]) or list(kwargs.values())[:1]
        return lift(once, values)

    return call


def _dumps(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``json.dumps`` with the layout options that change the text."""
    options = {k: v for k, v in kwargs.items() if k in ("indent", "sort_keys", "separators", "ensure_ascii")}

    def once(value: Value) -> Value:
        try:
            return json.dumps(to_python(value), **{k: to_python(v) for k, v in options.items()})
        except (NotPlain, TypeError, ValueError):
            return derived(site, [value], "str")

    return lift(once, args[:1])


def _yaml_dump(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    if len(args) > 1 or "stream" in kwargs:
        return None
    try:
        return yaml.safe_dump(to_python(args[0]))
    except (NotPlain, yaml.YAMLError):
        return derived(site, args, "str")


def _yaml_object(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    from cgx.indexer.interpreter.values import Opaque

    return Opaque("ruamel.yaml.YAML", dict(kwargs), site.anchor)


def _yaml_object_load(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    return ENTRIES["yaml.safe_load"](interp, site, args[1:], kwargs)


# -- csv ---------------------------------------------------------------------------------------------------------------


def _rows(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    content = content_of(args[0]) if args else None
    if not isinstance(content, str):
        return derived(site, [content, *args], "list", "missing-file")
    options: Any = {k: v for k, v in kwargs.items() if k in ("delimiter", "quotechar") and isinstance(v, str)}
    return ListValue([ListValue(list(row)) for row in csv.reader(content.splitlines(), **options)])


def _dict_rows(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    content = content_of(args[0]) if args else None
    if not isinstance(content, str):
        return derived(site, [content, *args], "list", "missing-file")
    options: Any = {k: v for k, v in kwargs.items() if k in ("delimiter", "quotechar") and isinstance(v, str)}
    return ListValue([DictValue(dict(row)) for row in csv.DictReader(content.splitlines(), **options)])


_PICKLED = unknown("missing-file", HELD["cpu"])  # what is pickled for others to use lies on the host


def _unpickled(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """A pickle may run code when it is read: it is never read."""
    bound = bind("file", args, kwargs)
    content = content_of(bound.get("file"))
    if isinstance(content, Unknown):
        return Unknown(content.name, content.reason, site.anchor, HELD["cpu"], content.settle)
    return _PICKLED(interp, site, args, kwargs)


_YAML = loader(parse_yaml, "yaml.YAMLError")
_YAML_ALL = loader(parse_yaml_all, "yaml.YAMLError")
_JSON = loader(json.loads, "json.JSONDecodeError")
_TOML = loader(parse_toml, "tomllib.TOMLDecodeError")

ENTRIES: dict[str, Handler] = {
    "json.load": _JSON,
    "json.loads": _JSON,
    "json.dumps": _dumps,
    "json.dump": nothing,
    "simplejson.load": _JSON,
    "simplejson.loads": _JSON,
    "orjson.loads": _JSON,
    "ujson.load": _JSON,
    "ujson.loads": _JSON,
    "yaml.load": _YAML,
    "yaml.safe_load": _YAML,
    "yaml.full_load": _YAML,
    "yaml.unsafe_load": _YAML,
    "yaml.load_all": _YAML_ALL,
    "yaml.safe_load_all": _YAML_ALL,
    "yaml.dump": _yaml_dump,
    "yaml.safe_dump": _yaml_dump,
    "yaml.add_constructor": nothing,
    "yaml.add_representer": nothing,
    "ruamel.yaml.YAML": _yaml_object,
    "ruamel.yaml.YAML.load": _yaml_object_load,
    "ruamel.yaml.YAML.dump": nothing,
    "ruamel.yaml.safe_load": _YAML,
    "ruamel.yaml.load": _YAML,
    "tomllib.load": _TOML,
    "tomllib.loads": _TOML,
    "tomli.load": _TOML,
    "tomli.loads": _TOML,
    "toml.load": _TOML,
    "toml.loads": _TOML,
    "tomlkit.parse": _TOML,
    "csv.reader": _rows,
    "csv.DictReader": _dict_rows,
    "csv.writer": nothing,
    "csv.DictWriter": nothing,
    "pickle.load": _unpickled,
    "pickle.loads": _PICKLED,
    "pickle.Unpickler.load": _PICKLED,
    "pickle.dump": nothing,
    "pickle.dumps": unknown("unsupported", "bytes"),
    "dill.load": _unpickled,
    "cloudpickle.load": _unpickled,
    "joblib.load": _unpickled,
    "joblib.dump": nothing,
    "marshal.loads": unknown("missing-file"),
    "json.JSONEncoder": nothing,
}

__all__ = ["ENTRIES", "SafeYaml", "loader", "parse_yaml"]
