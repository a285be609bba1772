"""The shipped queries: one ``.cypher`` file a question, with a typed header that is read here.

Header lines, in this order: ``// name:`` (the file's name), ``// title:`` (the question), ``// group:`` (one of GROUPS), any
number of ``// param: NAME TYPE [= DEFAULT]  what it is``, ``// returns: NAME TYPE, ...``, and ``// note:`` where the answer has
a bound or an exception that its reader must know. Types of parameters: ``string``, ``int``, ``float``, ``bool``, and
``commit`` and ``job``, which take an id and stand for the latest one (or ``= previous``) where none is given.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources

from cgx.errors import Fault, UserError

GROUPS = ("structure", "calls", "job", "schedule", "distributed", "across-commits", "health")
PARAM_TYPES = ("string", "int", "float", "bool", "commit", "job")
COLUMN_TYPES = ("string", "int", "float", "bool", "list")

_PARAM = re.compile(r"(?P<name>\w+) (?P<kind>\w+)(?: = (?P<default>\S+))?  (?P<doc>\S.*)")
_USED = re.compile(r"\$(\w+)")
_STRINGS = re.compile(r"'[^']*'")


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter. ``default`` is its text; None where it must be given."""

    name: str
    kind: str
    default: str | None
    doc: str


@dataclass(frozen=True, slots=True)
class Query:
    """One question. ``text`` is the statement without its header; ``returns`` are (column, type)."""

    name: str
    title: str
    group: str
    params: tuple[Param, ...]
    returns: tuple[tuple[str, str], ...]
    note: str
    text: str


def parse(name: str, source: str) -> Query:
    """Read one file. Raises Fault, with the file's name, for a header that is not as the rules have it."""
    fields: dict[str, list[str]] = {"name": [], "title": [], "group": [], "param": [], "returns": [], "note": []}
    lines = source.splitlines()
    header = 0
    while header < len(lines) and lines[header].startswith("// "):
        key, _, value = lines[header][3:].partition(": ")
        if key not in fields:
            raise Fault(f"queries/{name}.cypher: unknown header line {lines[header]!r}")
        fields[key].append(value.strip())
        header += 1
    text = "\n".join(lines[header:]).strip()
    if fields["name"] != [name] or len(fields["title"]) != 1 or len(fields["returns"]) != 1 or not text:
        raise Fault(f"queries/{name}.cypher: name, title, returns and a statement are needed, once each")
    if len(fields["group"]) != 1 or fields["group"][0] not in GROUPS:
        raise Fault(f"queries/{name}.cypher: its group is none of {', '.join(GROUPS)}")
    params = tuple(_param(name, line) for line in fields["param"])
    used = set(_USED.findall(_STRINGS.sub("", text)))
    if used != {param.name for param in params}:
        raise Fault(
            f"queries/{name}.cypher: the header's parameters are not those of the statement ({', '.join(sorted(used))})"
        )
    returns = tuple(_column(name, each) for each in fields["returns"][0].split(", "))
    return Query(name, fields["title"][0], fields["group"][0], params, returns, " ".join(fields["note"]), text)


def _param(name: str, line: str) -> Param:
    match = _PARAM.fullmatch(line)
    if match is None or match["kind"] not in PARAM_TYPES:
        raise Fault(f"queries/{name}.cypher: not a parameter line: {line!r}")
    default = match["default"]
    if match["kind"] in ("commit", "job") and default is None:
        default = "latest"
    return Param(match["name"], match["kind"], "" if default == '""' else default, match["doc"])


def _column(name: str, text: str) -> tuple[str, str]:
    column, _, kind = text.partition(" ")
    if kind not in COLUMN_TYPES:
        raise Fault(f"queries/{name}.cypher: not a column: {text!r}")
    return column, kind


@functools.cache
def catalog() -> dict[str, Query]:
    """Every shipped query by name, by group and then by name."""
    files = sorted(
        (each for each in resources.files(__name__).iterdir() if each.name.endswith(".cypher")), key=lambda f: f.name
    )
    found = [parse(each.name.removesuffix(".cypher"), each.read_text(encoding="utf-8")) for each in files]
    return {query.name: query for query in sorted(found, key=lambda query: (GROUPS.index(query.group), query.name))}


def get(name: str) -> Query:
    """A shipped query. Raises UserError, with near names, where there is none."""
    query = catalog().get(name)
    if query is None:
        near = nearest(name, catalog())
        hint = f"; did you mean {' or '.join(near)}?" if near else "; `cgx queries` lists them"
        raise UserError(f"no shipped query {name!r}{hint}")
    return query


def nearest(name: str, names: Iterable[str]) -> list[str]:
    """Up to three names that a person may have meant."""
    import difflib

    listed = list(names)
    return difflib.get_close_matches(name, listed, 3, 0.5) or [each for each in listed if name and name in each][:3]
