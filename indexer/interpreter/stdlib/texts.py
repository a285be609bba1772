"""Texts: ``re``, ``string``, ``textwrap``, ``shlex``, ``hashlib``, ``base64``, ``ast.literal_eval``, ``difflib``."""

from __future__ import annotations

import ast
import base64
import difflib
import hashlib
import html
import re
import shlex
import string
import textwrap
import unicodedata
import urllib.parse
import zlib
from collections.abc import Callable
from typing import Any

from cgx.indexer.interpreter.stdlib.support import (
    Args,
    Handler,
    Kwargs,
    NotPlain,
    derived,
    from_python,
    lift,
    nothing,
    pure,
    to_python,
)
from cgx.indexer.interpreter.values import ListValue, Opaque, Value

PATTERN, MATCH = "re.Pattern", "re.Match"
MAX_SUBJECT = 200_000  # characters: patterns of the analysed code may be slow on long texts


def _pattern(value: Value) -> Any:
    """A pattern as Python's: a text, or a compiled one that was made here."""
    if isinstance(value, Opaque) and value.qname == PATTERN:
        return re.compile(value.attrs["pattern"], value.attrs.get("flags", 0))
    return to_python(value)


def _made(result: Any) -> Value:
    if isinstance(result, re.Match):
        return Opaque(MATCH, {"__match__": result, "string": result.string, "lastgroup": result.lastgroup})
    return from_python(result)


