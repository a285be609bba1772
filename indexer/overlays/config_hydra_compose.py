"""Hydra's composition: the primary file, its defaults list, groups and packages, then the words of the command line."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from cgx.errors import UserError
from cgx.indexer.interpreter.stdlib.files_in_tree import read_bytes
from cgx.indexer.interpreter.values import Unknown, Value
from cgx.indexer.overlays.config_interpolation import load_text
from cgx.indexer.overlays.config_nodes import merge_into
from cgx.indexer.overlays.config_omegaconf import structured

MAX_PASSES = 4  # compositions until no file chooses another option
MAX_FILES = 400  # files of one composition
_PACKAGE = re.compile(r"^#\s*@package\s+(\S+)", re.M)
_KEY = re.compile(r"(?P<sign>~|\+\+|\+)?(?P<key>[^=]+?)(?:=(?P<value>.*))?", re.S)


@dataclass(slots=True)
class Override:
    """One word: ``key=value``; ``sign`` is "", "+", "++" or "~"."""

    key: str
    value: Any
    text: str
    sign: str = ""


@dataclass(slots=True)
class Composition:
    """One composition. ``nodes``: what a ConfigStore holds, by path without ``.yaml``."""

    interp: Any
    site: Any
    folder: str
    nodes: dict[str, Value]
    choices: dict[str, Any] = field(default_factory=dict)  # group -> option, from the command line
    deleted: set[str] = field(default_factory=set)
    appended: list[tuple[str, Any]] = field(default_factory=list)
    files: int = 0
    missing: list[str] = field(default_factory=list)
    overrides: dict[str, Any] = field(default_factory=dict)  # `override group: option` of the defaults lists


def parse_override(word: str) -> Override | None:
    """A word of the command line, None where it is an option of Hydra itself."""
    match = _KEY.fullmatch(word)
    if word.startswith("-") or match is None:
        return None
    text = match.group("value") or ""
    return Override(match.group("key"), parse_value(text), text, match.group("sign") or "")


def parse_value(text: str) -> Any:
    """A value in Hydra's grammar, as far as YAML reads it too."""
    try:
        loaded = load_text(re.sub(r"(?<=[\w\"'\]}]):(?=[^\s/])", ": ", text) if text.startswith("{") else text)
    except yaml.YAMLError:
        return text
    return "" if loaded is None and text.strip() not in ("null", "~", "None", "") else loaded


def load(job: Composition, path: str) -> tuple[dict[str, Any], str | None] | None:
    """(mapping, package of its header) of a config by its path under the config folder."""
    job.files += 1
    if job.files > MAX_FILES:
        raise UserError("the Hydra configuration names too many files")
    held = job.nodes.get(path)
    for ending in (".yaml", ".yml"):
        data = read_bytes(job.interp, posixpath.join(job.folder, path + ending))
        if data is not None:
            text = data.decode("utf-8", "replace")
            try:
                loaded = load_text(text)
            except yaml.YAMLError as error:
                raise UserError(f"{path}{ending}: not YAML: {str(error).splitlines()[0]}") from None
            package = _PACKAGE.search(text)
            mapping = loaded if isinstance(loaded, dict) else {}
            return (_over_schema(job, held, mapping) if held is not None else mapping), (package.group(1) if package else None)
    return None if held is None else (_schema(job, held), None)


def _schema(job: Composition, held: Value) -> dict[str, Any]:
    made = structured(job.interp, held, job.site)
    return dict(made) if isinstance(made, dict) else {}


def _over_schema(job: Composition, held: Value, mapping: dict[str, Any]) -> dict[str, Any]:
    """A file over the stored config of the same path: Hydra before 1.2 takes that for its schema."""
    total = _schema(job, held)
    merge_into(total, mapping)
    return total


def compose(job: Composition, name: str) -> dict[str, Any]:
    """The merged mapping of a config and everything that its defaults list names."""
    loaded = load(job, name)
    if loaded is None:
        raise UserError(f"the Hydra configuration {name!r} is not in {job.folder or '.'}")
    return _merged(job, loaded[0], "", posixpath.dirname(name))


def _merged(job: Composition, mapping: dict[str, Any], package: str, folder: str) -> dict[str, Any]:
    """A file's own entries over its defaults. ``folder``: the group that its relative defaults start from."""
    own = {key: value for key, value in mapping.items() if key != "defaults"}
    defaults = mapping.get("defaults")
    rows = list(defaults) if isinstance(defaults, list) else []
    _collect_overrides(job, rows)
    if not any(row == "_self_" for row in rows):
        rows.append("_self_")  # since Hydra 1.1 the file itself comes last
    total: dict[str, Any] = {}
    for row in rows:
        if row == "_self_":
            merge_into(total, wrap(own, package))
        else:
            _default(job, row, folder, package, total)
    return total


def _collect_overrides(job: Composition, rows: list[Any]) -> None:
    for row in rows:
        if isinstance(row, dict):
            for key, option in row.items():
                words = str(key).split()
                if "override" in words:
                    job.overrides.setdefault(words[-1].lstrip("/"), option)


def _default(job: Composition, row: Any, folder: str, package: str, total: dict[str, Any]) -> None:
    """One entry of a defaults list: ``name``, ``group: option``, ``optional group@package: option``, ``override ...``."""
    if isinstance(row, str):
        path, _, given = (row.lstrip("/") if row.startswith("/") else posixpath.join(folder, row)).partition("@")
        place = _join(package, given) if given else package
        merge_into(total, _loaded(job, path, posixpath.dirname(path), place, explicit=bool(given)))
        return
    for key, option in row.items() if isinstance(row, dict) else ():
        words = str(key).split()
        if "override" not in words:
            _group(job, words, option, folder, package, total)


