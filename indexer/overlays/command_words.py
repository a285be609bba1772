"""A command line taken apart into nested options, and mappings merged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from cgx.errors import UserError
from cgx.indexer.interpreter.stdlib.files_in_tree import missing, read_bytes
from cgx.indexer.interpreter.stdlib.formats import parse_yaml
from cgx.indexer.interpreter.stdlib.support import text_of
from cgx.indexer.interpreter.values import (
    ByRank,
    Unknown,
    Value,
)


@dataclass(slots=True)
class Words:
    """A command line taken apart: plain words in order, and nested options ``{"train": {"lr": "1"}}``."""

    plain: list[Value] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    configs: list[Value] = field(default_factory=list)


def take_apart(words: list[Value]) -> Words:
    """Options take one value: ``--a.b=c`` or ``--a.b c``."""
    found = Words()
    rest = list(words)
    while rest:
        word = rest.pop(0)
        text = text_of(word) if not isinstance(word, Unknown | ByRank) else None
        if text is None or not text.startswith("-") or text == "-" or text[1:2].isdigit():
            found.plain.append(word)
            continue
        name, equals, value = text.lstrip("-").partition("=")
        given: Value = value if equals else (rest.pop(0) if rest and not is_option(rest[0]) else "true")
        if name in ("config", "c") and "." not in name:
            found.configs.append(given)
        else:
            _nest(found.options, name.split("."), given)
    return found


def by_rank_apart(words: list[Value]) -> list[Value]:
    """``--local_rank=N`` that a launcher gives each rank, as two words: the name, and a value for each rank."""
    found: list[Value] = []
    for word in words:
        heads = {value.partition("=")[0] for value in word.values if isinstance(value, str)} if isinstance(word, ByRank) else set()
        if isinstance(word, ByRank) and len(heads) == 1 and all(isinstance(value, str) and "=" in value for value in word.values):
            found += [heads.pop(), ByRank(tuple(str(value).partition("=")[2] for value in word.values))]
        else:
            found.append(word)
    return found


def is_option(word: Value) -> bool:
    return isinstance(word, str) and word.startswith("--")


def _nest(table: dict[str, Any], path: list[str], value: Any) -> None:
    for part in path[:-1]:
        held = table.get(part)
        if not isinstance(held, dict):
            held = table[part] = {} if held is None else {"": held}
        table = held
    if isinstance(table.get(path[-1]), dict):
        table[path[-1]][""] = value
    else:
        table[path[-1]] = value


def merge(base: dict[str, Any], over: dict[str, Any]) -> None:
    """``over`` wins; dicts are merged key by key."""
    for key, value in over.items():
        if isinstance(value, dict) and isinstance(base.get(key), dict):
            merge(base[key], value)
        else:
            base[key] = value


def load_config(interp: Any, site: Any, name: Value) -> Any:
    """The mapping of a ``--config`` file; an Unknown where it is not in the source."""
    data = read_bytes(interp, name)
    if data is None:
        return missing(site, name, "dict")
    loaded = parse_yaml(data)
    if not isinstance(loaded, dict):
        raise UserError(f"{text_of(name)}: not a mapping")
    return loaded