def _flags(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {key: int(value) if key == "flags" else value for key, value in kwargs.items()}


def searching(name: str) -> Handler:
    """``re.search`` and its kind, as functions and as methods of a compiled pattern."""

    def call(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        places = [part for part in ("pattern", "repl", "string") if part != "repl" or name in ("sub", "subn")]
        while len(args) < len(places) and places[len(args)] in kwargs:  # given by name
            args, kwargs = [*args, kwargs[places[len(args)]]], {key: value for key, value in kwargs.items() if key != places[len(args)]}
        if not args:
            return derived(site, list(kwargs.values()))

        def once(*values: Value) -> Value:
            try:
                pattern = _pattern(values[0])
                rest = [_replacement(interp, value, site) for value in values[1:]]
            except NotPlain as error:
                return derived(site, [error.value])
            except re.error as error:
                return interp.raise_("re.error", str(error), site)
            if any(isinstance(part, str | bytes) and len(part) > MAX_SUBJECT for part in rest):
                return derived(site, [], reason="budget")
            try:
                named = _flags({key: to_python(value) for key, value in kwargs.items()})
                result = getattr(re, name)(pattern, *rest, **named)
                return (
                    _made(list(result) if name == "finditer" else result)
                    if name != "finditer"
                    else ListValue([_made(match) for match in result])
                )
            except (re.error, TypeError, ValueError, IndexError) as error:
                return interp.raise_(type(error).__name__, str(error), site)
            except NotPlain as error:
                return derived(site, [error.value])

        return lift(once, args)

    return call


def _replacement(interp: Any, value: Value, site: Any) -> Any:
    """A plain value, or a function of the analysed code as a Python function on matches."""
    try:
        return to_python(value)
    except NotPlain:
        if type(value).__name__ not in ("FunctionValue", "BoundMethod", "Native", "Partial"):
            raise

    def replace(match: re.Match[str]) -> str:
        result = interp.call(value, [_made(match)], {}, site)
        if not isinstance(result, str):
            raise NotPlain(result)
        return result

    return replace


def _compile(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    try:
        text = to_python(args[0])
        flags = to_python(args[1] if len(args) > 1 else kwargs.get("flags", 0))
        if isinstance(text, str | bytes):
            re.compile(text, flags)
            return Opaque(PATTERN, {"pattern": text, "flags": int(flags)}, site.anchor)
    except NotPlain as error:
        return derived(site, [error.value])
    except re.error as error:
        return interp.raise_("re.error", str(error), site)
    return args[0]


def _match_method(name: str) -> Handler:
    def call(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        match = args[0].attrs["__match__"]
        try:
            return from_python(getattr(match, name)(*[to_python(arg) for arg in args[1:]]))
        except NotPlain as error:
            return derived(site, [error.value])
        except IndexError as error:
            return interp.raise_("IndexError", str(error), site)

    return call


def _template(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    return Opaque("string.Template", {"template": args[0]}, site.anchor)


def _substitute(name: str) -> Handler:
    def call(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        handler = pure(lambda template, *rest, **named: getattr(string.Template(template), name)(*rest, **named), "str")
        return handler(interp, site, [args[0].attrs["template"], *args[1:]], kwargs)

    return call


def _digest(name: str) -> Handler:
    def call(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        data = args[-1] if args and isinstance(args[-1], bytes) else b"" if not args else None
        return Opaque("hashlib.Hash", {"name": name, "__data__": data}, site.anchor)

    return call


def _digest_update(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    held, new = args[0].attrs["__data__"], args[1]
    joined = held + new if isinstance(held, bytes) and isinstance(new, bytes) else None
    interp.trail.set_item(args[0].attrs, "__data__", joined)
    return None


def _digest_result(hexadecimal: bool) -> Handler:
    def call(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        data, name = args[0].attrs["__data__"], args[0].attrs["name"]
        if not isinstance(data, bytes) or name not in hashlib.algorithms_guaranteed or name.startswith("shake"):
            return derived(site, [], "str", "data")
        made = hashlib.new(name, data, usedforsecurity=False)
        return made.hexdigest() if hexadecimal else made.digest()

    return call


def _url(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    def once(source: Value) -> Value:
        if not isinstance(source, str):
            return derived(site, [source])
        made = urllib.parse.urlparse(source)
        names = ("scheme", "netloc", "path", "params", "query", "fragment", "hostname", "username")
        return Opaque("urllib.parse.ParseResult", {name: getattr(made, name) for name in names}, site.anchor)

    return lift(once, args[:1] or list(kwargs.values())[:1])


def _strtobool(text: str) -> int:
    value = text.lower()
    if value in ("y", "yes", "t", "true", "on", "1"):
        return 1
    if value in ("n", "no", "f", "false", "off", "0"):
        return 0
    raise ValueError(f"invalid truth value {value!r}")


def _row(module: str, *functions: Callable[..., Any], hint: str = "str") -> dict[str, Handler]:
    return {f"{module}.{function.__name__}": pure(function, hint) for function in functions}


ENTRIES: dict[str, Handler] = {
    **{
        f"re.{name}": searching(name)
        for name in ("search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn")
    },
    **{
        f"{PATTERN}.{name}": searching(name)
        for name in ("search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn")
    },
    **{f"regex.{name}": searching(name) for name in ("search", "match", "fullmatch", "split", "findall", "sub")},
    "re.compile": _compile,
    "regex.compile": _compile,
    "re.escape": pure(re.escape, "str"),
    "re.purge": nothing,
    **{
        f"{MATCH}.{name}": _match_method(name)
        for name in ("group", "groups", "groupdict", "start", "end", "span", "__getitem__", "expand")
    },
    "string.Template": _template,
    "string.Template.substitute": _substitute("substitute"),
    "string.Template.safe_substitute": _substitute("safe_substitute"),
    "string.capwords": pure(string.capwords, "str"),
    **_row("textwrap", textwrap.dedent, textwrap.indent, textwrap.fill, textwrap.shorten, textwrap.wrap),
    **_row("shlex", shlex.split, shlex.quote, shlex.join),
    **_row("base64", base64.b64encode, base64.b64decode, base64.urlsafe_b64encode, base64.urlsafe_b64decode),
    **_row("html", html.escape, html.unescape),
    **_row("urllib.parse", urllib.parse.quote, urllib.parse.unquote, urllib.parse.urljoin),
    "urllib.parse.urlparse": _url,
    "urllib.parse.urlsplit": _url,
    **_row("zlib", zlib.crc32, zlib.adler32, hint="int"),
    **_row("unicodedata", unicodedata.normalize, unicodedata.category),
    "ast.literal_eval": pure(ast.literal_eval),
    "str.maketrans": pure(str.maketrans, "dict"),
    "difflib.get_close_matches": pure(difflib.get_close_matches, "list"),
    "distutils.util.strtobool": pure(_strtobool, "int"),
    "setuptools.distutils.util.strtobool": pure(_strtobool, "int"),
    **{
        f"hashlib.{name}": _digest(name)
        for name in ("md5", "sha1", "sha224", "sha256", "sha384", "sha512", "blake2b", "blake2s")
    },
    "hashlib.Hash.update": _digest_update,
    "hashlib.Hash.hexdigest": _digest_result(True),
    "hashlib.Hash.digest": _digest_result(False),
}

CONSTANTS: dict[str, Value] = {
    **{
        f"re.{name}": int(getattr(re, name))
        for name in ("I", "IGNORECASE", "M", "MULTILINE", "S", "DOTALL", "X", "VERBOSE", "A", "ASCII", "U", "UNICODE")
    },
    **{
        f"string.{name}": getattr(string, name)
        for name in (
            "ascii_letters",
            "ascii_lowercase",
            "ascii_uppercase",
            "digits",
            "hexdigits",
            "octdigits",
            "punctuation",
            "printable",
            "whitespace",
        )
    },
}