def _group(job: Composition, words: list[str], option: Any, folder: str, package: str, total: dict[str, Any]) -> None:
    """``group@package: option`` with the option that the line or another file chose instead."""
    group, _, given = words[-1].partition("@")
    absolute = group.startswith("/")
    group = group.lstrip("/")
    full = group if absolute or not folder else posixpath.join(folder, group)
    named = words[-1].lstrip("/")
    chosen = next(
        (job.choices[name] for name in (named, full, group) if name in job.choices), job.overrides.get(full, option)
    )
    if chosen is None or full in job.deleted or full.startswith("hydra/"):
        return
    if chosen == "???":
        raise UserError(f"the launch line chooses no {full}: add {full}=NAME")
    inner = group.replace("/", ".")
    place = _join(package, given) if given else inner if absolute else _join(package, inner)
    for one in chosen if isinstance(chosen, list) else [chosen]:
        path = posixpath.join(full, str(one).removesuffix(".yaml"))
        merge_into(total, _loaded(job, path, full, place, bool(given), "optional" in words))


def _loaded(
    job: Composition, path: str, group: str, package: str, explicit: bool = False, optional: bool = False
) -> dict[str, Any]:
    """A file with its defaults, under its package: the one named beside it, else its header's, else its group."""
    loaded = load(job, path)
    if loaded is None:
        if not optional:
            job.missing.append(path)
        return {}
    mapping, header = loaded
    place = package
    if header is not None and not explicit:
        place = "" if header.strip("_") == "global" else header.replace("_group_", group.replace("/", "."))
    return _merged(job, mapping, place.removeprefix("_global_").strip("."), group)


def _join(package: str, inner: str) -> str:
    if inner.startswith("_global_"):
        return inner.removeprefix("_global_").strip(".")
    if inner == "_here_":
        return package
    return f"{package}.{inner}" if package else inner


def wrap(mapping: dict[str, Any], package: str) -> dict[str, Any]:
    """The mapping under the keys of a package."""
    for part in reversed([part for part in package.split(".") if part]):
        mapping = {part: mapping}
    return mapping


def apply_overrides(job: Composition, total: dict[str, Any], overrides: list[Override], groups: set[str]) -> None:
    """Values of the command line, after composition. Groups have been chosen before."""
    for item in overrides:
        if item.key.partition("@")[0] in groups:
            continue
        path = [part for part in re.split(r"[.\[\]]+", item.key) if part]
        table: Any = total
        for part in path[:-1]:
            inner = table.get(part) if isinstance(table, dict) else None
            if not isinstance(inner, dict | list):
                inner = table[part] = {}
            table = inner
        if item.sign == "~":
            if isinstance(table, dict):
                table.pop(path[-1], None)
        elif isinstance(table, list) and path[-1].isdigit() and int(path[-1]) < len(table):
            table[int(path[-1])] = item.value
        elif isinstance(table, dict):
            if isinstance(item.value, dict) and isinstance(table.get(path[-1]), dict):
                merge_into(table[path[-1]], item.value)
            else:
                table[path[-1]] = item.value


def find_groups(job: Composition, overrides: list[Override]) -> set[str]:
    """The keys among the overrides that name a group of files: they choose, they set no value."""
    found = set()
    for item in overrides:
        group = item.key.partition("@")[0]
        options = item.value if isinstance(item.value, list) else [item.value]
        is_group = any(isinstance(option, str) and _there(job, f"{group}/{option}") for option in options)
        if is_group:
            found.add(group)
            job.choices[item.key] = job.choices[group] = item.value
            if item.sign in ("+", "++"):
                job.appended.append((item.key, item.value))
        elif item.sign == "~" and job.interp.tree.isdir(posixpath.join(job.folder, group)):
            found.add(group)
            job.deleted.add(group)
    return found


def _there(job: Composition, path: str) -> bool:
    if path in job.nodes:
        return True
    return any(
        read_bytes(job.interp, posixpath.join(job.folder, path + ending)) is not None for ending in (".yaml", ".yml")
    )


def run(job: Composition, name: str, words: list[Value]) -> tuple[dict[str, Any], Unknown | None]:
    """The whole composition; an Unknown beside it where a word of the line is not known."""
    overrides: list[Override] = []
    unknown: Unknown | None = None
    for word in words:
        if isinstance(word, Unknown):
            key, equals, _rest = word.name.partition("=")
            if equals:
                overrides.append(Override(key.lstrip("+~"), word, "", ""))
            else:
                unknown = word
        elif isinstance(word, str) and (item := parse_override(word)) is not None:
            overrides.append(item)
    groups = find_groups(job, overrides)
    total: dict[str, Any] = {}
    for _ in range(MAX_PASSES):  # `override` entries deep inside also hold for what comes before them
        before = dict(job.overrides)
        job.files, job.missing = 0, []
        total = compose(job, name.removesuffix(".yaml"))
        for key, value in job.appended:
            group, _, given = key.partition("@")
            for option in value if isinstance(value, list) else [value]:
                merge_into(
                    total, _loaded(job, f"{group}/{option}", group, given or group.replace("/", "."), bool(given))
                )
        if job.overrides == before:
            break
    total.pop("hydra", None)
    apply_overrides(job, total, overrides, groups)
    return total, unknown
