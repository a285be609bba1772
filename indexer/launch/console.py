"""Console scripts: which function a command name calls, as packaging metadata declares it. Nothing of it is run."""

from __future__ import annotations

import ast
import configparser
import re
import tomllib
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from cgx.indexer.source.watched import Watched

SETUP_FILES = ("pyproject.toml", "setup.cfg", "setup.py")


class ConsoleScript(NamedTuple):
    """``target`` is ``package.module:function``; ``path`` and ``line`` say where it is declared."""

    name: str
    target: str
    path: str
    line: int


def console_scripts(tree: Any) -> tuple[ConsoleScript, ...]:
    """All console scripts that the tree declares, sorted by name: metadata at its root and in its first two levels."""
    if isinstance(tree, Watched):
        return tree.ask(console_scripts)
    try:
        return _read_once(tree)
    except TypeError:  # a tree that cannot be a key
        return _read(tree)


@lru_cache(maxsize=4)
def _read_once(tree: Any) -> tuple[ConsoleScript, ...]:
    """Launch lines are read by the thousand where entry points are looked for; a tree's metadata is the same for all."""
    return _read(tree)


def _read(tree: Any) -> tuple[ConsoleScript, ...]:
    found: dict[str, ConsoleScript] = {}
    for path in tree.paths():
        folder, _, name = path.rpartition("/")
        if name not in (*SETUP_FILES, "entry_points.txt") or path.count("/") > 2:
            continue
        if name == "entry_points.txt" and not folder.endswith((".dist-info", ".egg-info")):
            continue
        data = tree.read(path)
        if data is None:
            continue
        text = data.decode("utf-8", "replace")
        for script, target in sorted(_READERS[name](text).items()):
            clean = re.sub(r"\s*\[.*\]$", "", target).replace(" ", "")
            if ":" in clean and script not in found:
                found[script] = ConsoleScript(script, clean, path, _line(text, script))
    return tuple(found[name] for name in sorted(found))


def _line(text: str, name: str) -> int:
    pattern = re.compile(rf"(^|[\"'\s]){re.escape(name)}[\"']?\s*=")
    for number, line in enumerate(text.splitlines(), 1):
        if pattern.search(line):
            return number
    return 1


def _pyproject(text: str) -> dict[str, str]:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}
    tables = (data.get("project", {}).get("scripts"), data.get("tool", {}).get("poetry", {}).get("scripts"))
    return {
        str(name): value
        for table in tables
        if isinstance(table, dict)
        for name, value in table.items()
        if isinstance(value, str)
    }


def _ini(text: str, section: str, key: str | None) -> dict[str, str]:
    parser = configparser.RawConfigParser(strict=False, delimiters=("=",), comment_prefixes=("#", ";"))
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        parser.read_string(text)
    except configparser.Error:
        return {}
    if not parser.has_section(section):
        return {}
    if key is None:
        return dict(parser.items(section))
    return _declarations(parser.get(section, key, fallback="").splitlines())


def _declarations(lines: list[str]) -> dict[str, str]:
    found = {}
    for line in lines:
        name, equals, target = line.partition("=")
        if equals:
            found[name.strip()] = target.strip()
    return found


def _setup_py(text: str) -> dict[str, str]:
    """``entry_points=`` of ``setup(...)`` where it is a literal (or a name bound to one at the top)."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    names: dict[str, ast.expr] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            names[node.targets[0].id] = node.value
    for call in ast.walk(tree):
        if not (isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] == "setup"):
            continue
        for keyword in call.keywords:
            if keyword.arg == "entry_points":
                value = (
                    names.get(keyword.value.id, keyword.value) if isinstance(keyword.value, ast.Name) else keyword.value
                )
                return _literal_entry_points(value)
    return {}


def _literal_entry_points(node: ast.expr) -> dict[str, str]:
    try:
        value = ast.literal_eval(node)
    except (ValueError, SyntaxError, TypeError, RecursionError):
        return {}
    if isinstance(value, str):
        return _ini(value, "console_scripts", None)
    lines = value.get("console_scripts", []) if isinstance(value, dict) else []
    return _declarations(lines.splitlines() if isinstance(lines, str) else [str(line) for line in lines])


_READERS: dict[str, Callable[[str], dict[str, str]]] = {
    "pyproject.toml": _pyproject,
    "setup.cfg": lambda text: _ini(text, "options.entry_points", "console_scripts"),
    "setup.py": _setup_py,
    "entry_points.txt": lambda text: _ini(text, "console_scripts", None),
}
