"""``os``, ``os.path``, ``glob``, ``shutil``: paths are texts; files of the source exist, others are not known."""

from __future__ import annotations

import fnmatch
import posixpath
from collections.abc import Callable
from typing import Any

from cgx.indexer.interpreter.stdlib.files_in_tree import candidates, exists, start_folder
from cgx.indexer.interpreter.stdlib.support import (
    Args,
    Handler,
    Kwargs,
    constant,
    derived,
    first,
    lift,
    nothing,
    pure,
    text_of,
    unknown,
)
from cgx.indexer.interpreter.values import ListValue, Unknown, Value


def textual(function: Callable[..., Any], hint: str = "str") -> Handler:
    """A path function on texts, for each rank and alternative."""

    def call(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        def once(*values: Value) -> Value:
            texts = [text_of(value) for value in values]
            if any(text is None for text in texts):
                return derived(site, list(values), hint, "unsupported")
            return function(*texts)

        return lift(once, [*args, *kwargs.values()])

    return call


def join(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """``os.path.join``; with a part that is not known the name keeps the source text."""

    def once(*values: Value) -> Value:
        texts = [text_of(value) for value in values]
        if any(text is None for text in texts):
            return derived(site, list(values), "str")
        return posixpath.join(*[text for text in texts if text is not None])

    return lift(once, list(args))


def check(folders: bool, files: bool) -> Handler:
    def call(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
        def once(path: Value) -> Value:
            found = exists(interp, path, folders, files) if path != "" else False  # no name names nothing
            if found is None:
                settle = path.settle if isinstance(path, Unknown) else None
                return Unknown(site.text, "missing-file", site.anchor, "bool", settle)
            return found

        return lift(once, [args[0] if args else kwargs.get("path")])

    return call


def absolute(text: str) -> str:
    """Paths stay relative to the source: its root stands for every absolute one in it."""
    return posixpath.normpath(text)


def _getcwd(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    return start_folder(interp) or "."


def listdir(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """The names in a folder of the source; a folder outside it holds what only the run knows."""

    def once(path: Value) -> Value:
        text = text_of(path)
        if text is not None:
            for folder in candidates(interp, text):
                if interp.tree.isdir(folder):
                    return ListValue(list(interp.tree.listdir(folder)))
        return derived(site, [path], "list", "missing-file")

    return lift(once, [args[0] if args else "."])


def glob(interp: Any, site: Any, args: Args, kwargs: Kwargs) -> Value:
    """Files of the source that match; where none does, what the run finds is not known."""

    def once(pattern: Value) -> Value:
        found = matches(interp, pattern)
        if not found and not any(char in (text_of(pattern) or "*") for char in "*?["):
            return ListValue() if exists(interp, pattern) is False else derived(site, [pattern], "list", "missing-file")
        if not found and not in_package(interp, pattern):
            return derived(site, [pattern], "list", "missing-file")
        return ListValue(list(found))

    return lift(once, [args[0] if args else kwargs.get("pathname")])


def in_package(interp: Any, pattern: Value) -> bool:
    """The pattern looks inside a Python package of the source: its files are all there."""
    text = text_of(pattern) or ""
    fixed = text.partition("*")[0].rpartition("/")[0]
    return bool(fixed) and any(interp.tree.exists(f"{folder}/__init__.py") for folder in candidates(interp, fixed))


def matches(interp: Any, pattern: Value) -> list[str]:
    """Paths of the source under a glob pattern, sorted."""
    text = text_of(pattern)
    if text is None:
        return []
    for clean in candidates(interp, text):
        parts = clean.split("/")
        found = [path for path in interp.tree.paths() if _match(path.split("/"), parts)]
        if found:
            prefix = clean[: len(clean) - len(posixpath.normpath(text))]
            return [path.removeprefix(prefix) for path in found]
    return []


def _match(path: list[str], pattern: list[str]) -> bool:
    if not pattern:
        return not path
    if pattern[0] == "**":
        return any(_match(path[skip:], pattern[1:]) for skip in range(len(path) + 1))
    return bool(path) and fnmatch.fnmatchcase(path[0], pattern[0]) and _match(path[1:], pattern[1:])


ENTRIES: dict[str, Handler] = {
    "os.path.join": join,
    "os.path.exists": check(True, True),
    "os.path.lexists": check(True, True),
    "os.path.isfile": check(False, True),
    "os.path.isdir": check(True, False),
    "os.access": check(True, True),
    "os.path.islink": constant(False),
    "os.path.isabs": textual(posixpath.isabs, "bool"),
    "os.path.basename": textual(posixpath.basename),
    "os.path.dirname": textual(posixpath.dirname),
    "os.path.split": textual(posixpath.split),
    "os.path.splitext": textual(posixpath.splitext),
    "os.path.normpath": textual(posixpath.normpath),
    "os.path.normcase": textual(posixpath.normcase),
    "os.path.abspath": textual(absolute),
    "os.path.realpath": textual(absolute),
    "os.path.relpath": textual(posixpath.relpath),
    "os.path.expanduser": textual(lambda text: text),
    "os.path.expandvars": textual(lambda text: text),
    "os.path.commonpath": pure(posixpath.commonpath, "str"),
    "os.path.commonprefix": pure(posixpath.commonprefix, "str"),
    "os.path.samefile": unknown("environment", "bool"),
    "os.path.getsize": unknown("missing-file", "int"),
    "os.path.getmtime": unknown("missing-file", "float"),
    "os.path.getctime": unknown("missing-file", "float"),
    "os.fspath": textual(lambda text: text),
    "os.fsencode": first,
    "os.getcwd": _getcwd,
    "os.listdir": listdir,
    "os.scandir": unknown("missing-file"),
    "os.walk": unknown("missing-file"),
    "os.stat": unknown("missing-file"),
    "os.makedirs": nothing,
    "os.mkdir": nothing,
    "os.remove": nothing,
    "os.unlink": nothing,
    "os.rmdir": nothing,
    "os.rename": nothing,
    "os.replace": nothing,
    "os.symlink": nothing,
    "os.link": nothing,
    "os.chmod": nothing,
    "os.chdir": nothing,
    "os.umask": nothing,
    "os.sync": nothing,
    "os.utime": nothing,
    "glob.glob": glob,
    "glob.iglob": glob,
    "glob.escape": textual(lambda text: text),
    "fnmatch.fnmatch": pure(fnmatch.fnmatchcase, "bool"),
    "fnmatch.fnmatchcase": pure(fnmatch.fnmatchcase, "bool"),
    "fnmatch.filter": pure(fnmatch.filter, "list"),
    "fnmatch.translate": pure(fnmatch.translate, "str"),
    "shutil.rmtree": nothing,
    "shutil.copy": nothing,
    "shutil.copy2": nothing,
    "shutil.copyfile": nothing,
    "shutil.copytree": nothing,
    "shutil.move": nothing,
    "shutil.which": unknown("environment", "str"),
    "shutil.disk_usage": unknown("environment"),
    "shutil.get_terminal_size": unknown("environment"),
    "tempfile.gettempdir": unknown("environment", "str"),
    "tempfile.mkdtemp": unknown("environment", "str"),
    "tempfile.mktemp": unknown("environment", "str"),
    "tempfile.mkstemp": unknown("environment"),
    "tempfile.TemporaryDirectory": unknown("environment", "str"),
    "tempfile.NamedTemporaryFile": unknown("environment"),
}

CONSTANTS: dict[str, Value] = {
    "os.path.sep": "/",
    "os.path.pathsep": ":",
    "os.R_OK": 4,
    "os.W_OK": 2,
    "os.X_OK": 1,
    "os.F_OK": 0,
    "os.path.curdir": ".",
    "os.path.pardir": "..",
    "os.path.extsep": ".",
}
# `import posixpath` and `os.path` are one module.
ENTRIES.update(
    {
        name.replace("os.path.", "posixpath."): handler
        for name, handler in list(ENTRIES.items())
        if name.startswith("os.path.")
    }
)
