"""OmegaConf's interpolation: ${a.b} and resolvers, evaluated when an entry is read."""

from __future__ import annotations

import re
from typing import Any

import yaml

from cgx.indexer.interpreter.stdlib.environ import getenv
from cgx.indexer.interpreter.stdlib.formats import SafeYaml
from cgx.indexer.interpreter.stdlib.support import (
    derived,
    from_python,
)
from cgx.indexer.interpreter.values import MISSING, ListValue, Opaque, Unknown, Value
from cgx.indexer.overlays.config_nodes import (
    INFO,
    Flavour,
    entries,
    is_node,
    place_of,
    read,
    root_of,
)

NODE = "omegaconf.DictConfig"


RESOLVERS = "omegaconf.resolvers"  # in interp.flags: name -> function of the analysed code


RUNNING = "omegaconf.running"  # in interp.flags: entries that are being resolved
MAX_NESTING = 20  # interpolations inside each other


UNSET = "???"


class OmegaYaml(SafeYaml):
    """YAML as OmegaConf reads it: ``1e-4`` is a number."""


OmegaYaml.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(
        r"^(?:[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?|[-+]?[0-9][0-9_]*[eE][-+]?[0-9]+|[-+]?\.[0-9][0-9_]*(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"
    ),
    list("-+0123456789."),
)


def load_text(text: str | bytes) -> Any:
    """One document; raises yaml.YAMLError."""
    return yaml.load(text, OmegaYaml)


def resolve(interp: Any, node: Opaque, key: Any, held: Value, site: Any) -> Value:
    """An entry as the job reads it."""
    if not isinstance(held, str) or ("${" not in held and held != UNSET):
        return held
    if held == UNSET:
        name = ".".join(str(part) for part in [*place_of(node), key])
        return Unknown(name, "parameter", site.anchor)
    running: set[tuple[int, Any]] = interp.flags.setdefault(RUNNING, set())
    place = (id(node), key)
    if place in running:
        return Unknown(held, "error", site.anchor)  # it refers to itself
    running.add(place)
    try:
        return interpolate(interp, node, held, site, 0)
    finally:
        running.discard(place)


def interpolate(interp: Any, node: Opaque, text: str, site: Any, depth: int) -> Value:
    """The value of a text with ``${...}`` in it; a text that is one interpolation keeps the type."""
    parts = split(text)
    if depth > MAX_NESTING:
        return Unknown(text, "budget", site.anchor)
    values = [part if not inner else _inner(interp, node, part, site, depth) for inner, part in parts]
    if len(parts) == 1:
        return values[0]
    if any(not isinstance(value, str | int | float | bool | type(None)) for value in values):
        return derived(site, values, "str")
    return "".join(str(value) for value in values)


def split(text: str) -> list[tuple[bool, str]]:
    """(is an interpolation, text or its inside) pieces."""
    pieces: list[tuple[bool, str]] = []
    rest = text
    while "${" in rest:
        before, _, tail = rest.partition("${")
        if before:
            pieces.append((False, before))
        depth, end = 1, 0
        while end < len(tail) and depth:
            depth += tail.startswith("${", end) - (tail[end] == "}")
            end += 1
        pieces.append((True, tail[: end - 1]))
        rest = tail[end:]
    if rest or not pieces:
        pieces.append((False, rest))
    return pieces


def _inner(interp: Any, node: Opaque, inner: str, site: Any, depth: int) -> Value:
    if "${" in inner:
        resolved = interpolate(interp, node, inner, site, depth + 1)
        if not isinstance(resolved, str | int | float):
            return resolved if isinstance(resolved, Unknown) else derived(site, [resolved])
        inner = str(resolved)
    name, colon, rest = inner.partition(":")
    if colon and re.fullmatch(r"[\w.]+", name):
        return _resolver(interp, node, name, rest, site)
    return select(interp, node, inner, site)


def select(interp: Any, node: Opaque, path: str, site: Any) -> Value:
    """``a.b[0]`` from the root, ``.x`` and ``..x`` from the node upward."""
    start = root_of(node)
    if path.startswith("."):
        level = len(path) - len(path.lstrip("."))
        start = node
        for _ in range(level - 1):
            start = start.attrs[INFO].parent or start
        path = path.lstrip(".")
    value: Value = start
    for part in re.findall(r"[^.\[\]]+", path):
        if is_node(value):
            value = read(interp, value, part, site)
            if value is MISSING and is_node(start):
                return Unknown("${" + path + "}", "missing-file", site.anchor)
        elif (
            isinstance(value, ListValue)
            and part.lstrip("-").isdigit()
            and -len(value.items) <= int(part) < len(value.items)
        ):
            value = value.items[int(part)]
        else:
            return Unknown("${" + path + "}", "missing-file", site.anchor)
    return value


def _resolver(interp: Any, node: Opaque, name: str, rest: str, site: Any) -> Value:
    words = [literal(word) for word in _split_arguments(rest)] if rest else []
    if name in ("oc.env", "env"):
        found = getenv(interp, site, words[:2] if len(words) > 1 else [*words, MISSING], {})
        return Unknown("${" + f"{name}:{rest}" + "}", "environment", site.anchor, "str") if found is MISSING else found
    if name == "oc.select":
        found = select(interp, node, str(words[0]), site)
        return words[1] if isinstance(found, Unknown) and len(words) > 1 else found
    if name == "oc.decode":
        return from_python(load_text(str(words[0]))) if words else None
    if name in ("oc.dict.keys", "oc.dict.values"):
        found = select(interp, node, str(words[0]), site)
        rows = entries(interp, found, site) if is_node(found) else {}
        return ListValue(list(rows) if name.endswith("keys") else list(rows.values()))
    if name == "now":
        return Unknown("${" + f"{name}:{rest}" + "}", "time", site.anchor, "str")
    function = interp.flags.get(RESOLVERS, {}).get(name)
    if function is None:
        return Unknown("${" + f"{name}:{rest}" + "}", "environment", site.anchor)
    return interp.call(function, [_argument(interp, node, word, site) for word in words], {}, site)


def _argument(interp: Any, node: Opaque, word: Value, site: Any) -> Value:
    return interpolate(interp, node, word, site, 1) if isinstance(word, str) and "${" in word else word


def _split_arguments(text: str) -> list[str]:
    words, depth, current = [], 0, ""
    for char in text:
        depth += char in "[{(" or -(char in "]})")
        if char == "," and depth == 0:
            words.append(current.strip())
            current = ""
        else:
            current += char
    return [*words, current.strip()]


def literal(word: str) -> Value:
    try:
        return from_python(load_text(word))
    except yaml.YAMLError:
        return word


FLAVOUR = Flavour(NODE, resolve=resolve, key_error="omegaconf.errors.ConfigKeyError")
